"""Scores of what images depict (PROTOCOL §6, §7)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from annotation.models import Study
from metrics.core.stats import bootstrap, percentiles
from metrics.core.stats.checks import Floats, Ints
from metrics.depiction.data import GroupFrame, read_depiction
from metrics.depiction.scores import group_offensiveness, group_tendency
from metrics.depiction.stats import offensiveness, tendency
from metrics.depiction.tallies import Tally, tally_by_image
from metrics.score_runs import registry, shared_resamples
from metrics.score_runs.digests import inputs_digest
from metrics.score_runs.rows import Inputs, ScoreRow, bounds, defined

_KIND, _TOGETHER = "answers", "answers of all groups together"


@dataclass(frozen=True)
class Drawn:
    """One group: its frame, k and n, and (B, A) likelihoods and selections of the resamples, if any; and
    whether anybody is known who judged it."""

    frame: GroupFrame
    k: Ints
    n: Ints
    likelihoods: Floats | None
    selections: Floats | None
    known: bool

    def without_responses(self) -> Drawn:
        """The same with a frame that holds no response, to be kept: its sums and resamples are there."""
        return replace(self, frame=self.frame.only(np.zeros(len(self.frame.answers), dtype=np.bool_)))


@dataclass(frozen=True)
class _Shared:
    """What one read of the answers gave: the resamples of each group, and the ratings of its images, which
    are few where nobody knows who gave them; else None."""

    drawn: list[Drawn]
    tallies: list[Tally] | None


def drawn_groups(
    inputs: Inputs, *, none_of_above_selected: bool = True, together: bool = False
) -> Iterator[Drawn]:
    """Each group's frame and resamples. Variant published keeps the column of 'none of the above', by
    `none_of_above_selected` with the selections it got or, as the published tables have it, with k = 0.
    All variants and metrics of a study are of the same resamples. `together`, for numbers of several groups:
    annotators who are known are drawn once for all groups, and not for each by itself."""
    for drawn in _every_group(inputs, together):
        yield as_variant(drawn, inputs.variant, none_of_above_selected=none_of_above_selected)


def _every_group(inputs: Inputs, together: bool) -> Iterator[Drawn]:
    if not shared_resamples.is_shared(inputs):
        yield from _draw(inputs, together=together)
        return
    digest = _digest(inputs.study)
    kept = shared_resamples.draw_once(_KIND, inputs, digest, lambda: _shared(inputs)).drawn
    if together and any(one.known for one in kept):
        kept = shared_resamples.draw_once(
            _TOGETHER,
            inputs,
            digest,
            lambda: [one.without_responses() for one in _draw(inputs, together=True)],
        )
    yield from kept


def _shared(inputs: Inputs) -> _Shared:
    drawn, tallies = [], []
    for one in _draw(inputs):
        drawn.append(one.without_responses())
        tallies.append(None if one.known else tally_by_image(one.frame))
    whole = [tally for tally in tallies if tally is not None]
    return _Shared(drawn, whole if len(whole) == len(tallies) else None)


def shared_tallies(study: Study) -> list[Tally] | None:
    """The ratings of the images of `study`, if a metric of the same answers has read them."""
    kept = shared_resamples.cached_draw(_KIND, _digest(study)) if shared_resamples.is_sharing() else None
    return kept.tallies if isinstance(kept, _Shared) else None


def _digest(study: Study) -> str:
    # tendency_contrast reads the most of what hangs on a frame: answers, associations and regions
    return inputs_digest(study, registry.get("tendency_contrast"))


def _draw(inputs: Inputs, *, together: bool = False) -> Iterator[Drawn]:
    people = people_of_all(inputs) if together else None
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
        yield Drawn(found, k, n, likelihoods, selections, known=bool((found.annotators >= 0).any()))


def people_of_all(inputs: Inputs) -> bootstrap.AnnotatorDraws:
    """Who draws the annotators of all groups once."""
    return bootstrap.AnnotatorDraws(inputs.resamples, bootstrap.generator(inputs.seed, ""))


def as_variant(group: Drawn, variant: str, *, none_of_above_selected: bool) -> Drawn:
    """The numbers that a variant is of: corrected, without the column of 'none of the above'; published, with
    it and the selections it got, or with none."""
    real = np.array([attribute is not None for attribute in group.frame.attribute_ids], dtype=np.bool_)
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
    for group in drawn_groups(inputs, none_of_above_selected=False):
        found = group_tendency.scored(group.k, group.n, group.frame.stereotypical, group.likelihoods)
        if found.point.n_stereotypical >= 2:
            rows += group_tendency.rows(found, group.frame)
    return rows


def likelihood_scores(inputs: Inputs) -> list[ScoreRow]:
    rows = []
    for group in drawn_groups(inputs):
        frame = group.frame
        values = tendency.likelihood(group.k, group.n)
        intervals: list[percentiles.Interval | None] = [None] * len(values)
        if group.likelihoods is not None:
            intervals = [*percentiles.percentile_intervals(group.likelihoods, values)]
        for place, attribute in enumerate(frame.attributes):
            rows.append(
                _row(
                    "none_of_above" if attribute is None else "likelihood",
                    float(values[place]),
                    intervals[place],
                    n=int(group.n[place]),
                    k=int(group.k[place]),
                    frame=frame,
                    place=place,
                )
            )
    return rows


def offensiveness_scores(inputs: Inputs) -> list[ScoreRow]:
    known = group_offensiveness.ratings(inputs.study, inputs.variant)
    scored = []
    for group in drawn_groups(inputs):
        found = group_offensiveness.scored(
            group.frame, group.k, group.n, group.likelihoods, group.selections, known
        )
        if found is not None:
            scored.append((group.frame, found))
    rows = []
    scaled = offensiveness.scaled([found.point.value for _, found in scored])
    for (frame, found), for_map in zip(scored, scaled.tolist(), strict=True):
        point = found.point
        if point.n:
            rows.append(_row("o", point.value, found.interval(), n=point.n, frame=frame))
            rows.append(_row("o_scaled", for_map, None, n=point.n, frame=frame))
        if point.n + point.unrated:
            rows.append(_row("unrated", point.unrated, None, n=point.n + point.unrated, frame=frame))
    return rows


def _row(
    name: str,
    value: float,
    interval: percentiles.Interval | None,
    *,
    n: int,
    frame: GroupFrame,
    k: int | None = None,
    place: int | None = None,
) -> ScoreRow:
    """A row of a group, or of its attribute at `place`. 'None of the above' has no attribute."""
    attribute = None if place is None else frame.attribute_ids[place]
    text = None if place is None else frame.attributes[place]
    return ScoreRow(
        name=name,
        value=defined(value),
        n=n,
        k=k,
        group_id=frame.group_id,
        group=frame.group,
        attribute_id=attribute,
        attribute=text or "",
        stereotypical=None if place is None else bool(frame.stereotypical[place]),
        **bounds(interval),
    )
