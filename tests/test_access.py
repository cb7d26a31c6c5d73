"""Every URL × every role (DESIGN §11): who gets what, and who is told that there is nothing.

The list of URLs comes from the resolver: a URL that is added without saying here who may use it fails.
"""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Iterator
from functools import cache

import pytest
from django.conf import settings
from django.core.files.base import ContentFile
from django.db import connection, transaction
from django.test import Client
from django.urls import URLResolver, get_resolver, resolve, reverse
from PIL import Image as PillowImage

from annotation.models import (
    CatalogueImport,
    Delivery,
    EnrolmentStatus,
    ExportJob,
    Invitation,
    Judgement,
    Response,
    Slot,
    StudyStatus,
    TaskKind,
    Webhook,
)
from generation.models import Caption, Run, RunKind
from generation.recipes.recipes import CaptionRecipe, as_json
from tests import factories
from tests.generation.answers.answered import a_run, answer
from tests.metrics.associations import judged
from tests.metrics.brightness import measured
from tests.metrics.candidates import asked
from tests.metrics.embedding_tests import stored as embedding_tests
from tests.metrics.inference.answered import add_pair, empty_run
from tests.metrics.machine_judges.judged import judge
from tests.metrics.visual_questions import asked as questions
from tests.primary_actions import primary
from tests.pure import made_once
from tests.strict import inert, strict

pytestmark = pytest.mark.django_db

ROLES = ("anonymous", "stranger", "annotator", "lead", "other_lead", "admin")
"""*stranger*: an account that is in no study; *annotator*: enrolled in the study at hand; *lead*: leads
it; *other_lead*: leads another study only."""

WITH_QUERIES = ("annotator", "lead", "admin")
"""Who has pages of their own. To whom a page says nothing does not depend on the database."""

LOGIN = 302  # anonymous people are sent to the login, whether or not what they ask for exists
NONE = 404

EVERYBODY = (200, 200, 200, 200, 200, 200)
ACCOUNTS = (LOGIN, 200, 200, 200, 200, 200)
LEADS = (LOGIN, NONE, NONE, 200, NONE, 200)
RESEARCH = (LOGIN, NONE, NONE, 200, 200, 200)
ADMINS = (LOGIN, NONE, NONE, NONE, NONE, 200)
NOBODY = (LOGIN, NONE, NONE, NONE, NONE, NONE)
NO_SUCH = (405,) * 6
READ_ONLY = (LOGIN, 405, 405, 405, 405, 405)

# URL name -> (GET, POST), each with one status for each of ROLES, asked for an open study.
# POST sends an empty form: 405 where nothing can be sent, 404 or 403 where it is not theirs.
EXPECTED: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = {
    # without a login: to the login, unless the demonstration was made (tests/annotation/demo/test_entry.py)
    "home": (ACCOUNTS, NO_SUCH),
    **dict.fromkeys(("healthz", "readyz"), (EVERYBODY, NO_SUCH)),
    # without the setting METRICS_TOKEN there is no such address; who knows the token: test_metrics_page.py
    "metrics": ((NONE,) * 6, NO_SUCH),
    # changes nothing but a cookie, and leads back
    "set_language": ((302,) * 6, (302,) * 6),
    # who is logged in already is sent to the first page
    "login": ((200, 302, 302, 302, 302, 302), (200, 302, 302, 302, 302, 302)),
    # nobody gave a password just now: back to its page
    "login_code": ((302,) * 6, (302,) * 6),
    # there is one way to log in; who is in already and sees no administration is told that there is none
    "admin_login": ((302, NONE, NONE, NONE, NONE, NONE), NO_SUCH),
    "second_factor": (ACCOUNTS, (LOGIN, 302, 302, 302, 302, 302)),
    "logout": (NO_SUCH, (302, 302, 302, 302, 302, 302)),
    "password_change": (ACCOUNTS, ACCOUNTS),
    "password_change_done": (ACCOUNTS, READ_ONLY),
    # a link that has been used, or never was one
    "password_reset_confirm": (EVERYBODY, EVERYBODY),
    **dict.fromkeys(("health_page", "health_live", "account"), (ADMINS, READ_ONLY)),
    "accounts": (ADMINS, (LOGIN, NONE, NONE, NONE, NONE, 422)),
    "account_action": (ADMINS, (LOGIN, NONE, NONE, NONE, NONE, 302)),
    # without saying with whom
    "account_merge": ((LOGIN, NONE, NONE, NONE, NONE, 302), (LOGIN, NONE, NONE, NONE, NONE, 302)),
    "profile": (ACCOUNTS, (LOGIN, 302, 302, 302, 302, 302)),
    "tokens": (ACCOUNTS, (LOGIN, 422, 422, 422, 422, 422)),
    "revoke_token": (READ_ONLY, NOBODY),  # there is none
    "study": (ACCOUNTS, READ_ONLY),
    # A lead cannot take part in their own study; everybody else can in one that is open.
    "consent": ((LOGIN, 200, 200, NONE, 200, 200), (LOGIN, 302, 302, NONE, 302, 302)),
    # Without an enrolment: to the consent page, which says 404 where there is nothing to agree to.
    "study_profile": ((LOGIN, 302, 200, 302, 302, 302), (LOGIN, 302, 302, 302, 302, 302)),
    "annotate": ((LOGIN, 302, 200, 302, 302, 302), (LOGIN, NONE, NONE, NONE, NONE, NONE)),
    "stop": (READ_ONLY, (LOGIN, NONE, 302, NONE, NONE, NONE)),
    "thanks": ((LOGIN, NONE, 200, NONE, NONE, NONE), READ_ONLY),
    "withdraw": ((LOGIN, NONE, 200, NONE, NONE, NONE), (LOGIN, NONE, 422, NONE, NONE, NONE)),
    "come_back": (READ_ONLY, (LOGIN, NONE, 302, NONE, NONE, NONE)),
    # An invitation's link is for everybody but who leads the study; it is counted when it is followed.
    "join": ((200, 200, 302, 200, 200, 200), (302, 302, 302, 410, 302, 302)),
    # the study has no completion code: it takes nobody from a platform
    "enter": ((NONE,) * 6, (NONE,) * 6),
    # What the page at work sends; here it sends nothing.
    **dict.fromkeys(
        ("work_items", "work_answers", "work_skips", "work_corrections"),
        (READ_ONLY, (LOGIN, NONE, 400, NONE, NONE, NONE)),
    ),
    **dict.fromkeys(("work_last", "work_token"), ((LOGIN, NONE, 200, NONE, NONE, NONE), READ_ONLY)),
    **dict.fromkeys(("export_annotations", "export_columns", "export_page"), (ADMINS, READ_ONLY)),
    "release_page": (ADMINS, READ_ONLY),
    # without saying how many people a group needs
    "release_download": (READ_ONLY, (LOGIN, NONE, NONE, NONE, NONE, 422)),
    # the whole page, but for who polls; and without saying in which format
    "export_list": ((LOGIN, NONE, NONE, NONE, NONE, 302), (LOGIN, NONE, NONE, NONE, NONE, 422)),
    "export_file": ((LOGIN, NONE, NONE, NONE, NONE, 302), READ_ONLY),  # it is not made yet
    "export_action": (READ_ONLY, (LOGIN, NONE, NONE, NONE, NONE, 302)),
    # without saying in which format
    "export_download": ((LOGIN, NONE, NONE, NONE, NONE, 422), READ_ONLY),
    "image_file": ((LOGIN, NONE, 200, 200, NONE, 200), READ_ONLY),
    "thumbnail_file": ((LOGIN, NONE, 200, 200, NONE, 200), READ_ONLY),
    "people": (LEADS, READ_ONLY),
    "fill_rates": (LEADS, READ_ONLY),
    "study_status": (READ_ONLY, NOBODY),  # without saying which status
    "person_action": (LEADS, (LOGIN, NONE, NONE, 302, NONE, 302)),
    # every field of a new link may be left empty
    "invitations": (LEADS, (LOGIN, NONE, NONE, 302, NONE, 302)),
    "revoke_invitation": (READ_ONLY, (LOGIN, NONE, NONE, 302, NONE, 302)),
    **dict.fromkeys(("exposure", "exposure_csv"), (LEADS, READ_ONLY)),
    **dict.fromkeys(("exposure_all", "exposure_all_csv", "audit", "audit_export"), (ADMINS, READ_ONLY)),
    # without an address or an event
    **dict.fromkeys(("webhooks", "webhook"), (LEADS, (LOGIN, NONE, NONE, 422, NONE, 422))),
    # a test message; a message that is about to be sent already
    **dict.fromkeys(
        ("webhook_action", "webhook_redeliver"), (READ_ONLY, (LOGIN, NONE, NONE, 302, NONE, 302))
    ),
    # Nobody here but the admin may make studies. The study is open: who leads it is sent on to it.
    "setup": (ADMINS, (LOGIN, NONE, NONE, NONE, NONE, 422)),
    "setup_step": ((LOGIN, NONE, NONE, 302, NONE, 302), (LOGIN, NONE, NONE, 302, NONE, 302)),
    "setup_file": ((LOGIN, NONE, NONE, 302, NONE, 302), READ_ONLY),
    "setup_gold": ((LOGIN, NONE, NONE, 302, NONE, 302), (LOGIN, NONE, NONE, 302, NONE, 302)),
    "study_images": ((LOGIN, NONE, NONE, NONE, NONE, 302), (LOGIN, NONE, NONE, NONE, NONE, 302)),
    "setup_discard": (READ_ONLY, NOBODY),
    # The catalogue is for who sets up or leads any study; only the former, here the admin, add to it.
    **dict.fromkeys(
        ("catalogue", "association", "catalogue_groups", "catalogue_group", "catalogue_attributes"),
        (RESEARCH, READ_ONLY),
    ),
    **dict.fromkeys(("catalogue_attribute", "sources"), (RESEARCH, READ_ONLY)),
    # without a title
    "source": (RESEARCH, (LOGIN, NONE, NONE, NONE, NONE, 422)),
    "source_action": (READ_ONLY, (LOGIN, NONE, NONE, NONE, NONE, 302)),
    **dict.fromkeys(("new_source", "catalogue_imports"), (ADMINS, (LOGIN, NONE, NONE, NONE, NONE, 422))),
    "catalogue_import": (ADMINS, READ_ONLY),
    # the whole page, but for who polls
    "catalogue_import_progress": ((LOGIN, NONE, NONE, NONE, NONE, 302), READ_ONLY),
    "catalogue_import_delete": (READ_ONLY, (LOGIN, NONE, NONE, NONE, NONE, 302)),
    # Whoever may set up studies makes images and sees all of them; a lead sees those that their studies show.
    **dict.fromkeys(("runs", "run", "run_progress"), (ADMINS, (LOGIN, NONE, NONE, NONE, NONE, 405))),
    **dict.fromkeys(
        ("run_answers", "run_answer", "run_answer_text", "run_answers_file"),
        (ADMINS, (LOGIN, NONE, NONE, NONE, NONE, 405)),
    ),
    # the run has ended, and says so
    "run_limits": ((LOGIN, NONE, NONE, NONE, NONE, 405), (LOGIN, NONE, NONE, NONE, NONE, 302)),
    "run_action": ((LOGIN, NONE, NONE, NONE, NONE, 405), (LOGIN, NONE, NONE, NONE, NONE, 302)),
    **dict.fromkeys(("new_run", "upload"), (ADMINS, (LOGIN, NONE, NONE, NONE, NONE, 422))),
    **dict.fromkeys(
        ("candidate_runs", "candidates", "candidate"), (ADMINS, (LOGIN, NONE, NONE, NONE, NONE, 405))
    ),
    "plan_candidates": (ADMINS, (LOGIN, NONE, NONE, NONE, NONE, 422)),
    "plan_associations": (ADMINS, (LOGIN, NONE, NONE, NONE, NONE, 422)),
    "candidate_action": ((LOGIN, NONE, NONE, NONE, NONE, 405), (LOGIN, NONE, NONE, NONE, NONE, 302)),
    **dict.fromkeys(
        (
            *("association_runs", "model_associations", "association_descriptor", "model_association"),
            *("association_figures", "association_figure", "compare_associations"),
        ),
        (ADMINS, (LOGIN, NONE, NONE, NONE, NONE, 405)),
    ),
    **dict.fromkeys(
        ("association_action", "show_words"),
        ((LOGIN, NONE, NONE, NONE, NONE, 405), (LOGIN, NONE, NONE, NONE, NONE, 302)),
    ),
    "new_judgements": (ADMINS, (LOGIN, NONE, NONE, NONE, NONE, 422)),
    # sources are made by whoever may set up studies; the study is still open
    "save_votes": (READ_ONLY, (LOGIN, NONE, NONE, NONE, NONE, 302)),
    "image_sets": ((LOGIN, NONE, NONE, 200, 200, 200), READ_ONLY),
    **dict.fromkeys(("image_set", "image_history"), (LEADS, READ_ONLY)),
    "methods": ((LOGIN, NONE, NONE, 200, 200, 200), READ_ONLY),
    **dict.fromkeys(("quality", "quality_csv"), (LEADS, READ_ONLY)),
    **dict.fromkeys(("plan_study", "plan_figure", "plan_file"), (LEADS, READ_ONLY)),
    "report": (LEADS, READ_ONLY),
    # no scores are stored yet
    "report_zip": ((LOGIN, NONE, NONE, 409, NONE, 409), READ_ONLY),
    "report_scores": (READ_ONLY, (LOGIN, NONE, NONE, 302, NONE, 302)),
    # a lead sees the judges; who may also set up studies plans them
    "judges": (LEADS, READ_ONLY),
    "new_judge": (ADMINS, (LOGIN, NONE, NONE, NONE, NONE, 422)),
    "judge": (LEADS, READ_ONLY),
    # there are no scores yet
    "judge_figure": ((LOGIN, NONE, NONE, NONE, NONE, NONE), READ_ONLY),
    **dict.fromkeys(("judge_items", "judge_answers"), (LEADS, READ_ONLY)),
    "overview": (LEADS, READ_ONLY),
    "identities": (LEADS, READ_ONLY),
    "identity": (LEADS, READ_ONLY),
    **dict.fromkeys(("figures", "figure_page", "figure"), (LEADS, READ_ONLY)),
    **dict.fromkeys(("agreement", "attributes", "attribute", "gallery", "compare"), (LEADS, READ_ONLY)),
    "pull": (LEADS, READ_ONLY),
    "league": ((LOGIN, NONE, NONE, 200, 200, 200), READ_ONLY),
    # no study is named
    "league_csv": ((LOGIN, *[NONE] * 5), READ_ONLY),
    # about the catalogue: whoever leads a study reads them, whoever may set one up asks
    **dict.fromkeys(
        ("inference_runs", "inference", "inference_figure"), (RESEARCH, (LOGIN, NONE, NONE, 405, 405, 405))
    ),
    # tests on images: a lead reads those about image sets that their studies show
    **dict.fromkeys(
        ("embedding_tests", "visual_questions", "marking", "brightness"),
        (RESEARCH, (LOGIN, NONE, NONE, 405, 405, 405)),
    ),
    **dict.fromkeys(
        (
            *("embedding_test_file", "embedding_test_encoders", "embedding_test_ranking"),
            *("embedding_test_figure", "embedding_test_download"),
            *("visual_question_run", "visual_question_figure", "marking_of_set", "marking_figure"),
            *("brightness_run", "brightness_figure"),
        ),
        (LEADS, (LOGIN, NONE, NONE, 405, 405, 405)),
    ),
    "new_brightness": (ADMINS, (LOGIN, NONE, NONE, NONE, NONE, 422)),
    "new_inference": (ADMINS, (LOGIN, NONE, NONE, NONE, NONE, 422)),
    **dict.fromkeys(
        ("new_embedding_tests", "edit_embedding_tests"), (ADMINS, (LOGIN, NONE, NONE, NONE, NONE, 422))
    ),
    **dict.fromkeys(
        ("delete_embedding_tests", "embed_test_texts"),
        ((LOGIN, NONE, NONE, NONE, NONE, 405), (LOGIN, NONE, NONE, NONE, NONE, 302)),
    ),
    "new_visual_questions": (ADMINS, (LOGIN, NONE, NONE, NONE, NONE, 422)),
    **dict.fromkeys(("overview_live", "fresh_scores"), (LEADS, READ_ONLY)),
    # there is no run to try again
    "retry_scores": (READ_ONLY, NOBODY),
    # only who leads a study tries it; the forms are empty
    "try_study": (LEADS, READ_ONLY),
    "try_annotate": (LEADS, NOBODY),
    "try_end": (LEADS, LEADS),
    **dict.fromkeys(
        ("try_items", "try_answers", "try_skips", "try_corrections"),
        (READ_ONLY, (LOGIN, NONE, NONE, 400, NONE, 400)),
    ),
    "try_token": (LEADS, READ_ONLY),
    # there is no demonstration here
    "demo_entry": (NO_SUCH, (NONE,) * 6),
}
# Pages of studies that ask about images; everything else is asked for the study of attributes.
ABOUT_IMAGES = {"identities", "identity", "gallery", "compare"}
WITHOUT_STUDY = {
    "home",
    "healthz",
    "readyz",
    "metrics",
    "login",
    "login_code",
    "admin_login",
    "logout",
    "password_change",
    "password_change_done",
    "second_factor",
    "set_language",
    "profile",
    "tokens",
    "methods",
    *("league", "league_csv"),
    *("inference_runs", "new_inference"),
    *("embedding_tests", "new_embedding_tests"),
    *("visual_questions", "new_visual_questions", "marking"),
    *("brightness", "new_brightness"),
    "exposure_all",
    "exposure_all_csv",
    "audit",
    "setup",
    "runs",
    *("candidate_runs", "plan_candidates", "plan_associations"),
    *("association_runs", "show_words", "compare_associations"),
    "image_sets",
    "upload",
    *("health_page", "health_live", "accounts"),
    *("catalogue", "catalogue_groups", "catalogue_attributes", "sources", "new_source", "catalogue_imports"),
    "demo_entry",
}
OPEN_TO_ALL = {
    *("login", "login_code", "admin_login", "logout", "healthz", "readyz", "password_reset_confirm"),
    *("join", "enter", "set_language", "metrics"),
    *("home", "demo_entry"),
}
# The administration is Django's: everything in it is for admins, but for its own way in and out.
OPEN_IN_ADMIN = {"admin:login", "admin:logout", "admin:jsi18n"}


def urls(
    resolver: URLResolver | None = None, *, space: str = "", route: str = ""
) -> Iterator[tuple[str, str]]:
    """(full name, route) of every URL there is."""
    for pattern in (resolver or get_resolver()).url_patterns:
        here = route + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from urls(
                pattern, space=f"{space}{pattern.namespace}:" if pattern.namespace else space, route=here
            )
        else:
            yield f"{space}{pattern.name or here}", here


# The API has a matrix of its own: tests/test_api_access.py.
OWN = {name for name, _ in urls() if not name.startswith(("admin:", "api:"))}
ADMINISTRATION = sorted(
    route for name, route in urls() if name.startswith("admin:") and name not in OPEN_IN_ADMIN
)


def _png() -> bytes:
    written = io.BytesIO()
    PillowImage.new("RGB", (8, 8)).save(written, "PNG")
    return written.getvalue()


PNG = _png()


def _logged_in(person) -> str:
    client = Client()
    client.force_login(person)
    return client.cookies[settings.SESSION_COOKIE_NAME].value


class World:
    """Two studies of one team (attributes and images), and one of another, with somebody in each role."""

    def __init__(self) -> None:
        people = {role: factories.user(role) for role in ROLES[1:-1]}
        self.people = {**people, "admin": factories.user("admin", admin=True)}
        lead = [people["lead"]]
        self.words = factories.rating_study(name="words", leads=lead)
        self.pictures = factories.rating_study(name="pictures", leads=lead, texts=())
        self.theirs = factories.rating_study(name="theirs", leads=[people["other_lead"]])
        annotator = factories.annotator(user=people["annotator"])
        for study in (self.words, self.pictures):
            factories.enrolment(study, who=annotator, consented=True)
        answered = self.words.tasks.get().units.get(position=1)
        for value in (5, 5, 4):
            factories.response(answered, values=[value], who=factories.annotator())
        Invitation.objects.create(study=self.words, code="way-in")
        self.webhook = Webhook.objects.create(
            study=self.words, url="https://hooks.example.org/", secret="whsec_x", events=["study.paused"]
        )
        self.message = Delivery.objects.create(webhook=self.webhook, event="study.paused")
        self.image = self._image("ours", "Mexican", into=self.pictures)
        self.their_image = self._image("theirs", "Indian", into=self.theirs)
        self.export = ExportJob.objects.create(study=self.words, by=self.people["admin"], format="csv")
        self.judge = judge(self.words, TaskKind.VISUAL_NATURE, lambda *_: 5, name="judge")
        self.association = factories.association()
        self.import_job = CatalogueImport.objects.create(
            kind="seegull", by=self.people["admin"], files={"associations": "a.csv"}
        )
        self.run = Run.objects.create(
            kind=RunKind.CAPTIONS,
            image_set=self.image.image_set,
            backend="fake",
            recipe=as_json(CaptionRecipe(backend="fake")),
            recipe_hash="0" * 64,
        )
        self.inference = empty_run("inferred", "votes")
        add_pair(self.inference, "Mexican", "lazy")
        self.embedded = embedding_tests.embedded()
        embedding_tests.texts(self.embedded)
        self.tests = embedding_tests.stored(self.embedded)
        self.questions = questions.a_run("questions", image_set=self.image.image_set)
        questions.add(self.questions, self.image, "yes")
        Caption.objects.create(run=self.run, image=self.image, rank=1, text="a hat")
        self.brightness = measured.empty_run("measured")
        measured.add_image(self.brightness, "Mexican", 100)
        shown = factories.study("tested", leads=lead)
        for version, run in enumerate((self.embedded, self.brightness), start=1):
            factories.task(shown, kind=TaskKind.DEPICTION, image_set=run.image_set, version=version)
        self.asked = asked.run("(Mexican, dance)")
        self.candidate = asked.found(self.asked).candidates.get()
        self.associations = judged.a_list("associated")
        judged.pair(self.associations, "old", "wise", negative=False)
        self.answered = a_run()
        self.answer = answer(self.answered)
        self.sessions = {role: _logged_in(person) for role, person in self.people.items()}

    @staticmethod
    def _image(set_name, group, *, into):
        image = factories.image(image_set=factories.image_set(set_name), group_name=group)
        image.sha256 = hashlib.sha256(PNG).hexdigest()
        image.file.save("a.png", ContentFile(PNG))
        task = factories.task(into, kind=TaskKind.DEPICTION, image_set=image.image_set)
        factories.page_unit(task, picture=image)
        return image

    def url(self, name: str) -> str:
        if name in WITHOUT_STUDY:
            return reverse(name)
        if name == "password_reset_confirm":
            return reverse(name, args=["MQ", "no-such-token"])
        if name in {"account", "account_merge"}:
            return reverse(name, args=[f"u{self.people['annotator'].pk}"])
        if name == "account_action":
            return reverse(name, args=[f"u{self.people['annotator'].pk}", "release"])
        if name == "thumbnail_file":
            return reverse(name, args=[self.image.pk, 320])
        if name in {"image_file", "image_history"}:
            return reverse(name, args=[self.image.pk])
        if name == "image_set":
            return reverse(name, args=[self.image.image_set.name])
        if name in {"run_answers", "run_limits"}:
            return reverse(name, args=[self.answered.pk])
        if name in {"run_answer", "run_answer_text"}:
            return reverse(name, args=[self.answered.pk, self.answer.pk])
        if name == "run_answers_file":
            return reverse(name, args=[self.answered.pk, "jsonl"])
        if name in {"run", "run_progress"}:
            return reverse(name, args=[self.run.pk])
        if name == "inference":
            return reverse(name, args=[self.inference.pk])
        if "embedding_test" in name or name == "embed_test_texts":
            more = {"embedding_test_figure": ["effects", "csv"], "embedding_test_download": ["toml"]}
            return reverse(name, args=[self.tests.pk, *more.get(name, [])])
        if name == "visual_question_run":
            return reverse(name, args=[self.questions.pk])
        if name == "visual_question_figure":
            return reverse(name, args=[self.questions.pk, "csv"])
        if name == "marking_of_set":
            return reverse(name, args=[self.image.image_set.name])
        if name == "marking_figure":
            return reverse(name, args=[self.image.image_set.name, "csv"])
        if name == "inference_figure":
            return reverse(name, args=[self.inference.pk, "csv"])
        if name == "brightness_run":
            return reverse(name, args=[self.brightness.pk])
        if name == "brightness_figure":
            return reverse(name, args=[self.brightness.pk, "csv"])
        if name in {"candidates", "candidate", "candidate_action"}:
            more = {"candidate": [self.candidate.pk], "candidate_action": ["find"]}
            return reverse(name, args=[self.asked.pk, *more.get(name, [])])
        if name in {
            *("association_figures", "association_figure", "new_judgements", "association_action"),
            *("model_associations", "association_descriptor", "model_association"),
        }:
            word = self.associations.associations.get()
            more = {
                "association_figure": ["negative", "csv"],
                "new_judgements": ["level"],
                "association_action": ["find"],
                "association_descriptor": [word.group_id],
                "model_association": [word.pk],
            }
            return reverse(name, args=[self.associations.run_id, *more.get(name, [])])
        if name == "revoke_token":
            return reverse(name, args=[1])
        if name == "run_action":
            return reverse(name, args=[self.run.pk, "cancel"])
        if name == "association":
            return reverse(name, args=[self.association.pk])
        if name == "catalogue_group":
            return reverse(name, args=[self.association.group_id])
        if name == "catalogue_attribute":
            return reverse(name, args=[self.association.attribute_id])
        if name == "source":
            return reverse(name, args=["test-source"])
        if name == "source_action":
            return reverse(name, args=["test-source", "delete"])
        if name.startswith("catalogue_import"):
            return reverse(name, args=[self.import_job.pk])
        if name == "new_run":
            return reverse(name, args=["images"])
        if name == "audit_export":
            return reverse(name, args=["csv"])
        if name == "join":
            return reverse(name, args=["way-in"])
        study = "pictures" if name in ABOUT_IMAGES else "words"
        more = {
            "identity": {"group_id": self.image.group_id},
            "attribute": {"attribute_id": self.words.tasks.get().units.earliest("pk").attribute_id},
            "retry_scores": {"run_id": 1},
            "figure": {"figure": "consensus", "fmt": "csv"},
            "plan_figure": {"fmt": "csv"},
            "plan_file": {"fmt": "csv"},
            "judge": {"number": self.judge.pk},
            "judge_figure": {"number": self.judge.pk, "figure": "agreement", "fmt": "csv"},
            "judge_items": {"number": self.judge.pk},
            "judge_answers": {"number": self.judge.pk},
            "figure_page": {"figure": "consensus"},
            "person_action": {"pk": self.words.enrolments.get().pk, "action": "release"},
            "export_file": {"pk": self.export.pk},
            "export_action": {"pk": self.export.pk, "action": "retry"},
            "revoke_invitation": {"pk": self.words.invitations.earliest("pk").pk},
            "setup_step": {"step": "open"},
            "webhook": {"pk": self.webhook.pk},
            "webhook_action": {"pk": self.webhook.pk, "action": "ping"},
            "webhook_redeliver": {"pk": self.webhook.pk, "delivery": self.message.pk},
        }
        return reverse(name, kwargs={"name": study, **more.get(name, {})})


@pytest.fixture(scope="module")
def made(once):
    return once(World)


@pytest.fixture
def world(db, made, tmp_path):
    with made_once():
        yield made.copied(tmp_path)


def enter(client, world, role):
    """Log in, unless the last request left `role` logged in."""
    if role == "anonymous":
        return
    cookie = client.cookies.get(settings.SESSION_COOKIE_NAME)
    if not cookie or cookie.value != world.sessions[role]:  # a logout or another login changes it
        client.force_login(world.people[role])


def status(answer) -> int:
    if answer.streaming:
        b"".join(answer.streaming_content)
    return int(answer.status_code)


def without_token(page) -> str:
    """The page without what differs from request to request."""
    text = page.text.replace(page["X-Request-ID"], "")
    return re.sub(r'name="csrfmiddlewaretoken" value="[^"]*"', "", text)


@cache
def sound(text: str) -> None:
    """Many answers are the same page, such as that there is nothing: each is read once."""
    assert len(primary(text)) <= 1
    inert(text)


def test_every_url_has_its_row_in_the_matrix():
    assert set(EXPECTED) == OWN, "say in EXPECTED who may use the new URL"
    assert all(len(row) == len(ROLES) for pair in EXPECTED.values() for row in pair)


def as_each_role(client, world, roles=ROLES) -> Iterator[str]:
    """One role after the other, each logged in; what each does is taken back."""
    for role in roles:
        with transaction.atomic():
            client.cookies.clear()
            if role != "anonymous":  # a login takes as long as the page
                client.cookies[settings.SESSION_COOKIE_NAME] = world.sessions[role]
            yield role
            transaction.set_rollback(True)


@pytest.mark.postgresql
@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_each_role_gets_what_is_theirs_and_nothing_else(client, world, name):
    url = world.url(name)
    for role in as_each_role(client, world, ROLES if connection.vendor == "sqlite" else WITH_QUERIES):
        place = ROLES.index(role)
        got = client.get(url)
        assert status(got) == EXPECTED[name][0][place], f"GET {url} as {role}"
        enter(client, world, role)
        sent = client.post(url)
        assert status(sent) == EXPECTED[name][1][place], f"POST {url} as {role}"
        for page in (got, sent):
            strict(page)
            if name not in OPEN_TO_ALL:
                assert "private" in page["Cache-Control"], role
            if page.get("Content-Type", "").startswith("text/html"):
                sound(without_token(page))
        if role == "anonymous" and name not in OPEN_TO_ALL:
            for answer in (got, sent):
                assert answer.url == f"{reverse('login')}?next={url}"
        # Nobody answered anything by knocking on doors.
        assert Response.objects.count() == Judgement.objects.count() == 3, role


# In the two left out Django takes PUT for POST: it shows the empty form again. Admins may see every page but
# those of people at work, which are the annotator's.
@pytest.mark.parametrize("name", sorted(set(EXPECTED) - {"login", "password_change"}))
def test_no_other_method_does_anything(client, world, name):
    url, left = world.url(name), ["PUT", "PATCH", "DELETE"]
    for role in as_each_role(client, world, ("admin", "annotator")):
        for method in tuple(left):
            enter(client, world, role)
            answer = client.generic(method, url)
            assert answer.status_code in {302, 403, 404, 405}, (role, method)
            if answer.status_code == 405:
                left.remove(method)


@pytest.mark.parametrize("route", ADMINISTRATION)
def test_the_administration_is_for_admins_alone(client, world, route):
    url = "/" + re.sub(r"<[^>]+>", "1", route).replace("(?P1.*)$", "nowhere/")
    # the front page of one app: a choice of all that have something here
    url = re.sub(r"\^\(\?P1([a-z]+)[|a-z]*\)/\$", r"\1/", url)
    assert resolve(url)
    # Django asks one question of everybody, is_staff: of the others the lead may most
    for role in as_each_role(client, world, ("anonymous", "lead", "admin")):
        for send in (client.get, client.post):
            answer = send(url)
            if role == "admin":
                assert answer.status_code < 500
                assert not answer.get("Location", "").startswith(reverse("admin:login"))
            else:
                wanted = (302, f"{reverse('admin:login')}?next={url}")
                assert (answer.status_code, answer.url) == wanted, role


EXPORTS = (
    *("export_annotations", "export_columns", "export_page"),
    *("export_download", "export_list", "export_file"),
)
LEAD_PAGES = (
    *("overview", "overview_live", "identities", "identity", "figure", *EXPORTS),
    *("agreement", "attributes", "gallery", "compare", "pull", "fresh_scores", "figures", "figure_page"),
    *("quality", "quality_csv", "webhooks", "exposure", "exposure_csv"),
    *("plan_study", "plan_figure", "plan_file", "judges", "new_judge"),
    *("judge", "judge_figure"),
    *("judge_items", "judge_answers"),
    *("try_study", "try_annotate", "try_end", "try_token"),
    *("report", "report_zip"),
)


@pytest.mark.parametrize("role", ["stranger", "annotator", "lead"])
def test_another_teams_study_does_not_exist_for_who_guesses_its_name(client, world, role):
    client.force_login(world.people[role])
    theirs = {"name": "theirs"}
    more = {
        "identity": {"group_id": world.their_image.group_id},
        "figure": {"figure": "consensus", "fmt": "csv"},
        "figure_page": {"figure": "consensus"},
        "plan_figure": {"fmt": "csv"},
        "plan_file": {"fmt": "csv"},
        "judge": {"number": world.judge.pk},
        "judge_figure": {"number": world.judge.pk, "figure": "agreement", "fmt": "csv"},
        "judge_items": {"number": world.judge.pk},
        "judge_answers": {"number": world.judge.pk},
        "export_file": {"pk": 1},
    }
    for page in LEAD_PAGES:
        url = reverse(page, kwargs={**theirs, **more.get(page, {})})
        assert client.get(url).status_code == 404, url
    for page in ("image_file", "image_history"):
        assert client.get(reverse(page, args=[world.their_image.pk])).status_code == 404
    assert client.get(reverse("thumbnail_file", args=[world.their_image.pk, 320])).status_code == 404
    assert client.get(reverse("image_set", args=["theirs"])).status_code == 404
    assert client.get(reverse("thanks", kwargs=theirs)).status_code == 404
    assert client.post(reverse("stop", kwargs=theirs)).status_code == 404


@pytest.mark.parametrize("role", ["lead", "admin"])
@pytest.mark.parametrize("group", ["theirs", 0, 10**9, 2**63, 10**30, "9" * 5000])
def test_guessed_groups_are_not_found(client, world, role, group):
    client.force_login(world.people[role])
    number = world.their_image.group_id if group == "theirs" else group
    assert client.get(f"/studies/pictures/identities/{number}/").status_code == 404


@pytest.mark.parametrize("number", [0, 10**9, 2**63, 10**30, "9" * 5000, -1, "1.0", "%00"])
def test_guessed_images_are_not_found(client, world, number):
    client.force_login(world.people["admin"])
    for url in (
        f"/images/{number}/",
        f"/images/{number}/320/",
        f"/generation/images/{number}/",
        f"/generation/runs/{number}/",
    ):
        assert client.get(url).status_code == 404


@pytest.mark.parametrize("role", ROLES[:-1])
def test_what_is_not_there_looks_the_same_as_what_is_not_yours(client, world, role):
    """From the answer, nobody can tell a study that exists from one that does not."""
    enter(client, world, role)
    factories.study("secret", status=StudyStatus.DRAFT)
    for page in ("study", "consent", "study_profile", "annotate", "thanks", *LEAD_PAGES):
        more = {
            "identity": {"group_id": 1},
            "figure": {"figure": "consensus", "fmt": "csv"},
            "figure_page": {"figure": "consensus"},
            "plan_figure": {"fmt": "csv"},
            "plan_file": {"fmt": "csv"},
            "judge": {"number": world.judge.pk},
            "judge_figure": {"number": world.judge.pk, "figure": "agreement", "fmt": "csv"},
            "judge_items": {"number": world.judge.pk},
            "judge_answers": {"number": world.judge.pk},
            "export_file": {"pk": 1},
        }.get(page, {})
        answers = [client.get(reverse(page, kwargs={"name": name, **more})) for name in ("secret", "nosuch")]
        assert answers[0].status_code == answers[1].status_code, page
        if answers[0].status_code == 404:
            assert without_token(answers[0]).replace("secret", "nosuch") == without_token(answers[1])


@pytest.mark.parametrize("closed", [StudyStatus.DRAFT, StudyStatus.PAUSED, StudyStatus.CLOSED])
def test_a_stranger_cannot_enter_a_study_that_is_not_open(client, world, closed):
    study = factories.study("shut", status=closed)
    text = factories.consent_text(study)
    client.force_login(world.people["stranger"])
    assert client.get("/studies/shut/").status_code == 404
    assert client.get("/studies/shut/consent/").status_code == 404
    assert client.post("/studies/shut/consent/", {"text": text.pk}).status_code == 404
    assert not study.enrolments.exists()


def test_somebody_who_was_blocked_gets_nothing_more(client, world):
    world.words.enrolments.update(status=EnrolmentStatus.BLOCKED)
    world.pictures.enrolments.update(status=EnrolmentStatus.BLOCKED)
    client.force_login(world.people["annotator"])
    assert client.get("/studies/words/annotate/", follow=True).status_code == 403
    assert client.post("/studies/words/annotate/").status_code == 404, "what was not given out"
    assert client.get("/studies/words/profile/", follow=True).status_code == 403
    assert client.get(reverse("image_file", args=[world.image.pk])).status_code == 404
    # Agreeing again does not lift it.
    client.post("/studies/words/consent/", {"text": world.words.consent_texts.get().pk})
    assert client.get("/studies/words/annotate/", follow=True).status_code == 403
    assert not Slot.objects.filter(annotator__user=world.people["annotator"]).exists()


def test_an_account_that_was_switched_off_is_out_at_once(client, world):
    client.force_login(world.people["lead"])
    assert client.get("/studies/words/overview/").status_code == 200
    world.people["lead"].is_active = False
    world.people["lead"].save()
    assert client.get("/studies/words/overview/").status_code == 302


def test_a_superuser_who_was_made_an_ordinary_account_loses_it_at_once(client, world):
    client.force_login(world.people["admin"])
    world.people["admin"].is_superuser = False
    world.people["admin"].save()
    assert client.get("/studies/words/export/annotations.csv").status_code == 404


@pytest.mark.parametrize("role", ["stranger", "annotator", "lead", "other_lead"])
def test_who_is_staff_without_being_an_admin_sees_no_study(client, world, role):
    """`is_staff` opens Django's administration, and no study."""
    person = world.people[role]
    person.is_staff = True
    person.save()
    client.force_login(person)
    assert client.get("/studies/theirs/export/annotations.csv").status_code == 404
    assert client.get("/studies/words/export/annotations.csv").status_code == 404


def test_every_form_needs_its_token(client, world):
    client.handler.enforce_csrf_checks = True
    client.force_login(world.people["annotator"])
    forms = set(EXPECTED) - {"healthz", "readyz"}
    assert {name: client.post(world.url(name)).status_code for name in forms} == dict.fromkeys(forms, 403)
