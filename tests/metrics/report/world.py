"""A study whose report has everything, and its scores."""

from __future__ import annotations

import hashlib
from pathlib import Path

from django.utils import timezone

from annotation.models import Annotator, ImageSet, Judgement, ProfileAnswer, Skip, Study
from metrics.models import ScoreRun
from metrics.report import services
from metrics.score_runs import services as score_runs
from tests import factories
from tests.metrics import drawn

METRICS = ("tendency", "likelihood", "offensiveness", "visual_nature", "consensus", "agreement", "pull")
NEEDLES = (
    *("zebra-one", "zebra-two", "zebra-three", "needle-account", "needle-reason", "needle-note"),
    *("needle-worker", "needle-code", "Needlish", "needle-words", "needle-gold"),
)
"""What single people are called, wrote or were told, and what is no reader's business."""


def compute(study: Study, *metrics: str, variant: str = "corrected") -> list[ScoreRun]:
    """Stored runs of these metrics, for the present answers."""
    found = []
    for metric in metrics:
        run = score_runs.request(study=study, metric=metric, variant=variant)
        score_runs.compute(run_id=run.pk)
        run.refresh_from_db()
        assert run.state == "done", run.error
        found.append(run)
    return found


def study_with_people(name: str = "told", **fields) -> Study:
    """Every figure, three people with names and profiles that must not appear, texts in Spanish."""
    fields = {"title": "A study", "description": "What it is about.", **fields}
    study = drawn.study_with_every_figure(
        name=name,
        translations={"es": {"title": "Un estudio", "description": "De qué trata."}},
        completion_code="needle-code",
        **fields,
    )
    ImageSet.objects.filter(task__study=study).update(licence="CC BY 4.0", model_name="a model")
    task = study.tasks.get(kind="depiction")
    task.instructions, task.translations = "Look twice.", {"es": {"wording": "¿Qué muestra la imagen?"}}
    task.examples = [{"text": "A hat.", "answer": "Depicted", "why": "It is there."}]
    task.save()
    factories.consent_text(study)
    people = list(Annotator.objects.filter(responses__unit__task=task).distinct().order_by("pk"))
    for unit in study.tasks.get(kind="visual_nature").units.all():
        for who, answer in zip(people, unit.responses.order_by("pk"), strict=True):
            answer.annotator = who
            answer.save()
    for who, pseudonym in zip(people, NEEDLES, strict=False):
        who.pseudonym = pseudonym
        who.user = factories.user(f"needle-account-{pseudonym}")
        who.save()
        enrolled = factories.enrolment(study, who=who)
        enrolled.crowd_participant = f"needle-worker-{pseudonym}"
        enrolled.save()
        answers = {"gender": ("woman", True), "origin": ("Asia", True), "residence": ("Europe", False)}
        for field, (value, public) in answers.items():
            ProfileAnswer.objects.create(annotator=who, field=field, value=value, may_publish=public)
    ProfileAnswer.objects.filter(annotator=people[0], field="origin").update(
        value="Needlish", self_described=True, own_words="needle-words"
    )
    Judgement.objects.filter(response__unit__task__study=study).update(justification="needle-reason")
    Skip.objects.create(
        unit=task.units.first(),
        annotator=people[0],
        client_key="00000000-0000-0000-0000-000000000001",
        reason="other",
        note="needle-note",
        at=timezone.now(),
    )
    factories.attribute_unit(study.tasks.get(kind="visual_nature"), purpose="gold", feedback="needle-gold")
    return study


def digests(folder: Path) -> dict[str, str]:
    return {
        name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in services.file_names(folder)
    }
