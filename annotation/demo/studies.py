"""The two studies of the demonstration: one completed by simulated annotators, one live, for people."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction

from annotation.demo import answers
from annotation.demo.accounts import DemoRefused
from annotation.demo.names import FINISHED, LIVE
from annotation.demo.pictures import IMAGE_SET, Truth
from annotation.demo.plan import THRESHOLD, GroupPlan
from annotation.demo.scenario import DATA, Scenario
from annotation.models import ConsentText, Image, ImageSet, Pool, Source, Study, StudyStatus, Task, TaskKind
from annotation.models.studies import DEMO_CONTACT
from annotation.studies.services.studies import apply_file, change_status
from annotation.studies.services.study_plan import consent_fields
from annotation.studies.study_file.reading import StudyFile, read_study_file
from annotation.studies.units.attributes import create_attribute_units, shuffled
from annotation.studies.units.depiction import page_options
from annotation.studies.units.planned import PlannedUnit
from annotation.studies.units.write import create_units

_WORDING = "The attribute '[attr]' can be visually depicted in an image."


@transaction.atomic
def make_finished(
    *, scenario: Scenario, plans: Sequence[GroupPlan], truth: Truth, by: User, now: datetime
) -> bool:
    """Create the study `demo`, answered and closed; return False if it exists already.

    `by`: its lead. Raises DemoRefused if another study has this name.
    """
    if _exists(FINISHED, simulated=True):
        return False
    began = now - timedelta(days=7)
    study = _new_study(
        by=by,
        name=FINISHED,
        title="Demonstration (simulated answers)",
        description=(
            "Drawn images with simulated answers of twelve annotators and a known bias. Nothing here "
            "says anything about any group of people."
        ),
        simulated=True,
        opened_at=began,
    )
    _add_rating(study, scenario=scenario, strata=scenario.visual_strata)
    depiction = _add_task(
        study,
        kind=TaskKind.DEPICTION,
        wording="Select every attribute that this image depicts, and draw a box around what shows it.",
        strata=scenario.depiction_strata,
        image_set=ImageSet.objects.get(name=IMAGE_SET),
        seed=scenario.seed,
    )
    create_units(task=depiction, planned=_pages(depiction, plans))
    enrolments = answers.enrol_annotators(study=study, scenario=scenario)
    study.closed_at = answers.answer_all(enrolments=enrolments, scenario=scenario, truth=truth, since=began)
    study.status = StudyStatus.CLOSED
    study.save(update_fields=["status", "closed_at"])
    return True


@transaction.atomic
def make_live(*, by: User) -> bool:
    """Create the study `demo-live` of data/live.toml, open and without answers; return False if it exists.

    `by`: its lead. Raises DemoRefused if another study has this name.
    """
    if _exists(LIVE, simulated=False):
        return False
    made = apply_file(file=_live_file(), by=by)
    change_status(study=made.study, to=StudyStatus.OPEN, by=by)
    return True


def _live_file() -> StudyFile:
    return read_study_file(DATA / "live.toml")


def _exists(name: str, *, simulated: bool) -> bool:
    study = Study.objects.filter(name=name).first()
    if study is None:
        return False
    source = study.stereotype_source
    if study.simulated != simulated or source is None or source.name != "demo":
        raise DemoRefused(
            f"There is already a study named '{name}' that is not part of the demonstration. Rename it in "
            "the admin site, or load the demonstration into another database (VAR_DIR or DATABASE_URL)."
        )
    return True


def _new_study(*, by: User, **fields: Any) -> Study:
    study = Study.objects.create(
        status=StudyStatus.OPEN,
        contact=DEMO_CONTACT,
        stereotype_source=Source.objects.get(name="demo"),
        stereotype_pool=Pool.OUT_REGION,
        stereotype_threshold=THRESHOLD,
        **fields,
    )
    study.leads.add(by)
    for language, texts in consent_fields(_live_file()).items():
        ConsentText.objects.create(study=study, language=language, **texts)
    return study


def _add_task(study: Study, *, strata: Sequence[str], **fields: Any) -> Task:
    return Task.objects.create(
        study=study, strata=list(strata), overlap=len(strata), frozen_at=study.opened_at, **fields
    )


def _add_rating(study: Study, *, scenario: Scenario, strata: Sequence[str]) -> None:
    task = _add_task(study, kind=TaskKind.VISUAL_NATURE, wording=_WORDING, strata=strata, seed=scenario.seed)
    create_attribute_units(task=task, attributes=shuffled([*scenario.attributes], seed=scenario.seed))


def _pages(task: Task, plans: Sequence[GroupPlan]) -> Iterator[PlannedUnit]:
    """One unit for each page of each picture: its attributes, then none of the above (PROTOCOL §5)."""
    rows = Image.objects.filter(image_set=task.image_set_id).values_list("group__name", "index", "pk")
    images = {(group, index): pk for group, index, pk in rows}
    for plan in plans:
        for picture in plan.pictures:
            for number, texts in enumerate(picture.pages, start=1):
                yield PlannedUnit(
                    image_id=images[plan.group, picture.index],
                    page=number,
                    options=page_options(texts, stereotypical=plan.stereotypical),
                    strata=tuple(task.strata),
                )
