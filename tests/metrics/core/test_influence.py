"""Influences of answers, added up by image and annotator, against plain loops (PROTOCOL §10)."""

from dataclasses import replace

import numpy as np
import pytest

from metrics.core.stats.influence import influences, total
from metrics.depiction.likelihood_influences import likelihood_influences


def answers(rng, *, images=6, people=5, overlap=3, attributes=2):
    """k, n (R, A), and the image and the annotator of each response."""
    who = np.concatenate([rng.permutation(people)[:overlap] for _ in range(images)])
    of_image = np.repeat(np.arange(images), overlap)
    k = (rng.random((len(who), attributes)) < 0.4).astype(np.int64)
    return k, np.ones_like(k), 10 + of_image, 100 + who


def mean_influences(k, images, annotators):
    values = (k - k.mean(axis=0)) / len(k)
    return influences(values, images=images, annotators=annotators)


def test_the_change_without_an_image_is_that_of_the_jackknife():
    k, _, images, annotators = answers(np.random.default_rng(1))
    found = mean_influences(k, images, annotators)
    for labels, of, part in (
        (images, found.images, "image"),
        (annotators, found.annotators, "annotator"),
    ):
        number = len(of.labels)
        for place, label in enumerate(of.labels.tolist()):
            without = k.mean(axis=0) - k[labels != label].mean(axis=0)
            assert of.change[place] == pytest.approx(without * np.sqrt((number - 1) / number)), part


@pytest.mark.parametrize("people_differ", [True, False])
def test_the_variance_is_the_two_way_one_of_plain_loops(people_differ):
    """Where everybody gave as many answers: images + annotators - what both count, each corrected. By chance
    annotators can differ less than their answers say."""
    rng = np.random.default_rng(2)
    images, annotators = (each.ravel() for each in np.meshgrid(np.arange(8), np.arange(6)))
    chances = 0.05 + 0.4 * (annotators % 3) if people_differ else 0.25 + 0.5 * (images % 2)
    k = (rng.random((48, 1)) < chances[:, None]).astype(np.int64)
    se, freedom = mean_influences(k, images, annotators).standard_errors()
    d = (k[:, 0] - k.mean()) / 48
    of_images = sum(d[images == i].sum() ** 2 for i in range(8)) * 8 / 7
    of_people = sum(
        d[annotators == j].sum() ** 2 - 5 / 6 * (d[annotators == j] ** 2).sum() for j in range(6)
    ) * (6 / 5)
    assert (of_people > 0) == people_differ
    variance = max(of_images + of_people, 0.75 * of_images)
    assert se[0] ** 2 == pytest.approx(variance)
    noisy = max(of_people, 0) + sum(5 / 6 * (d[annotators == j] ** 2).sum() for j in range(6)) * (6 / 5)
    satterthwaite = variance**2 / (of_images**2 / (7 + 2) + noisy**2 / (5 + 2))
    assert freedom[0] == pytest.approx(np.sqrt(satterthwaite * (7 + 5)))


@pytest.mark.parametrize("items", [4, 60])
def test_many_items_do_not_hide_that_few_people_answered(items):
    """Of the degrees of freedom of all items and people together, at most 1.5 for each person but one are of
    items. Where nothing varied, all count."""
    item, person = (each.ravel() for each in np.meshgrid(np.arange(items), np.arange(5)))
    said = (np.random.default_rng(1).random(len(item)) < 0.2 + 0.15 * person).astype(np.float64)
    found = mean_influences(np.column_stack([said, np.zeros(len(item))]), item, person)
    se, every = found.standard_errors()
    same, fewer = replace(found, many_items=True).standard_errors()
    assert same.tolist() == se.tolist()
    counted = min(items - 1, 1.5 * 4)
    assert fewer[0] == pytest.approx(every[0] * np.sqrt((counted + 4) / (items - 1 + 4)))
    assert fewer[1] == every[1]
    other = mean_influences(said[:, None], item, person)
    assert total([(1.0, replace(other, many_items=True)), (-1.0, other)]).many_items
    assert not total([(1.0, other), (-1.0, other)]).many_items
    assert total([(0.5, other), (0.5, other)], over_groups=True).many_items
    assert not total([(1.0, other)], over_groups=True).many_items


def test_people_who_answered_little_count_as_much_as_one_who_answered_half():
    """The effects of annotators are taken to vary equally, so that one who gave half of all answers does not
    decide alone how much they vary."""
    images = np.repeat(np.arange(20), 2)
    annotators = np.tile([0, 1], 20)
    annotators[1::2] = 1 + np.arange(20) % 5
    k = np.where(np.isin(annotators, [0, 5]), images % 2, annotators >= 3)[:, None].astype(np.float64)
    found = mean_influences(k, images, annotators)
    robust = (found.annotators.change**2 - found.answers).sum() + (found.images.change**2).sum()
    se, freedom = found.standard_errors()
    assert se[0] ** 2 > 1.5 * robust
    assert freedom[0] < 20


def test_annotators_who_agree_by_chance_do_not_make_the_variance_negative():
    images, annotators = (each.ravel() for each in np.meshgrid(np.arange(4), np.arange(4)))
    k = ((images + annotators) % 2)[:, None].astype(np.float64)
    found = mean_influences(k, images, annotators)
    se, _ = found.standard_errors()
    assert found.answers.sum() > (found.annotators.change**2).sum()
    assert se[0] == pytest.approx(1 / 16)  # images are equal too: one answer is the least


@pytest.mark.parametrize("one", ["images", "annotators"])
def test_a_single_image_or_annotator_says_nothing_of_others(one):
    k, _, images, annotators = answers(np.random.default_rng(3))
    labels = {"images": images, "annotators": annotators, one: np.full(len(k), 7)}
    se, _ = mean_influences(k, **labels).standard_errors()
    assert np.isnan(se).all()


def test_people_who_are_not_identified_leave_the_variance_of_images():
    k, _, images, _ = answers(np.random.default_rng(4))
    found = mean_influences(k, images, -1 - np.arange(len(k)))
    se, freedom = found.standard_errors()
    assert not len(found.annotators.labels)
    assert se**2 == pytest.approx((found.images.change**2).sum(axis=0))
    assert freedom == pytest.approx(5)


def test_a_single_known_person_among_others_is_not_told_apart():
    k, _, images, _ = answers(np.random.default_rng(4))
    who = np.full(len(k), -1)
    who[::3] = 7
    one, none = mean_influences(k, images, who), mean_influences(k, images, np.full(len(k), -1))
    assert not len(one.annotators.labels)
    assert [each.tolist() for each in one.standard_errors()] == [
        each.tolist() for each in none.standard_errors()
    ]


def test_what_both_sides_share_cancels():
    rng = np.random.default_rng(5)
    k, _, images, annotators = answers(rng)
    other, _, _, _ = answers(rng)
    one, two = mean_influences(k, images, annotators), mean_influences(other, images, annotators)
    apart = total([(1.0, one), (-1.0, two)])
    assert apart.images.change == pytest.approx(one.images.change - two.images.change)
    assert apart.annotators.labels.tolist() == one.annotators.labels.tolist()
    assert apart.answers == pytest.approx(one.answers + two.answers)
    assert apart.annotators.mass.sum() == pytest.approx(1)
    assert apart.answer_mass == pytest.approx((one.answer_mass + two.answer_mass) / 4)
    separate = total([(1.0, one), (-1.0, mean_influences(other, images + 50, annotators + 50))])
    assert len(separate.images.labels) == 2 * len(one.images.labels)
    assert (separate.images.change**2).sum() == pytest.approx(
        (one.images.change**2).sum() + (two.images.change**2).sum()
    )


def test_a_sum_is_as_coarse_as_its_coarsest_part():
    k, _, images, annotators = answers(np.random.default_rng(5))
    one = mean_influences(k, images, annotators)
    other = replace(one, step=np.array([0.5, 0.01]), least=np.array([0.01, 0.3]), most_freedom=4.0)
    apart = total([(1.0, other), (-2.0, one)])
    assert apart.step == pytest.approx([0.5, 2 / 18])
    assert apart.least == pytest.approx([2 / 18, 0.3])
    assert apart.most_freedom == 4.0
    assert apart.answers == pytest.approx(5 * one.answers)
    assert apart.standard_errors()[1].max() <= 4


def test_samples_drawn_apart_have_the_degrees_of_freedom_of_welch():
    rng = np.random.default_rng(9)
    parts = []
    for stratum, number in (("a", 4), ("b", 7)):
        k, images = rng.random((number, 1)), np.arange(number) + 100 * number
        values = (k - k.mean()) / number
        parts.append(influences(values, images=images, annotators=[-1] * number, stratum=stratum))
    variances = [(one.images.change**2).sum() for one in parts]
    welch = sum(variances) ** 2 / (variances[0] ** 2 / 3 + variances[1] ** 2 / 6)
    assert total([(1, one) for one in parts]).standard_errors()[1] == pytest.approx(welch)
    # one sample among them is no stratum of its own: all images are alike
    mixed = total([(1, parts[0]), (1, replace(parts[1], images=replace(parts[1].images, strata=None)))])
    assert mixed.images.strata is None
    assert mixed.standard_errors()[1] == pytest.approx(mixed.images.effective - 1)


def test_two_images_leave_one_degree_of_freedom_however_uneven():
    values = np.array([0.1] * 9 + [-0.9])[:, None]
    found = influences(values, images=[1] * 9 + [2], annotators=[-1] * 10)
    assert found.images.effective < 1.5
    assert found.standard_errors()[1] == 1


def test_a_sum_of_nothing_is_refused():
    with pytest.raises(ValueError, match="no scores to add up"):
        total([])


def test_a_mean_leaves_groups_without_a_score_out():
    k, _, images, annotators = answers(np.random.default_rng(6))
    one = mean_influences(k, images, annotators)
    undefined = influences(np.full(k.shape, np.nan), images=images + 50, annotators=annotators)
    found = total([(np.array([1.0, 0.5]), one), (np.array([0.0, 0.0]), undefined)])
    assert np.isfinite(found.standard_errors()).all()
    assert (found.images.change**2).sum(axis=0) == pytest.approx(
        (one.images.change**2).sum(axis=0) * [1, 0.25]
    )


def test_pairs_count_for_both_of_their_annotators():
    """The derivative with respect to the weight of a person, which each of their pairs has as a factor."""
    values = np.array([[0.3], [-0.2], [-0.1]])
    found = influences(values, images=[1, 1, 2], annotators=[[7, 8], [7, 9], [8, -1]])
    sums = dict(zip(found.annotators.labels.tolist(), found.annotators.change[:, 0].tolist(), strict=True))
    h = dict(zip(found.annotators.labels.tolist(), found.annotators.mass.tolist(), strict=True))
    assert h == pytest.approx({7: 2 / 3, 8: 2 / 3, 9: 1 / 3})
    for who, expected in ((7, 0.1), (8, 0.2), (9, -0.2)):
        assert sums[who] == pytest.approx(expected / (1 - h[who]) * np.sqrt(2 / 3))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"values": [0.5, -0.5]}, r"\(R, M\)"),
        ({"values": np.zeros((0, 1))}, "at least one row"),
        ({"images": [1]}, "There are 2 rows"),
        ({"mass": [1.0]}, "There are 2 rows"),
    ],
)
def test_rows_that_do_not_match_are_refused(given, message):
    right = {"values": [[0.5], [-0.5]], "images": [1, 2], "annotators": [1, 2]}
    with pytest.raises(ValueError, match=message):
        influences(**{**right, **given})


def test_derivatives_of_likelihoods_are_the_numerical_ones():
    rng = np.random.default_rng(7)
    k, n, images, annotators = answers(rng, attributes=3)
    n[rng.random(n.shape) < 0.3] = 0  # not every attribute is shown
    n[:, 2] = 0  # and one never
    k = np.minimum(k, n)
    rows, place = np.unique(np.hstack([k, n]), axis=0, return_inverse=True)
    found = likelihood_influences(
        *(rows[:, :3], rows[:, 3:]), answers=place.ravel(), images=images, annotators=annotators
    )

    def likelihoods(weights):
        top, bottom = weights @ k, weights @ n
        return np.divide(top, bottom, out=np.zeros(3), where=bottom > 0)

    step = 1e-6
    for row in range(len(k)):
        nudge = step * (np.arange(len(k)) == row)
        numerical = (likelihoods(1 + nudge) - likelihoods(1 - nudge)) / (2 * step)
        assert found.derivatives[found.answers[row]] == pytest.approx(numerical, abs=1e-8)
    gradient = np.array([[0.5, 1.0], [0.5, -2.0], [0.0, 0.0]])
    scores = found.of(gradient)
    assert scores.step == pytest.approx([0.5 * found.step.max(), (found.step * [1, 2, 0]).max()])
    whole = found.of(np.eye(3))
    assert scores.images.change == pytest.approx(whole.images.change @ gradient)
