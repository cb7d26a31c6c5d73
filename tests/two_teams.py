"""Two teams that have one of everything, each."""

from __future__ import annotations

from functools import cache
from typing import Any

from django.apps import apps
from django.core.files.base import ContentFile
from django.db import connection
from django.db.models import Model

from annotation.api import tokens
from annotation.models import CatalogueImport, Delivery, ExportJob, Invitation, TaskKind, Webhook
from generation.models import Caption, Run, RunKind
from generation.recipes.recipes import CaptionRecipe, as_json
from metrics.models import ScoreRun
from tests import factories
from tests.metrics.associations import judged
from tests.metrics.brightness import measured
from tests.metrics.candidates import asked
from tests.metrics.embedding_tests import stored as embedding_tests
from tests.metrics.machine_judges.judged import judge
from tests.metrics.visual_questions import asked as questions

MARK = "canary"
"""Stands in every text of the other team, and in no address."""


def two_teams() -> tuple[Team, Team]:
    return Team("ours"), Team("theirs", mark=MARK)


class Team:
    """A study of words and images that only its own people take part in, and one of all that it has. The
    study is about a group and a word of its own, unless `about` names another team, whose they are."""

    def __init__(self, tag: str, *, mark: str = "", about: str = "") -> None:
        group, word = (f"{what} of {about or tag}" for what in ("People", "word"))
        self.lead = factories.user(f"{tag}-lead")
        self.study = factories.rating_study(
            name=f"{tag}-study", title=f"A study {mark}", texts=(word,), leads=[self.lead]
        )
        self.study.self_enrol = False
        self.study.save()
        self.person = factories.user(f"{tag}-annotator")
        self.annotator = factories.annotator(user=self.person, pseudonym=f"a-{tag}{mark}")
        self.enrolment = factories.enrolment(self.study, who=self.annotator, consented=True)
        self.task = self.study.tasks.get()
        self.unit = self.task.units.get()
        factories.response(self.unit, values=[5], who=self.annotator, justification=f"because {mark}")
        made = factories.image_set(f"{tag}-set")
        made.title = f"Pictures {mark}"
        made.save()
        self.image = factories.image(image_set=made, group_name=group)
        self.image.sha256 = f"{self.study.pk:064x}"
        self.image.file.save(f"{tag}.png", ContentFile(b"png"))
        factories.page_unit(
            factories.task(self.study, kind=TaskKind.DEPICTION, image_set=made), picture=self.image
        )
        self.invitation = Invitation.objects.create(study=self.study, code=f"{tag}-code", label=f"for {mark}")
        self.webhook = Webhook.objects.create(
            study=self.study,
            url=f"https://{tag}{mark}.example.org/",
            secret=f"whsec_{mark}",
            events=["study.paused"],
        )
        self.message = Delivery.objects.create(webhook=self.webhook, event="study.paused")
        self.export = ExportJob.objects.create(study=self.study, by=self.lead, format="csv")
        self.association = factories.association(
            group_name=group,
            text=word,
            from_source=factories.source(f"{tag}-source"),
        )
        self.import_job = CatalogueImport.objects.create(
            kind="seegull", by=self.lead, files={"associations": f"{mark}.csv"}
        )
        self.token = tokens.create(user=self.lead, name=f"of {mark}", scopes=["read"], by=self.lead).token
        self.run = Run.objects.create(
            kind=RunKind.CAPTIONS,
            image_set=made,
            backend="fake",
            recipe=as_json(CaptionRecipe(backend="fake")),
            recipe_hash=factories.recipe_hash(),
        )
        Caption.objects.create(run=self.run, image=self.image, rank=1, text="a hat")
        self.embedded = embedding_tests.embedded(made.name)
        embedding_tests.texts(self.embedded)
        self.tests = embedding_tests.stored(self.embedded, f"{tag}-tests{mark}")
        self.questions = questions.a_run(f"{tag}-questions{mark}", image_set=made)
        questions.add(self.questions, self.image, "yes")
        self.brightness = measured.empty_run(f"{tag}-measured{mark}", image_set=made.name)
        measured.measure(self.brightness, self.image, 100)
        self.asked = asked.run(f"({group}, dance{mark})", name=f"{tag}-asked")
        self.candidate = asked.found(self.asked).candidates.get()
        self.associations = judged.a_list(f"{tag}-associated")
        judged.pair(self.associations, group, f"word{mark}", axis="nationality", negative=True)
        self.judge = judge(self.study, TaskKind.VISUAL_NATURE, lambda *_: 5, name=f"{tag}-judge-{mark}")
        self.score_run = ScoreRun.objects.create(
            study=self.study,
            metric="consensus",
            version=1,
            variant="corrected",
            digest=f"{self.study.pk:064x}",
            resamples=0,
        )
        self._numbers = {
            "studies": self.study.name,
            "setup": self.study.name,
            "leads": self.study.name,
            "accounts": f"u{self.person.pk}",
            "people": self.enrolment.pk,
            "tasks": self.task.pk,
            "units": self.unit.pk,
            "invitations": self.invitation.pk,
            "webhooks": self.webhook.pk,
            "deliveries": self.message.pk,
            "messages": self.message.pk,
            "exports": self.export.pk,
            "export": self.export.pk,
            "tokens": self.token.pk,
            "image-sets": self.image.image_set.name,
            "sets": self.image.image_set.name,
            "images": self.image.pk,
            **dict.fromkeys(("runs", "inference", "inference-runs"), self.run.pk),
            **dict.fromkeys(("embedding-tests", "embedding-test-files"), self.tests.pk),
            **dict.fromkeys(("visual-questions", "visual-question-runs"), self.questions.pk),
            **dict.fromkeys(("brightness", "brightness-runs"), self.brightness.pk),
            "marking": self.image.image_set.name,
            "judges": self.judge.pk,
            "candidate-runs": self.asked.pk,
            "candidates": self.candidate.pk,
            "answers": self.asked.answers.get().pk,
            "score-runs": self.score_run.pk,
            "scores": self.score_run.pk,
            "identities": self.image.group_id,
            "attributes": self.unit.attribute_id,
            "identity-groups": self.image.group_id,
            # the catalogue's own pages of associations are in SHARED
            **dict.fromkeys(("associations", "association-runs"), self.associations.run_id),
            "groups": self.association.group_id,
            "descriptors": self.associations.associations.get().group_id,
            "pairs": self.associations.associations.get().pk,
            "sources": self.association.source.name,
            "imports": self.import_job.pk,
            "<int:pk>": 320,  # the side of a thumbnail
        }

    def of(self, kind: str) -> object:
        """What stands in an address after `kind`."""
        return self._numbers[kind]


def everything() -> dict[str, list]:
    """All rows of the program's own tables; but not when a token was last used."""
    return {
        model.__name__: stored_rows(model, "last_used_at")
        for app in ("annotation", "generation", "metrics")
        for model in apps.get_app_config(app).get_models()
    }


def stored_rows(model: type[Model], *without: str) -> list[tuple[Any, ...]]:
    """All rows of a table as the database has them, each with its primary key first; `without`: columns that
    are left out. To write such a query the ORM takes ten times as long as the database to answer it."""
    with connection.cursor() as cursor:
        cursor.execute(_select(model, without))
        return cursor.fetchall()


@cache
def _select(model: type[Model], without: tuple[str, ...]) -> str:
    fields = model._meta.local_concrete_fields
    names = [model._meta.pk.column, *(each.column for each in fields if each.column not in without)]
    quoted = [connection.ops.quote_name(name) for name in names]
    table = connection.ops.quote_name(model._meta.db_table)
    return f"SELECT {', '.join(quoted)} FROM {table} ORDER BY {quoted[0]}"
