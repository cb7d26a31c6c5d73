"""Units that show one association, for prevalence, offensiveness and bias of an association
(PROTOCOL §3, §4, §11)."""

import random
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence, Set

from annotation.models import Association
from annotation.studies.errors import StudyRefused, gettext_noop
from annotation.studies.study_file.stimuli import Associations
from annotation.studies.study_file.tasks import TaskFile
from annotation.studies.units.people_part import draw_people_part
from annotation.studies.units.planned import (
    Plan,
    PlannedOption,
    PlannedUnit,
    get_source,
    quoted_list,
    require_regions,
    resolve_strata,
)

# axis, name and region of the group, text of the attribute, id of the association
Row = tuple[str, str, str, str, int]
Pair = tuple[str, str]  # name of the group, text of the attribute


def plan_associations(task: TaskFile, chosen: Associations, *, key: str) -> Plan:
    """One unit per association, shuffled by the seed. Each unit's strata are resolved by its group; it
    has none if people do not judge it."""
    rows = _select(chosen, key=key)
    if chosen.limit is not None:
        if chosen.limit > len(rows):
            raise StudyRefused(
                "%(it)s, but there are %(there)s associations in all. Lower it.",
                page_message=gettext_noop("There are %(there)s associations in all. Lower the number."),
                key=f"{key}.limit",
                value=chosen.limit,
                there=len(rows),
            )
        rows = random.Random(task.seed).sample(rows, chosen.limit)  # noqa: S311 - a draw to be repeated
        rows.sort()
    regions = {name: region for _, name, region, _, _ in rows}
    require_regions(task.strata, regions=regions, key=key.rpartition(".")[0], groups=f"{key}.groups")
    part = draw_people_part(
        ((f"{axis}/{name}", pk) for axis, name, _, _, pk in rows), share=task.people_share, seed=task.seed
    )
    random.Random(task.seed).shuffle(rows)  # noqa: S311 - an order to be repeated
    by_region = {region: resolve_strata(task.strata, region=region) for region in set(regions.values())}

    def units() -> Iterator[PlannedUnit]:
        for _, _, region, text, pk in rows:
            yield PlannedUnit(
                association_id=pk,
                options=(PlannedOption(text),),
                strata=by_region[region] if part is None or pk in part else (),
            )

    return Plan(units=units)


def _select(chosen: Associations, *, key: str) -> list[Row]:
    """The rows to show or to draw from, sorted here because databases order text differently and primary keys
    depend on the order of an import."""
    source = get_source(chosen.source, key=f"{key}.source")
    associations = Association.objects.filter(source=source)
    if chosen.groups:
        known = set(associations.values_list("group__name", flat=True).distinct())
        for name in chosen.groups:
            if name not in known:
                raise StudyRefused(
                    gettext_noop("'%(source)s' has no associations of the group '%(group)s'."),
                    key=f"{key}.groups",
                    source=chosen.source,
                    group=name,
                )
        associations = associations.filter(group__name__in=chosen.groups)
    fields = ("group__axis", "group__name", "group__region", "attribute__text", "pk")
    ordered: list[Row] = sorted(associations.values_list(*fields).iterator(chunk_size=10_000))
    if chosen.pairs:
        wanted = _as_spelled(chosen.pairs, names={name for _, name, _, _, _ in ordered})
        kept = [row for row in ordered if (row[1], row[3]) in wanted]
        _check_pairs(chosen, wanted, kept, key=key)
        return kept
    if not ordered:
        raise StudyRefused(
            gettext_noop("'%(source)s' has no associations. Import it first."),
            key=f"{key}.source",
            source=chosen.source,
        )
    return ordered


def _as_spelled(pairs: Iterable[Pair], *, names: Set[str]) -> set[Pair]:
    """`pairs` with the groups that `names` has in another case: tables of pairs are read so, too."""
    spelled = {name.casefold(): name for name in names}
    return {(name if name in names else spelled.get(name.casefold(), name), text) for name, text in pairs}


def _check_pairs(chosen: Associations, wanted: Set[Pair], rows: Sequence[Row], *, key: str) -> None:
    found = [(name, text) for _, name, _, text, _ in rows]
    missing = sorted(wanted - set(found))
    if missing:
        raise StudyRefused(
            gettext_noop("'%(source)s' has no association %(pairs)s."),
            key=f"{key}.pairs",
            source=chosen.source,
            pairs=quoted_list([f"{group}: {text}" for group, text in missing]),
        )
    if len(found) > len(set(found)):
        twice = Counter(found).most_common(1)[0][0]
        raise StudyRefused(
            gettext_noop(
                "'%(source)s' has two groups named '%(group)s' on different axes. Rename "
                "one of them in the administration."
            ),
            key=f"{key}.pairs",
            source=chosen.source,
            group=twice[0],
        )
