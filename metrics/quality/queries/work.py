"""The work of each annotator of a study: answers, time, agreement with others, checks (PROTOCOL §10).

The page of a large study shows the last count."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from django.core.cache import cache

from annotation.models import Response, Study, TaskKind
from annotation.participation.queries import people
from metrics.agreement.data.ratings import read_ratings
from metrics.core.answers import task_kinds
from metrics.core.fingerprints import snapshot
from metrics.core.studies import is_large
from metrics.quality import data as frame
from metrics.quality import stats
from metrics.score_runs import registry
from metrics.score_runs.evaluation import inputs_digest

_MIN_ANSWERS = 10  # before somebody is called fast
_FAST_FACTOR = 3
_REST_FACTOR = 20  # counting may take 1/20 of the time
_CACHE_SECONDS = 24 * 3600


@dataclass
class AnnotatorWork:
    """The work of one annotator. `seconds` and `usual` are their median and the median of all annotators for
    the kind of task that they answered most. `share` of `pairs` of one of their ratings and another
    annotator's rating of the same unit are equal; `chance` is the share expected of random answers. `none` of
    `offered` responses are 'none of the above'; `most` is the share of their most frequent rating."""

    annotator: int
    answers: int = 0
    seconds: float | None = None
    usual: float | None = None
    idle: float | None = None
    same: int = 0
    pairs: int = 0
    by_chance: float = 0.0
    none: int = 0
    offered: int = 0
    most_given: int = 0
    rated: int = 0
    fast: bool = False

    @property
    def share(self) -> float | None:
        return self.same / self.pairs if self.pairs else None

    @property
    def chance(self) -> float | None:
        return self.by_chance / self.pairs if self.pairs else None

    @property
    def none_share(self) -> float | None:
        return self.none / self.offered if self.offered else None

    @property
    def most(self) -> float | None:
        return self.most_given / self.rated if self.rated else None


@dataclass(frozen=True)
class WorkCount:
    """`work` and `checks` (right, answered) by annotator, counted at `counted_at`; `unknown` answers have no
    annotator. `digest` is that of the answers, `seconds` the time that the count took.
    """

    work: Mapping[int, AnnotatorWork]
    checks: Mapping[int, tuple[int, int]]
    unknown: int
    digest: str
    counted_at: datetime
    seconds: float

    def may_recount(self, *, now: datetime) -> bool:
        """Whether the count is old enough, for the time it takes, to be repeated."""
        return (now - self.counted_at).total_seconds() >= _REST_FACTOR * self.seconds


def immediate_count(study: Study, *, now: datetime) -> WorkCount | None:
    """The count that the page can show without waiting: the present one of a small study, the last one of a
    large study, or None if it was never counted."""
    return _cached(study) if is_large(study) else current_count(study, now=now)


def recent_count(study: Study, *, now: datetime) -> WorkCount:
    """The present count; for a large study the last one, unless it may be repeated."""
    known = _cached(study)
    if known is not None and not known.may_recount(now=now) and is_large(study):
        return known
    return current_count(study, now=now)


def is_stale(study: Study, known: WorkCount) -> bool:
    """Whether answers have changed since the count. Aggregates over them."""
    return known.digest != _digest(study)


def current_count(study: Study, *, now: datetime) -> WorkCount:
    """The count of the present answers; cached for the same answers."""
    known = _cached(study)
    if known is not None and not is_stale(study, known):
        return known
    started = time.monotonic()
    with snapshot():
        checks = people.check_results(
            Response.objects.filter(unit__task__study=study, annotator__isnull=False)
        )
        found = WorkCount(
            work=_measure(study),
            checks={who: (right.count(True), len(right)) for who, right in checks.items()},
            unknown=frame.unidentified_count(study),
            digest=_digest(study),
            counted_at=now,
            seconds=time.monotonic() - started,
        )
    cache.set(_key(study), found, _CACHE_SECONDS)
    return found


def _cached(study: Study) -> WorkCount | None:
    known: WorkCount | None = cache.get(_key(study))
    return known


def _key(study: Study) -> str:
    return f"work:2:{study.pk}:{study.created_at.timestamp()}"


def _digest(study: Study) -> str:
    """The digest of the answers used for agreement, and of those to gold items and attention checks."""
    return f"{inputs_digest(study, registry.get('agreement'))}:{frame.checks_fingerprint(study)}"


def _measure(study: Study) -> Mapping[int, AnnotatorWork]:
    found = {who: AnnotatorWork(who, answers=number) for who, number in frame.answer_counts(study).items()}
    _add_speeds(found, frame.speeds(study))
    for who, (chosen, offered) in frame.none_of_above(study).items():
        found[who].none, found[who].offered = chosen, offered
    for kind in task_kinds(study):
        _add_agreement(found, stats.agreement_with_others(read_ratings(study, kind).table), kind)
    return found


def _add_speeds(found: Mapping[int, AnnotatorWork], speeds: Mapping[tuple[int, str], frame.Speed]) -> None:
    most: dict[int, int] = {}
    for (who, kind), speed in sorted(speeds.items()):
        if not who:
            continue
        usual = speeds[0, kind]
        work = found[who]
        if speed.answers >= _MIN_ANSWERS and _FAST_FACTOR * speed.active < usual.active:
            work.fast = True
        if speed.answers > most.get(who, 0):
            most[who] = speed.answers
            work.seconds, work.usual = speed.active / 1000, usual.active / 1000
            work.idle = None if speed.idle is None else speed.idle / 1000


def _add_agreement(found: Mapping[int, AnnotatorWork], measured: stats.RaterAgreement, kind: str) -> None:
    for place, who in enumerate(measured.raters.tolist()):
        work = found[who]
        work.same += int(measured.same[place])
        work.pairs += int(measured.pairs[place])
        work.by_chance += float(measured.by_chance[place])
        # most attributes are not depicted in an image, so nearly always saying so is normal
        if kind != TaskKind.DEPICTION:
            work.most_given += int(measured.given[place].max())
            work.rated += int(measured.given[place].sum())
