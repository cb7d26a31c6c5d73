"""Influences on pull (PROTOCOL §9, §10), and the clustered intervals from them."""

import numpy as np
import pytest

from metrics.core.stats import influence, spread
from metrics.pull import scores
from metrics.pull.stats.influences import SCALES, _part, _Set, mean_influences, pull_influences
from metrics.pull.stats.paired import ImageVectors
from metrics.pull.stats.pull import COLUMNS, check_vectors, columns_of, weighted_means
from metrics.score_runs.rows import Inputs
from tests import factories
from tests.metrics import pulled

NAMES = ("default", "stereotypical", "non_stereotypical")
WITHIN = [COLUMNS.index(name) for name in ("s_d_d", "s_s_s", "s_ns_ns")]


def units(vectors):
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def image_sets(seed=0, sizes=((1, 6), (4, 3), (5, 2)), dim=5):
    """Sets of (prompts, images of each), with a direction that all images lean to."""
    rng = np.random.default_rng(seed)
    found = []
    for place, (prompts, each) in enumerate(sizes):
        label = np.repeat(np.arange(prompts), each)
        vectors = rng.normal(size=(prompts, dim))[label] + rng.normal(size=(len(label), dim)) + 1
        found.append(ImageVectors(units(vectors), label, 100 * place + np.arange(len(label))))
    return found


def values(sets, weights):
    return columns_of(
        *(weighted_means(one, by[None]) for one, by in zip(check_vectors(
            **{name: each.vectors for name, each in zip(NAMES, sets, strict=True)}
        ), weights, strict=True))
    )[0]  # fmt: skip


def changes(sets, place):
    """Those without each cluster of a set, before what pairs count twice is taken out."""
    together = [_Set(each.vectors, each) for each in sets]
    return _part(place, "g", together)[1].images.change


@pytest.mark.parametrize("place", range(3))
def test_influences_are_numerical_derivatives_by_the_weights_of_each_prompt(place):
    """Of similarities between sets, and within the default set, whose images are the clusters."""
    sets = image_sets()
    own = sets[place]
    clusters = own.images if place == 0 else own.prompts
    found, step = [], 1e-6
    for label in np.unique(clusters):
        ends = []
        for sign in (1, -1):
            weights = [np.ones(len(each.vectors)) for each in sets]
            weights[place][clusters == label] += sign * step
            ends.append(values(sets, weights))
        found.append((ends[0] - ends[1]) / (2 * step))
    mass = np.array([(clusters == label).mean() for label in np.unique(clusters)])
    number = len(mass)
    expected = np.sqrt((number - 1) / number) * np.array(found) / (1 - mass)[:, None]
    change = changes(sets, place)
    columns = [index for index in range(len(COLUMNS)) if index not in WITHIN or (place, index) == (0, 5)]
    np.testing.assert_allclose(change[:, columns], expected[:, columns], atol=1e-8)


def test_pairs_of_one_prompt_count_once_in_the_influence_on_the_similarity_within():
    """Against plain loops over pairs of prompts: those of two prompts depend on both."""
    own = image_sets(3)[1]
    prompts, n = np.unique(own.prompts), len(own.vectors)
    kinds = {True: [], False: []}  # by whether they are of one prompt: (prompts, cosine)
    for i in range(n):
        for j in range(n):
            if i != j:
                one, other = own.prompts[i], own.prompts[j]
                kinds[one == other].append((one, other, own.vectors[i] @ own.vectors[j]))
    d = np.zeros(len(prompts))
    for same, pairs in kinds.items():
        mean = np.mean([cosine for *_, cosine in pairs])
        for one, other, cosine in pairs:
            d[one] += (cosine - mean) / (n * (n - 1))
            if not same:
                d[other] += (cosine - mean) / (n * (n - 1))
    change = changes(image_sets(3), 1)
    expected = np.sqrt(4 / 3) * d
    np.testing.assert_allclose(change[:, COLUMNS.index("s_s_s")], expected, atol=1e-9)


def test_the_variance_is_that_of_many_studies_also_where_images_share_no_direction():
    """Nothing but what pairs have beyond both of their images: counted twice, it would be doubled."""
    drawn, errors = [], []
    for seed in range(300):
        rng = np.random.default_rng(seed)
        sets = [ImageVectors(units(rng.normal(size=(12, 6))), np.arange(12), np.arange(12)) for _ in range(3)]
        drawn.append(values(sets, [np.ones(12)] * 3))
        errors.append(pull_influences("g", sets).standard_errors()[0])
    ratio = np.mean(np.square(errors), axis=0) / np.var(drawn, axis=0)
    assert (ratio > 0.8).all()
    assert (ratio < 1.6).all()


def test_sets_are_strata_and_scores_of_one_set_have_its_degrees_of_freedom():
    freedom = dict(zip(COLUMNS, pull_influences("g", image_sets()).standard_errors()[1], strict=True))
    assert [freedom[name] for name in ("s_d_d", "s_s_s", "s_ns_ns")] == pytest.approx([5, 3, 4])
    assert 3 <= freedom["s_s_ns"] <= 3 + 4


def test_a_set_of_one_image_leaves_only_what_does_not_need_it_an_interval():
    sets = image_sets(sizes=((1, 1), (4, 3), (5, 2)))
    found = spread.intervals(pull_influences("g", sets), np.full(len(COLUMNS), 0.5), SCALES)
    with_interval = {name for name, one in zip(COLUMNS, found, strict=True) if one.low == one.low}
    assert with_interval == {"s_s_ns", "s_s_s", "s_ns_ns"}


def test_images_that_are_all_equal_do_not_make_a_similarity_certain():
    sets = [ImageVectors(np.tile([1.0, 0.0], (15, 1)), np.zeros(15), np.arange(15))] * 3
    for name, one in zip(COLUMNS, spread.intervals(
        pull_influences("g", sets), values(sets, [np.ones(15)] * 3), SCALES
    ), strict=True):  # fmt: skip
        assert one.high - one.low > 0.1, name


def test_an_empty_set_is_refused():
    with pytest.raises(ValueError, match="stereotypical holds no image"):
        pull_influences("g", image_sets(sizes=((1, 6), (0, 1), (5, 2))))


def test_two_models_with_the_same_prompts_are_compared_prompt_by_prompt():
    """What all images of a prompt share cancels; the same difference of other prompts is less sure."""
    first = image_sets(1)
    second = [
        ImageVectors(units(each.vectors + 0.05), each.prompts, each.images + 1000 * (place > 0))
        for place, each in enumerate(first)
    ]
    others = [ImageVectors(each.vectors, each.prompts + 50, each.images + 5000) for each in second]
    errors = [
        influence.total([(1.0, pull_influences("g", first)), (-1.0, pull_influences("g", each))])
        .standard_errors()[0][COLUMNS.index("x")]
        for each in (second, others)
    ]  # fmt: skip
    assert errors[0] < 0.4 * errors[1]


def test_a_mean_over_groups_has_the_standard_error_of_their_values_and_one_group_has_none():
    groups = np.random.default_rng(4).normal(size=(5, 2))
    found = mean_influences(list("abcde"), groups)
    errors, freedom = found.standard_errors()
    np.testing.assert_allclose(errors, groups.std(axis=0, ddof=1) / np.sqrt(5))
    assert freedom.tolist() == [4, 4]
    assert np.isnan(mean_influences(["a"], groups[:1]).standard_errors()[0]).all()


def test_two_regions_are_compared_as_two_samples():
    """Welch's standard error and degrees of freedom."""
    rng = np.random.default_rng(5)
    one, other = rng.normal(size=(4, 1)), 3 * rng.normal(size=(7, 1))
    apart = influence.total(
        [(1.0, mean_influences(list("abcd"), one)), (-1.0, mean_influences(list("tuvwxyz"), other))]
    )
    errors, freedom = apart.standard_errors()
    a, b = one.var(ddof=1) / 4, other.var(ddof=1) / 7
    assert errors[0] == pytest.approx(np.sqrt(a + b))
    assert freedom[0] == pytest.approx((a + b) ** 2 / (a**2 / 3 + b**2 / 6))


@pytest.mark.django_db
class TestScores:
    def rows(self, metric, **parameters):
        study = factories.study(name="pulls")
        runs = [pulled.embedding_run(study, image_set=name) for name in ("first", "second")]
        for number, run in enumerate(runs):
            for place in range(6):
                pulled.group_images(
                    run, f"Group {place}", region="South Asia" if place < 4 else "", seed=10 * number + place,
                    towards=0.4 + 0.1 * place, attributes=4,
                )  # fmt: skip
        chosen = {"run": "newest"}
        if metric == "pull_difference":
            chosen = {"by": "run", "first": str(runs[0].pk), "second": str(runs[1].pk), "against": ""}
        compute = getattr(scores, f"{metric}_scores")
        return compute(Inputs(study, clustered=True, parameters=chosen))

    @pytest.mark.parametrize("metric", ["pull", "pull_difference", "pull_contrast"])
    def test_every_number_has_an_interval_that_holds_it_and_was_not_resampled(self, metric):
        rows = self.rows(metric)
        with_interval = [row for row in rows if row.low is not None]
        assert all(row.low <= row.value <= row.high and row.low < row.high for row in with_interval)
        assert {row.infinite for row in rows} | {row.undefined for row in rows} == {None}
        without = {(row.name, row.group == "") for row in rows if row.low is None}
        others = {("pull", False)} if metric == "pull" else set()
        tests = {(f"{name}_{kind}", whole) for name in scores.COMPARED for kind in "pq" for whole in (0, 1)}
        assert without == others | (set() if metric == "pull" else tests)

    def test_the_share_of_groups_that_are_pulled_stays_a_share(self):
        (share,) = [row for row in self.rows("pull") if row.name == "pull" and not row.group and not row.part]
        assert 0 <= share.low < share.value <= share.high <= 1
