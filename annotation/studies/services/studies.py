"""Creating a study from a file, and opening, pausing and closing it.

    draft -> open <-> paused -> closed        (and open -> closed)

A change of status is one conditional UPDATE, whose row count says whether it happened. Opening freezes the
tasks: from then on, the questions do not change (DESIGN §3).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.contrib.auth import get_user_model
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation import events
from annotation.core import strata
from annotation.models import (
    AuditEvent,
    ConsentText,
    Image,
    ImageSet,
    Purpose,
    Study,
    StudyStatus,
    Task,
    TaskKind,
    Unit,
)
from annotation.studies.errors import KeyPath, StudyRefused, gettext_noop
from annotation.studies.services.adapted import check_adapted
from annotation.studies.services.study_plan import (
    MADE_FROM_FILE,
    consent_fields,
    differences,
    draw_recipes,
    plan_tasks,
    study_fields,
    task_fields,
)
from annotation.studies.study_file.reading import StudyFile
from annotation.studies.units.planned import get_source, rows_named
from annotation.studies.units.write import create_units, delete_units

if TYPE_CHECKING:
    from django.contrib.auth.models import User

logger = logging.getLogger(__name__)

TRANSITIONS: dict[str, frozenset[str]] = {
    StudyStatus.OPEN: frozenset({StudyStatus.DRAFT, StudyStatus.PAUSED}),
    StudyStatus.PAUSED: frozenset({StudyStatus.OPEN}),
    StudyStatus.CLOSED: frozenset({StudyStatus.OPEN, StudyStatus.PAUSED}),
}
"""New status -> the statuses that can change to it."""


@dataclass(frozen=True)
class AppliedFile:
    """Result of `apply_file`. `outcome`: *made*, *remade* (a draft, from a changed file) or *unchanged*.
    `units`, `slots`: how many the study has. `notes`: remarks about the draw."""

    study: Study
    outcome: str
    units: int
    slots: int
    notes: tuple[str, ...] = ()


def apply_file(
    *, file: StudyFile, by: User | None, progress: Callable[[int], None] = lambda made: None
) -> AppliedFile:
    """Create the study of `file` as a draft, or update its draft; the same file again changes nothing.

    A study that has been open is never changed, because people have answered its questions. `progress` is
    called with the number of units written. Raises StudyRefused with the key of the file and what to do.
    """
    with transaction.atomic():
        leads = rows_named(
            get_user_model().objects.filter(username__in=file.leads), "username", file.leads, "leads"
        )
        source = (
            get_source(file.stereotype_source, key="stereotypes.source") if file.stereotype_source else None
        )
        planned = plan_tasks(file, source=source)
        notes = tuple(note for _task, plan in planned for note in plan.notes)
        fields = {**study_fields(file), "stereotype_source": source}
        # Of two calls at once, the second waits here for the row of the first, and then compares.
        study, created = Study.objects.get_or_create(name=file.name, defaults=fields)
        outcome = "made"
        if not created:
            study = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
            differing = differences(study, file=file, planned=planned)
            if not differing:
                return _result(study, outcome="unchanged", notes=notes)
            if study.status != StudyStatus.DRAFT:
                fix = (
                    "Its questions cannot change. Undo the change, or give the file another name to create a "
                    "new study."
                )
                if all(key.startswith("consent") for key in differing):
                    fix = "The command `consent` publishes it as the next version."
                raise StudyRefused(
                    f"the study '{study.name}' is {study.status} already, and the file now differs in "
                    f"{', '.join(differing)}. {fix}",
                    page_message=gettext_noop(
                        "This study is no longer a draft, so its questions cannot change."
                    ),
                )
            for task in study.tasks.all():
                delete_units(task=task)
            study.tasks.all().delete()
            study.consent_texts.all().delete()
            study, _ = Study.objects.update_or_create(name=file.name, defaults=fields)
            outcome = "remade"
        study.leads.set(leads)
        for language, texts in consent_fields(file).items():
            ConsentText.objects.create(study=study, version=1, language=language, **texts)
        for read, plan in planned:
            task = Task.objects.create(study=study, kind=read.kind, **task_fields(read, plan))
            create_units(task=task, planned=plan.units(), progress=progress)
        AuditEvent.objects.create(
            what=MADE_FROM_FILE, study=study, by=by, details={"draws": draw_recipes(file)}
        )
        logger.info(
            "study %s %s from a file by %s", study.name, outcome, f"user {by.pk}" if by else "a command"
        )
        return _result(study, outcome=outcome, notes=notes)


def next_statuses(study: Study) -> list[str]:
    """The statuses that a study can change to."""
    return [to for to, origins in TRANSITIONS.items() if study.status in origins]


def change_status(*, study: Study, to: str, by: User | None, texts_checked: bool = False) -> bool:
    """Change the status of a study; False if it has that status already.

    `texts_checked`: whoever opens it says that they adapted or checked the consent, warning and support texts
    that are still those of a template. Raises StudyRefused if the change is not allowed, or if the study is
    not ready to open.
    """
    now = timezone.now()
    changes: dict[str, object] = {"status": to}
    what = f"study {to}"
    if to == StudyStatus.CLOSED:
        changes["closed_at"] = now
    with transaction.atomic():
        if to == StudyStatus.OPEN:
            _check_ready_to_open(study)
            if study.status == StudyStatus.DRAFT:
                check_adapted(study=study, texts_checked=texts_checked)
            first = Study.objects.filter(pk=study.pk, opened_at__isnull=True).update(opened_at=now)
            what = "study opened" if first else "study resumed"
            study.tasks.filter(frozen_at__isnull=True).update(frozen_at=now)
        moved = Study.objects.filter(pk=study.pk, status__in=TRANSITIONS[to]).update(**changes)
        study.refresh_from_db()
        if not moved and study.status != to:
            allowed = sorted(next_statuses(study))
            raise StudyRefused(
                _("The study '%(name)s' is %(status)s and cannot become %(wanted)s.")
                % {"name": study.name, "status": study.status, "wanted": to}
                + " "
                + (
                    _("It can become: %(states)s.") % {"states": ", ".join(allowed)}
                    if allowed
                    else _("A closed study cannot be reopened.")
                )
            )
        if moved:
            AuditEvent.objects.create(what=what, study=study, by=by)
            events.announce_status(study=study)
    if moved:
        logger.info("study %s is %s by %s", study.name, to, f"user {by.pk}" if by else "a command")
    return bool(moved)


def attach_image_set(*, study: Study, image_set: ImageSet, by: User | None) -> bool:
    """Let the depiction task of a draft use `image_set`; False if it uses it already. Its units are created
    from the study's file, once the images exist.

    Raises StudyRefused if the study is no longer a draft, or its task uses another set.
    """
    with transaction.atomic():
        study = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
        task = study.tasks.select_related("image_set").filter(kind=TaskKind.DEPICTION).first()
        if task is not None and task.image_set == image_set:
            return False
        if task is None or task.image_set is not None or study.status != StudyStatus.DRAFT:
            problem = (
                "does not ask what images depict"
                if task is None
                else f"shows '{task.image_set.name}'"
                if task.image_set
                else f"is {study.status}, and its questions cannot change"
            )
            raise StudyRefused(
                f"the study '{study.name}' {problem}, so it cannot show '{image_set.name}'. Name the set in "
                "a study file, and create a study from it."
            )
        Task.objects.filter(pk=task.pk).update(image_set=image_set)
        AuditEvent.objects.create(
            what="study shows images", study=study, by=by, details={"image_set": image_set.name}
        )
        return True


def unknown_strata_values(file: StudyFile, *, offered: Mapping[str, Iterable[str]]) -> list[str]:
    """Strata with values that the profile page does not offer; hardly anybody matches them."""
    unknown = []
    for text in sorted({text for task in file.tasks for text in task.strata}):
        for clause in strata.parse(text, unresolved=True).clauses:
            known = {value.lower() for value in offered.get(clause.field, ())}
            wanted = clause.values - {"male", "female"}
            if known and not clause.negated and not wanted <= known:
                unknown.append(text)
    return unknown


def _check_ready_to_open(study: Study) -> None:
    if not study.tasks.exists() or study.tasks.filter(units__isnull=True).exists():
        raise StudyRefused(
            f"the study '{study.name}' has nothing to answer. Create it with open_study FILE.toml.",
            page_message=gettext_noop(
                "There is nothing to annotate yet. Choose what is judged on %(tasks)s."
            ),
            tasks=KeyPath("tasks"),
        )
    if not study.consent_texts.exists():
        raise StudyRefused(
            f"the study '{study.name}' has no consent text. Add one before opening it.",
            page_message=gettext_noop("Add %(it)s."),
            it=KeyPath("consent.text"),
        )
    checks = Unit.objects.filter(task__study=study)
    if study.training_pass is not None and not checks.filter(purpose=Purpose.TRAINING).exists():
        raise StudyRefused(
            f"the study '{study.name}' has a pass mark for training items, but no training items. "
            "Add some, or leave training_pass out.",
            page_message=gettext_noop(
                "Training items are required, but no task has any. Add some, or leave %(share)s empty."
            ),
            share=KeyPath("quality.training_pass"),
        )
    absent = Image.objects.filter(units__task__study=study, file="").distinct()
    if first := absent.order_by("group__name", "index").first():
        kinds = list(study.tasks.order_by("pk").values_list("kind", flat=True))
        raise StudyRefused(
            f"the study '{study.name}' cannot show its images: %(number)s of them have no file, the first is "
            "%(first)s. Add the files to the image set '%(set)s' before opening it.",
            page_message=gettext_noop(
                "%(number)s of the images chosen in %(field)s have no file, the first is %(first)s. Add the "
                "files to '%(set)s'."
            ),
            number=absent.count(),
            first=first,
            set=first.image_set.name,
            field=KeyPath(f"tasks[{kinds.index(TaskKind.DEPICTION) + 1}].image_set"),
        )


def _result(study: Study, *, outcome: str, notes: tuple[str, ...]) -> AppliedFile:
    units = Unit.objects.filter(task__study=study).count()
    return AppliedFile(study=study, outcome=outcome, units=units, slots=study.slots.count(), notes=notes)
