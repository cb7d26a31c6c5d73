"""What fewer than MIN_GROUP_SIZE people answered, and which means would show it by subtraction."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Count, F, Max, Min, Q, QuerySet

from annotation.models import Study, TaskKind
from metrics.core.annotator_groups import MIN_GROUP_SIZE
from metrics.core.answers import counted_judgements, counted_responses
from metrics.votes.data.own_answers import read_rated_offensiveness

_ABOUT = {
    TaskKind.DEPICTION.value: "unit__image__group",
    TaskKind.PREVALENCE.value: "unit__association__group",
    TaskKind.OFFENSIVENESS.value: "unit__association__group",
    TaskKind.ASSOCIATION.value: "unit__association__group",
    TaskKind.VISUAL_NATURE.value: "unit__association__group",
}
"""Kind of task -> where a response says which identity group it is about; none for attributes alone."""


@dataclass(frozen=True)
class Few:
    """What too few people answered about in one kind of task: identity `groups`, and `attributes` of each
    other group, {group: attributes}; the group None holds attributes that were asked about alone. `means`:
    the groups whose hidden attributes together are of too few people, so that means would show these."""

    groups: frozenset[int] = frozenset()
    attributes: Mapping[int | None, frozenset[int]] = field(default_factory=dict)
    means: frozenset[int | None] = frozenset()

    @property
    def without_means(self) -> frozenset[int | None]:
        """The groups of which no mean is shown."""
        return self.groups | self.means

    @property
    def hides_totals(self) -> bool:
        """Whether a total over groups or attributes would show by subtraction what is hidden."""
        return bool(self.without_means)

    @property
    def hidden(self) -> Q:
        """Which scores are hidden."""
        found = Q(group__in=self.groups)
        for group, attributes in self.attributes.items():
            found |= Q(group=group, attribute__in=attributes)
        named = {attribute for attributes in self.attributes.values() for attribute in attributes}
        found |= Q(group__isnull=True, attribute__in=named)
        if of_groups := self.without_means - {None}:
            return found | Q(group__in=of_groups, attribute__isnull=True) | Q(group__isnull=True)
        return found | Q(group__isnull=True, attribute__isnull=True) if self.hides_totals else found


def read_few(study: Study) -> dict[str, Few]:
    """{kind of task: what too few people answered about}. Two queries for each kind of task of the study, and
    four more for ratings of offensiveness."""
    found = {kind: _of_kind(study, kind) for kind in sorted({task.kind for task in study.tasks.all()})}
    if TaskKind.OFFENSIVENESS in found:
        # attributes that were rated alone count for the groups of the source
        _, rated = read_rated_offensiveness(study)
        answers = zip(rated.pairs, rated.annotators.tolist(), strict=True)
        by_group = few_of((pair.group_id, pair.attribute_id, who) for pair, who in answers)
        found[TaskKind.OFFENSIVENESS] = _joined(found[TaskKind.OFFENSIVENESS], by_group)
    return found


def few_of(rows: Iterable[tuple[int | None, int, int]]) -> Few:
    """What too few people answered about, from the identity group, attribute and annotator of each answer."""
    by_pair: dict[tuple[int | None, int], set[int]] = defaultdict(set)
    by_group: dict[int | None, set[int]] = defaultdict(set)
    for group, attribute, annotator in rows:
        by_pair[group, attribute].add(annotator)
        by_group[group].add(annotator)
    groups = frozenset(
        group for group, who in by_group.items() if group is not None and len(who) < MIN_GROUP_SIZE
    )
    attributes: dict[int | None, set[int]] = defaultdict(set)
    people: dict[int | None, set[int]] = defaultdict(set)
    for (group, attribute), who in by_pair.items():
        if group not in groups and len(who) < MIN_GROUP_SIZE:
            attributes[group].add(attribute)
            people[group] |= who
    return Few(
        groups,
        {group: frozenset(found) for group, found in attributes.items()},
        frozenset(group for group, who in people.items() if len(who) < MIN_GROUP_SIZE),
    )


def _joined(one: Few, other: Few) -> Few:
    """What either hides."""
    groups = one.attributes.keys() | other.attributes.keys()
    none: frozenset[int] = frozenset()
    return Few(
        one.groups | other.groups,
        {group: one.attributes.get(group, none) | other.attributes.get(group, none) for group in groups},
        one.means | other.means,
    )


def _of_kind(study: Study, kind: str) -> Few:
    about = _ABOUT[kind]
    responses = counted_responses(study, kind).filter(**{f"{about}__isnull": False})
    groups = frozenset(row[about] for row in _by_few(responses.order_by().values(about), ""))
    group, attribute = f"response__{about}", "option__attribute"
    judged = counted_judgements(study, kind).filter(option__attribute__isnull=False)
    attributes: dict[int | None, set[int]] = {}
    people: dict[int | None, set[int]] = {}
    unknown: dict[int | None, int] = {}
    for row in _by_few(judged.order_by().values(group, attribute), "response__"):
        of = row[group]
        if of in groups:
            continue
        attributes.setdefault(of, set()).add(row[attribute])
        # of at most two people, the first and the last are all
        people.setdefault(of, set()).update({row["first"], row["last"]} - {None})
        unknown[of] = unknown.get(of, 0) + row["unknown"]
    return Few(
        groups,
        {of: frozenset(found) for of, found in attributes.items()},
        frozenset(of for of in attributes if len(people[of]) + unknown[of] < MIN_GROUP_SIZE),
    )


def _by_few(rows: QuerySet[Any, dict[str, Any]], to_response: str) -> QuerySet[Any, dict[str, Any]]:
    """Of grouped rows, those of few people; who is not known counts as one person each."""
    annotator = f"{to_response}annotator"
    found: QuerySet[Any, dict[str, Any]] = rows.annotate(
        people=Count(annotator, distinct=True),
        unknown=Count("pk", filter=Q(**{f"{annotator}__isnull": True})),
        first=Min(annotator),
        last=Max(annotator),
    ).filter(people__lt=MIN_GROUP_SIZE - F("unknown"))
    return found
