"""Scores from a judge's ratings, beside those from people's."""

from __future__ import annotations

import numpy as np
import pytest

from annotation.models import Response, TaskKind
from generation.models import Answer
from metrics.core.stats.differences import false_discovery
from metrics.core.stats.means import mean_influences
from metrics.core.stats.scales import Scale
from metrics.machine_judges.stats.weighted_means import weighted_mean
from metrics.score_runs.evaluation import evaluate
from metrics.score_runs.metric import NothingToCompute
from tests import factories
from tests.metrics import cast, votes_cast
from tests.metrics.machine_judges.judged import answer, judge, planned
from tests.metrics.machine_judges.test_judged_scores import (
    OF_DIFFERENCE,
    OF_JUDGE,
    OF_PEOPLE,
    numbers,
    scores,
)

pytestmark = pytest.mark.django_db
RATED = {
    "hat": [5, 5, 4],
    "kind": [1, 2, 1],
    "poor": [4, 3, 2],
    "sombrero": [4, 4, 4],
    "tall": [5, 4, 2],
    "warm": [3, 1, 4],
}


def of_people(study, metric, name):
    rows = evaluate(study=study, metric=metric, variant="corrected").rows
    return [row for row in rows if row.name == name]


def near(row):
    """The value, n and interval of a row, without rounding errors."""
    return [None if each is None else round(each, 9) for each in (row.value, row.n, row.low, row.high)]


def judged_by_text(study, task, said, **planning):
    return judge(study, task, lambda option, *_: said[option.attribute.text], **planning)


@pytest.mark.parametrize("rule", [{}, {"visual_rule": 2}, {"visual_mean": 3.5}])
def test_people_have_the_visual_nature_of_the_study_and_the_judge_its_own(rule):
    people = [factories.annotator() for _ in range(3)]
    study = cast.visual_study(RATED, people=people, **rule)
    said = {"hat": 5, "kind": 1, "poor": 4, "sombrero": 2, "tall": 3, "warm": 1}
    found = scores(study, judged_by_text(study, TaskKind.VISUAL_NATURE, said))
    known = {row.attribute: numbers(row) for row in of_people(study, "visual_nature", "mean_score")}
    ours = {
        key[2]: numbers(row)
        for key, row in found.items()
        if key[0] == "visual_mean" and key[2] and key[3] == OF_PEOPLE
    }
    assert ours == known
    rules = evaluate(study=study, metric="visual_rules", variant="corrected").rows
    used = next(row.part for row in rules if row.name == "in_use" and row.value)
    share = next(row for row in rules if row.name == "share" and row.part == used)
    ours = found["visual", "", "", OF_PEOPLE]
    assert near(ours) == near(share)
    assert found["visual", "", "", OF_JUDGE].value == pytest.approx(2 / 6)
    assert found["visual_mean", "", "", OF_JUDGE].value == pytest.approx(16 / 6)
    mean = found["visual_mean", "", "", OF_PEOPLE]
    assert mean.value == pytest.approx(np.mean([np.mean(each) for each in RATED.values()]))
    assert mean.low < mean.value < mean.high
    hat = found["visual_mean", "", "hat", OF_DIFFERENCE]
    assert hat.value == pytest.approx(1 / 3)
    assert hat.low == 5 - known["hat"][4]
    assert ("visual_mean_p", "", "hat", OF_DIFFERENCE) not in found
    assert found["visual_mean_p", "", "", OF_DIFFERENCE].value is not None


@pytest.mark.parametrize("rule", [{}, {"visual_rule": 3}])
def test_a_judge_that_rates_as_people_who_all_agree_differs_in_nothing(rule):
    said = {"hat": 5, "kind": 1, "poor": 4, "sombrero": 3}
    study = cast.visual_study({text: [value] * 3 for text, value in said.items()}, **rule)
    found = scores(study, judged_by_text(study, TaskKind.VISUAL_NATURE, said))
    assert found["visual", "", "", OF_JUDGE].value == 0.5
    apart = {
        row.value for key, row in found.items() if key[0][-2:] not in ("_p", "_q") and key[3] == OF_DIFFERENCE
    }
    assert apart == {0.0}


def test_an_item_without_an_answer_of_the_judge_counts_on_neither_side():
    study = cast.visual_study(RATED)
    run = judged_by_text(study, TaskKind.VISUAL_NATURE, dict.fromkeys(RATED, 4))
    lost = study.tasks.get().units.get(attribute__text="kind")
    Answer.objects.filter(run=run, job__key=f"{lost.position}.base").update(text="maybe")
    found = scores(study, run)
    Response.objects.filter(unit=lost).delete()
    known = {row.attribute: row.value for row in of_people(study, "visual_nature", "mean_score")}
    assert "kind" not in known
    assert {
        key[2]: row.value
        for key, row in found.items()
        if key[0] == "visual_mean" and key[2] and key[3] == OF_PEOPLE
    } == known
    assert found["visual", "", "", OF_JUDGE].n == 5


def test_shares_of_known_stereotypes_count_every_answer_as_the_study_does():
    study = votes_cast.prevalence_study(
        {
            ("Mexican", "poor"): {"inside": [1, 1, -1], "elsewhere": [0]},
            ("Mexican", "tall"): {"inside": [0, 1], "outside": [1]},
            ("Peruvian", "kind"): {"inside": [0, 0], "silent": [1]},
        }
    )
    said = {"poor": 1, "tall": -1, "kind": 1}
    found = scores(study, judged_by_text(study, TaskKind.PREVALENCE, said))
    rows = of_people(study, "prevalence", "stereotypical")
    for group in ("Mexican", "Peruvian", ""):
        counted = [row for row in rows if row.attribute and group in ("", row.group)]
        share = sum(row.k for row in counted) / sum(row.n for row in counted)
        ours = found["stereotypical", group, "", OF_PEOPLE]
        assert (ours.value, ours.n) == (pytest.approx(share), sum(row.n for row in counted))
    # of its answers each counts for every answer of people: 4 of poor, 3 of tall, 3 of kind
    assert found["stereotypical", "Mexican", "", OF_JUDGE].value == pytest.approx(4 / 7)
    assert found["stereotypical", "", "", OF_JUDGE].value == pytest.approx(7 / 10)
    assert found["stereotypical", "Peruvian", "", OF_DIFFERENCE].value == pytest.approx(2 / 3)


def test_people_have_the_offensiveness_of_the_study_with_the_groups_of_attributes():
    study = votes_cast.rating_study(
        {"tall": [4, 3, 0], "wet": [-1, 1, 2]},
        {("Mexican", "poor"): [0, 0, 1], ("Peruvian", "poor"): [2, 1, 2], ("Nepali", "kind"): [-1, -1, 2]},
    )
    said = {"tall": 3, "wet": 4, "poor": -1, "kind": 0}
    found = scores(study, judged_by_text(study, TaskKind.OFFENSIVENESS, said))
    (whole,) = of_people(study, "rated_offensiveness", "mean_attribute")
    known = [row for row in of_people(study, "rated_offensiveness", "mean") if row.group]
    assert {
        key[1]: near(row) for key, row in found.items() if key[0] == "offence" and key[3] == OF_PEOPLE
    } == {row.group: near(row) for row in [whole, *known]}
    assert {
        key[1]: near(row)[0] for key, row in found.items() if key[0] == "offence" and key[3] == OF_JUDGE
    } == {"Mexican": 1.0, "Peruvian": -1.0, "Nepali": 0.0, "Atlantean": 4.0, "": 1.0}
    groups = ("Atlantean", "Mexican", "Nepali", "Peruvian")
    p, q = ([found[f"offence_{one}", group, "", OF_DIFFERENCE].value for group in groups] for one in "pq")
    adjusted = false_discovery([np.nan if one is None else one for one in p]).tolist()
    assert [one for one in q if one is not None] == [one for one in adjusted if one == one]


def test_levels_are_means_of_associations_without_unsure_ones():
    study = votes_cast.bias_study(
        {
            ("Mexican", "poor"): [5, 4, 0],
            ("Mexican", "tall"): [1, 1, 1],
            ("Nepali", "kind"): [2, 3, 4],
            ("Nepali", "wet"): [0, 0, 0],
            ("Nepali", "odd"): [5, 5, 5],
        }
    )
    said = {"poor": 4, "tall": 2, "kind": 3, "wet": 5, "odd": 0}
    found = scores(study, judged_by_text(study, TaskKind.ASSOCIATION, said))
    expected = {"Mexican": (3.0, 2.75), "Nepali": (3.0, 3.0), "": (3.0, (4.5 + 1 + 3) / 3)}
    for group, (of_judge, people) in expected.items():
        assert found["level", group, "", OF_JUDGE].value == pytest.approx(of_judge)
        assert found["level", group, "", OF_PEOPLE].value == pytest.approx(people)
        assert found["level", group, "", OF_DIFFERENCE].value == pytest.approx(of_judge - people)
    assert found["level", "Mexican", "", OF_PEOPLE].n == 5


def test_a_bias_about_one_group_is_found_there_and_not_elsewhere():
    texts = "abcdefgh"
    people = {
        (group, f"{group.lower()} {text}"): [2, 3, 2 + place % 3]
        for group in ("Mexican", "Nepali")
        for place, text in enumerate(texts)
    }
    study = votes_cast.bias_study(people)

    def said(option, *_):
        usual = 2 + texts.index(option.attribute.text[-1]) % 2
        return usual + 2 * (option.unit.association.group.name == "Nepali")

    found = scores(study, judge(study, TaskKind.ASSOCIATION, said))
    assert found["level", "Nepali", "", OF_DIFFERENCE].low > 1
    assert (
        found["level", "Mexican", "", OF_DIFFERENCE].low
        < 0
        < found["level", "Mexican", "", OF_DIFFERENCE].high
    )


def test_with_equal_weights_a_mean_has_the_influences_of_a_plain_one():
    values, items, people = [1, 5, 2, 4, 4], [1, 1, 2, 3, 3], [1, 2, 1, 2, 3]
    mean, found = weighted_mean(values, np.ones(5), items, people, Scale(1, 5))
    (plain,) = mean_influences(values, np.ones((5, 1), dtype=bool), items, people, scale=Scale(1, 5))
    assert mean == 3.2
    assert found.standard_errors()[0] == pytest.approx(plain.standard_errors()[0])
    assert found.step == plain.step
    _, alone = weighted_mean([1, 2, 3], [1, 1, 4], [1, 2, 3], [-1] * 3, Scale(1, 5), strata=[0, 0, 1])
    assert (alone.least, alone.step) == pytest.approx((2 / 3, 4 * 2 / 3))  # of the stratum that counts most
    assert np.isnan(alone.images.change[:, 0]).tolist() == [False, False, True]
    with pytest.raises(ValueError, match="no rating"):
        weighted_mean([], [], [], [], Scale(1, 5))


UNEVEN = {"poor": [1] * 9, "tall": [-1], "kind": [0] * 2, "warm": [1] * 3}
"""Each attribute with the answer of everybody, who are more about some than about others."""


@pytest.mark.parametrize("task", [TaskKind.PREVALENCE, TaskKind.OFFENSIVENESS, TaskKind.ASSOCIATION])
def test_a_judge_that_agrees_with_everybody_differs_in_nothing_however_many_rated_an_item(task):
    said = {
        text: 1 + abs(values[0]) if task != TaskKind.PREVALENCE else values[0]
        for text, values in UNEVEN.items()
    }
    made = factories.task(factories.study(), kind=task, strata=("any",) * 9)
    people = [factories.annotator() for _ in range(9)]
    for text, answers in UNEVEN.items():
        unit = votes_cast.association_unit(made, "Mexican", text)
        for who in people[: len(answers)]:
            factories.response(unit, values=[said[text]], who=who)
    found = scores(made.study, judged_by_text(made.study, task, said))
    apart = {key: row for key, row in found.items() if key[3] == OF_DIFFERENCE}
    assert {key[1] for key in apart} == {"Mexican", ""}
    for key, row in apart.items():
        assert row.value == pytest.approx(0, abs=1e-12) or key[0][-2:] in ("_p", "_q")
    assert all(
        row.value is None or row.value > 0.999 for key, row in apart.items() if key[0][-2:] in ("_p", "_q")
    )
    name = next(key[0] for key in apart)
    assert (found[name, "", "", OF_JUDGE].n, found[name, "", "", OF_PEOPLE].n) == (4, 15)


def test_visual_attributes_of_several_units_weigh_as_many_as_rated_them():
    """An attribute that is asked about twice, of which three people rated the one and one the other."""
    study = cast.visual_study({"hat": [5, 5, 5], "kind": [1, 1, 1]})
    again = factories.attribute_unit(study.tasks.get(), "hat", repeat=1)
    factories.response(again, values=[1])
    found = scores(
        study,
        judge(
            study,
            TaskKind.VISUAL_NATURE,
            lambda option, *_: 1 if option.unit == again or option.attribute.text == "kind" else 5,
        ),
    )
    for about in ("hat", ""):
        assert (
            found["visual_mean", "", about, OF_JUDGE].value
            == found["visual_mean", "", about, OF_PEOPLE].value
        )
        assert found["visual_mean", "", about, OF_DIFFERENCE].value == 0


@pytest.mark.parametrize("task", [TaskKind.VISUAL_NATURE, TaskKind.DEPICTION])
def test_a_judge_of_whom_nothing_can_be_read_has_no_scores(task):
    study = cast.depiction_study() if task == TaskKind.DEPICTION else cast.visual_study(RATED)
    run = answer(planned(study, task, name="mumbler"), lambda job: "I would rather not say.")
    with pytest.raises(NothingToCompute, match="No answer of the machine judge 'mumbler' can be read"):
        scores(study, run)


def test_a_judge_of_other_items_than_people_has_no_scores():
    study = cast.visual_study(RATED)
    run = judged_by_text(study, TaskKind.VISUAL_NATURE, dict.fromkeys(RATED, 4), name="alone")
    Response.objects.all().delete()
    with pytest.raises(NothingToCompute, match="no item that the machine judge 'alone' has a readable"):
        scores(study, run)
