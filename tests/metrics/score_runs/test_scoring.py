"""From the answers of a study to its scores: what counts, which rule, which variant."""

import pytest
from django.utils import timezone

from annotation.models import Association, Response, Slot, SlotState, Study
from metrics.depiction.data import read_depiction
from metrics.depiction.scores import measures
from metrics.score_runs.evaluation import evaluate
from metrics.score_runs.shared_resamples import sharing_resamples
from tests import factories
from tests.metrics.cast import depiction_study, visual_study

pytestmark = pytest.mark.django_db


def scores(study, metric="tendency", variant="corrected", resamples=0, seed=0):
    study = Study.objects.get(pk=study.pk)
    found = evaluate(study=study, metric=metric, variant=variant, resamples=resamples, seed=seed)
    return {(row.group, row.attribute, row.name): row for row in found.rows}


def test_likelihoods_are_selected_of_shown_over_images_and_annotators():
    found = scores(depiction_study(), "likelihood")
    assert (found["Mexican", "hat", "likelihood"].k, found["Mexican", "hat", "likelihood"].n) == (4, 6)
    assert found["Mexican", "sombrero", "likelihood"].value == pytest.approx(1 / 6)
    assert ("Mexican", "", "none_of_above") not in found
    assert found["Mexican", "hat", "likelihood"].stereotypical
    assert not found["Mexican", "poor", "likelihood"].stereotypical


def test_tendency_is_the_ratio_of_the_two_means():
    found = scores(depiction_study())
    # stereotypes: hat 4/6, sombrero 1/6; random: poor 1/6, kind 0
    assert found["Mexican", "", "l_stereo"].value == pytest.approx(5 / 12)
    assert found["Mexican", "", "l_random"].value == pytest.approx(1 / 12)
    assert found["Mexican", "", "theta"].value == pytest.approx(5)
    assert (found["Mexican", "", "l_stereo"].n, found["Mexican", "", "l_random"].n) == (2, 2)


def test_as_published_none_of_the_above_is_one_more_random_attribute():
    study = depiction_study()
    found = scores(study, variant="published")
    assert found["Mexican", "", "l_random"].n == 3
    # poor 1/6, kind 0, none of the above counted as 0 though 2 of 6 chose it (PROTOCOL §6 b)
    assert found["Mexican", "", "l_random"].value == pytest.approx(1 / 18)
    assert scores(study, "likelihood", "published")["Mexican", "", "none_of_above"].k == 2


def test_a_group_without_two_stereotypes_is_not_reported():
    study = depiction_study()
    assert {group for group, _, _ in scores(study)} == {"Mexican"}
    # by three votes 'sombrero' is the only one
    Study.objects.filter(pk=study.pk).update(stereotype_threshold=3)
    assert scores(study, "likelihood")["Mexican", "sombrero", "likelihood"].stereotypical
    assert scores(study) == {}


def test_the_rule_of_the_study_decides_what_is_a_stereotype():
    study = depiction_study()
    # whatever another source says
    factories.association(
        text="kind", group_name="Mexican", out_votes=(9, 0, 0), from_source=factories.source("x")
    )
    Study.objects.filter(pk=study.pk).update(stereotype_threshold=1)
    assert scores(study)["Mexican", "", "l_stereo"].n == 3
    Study.objects.filter(pk=study.pk).update(stereotype_pool="in")
    assert scores(study) == {}
    Study.objects.filter(pk=study.pk).update(stereotype_source=None)
    assert scores(study) == {}


@pytest.mark.parametrize("change", [{"withdrawn_at": timezone.now()}, {"current": False}, {"slot": None}])
def test_withdrawn_replaced_and_surplus_answers_do_not_count(change):
    study = depiction_study()
    first = Response.objects.filter(unit__image__group__name="Mexican").earliest("pk")
    Response.objects.filter(pk=first.pk).update(**change)
    row = scores(study, "likelihood")["Mexican", "hat", "likelihood"]
    assert (row.k, row.n) == (3, 5)


def test_answers_of_another_study_do_not_count():
    study = depiction_study()
    before = scores(study)
    depicted = factories.task(factories.study(), kind="depiction")
    unit = factories.page_unit(depicted, picture=factories.image(index=9))
    factories.response(unit, values=[1, 1, 1, 1, 0])
    assert scores(study) == before


@pytest.mark.parametrize("metric", ["tendency", "likelihood", "offensiveness"])
@pytest.mark.parametrize("variant", ["corrected", "published"])
def test_intervals_do_not_move_the_estimate_and_contain_it(metric, variant):
    study = depiction_study()
    plain, drawn = scores(study, metric, variant), scores(study, metric, variant, resamples=200)
    assert plain.keys() == drawn.keys()
    for key, row in drawn.items():
        assert row.value == plain[key].value
        assert row.n == plain[key].n
        if row.low is not None:
            assert row.low <= row.value <= row.high
    assert any(row.low is not None and row.low < row.high for row in drawn.values())


def test_the_same_seed_gives_the_same_intervals_and_another_does_not():
    study = depiction_study()
    first, again, other = (scores(study, resamples=200, seed=seed) for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_metrics_that_share_their_resamples_read_the_answers_once_and_give_the_same(monkeypatch):
    study = depiction_study()
    wanted = [
        (metric, variant)
        for metric in ("tendency", "offensiveness")
        for variant in ("corrected", "published")
    ]
    apart = [scores(study, *each, resamples=100) for each in wanted]
    read = []
    monkeypatch.setattr(
        measures, "read_depiction", lambda *args, **kw: read.append(1) or read_depiction(*args, **kw)
    )
    with sharing_resamples():
        assert [scores(study, *each, resamples=100) for each in wanted] == apart
        assert len(read) == 1
        scores(study, resamples=100, seed=1)
        scores(study, resamples=200)
        assert len(read) == 3
        first = Response.objects.filter(unit__image__group__name="Mexican").earliest("pk")
        Response.objects.filter(pk=first.pk).update(withdrawn_at=timezone.now())
        assert (
            scores(study, resamples=200)["Mexican", "", "theta"].value
            != apart[0]["Mexican", "", "theta"].value
        )
        assert len(read) == 4
    scores(study, resamples=200)
    assert len(read) == 5


def test_intervals_of_one_group_do_not_depend_on_the_groups_beside_it():
    study = depiction_study()
    before = scores(study, resamples=200)["Mexican", "", "theta"]
    task = study.tasks.get()
    unit = factories.page_unit(task, picture=factories.image(group_name="Afghan", index=1))
    for _ in range(3):
        factories.response(unit)
    assert scores(study, resamples=200)["Mexican", "", "theta"] == before


def test_annotators_who_are_not_identified_are_clusters_of_their_own():
    study = depiction_study()
    clusters = [len(set(frame.annotators.tolist())) for frame in read_depiction(study, by_response=True)]
    assert clusters == [3, 3]
    Slot.objects.filter(study=study, state=SlotState.FILLED).update(annotator=None)
    Response.objects.filter(unit__task__study=study).update(annotator=None)
    clusters = [len(set(frame.annotators.tolist())) for frame in read_depiction(study, by_response=True)]
    assert clusters == [6, 6]


def test_offensiveness_takes_the_printed_mean_as_published_and_the_ratings_as_corrected():
    study = depiction_study()
    # l_stereo 5/12; hat is rated 1, sombrero 0 by the ratings and 0.5 in print
    assert scores(study, "offensiveness")["Mexican", "", "o"].value == pytest.approx(5 / 12 * 0.5)
    published = scores(study, "offensiveness", "published")["Mexican", "", "o"]
    assert published.value == pytest.approx(5 / 12 * 0.75)
    assert published.n == 2


def test_attributes_that_nobody_rated_are_left_out_and_counted():
    study = depiction_study()
    Association.objects.filter(attribute__text="sombrero").update(offensiveness=[], offensiveness_mean=None)
    found = scores(study, "offensiveness")
    assert found["Mexican", "", "o"].value == pytest.approx(5 / 12)
    assert found["Mexican", "", "o"].n == 1
    assert found["Mexican", "", "unrated"].value == 1


def test_a_group_in_which_nothing_was_present_has_no_offensiveness():
    study = depiction_study()
    Response.objects.filter(
        unit__image__group__name="Mexican", judgements__option__attribute__text="hat"
    ).update(withdrawn_at=timezone.now())
    assert scores(study, "offensiveness") == {}


def test_an_attribute_is_visual_if_all_of_its_annotators_agree():
    study = visual_study({"hat": [5, 4, 5], "kind": [5, 4, 2], "poor": [4, 4, 3]})
    found = scores(study, "visual_nature")
    assert [found["", text, "visual"].value for text in ("hat", "kind", "poor")] == [1, 0, 0]
    assert (found["", "kind", "visual"].k, found["", "kind", "visual"].n) == (2, 3)
    assert found["", "hat", "mean_score"].value == pytest.approx(14 / 3)
    Study.objects.filter(pk=study.pk).update(visual_rule=2)
    assert scores(study, "visual_nature")["", "kind", "visual"].value == 1


def test_an_attribute_asked_twice_must_pass_each_time():
    study = visual_study({"handsome": [5, 5, 5]})
    again = factories.attribute_unit(study.tasks.get(), "handsome", repeat=1)
    for score in (5, 5, 1):
        factories.response(again, values=[score])
    row = scores(study, "visual_nature")["", "handsome", "visual"]
    assert (row.value, row.k, row.n) == (0, 5, 6)
    # while for the consensus, as in the paper, they are two
    assert scores(study, "consensus")["", "", "strongly_agree"].n == 2


@pytest.mark.parametrize("known", [True, False])
def test_consensus_and_mean_scores_have_intervals_of_annotators_known_or_not(known):
    ratings = {f"trait {place}": [5, 5, 4 + place % 2] for place in range(12)}
    study = visual_study(ratings, people=[factories.annotator() for _ in range(3)])
    if not known:
        Response.objects.update(annotator=None)
    found, again = (scores(study, "consensus", resamples=200) for _ in range(2))
    assert found == again
    row = found["", "", "strongly_agree"]
    assert (row.value, row.low <= row.value <= row.high) == (100, True)
    assert found["", "", "agree"].high > 0, "one who chose it, drawn twice, agrees with themselves"
    assert (found["", "", "unsure"].low, found["", "", "unsure"].high) == (0, 0)
    mean = scores(study, "visual_nature", resamples=200)["", "trait 0", "mean_score"]
    assert 4 <= mean.low < mean.value < mean.high <= 5
    assert mean.value == pytest.approx(14 / 3)


def test_a_rule_is_less_sure_where_all_answers_come_from_three_people():
    """Half of the answers agree; in the one study it is the same person who never does."""
    few = visual_study({f"trait {place}": [5, 5, 1] for place in range(40)},
                       people=[factories.annotator() for _ in range(3)])  # fmt: skip
    many = visual_study({f"trait {place}": [5, 5, 1] for place in range(40)})
    widths = []
    for study in (few, many):
        found = evaluate(study=study, metric="visual_rules", variant="corrected", resamples=200, seed=0)
        row = next(one for one in found.rows if (one.name, one.part) == ("share", "rule: at least 2 agree"))
        assert row.value == 1
        widths.append(row.high - row.low)
    assert widths[0] > 2 * widths[1] > 0


def test_consensus_is_a_percentage_of_the_rated_attributes():
    study = visual_study({"hat": [5, 5, 4], "kind": [1, 1, 1], "poor": [4, 3, 2], "tall": []})
    found = {name: (row.k, row.n) for (_, _, name), row in scores(study, "consensus").items()}
    assert found == {
        "strongly_agree": (1, 3),
        "agree": (0, 3),
        "disagree": (0, 3),
        "strongly_disagree": (1, 3),
        "unsure": (0, 3),
    }


@pytest.mark.parametrize("metric", ["tendency", "likelihood", "offensiveness", "visual_nature", "consensus"])
@pytest.mark.parametrize("resamples", [0, 100])
def test_a_study_without_answers_gives_no_numbers_and_no_error(metric, resamples):
    found = scores(factories.study(), metric, resamples=resamples)
    assert all(row.value is None for row in found.values())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"metric": "tendenzy"}, "Did you mean 'tendency'"),
        ({"variant": "publish"}, "Did you mean 'published'"),
        ({"resamples": 7}, "at least 100, or 0"),
        ({"resamples": -1}, "at least 100, or 0"),
        ({"seed": -1}, "at least 0"),
    ],
)
def test_what_cannot_be_computed_is_refused_with_the_cure(change, message):
    with pytest.raises(ValueError, match=message):
        scores(factories.study(), **change)


def test_reading_the_answers_takes_as_many_queries_however_many_there_are(django_assert_num_queries):
    study = depiction_study()
    with django_assert_num_queries(11):
        scores(study, resamples=100)
    task = study.tasks.get()
    for index in range(3, 8):
        factories.response(factories.page_unit(task, picture=factories.image(index=index)))
    with django_assert_num_queries(11):
        scores(study, resamples=100)
