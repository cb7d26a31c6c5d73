"""The scores of a league of studies by their answers: means, places, groups and attributes."""

import numpy as np
import pytest

from annotation.models import Response, Study
from metrics.core.stats.scales import Scale
from metrics.league import stats
from metrics.league.data.answers import read_answers
from metrics.league.kinds import KINDS
from metrics.score_runs import registry
from metrics.score_runs.evaluation import evaluate, inputs_digest
from tests import factories
from tests.metrics.league import answered
from tests.metrics.league.answered import GROUPS, LEVELS, METRICS, OFFENSIVENESS, PREVALENCE, VISUAL_NATURE

pytestmark = pytest.mark.django_db


def league(kind, study, *others, intervals="clustered"):
    found = evaluate(
        study=Study.objects.get(name=study),
        metric=METRICS[kind][0],
        variant="corrected",
        intervals=intervals,
        parameters={"studies": ",".join(others)},
    )
    return {(row.group or row.attribute, row.part, row.name): row for row in found.rows}


def of_unit(row):
    return row.value, pytest.approx(row.low), pytest.approx(row.high), row.n


@pytest.mark.parametrize("kind", METRICS)
def test_three_studies_that_differ_have_one_place_each(kind):
    answered.three(kind)
    found, score = league(kind, "a", "b", "c"), METRICS[kind][1]
    units = answered.TEXTS if kind == VISUAL_NATURE else GROUPS
    answers = 3 * len(answered.TEXTS) * (1 if kind == VISUAL_NATURE else len(GROUPS))
    for place, name in enumerate("abc", start=1):
        part = f"study: {name}"
        rank, mean = found["", part, "rank"], found["", part, score]
        assert (rank.value, rank.low, rank.high, rank.n) == (place, place, place, 3)
        assert mean.low <= mean.value <= mean.high
        assert mean.low < mean.high
        assert mean.n == found["", part, "units"].value == len(units)
        assert mean.value == pytest.approx(np.mean([found[unit, part, score].value for unit in units]))
        assert (found["", part, "answers"].value, found["", part, "people"].value) == (answers, 3)
    assert found["", "", "p"].value < 0.01
    assert (found["", "", "people_shared"].value, found["", "", "people_shared"].n) == (3, 3)
    for unit in units:
        values = [found[unit, f"study: {name}", score].value for name in "abc"]
        assert found[unit, "", "spread"].value == pytest.approx(max(values) - min(values))
        assert found[unit, "", "spread_p"].value <= found[unit, "", "spread_q"].value


@pytest.mark.parametrize(
    ("kind", "metric", "own", "part"),
    [
        (PREVALENCE, "prevalence", "share", "pool: out-region, t=2"),
        (OFFENSIVENESS, "rated_offensiveness", "mean", ""),
        (LEVELS, "bias_levels", "mean", ""),
        (VISUAL_NATURE, "visual_nature", "mean_score", ""),
    ],
)
def test_numbers_are_those_of_the_studies_own_metrics(kind, metric, own, part):
    studies = answered.three(kind, chances=(0.8, 0.5, 0.3))
    found, score = league(kind, "a", "b", "c"), METRICS[kind][1]
    for study in studies:
        rows = evaluate(study=study, metric=metric, variant="corrected", intervals="clustered").rows
        rows = [row for row in rows if row.name == own and row.part == part and (row.group or row.attribute)]
        assert rows
        for row in rows:
            assert of_unit(found[row.group or row.attribute, f"study: {study.name}", score]) == of_unit(row)


def test_a_share_is_of_the_pool_and_threshold_of_each_study():
    who = [*answered.people(2), factories.annotator(profile={"residence": "Latin America"})]
    for name in "ab":
        answered.study(name, PREVALENCE, 1.0, who, groups=GROUPS[:1])
    Study.objects.filter(name="b").update(stereotype_threshold=3)
    found = league(PREVALENCE, "a", "b")
    assert [found["", f"study: {name}", "share"].value for name in "ab"] == [1, 0]
    assert [found["", f"study: {name}", "answers"].value for name in "ab"] == [12, 12]
    Study.objects.filter(name="b").update(stereotype_threshold=1, stereotype_pool="in")
    found = league(PREVALENCE, "a", "b")
    # a single annotator of that pool
    assert (found["Mexican", "", "left_out"].value, found["Mexican", "", "left_out"].n) == (2, 2)
    assert found["", "study: b", "answers"].value == 6


def test_people_and_attributes_in_several_studies_are_the_same():
    """People who differ much, and attributes too, make no difference between studies that share them."""
    levels = [1, 3, 5]
    same, other = answered.people(), answered.people()

    def made(name, who, group):
        task = factories.task(factories.study(name), kind=VISUAL_NATURE)
        for number, text in enumerate(answered.TEXTS):
            unit = factories.attribute_unit(task, text if group else f"{text} {name}")
            for value, one in zip(levels, who, strict=True):
                shift = (number + len(name)) % 2 if value < 5 else 0
                factories.response(unit, values=[value + shift], who=one)

    made("a", same, True)
    made("bb", same, True)
    made("cc", other, True)
    with_same, with_others = league(VISUAL_NATURE, "a", "bb"), league(VISUAL_NATURE, "a", "cc")
    assert with_same["", "study: bb", "mean_score"].value == with_others["", "study: cc", "mean_score"].value
    assert with_same["", "", "p"].value < with_others["", "", "p"].value
    assert with_same["poor", "", "spread_p"].value < with_others["poor", "", "spread_p"].value


@pytest.mark.parametrize("kind", [PREVALENCE, OFFENSIVENESS, LEVELS])
def test_the_same_associations_and_people_are_the_same_clusters(kind):
    """Also of two sources, and where a study asks about more."""
    who = answered.people()
    for name, texts in (("a", ("wise", *answered.TEXTS)), ("b", answered.TEXTS)):
        answered.study(name, kind, 0.5, who, texts=texts, stereotype_source=factories.source(name))
    one, two = read_answers(KINDS[kind], Study.objects.filter(name__in="ab"))
    labels = []
    for unit in one.units:
        first, second = (each.units[unit].influences for each in (one, two))
        assert first.annotators.labels.tolist() == sorted(person.pk for person in who)
        assert set(second.images.labels.tolist()) < set(first.images.labels.tolist())
        assert len(first.images.labels) == len(answered.TEXTS) + 1
        labels += first.images.labels.tolist()
    # an attribute is rated alike in all groups
    assert len(set(labels)) == (7 if kind == OFFENSIVENESS else 7 * len(GROUPS))


def test_what_is_not_in_all_studies_is_left_out_of_the_means():
    who = answered.people()
    answered.study("a", LEVELS, 0.9, who, groups=GROUPS[:2])
    answered.study("b", LEVELS, 0.9, who, groups=GROUPS[1:], texts=(*answered.TEXTS[:3], "wise"))
    found = league(LEVELS, "a", "b")
    assert {unit for unit, _, name in found if name == "left_out"} == {"Mexican", "Chilean"}
    assert (found["Mexican", "", "left_out"].value, found["Mexican", "", "left_out"].n) == (1, 2)
    assert found["", "study: a", "mean"].value == found["Peruvian", "study: a", "mean"].value
    shared = found["Peruvian", "", "attributes_shared"]
    assert (shared.value, shared.n) == (3, 7)


def test_attributes_are_compared_if_a_study_has_no_groups():
    who = answered.people()
    answered.study("a", OFFENSIVENESS, 0.9, who)
    answered.study("b", OFFENSIVENESS, 0.1, who, groups=(), texts=("poor", "kind", "wise"))
    found = league(OFFENSIVENESS, "a", "b")
    assert found["", "study: a", "mean"].n == 2
    own = evaluate(
        study=Study.objects.get(name="a"), metric="rated_offensiveness", variant="corrected", resamples=0
    ).rows
    of = {row.attribute: row.value for row in own if row.name == "attribute"}
    assert found["", "study: a", "mean"].value == pytest.approx((of["poor"] + of["kind"]) / 2)
    assert not any(unit in GROUPS for unit, _, _ in found)


def test_an_attribute_counts_once_whatever_its_number_of_ratings():
    task = factories.task(factories.study("a"), kind=VISUAL_NATURE)
    for text, values in (("poor", [5]), ("kind", [1, 1, 1])):
        unit = factories.attribute_unit(task, text)
        for value in values:
            factories.response(unit, values=[value])
    mean = league(VISUAL_NATURE, "a")["", "study: a", "mean_score"]
    assert (mean.value, mean.n) == (pytest.approx(3), 2)


@pytest.mark.parametrize("times", [1, 2])
def test_the_influences_of_a_mean_of_attributes_are_those_of_their_weights(times):
    """With as many ratings of each attribute those of a plain mean; of one with more, each weighs less."""
    values = np.array([1.0, 3.0, 5.0, 4.0] + [2.0] * 2 * (times - 1))
    items = np.array([9, 9, 7, 7] + [9] * 2 * (times - 1))
    who, scale = np.arange(len(values)), Scale(1, 5)
    found = stats.mean_of_items(values, items, who, scale).influences
    order = np.argsort(items, kind="stable")
    weights = np.where(items == 9, 1 / (4 * times), 1 / 4)
    assert found.images.mass.tolist() == [0.5, 0.5]
    assert (found.step, found.least) == (4 / 4, 1 / (4 * times))
    assert found.annotators.mass == pytest.approx(weights)
    if times == 1:
        plain = stats.mean_rating(values[order], items[order], who[order], scale).influences
        assert found.images.change == pytest.approx(plain.images.change)
        assert (found.step, found.least) == (plain.step, plain.least)


@pytest.mark.parametrize("kind", METRICS)
def test_a_study_without_answers_and_a_single_one_have_no_test(kind):
    answered.study("a", kind, 0.5, answered.people())
    factories.task(factories.study("b"), kind=kind)
    found = league(kind, "a", "b")
    assert found["", "study: a", METRICS[kind][1]].value is not None
    assert not any(part == "study: b" for _, part, _ in found)
    assert not {name for _, _, name in found} & {"rank", "p", "spread", "spread_q"}


def test_without_intervals_there_are_places_alone():
    answered.three(LEVELS)
    found = league(LEVELS, "a", "b", "c", intervals="none")
    assert found["", "study: a", "rank"].value == 1
    assert all(row.low is None and row.high is None for row in found.values())
    assert not {name for _, _, name in found} & {"p", "spread_q"}


@pytest.mark.parametrize("kind", METRICS)
def test_the_digest_changes_with_every_study(kind):
    _, b, _ = answered.three(kind)
    entry = registry.get(METRICS[kind][0])

    def digest():
        return inputs_digest(Study.objects.get(name="a"), entry, {"studies": "b,c"})

    seen = {digest()}
    response = Response.objects.filter(unit__task__study=b).first()
    Response.objects.filter(pk=response.pk).update(current=False)
    seen.add(digest())
    Study.objects.filter(name="c").update(stereotype_threshold=3)
    seen.add(digest())
    assert len(seen) == (3 if kind == PREVALENCE else 2)
