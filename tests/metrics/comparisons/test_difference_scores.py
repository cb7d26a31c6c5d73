"""Models, annotator groups, identity groups and regions compared; biases that were planted are found."""

import numpy as np
import pytest

from annotation.core.leases import JobState
from annotation.models import Association, IdentityGroup, Judgement, ProfileAnswer, Study, TaskKind
from metrics.core.stats import bootstrap
from metrics.score_runs import services as score_runs
from metrics.score_runs.evaluation import evaluate
from metrics.score_runs.shared_resamples import sharing_resamples
from tests import factories

pytestmark = pytest.mark.django_db
TEXTS = ("hat", "sombrero", "kind", "tall")
REGIONS = {"Mexican": "Latin America", "Peruvian": "Latin America", "Nepali": "South Asia"}


def simulated(name, rates, *, people, images=8, image_set=None, seed=0):
    """A study of the groups in `rates`: how likely each annotator group sees each stereotype in an image.

    'hat' and 'sombrero' are stereotypes of every group; the others are seen by one in ten.
    """
    rng = np.random.default_rng(seed)
    source = factories.source("votes")
    study = factories.study(name, stereotype_source=source, simulated=True)
    task = factories.task(study, kind=TaskKind.DEPICTION)
    told = ProfileAnswer.objects.filter(annotator__in=people, field="gender")
    genders = dict(told.values_list("annotator", "value"))
    answers = []
    for group, planted in rates.items():
        factories.group(group, region=REGIONS[group])
        for text in () if Association.objects.filter(group__name=group).exists() else TEXTS[:2]:
            factories.association(text=text, group_name=group, out_votes=(3, 0, 0), from_source=source)
        pictures = factories.images(range(1, images + 1), group_name=group, of=image_set)
        for unit in factories.page_units(task, [(picture, TEXTS) for picture in pictures]):
            for who in people:
                rate = planted[genders[who.pk]] if isinstance(planted, dict) else planted
                values = (rng.random(4) < [rate, rate, 0.1, 0.1]).astype(int).tolist()
                answers.append((unit, [*values, 0], who))
    factories.responses(answers)
    return study


@pytest.fixture
def people():
    return [factories.annotator(profile={"gender": gender}) for gender in ("woman", "man", "woman")]


def compared(study, metric="tendency_difference", resamples=400, variant="corrected", **parameters):
    found = evaluate(
        study=Study.objects.get(pk=study.pk),
        metric=metric,
        variant=variant,
        resamples=resamples,
        seed=1,
        parameters=parameters,
    )
    return {(row.group, row.part, row.name): row for row in found.rows}


def test_a_model_that_stereotypes_more_is_found_within_its_interval(people):
    first = simulated("a", {"Mexican": 0.7, "Nepali": 0.3}, people=people)
    other = simulated(
        "b", {"Mexican": 0.2, "Nepali": 0.3}, people=people, image_set=factories.image_set("b"), seed=1
    )
    found = compared(first, against=other.name)
    planted = found["Mexican", "", "l_stereo"]
    assert planted.low <= 0.5 <= planted.high
    assert planted.low > 0
    assert found["Mexican", "", "l_stereo_q"].value < 0.05
    assert found["Mexican", "", "log_theta"].value > 0
    same = found["Nepali", "", "l_stereo"]
    assert same.low <= 0 <= same.high
    assert found["Nepali", "", "l_stereo_q"].value > 0.05
    # the other way round it is the other sign
    turned = compared(other, against=first.name)
    assert turned["Mexican", "", "l_stereo"].value == pytest.approx(-planted.value)
    # and over both groups it is the mean
    both = found["", "", "l_stereo"]
    assert both.value == pytest.approx((planted.value + same.value) / 2)
    assert both.n == 2


def test_a_group_of_annotators_who_see_more_is_found_on_the_same_images(people):
    study = simulated("a", {"Mexican": {"woman": 0.8, "man": 0.3}}, people=people, images=12)
    found = compared(study, by="gender", first="Woman", second="man")
    planted = found["Mexican", "", "l_stereo"]
    assert planted.low <= 0.5 <= planted.high
    assert planted.low > 0
    assert not compared(study, by="gender", first="woman", second="nobody")


def test_two_image_sets_of_one_study_are_compared(people):
    study = simulated("a", {"Mexican": 0.8}, people=people)
    picture = factories.image(index=50, image_set=factories.image_set("second"))
    unit = factories.page_unit(study.tasks.get(), picture=picture, texts=TEXTS)
    factories.response(unit, values=[0, 0, 0, 0, 1], who=people[0])
    found = compared(study, by="image_set", first="test-set", second="second", resamples=0)
    first = compared(study, by="image_set", first="second", second="test-set", resamples=0)
    assert found["Mexican", "", "l_stereo"].value == pytest.approx(-first["Mexican", "", "l_stereo"].value)
    assert 0.6 < found["Mexican", "", "l_stereo"].value < 1
    assert ("Mexican", "", "l_stereo_p") not in found


def answers_of(study, gender):
    """{(image, person): {attribute: value}} of those of one gender, read row by row."""
    people = ProfileAnswer.objects.filter(field="gender", value=gender).values("annotator")
    found = {}
    rows = Judgement.objects.filter(
        response__unit__task__study=study, response__annotator__in=people, option__attribute__isnull=False
    )
    for image, who, text, value in rows.values_list(
        "response__unit__image", "response__annotator", "option__attribute__text", "value"
    ):
        found.setdefault((image, who), {})[text] = value
    return found


def plain_tendency(answers, times):
    """l_stereo, l_random and theta, each answer counted as often as `times` says of its image and person."""
    likely = {}
    for text in TEXTS:
        n = sum(times(*key) for key in answers)
        k = sum(times(*key) * said[text] for key, said in answers.items())
        likely[text] = k / n if n else float("nan")
    stereo, random = ((likely[one] + likely[two]) / 2 for one, two in (TEXTS[:2], TEXTS[2:]))
    return stereo, random, stereo / random if random else float("inf")


def plain_intervals(answers, *, resamples, seed):
    """95 % intervals of the three: images and people drawn with replacement, one resample after the other."""
    rng = np.random.default_rng(seed)
    images, people = (sorted({key[place] for key in answers}) for place in (0, 1))
    drawn = []
    for _ in range(resamples):
        seen = rng.choice(images, len(images)).tolist()
        asked = rng.choice(people, len(people)).tolist()
        drawn.append(plain_tendency(answers, lambda i, p, s=seen, a=asked: s.count(i) * a.count(p)))
    return np.quantile(drawn, [0.025, 0.975], axis=0, method="inverted_cdf").T


def test_each_side_stands_beside_the_difference_as_a_plain_program_counts_it(people):
    study = simulated("a", {"Mexican": {"woman": 0.8, "man": 0.3}}, people=people, images=30)
    found = compared(study, by="gender", first="woman", second="man", resamples=1000)
    for place, (part, gender) in enumerate((("side: first", "woman"), ("side: second", "man"))):
        answers = answers_of(study, gender)
        plain = plain_tendency(answers, lambda *_: 1)
        intervals = plain_intervals(answers, resamples=1000, seed=place)
        for name, n, value, ends, near in zip(
            ("l_stereo", "l_random", "theta"), (2, 2, 4), plain, intervals, (0.03, 0.03, 1.5), strict=True
        ):
            row = found["Mexican", part, name]
            assert (row.n, row.value) == (n, pytest.approx(value)), (part, name)
            assert [row.low, row.high] == pytest.approx(ends, abs=near), (part, name)
    first, second = (found["Mexican", part, "l_stereo"].value for part in ("side: first", "side: second"))
    assert found["Mexican", "", "l_stereo"].value == pytest.approx(first - second)


def test_the_sides_of_the_mean_are_means_over_the_groups(people):
    study = simulated("a", {"Mexican": 0.8, "Nepali": 0.3}, people=people, images=15)
    found = compared(study, by="gender", first="woman", second="man", resamples=100)
    for part in ("side: first", "side: second"):
        means = [
            np.mean([found[group, part, name].value for group in ("Mexican", "Nepali")])
            for name in ("l_stereo", "l_random")
        ]
        said = [found["", part, name] for name in ("l_stereo", "l_random", "theta")]
        assert [row.value for row in said] == pytest.approx([*means, means[0] / means[1]])
        assert {row.n for row in said} == {2}
        assert all(row.low < row.high for row in said)


def test_a_side_of_another_study_is_its_tendency(people):
    first = simulated("a", {"Mexican": 0.7}, people=people, images=4)
    other = simulated(
        "b", {"Mexican": 0.2}, people=people, images=4, image_set=factories.image_set("b"), seed=1
    )
    for variant in ("corrected", "published"):
        found = compared(first, against=other.name, variant=variant)
        for part, study in (("side: first", first), ("side: second", other)):
            alone = compared(study, "tendency", variant=variant)
            for name in ("l_stereo", "l_random", "theta"):
                one, same = found["Mexican", part, name], alone["Mexican", "", name]
                assert (one.value, one.n) == (same.value, same.n), (variant, part, name)


def test_groups_of_one_of_two_studies_are_not_compared(people):
    first = simulated("a", {"Mexican": 0.7, "Nepali": 0.2}, people=people, images=2)
    here = {"Peruvian": 0.7, "Nepali": 0.2}
    other = simulated("b", here, people=people, images=2, image_set=factories.image_set("b"))
    found = compared(first, against=other.name)
    assert {group for group, _, _ in found} == {"Nepali", ""}


def test_a_group_with_a_single_stereotype_is_not_compared(people):
    study = simulated("a", {"Mexican": 0.7, "Nepali": 0.2}, people=people, images=2)
    Association.objects.filter(group__name="Nepali", attribute__text="hat").update(out_stereotypical=1)
    found = compared(study, resamples=0, by="gender", first="woman", second="man")
    assert {group for group, _, _ in found} == {"Mexican", ""}
    assert (found["Mexican", "", "l_stereo"].n, found["", "", "l_stereo"].n) == (4, 1)
    assert compared(study, "tendency_contrast", resamples=0) == {}


def test_a_group_and_a_region_that_differ_from_the_rest_are_found(people):
    study = simulated("a", {"Mexican": 0.8, "Peruvian": 0.8, "Nepali": 0.2}, people=people)
    found = compared(study, "tendency_contrast")
    region = found["", "region: Latin America", "l_stereo"]
    assert region.low <= 0.6 <= region.high
    assert region.low > 0
    assert region.n == 2
    assert found["", "region: South Asia", "l_stereo"].value == pytest.approx(-region.value)
    assert found["", "region: Latin America", "l_stereo_q"].value < 0.05
    assert found["Nepali", "", "l_stereo"].value == pytest.approx(-region.value)
    assert found["Mexican", "", "l_stereo"].value > 0
    assert ("", "", "l_stereo") not in found


def test_a_region_is_compared_with_groups_of_none_which_are_no_region(people):
    study = simulated("a", {"Mexican": 0.8, "Nepali": 0.2}, people=people, images=4)
    IdentityGroup.objects.filter(name="Nepali").update(region="")
    found = compared(study, "tendency_contrast", resamples=0)
    assert {part for group, part, _ in found if not group and ";" not in part} == {"region: Latin America"}


def test_biases_that_were_planted_are_in_the_intervals_of_tendency(people):
    rates = {"Mexican": 0.7, "Peruvian": 0.4, "Nepali": 0.1}
    found = compared(simulated("a", rates, people=people, images=15), "tendency")
    for group, rate in rates.items():
        assert found[group, "", "l_stereo"].low <= rate <= found[group, "", "l_stereo"].high
        assert found[group, "", "l_random"].low <= 0.1 <= found[group, "", "l_random"].high


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({}, "Say what to compare"),
        ({"against": "b", "by": "gender"}, "one of the two"),
        ({"against": "odd"}, "no study 'odd'"),
        (
            {"by": "height", "first": "a", "second": "b"},
            "by gender, origin, pool, image_set; not by 'height'",
        ),
        ({"by": "gender", "first": "a"}, "Say which two to compare by gender"),
        ({"by": "gender", "first": "a", "second": "a"}, "Say which two to compare by gender"),
    ],
)
def test_what_cannot_be_compared_is_refused_with_the_cure(parameters, message):
    with pytest.raises(ValueError, match=message):
        compared(factories.study("a"), **parameters)


def test_studies_without_answers_give_no_rows():
    study, other = factories.study("a"), factories.study("b")
    assert compared(study, against=other.name) == {}
    assert compared(study, "tendency_contrast") == {}


def test_a_run_is_out_of_date_when_the_other_study_changes(people):
    study = simulated("a", {"Mexican": 0.7}, people=people, images=2)
    other = simulated("b", {"Mexican": 0.2}, people=people, images=2, image_set=factories.image_set("b"))
    wanted = {"metric": "tendency_difference", "variant": "corrected", "resamples": 100}
    first = score_runs.request(study=study, parameters={"against": "b"}, **wanted)
    assert score_runs.compute(run_id=first.pk).state == JobState.DONE
    assert score_runs.request(study=study, parameters={"against": "b"}, **wanted) == first
    picture = factories.image(index=9, image_set=factories.image_set("b"))
    factories.response(factories.page_unit(other.tasks.get(), picture=picture), who=people[0])
    assert score_runs.request(study=study, parameters={"against": "b"}, **wanted) != first


def forgetful(people, annotators):
    return people._rng.poisson(1.0, size=(people._resamples, len(annotators)))


@pytest.mark.parametrize(
    ("metric", "part", "hangs_on_who"),
    [
        ("tendency_difference", "side: first", True),
        ("tendency_contrast", "region: Latin America", False),
    ],
)
def test_what_one_person_does_in_all_groups_does_not_cancel(people, monkeypatch, metric, part, hangs_on_who):
    """Of three people one sees everything and the others nothing, in every group: the mean over groups hangs
    on who they are, and a region against the others, judged by the same people, does not."""
    rates = dict.fromkeys(REGIONS, 0.5)
    study = simulated("a", rates, people=people)
    others = [factories.annotator(profile={"gender": "woman"}) for _ in people]
    simulated("b", rates, people=others, image_set=factories.image_set("b"), seed=1)
    for place, who in enumerate(people):
        Judgement.objects.filter(response__annotator=who, option__attribute__text__in=TEXTS[:2]).update(
            value=int(place == 0)
        )
    asked = {"against": "b"} if metric == "tendency_difference" else {}

    def width():
        row = compared(study, metric, **asked)["", part, "l_stereo"]
        return row.high - row.low

    once = width()
    monkeypatch.setattr(bootstrap.AnnotatorDraws, "weights", forgetful)
    anew = width()
    assert (once > 1.2 * anew) if hangs_on_who else (once < anew / 2)


def test_metrics_that_share_resamples_draw_people_once_as_those_that_do_not(people):
    study = simulated("a", {"Mexican": 0.7, "Peruvian": 0.4, "Nepali": 0.3}, people=people)
    alone = {metric: compared(study, metric, 100) for metric in ("tendency", "tendency_contrast")}
    with sharing_resamples():
        assert {metric: compared(study, metric, 100) for metric in alone} == alone
