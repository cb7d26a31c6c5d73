"""Scores of attributes found in captions, and of salience (PROTOCOL §8)."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar

import numpy as np

from annotation.models import Pool
from metrics.captions.data import CaptionFrame, read_captions, vocabulary
from metrics.captions.stats import caption_influences, salience
from metrics.core.stats import bootstrap
from metrics.core.stats.checks import Floats, Ints
from metrics.core.stats.scales import RATIO, SHARE, Scale
from metrics.core.stats.spread import Spread
from metrics.score_runs.rows import Inputs, ScoreRow, bounds, defined, intervals_or_none
from metrics.visual_nature import visual_rule
from metrics.visual_nature.data import read_visual_nature
from metrics.votes.data.source import read_votes

Name = TypeVar("Name")
Votes = dict[tuple[str, int], int]
"""{(attribute, its id): votes}."""


def _attributes(inputs: Inputs) -> dict[int, str]:
    """{id: text} of the attributes to search for, by the parameter `attributes`."""
    texts = dict(vocabulary(inputs.study).values_list("pk", "text"))
    chosen = inputs.parameters["attributes"]
    if chosen == "all":
        return texts
    if chosen != "visual":
        raise ValueError(f"attributes is '{chosen}': choose all or visual.")
    visual = visual_attributes(inputs)
    if visual is None:
        raise ValueError(
            f"Nobody rated the visual nature of attributes in '{inputs.study.name}': choose attributes=all."
        )
    return {pk: text for pk, text in texts.items() if pk in visual}


def visual_attributes(inputs: Inputs) -> set[int] | None:
    """The attributes that are visual by the study's rule; None without ratings."""
    frame = read_visual_nature(inputs.study)
    if not frame.attribute_ids:
        return None
    passed = visual_rule.is_visual(inputs.study, frame.ratings)
    # an attribute with several units must pass in each of them
    failed = {pk for pk, visual in zip(frame.attribute_ids, passed.tolist(), strict=True) if not visual}
    return set(frame.attribute_ids) - failed


def _smoothing(inputs: Inputs) -> float:
    text = inputs.parameters["smoothing"]
    try:
        constant = float(text)
    except ValueError:
        constant = -1.0
    if not 0 <= constant < float("inf"):
        raise ValueError(f"smoothing is '{text}': a number of at least 0.")
    return constant


def _weights(inputs: Inputs, frame: CaptionFrame) -> Ints:
    """How often each image of the group is drawn, shape (B, I)."""
    rng = bootstrap.generator(inputs.seed, frame.group)
    return bootstrap.cluster_weights(len(frame.images), inputs.resamples, rng)


def caption_findings_scores(inputs: Inputs) -> list[ScoreRow]:
    rows = []
    for frame in read_captions(inputs.study, inputs.parameters, _attributes(inputs)):
        k, n = frame.containing.sum(axis=0), int(frame.captions.sum())
        spread: Spread | None = None
        if inputs.clustered:
            spread = caption_influences.of_findings(frame.containing, frame.captions)
        elif inputs.resamples:
            drawn = _weights(inputs, frame)
            spread = (drawn @ frame.containing) / (drawn @ frame.captions)[:, None]
        rows += _attribute_rows("found", frame, k / n, k, n, spread, SHARE)
    return rows


def salience_scores(inputs: Inputs) -> list[ScoreRow]:
    smoothing, texts = _smoothing(inputs), _attributes(inputs)
    groups = read_captions(inputs.study, inputs.parameters, texts)
    place = {pk: number for number, pk in enumerate(sorted(texts))}
    columns = [np.array([place[pk] for pk in frame.attribute_ids], dtype=np.int64) for frame in groups]
    documents = sum(int(frame.captions.sum()) for frame in groups)
    containing = np.zeros(len(place), dtype=np.int64)
    for frame, found in zip(groups, columns, strict=True):
        containing[found] += frame.containing.sum(axis=0)
    squares = [
        caption_influences.document_squares(frame.containing, frame.captions, found, attributes=len(place))
        for frame, found in zip(groups, columns, strict=True)
        if inputs.clustered
    ]
    of_all = np.sum(squares, axis=0)
    # a resample draws the images of every group, and with them the documents of all groups
    drawn = [_weights(inputs, frame) for frame in groups] if inputs.resamples else []
    drawn_containing = np.zeros((inputs.resamples, len(place)), dtype=np.int64)
    drawn_documents = np.zeros(inputs.resamples, dtype=np.int64)
    for frame, found, weights in zip(groups, columns, drawn, strict=False):  # none without resamples
        drawn_containing[:, found] += weights @ frame.containing
        drawn_documents += weights @ frame.captions
    rows = []
    for number, (frame, found) in enumerate(zip(groups, columns, strict=True)):
        k = frame.matches.sum(axis=0)
        absent = len(place) - len(found)
        values = salience.salience(k, containing[found], documents, smoothing=smoothing, absent=absent)
        spread: Spread | None = None
        if inputs.clustered:
            spread = caption_influences.of_salience(
                frame.matches,
                frame.containing,
                frame.captions,
                containing[found],
                documents,
                (of_all - squares[number])[:, found],
                smoothing=smoothing,
                absent=absent,
            )
        elif inputs.resamples:
            spread = salience.salience(
                drawn[number] @ frame.matches,
                drawn_containing[:, found],
                drawn_documents,
                smoothing=smoothing,
                absent=absent,
            )
        rows += _attribute_rows("salience", frame, values, k, int(k.sum()), spread, RATIO)
    return rows


def _attribute_rows(
    name: str,
    frame: CaptionFrame,
    values: Floats,
    k: Ints,
    n: int,
    spread: Spread | None,
    scale: Scale,
) -> list[ScoreRow]:
    """A row for each attribute of the group's frame."""
    intervals = intervals_or_none(spread, values, scale)
    return [
        ScoreRow(
            name=name,
            value=defined(value),
            n=n,
            k=int(k[place]),
            group_id=frame.group_id,
            group=frame.group,
            attribute_id=frame.attribute_ids[place],
            attribute=frame.attributes[place],
            **bounds(intervals[place]),
        )
        for place, value in enumerate(values.tolist())
    ]


def salience_seegull_scores(inputs: Inputs) -> list[ScoreRow]:
    smoothing, study = _smoothing(inputs), inputs.study
    frame = read_votes(study)
    pool = frame.in_region if study.stereotype_pool == Pool.IN_REGION else frame.out_region
    groups: dict[str, dict[tuple[str, int], Votes]] = {}
    regions: dict[str, Votes] = {}
    for pair, votes in zip(frame.pairs, pool[:, 0].tolist(), strict=True):
        if votes < study.stereotype_threshold:
            continue
        term = (pair.attribute, pair.attribute_id)
        groups.setdefault(pair.region, {}).setdefault((pair.group, pair.group_id), {})[term] = votes
        if pair.region:
            together = regions.setdefault(pair.region, {})
            together[term] = together.get(term, 0) + votes
    rows = [
        replace(row, name="salience", group_id=group_id, group=group, stereotypical=True)
        for members in groups.values()
        for (group, group_id), of_group in _salience_among(members, smoothing).items()
        for row in of_group
    ]
    rows.sort(key=lambda row: (row.group, row.group_id or 0, row.attribute))
    # salience among regions needs more than one
    by_region = _salience_among(regions, smoothing) if len(regions) > 1 else {}
    for name in sorted(by_region):
        rows += [replace(row, name="salience_region", part=f"region: {name}") for row in by_region[name]]
    return rows


def _salience_among(documents: Mapping[Name, Votes], smoothing: float) -> dict[Name, list[ScoreRow]]:
    """A row for each attribute of each document, with its salience among the documents."""
    terms = sorted({term for document in documents.values() for term in document})
    column = {term: place for place, term in enumerate(terms)}
    votes = np.zeros((len(documents), len(terms)), dtype=np.int64)
    for row, document in enumerate(documents.values()):
        for term, number in document.items():
            votes[row, column[term]] = number
    values = salience.salience(votes, (votes > 0).sum(axis=0), len(documents), smoothing=smoothing)
    return {
        name: [
            ScoreRow(
                name="salience",
                value=defined(values[row, column[term]]),
                n=sum(document.values()),
                k=document[term],
                attribute_id=term[1],
                attribute=term[0],
            )
            for term in sorted(document)
        ]
        for row, (name, document) in enumerate(documents.items())
    }
