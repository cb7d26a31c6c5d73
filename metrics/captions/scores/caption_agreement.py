"""How many of the attributes in captions people saw as well (PROTOCOL §8)."""

from dataclasses import dataclass

import numpy as np

from metrics.captions.data import CaptionFrame, read_captions, vocabulary
from metrics.captions.scores.findings import visual_attributes
from metrics.captions.stats import caption_pairs
from metrics.core.stats import bootstrap, percentiles
from metrics.core.stats.checks import Bools, Floats, Ints
from metrics.core.stats.scales import SHARE
from metrics.core.stats.spread import Spread
from metrics.depiction.data import GroupFrame, read_depiction
from metrics.score_runs.rows import Inputs, ScoreRow, intervals_or_none, score_row


@dataclass(frozen=True)
class _Group:
    """The attributes that captions of one group mention, and what people selected and were shown of them.

    `named` (I, A): how often the captions of each image mention each attribute. `k` and `n` (P, A): what each
    distinct answer selected and was shown. `answers`, `image_of` (the row of `named`) and `annotators` have
    an element for each response.
    """

    group_id: int
    group: str
    attribute_ids: tuple[int, ...]
    named: Ints
    k: Ints
    n: Ints
    answers: Ints
    image_of: Ints
    annotators: Ints

    def agreement(self, chosen: Bools) -> caption_pairs.Agreement:
        """The agreement over the `chosen` attributes."""
        times = np.bincount(self.answers, minlength=len(self.k))
        return caption_pairs.agreement(
            self.named.sum(axis=0)[chosen], (times @ self.k)[chosen], (times @ self.n)[chosen]
        )

    def judged(self, chosen: Bools) -> caption_pairs.JudgedPairs:
        """The `chosen` attributes, by response."""
        k, n = ((each[:, chosen] > 0)[self.answers] for each in (self.k, self.n))
        return caption_pairs.JudgedPairs(self.named[:, chosen] > 0, k, n, self.image_of, self.annotators)


def caption_agreement_scores(inputs: Inputs) -> list[ScoreRow]:
    texts = dict(vocabulary(inputs.study).values_list("pk", "text"))
    named = {one.group_id: one for one in read_captions(inputs.study, inputs.parameters, texts)}
    groups = [
        _group(named[judged.group_id], judged)
        for judged in (read_depiction(inputs.study, by_response=True) if named else ())
        if judged.group_id in named
    ]
    visual = visual_attributes(inputs)
    parts: dict[str, set[int]] = {"": set(texts)}
    if visual is not None:
        parts["visual attributes"] = visual
    known_weights = _known_annotator_weights(inputs, groups)
    rows: list[ScoreRow] = []
    whole = dict.fromkeys(parts, caption_pairs.Agreement(0, 0, 0))
    samples = {part: np.zeros((2, inputs.resamples), dtype=np.int64) for part in parts}
    judged: dict[str, list[caption_pairs.JudgedPairs]] = {part: [] for part in parts}
    for group in groups:
        own, shared = _resampled(inputs, group, known_weights) if inputs.resamples else (None, None)
        for part, kept in parts.items():
            chosen = np.array([pk in kept for pk in group.attribute_ids], dtype=np.bool_)
            found = group.agreement(chosen)
            sums = whole[part]
            whole[part] = caption_pairs.Agreement(
                sums.k + found.k, sums.n + found.n, sums.unjudged + found.unjudged
            )
            if shared is not None:
                samples[part] += shared[:, :, chosen].sum(axis=2)
            spread: Spread | None = None
            if inputs.clustered:
                judged[part].append(group.judged(chosen))
                spread = caption_pairs.agreement_influences(judged[part][-1:])
            elif own is not None:
                spread = _recentred(own[:, :, chosen].sum(axis=2), found.share)
            rows += _rows(found, part, spread, group=group)
    for part in parts if groups else ():
        spread = None
        if inputs.clustered:
            spread = caption_pairs.agreement_influences(judged[part])
        elif inputs.resamples:
            spread = _recentred(samples[part], whole[part].share)
        rows += _rows(whole[part], part, spread)
    return rows


def _group(frame: CaptionFrame, judged: GroupFrame) -> _Group:
    """A column for each attribute that captions mention; images without captions have zeros."""
    column = {pk: place for place, pk in enumerate(judged.attribute_ids)}
    images = list(dict.fromkeys([*frame.images.tolist(), *judged.images.tolist()]))
    row = {image: place for place, image in enumerate(images)}
    named = np.zeros((len(images), len(frame.attribute_ids)), dtype=np.int64)
    named[: len(frame.images)] = frame.matches
    k = np.zeros((len(judged.k), len(frame.attribute_ids)), dtype=np.int64)
    n = np.zeros_like(k)
    for place, pk in enumerate(frame.attribute_ids):
        if pk in column:
            k[:, place], n[:, place] = judged.k[:, column[pk]], judged.n[:, column[pk]]
    return _Group(
        group_id=frame.group_id,
        group=frame.group,
        attribute_ids=frame.attribute_ids,
        named=named,
        k=k,
        n=n,
        answers=judged.answers,
        image_of=np.array([row[image] for image in judged.images.tolist()], dtype=np.int64),
        annotators=judged.annotators,
    )


def _known_annotator_weights(inputs: Inputs, groups: list[_Group]) -> dict[int, Ints]:
    """{identified annotator: how often they are drawn (B,)}, drawn once for all groups."""
    # in order of appearance, so that a draw does not depend on their ids
    known = list(dict.fromkeys(one for group in groups for one in group.annotators.tolist() if one > 0))
    if not inputs.resamples or not known:
        return {}
    weights = bootstrap.cluster_weights(len(known), inputs.resamples, bootstrap.generator(inputs.seed, ""))
    return {one: weights[:, place] for place, one in enumerate(known)}


def _resampled(inputs: Inputs, group: _Group, known_weights: dict[int, Ints]) -> tuple[Bools, Bools]:
    """Two arrays (2, B, A): which pairs people agree with and which are counted in each resample, first with
    annotators drawn within the group, then with annotators drawn once for all groups."""
    for_images, for_annotators = bootstrap.generator(inputs.seed, group.group).spawn(2)
    by_image = bootstrap.cluster_weights(len(group.named), inputs.resamples, for_images)
    everybody = np.ones(len(group.answers), dtype=np.bool_)
    own = _sums(group, everybody, by_image, for_annotators)
    shared = own
    known = np.array([one in known_weights for one in group.annotators.tolist()], dtype=np.bool_)
    if known.any():
        clusters, member = np.unique(group.annotators[known], return_inverse=True)
        shared = bootstrap.weighted_sums(
            group.k[group.answers[known]],
            group.n[group.answers[known]],
            group.image_of[known],
            member,
            image_weights=by_image,
            annotator_weights=np.column_stack([known_weights[one] for one in clusters.tolist()]),
        )
        if not known.all():
            rest = _sums(group, ~known, by_image, for_annotators)
            shared = (shared[0] + rest[0], shared[1] + rest[1])
    first, second = (
        np.stack(caption_pairs.resampled(group.named, k, n, image_weights=by_image)) for k, n in (own, shared)
    )
    return first, second


def _sums(group: _Group, chosen: Bools, by_image: Ints, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """k and n (B, A) in each resample over the `chosen` responses, with annotators drawn here."""
    return bootstrap.sums_over_annotators(
        group.k,
        group.n,
        group.answers[chosen],
        group.image_of[chosen],
        group.annotators[chosen],
        image_weights=by_image,
        rng=rng,
    )


def _recentred(samples: Ints, share: float) -> Floats:
    """The shares (B, 1) from how many pairs people agree with and how many are counted, (2, B)."""
    agreed, counted = samples
    drawn = np.divide(agreed, counted, out=np.full(len(agreed), np.nan), where=counted > 0)
    return percentiles.recentred(drawn, share)[:, None]


def _rows(
    found: caption_pairs.Agreement, part: str, spread: Spread | None, *, group: _Group | None = None
) -> list[ScoreRow]:
    (interval,) = intervals_or_none(spread, [found.share], SHARE)
    number = found.n + found.unjudged
    return [
        score_row("agreement", found.share, found.n, interval, k=found.k, group=group, part=part),
        score_row("unjudged", found.unjudged, number, group=group, part=part),
    ]
