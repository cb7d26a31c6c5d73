"""Which answers are taken out: the study, what is filtered, and never what was withdrawn."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from django.db.models import (
    BooleanField,
    CharField,
    Exists,
    ExpressionWrapper,
    F,
    OuterRef,
    Q,
    QuerySet,
    Value,
)
from django.db.models.functions import Coalesce

from annotation.models import (
    IdentityGroup,
    Judgement,
    Pool,
    ProfileAnswer,
    ProfileField,
    Purpose,
    Region,
    Study,
)

COUNTED, SURPLUS = "counted", "surplus"
STATUSES = (COUNTED, SURPLUS)
"""*counted*: what scores use, that is current answers to data units that filled a slot; *surplus*: answers to
data units that came when all that were wanted were there."""

POOLS: dict[str, str] = {Pool.IN_REGION: "in_region", Pool.OUT_REGION: "out_region"}
"""Each pool, and the field of `with_pools` that says it."""


NONE_OF_ABOVE = "none of the above"
"""How formats without roles write the option that has no attribute."""


class ExportRefused(ValueError):
    """An export that cannot be made as asked. The message says what to do."""


@dataclass(frozen=True)
class Filters:
    """What to take; an empty field takes everything. `since` and `until` are days (UTC), both included, of
    when the answer came; answers without a time are left out once a day is given. `pool` goes by what
    annotators said of themselves, as agreement does (PROTOCOL §3)."""

    task: str = ""
    since: date | None = None
    until: date | None = None
    group: str = ""
    pool: str = ""
    stratum: str = ""
    status: str = ""

    def said(self) -> dict[str, str]:
        """The fields that are filled in, as text."""
        return {name: str(value) for name, value in asdict(self).items() if value}

    @classmethod
    def from_said(cls, said: Mapping[str, str]) -> Filters:
        """The filters of which `said` tells."""
        days = {name: date.fromisoformat(said[name]) for name in ("since", "until") if name in said}
        return cls(**{**said, **days})  # type: ignore[arg-type]


@dataclass
class Selection:
    """Answers of one study, and how many of their rows an export has read so far, which is told to `told`.
    `withdrawn`: how many responses of the study had been taken back when it began (`snapshot.consistent`)."""

    study: Study
    filters: Filters = field(default_factory=Filters)
    rows: int = 0
    withdrawn: int = 0
    told: Callable[[int], None] | None = None

    def read(self, rows: int) -> None:
        """So many rows more were read."""
        self.rows += rows
        if self.told is not None:
            self.told(self.rows)

    def judgements(self, *, status: str = "", tasks: Sequence[str] = ()) -> QuerySet[Judgement]:
        """The judgements that are asked for. `status` is what a format needs where the filters leave it open,
        `tasks` are the kinds that it holds; all, if there are none."""
        asked = self.filters
        rows = Judgement.objects.filter(
            response__unit__task__study=self.study, response__withdrawn_at__isnull=True
        )
        if tasks:
            rows = rows.filter(response__unit__task__kind__in=tasks)
        if asked.task:
            rows = rows.filter(response__unit__task__kind=asked.task)
        if asked.since:
            rows = rows.filter(response__submitted_at__gte=_midnight(asked.since))
        if asked.until:
            rows = rows.filter(response__submitted_at__lt=_midnight(asked.until + timedelta(days=1)))
        if asked.group:
            rows = rows.filter(
                Q(response__unit__image__group__name=asked.group)
                | Q(response__unit__association__group__name=asked.group)
            )
        if asked.stratum:
            rows = rows.filter(response__slot__stratum=asked.stratum)
        if asked.pool:
            rows = with_pools(rows).filter(**{POOLS[asked.pool]: True})
        return _of_status(rows, asked.status or status)


def check(study: Study, filters: Filters) -> None:
    """Raises ExportRefused, naming what there is, where a filter is none."""
    kinds = sorted(set(study.tasks.values_list("kind", flat=True)))
    strata = sorted({text for task in study.tasks.all() for text in (*task.strata, *task.slot_strata)})
    for name, value, there_are in (
        ("task", filters.task, kinds),
        ("pool", filters.pool, Pool.values),
        ("stratum", filters.stratum, strata),
        ("status", filters.status, list(STATUSES)),
    ):
        if value and value not in there_are:
            raise ExportRefused(
                f"There is no {name} '{value}' here. There is: {', '.join(there_are) or 'none'}."
            )
    if filters.group and not IdentityGroup.objects.filter(name=filters.group).exists():
        raise ExportRefused(f"There is no identity group '{filters.group}'.")
    if filters.since and filters.until and filters.since > filters.until:
        raise ExportRefused(f"{filters.since} is after {filters.until}: nothing is between them.")


def check_groups(rows: QuerySet[Judgement], *, of: str) -> None:
    """For formats that know a group by its name alone. Raises ExportRefused where groups on two axes have one
    name. `of`: the stimulus that has the group."""
    group = f"response__unit__{of}__group"
    named = (
        rows.filter(**{f"{group}__isnull": False}).order_by().values_list(f"{group}__name", f"{group}__axis")
    )
    axes: dict[str, str] = {}
    for name, axis in named.distinct():
        other = axes.setdefault(name, axis)
        if other != axis:
            raise ExportRefused(
                f"'{name}' is an identity group on two axes, {' and '.join(sorted((other, axis)))}, and this "
                "format knows groups by name alone: it would make one of them. Take the long table (csv, "
                "jsonl or parquet), which names the axis."
            )


def check_attributes(rows: QuerySet[Judgement]) -> None:
    """For formats in which an option without an attribute is one more text. Raises ExportRefused where an
    attribute is called so."""
    if rows.filter(option__attribute__text=NONE_OF_ABOVE).exists():
        raise ExportRefused(
            f"An attribute here is '{NONE_OF_ABOVE}', which this format could not tell from the option of "
            "that name. Take the long table (csv, jsonl or parquet)."
        )


def with_pools(rows: QuerySet[Judgement]) -> QuerySet[Any]:
    """`rows` with `in_region` and `out_region`: in which pool the annotator is for the identity group that
    they judged, if in any (PROTOCOL §3)."""
    region = Coalesce(
        F("response__unit__image__group__region"),
        F("response__unit__association__group__region"),
        output_field=CharField(),
    )
    rows = rows.alias(judged_region=region)
    resides = _says(ProfileField.RESIDENCE, OuterRef("judged_region"))
    identifies = _says(ProfileField.IDENTITY_REGION, OuterRef("judged_region"))
    resides_in_north_america = _says(ProfileField.RESIDENCE, Value(Region.NORTH_AMERICA.value))
    return rows.annotate(
        in_region=ExpressionWrapper(Q(resides), output_field=BooleanField()),
        out_region=ExpressionWrapper(
            Q(identifies) & Q(resides_in_north_america) & ~Q(resides), output_field=BooleanField()
        ),
    )


def _says(name: str, value: Any) -> Exists:
    said = ProfileAnswer.objects.filter(annotator=OuterRef("response__annotator"), field=name)
    return Exists(said.filter(value__iexact=value))


def _of_status(rows: QuerySet[Judgement], status: str) -> QuerySet[Judgement]:
    if not status:
        return rows
    return rows.filter(
        response__unit__purpose=Purpose.DATA,
        response__current=True,
        response__slot__isnull=status == SURPLUS,
    )


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time.min, tzinfo=UTC)


__all__ = [
    "COUNTED",
    "NONE_OF_ABOVE",
    "STATUSES",
    "SURPLUS",
    "ExportRefused",
    "Filters",
    "Selection",
    "check",
    "check_attributes",
    "check_groups",
    "with_pools",
]
