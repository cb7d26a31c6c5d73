"""How wide intervals would be if annotators who are not identified were few people who differ (PROTOCOL §10,
§13)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from django.db.models import Exists, OuterRef, QuerySet

from annotation import policies
from annotation.models import Response, Study, TaskKind
from annotation.policies import User
from metrics.core.answers import counted_responses, describe_stereotype_rule, stereotypes
from metrics.core.fingerprints import fingerprint
from metrics.core.stats import clustered, sensitivity
from metrics.core.stats.influence import Influences
from metrics.core.stats.percentiles import Interval
from metrics.core.stats.scales import SHARE
from metrics.depiction import data
from metrics.depiction.data import GroupFrame, read_depiction
from metrics.depiction.scores.measures import measured, tendency_of
from metrics.models import Score, ScoreRun
from metrics.score_runs.metric import Metric, NothingToCompute, stereotype_rule
from metrics.score_runs.rows import Inputs, ScoreRow, score_row

PEOPLE = (12, 30)
ASSUMED = (0.5, 1.0, 1.5)
"""The standard deviations, in logits, that are assumed without a study to learn from."""
STUDY = "study: "
_MAX_STUDIES = 5
_IDENTIFIED = "The annotators of this study are identified: its intervals include how they differ."


@dataclass(frozen=True)
class _Share:
    value: float
    n: int
    influences: Influences


def are_identified(study: Study) -> bool:
    """Whether the annotator of any answer about images is known. One query."""
    return _identified(study).exists()


def _identified(study: Study | OuterRef) -> QuerySet[Response]:
    return counted_responses(study, TaskKind.DEPICTION).filter(annotator__isnull=False)


def compared_studies(study: Study) -> list[Study]:
    """The newest studies with identified annotators that all leads of `study` lead too, and so everyone who
    may read its scores; none if nobody leads it. Simulated answers say nothing about people."""
    leads = list(study.leads.all())
    if not leads:
        return []
    found = Study.objects.filter(tasks__kind=TaskKind.DEPICTION, opened_at__isnull=False).exclude(pk=study.pk)
    if not study.simulated:
        found = found.filter(simulated=False)
    for lead in leads:
        found = found.filter(leads=lead)
    outermost = OuterRef(OuterRef("pk"))  # the study is two queries above the tasks of a response
    newest = found.filter(Exists(_identified(outermost))).distinct().order_by("-opened_at", "-pk")
    return list(newest.select_related("stereotype_source")[:_MAX_STUDIES])


def check_inputs(study: Study, parameters: Mapping[str, str]) -> None:
    if are_identified(study):
        raise NothingToCompute(_IDENTIFIED)


def check_run(user: User, run: ScoreRun) -> None:
    """Raises ValueError unless `user` leads all studies that the widths were learned from: leads can be added
    after a run."""
    learned = Score.objects.filter(run=run, part__startswith=STUDY).values_list("part", flat=True)
    keys = {int(part.removeprefix(STUDY)) for part in learned}
    if (
        keys
        and not policies.is_admin(user)
        and policies.studies_led_by(user).filter(pk__in=keys).count() < len(keys)
    ):
        raise ValueError("Computed from studies that you do not lead: request a new run.")


def inputs_fingerprint(study: Study, parameters: Mapping[str, str]) -> list[object]:
    """Changes with the stereotypes, and with the answers of the studies that are compared."""
    parts = data.inputs_fingerprint(study, parameters)
    for one in compared_studies(study):
        answers = fingerprint(counted_responses(one, TaskKind.DEPICTION))
        parts += [one.pk, describe_stereotype_rule(one), answers, fingerprint(stereotypes(one))]
    return parts


def annotator_sensitivity_scores(inputs: Inputs) -> list[ScoreRow]:
    shares = []
    for frame in read_depiction(inputs.study, by_response=True):
        if (frame.annotators >= 0).any():
            raise NothingToCompute(_IDENTIFIED)
        own = _l_stereo(frame)
        if own is not None:
            kept = frame.only(np.zeros(len(frame.answers), dtype=np.bool_))
            shares.append((kept, own))
    variances = _variances(inputs.study)
    low, middle, high = _deviations(variances)
    groups = sum(map(len, variances.values()))
    assumed = None if groups else Interval(low, high)
    rows = [score_row("annotator_sd", middle, groups, assumed)]
    for pk, found in variances.items():
        rows.append(score_row("annotator_sd", _median_deviation(found), len(found), part=f"{STUDY}{pk}"))
    for group, share in shares:
        rows.append(score_row("half_width", _half_width(share, share.influences), share.n, group=group))
        for people in PEOPLE:
            widths = [
                _half_width(
                    share,
                    sensitivity.with_annotators(
                        [share.value], share.influences, deviation=deviation, people=people
                    ),
                )
                for deviation in (low, middle, high)
            ]
            between = None if groups else Interval(widths[0], widths[2])
            rows.append(score_row(f"half_width_{people}", widths[1], share.n, between, group=group))
    return rows


def _variances(study: Study) -> dict[int, list[float]]:
    """The variances of annotators, in squared logits, of the groups of each other study that has any."""
    found: dict[int, list[float]] = {}
    for other in compared_studies(study):
        for frame in read_depiction(other, by_response=True):
            share = _l_stereo(frame)
            if share is not None:
                each = sensitivity.annotator_variances([share.value], share.influences).tolist()
                found.setdefault(other.pk, []).extend(one for one in each if np.isfinite(one))
    return {pk: variances for pk, variances in found.items() if variances}


def _deviations(variances: Mapping[int, Sequence[float]]) -> tuple[float, float, float]:
    """The lowest, middle and highest standard deviation of annotators, in logits: three times the median, or
    those that are assumed."""
    if not variances:
        return ASSUMED
    median = _median_deviation([one for each in variances.values() for one in each])
    return median, median, median


def _median_deviation(variances: Sequence[float]) -> float:
    return float(np.sqrt(max(float(np.median(variances)), 0.0)))


def _l_stereo(frame: GroupFrame) -> _Share | None:
    """L(stereo) of a group; None if it is not reported (PROTOCOL §6)."""
    found = tendency_of(measured(frame))
    influences = found.stereo_spread
    if found.point.n_stereotypical < 2 or not isinstance(influences, Influences):
        return None
    return _Share(found.point.l_stereo, found.point.n_stereotypical, influences)


def _half_width(share: _Share, influences: Influences) -> float:
    (interval,) = clustered.intervals([share.value], influences, SHARE)
    return (interval.high - interval.low) / 2


METRICS: tuple[Metric, ...] = (
    Metric(
        name="annotator_sensitivity",
        version=1,
        title="Width of intervals if annotators were known",
        task="depiction",
        unit="half the width of the 95 % interval of l_stereo, a share; logits (annotator_sd)",
        direction="larger: less certain",
        definition=(
            "Where annotators are not identified, intervals do not include how people differ. Half the width "
            "of the interval of l_stereo as it is, and as it would be if the answers came from "
            f"{PEOPLE[0]} or {PEOPLE[1]} people who differ as annotators of other studies do: "
            "the variance becomes that of images plus "
            "sigma^2 (p (1 - p))^2 / J. sigma is the median, over the groups of the newest studies with "
            f"identified annotators that all leads of this study lead too (at most {_MAX_STUDIES} studies), "
            "of the standard deviation of annotators' l_stereo in logits. Without such a study it is "
            f"assumed: {ASSUMED[1]} logits, and {ASSUMED[0]} to {ASSUMED[2]} as the range."
        ),
        names=(
            ("half_width", "half the width of the interval of l_stereo; n: attributes"),
            *(
                (
                    f"half_width_{people}",
                    f"the same with {people} people; low and high: of the range that is assumed, if any",
                )
                for people in PEOPLE
            ),
            ("annotator_sd", "sigma in logits; n: groups of other studies, 0 if it is assumed"),
        ),
        parts=f"`{STUDY}ID`, for annotator_sd of one of the other studies",
        section="§10, §13",
        interval=False,
        caveats=(
            "A supposition, not a measurement: who answered is not known. People of other studies saw other "
            "images and attributes. Each of the people is supposed to have judged images drawn at random."
        ),
        compute=annotator_sensitivity_scores,
        rule=stereotype_rule,
        fingerprint=inputs_fingerprint,
        check_inputs=check_inputs,
        check_run=check_run,
    ),
)
