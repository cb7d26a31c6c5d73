"""The alternative annotator test, beside the published procedure written plainly."""

from __future__ import annotations

import math
from contextlib import nullcontext

import numpy as np
import pytest

from annotation.models import Response, TaskKind
from metrics.machine_judges.scores import alternative
from metrics.machine_judges.stats.alternative import (
    Alignment,
    advantage_influences,
    alternative_test,
    compare,
)
from metrics.score_runs.evaluation import evaluate
from metrics.score_runs.metric import NothingToCompute
from tests import factories
from tests.metrics import cast
from tests.metrics.machine_judges.judged import judge


def plain_procedure(people, judged, *, alignment, epsilon, least):
    """Calderon et al. 2025, section 3, with dictionaries and loops. `people`: annotator -> item -> value;
    `judged`: item -> value. Returns (annotator -> p), the winning rate and the advantage."""
    from scipy.stats import ttest_1samp

    def near(answer, others):
        if alignment == Alignment.ACCURACY:
            return sum(answer == other for other in others) / len(others)
        return -math.sqrt(sum((answer - other) ** 2 for other in others) / len(others))

    p_values, advantages = {}, []
    for excluded, own in people.items():
        model_wins, human_wins = [], []
        for item, value in own.items():
            others = [each[item] for who, each in people.items() if who != excluded and item in each]
            if not others or item not in judged:
                continue
            model, human = near(judged[item], others), near(value, others)
            model_wins.append(1 if model >= human else 0)
            human_wins.append(1 if human >= model else 0)
        if len(model_wins) < least:
            continue
        difference = [human - model for human, model in zip(human_wins, model_wins, strict=True)]
        p_values[excluded] = float(ttest_1samp(difference, epsilon, alternative="less").pvalue)
        advantages.append(sum(model_wins) / len(model_wins))
    number, rejected = len(p_values), 0
    harmonic = sum(1 / rank for rank in range(1, number + 1))
    for rank, p in enumerate(sorted(p_values.values()), start=1):
        if p <= rank / number * 0.05 / harmonic:
            rejected = rank
    if not number:
        return {}, math.nan, math.nan
    return p_values, rejected / number, sum(advantages) / number


def drawn(seed: int, *, skill: float):
    """People and a judge with as few labels as make ties, and with missing answers."""
    rng = np.random.default_rng(seed)
    people_number, items = int(rng.integers(3, 7)), int(rng.integers(5, 120))
    labels = rng.choice([[0, 1], [1, 2, 4, 5], [-1, 1, 2, 3, 4]][int(rng.integers(3))], size=items)
    width = int(rng.integers(0, 2)) + 1

    def answers(correct):
        wrong = rng.permutation(labels)
        return np.where(rng.random(items) < correct, labels, wrong)

    people = {}
    for number in range(people_number):
        given = answers(0.5 + 0.08 * number)
        kept = np.flatnonzero(rng.random(items) < 0.4 + 0.3 * width / 2)
        people[100 + number] = {int(item): int(given[item]) for item in kept}
    judged = {item: int(value) for item, value in enumerate(answers(skill).tolist()) if rng.random() < 0.95}
    return people, judged


def as_arrays(people, judged):
    rows = [
        (item, who, value, judged[item])
        for who, own in people.items()
        for item, value in own.items()
        if item in judged
    ]
    return np.array(rows, dtype=np.int64).reshape(-1, 4).T


@pytest.mark.parametrize("alignment", list(Alignment))
@pytest.mark.parametrize("skill", [0.3, 0.9])
def test_the_arrays_give_what_the_published_procedure_gives(alignment, skill):
    seen = set()
    for seed in range(60):
        people, judged = drawn(seed, skill=skill)
        epsilon, least = (0.0, 0.1, 0.25)[seed % 3], (2, 10, 30)[seed % 2]
        items, who, values, model = as_arrays(people, judged)
        compared = compare(items, who, values, model, alignment=alignment)
        found = alternative_test(compared, epsilon=epsilon, least=least)
        with np.errstate(all="ignore"):
            p_values, rate, advantage = plain_procedure(
                people, judged, alignment=alignment, epsilon=epsilon, least=least
            )
        assert len(found.p) == len(p_values)
        # annotators come in the order of their first answer, as the dictionary has them
        expected = np.nan_to_num(list(p_values.values()), nan=1.0)  # all differences are epsilon itself
        np.testing.assert_allclose(found.p, expected, rtol=1e-9, atol=1e-14)
        np.testing.assert_allclose(found.winning_rate, rate)
        np.testing.assert_allclose(found.advantage, advantage)
        seen.add(rate)
    assert len(seen - {math.nan}) > 1  # not everybody wins or loses everywhere


def test_where_all_differences_are_equal_p_is_0_or_1():
    items, who = np.repeat(np.arange(4), 2), np.tile([1, 2], 4)
    for own, model, epsilon, p in (
        ([0] * 8, [0] * 8, 0.1, 0.0),  # always as near: below epsilon
        ([0] * 8, [0] * 8, 0.0, 1.0),  # not below: scipy has no answer, and nothing speaks for the judge
        ([0] * 8, [1] * 8, 0.1, 1.0),  # never as near
    ):
        found = alternative_test(
            compare(items, who, own, model, alignment=Alignment.ACCURACY), epsilon=epsilon, least=2
        )
        assert found.p.tolist() == [p, p]
        assert found.wins.tolist() == [p == 0, p == 0]


def test_items_with_one_answer_and_annotators_with_few_items_are_left_out():
    items, who = [1, 1, 2, 2, 3, 4, 4, 4], [1, 2, 1, 2, 1, 1, 2, 3]
    compared = compare(items, who, [0] * 8, [0] * 8, alignment=Alignment.ACCURACY)
    assert 4 not in compared.rows.tolist()
    found = alternative_test(compared, epsilon=0.1, least=3)
    assert found.numbers.tolist() == [3, 3]
    assert len(found.used) == 6
    none = alternative_test(compared, epsilon=0.1, least=4)
    assert math.isnan(none.winning_rate)
    assert not len(alternative_test(compare([], [], [], [], alignment="accuracy"), epsilon=0.1, least=2).p)


def test_two_answers_of_a_person_about_an_item_are_refused():
    with pytest.raises(ValueError, match="two answers"):
        compare([1, 1], [5, 5], [0, 1], [0, 0], alignment=Alignment.ACCURACY)


@pytest.mark.parametrize(("values", "judged"), [([0], [0, 0]), ([0, 0], [0])])
def test_an_answer_without_a_value_or_the_judges_is_refused(values, judged):
    with pytest.raises(ValueError, match="There are 2 answers, with values of shape"):
        compare([1, 1], [5, 6], values, judged, alignment=Alignment.ACCURACY)


@pytest.mark.parametrize(
    ("epsilon", "least", "message"),
    [(-0.1, 2, "epsilon is -0.1"), (1.1, 2, "epsilon is 1.1"), (0.1, 1, "least is 1"), (1.0, 2, "")],
)
def test_a_test_with_numbers_out_of_range_is_refused(epsilon, least, message):
    compared = compare([1, 1, 2, 2], [5, 6, 5, 6], [0] * 4, [0] * 4, alignment=Alignment.ACCURACY)
    with pytest.raises(ValueError, match=message) if message else nullcontext():
        assert alternative_test(compared, epsilon=epsilon, least=least).wins.all()


def test_every_annotator_weighs_as_much_in_the_interval():
    rng = np.random.default_rng(3)
    items = np.concatenate([np.arange(40), np.arange(40), np.arange(8)])
    who = np.repeat([1, 2, 3], [40, 40, 8])
    values = rng.integers(0, 2, len(items))
    model = rng.integers(0, 2, 40)[items]
    found = alternative_test(
        compare(items, who, values, model, alignment=Alignment.ACCURACY), epsilon=0.1, least=5
    )
    influences = advantage_influences(found, items[found.used])
    assert np.allclose(influences.annotators.mass, 1 / 3)
    own = found.advantages - found.advantage
    # the change without an annotator is that of the mean of the others, with the correction of the jackknife
    assert np.allclose(influences.annotators.change[:, 0], np.sqrt(2 / 3) * own / 3 / (1 - 1 / 3))


NAME = "judge_alternative_annotator"


def scores(study, **parameters):
    found = evaluate(study=study, metric=NAME, variant="corrected", parameters={"judge": "j", **parameters})
    return {row.name: row for row in found.rows}


@pytest.mark.django_db
def test_none_of_the_above_is_no_item_and_a_row_is_about_nobody():
    study = cast.depiction_study()
    judge(study, TaskKind.DEPICTION, lambda option, *_: int(option.attribute_id is None), name="j")
    found = scores(study, least="16")
    assert found["winning_rate"].n == 3
    assert {(row.group, row.attribute, row.part) for row in found.values()} == {("", "", "")}
    assert found["advantage"].low < found["advantage"].value <= found["advantage"].high
    with pytest.raises(NothingToCompute, match="least"):
        scores(study, least="17")  # 4 images with 4 attributes


@pytest.mark.django_db
def test_unsure_has_no_place_on_a_scale_of_numbers():
    people = [factories.annotator() for _ in range(3)]
    rated = {"hat": [5, 4, 3], "kind": [1, 1, 1], "poor": [3, 3, 2], "old": [4, 4, 4], "tall": [5, 5, 4]}
    study = cast.visual_study(rated, people=people)
    answers = {"hat": 5, "kind": 1, "poor": 2, "old": 3, "tall": 5}
    judge(study, TaskKind.VISUAL_NATURE, lambda option, *_: answers[option.attribute.text], name="j")
    # of the third person only 'kind' and 'tall' are left, of 'hat' two answers, of 'poor' one, of 'old' none
    found = scores(study, least="2")
    assert found["winning_rate"].n == 3
    with pytest.raises(NothingToCompute, match="answered too: 2; 3 are needed"):
        scores(study, least="3")


def test_unsure_is_one_of_the_labels_where_no_label_is_more_than_another():
    assert alternative._sure_values(TaskKind.PREVALENCE) == [1, 0, -1]
    assert alternative._sure_values(TaskKind.OFFENSIVENESS) == [-1, 1, 2, 3, 4]


@pytest.mark.django_db
def test_on_a_scale_of_numbers_a_near_answer_is_better_than_a_far_one():
    """The judge gives nobody's answer, but one between those of people."""
    answers = ([5, 5, 2], [2, 5, 5], [5, 2, 5])
    ratings = {f"word {place}": answers[place % 3] for place in range(6)}
    study = cast.visual_study(ratings, people=[factories.annotator() for _ in range(3)])
    judge(study, TaskKind.VISUAL_NATURE, lambda *_: 4, name="j")
    assert scores(study, least="2")["advantage"].value == 1


@pytest.mark.django_db
def test_it_needs_three_people_who_are_identified():
    study = cast.depiction_study()
    judge(study, TaskKind.DEPICTION, lambda option, *_: int(option.attribute_id is None), name="j")
    one = Response.objects.order_by("pk").first().annotator_id
    Response.objects.filter(annotator=one).update(annotator=None)
    with pytest.raises(NothingToCompute, match="answered too: 2; 3 are needed"):
        scores(study, least="2")


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("epsilon", "x"),
        ("epsilon", "nan"),
        ("epsilon", "1.5"),
        ("least", "1"),
        ("least", "1000001"),
        ("least", "²"),
        ("least", "-3"),
    ],
)
def test_a_parameter_that_is_no_number_is_refused_by_name(parameter, value):
    study = cast.depiction_study()
    judge(study, TaskKind.DEPICTION, lambda *_: 0, name="j")
    with pytest.raises(ValueError, match=f"{parameter}: '{value}'"):
        scores(study, **{parameter: value})
