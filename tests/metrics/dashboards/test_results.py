"""What came out of a study, read from planted score runs."""

from datetime import timedelta

import pytest
from django.utils import timezone

from annotation.core.leases import JobState
from annotation.models import StudyStatus, TaskKind
from metrics.dashboards.queries.results import read_results, result_metrics
from metrics.models import RunIntervals, Variant
from metrics.score_runs.queries import newest_run, newest_runs
from tests import factories
from tests.metrics import pulled
from tests.metrics.planted_scores import INFINITE, run, score

pytestmark = pytest.mark.django_db


def study_of(*kinds: str, **fields):
    study = factories.study(**fields)
    for kind in kinds:
        factories.task(study, kind=kind)
    return study


def test_groups_are_ranked_by_theta_with_infinite_ones_first_and_undefined_ones_last():
    study = study_of(TaskKind.DEPICTION)
    tendency = run(study, "tendency")
    planted = {
        "Nepali": (None, None, 0.0),
        "Welsh": (0.5, (0.2, 0.9), 0.1),
        "Mexican": (2.5, (1.2, 5.0), 0.5),
        "Irish": (2.5, (0.4, 9.0), 0.5),
        "Greek": (INFINITE, (1.5, INFINITE), 0.2),
        "Thai": (INFINITE, (0.5, INFINITE), 0.4),
    }
    for name, (theta, interval, l_stereo) in planted.items():
        group = factories.group(name, region="Europe")
        score(tendency, "theta", theta, interval, group=group)
        score(tendency, "l_stereo", l_stereo, group=group)
        # scores of an attribute and of a part are others
        score(tendency, "theta", 99.0, group=group, part="region: Europe")
    rows = read_results(study).ranking
    assert [(row.group.name, row.side) for row in rows] == [
        ("Thai", "unclear"),
        ("Greek", "above"),
        ("Irish", "unclear"),
        ("Mexican", "above"),
        ("Welsh", "below"),
        ("Nepali", "unknown"),
    ]
    assert rows[3].theta.value == 2.5
    assert (rows[3].theta.low, rows[3].theta.high) == (1.2, 5.0)
    assert rows[3].l_stereo.value == 0.5
    assert rows[3].l_random is None


def test_each_kind_of_task_has_its_results():
    study = study_of(
        *(TaskKind.VISUAL_NATURE, TaskKind.PREVALENCE, TaskKind.OFFENSIVENESS), stereotype_threshold=2
    )
    consensus = run(study, "consensus")
    score(consensus, "agree", 20.0, (10.0, 40.0), n=10, k=2)
    score(consensus, "strongly_agree", 50.0, (30.0, 70.0), n=10, k=5)
    rules = run(study, "visual_rules")
    for part, k, used in (("rule: all agree", 4, 0), ("rule: at least 2 agree", 6, 1)):
        score(rules, "share", k / 10, (0.1, 0.9), part=part, n=10, k=k)
        score(rules, "in_use", used, part=part, n=10)
    prevalence = run(study, "prevalence")
    for pool, k in (("both", 2), ("out-region", 5), ("in-region", 8)):
        score(prevalence, "share", k / 20, part=f"pool: {pool}, t=2", n=20, k=k)
        score(prevalence, "share", 1.0, part=f"pool: {pool}, t=1", n=20, k=20)
    rated = run(study, "rated_offensiveness")
    score(rated, "mean_attribute", 1.25, (1.0, 1.5), n=40)
    for name, mean in (("Mexican", 0.5), ("Nepali", 2.0)):
        score(rated, "mean", mean, group=factories.group(name))
    agreement = run(study, "agreement")
    for name, value in (("alpha", 0.4), ("percentage", 70.0)):
        score(agreement, name, value, part="task: visual_nature; reading: nominal")
    found = read_results(study)
    assert [(share.label, share.score.value) for share in found.consensus] == [
        ("Strongly agree", 50.0),
        ("Agree", 20.0),
    ]
    assert found.rated == 10
    assert (found.rule_in_use.least, found.rule_in_use.selected) == (2, 6)
    assert [(one.pool, one.threshold, one.score.k) for one in found.prevalence] == [
        ("in-region", 2, 8),
        ("out-region", 2, 5),
        ("both", 2, 2),
    ]
    assert found.offensiveness.mean_attribute.value == 1.25
    assert [row.group.name for row in found.offensiveness.rated_groups] == ["Nepali", "Mexican"]
    (part,) = found.agreement
    assert {name: one.value for name, one in part.scores.items()} == {"alpha": 0.4, "percentage": 70.0}
    assert found.runs["agreement"] == agreement
    assert found.missing == ()


def test_pull_is_there_once_images_are_embedded():
    study = study_of(TaskKind.DEPICTION)
    assert "pull" not in result_metrics(study)
    pulled.group_images(pulled.embedding_run(study), "Mexican")
    assert "pull" in result_metrics(study)
    assert read_results(study).pull is None
    of = run(study, "pull")
    score(of, "x", 0.03, (0.01, 0.05), n=2)
    score(of, "pull", 0.5, n=2, k=1)
    score(of, "x", 0.5, part="region: Europe")
    for name, x in (("Mexican", -0.01), ("Nepali", 0.07)):
        score(of, "x", x, group=factories.group(name))
    pull = read_results(study).pull
    assert (pull.x.value, pull.share.k) == (0.03, 1)
    assert [(row.group.name, row.score.value) for row in pull.groups] == [
        ("Nepali", 0.07),
        ("Mexican", -0.01),
    ]


def test_what_is_missing_is_told_apart_from_what_gave_nothing():
    study = study_of(TaskKind.VISUAL_NATURE)
    run(study, "consensus")
    found = read_results(study)
    assert found.missing == ("visual_rules", "agreement")


def test_the_newest_runs_are_those_that_each_page_shows(django_assert_num_queries):
    study = study_of(TaskKind.DEPICTION, TaskKind.VISUAL_NATURE)
    now = timezone.now()
    old = run(study, "tendency", finished_at=now - timedelta(hours=2))
    run(study, "tendency", finished_at=now - timedelta(hours=1))
    run(study, "tendency", finished_at=now, intervals=RunIntervals.NONE)
    run(study, "tendency", finished_at=now, version=1)
    run(study, "tendency", finished_at=now, variant=Variant.PUBLISHED)
    run(study, "tendency", state=JobState.PENDING, finished_at=None)
    run(study, "agreement", state=JobState.PENDING, finished_at=None)
    by_gender = run(study, "agreement")
    by_gender.parameters = '{"by": "gender"}'
    by_gender.save()
    run(study_of(TaskKind.DEPICTION, name="other", status=StudyStatus.CLOSED), "tendency")
    # these answers are the present ones again
    old.confirmed_at = now
    old.save()
    for _ in range(2):
        run(study, "consensus", intervals=RunIntervals.NONE, finished_at=now)
    wanted = ["consensus", "agreement", "tendency"]
    with django_assert_num_queries(1):
        found = newest_runs(study, wanted, Variant.CORRECTED)
    assert list(found) == ["consensus", "tendency"]
    assert found["tendency"] == old
    assert found == {
        name: newest_run(study, name, Variant.CORRECTED) for name in wanted if name != "agreement"
    }
    with pytest.raises(ValueError, match="no variant 'odd'"):
        newest_runs(study, wanted, "odd")


def test_the_number_of_queries_is_that_of_the_reading_not_of_the_study(django_assert_num_queries):
    study = study_of(TaskKind.DEPICTION, TaskKind.VISUAL_NATURE)
    tendency, offensiveness = run(study, "tendency"), run(study, "offensiveness")
    for number in range(20):
        group = factories.group(f"group {number}")
        score(tendency, "theta", 1.0 + number, group=group)
        score(offensiveness, "o", 0.1 * number, group=group)
        list(study.tasks.all())
        with django_assert_num_queries(6):
            found = read_results(study)
            assert found.ranking[0].group.name == f"group {number}"
