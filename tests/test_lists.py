"""No N+1: whatever a page or an address of the API lists, it asks the database as often for many as for few.

Both lists come from the resolver: a new one is measured without being named here, unless it needs arguments
that nobody knows, which fails until they are given.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from uuid import uuid4

import pytest
from django.core.cache import cache
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext, override_settings
from django.urls import reverse
from django.utils import timezone

from annotation.api import tokens
from annotation.models import (
    AuditEvent,
    CatalogueImport,
    Delivery,
    ExportJob,
    Invitation,
    Scope,
    Skip,
    TaskKind,
    Webhook,
)
from annotation.releases.services.bundle import AUDIT_EVENT as RELEASE
from annotation.setup import services as setup_services
from generation.models import Caption, Job, Run, RunKind, Worker
from generation.recipes.recipes import CaptionRecipe, as_json
from metrics.dashboards.queries.results import result_metrics
from metrics.score_runs import services as score_runs
from tests import factories
from tests.generation.answers.answered import answer
from tests.metrics.associations import judged
from tests.metrics.brightness import measured
from tests.metrics.candidates import asked
from tests.metrics.embedding_tests import stored as embedding_tests
from tests.metrics.inference.answered import add_pair, empty_run
from tests.metrics.machine_judges.judged import judge
from tests.metrics.visual_questions import asked as questions
from tests.pure import made_once
from tests.test_access import OWN, World, urls

pytestmark = pytest.mark.django_db
FEW, MORE = 2, 4
"""Rows of each kind at first, and rows that come on top: three times as many."""

RELEASED = {
    "k": 5,
    "texts": False,
    "images": False,
    "withheld": [],
    "checksum": "0" * 64,
    **dict.fromkeys(("annotators", "responses", "judgements"), 0),
}
FRAGMENTS = ("/list/", "/live/", "/progress/")
"""Addresses that pages ask for a part of themselves."""

WITHOUT_ROWS = {
    *("healthz", "readyz", "health_page", "health_live", "login", "logout", "set_language"),
    *("password_change", "password_change_done", "password_reset_confirm", "account_merge", "new_run"),
    *("profile", "study", "consent", "study_profile", "annotate", "thanks", "withdraw", "join", "enter"),
    *("work_items", "work_answers", "work_skips", "work_corrections", "work_token", "image_file", "upload"),
    *("figure", "figures", "methods", "fresh_scores", "audit_export", "exposure_csv", "exposure_all_csv"),
    *("export_annotations", "export_download", "quality_csv", "fill_rates", "release_page", "export_file"),
    *("setup_step", "setup_file", "overview_live", "figure_page", "account_action", "person_action"),
    *("second_factor", "attribute", "export_columns", "thumbnail_file"),
    *("new_source", "source_action", "catalogue_import"),
    *("catalogue_import_progress", "catalogue_import_delete"),
    *("plan_candidates", "plan_associations", "new_judgements", "association_figures", "association_figure"),
    "model_association",
    *("second_factor", "attribute", "export_columns", "run_answer", "run_answer_text", "run_limits"),
    # with rows in tests/metrics: they need embeddings, and a second side to compare with
    *("pull", "compare", "agreement", "inference_figure"),
    *("plan_study", "plan_figure", "plan_file", "new_judge"),
    # with rows in tests/metrics/league
    *("league", "league_csv"),
    # with rows in tests/metrics/machine_judges
    *("judge", "judge_figure"),
    # with scores in tests/metrics/report
    *("report", "report_zip"),
    # with rows in tests/metrics/machine_judges
    *("judge_items", "judge_answers"),
    # with more tests in tests/metrics/embedding_tests
    *("new_embedding_tests", "edit_embedding_tests", "embedding_test_file", "embedding_test_encoders"),
    *("embedding_test_ranking", "embedding_test_figure", "embedding_test_download"),
    *("visual_question_figure", "new_visual_questions", "marking_figure"),
    *("pull", "compare", "agreement", "inference_figure", "brightness_figure", "new_brightness"),
    # items come three at a time
    *("try_study", "try_annotate", "try_end", "try_items", "try_answers", "try_skips", "try_corrections"),
    *("try_token", "demo_entry"),
    *("study_images", "setup_gold"),
}
"""Pages that show no list, or whose rows are figures and files rather than what is asked for one by one: they
are measured all the same, and need not become longer."""
API_WITHOUT_ROWS = {
    "tasks",  # one of each kind at most
    *("schema", "docs", "nothing", "account", "export_formats", "feasibility", "consent", "setup_file"),
    *("setup", "study", "task", "unit", "person", "invitation", "export_job", "export_file", "export"),
    *("association", "source", "import"),
    *("identity_group", "webhook", "image", "run", "image_set", "image_file", "metrics", "metric"),
    *(
        "candidate_list",
        "score_run",
        "score_run_scores",
        "account_of",
        "account_erasure",
        "own_profile",
        "figures",
        "figure",
        "figure_file",
        "own_studies",
        "answers",
        "inference_figure",
        *("embedding_test_file", "embedding_test_results", "embedding_test_encoders"),
        *("embedding_test_ranking", "embedding_test_figure"),
        *("visual_question_figure", "marking_figure"),
        "brightness_figure",
        *("plan", "plan_figure"),
        "league",
        "judge",
        *("judge_items", "judge_answers"),
        "report",
        *("run_limits", "run_answer"),
        *("association_list", "model_association"),
        *("association_comparison", "association_results", "association_figure"),
    ),
}


class Growing(World):
    """The world of the access tests, which grows."""

    def __init__(self) -> None:
        super().__init__()
        self.pages = {name: self.url(name) for name in sorted(OWN)}
        # of the study whose ranking grows
        self.pages["overview"] = reverse("overview", args=[self.pictures.name])
        self.word_task = self.words.tasks.get()
        self.pictures.stereotype_source = factories.source("votes")
        self.pictures.save()
        self.page_task = self.pictures.tasks.get(kind=TaskKind.DEPICTION)
        for number in range(FEW):
            self._one_more_of_everything(number)
        self._computed()

    def grow(self) -> None:
        for number in range(FEW, FEW + MORE):
            self._one_more_of_everything(number)
        self._computed()

    def _one_more_of_everything(self, number: int) -> None:
        now, admin = timezone.now(), self.people["admin"]
        account = factories.user(f"more{number}")
        who = factories.annotator(user=account, profile={"origin": "Asia", "gender": "woman"})
        for study in (self.words, self.pictures):
            factories.enrolment(study, who=who, consented=True)
        unit = factories.attribute_unit(self.word_task, f"word {number}")
        for value, person in ((5, who), (4, factories.annotator()), (1, factories.annotator())):
            factories.response(unit, values=[value], who=person)
        skipped = factories.attribute_unit(self.word_task, f"skipped {number}")
        Skip.objects.create(unit=skipped, annotator=who, client_key=uuid4(), reason="unclear", at=now)

        # another image of a group that is there, and one of a new group
        association = {"out_votes": (3, 0, 0), "from_source": factories.source("votes")}
        for group in ("Mexican", f"Group {number}"):
            image = factories.image(
                image_set=self.image.image_set,
                group_name=group,
                index=number + 2,
                file=self.image.file.name,
                sha256=self.image.sha256,
            )
            texts = ["hat", "sombrero", "poor", f"{group.lower()} {number}"]
            page = factories.page_unit(self.page_task, picture=image, texts=texts)
            for person in (who, factories.annotator(), factories.annotator()):
                factories.response(page, values=[1, 1, 0, 1, 0], who=person)
            factories.association(group_name=group, text=texts[-1], **association)
            if group != "Mexican":  # a group with one stereotype is not ranked
                factories.association(group_name=group, text="hat", **association)
            Caption.objects.create(run=self.run, image=image, rank=1, text="a hat")
            questions.add(self.questions, image, "no")
            Job.objects.create(run=self.run, image=image)
        run = Run.objects.create(
            kind=RunKind.CAPTIONS,
            image_set=factories.image_set(f"set{number}"),
            backend="fake",
            recipe=as_json(CaptionRecipe(backend="fake")),
            recipe_hash=factories.recipe_hash(),
        )
        Caption.objects.create(run=run, image=self.image, rank=1, text="a hat")
        empty_run(f"inferred {number}", "votes")
        add_pair(self.inference, f"Group {number}", "lazy")
        embedding_tests.stored(self.embedded, f"tests-{number}")
        questions.a_run(f"questions-{number}", image_set=self.image.image_set)
        measured.empty_run(f"measured {number}")
        judge(self.words, TaskKind.VISUAL_NATURE, lambda *_: 1, name=f"judge-{number}")
        measured.add_image(self.brightness, f"Group {number}", 100)
        answer(self.answered, f"answer {number}", ended=f"reason {number}")
        factories.image(image_set=run.image_set)
        more = factories.study(f"more{number}", leads=[self.people["lead"]])
        factories.task(more, kind=TaskKind.DEPICTION, image_set=run.image_set)
        Invitation.objects.create(study=self.words, code=f"more-{number}")
        webhook = Webhook.objects.create(
            study=self.words, url=f"https://h{number}.example.org/", secret="whsec_x", events=["study.paused"]
        )
        for one in (webhook, self.webhook):
            Delivery.objects.create(webhook=one, event="study.paused")
        CatalogueImport.objects.create(kind="seegull", by=admin, files={"associations": f"{number}.csv"})
        self._one_more_association(number)
        ExportJob.objects.create(study=self.words, by=admin, format="csv")
        AuditEvent.objects.create(what="export", study=self.words, by=account)
        AuditEvent.objects.create(what=RELEASE, study=self.words, by=account, details=RELEASED)
        factories.source(f"source{number}")
        judged.a_list(f"associated {number}")
        judged.pair(self.associations, "old", f"word {number}", negative=True)
        asked.run(name=f"asked{number}")
        asked.add(self.asked, f"(Mexican, dance), (Mexican, gift {'abcdefgh'[number]})")
        setup_services.save(user=admin, name=f"draft{number}", document={"title": f"Draft {number}"})
        tokens.create(user=admin, name=f"program {number}", scopes=(Scope.READ,), by=admin)
        Worker.objects.create(name=f"w{number}", host="h", queue="default", started_at=now, seen_at=now)

    def _one_more_association(self, number: int) -> None:
        """In the source, of the group and of the attribute whose pages are asked for, and elsewhere."""
        of = self.association
        factories.association(text=f"of the group {number}")
        factories.association(group_name=f"Of the attribute {number}", text=of.attribute.text)
        again = factories.source(f"again{number}")
        factories.association(group_name=of.group.name, text=of.attribute.text, from_source=again)

    def _computed(self) -> None:
        for study, more in ((self.words, ["visual_nature"]), (self.pictures, [])):
            for metric in result_metrics(study) + more:
                score_runs.request(study=study, metric=metric, variant="corrected")
        score_runs.compute_pending(limit=50)
        asked.found(self.asked)


@dataclass(frozen=True)
class Asked:
    """What an address answered: the status, how long it is, and the statements that it took."""

    status: int
    size: int
    statements: list[str]


def ask(client, url: str) -> Asked:
    cache.clear()
    with CaptureQueriesContext(connection) as asked:
        answer = client.get(url, headers={"HX-Request": "true"} if url.endswith(FRAGMENTS) else {})
        body = b"".join(answer.streaming_content) if answer.streaming else answer.content
    return Asked(answer.status_code, len(body), [one["sql"] for one in asked.captured_queries])


def compare(client, world: Growing, addresses: dict[str, str], *, need_no_rows: set[str]) -> None:
    before = {name: ask(client, url) for name, url in addresses.items()}
    with transaction.atomic():
        world.grow()
        after = {name: ask(client, url) for name, url in addresses.items()}
        transaction.set_rollback(True)
    for name, url in addresses.items():
        # What the first request alone needs could hide what is asked for each row: the few are asked again
        # where not all of it is the same.
        if _alike(before[name].statements) != _alike(after[name].statements):
            before[name] = ask(client, url)
    assert {name: one.status for name, one in after.items()} == {
        name: one.status for name, one in before.items()
    }
    more = {
        name: (len(before[name].statements), len(one.statements), _repeated(one.statements))
        for name, one in after.items()
        if len(one.statements) > len(before[name].statements)
    }
    assert not more, "asks more often when there is more: (few, many, most repeated statement)"
    listed = {name for name, one in before.items() if one.status == 200 and name not in need_no_rows}
    short = sorted(name for name in listed if after[name].size <= before[name].size)
    assert not short, f"make Growing grow what they list, or say that they list nothing: {short}"


def _alike(statements: list[str]) -> Counter[str]:
    """How many there are of each, whatever the values in them."""
    return Counter(re.sub(r"'[^']*'|\b\d+\b", "N", sql) for sql in statements)


def _repeated(statements: list[str]) -> str:
    return _alike(statements).most_common(1)[0][0][:400]


@pytest.fixture(scope="module")
def made(once):
    with override_settings(BOOTSTRAP_RESAMPLES=100):
        return once(Growing)


@pytest.fixture
def world(db, made, tmp_path, few_resamples):
    with made_once(drawn=False):
        yield made.copied(tmp_path)


def test_no_page_asks_more_often_when_there_is_more(client, world):
    client.force_login(world.people["admin"])
    compare(client, world, world.pages, need_no_rows=WITHOUT_ROWS)


def test_no_page_of_a_lead_does_either_nor_a_list_of_tests_on_images_in_the_api(client, world):
    client.force_login(world.people["lead"])
    pages = (
        "home",
        "overview",
        "people",
        "invitations",
        "webhooks",
        "exposure",
        "quality",
        "image_sets",
        "judges",
    )
    on_images = ("embedding_tests", "visual_questions", "marking", "brightness")
    in_the_api = ("embedding_test_files", "visual_question_runs", "brightness_runs")
    addresses = {name: world.pages[name] for name in pages + on_images}
    addresses |= {f"api:{name}": reverse(f"api:{name}") for name in in_the_api}
    compare(client, world, addresses, need_no_rows=set())


def test_no_address_of_the_api_asks_more_often_when_there_is_more(client, world):
    client.force_login(world.people["admin"])
    known = {
        "name": "words",
        "delivery": world.message.pk,
        "candidate": world.candidate.pk,
        "pair": world.associations.associations.earliest("pk").pk,
        "who": f"u{world.people['annotator'].pk}",
        "metric": "tendency",
        "figure": "consensus",
        "file_format": "csv",
        "action": "cancel",
        "job": world.answer.pk,
        "what": "sentiment",
    }
    numbers = {
        "identity-groups": world.image.group_id,
        "tasks": world.word_task.pk,
        "units": world.word_task.units.earliest("pk").pk,
        "people": world.words.enrolments.earliest("pk").pk,
        "invitations": world.words.invitations.earliest("pk").pk,
        "exports": world.export.pk,
        "webhooks": world.webhook.pk,
        "images": world.image.pk,
        "runs": world.run.pk,
        "inference-runs": world.inference.pk,
        "embedding-test-files": world.tests.pk,
        "visual-question-runs": world.questions.pk,
        "brightness-runs": world.brightness.pk,
        "judges": world.judge.pk,
        "associations": world.association.pk,
        "imports": world.import_job.pk,
        "tokens": world.people["admin"].api_tokens.earliest("pk").pk,
        "candidate-runs": world.asked.pk,
        "association-runs": world.associations.run_id,
        "score-runs": world.words.score_runs.earliest("pk").pk,
    }
    addresses = {}
    for name, route in urls():
        if not name.startswith("api:"):
            continue
        arguments = re.findall(r"<\w+:(\w+)>", route)
        given = {argument: known[argument] for argument in arguments if argument != "number"}
        if route.startswith(("api/v1/image-sets/", "api/v1/marking/")):
            given["name"] = world.image.image_set.name
        if route.startswith("api/v1/sources/"):
            given["name"] = "test-source"
        if "number" in arguments:
            given["number"] = numbers[re.search(r"([a-z-]+)/<int:number>", route)[1]]
        if "/answers" in route and route.startswith("api/v1/runs/"):
            given["number"] = world.answered.pk
        addresses[f"{name.removeprefix('api:')} {route}"] = reverse(name, kwargs=given)
    need_no_rows = {full for full in addresses if full.split()[0] in API_WITHOUT_ROWS}
    compare(client, world, addresses, need_no_rows=need_no_rows)


def test_the_lists_of_what_lists_nothing_name_what_there_is():
    assert WITHOUT_ROWS <= OWN
    assert {f"api:{name}" for name in API_WITHOUT_ROWS} <= {name for name, _ in urls()}
