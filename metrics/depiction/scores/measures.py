"""Scores of what images depict (PROTOCOL §6, §7)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from annotation.models import Study
from metrics.core.answers import stereotypes
from metrics.core.stats import bootstrap
from metrics.core.stats.checks import Floats, Ints
from metrics.core.stats.scales import SHARE, Scale
from metrics.core.stats.spread import Spread
from metrics.depiction import offensiveness, stats, tendencies
from metrics.depiction.data import GroupFrame, read_depiction
from metrics.depiction.likelihood_influences import LikelihoodInfluences, likelihood_influences
from metrics.depiction.scores import group_tendency
from metrics.depiction.tallies import Tally, tally_by_image
from metrics.score_runs import registry, shared_resamples
from metrics.score_runs.evaluation import inputs_digest
from metrics.score_runs.rows import Inputs, ScoreRow, intervals_or_none, score_row

_KIND, _TOGETHER = "answers", "answers of all groups together"
Ratings = Mapping[tuple[int, int], float]
"""O(attr, id) by (group, attribute); NaN without ratings."""


@dataclass(frozen=True)
class MeasuredGroup:
    """One group: its frame, k and n (A,), and the likelihoods and selections (B, A) of the resamples, or the
    influences on its likelihoods, if any. `annotators_known`: whether any annotator is identified."""

    frame: GroupFrame
    k: Ints
    n: Ints
    likelihoods: Floats | LikelihoodInfluences | None
    selections: Floats | None
    annotators_known: bool

    def without_responses(self) -> MeasuredGroup:
        """The group with an empty frame, to save memory: sums, and resamples or influences, stay."""
        return replace(self, frame=self.frame.only(np.zeros(len(self.frame.answers), dtype=np.bool_)))


@dataclass(frozen=True)
class _SharedGroups:
    """The result of one read of the answers: the resamples or influences of each group, and the tallies of
    its images if no annotator is identified (they are small then), else None."""

    groups: list[MeasuredGroup]
    tallies: list[Tally] | None


def measured_groups(
    inputs: Inputs, *, none_of_above_selected: bool = True, together: bool = False
) -> Iterator[MeasuredGroup]:
    """Each group's frame, with resamples or influences; all variants and metrics of a study share them.

    The variant published keeps the column of 'none of the above', with its selections if
    `none_of_above_selected`, else with k = 0 as in the published tables. `together`, for numbers over several
    groups: the bootstrap draws identified annotators once for all groups instead of once for each group.
    """
    for group in _shared_or_measured(inputs, together and bool(inputs.resamples)):
        yield as_variant(group, inputs.variant, none_of_above_selected=none_of_above_selected)


def _shared_or_measured(inputs: Inputs, together: bool) -> Iterator[MeasuredGroup]:
    if not shared_resamples.is_sharing():
        yield from _measure(inputs, together=together)
        return
    digest = _digest(inputs.study)
    kept = shared_resamples.draw_once(_KIND, inputs, digest, lambda: _measure_for_sharing(inputs)).groups
    if together and any(one.annotators_known for one in kept):
        kept = shared_resamples.draw_once(
            _TOGETHER,
            inputs,
            digest,
            lambda: [one.without_responses() for one in _measure(inputs, together=True)],
        )
    yield from kept


def _measure_for_sharing(inputs: Inputs) -> _SharedGroups:
    groups, tallies = [], []
    for one in _measure(inputs):
        groups.append(one.without_responses())
        tallies.append(None if one.annotators_known else tally_by_image(one.frame))
    whole = [tally for tally in tallies if tally is not None]
    return _SharedGroups(groups, whole if len(whole) == len(tallies) else None)


def shared_tallies(study: Study) -> list[Tally] | None:
    """The tallies of `study`'s images, if a metric of the same answers has already read them."""
    kept = shared_resamples.cached_draw(_KIND, _digest(study)) if shared_resamples.is_sharing() else None
    return kept.tallies if isinstance(kept, _SharedGroups) else None


def _digest(study: Study) -> str:
    # tendency_contrast depends on everything in a frame: answers, associations and regions
    return inputs_digest(study, registry.get("tendency_contrast"))


def _measure(inputs: Inputs, *, together: bool = False) -> Iterator[MeasuredGroup]:
    people = people_of_all_groups(inputs) if together else None
    # read once for all metrics rather than summed once for each
    by_response = inputs.with_intervals or shared_resamples.is_sharing()
    for found in read_depiction(inputs.study, by_response=by_response):
        k, n = found.sums()
        likelihoods: Floats | LikelihoodInfluences | None = None
        selections = None
        if inputs.clustered:
            likelihoods = influences_of(found)
        elif inputs.resamples:
            likelihoods, selections = bootstrap.resampled_likelihoods(
                found.k,
                found.n,
                found.images,
                found.annotators,
                answers=found.answers,
                resamples=inputs.resamples,
                rng=bootstrap.generator(inputs.seed, found.group),
                annotator_draws=people,
            )
        yield MeasuredGroup(
            found, k, n, likelihoods, selections, annotators_known=bool((found.annotators >= 0).any())
        )


def measured(frame: GroupFrame, variant: str = "corrected") -> MeasuredGroup:
    """The group of a frame with its responses, as `variant` counts it, with influences."""
    known = bool((frame.annotators >= 0).any())
    group = MeasuredGroup(frame, *frame.sums(), influences_of(frame), None, known)
    return as_variant(group, variant, none_of_above_selected=False)


def influences_of(frame: GroupFrame) -> LikelihoodInfluences:
    """The influences on the likelihoods of a group."""
    return likelihood_influences(
        frame.k, frame.n, answers=frame.answers, images=frame.images, annotators=frame.annotators
    )


def people_of_all_groups(inputs: Inputs) -> bootstrap.AnnotatorDraws:
    """Draws the annotators of all groups once."""
    return bootstrap.AnnotatorDraws(inputs.resamples, bootstrap.generator(inputs.seed, ""))


def as_variant(group: MeasuredGroup, variant: str, *, none_of_above_selected: bool) -> MeasuredGroup:
    """The group as the variant counts it. Corrected: without the column of 'none of the above'. Published:
    with it, either with its selections or with none."""
    real = group.frame.is_attribute
    likelihoods, selections = group.likelihoods, group.selections
    if variant != "published":
        if isinstance(likelihoods, LikelihoodInfluences):
            likelihoods = likelihoods.only(real)
        elif likelihoods is not None:
            likelihoods = likelihoods[:, real]
        return replace(
            group,
            frame=group.frame.without_none_of_above(),
            k=group.k[real],
            n=group.n[real],
            likelihoods=likelihoods,
            selections=None if selections is None else selections[:, real],
        )
    if none_of_above_selected:
        return group
    if isinstance(likelihoods, LikelihoodInfluences):
        likelihoods = likelihoods.constant(~real)
    elif likelihoods is not None:
        likelihoods = np.where(~real & ~np.isnan(likelihoods), 0.0, likelihoods)
    if selections is not None:
        selections = np.where(real, selections, 0.0)
    return replace(group, k=np.where(real, group.k, 0), likelihoods=likelihoods, selections=selections)


def tendency_of(group: MeasuredGroup) -> tendencies.GroupTendency:
    return tendencies.compute(group.k, group.n, group.frame.stereotypical, group.likelihoods)


def tendency_scores(inputs: Inputs) -> list[ScoreRow]:
    rows = []
    for group in measured_groups(inputs, none_of_above_selected=False):
        found = tendency_of(group)
        if found.point.n_stereotypical >= 2:
            rows += group_tendency.score_rows(found, group.frame)
    return rows


def likelihood_scores(inputs: Inputs) -> list[ScoreRow]:
    rows = []
    for group in measured_groups(inputs):
        frame = group.frame
        values = stats.likelihood(group.k, group.n)
        drawn = group.likelihoods
        spread = drawn.of(np.eye(len(values))) if isinstance(drawn, LikelihoodInfluences) else drawn
        intervals = intervals_or_none(spread, values, SHARE)
        for position, attribute in enumerate(frame.attributes):
            row = score_row(
                "none_of_above" if attribute is None else "likelihood",
                float(values[position]),
                int(group.n[position]),
                intervals[position],
                k=int(group.k[position]),
                group=frame,
            )
            rows.append(
                replace(
                    row,
                    attribute_id=frame.attribute_ids[position],
                    attribute=attribute or "",
                    stereotypical=bool(frame.stereotypical[position]),
                )
            )
    return rows


def read_ratings(study: Study, variant: str) -> Ratings:
    """O(attr, id) of the stereotypes of `study`: as published, or the mean of the individual ratings."""
    found = {}
    for group, attribute, printed, single in stereotypes(study).values_list(
        "group_id", "attribute_id", "offensiveness_mean", "offensiveness"
    ):
        rating = printed if variant == "published" else np.mean(single) if single else None
        found[group, attribute] = float("nan") if rating is None else float(rating)
    return found


def group_offensiveness(
    group: MeasuredGroup, ratings: Ratings
) -> tuple[stats.Offensiveness, Spread, Scale] | None:
    """O(id) of a group as in `offensiveness.compute`; None without stereotypes."""
    chosen, ids = group.frame.stereotypical, group.frame.attribute_ids
    if not chosen.any():
        return None
    rated = [ratings[group.frame.group_id, ids[place] or 0] for place in np.flatnonzero(chosen).tolist()]
    return offensiveness.compute(group.k, group.n, chosen, rated, group.likelihoods, group.selections)


def offensiveness_scores(inputs: Inputs) -> list[ScoreRow]:
    ratings = read_ratings(inputs.study, inputs.variant)
    scored = []
    for group in measured_groups(inputs):
        found = group_offensiveness(group, ratings)
        if found is not None:
            scored.append((group.without_responses().frame, *found))
    rows = []
    scaled = stats.scaled([point.value for _, point, *_ in scored])
    for (frame, point, spread, scale), for_map in zip(scored, scaled.tolist(), strict=True):
        if point.n:
            (interval,) = intervals_or_none(spread, [point.value], scale)
            rows.append(score_row("o", point.value, point.n, interval, group=frame))
            rows.append(score_row("o_scaled", for_map, point.n, group=frame))
        if point.n + point.unrated:
            rows.append(score_row("unrated", point.unrated, point.n + point.unrated, group=frame))
    return rows
