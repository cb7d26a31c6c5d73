"""The associations in the answers of a run (PROTOCOL §11), computed from the database. Writes nothing."""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from django.db.models import Count, Max

from annotation.models import DIMENSIONS, IdentityGroup
from generation.models import ASKINGS, Answer, Run, RunKind
from metrics.associations.askings import Setting
from metrics.associations.counting import Counting, ReadAnswer, SettingCounts, published_n
from metrics.associations.judgements import judgements_digest
from metrics.associations.stats import (
    LogOdds,
    PairCounts,
    Scores,
    idf,
    log_odds,
    published_significance,
)
from metrics.associations.words import own_words
from metrics.core.purposes import ASSOCIATIONS

_VERSION = 1  # of the rules: a list that another version made is found again
_AT_ONCE = 10_000
_PLACE = {axis.value: place for place, axis in enumerate(DIMENSIONS)}


class AssociationsRefused(ValueError):
    """A run or a list that cannot be used. The message says why and what to do."""


class Found(NamedTuple):
    """A word of a descriptor in one setting: its numbers as published and as corrected, None where a variant
    does not count it. `groups`: the descriptor's groups, one in each of its dimensions."""

    groups: tuple[int, ...]
    word: str
    tf: int | None = None
    df: int | None = None
    idf: float | None = None
    score: float | None = None
    p_value: float | None = None
    significant: bool = False
    corrected_tf: int | None = None
    corrected_df: int | None = None
    corrected_idf: float | None = None
    corrected_score: float | None = None
    z: float | None = None
    q: float | None = None
    significant_corrected: bool = False


@dataclass(frozen=True)
class FoundSetting:
    """The associations of one setting. `facts`: what was read."""

    setting: Setting
    facts: dict[str, Any]
    associations: list[Found]


@dataclass(frozen=True)
class Descriptors:
    """The descriptors of a run: groups of one name are one descriptor. `number_of`: group -> its number;
    `groups_of`: its number -> the ids of its groups."""

    number_of: dict[int, int]
    groups_of: list[tuple[int, ...]]
    groups: dict[int, IdentityGroup]


@dataclass(frozen=True)
class Evaluated:
    """The answers of a run as they were counted."""

    descriptors: Descriptors
    counts: list[tuple[SettingCounts, PairCounts, PairCounts]]
    words: list[str]

    @property
    def groups(self) -> dict[int, IdentityGroup]:
        """The groups of all descriptors, by id."""
        return self.descriptors.groups

    def settings(self) -> Iterator[FoundSetting]:
        """The associations of one setting after the other: half a million would fill the memory."""
        for counts in self.counts:
            yield _found(*counts, self.words, self.descriptors)


def check_run(run: Run) -> None:
    """Raises AssociationsRefused for a run that was not planned or imported for associations."""
    if run.kind not in ASKINGS or design_of(run).get("purpose") != ASSOCIATIONS:
        raise AssociationsRefused(
            f"The answers of run {run.pk} do not hold associations: it was planned for something else. Plan "
            "one for associations, or import answers (manage.py import_answers --layout biasdora)."
        )


def names_of(group: IdentityGroup) -> tuple[str, ...]:
    """The names whose words are the descriptor's own."""
    return group.name, group.demonym, group.singular, group.plural


def design_of(run: Run) -> dict[str, Any]:
    return dict(run.recipe.get("design") or {})


def digest(run: Run) -> str:
    """Changes with the answers of the run, which are only ever added or deleted, with what classifiers and
    models said of its associations, and with the rules."""
    answers = Answer.objects.filter(run=run).order_by().aggregate(number=Count("pk"), last=Max("pk"))
    inputs = [_VERSION, answers["number"], answers["last"], judgements_digest(run)]
    return hashlib.sha256(json.dumps(inputs).encode()).hexdigest()


def evaluate(run: Run) -> Evaluated:
    """Read all answers of the run and find its associations in both variants. Memory grows with the distinct
    pairs, not with the answers. Raises AssociationsRefused as `check_run`."""
    check_run(run)
    descriptors = _descriptors(run)
    # only texts lose them; the dictionary of lemmas takes half a second to load
    own = {} if run.kind == RunKind.COMPLETIONS else _own_words(descriptors)
    counting = Counting(own, needs_brackets=design_of(run).get("answers") != "words")
    counting.add(_answers(run, descriptors))
    return Evaluated(descriptors, counting.results(), counting.words)


def _descriptors(run: Run) -> Descriptors:
    """By name, in any case: a name in several dimensions is asked the same question."""
    asked = set(run.jobs.order_by().values_list("group", flat=True).distinct()) - {None}
    asked |= set(design_of(run).get("groups") or ())
    groups = IdentityGroup.objects.in_bulk(asked)
    ordered = sorted(groups.values(), key=lambda one: (_PLACE.get(one.axis, len(_PLACE)), one.name, one.pk))
    by_name: dict[str, list[int]] = {}
    for group in ordered:
        by_name.setdefault(group.name.casefold(), []).append(group.pk)
    groups_of = [tuple(ids) for ids in by_name.values()]
    number_of = {pk: number for number, ids in enumerate(groups_of) for pk in ids}
    return Descriptors(number_of, groups_of, groups)


def _own_words(descriptors: Descriptors) -> dict[int, frozenset[str]]:
    """The lemmas of each descriptor's own names, by its number."""
    return {
        number: own_words(name for pk in ids for name in names_of(descriptors.groups[pk]))
        for number, ids in enumerate(descriptors.groups_of)
    }


def _answers(run: Run, descriptors: Descriptors) -> Iterator[ReadAnswer]:
    rows = Answer.objects.filter(run=run, job__group__isnull=False).order_by()
    columns = rows.values_list("job__group", "job__key", "job__number", "text")
    settings = {setting.value: setting for setting in Setting}
    number_of = descriptors.number_of
    completes = run.kind == RunKind.COMPLETIONS
    for group, key, number, text in columns.iterator(chunk_size=_AT_ONCE):
        name, _, rest = key.partition("/")
        setting = settings.get(name)
        if setting is None:
            continue
        row, _, letter = rest.partition("/")
        document = (int(row), number) if completes else (0, 0)
        yield ReadAnswer(setting, number_of[group], document, letter, text)


def _found(
    counts: SettingCounts,
    published: PairCounts,
    corrected: PairCounts,
    words: list[str],
    descriptors: Descriptors,
) -> FoundSetting:
    setting, documents = counts.setting, counts.facts.documents
    n = published_n(setting, documents)
    scores, odds = published_significance(published, n=n), log_odds(corrected)
    found: dict[tuple[int, int], Found] = {}
    for descriptor, word, values in _published_rows(published, scores, n):
        found[descriptor, word] = Found(descriptors.groups_of[descriptor], words[word], *values)
    for descriptor, word, values in _corrected_rows(corrected, odds):
        there = found.get((descriptor, word)) or Found(descriptors.groups_of[descriptor], words[word])
        found[descriptor, word] = Found._make((*there[: -len(values)], *values))
    facts = {
        **asdict(counts.facts),
        "published_n": n,
        "published_pairs": len(published),
        "corrected_pairs": len(corrected),
        "significant": int(scores.significant.sum()),
        "significant_corrected": int(odds.significant.sum()),
    }
    return FoundSetting(setting, facts, [found[key] for key in sorted(found)])


def _published_rows(counts: PairCounts, scores: Scores, n: int) -> Iterator[tuple[int, int, tuple[Any, ...]]]:
    columns = (
        counts.tf.tolist(),
        counts.df.tolist(),
        idf(counts.df, n).tolist(),
        scores.score.tolist(),
        _or_none(scores.p.tolist()),
        scores.significant.tolist(),
    )
    return zip(counts.descriptor.tolist(), counts.word.tolist(), zip(*columns, strict=True), strict=True)


def _corrected_rows(counts: PairCounts, odds: LogOdds) -> Iterator[tuple[int, int, tuple[Any, ...]]]:
    weights = idf(counts.df, counts.documents)
    columns = (
        counts.tf.tolist(),
        counts.df.tolist(),
        weights.tolist(),
        (counts.tf * weights).tolist(),
        _or_none(odds.z.tolist()),
        _or_none(odds.q.tolist()),
        odds.significant.tolist(),
    )
    return zip(counts.descriptor.tolist(), counts.word.tolist(), zip(*columns, strict=True), strict=True)


def _or_none(numbers: list[float]) -> list[float | None]:
    return [None if number != number else number for number in numbers]
