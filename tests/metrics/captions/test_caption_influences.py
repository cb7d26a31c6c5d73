"""Clustered intervals of captions and salience (PROTOCOL §8, §10): derivatives, jackknife, coverage."""

import numpy as np
import pytest

from benchmarks import coverage_captions
from metrics.captions.stats import caption_influences, caption_pairs, salience
from metrics.core.stats import spread
from metrics.core.stats.scales import RATIO, SHARE
from metrics.score_runs import registry
from metrics.score_runs.rows import Inputs
from tests.metrics import captioned


def group(images, seed, captions=5):
    draw = np.random.default_rng(seed)
    containing = draw.integers(0, captions, (images, 3))
    containing[0] += 1
    return containing + draw.integers(0, 2, containing.shape), containing, np.full(images, captions)


def derivative(score, images, number):
    """With respect to the weight of one image."""
    ends = [score(np.where(np.arange(images) == number, 1 + step, 1.0)) for step in (1e-6, -1e-6)]
    return (ends[0] - ends[1]) / 2e-6


def test_an_image_has_the_derivative_of_the_share_and_of_salience():
    matches, containing, captions = group(6, 1)
    _, others, more = group(4, 2)
    more += np.array([0, 2, 1, -3])
    found = caption_influences.of_findings(containing, captions)
    salient = caption_influences.of_salience(
        matches,
        containing,
        captions,
        containing.sum(axis=0) + others.sum(axis=0),
        50,
        caption_influences.document_squares(others, more, [0, 1, 2], attributes=3),
        absent=2,
    )

    def share(weights):
        return weights @ containing / (weights @ captions)

    def value(weights, of_others=None):
        drawn = np.ones(4) if of_others is None else of_others
        tf = (weights @ matches + 1) / ((weights @ matches).sum() + 5)
        number = weights @ captions + drawn @ more
        return tf * (np.log((1 + number) / (1 + weights @ containing + drawn @ others)) + 1)

    np.testing.assert_allclose(
        value(np.ones(6)),
        salience.salience(matches.sum(0), containing.sum(0) + others.sum(0), 50, absent=2),
    )
    of_shares = np.array([derivative(share, 6, each) for each in range(6)])
    np.testing.assert_allclose(found.images.change, of_shares * np.sqrt(6 / 5), atol=1e-7)
    own = np.array([derivative(value, 6, each) for each in range(6)])
    rest = np.array([derivative(lambda w: value(np.ones(6), w), 4, each) for each in range(4)])
    changes = [(each - each.mean(axis=0)) * np.sqrt(len(each) / (len(each) - 1)) for each in (own, rest)]
    np.testing.assert_allclose(salient.images.change[:6], changes[0], atol=1e-7)
    # those of the other group's images are one
    np.testing.assert_allclose(salient.images.change[6] ** 2, (changes[1] ** 2).sum(axis=0), rtol=1e-6)


def test_what_the_documents_of_groups_add_is_what_a_loop_over_their_images_finds():
    squares, expected = np.zeros((3, 4)), np.zeros((3, 4))
    for images, seed, columns in ((5, 3, [0, 2, 3]), (1, 4, [0, 1, 2]), (7, 5, [3, 1, 0])):
        _, containing, captions = group(images, seed)
        captions = captions + np.arange(images)
        squares += caption_influences.document_squares(containing, captions, columns, attributes=4)
        for image in range(images if images > 1 else 0):
            number = captions[image] - captions.mean()
            for attribute in range(4):
                held = 0.0
                if attribute in columns:
                    column = containing[:, columns.index(attribute)]
                    held = column[image] - column.mean()
                each = np.array([number**2, held**2, number * held])
                expected[:, attribute] += each * images / (images - 1)
    np.testing.assert_allclose(squares, expected, atol=1e-12)


def test_what_every_caption_says_is_not_certain_and_one_image_is_no_study():
    captions = np.full(5, 50)
    [every] = spread.intervals(caption_influences.of_findings(captions[:, None], captions), [1.0], SHARE)
    assert (every.low < 0.6, every.high) == (True, 1)
    alone = (np.array([[3]]), np.array([50]))
    one = caption_influences.of_salience(alone[0], *alone, np.array([3]), 50)
    [found] = spread.intervals(caption_influences.of_findings(*alone), [0.06], SHARE)
    [salient] = spread.intervals(one, [1.0], RATIO)
    assert np.isnan([found.low, salient.low]).all()


def judged(seed, images=8, people=5):
    """Rarely selected pairs, so that single images and people decide."""
    draw = np.random.default_rng(seed)
    who = np.concatenate([draw.choice(people, 3, replace=False) for _ in range(images)])
    return caption_pairs.JudgedPairs(
        named=draw.random((images, 40)) < 0.3,
        selected=draw.random((3 * images, 40)) < 0.04,
        shown=np.ones((3 * images, 40), dtype=bool),
        images=np.repeat(np.arange(images), 3),
        annotators=who,
    )


def sums(one, responses, images):
    named = one.named[images].any(axis=0)
    selected = named & one.selected[responses].any(axis=0)
    return np.array([selected.sum(), (named & one.shown[responses].any(axis=0)).sum()])


def test_without_an_image_or_an_annotator_pairs_are_lost_as_if_asked_again():
    one = judged(3)
    k, n = sums(one, np.ones(24, bool), np.ones(8, bool))
    found = caption_pairs.agreement_influences([one])

    def lost(responses, images):
        fewer_k, fewer_n = sums(one, responses, images)
        return (k - fewer_k - k / n * (n - fewer_n)) / n

    every = np.ones(8, bool)
    by_person = np.array([lost(one.annotators != each, every) for each in range(5)])
    numbers = np.bincount(one.annotators)
    less = by_person - by_person.sum() * numbers / numbers.sum()
    np.testing.assert_allclose(found.annotators.change[:, 0], less * np.sqrt(4 / 5), atol=1e-12)
    by_image = np.array([lost(one.images != each, np.arange(8) != each) for each in range(8)])
    ratio = found.images.change[:, 0] / (by_image - by_image.mean())
    # all are made smaller by as much
    assert ratio == pytest.approx(np.full(8, ratio[0]))
    assert np.sqrt(0.25) * np.sqrt(7 / 8) <= ratio[0] <= np.sqrt(7 / 8)


@pytest.mark.parametrize(
    ("selected", "most"),
    [
        ([[1, 1, 1, 0], [0, 0, 1, 0]], 4),  # two pairs that one image alone has
        ([[1, 1, 0, 0], [1, 0, 0, 0]], 2),
        ([[1, 1, 0, 0], [1, 1, 0, 0]], 2),  # none: known no better than from one
        ([[0, 0, 0, 0], [0, 0, 0, 0]], np.inf),
        ([[1, 1, 1, 1], [1, 1, 0, 1]], np.inf),
    ],
)
def test_images_are_known_as_well_as_the_pairs_are_many_that_one_alone_has(selected, most):
    every = np.ones((2, 4), dtype=bool)
    one = caption_pairs.JudgedPairs(every, np.array(selected) > 0, every, np.array([0, 1]), np.array([7, 8]))
    found = caption_pairs.agreement_influences([one])
    assert found.most_freedom == most
    # images of all groups may be many more than people
    assert found.many_items


def test_an_agreement_of_nothing_or_of_one_person_has_no_interval_and_groups_share_people():
    one = judged(4)
    alone = caption_pairs.JudgedPairs(one.named, one.selected, one.shown, one.images, 0 * one.annotators)
    [none] = spread.intervals(caption_pairs.agreement_influences([alone]), [0.5], SHARE)
    assert np.isnan(none.low)
    who = np.where(one.annotators == 0, 0, -1)
    known = caption_pairs.JudgedPairs(one.named, one.selected, one.shown, one.images, who)
    assert not len(caption_pairs.agreement_influences([known]).annotators.labels)
    both = caption_pairs.agreement_influences([one, judged(5)])
    assert (len(both.images.labels), both.annotators.labels.tolist()) == (16, [0, 1, 2, 3, 4])
    unseen = caption_pairs.JudgedPairs(one.named, one.selected & False, one.shown, one.images, one.annotators)
    [lowest] = spread.intervals(caption_pairs.agreement_influences([unseen]), [0.0], SHARE)
    assert lowest.low == 0
    assert 0.05 < lowest.high < 0.5


def test_clustered_intervals_hold_the_truth_and_are_not_wider_than_need_be():
    """Of 40 studies with ten attributes of each kind; agreement has one interval a study."""
    design = coverage_captions.Design(captions=10, people=20)
    found = coverage_captions.measured(design, studies=40, population=200)
    assert {score: each["coverage"] for score, each in found.items() if each["coverage"] < 0.8} == {}
    common = found["found, common"]
    assert common["coverage"] > 0.9
    assert common["width"] < 1.2


@pytest.mark.django_db
@pytest.mark.parametrize("name", ["caption_findings", "salience", "caption_agreement"])
def test_scores_have_clustered_intervals_around_the_same_values(name):
    study = captioned.captioned_study()
    metric = registry.get(name)
    parameters = {one.name: one.default for one in metric.parameters}
    plain, rows = (
        metric.compute(Inputs(study, parameters=parameters, clustered=each)) for each in (False, True)
    )
    assert [(row.name, row.group, row.value) for row in plain] == [
        (row.name, row.group, row.value) for row in rows
    ]
    bounded = [row for row in rows if row.low is not None]
    assert bounded
    assert all(row.low <= row.value <= row.high and row.low < row.high for row in bounded)
    assert all(row.low is None for row in plain)
