"""The scores of a league: means, places and groups of several models."""

import numpy as np
import pytest

from annotation.models import Response, Study
from metrics.league.data.studies import parse_names
from metrics.score_runs import registry
from metrics.score_runs.evaluation import evaluate, inputs_digest
from tests import factories
from tests.metrics.league import worlds

pytestmark = pytest.mark.django_db
METRIC = "tendency_league"
RANKS = {"rank", "theta_rank", "o_rank"}


def league(study, *others, variant="corrected", intervals="clustered"):
    found = evaluate(
        study=Study.objects.get(name=study),
        metric=METRIC,
        variant=variant,
        intervals=intervals,
        parameters={"studies": ",".join(others)},
    )
    return {(row.group, row.part, row.name): row for row in found.rows}


def test_three_models_that_differ_have_one_place_each():
    worlds.three()
    found = league("a", "b", "c")
    for place, name in enumerate("abc", start=1):
        part = f"model: {name}/images-{name}"
        rank = found["", part, "rank"]
        assert (rank.value, rank.low, rank.high, rank.n) == (place, place, place, 3)
        mean = found["", part, "l_stereo"]
        assert mean.low < mean.value < mean.high
        assert mean.n == 3
        assert (found["", part, "images"].value, found["", part, "answers"].value) == (18, 54)
        assert found["", part, "people"].value == 3
    assert found["", "", "p"].value < 0.001
    assert found["", "", "theta_p"].value < 0.05
    assert (found["", "", "people_shared"].value, found["", "", "people_shared"].n) == (3, 3)
    for group in worlds.GROUPS:
        assert found[group, "", "spread"].value > 0.4
        assert found[group, "", "spread_p"].value <= found[group, "", "spread_q"].value < 0.05


def test_numbers_are_those_of_the_studies_own_metrics():
    worlds.three()
    found = league("a", "b", "c")
    for name in "abc":
        study = Study.objects.get(name=name)
        part = f"model: {name}/images-{name}"
        for metric, scores in (("tendency", ("l_stereo", "l_random", "theta")), ("offensiveness", ("o",))):
            rows = evaluate(study=study, metric=metric, variant="corrected", intervals="clustered").rows
            for score in scores:
                own = {row.group: row for row in rows if row.name == score}
                if score == "theta":
                    stereo, random = (found["", part, each].value for each in ("l_stereo", "l_random"))
                    assert found["", part, "theta"].value == pytest.approx(stereo / random)
                else:
                    mean = np.mean([row.value for row in own.values()])
                    assert found["", part, score].value == pytest.approx(mean)
                if metric == "tendency":
                    for group, row in own.items():
                        other = found[group, part, score]
                        assert (other.value, other.low, other.high) == (row.value, row.low, row.high)


def test_two_models_give_the_p_of_their_difference():
    people = worlds.annotators()
    for name, rate, seed in (("a", 0.5, 1), ("b", 0.4, 2)):
        worlds.model_study(name, dict.fromkeys(worlds.GROUPS, rate), people, seed=seed)
    found = league("a", "b")
    pair = evaluate(
        study=Study.objects.get(name="a"),
        metric="tendency_difference",
        variant="corrected",
        intervals="clustered",
        parameters={"against": "b"},
    ).rows
    whole = {row.name: row for row in pair if not row.group and not row.part}
    one, two = (found["", f"model: {name}/images-{name}", "l_stereo"].value for name in "ab")
    assert one - two == pytest.approx(whole["l_stereo"].value)
    # the p of an F of two against that of a t: of the same difference and variance
    assert found["", "", "p"].value == pytest.approx(whole["l_stereo_p"].value, rel=0.5)


def test_image_sets_of_one_study_are_models():
    worlds.model_study("a", {"Mexican": 0.9, "Nepali": 0.8}, worlds.annotators(), sets=("one", "two"))
    found = league("a")
    one, two = (found["", f"model: a/{name}", "rank"] for name in ("one", "two"))
    assert (one.value, one.high, two.value, two.low) == (1, 1, 2, 2)
    assert found["", "", "p"].value < 0.01


def test_a_single_model_has_means_and_no_test():
    worlds.model_study("a", {"Mexican": 0.9}, worlds.annotators())
    found = league("a")
    assert found["", "model: a/images-a", "l_stereo"].value > 0
    assert not {name for _, _, name in found} & {*RANKS, "p", "theta_p", "o_p", "spread", "spread_q"}


def test_groups_that_are_not_in_all_models_are_left_out_of_the_means():
    people = worlds.annotators()
    worlds.model_study("a", {"Mexican": 0.9, "Nepali": 0.1}, people)
    worlds.model_study("b", {"Mexican": 0.5, "Peruvian": 0.5}, people, seed=1)
    found = league("a", "b")
    assert {group for group, _, name in found if name == "left_out"} == {"Nepali", "Peruvian"}
    assert (found["Nepali", "", "left_out"].value, found["Nepali", "", "left_out"].n) == (1, 2)
    for name in "ab":
        part = f"model: {name}/images-{name}"
        assert found["", part, "l_stereo"].n == 1
        assert found["", part, "l_stereo"].value == found["Mexican", part, "l_stereo"].value
    assert ("Nepali", "model: a/images-a", "l_stereo") not in found
    assert ("Nepali", "", "left_out_defined") not in found


def test_a_group_with_a_single_image_in_one_model_is_left_out():
    people = worlds.annotators()
    worlds.model_study("a", {"Mexican": 0.9, "Nepali": 0.5}, people)
    study = worlds.model_study("b", {"Mexican": 0.5}, people, seed=1)
    picture = factories.image(group_name="Nepali", image_set=factories.image_set("images-b"))
    unit = factories.page_unit(study.tasks.get(), picture=picture, texts=worlds.TEXTS)
    factories.responses((unit, [1, 0, 0, 0, 0], who) for who in people)
    found = league("a", "b")
    assert (found["Nepali", "", "left_out"].value, found["Nepali", "", "left_out"].n) == (2, 2)
    assert found["", "model: b/images-b", "l_stereo"].n == 1


def test_theta_is_over_groups_that_have_random_attributes_in_every_model():
    """Planted: of the Nepali, model b was shown stereotypes alone, so L(random) is undefined there."""
    people = worlds.annotators()
    worlds.model_study("a", {"Mexican": 0.5, "Nepali": 0.9}, people, seed=1)
    b = worlds.model_study("b", {"Mexican": 0.5}, people, seed=2)
    worlds.show_stereotypes_alone(b, "Nepali", people)
    found = league("a", "b")
    for name in "ab":
        part = f"model: {name}/images-{name}"
        assert [found["", part, score].n for score in ("l_stereo", "l_random")] == [1, 1]
        for score in ("l_stereo", "l_random", "theta"):
            assert found["", part, score].value == found["Mexican", part, score].value
    assert (found["Nepali", "", "left_out"].value, found["Nepali", "", "left_out_defined"].value) == (2, 1)
    assert ("Mexican", "", "left_out") not in found


def test_a_study_without_answers_does_not_empty_the_league():
    worlds.three()
    factories.task(factories.study("d"), kind="depiction")
    found = league("a", "b", "c", "d")
    assert found["", "model: a/images-a", "l_stereo"].n == 3
    assert not any(part.startswith("model: d") for _, part, _ in found)


def test_o_is_over_the_groups_that_have_one_in_all_models():
    people = worlds.annotators()
    worlds.model_study("a", {"Mexican": 0.9, "Nepali": 0.9}, people)
    worlds.model_study("b", {"Mexican": 0.5, "Nepali": 0.0}, people, seed=1)
    found = league("a", "b")
    o = found["", "model: a/images-a", "o"]
    assert (o.n, found["", "model: a/images-a", "l_stereo"].n) == (1, 2)
    assert o.value == pytest.approx(2 * found["Mexican", "model: a/images-a", "l_stereo"].value)
    # no stereotype of the Nepali was seen: theta of that group is 0, and the mean is not
    assert found["", "model: b/images-b", "theta_rank"].value == 2


def test_o_of_stereotypes_rated_alike_is_as_sure_as_l():
    """Images of several groups may be many more than people, in both."""
    worlds.model_study("a", {"Mexican": 0.9, "Nepali": 0.6}, worlds.annotators()[:4])
    found = league("a")
    mean, o = (found["", "model: a/images-a", name] for name in ("l_stereo", "o"))
    assert (o.low, o.value, o.high) == pytest.approx((2 * mean.low, 2 * mean.value, 2 * mean.high))


def test_other_attributes_are_counted():
    people = worlds.annotators()
    worlds.model_study("a", {"Mexican": 0.9}, people)
    worlds.model_study("b", {"Mexican": 0.9}, people, seed=1, texts=("hat", "sombrero", "kind", "wise"))
    shared = league("a", "b")["Mexican", "", "attributes_shared"]
    assert (shared.value, shared.n) == (3, 5)


def test_people_who_are_not_identified_are_not_counted():
    worlds.three()
    Response.objects.filter(unit__task__study__name="b").update(annotator=None)
    found = league("a", "b", "c")
    assert found["", "model: b/images-b", "people"].value is None
    assert found["", "", "people_shared"].n == 3


def test_without_intervals_there_are_places_alone():
    worlds.three()
    found = league("a", "b", "c", intervals="none")
    assert found["", "model: a/images-a", "rank"].value == 1
    assert all(row.low is None and row.high is None for row in found.values())
    assert not {name for _, _, name in found} & {"p", "spread_q"}


def test_the_published_variant_counts_none_of_the_above():
    worlds.three()
    part = "model: a/images-a"
    printed, corrected = league("a", "b", variant="published"), league("a", "b")
    assert printed["", part, "l_random"].value < corrected["", part, "l_random"].value
    assert printed["", part, "l_stereo"].value == corrected["", part, "l_stereo"].value


@pytest.mark.parametrize(
    ("names", "said"),
    [
        ("c,b", "studies=b,c"),
        ("b,b", "studies=b"),
        ("a,b", "without 'a'"),
        ("b,x", "no study 'x'"),
        (",".join(f"{number:04}" + "x" * 70 for number in range(30)), "at most 1900"),
    ],
)
def test_names_that_are_refused(names, said):
    worlds.three()
    with pytest.raises(ValueError, match=said):
        league("a", *names.split(","))


def test_the_digest_changes_with_every_study():
    a, b, _ = worlds.three()

    def digest():
        entry = registry.get(METRIC)
        return inputs_digest(Study.objects.get(name="a"), entry, {"studies": "b,c"})

    seen = {digest()}
    response = Response.objects.filter(unit__task__study=b).first()
    Response.objects.filter(pk=response.pk).update(current=False)
    seen.add(digest())
    Study.objects.filter(name="c").update(stereotype_threshold=3)
    seen.add(digest())
    assert len(seen) == 3
    assert parse_names(a, {"studies": "b,c"}) == ["b", "c"]
