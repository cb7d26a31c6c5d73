"""Units that show one attribute, for visual nature and offensiveness (PROTOCOL §2, §4)."""

import random
from collections.abc import Container, Iterator, Sequence

from annotation.models import Attribute, Task
from annotation.studies.errors import StudyRefused
from annotation.studies.errors import gettext_noop as _
from annotation.studies.study_file.stimuli import SourceDraw
from annotation.studies.study_file.tasks import TaskFile
from annotation.studies.units.people_part import draw_people_part
from annotation.studies.units.planned import Plan, PlannedOption, PlannedUnit, get_source
from annotation.studies.units.write import create_units


def shuffled(texts: Sequence[str], *, seed: int) -> list[str]:
    """`texts` in a random order that depends only on the seed and the set of texts, not on their order."""
    ordered = sorted(texts)
    random.Random(seed).shuffle(ordered)  # noqa: S311 - an order to be repeated, not a secret
    return ordered


def plan_attributes(task: TaskFile, *, key: str) -> Plan:
    """One unit per attribute, shuffled by the seed."""
    chosen = task.attributes or ()
    drawn = _draw(chosen, seed=task.seed, key=key) if isinstance(chosen, SourceDraw) else chosen
    part = draw_people_part((("", text) for text in sorted(drawn)), share=task.people_share, seed=task.seed)
    ordered = shuffled(drawn, seed=task.seed)
    return Plan(units=lambda: _units(ordered, strata=task.strata, part=part))


def create_attribute_units(*, task: Task, attributes: Sequence[str]) -> None:
    """Create one unit with its slots per attribute, in the given order."""
    create_units(task=task, planned=_units(attributes, strata=tuple(task.strata)))


def _units(
    attributes: Sequence[str], *, strata: tuple[str, ...], part: Container[str] | None = None
) -> Iterator[PlannedUnit]:
    for text in attributes:
        yield PlannedUnit(
            attribute=text,
            options=(PlannedOption(text),),
            strata=strata if part is None or text in part else (),
        )


def _draw(drawn: SourceDraw, *, seed: int, key: str) -> list[str]:
    source = get_source(drawn.source, key=f"{key}.source")
    texts = Attribute.objects.filter(associations__source=source).order_by()
    # sorted here, because databases order text differently
    ordered = sorted(texts.values_list("text", flat=True).distinct())
    if not ordered:
        raise StudyRefused(
            _("'%(source)s' has no attributes. Import it first."), key=f"{key}.source", source=drawn.source
        )
    if drawn.limit is None:
        return ordered
    if drawn.limit > len(ordered):
        raise StudyRefused(
            "%(it)s, but '%(source)s' has %(there)s attributes. Lower it.",
            page_message=_("'%(source)s' has %(there)s attributes in all. Lower the number."),
            key=f"{key}.limit",
            value=drawn.limit,
            source=drawn.source,
            there=len(ordered),
        )
    return random.Random(seed).sample(ordered, drawn.limit)  # noqa: S311 - a draw to be repeated
