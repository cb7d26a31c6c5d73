"""Units that show one attribute: visual nature and offensiveness (PROTOCOL §2, §4)."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence

from annotation.models import Attribute, Task
from annotation.studies.errors import gettext_noop as _
from annotation.studies.study_file.tasks import FromSource
from annotation.studies.units.planned import Plan, PlannedOption, PlannedUnit, StudyRefused, source_named
from annotation.studies.units.write import make_units


def shuffled(texts: Sequence[str], *, seed: int) -> list[str]:
    """`texts` in an order that depends on the seed and on which texts there are, not on how they came."""
    ordered = sorted(texts)
    random.Random(seed).shuffle(ordered)  # noqa: S311 - an order to be repeated, not a secret
    return ordered


def plan_attributes(
    *, attributes: FromSource | Sequence[str], strata: Sequence[str], seed: int, key: str
) -> Plan:
    """One unit an attribute, in an order shuffled by the seed."""
    chosen = _drawn(attributes, seed=seed, key=key) if isinstance(attributes, FromSource) else attributes
    ordered = shuffled(chosen, seed=seed)
    return Plan(units=lambda: _units(ordered, strata=tuple(strata)))


def make_attribute_units(
    *, task: Task, attributes: Sequence[str], progress: Callable[[int], None] = lambda made: None
) -> int:
    """Give `task` one unit for each attribute, in the order given, with its slots; the number made."""
    planned = _units(attributes, strata=tuple(task.strata))
    return make_units(task=task, planned=planned, progress=progress)


def _units(attributes: Sequence[str], *, strata: tuple[str, ...]) -> Iterator[PlannedUnit]:
    for text in attributes:
        yield PlannedUnit(attribute=text, options=(PlannedOption(text),), strata=strata)


def _drawn(drawn: FromSource, *, seed: int, key: str) -> list[str]:
    source = source_named(drawn.source, key=f"{key}.source")
    texts = Attribute.objects.filter(associations__source=source).order_by()
    # sorted here and not in the database: databases differ in how they order texts
    ordered = sorted(texts.values_list("text", flat=True).distinct())
    if not ordered:
        raise StudyRefused(
            _("'%(source)s' has no attributes. Import it first."), place=f"{key}.source", source=drawn.source
        )
    if drawn.limit is None:
        return ordered
    if drawn.limit > len(ordered):
        raise StudyRefused(
            "%(it)s, but '%(source)s' has %(there)s attributes. Lower it.",
            on_page=_("'%(source)s' has %(there)s attributes in all. Lower the number."),
            place=f"{key}.limit",
            value=drawn.limit,
            source=drawn.source,
            there=len(ordered),
        )
    return random.Random(seed).sample(ordered, drawn.limit)  # noqa: S311 - a draw to be repeated
