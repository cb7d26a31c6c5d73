"""Which answers an export holds: those of the study that match the filters, never withdrawn ones."""

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
    TaskKind,
)

COUNTED, SURPLUS = "counted", "surplus"
STATUSES = (COUNTED, SURPLUS)
"""*counted*: answers that scores use, that is current answers to data units that filled a slot. *surplus*:
answers to data units that came after all slots were filled."""

POOLS: dict[str, str] = {Pool.IN_REGION: "in_region", Pool.OUT_REGION: "out_region"}
"""Each pool, and its annotation in `with_pools`."""

NONE_OF_ABOVE = "none of the above"
"""The option without an attribute, in formats that have no roles."""


class ExportRefused(ValueError):
    """An export that cannot be made as requested. The message says what to do."""


@dataclass(frozen=True)
class Filters:
    """Filters of an export; an empty field does not filter.

    `since` and `until` are days (UTC) of submission, both included; with either of them, answers without a
    time are left out. `pool` uses annotators' profiles, as agreement does (PROTOCOL §3).
    """

    task: str = ""
    since: date | None = None
    until: date | None = None
    group: str = ""
    pool: str = ""
    stratum: str = ""
    status: str = ""

    def as_dict(self) -> dict[str, str]:
        """The fields that are set, as text."""
        return {name: str(value) for name, value in asdict(self).items() if value}

    @classmethod
    def from_dict(cls, fields: Mapping[str, str]) -> Filters:
        """The inverse of `as_dict`."""
        days = {name: date.fromisoformat(fields[name]) for name in ("since", "until") if name in fields}
        return cls(**{**fields, **days})  # type: ignore[arg-type]


@dataclass
class Selection:
    """Answers of one study, with the number of rows that an export has read so far.

    `on_progress` is called with that number. `withdrawn`: how many responses of the study were withdrawn when
    the export began (`snapshot.consistent_read`). `ids`: only these judgements, all if empty.
    """

    study: Study
    filters: Filters = field(default_factory=Filters)
    rows: int = 0
    withdrawn: int = 0
    on_progress: Callable[[int], None] | None = None
    ids: Sequence[int] = ()

    def count_rows(self, rows: int) -> None:
        """Add to the number of rows read."""
        self.rows += rows
        if self.on_progress is not None:
            self.on_progress(self.rows)

    def judgements(self, *, status: str = "", tasks: Sequence[str] = ()) -> QuerySet[Judgement]:
        """The judgements that match the filters. `status` applies if the filters have none; `tasks` are the
        kinds of task to include, all if empty."""
        filters = self.filters
        rows = Judgement.objects.filter(
            response__unit__task__study=self.study, response__withdrawn_at__isnull=True
        )
        if self.ids:
            rows = rows.filter(pk__in=self.ids)
        if tasks:
            rows = rows.filter(response__unit__task__kind__in=tasks)
        if filters.task:
            rows = rows.filter(response__unit__task__kind=filters.task)
        if filters.since:
            rows = rows.filter(response__submitted_at__gte=_midnight(filters.since))
        if filters.until:
            rows = rows.filter(response__submitted_at__lt=_midnight(filters.until + timedelta(days=1)))
        if filters.group:
            rows = rows.filter(
                Q(response__unit__image__group__name=filters.group)
                | Q(response__unit__association__group__name=filters.group)
            )
        if filters.stratum:
            rows = rows.filter(response__slot__stratum=filters.stratum)
        if filters.pool:
            rows = with_pools(rows).filter(**{POOLS[filters.pool]: True})
        if status := filters.status or status:
            rows = rows.filter(
                response__unit__purpose=Purpose.DATA,
                response__current=True,
                response__slot__isnull=status == SURPLUS,
            )
        return rows


def check_filters(study: Study, filters: Filters) -> None:
    """Raises ExportRefused for an unknown value of a filter; the message lists the known ones."""
    kinds = sorted(set(study.tasks.values_list("kind", flat=True)))
    strata = sorted({text for task in study.tasks.all() for text in (*task.strata, *task.slot_strata)})
    for name, value, known in (
        ("task", filters.task, kinds),
        ("pool", filters.pool, Pool.values),
        ("stratum", filters.stratum, strata),
        ("status", filters.status, list(STATUSES)),
    ):
        if value and value not in known:
            raise ExportRefused(
                f"There is no {name} '{value}' here. Choose from: {', '.join(known) or 'none'}."
            )
    if filters.group and not IdentityGroup.objects.filter(name=filters.group).exists():
        raise ExportRefused(f"There is no identity group '{filters.group}'.")
    if filters.since and filters.until and filters.since > filters.until:
        raise ExportRefused(f"{filters.since} is after {filters.until}. Swap the two days.")


def check_groups(rows: QuerySet[Judgement], *, of: str) -> None:
    """For formats that identify a group by its name alone. Raises ExportRefused if groups on two axes have
    the same name. `of`: the stimulus that has the group."""
    group = f"response__unit__{of}__group"
    named = (
        rows.filter(**{f"{group}__isnull": False}).order_by().values_list(f"{group}__name", f"{group}__axis")
    )
    axes: dict[str, str] = {}
    for name, axis in named.distinct():
        other = axes.setdefault(name, axis)
        if other != axis:
            raise ExportRefused(
                f"'{name}' is an identity group on two axes, {' and '.join(sorted((other, axis)))}. This "
                "format identifies groups by name alone and would merge them. Use the long table (csv, jsonl "
                "or parquet), which has a column for the axis."
            )


def check_attributes(selection: Selection) -> None:
    """For formats that write the option without an attribute as NONE_OF_ABOVE. Raises ExportRefused if an
    attribute has that name."""
    rows = selection.judgements(status=COUNTED, tasks=[TaskKind.DEPICTION])
    if rows.filter(option__attribute__text=NONE_OF_ABOVE).exists():
        raise ExportRefused(
            f"An attribute is called '{NONE_OF_ABOVE}'. This format could not distinguish it from the option "
            "of that name. Use the long table (csv, jsonl or parquet)."
        )


def with_pools(rows: QuerySet[Judgement]) -> QuerySet[Any]:
    """`rows` annotated with `in_region` and `out_region`: whether the annotator belongs to that pool for the
    identity group that they judged (PROTOCOL §3)."""
    region = Coalesce(
        F("response__unit__image__group__region"),
        F("response__unit__association__group__region"),
        output_field=CharField(),
    )
    rows = rows.alias(judged_region=region)
    resides = _profile_has(ProfileField.RESIDENCE, OuterRef("judged_region"))
    identifies = _profile_has(ProfileField.IDENTITY_REGION, OuterRef("judged_region"))
    resides_in_north_america = _profile_has(ProfileField.RESIDENCE, Value(Region.NORTH_AMERICA.value))
    return rows.annotate(
        in_region=ExpressionWrapper(Q(resides), output_field=BooleanField()),
        out_region=ExpressionWrapper(
            Q(identifies) & Q(resides_in_north_america) & ~Q(resides), output_field=BooleanField()
        ),
    )


def _profile_has(name: str, value: Any) -> Exists:
    answers = ProfileAnswer.objects.filter(annotator=OuterRef("response__annotator"), field=name)
    return Exists(answers.filter(value__iexact=value))


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time.min, tzinfo=UTC)
