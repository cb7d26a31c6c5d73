"""Units of training items, gold items and attention checks. Their answers are known, they have no slots, and
they come after the data in the order of a task."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from django.db.models import QuerySet

from annotation.core import scales
from annotation.core.nearest import Nearest
from annotation.models import Association, Image, ImageSet
from annotation.studies.errors import StudyRefused
from annotation.studies.errors import gettext_noop as _
from annotation.studies.study_file.checks import CheckItem
from annotation.studies.study_file.marks import is_marked
from annotation.studies.study_file.tasks import TaskFile
from annotation.studies.units.depiction import page_options
from annotation.studies.units.planned import Plan, PlannedOption, PlannedUnit, get_source


def with_checks(plan: Plan, task: TaskFile, *, key: str) -> Plan:
    """`plan` followed by the check items of the task."""
    if not task.checks:
        return plan
    source = task.associations.source if task.associations is not None else None
    numbers: Counter[str] = Counter()
    planned = []
    for check in task.checks:
        numbers[check.purpose] += 1
        where = f"{key}.{check.purpose}[{numbers[check.purpose]}]"
        if is_marked(check.group, check.attribute, *check.shown):
            raise StudyRefused(
                _("this item is a suggestion with a place to adapt. Fill it in, or remove the item."),
                key=where,
            )
        if plan.image_set is not None:
            planned.append(_plan_page(check, images=plan.image_set, key=where))
        else:
            planned.append(_plan_item(check, kind=task.kind, source=source, key=where))

    def units() -> Iterator[PlannedUnit]:
        # Page numbers of check items continue those of the data.
        pages: Counter[int] = Counter()
        for unit in plan.units():
            if unit.image_id is not None:
                pages[unit.image_id] = max(pages[unit.image_id], unit.page)
            yield unit
        # `repeat` distinguishes a check from a data unit with the same stimulus.
        repeats: Counter[str | int | None] = Counter()
        for unit in planned:
            if unit.image_id is not None:
                pages[unit.image_id] += 1
                yield replace(unit, page=pages[unit.image_id])
            else:
                same = unit.attribute if unit.association_id is None else unit.association_id
                repeats[same] += 1
                yield replace(unit, repeat=repeats[same])

    return replace(plan, units=units)


def _plan_item(check: CheckItem, *, kind: str, source: str | None, key: str) -> PlannedUnit:
    option = PlannedOption(check.attribute, expected=_expected_values(check, kind=kind, key=key))
    unit = PlannedUnit(options=(option,), strata=(), purpose=check.purpose, feedback=check.feedback)
    if source is None:
        return replace(unit, attribute=check.attribute)
    rows = Association.objects.filter(
        source=get_source(source, key=key), group__name=check.group, attribute__text=check.attribute
    )
    ids = list(rows.values_list("pk", flat=True)[:2])
    if not ids:
        groups = Association.objects.filter(source__name=source).values_list("group__name", flat=True)
        _refuse_misspelt(check.group, groups=groups, of=source, key=key)
    if len(ids) != 1:
        raise StudyRefused(
            _(
                "'%(source)s' has more than one association of '%(group)s' with '%(attribute)s'. "
                "Choose another."
            )
            if ids
            else _("'%(source)s' has no association of '%(group)s' with '%(attribute)s'. Choose another."),
            key=key,
            source=source,
            group=check.group,
            attribute=check.attribute,
        )
    return replace(unit, association_id=ids[0])


def _plan_page(check: CheckItem, *, images: ImageSet, key: str) -> PlannedUnit:
    rows = Image.objects.filter(image_set=images, group__name=check.group, index=check.image or 0)
    ids = list(rows.values_list("pk", flat=True)[:1])
    if not ids:
        groups = Image.objects.filter(image_set=images).values_list("group__name", flat=True)
        _refuse_misspelt(check.group, groups=groups, of=images.name, key=key)
        raise StudyRefused(
            _("'%(set)s' has no image %(number)s of the group '%(group)s'. Choose another."),
            key=key,
            set=images.name,
            number=check.image,
            group=check.group,
        )
    options = tuple(
        # none of the above is expected if no attribute is
        replace(
            option,
            expected=(int(option.attribute in check.expected if option.attribute else not check.expected),),
        )
        for option in page_options(check.shown, stereotypical=())
    )
    return PlannedUnit(
        image_id=ids[0], options=options, strata=(), purpose=check.purpose, feedback=check.feedback
    )


def _refuse_misspelt(group: str, *, groups: QuerySet[Any, str], of: str, key: str) -> None:
    """Raise StudyRefused if `group` is not among the `groups` of a source or image set, but like one."""
    known = set(groups.order_by().distinct())
    nearest = "" if group in known else Nearest(known).to(group)
    if nearest:
        raise StudyRefused(
            _("'%(of)s' has no group '%(group)s'. Did you mean '%(nearest)s'?"),
            key=key,
            of=of,
            group=group,
            nearest=nearest,
        )


def _expected_values(check: CheckItem, *, kind: str, key: str) -> tuple[int, ...]:
    labels = scales.SCALES[kind]
    by_answer: dict[str | int, int] = {label.name.lower(): label.value for label in labels}
    by_answer |= {label.value: label.value for label in labels}
    values = set()
    for each in check.expected:
        value = by_answer.get(each.strip().lower() if isinstance(each, str) else each)
        if value is None:
            raise StudyRefused(
                f"'%(answer)s' is not an answer of a {kind} task. Choose from: %(labels)s.",
                key=f"{key}.expected",
                page_message=_("'%(answer)s' is not an answer here. Choose from: %(labels)s."),
                answer=each,
                labels=", ".join(label.name for label in labels),
            )
        values.add(value)
    return tuple(sorted(values))
