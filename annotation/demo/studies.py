"""The two studies of the demonstration: one completed by simulated annotators, one open to try."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Max

from annotation.core.translation import Translations
from annotation.demo import answers
from annotation.demo.accounts import DemoRefused
from annotation.demo.pictures import IMAGE_SET, Truth
from annotation.demo.plan import THRESHOLD, GroupPlan
from annotation.demo.scenario import Scenario
from annotation.models import (
    Attribute,
    ConsentText,
    Image,
    ImageSet,
    Option,
    OptionRole,
    Pool,
    Slot,
    Source,
    Study,
    StudyStatus,
    Task,
    TaskKind,
    Unit,
)
from annotation.studies.units.attributes import create_attribute_units, shuffled

FINISHED = "demo"
OPEN = "demo-rating"
_WORDING = "The attribute '[attr]' can be visually depicted in an image."
_CONSENT = {
    "en": {
        "text": (
            "This is a demonstration. Your answers are stored on this computer only and are not part of a "
            "study. You can stop at any time, without any disadvantage."
        ),
        "content_warning": (
            "Some of the words name stereotypes of groups of people. Showing them does not mean that they "
            "are true."
        ),
    },
    "es": {
        "text": (
            "Esto es una demostración. Lo que responda se guarda solo en este ordenador y no forma parte de "
            "ningún estudio. Puede parar cuando quiera, y nada de lo que haga aquí perjudicará a nadie."
        ),
        "content_warning": (
            "Algunas de las palabras nombran estereotipos sobre grupos de personas. Que se muestren no los "
            "hace verdaderos."
        ),
    },
    "ar": {
        "text": (
            "هذا عرض تجريبي. تُحفظ إجاباتك على هذا الحاسوب وحده ولا تدخل في أي دراسة. "
            "يمكنك التوقف في أي وقت، ولا يُؤخذ على أحد شيء مما يفعله هنا."
        ),
        "content_warning": "تسمّي بعض الكلمات صورًا نمطية عن مجموعات من الناس. وعرضها لا يجعلها صحيحة.",
    },
}
_TRANSLATIONS = {
    "es": {
        "title": "Demostración: ¿qué atributos se pueden ver?",
        "description": "Cuarenta atributos para valorar, para probar lo que hacen quienes participan.",
    },
    "ar": {
        "title": "عرض تجريبي: ما الصفات التي يمكن رؤيتها؟",
        "description": "أربعون صفة للتقييم، لتجربة ما يجري في الدراسات.",
    },
}


def make_finished(
    *, scenario: Scenario, plans: Sequence[GroupPlan], truth: Truth, by: User, now: datetime
) -> bool:
    """Create the study `demo`, answered and closed; return False if it exists already.

    `by`: its lead. Raises DemoRefused if another study has this name.
    """
    with transaction.atomic():
        if _exists(FINISHED, simulated=True):
            return False
        began = now - timedelta(days=7)
        study = _new_study(
            name=FINISHED,
            title="Demonstration (simulated answers)",
            description=(
                "Drawn images with simulated answers of twelve annotators and a known bias. Nothing here "
                "says anything about any group of people."
            ),
            simulated=True,
            opened_at=began,
            by=by,
        )
        rating = _add_task(
            study,
            TaskKind.VISUAL_NATURE,
            wording=_WORDING,
            strata=scenario.visual_strata,
            frozen_at=began,
            seed=scenario.seed,
        )
        create_attribute_units(task=rating, attributes=shuffled([*scenario.attributes], seed=scenario.seed))
        depiction = _add_task(
            study,
            TaskKind.DEPICTION,
            wording="Select every attribute that this image depicts, and draw a box around what shows it.",
            strata=scenario.depiction_strata,
            frozen_at=began,
            image_set=ImageSet.objects.get(name=IMAGE_SET),
            seed=scenario.seed,
        )
        _add_pages(depiction, plans)
        enrolments = answers.enrol_annotators(study=study, scenario=scenario)
        ended = answers.answer_all(enrolments=enrolments, scenario=scenario, truth=truth, since=began)
        study.status, study.closed_at = StudyStatus.CLOSED, ended
        study.save(update_fields=["status", "closed_at"])
    return True


def make_open(*, scenario: Scenario, by: User, now: datetime) -> bool:
    """Create the study `demo-rating`, open and without answers; return False if it exists already.

    Raises DemoRefused if another study has this name.
    """
    with transaction.atomic():
        if _exists(OPEN, simulated=False):
            return False
        study = _new_study(
            name=OPEN,
            title="Demonstration: which attributes can be seen?",
            description="Forty attributes to rate, to try out the annotation page.",
            translations=_TRANSLATIONS,
            simulated=False,
            opened_at=now,
            by=by,
        )
        task = _add_task(
            study,
            TaskKind.VISUAL_NATURE,
            wording=_WORDING,
            strata=("any", "any", "any"),
            frozen_at=now,
            seed=scenario.seed,
        )
        create_attribute_units(task=task, attributes=shuffled([*scenario.attributes], seed=scenario.seed))
    return True


def _exists(name: str, *, simulated: bool) -> bool:
    study = Study.objects.filter(name=name).select_related("stereotype_source").first()
    if study is None:
        return False
    source = study.stereotype_source
    if study.simulated != simulated or source is None or source.name != "demo":
        raise DemoRefused(
            f"There is already a study named '{name}' that is not part of the demonstration. Rename it in "
            "the admin site, or load the demonstration into another database (VAR_DIR or DATABASE_URL)."
        )
    return True


def _new_study(
    *,
    name: str,
    title: str,
    description: str,
    simulated: bool,
    opened_at: datetime,
    by: User,
    translations: Translations | None = None,
) -> Study:
    study = Study.objects.create(
        name=name,
        title=title,
        description=description,
        translations=translations or {},
        simulated=simulated,
        status=StudyStatus.OPEN,
        opened_at=opened_at,
        contact="nobody (this is a demonstration)",
        stereotype_source=Source.objects.get(name="demo"),
        stereotype_pool=Pool.OUT_REGION,
        stereotype_threshold=THRESHOLD,
    )
    study.leads.add(by)
    for language, texts in _CONSENT.items():
        ConsentText.objects.create(study=study, language=language, **texts)
    return study


def _add_task(
    study: Study,
    kind: TaskKind,
    *,
    wording: str,
    strata: Sequence[str],
    frozen_at: datetime,
    image_set: ImageSet | None = None,
    seed: int = 0,
) -> Task:
    return Task.objects.create(
        study=study,
        kind=kind,
        wording=wording,
        strata=list(strata),
        overlap=len(strata),
        frozen_at=frozen_at,
        image_set=image_set,
        seed=seed,
    )


def _add_pages(task: Task, plans: Sequence[GroupPlan]) -> None:
    """One unit for each page of each picture: its attributes, then none of the above (PROTOCOL §5)."""
    images = {
        (image.group.name, image.index): image
        for image in Image.objects.filter(image_set=task.image_set_id).select_related("group")
    }
    shown = {text for plan in plans for text in (*plan.stereotypical, *plan.random)}
    attributes = {row.text: row for row in Attribute.objects.filter(text__in=shown)}
    pages = [
        (plan, images[plan.group, picture.index], number, texts)
        for plan in plans
        for picture in plan.pictures
        for number, texts in enumerate(picture.pages, start=1)
    ]
    units = Unit.objects.bulk_create(
        Unit(task=task, position=position, image=image, page=number)
        for position, (_, image, number, _) in enumerate(pages, start=1)
    )
    options = []
    for unit, (plan, _, _, texts) in zip(units, pages, strict=True):
        for position, text in enumerate(texts, start=1):
            role = OptionRole.STEREOTYPICAL if text in plan.stereotypical else OptionRole.RANDOM
            options.append(Option(unit=unit, attribute=attributes[text], role=role, position=position))
        options.append(Option(unit=unit, role=OptionRole.NONE_OF_ABOVE, position=len(texts) + 1))
    Option.objects.bulk_create(options)
    _add_slots(task, units)


def _add_slots(task: Task, units: Sequence[Unit]) -> None:
    last = Slot.objects.filter(study=task.study_id).aggregate(last=Max("queue"))["last"] or 0
    Slot.objects.bulk_create(
        Slot(
            study_id=task.study_id,
            unit=unit,
            index=index,
            stratum=stratum,
            queue=last + place * task.overlap + index + 1,
        )
        for place, unit in enumerate(units)
        for index, stratum in enumerate(task.strata)
    )
