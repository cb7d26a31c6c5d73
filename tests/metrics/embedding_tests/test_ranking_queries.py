"""Rankings of stored vectors against plain loops, and what is refused."""

import dataclasses

import numpy as np
import pytest
from scipy import stats

from metrics.embedding_tests import queries
from metrics.embedding_tests.reference import Reference, Variables
from metrics.embedding_tests.test_file import parse
from tests.metrics.embedding_tests import planted
from tests.metrics.embedding_tests.planted import FILE, RANKING

pytestmark = pytest.mark.django_db


@pytest.fixture
def ranked(db):
    run, vectors, _ = planted.world()
    regions = ("Ohio", "Utah", "Iowa", "Maine", "Texas", "Nevada")
    file = parse(RANKING)
    rng = np.random.default_rng(5)
    prompts = {file.ranking.prompt_of(region): rng.normal(size=planted.DIM) for region in regions}
    texts = planted.texts(run, prompts)
    reference = Reference(
        regions, ("Black", "White"), tuple((float(p), float(1 - p)) for p in rng.random(len(regions)))
    )
    return file, run, reference, vectors, texts


def test_a_ranking_is_that_of_plain_loops(ranked, django_assert_num_queries):
    file, run, reference, vectors, texts = ranked
    with django_assert_num_queries(5):
        found = queries.ranking(file, run, reference)
    with django_assert_num_queries(3):
        assert queries.ranking(file, run, reference) == found
    assert (found.groups, found.top, found.drawn) == (("Black", "White"), 10, 10)
    assert [(row.region, row.group) for row in found.rows[:3]] == [
        ("Ohio", "Black"),
        ("Ohio", "White"),
        ("Utah", "Black"),
    ]
    shares = np.array([row.share for row in found.rows]).reshape(6, 2)
    assert tuple(row.reference for row in found.rows[:2]) == reference.shares[0]
    rng = np.random.default_rng(0)
    for row, region in enumerate(reference.regions):
        prompt = texts[file.ranking.prompt_of(region)]
        scored = [(planted.plain_cosine(v, prompt), "Black") for v in vectors["Black"]]
        white = [(planted.plain_cosine(v, prompt), "White") for v in vectors["White"]]
        counts = []
        for _ in range(300):
            drawn = scored + [white[place] for place in rng.choice(12, 10, replace=False)]
            counts.append(sum(group == "Black" for _, group in sorted(drawn, reverse=True)[:10]) / 10)
        assert shares[row, 0] == pytest.approx(np.mean(counts), abs=0.06)
    rho = np.corrcoef(shares[:, 0], np.array(reference.shares)[:, 0])[0, 1]
    assert found.comparison.groups[0].rho == pytest.approx(rho)


def test_other_variables_correlate_over_the_regions_that_have_them(ranked):
    file, run, reference, _, _ = ranked
    found = queries.ranking(file, run, reference)
    rng = np.random.default_rng(8)
    regions = ("Texas", "Ohio", "Maine", "Utah", "Iowa")
    values = tuple((float(number), 7.0) for number in rng.normal(size=5))
    bias, still = queries.correlate_variables(found, Variables(regions, ("bias", "still"), values))
    assert (bias.variable, still.variable) == ("bias", "still")
    share = {(row.region, row.group): row.share for row in found.rows}
    for group, each in zip(found.groups, bias.groups, strict=True):
        expected = stats.pearsonr([share[region, group] for region in regions], [a for a, _ in values])
        assert each.rho == pytest.approx(expected.statistic)
        assert each.p_value == pytest.approx(expected.pvalue)
        assert each.rho_low == pytest.approx(np.tanh(np.arctanh(each.rho) - stats.norm.ppf(0.975) / 2**0.5))
        assert each.n_regions == 5
    assert all(each.rho != each.rho for each in still.groups)


def test_rankings_that_are_impossible_are_refused(ranked):
    file, run, reference, _, _ = ranked
    with pytest.raises(queries.TestsRefused, match="has no \\[ranking\\]"):
        queries.ranking(parse(FILE), run, reference)
    large = dataclasses.replace(file, ranking=dataclasses.replace(file.ranking, top=21))
    with pytest.raises(queries.TestsRefused, match=r"top is 21, but only 20 images.*smallest group has 10"):
        queries.ranking(large, run, reference)
    wrong = dataclasses.replace(file, ranking=dataclasses.replace(file.ranking, prompts={"Ohoi": "x"}))
    with pytest.raises(queries.TestsRefused, match=r"no region 'Ohoi'. Did you mean 'Ohio'"):
        queries.ranking(wrong, run, reference)
    long = dataclasses.replace(file, ranking=dataclasses.replace(file.ranking, prompt="x" * 480 + "{region}"))
    longest = dataclasses.replace(reference, regions=("District of Columbia and", *reference.regions[1:]))
    with pytest.raises(queries.TestsRefused, match="has 504 characters; at most 500"):
        queries.ranking(
            dataclasses.replace(long, ranking=dataclasses.replace(long.ranking, prompts={})), run, longest
        )
    twice = dataclasses.replace(reference, groups=("White", "race_colour:White"))
    with pytest.raises(queries.TestsRefused, match="name the same group"):
        queries.ranking(file, run, twice)
    unknown = dataclasses.replace(reference, groups=("White", "Hispanic"))
    with pytest.raises(queries.TestsRefused, match=r"no images of a group 'Hispanic'.*or rename the column"):
        queries.ranking(file, run, unknown)


def test_a_file_of_a_ranking_alone_has_no_results(ranked):
    file, run, _, _, _ = ranked
    assert queries.results(file, run, variant="corrected", resamples=0) == []


def test_a_ranking_is_computed_anew_for_another_question(ranked):
    file, run, reference, _, _ = ranked
    rng = np.random.default_rng(6)
    of = {name: f"{name} {{region}}" for name in ("lives in", "is of")}
    new = {text.replace("{region}", region) for text in of.values() for region in reference.regions}
    there = {file.ranking.prompt_of(region) for region in reference.regions}
    planted.texts(run, {text: rng.normal(size=planted.DIM) for text in sorted(new - there)})
    first = queries.ranking(file, run, reference)
    for change in ({"drawings": 3}, {"seed": 1}, {"top": 5}, {"prompts": {}}, {"prompt": of["is of"]}):
        other = dataclasses.replace(file, ranking=dataclasses.replace(file.ranking, **change))
        assert queries.ranking(other, run, reference).rows != first.rows, change
    swapped = dataclasses.replace(reference, shares=reference.shares[::-1])
    assert queries.ranking(file, run, swapped).rows != first.rows
    fewer = dataclasses.replace(file, ranking=dataclasses.replace(file.ranking, top=5))
    assert queries.ranking(fewer, run, reference).top == 5
    planted.images(run, "Black", planted.noisy(2, 1, 7))
    assert queries.ranking(file, run, reference).drawn == 11
