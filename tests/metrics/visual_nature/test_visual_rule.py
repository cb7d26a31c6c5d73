"""The study's own rule of visual nature, a mean score or another (PROTOCOL §2), wherever it is asked for."""

import hashlib
import json

import pytest

from annotation.models import Attribute, Study
from annotation.studies.units import draws
from metrics.captions.scores import findings
from metrics.dashboards.queries.results import read_results
from metrics.models import Score
from metrics.reproduction import comparison
from metrics.score_runs import registry
from metrics.score_runs.evaluation import describe_rule, evaluate, inputs_digest
from metrics.score_runs.rows import Inputs
from metrics.visual_nature import scores
from metrics.visual_nature.queries import rules_of
from metrics.visual_nature.visual_rule import in_words
from tests import factories
from tests.metrics.cast import visual_study
from tests.metrics.dashboards.test_overview import score

pytestmark = pytest.mark.django_db

RATINGS = {"hat": [5, 5, 5], "cap": [5, 4, 4], "poor": [4, 4, 2], "kind": [1, 5, 2]}
TEN = (5, 5, 5, 5, 5, 4, 2, 2, 2, 2)  # 37 together: a mean of 3.7, which no binary fraction is


def rows(study, metric):
    found = evaluate(study=study, metric=metric, variant="corrected", resamples=0, seed=0)
    return {(row.name, row.attribute, row.part): row for row in found.rows}


def with_rule(study, **rule):
    Study.objects.filter(pk=study.pk).update(**{"visual_rule": None, "visual_mean": None, **rule})
    return Study.objects.get(pk=study.pk)


@pytest.mark.parametrize(
    ("rule", "visual"),
    [
        ({"visual_mean": 3.66}, {"hat", "kind"}),
        ({"visual_mean": 3.67}, {"hat"}),
        ({"visual_mean": 3.7}, {"hat"}),
        ({"visual_mean": 3.71}, set()),
        ({"visual_rule": 2}, {"hat", "kind"}),
        ({}, set()),
    ],
)
def test_scores_captions_and_draws_take_the_same_attributes_for_visual(rule, visual):
    made = visual_study({"hat": TEN, "kind": [5, 4, 2], "poor": []}, strata=("any",) * 10)
    study = with_rule(made, **rule)
    scored = {key[1] for key, row in rows(study, "visual_nature").items() if key[0] == "visual" and row.value}
    found = findings.visual_attributes(Inputs(study, "corrected", 0, 0, {}))
    named = set(Attribute.objects.filter(pk__in=found).values_list("text", flat=True))
    assert scored == named == draws.visual_attributes(study=study) == visual


def test_the_rule_is_said_beside_the_scores():
    entry = registry.get("visual_nature")
    rules = ({}, {"visual_rule": 2}, {"visual_mean": 4.0}, {"visual_mean": 3.67})
    assert [describe_rule(Study(**rule), entry) for rule in rules] == [
        "visual: all annotators chose Agree or Strongly agree",
        "visual: at least 2 annotators chose Agree or Strongly agree",
        "visual: mean score of at least 4 (1 to 5, Unsure 3)",
        "visual: mean score of at least 3.67 (1 to 5, Unsure 3)",
    ]


@pytest.mark.parametrize(
    ("mean", "said", "k"), [(4.0, "4", 2), (4.33, "4.33", 2), (4.34, "4.34", 1), (1.0, "1", 4)]
)
def test_a_mean_score_is_named_among_the_rules_that_are_compared(mean, said, k):
    study = visual_study(RATINGS, visual_mean=mean)
    found = rows(study, "visual_rules")
    used = f"rule: mean score of at least {said}"
    assert [part for name, _, part in found if name == "in_use" and found[name, "", part].value] == [used]
    assert found["selected", "", used].k == k
    visual = [row.value for (name, _, _), row in rows(study, "visual_nature").items() if name == "visual"]
    assert sum(visual) == k
    compared = [part for name, _, part in found if name == "in_use" and "mean score" in part]
    assert len(compared) == len({*scores.MEAN_SCORES, mean}), "none stands twice"


def test_a_rule_that_asks_for_more_than_rated_is_compared_too():
    found = rows(visual_study({"hat": [5, 5, 5]}, visual_rule=5), "visual_rules")
    asked = [f"rule: at least {number} agree" for number in (5, 4, 3, 2, 1)]
    assert [part for name, _, part in found if name == "selected" and part in asked] == asked
    assert [found["in_use", "", part].value for part in asked] == [1, 0, 0, 0, 0]


def test_what_a_rule_selects_is_told_in_per_cent_with_its_interval():
    parts = ("rule: all agree", "rule: at least 2 agree", "rule: mean score of at least 4.5")
    shares = [Score(name="share", part=part, value=0.25, k=2, n=8) for part in parts]
    shares[0].low, shares[0].high = 0.125, 0.5
    used = [Score(name="in_use", part=part, value=part == parts[1], n=8) for part in parts]
    found, rated = rules_of([*shares, *used])
    assert rated == 8
    assert [(rule.least, rule.of, rule.mean, rule.in_use) for rule in found] == [
        (None, 2, None, False),
        (2, 2, None, True),
        (None, 2, 4.5, False),
    ]
    assert [rule.numbers for rule in found] == [(25, 12.5, 50), (25, None, None), (25, None, None)]
    assert rules_of([]) == ((), 0)


def test_the_dashboard_marks_a_mean_score_as_the_studys_rule():
    study = visual_study({"hat": [5, 5, 4], "poor": [4, 4, 2]}, visual_mean=3.0)
    assert compared(study) == [
        ("all who rated it chose Agree or Strongly agree", 1, False),
        ("at least 3 of 3 chose Agree or Strongly agree", 1, False),
        ("at least 2 of 3 chose Agree or Strongly agree", 2, False),
        ("at least 1 of 3 chose Agree or Strongly agree", 2, False),
        ("mean score of at least 3", 2, True),
        ("mean score of at least 3.5", 1, False),
        ("mean score of at least 4", 1, False),
        ("mean score of at least 4.5", 1, False),
        ("mean score of at least 5", 0, False),
    ]
    study = with_rule(study, visual_mean=4.0)
    assert [rule for rule in compared(study) if rule[2]] == [("mean score of at least 4", 1, True)]


def compared(study):
    score(study)
    return [(in_words(rule), rule.selected, rule.in_use) for rule in read_results(study).rules]


def test_a_new_rule_makes_new_scores_and_no_mean_leaves_the_digest_as_it_was():
    study = factories.study()
    entry = registry.get("visual_nature")
    before = [study.pk, "visual_nature", "visual_nature", None, "out", 2, None, {}, [0, 0, 0]]
    found = [inputs_digest(with_rule(study, **rule), entry) for rule in ({}, {"visual_mean": 4.0})]
    found.append(inputs_digest(with_rule(study, visual_mean=4.5), entry))
    assert found[0] == hashlib.sha256(json.dumps(before).encode()).hexdigest()
    assert len(set(found)) == 3


def test_the_reproduction_counts_by_the_studys_rule():
    study = visual_study({"hat": [5, 5, 2], "kind": [1, 1, 5]}, stereotype_source=factories.source())
    for text in ("hat", "kind"):
        factories.association(text=text, out_votes=(2, 1, 0), from_source=study.stereotype_source)
    for rule, number in (({}, 0), ({"visual_mean": 4.0}, 1), ({"visual_mean": 2.33}, 2)):
        by_group, visual = comparison._visual_stereotypes(with_rule(study, **rule))
        assert (by_group.total(), visual) == (number, number)
