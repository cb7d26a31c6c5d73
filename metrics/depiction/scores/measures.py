"""Scores of what images depict (PROTOCOL §6, §7)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from annotation.models import Study
from metrics.core.answers import stereotypes
from metrics.core.stats import bootstrap
from metrics.core.stats.checks import Floats, Ints
from metrics.depiction import stats
from metrics.depiction.data import GroupFrame, read_depiction
from metrics.depiction.scores import group_tendency
from metrics.depiction.tallies import Tally, tally_by_image
from metrics.score_runs import registry, shared_resamples
from metrics.score_runs.evaluation import inputs_digest
from metrics.score_runs.rows import Inputs, ScoreRow, intervals_or_none, score_row

_KIND, _TOGETHER = "answers", "answers of all groups together"
Ratings = Mapping[tuple[int, int], float]
"""O(attr, id) by (group, attribute); NaN without ratings."""


@dataclass(frozen=True)
class ResampledGroup:
    """One group: its frame, k and n (A,), and the likelihoods and selections (B, A) of the resamples, if any.
    `annotators_known`: whether any annotator is identified."""

    frame: GroupFrame
    k: Ints
    n: Ints
    likelihoods: Floats | None
    selections: Floats | None
    annotators_known: bool

    def without_responses(self) -> ResampledGroup:
        """The group with an empty frame, to save memory: sums and resamples stay."""
        return replace(self, frame=self.frame.only(np.zeros(len(self.frame.answers), dtype=np.bool_)))


@dataclass(frozen=True)
class _SharedResamples:
    """The result of one read of the answers: the resamples of each group, and the tallies of its images if no
    annotator is identified (they are small then), else None."""

    groups: list[ResampledGroup]
    tallies: list[Tally] | None


def resampled_groups(
    inputs: Inputs, *, none_of_above_selected: bool = True, together: bool = False
) -> Iterator[ResampledGroup]:
    """Each group's frame and resamples; all variants and metrics of a study share the same resamples.

    The variant published keeps the column of 'none of the above', with its selections if
    `none_of_above_selected`, else with k = 0 as in the published tables. `together`, for numbers over several
    groups: identified annotators are drawn once for all groups instead of once for each group.
    """
    for group in _shared_or_resampled(inputs, together):
        yield as_variant(group, inputs.variant, none_of_above_selected=none_of_above_selected)


def _shared_or_resampled(inputs: Inputs, together: bool) -> Iterator[ResampledGroup]:
    if not shared_resamples.is_shared(inputs):
        yield from _resample(inputs, together=together)
        return
    digest = _digest(inputs.study)
    kept = shared_resamples.draw_once(_KIND, inputs, digest, lambda: _resample_for_sharing(inputs)).groups
    if together and any(one.annotators_known for one in kept):
        kept = shared_resamples.draw_once(
            _TOGETHER,
            inputs,
            digest,
            lambda: [one.without_responses() for one in _resample(inputs, together=True)],
        )
    yield from kept


def _resample_for_sharing(inputs: Inputs) -> _SharedResamples:
    groups, tallies = [], []
    for one in _resample(inputs):
        groups.append(one.without_responses())
        tallies.append(None if one.annotators_known else tally_by_image(one.frame))
    whole = [tally for tally in tallies if tally is not None]
    return _SharedResamples(groups, whole if len(whole) == len(tallies) else None)


def shared_tallies(study: Study) -> list[Tally] | None:
    """The tallies of `study`'s images, if a metric of the same answers has already read them."""
    kept = shared_resamples.cached_draw(_KIND, _digest(study)) if shared_resamples.is_sharing() else None
    return kept.tallies if isinstance(kept, _SharedResamples) else None


def _digest(study: Study) -> str:
    # tendency_contrast depends on everything in a frame: answers, associations and regions
    return inputs_digest(study, registry.get("tendency_contrast"))


def _resample(inputs: Inputs, *, together: bool = False) -> Iterator[ResampledGroup]:
    people = people_of_all_groups(inputs) if together else None
    for found in read_depiction(inputs.study, by_response=inputs.resamples > 0):
        k, n = found.sums()
        likelihoods = selections = None
        if inputs.resamples:
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
        yield ResampledGroup(
            found, k, n, likelihoods, selections, annotators_known=bool((found.annotators >= 0).any())
        )


def people_of_all_groups(inputs: Inputs) -> bootstrap.AnnotatorDraws:
    """Draws the annotators of all groups once."""
    return bootstrap.AnnotatorDraws(inputs.resamples, bootstrap.generator(inputs.seed, ""))


def as_variant(group: ResampledGroup, variant: str, *, none_of_above_selected: bool) -> ResampledGroup:
    """The group as the variant counts it. Corrected: without the column of 'none of the above'. Published:
    with it, either with its selections or with none."""
    real = group.frame.is_attribute
    likelihoods, selections = group.likelihoods, group.selections
    if variant != "published":
        return replace(
            group,
            frame=group.frame.without_none_of_above(),
            k=group.k[real],
            n=group.n[real],
            likelihoods=None if likelihoods is None else likelihoods[:, real],
            selections=None if selections is None else selections[:, real],
        )
    if none_of_above_selected:
        return group
    if likelihoods is not None and selections is not None:
        likelihoods = np.where(~real & ~np.isnan(likelihoods), 0.0, likelihoods)
        selections = np.where(real, selections, 0.0)
    return replace(group, k=np.where(real, group.k, 0), likelihoods=likelihoods, selections=selections)


def tendency_scores(inputs: Inputs) -> list[ScoreRow]:
    rows = []
    for group in resampled_groups(inputs, none_of_above_selected=False):
        found = group_tendency.compute(group.k, group.n, group.frame.stereotypical, group.likelihoods)
        if found.point.n_stereotypical >= 2:
            rows += group_tendency.score_rows(found, group.frame)
    return rows


def likelihood_scores(inputs: Inputs) -> list[ScoreRow]:
    rows = []
    for group in resampled_groups(inputs):
        frame = group.frame
        values = stats.likelihood(group.k, group.n)
        intervals = intervals_or_none(group.likelihoods, values)
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
    group: ResampledGroup, ratings: Ratings
) -> tuple[stats.Offensiveness, Floats | None] | None:
    """O(id) of a group with its resamples (B,), if any. None without stereotypes."""
    chosen, ids = group.frame.stereotypical, group.frame.attribute_ids
    if not chosen.any():
        return None
    rated = [ratings[group.frame.group_id, ids[place] or 0] for place in np.flatnonzero(chosen).tolist()]
    l_stereo = stats.tendency(group.k, group.n, chosen).l_stereo
    point = stats.offensiveness(l_stereo, group.k[chosen], rated)
    if group.likelihoods is None or group.selections is None:
        return point, None
    drawn = stats.mean_over(group.likelihoods, chosen)
    return point, stats.resampled_offensiveness(drawn, group.selections[:, chosen], rated)


def offensiveness_scores(inputs: Inputs) -> list[ScoreRow]:
    ratings = read_ratings(inputs.study, inputs.variant)
    scored = []
    for group in resampled_groups(inputs):
        found = group_offensiveness(group, ratings)
        if found is not None:
            scored.append((group.frame, *found))
    rows = []
    scaled = stats.scaled([point.value for _, point, _ in scored])
    for (frame, point, samples), for_map in zip(scored, scaled.tolist(), strict=True):
        if point.n:
            drawn = None if samples is None else samples[:, None]
            (interval,) = intervals_or_none(drawn, [point.value])
            rows.append(score_row("o", point.value, point.n, interval, group=frame))
            rows.append(score_row("o_scaled", for_map, point.n, group=frame))
        if point.n + point.unrated:
            rows.append(score_row("unrated", point.unrated, point.n + point.unrated, group=frame))
    return rows
