"""Parts of stored scores that need few rows or none: places, the order of contrasts, what a study has."""

from datetime import timedelta

import numpy as np
import pytest
from django.utils import timezone

from annotation.models import IdentityGroup, TaskKind
from metrics.core.stats.scales import Scale
from metrics.models import Score, ScoreRun
from metrics.score_runs import freshness, registry
from metrics.score_runs import services as score_runs
from metrics.score_runs.applicable import applicable
from metrics.score_runs.compared_rows import Estimates, mean
from metrics.score_runs.contrasts import ContrastRow, Difference, _sort_key
from metrics.score_runs.places import beyond_chance, places
from tests import factories
from tests.metrics import pulled


@pytest.mark.parametrize(
    ("ends", "text"), [((1.6, 6.4), "2–6"), ((2.4, 1.6), "2"), ((None, 2.0), ""), ((2.0, None), "")]
)
def test_places_are_whole_numbers_and_one_stands_alone(ends, text):
    assert places(Score(low=ends[0], high=ends[1])) == text
    assert places(None) == ""


def test_only_below_five_per_cent_is_more_than_chance():
    assert [beyond_chance(Score(value=p)) for p in (0.0499, 0.05, 0.5, None)] == [True, False, False, False]
    assert not beyond_chance(None)


def test_contrasts_are_regions_then_groups_the_largest_first_and_undefined_ones_last():
    def row(name, value, *, group):
        of = IdentityGroup(name=name) if group else None
        score = None if value == "none" else Score(value=value)
        return ContrastRow(of, "" if group else name, (Difference(score, None),))

    rows = [row(f"region {name}", value, group=False) for name, value in (("b", 0.1), ("a", 0.1), ("c", -9))]
    rows += [
        row(name, value, group=True)
        for name, value in (("Thai", 0.5), ("Irish", 0.5), ("Manx", -0.1), ("Celt", None), ("Bask", "none"))
    ]
    for shuffled in (rows, rows[::-1]):
        found = [row.group.name if row.group else row.region for row in sorted(shuffled, key=_sort_key)]
        assert found == ["region a", "region b", "region c", "Irish", "Thai", "Manx", "Bask", "Celt"]


def test_a_page_asks_for_comparisons_by_their_names_and_not_as_scores():
    requests = [("tendency", "corrected", {}), ("agreement", "corrected", {"by": "gender"})]
    assert freshness.query_string(requests, extra=[("by", "gender")]) == "of=tendency%3Acorrected&by=gender"


def test_a_mean_is_over_the_groups_with_a_value_and_its_range_of_theirs_or_of_all_without():
    def group(values, *ends):
        return Estimates(np.array(values), (9, 9), np.zeros((0, 2)), tuple(Scale(*each) for each in ends))

    nan = np.nan
    found = mean([group([nan, 1.0], (0.0, 2.0), (0.0, 1.0)), group([nan, nan], (0.0, 4.0), (-1.0, 5.0))])
    assert np.isnan(found.values[0])
    assert (found.values[1], found.n) == (1.0, (2, 2))
    assert found.scales == (Scale(0.0, 3.0), Scale(0.0, 1.0))


@pytest.mark.django_db
def test_a_study_has_the_metrics_of_what_it_has():
    names = [metric.name for metric in registry.metrics()]
    study = factories.study()
    run = pulled.embedding_run(study)
    pulled.group_images(run, "Mexican")
    assert applicable(study, names) == []
    study.stereotype_source = factories.source("votes")
    of_votes = [name for name in names if registry.get(name).source == "votes"]
    assert applicable(study, names) == of_votes
    factories.task(study, kind=TaskKind.DEPICTION)
    found = applicable(study, [*names, "pull"])
    assert {*of_votes, "tendency", "agreement", "pull"} < {*found}
    assert "machine judge" not in {registry.get(name).source for name in found}
    assert {registry.get(name).task for name in found if registry.get(name).source == "answers"} == {
        TaskKind.DEPICTION
    }
    run.delete()
    assert "pull" not in applicable(study, names)


@pytest.mark.django_db
def test_waiting_runs_are_computed_up_to_the_limit_the_oldest_first():
    study = factories.study()
    factories.task(study, kind=TaskKind.DEPICTION)
    newer, older = (
        score_runs.request(study=study, metric=metric, variant="corrected")
        for metric in ("tendency", "offensiveness")
    )
    ScoreRun.objects.filter(pk=older.pk).update(created_at=timezone.now() - timedelta(hours=1))
    assert score_runs.compute_pending(limit=1) == 1
    assert dict(ScoreRun.objects.values_list("pk", "state")) == {older.pk: "done", newer.pk: "pending"}
