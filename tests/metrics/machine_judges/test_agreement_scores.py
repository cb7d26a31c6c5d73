"""The agreement of made-up judges with people, as stored."""

from __future__ import annotations

import random

import numpy as np
import pytest

from annotation.models import (
    Annotator,
    Box,
    IdentityGroup,
    Judgement,
    OptionRole,
    ProfileAnswer,
    Study,
    TaskKind,
)
from metrics.core.stats.differences import false_discovery
from metrics.machine_judges.scores.agreement import judge_agreement_scores
from metrics.machine_judges.stats import shares
from metrics.score_runs import registry
from metrics.score_runs.evaluation import inputs_digest
from metrics.score_runs.metric import NothingToCompute
from metrics.score_runs.rows import Inputs
from tests import factories
from tests.metrics import cast, votes_cast
from tests.metrics.machine_judges.judged import answer, judge, planned

pytestmark = pytest.mark.django_db

TEXTS = ("poor", "hat")
REGIONS = {"Nepali": "South Asia", "Mexican": "Latin America"}
IMAGES = 8
PEOPLE = 5


def is_depicted(option) -> bool:
    """Hats in images of an even number, poverty in the others."""
    return (option.attribute.text == "hat") == (option.unit.image.index % 2 == 0)


def picture_study() -> Study:
    """Images of a group of each of two regions; four of five people answer what is depicted, and a fifth,
    another one for each image, the contrary."""
    study = factories.study()
    task = factories.task(study, kind=TaskKind.DEPICTION, strata=("any",) * PEOPLE)
    people = [factories.annotator() for _ in range(PEOPLE)]
    answers = []
    for name, region in REGIONS.items():
        factories.group(name, region=region)
        pictures = factories.images(range(1, IMAGES + 1), group_name=name, of=factories.image_set("judged"))
        for unit in factories.page_units(task, [(picture, TEXTS) for picture in pictures]):
            right = [int(is_depicted(option)) for option in unit.options.exclude(attribute=None)]
            for place, person in enumerate(people):
                said = [1 - each for each in right] if unit.image.index % PEOPLE == place else right
                answers.append((unit, [*said, 0], person))
    factories.responses(answers)
    return study


def scores(study: Study, run, *, by="none", clustered=False):
    """{(name, part, group, attribute): row}."""
    found = judge_agreement_scores(
        Inputs(study, clustered=clustered, parameters={"judge": run.name, "by": by})
    )
    named = {(row.name, row.part, row.group, row.attribute): row for row in found}
    assert len(named) == len(found)
    return named


def of(found, name, ending="", *, group="", attribute="", level="nominal"):
    return found[name, f"reading: {level}{ending}", group, attribute]


def as_most(option, *_) -> int:
    return int(is_depicted(option)) if option.attribute else 0


@pytest.fixture(scope="module")
def made(once) -> int:
    return once(picture_study).made.pk


@pytest.fixture
def study(made, db) -> Study:
    return Study.objects.get(pk=made)


def test_a_judge_that_answers_as_most_people_agrees_more_than_they_do(study):
    found = scores(study, judge(study, TaskKind.DEPICTION, as_most), clustered=True)
    units = len(REGIONS) * IMAGES * len(TEXTS)
    row = of(found, "judge_percentage")
    assert (row.n, row.k, row.value) == (PEOPLE * units, 4 * units, 80)
    assert 50 < row.low < 80 < row.high <= 100
    row = of(found, "people_percentage")
    assert (row.n, row.k, row.value) == (10 * units, 6 * units, 60)
    row = of(found, "percentage_difference")
    assert (row.value, row.n) == (pytest.approx(20), (PEOPLE + 10) * units)
    assert 1 < row.low < 20 < row.high
    assert of(found, "percentage_difference_p").value <= of(found, "percentage_difference_q").value < 0.01
    assert of(found, "judge_kappa").value == pytest.approx(0.6)
    assert of(found, "judge_kappa").n == of(found, "people_alpha").n == units
    assert of(found, "judge_percentage", attribute="hat").n == PEOPLE * units / 2
    assert of(found, "judge_percentage", group="Nepali").n == PEOPLE * units / 2
    listed = [(part[16:], *about) for name, part, *about in found if name == "judge_percentage"]
    assert listed[1:] == [
        ("; region: Latin America", "", ""),
        ("; region: South Asia", "", ""),
        ("", "Mexican", ""),
        ("", "Nepali", ""),
        ("", "", "hat"),
        ("", "", "poor"),
    ]
    assert not any(name == "unusable" and part for name, part, *_ in found)
    assert not any("annotators" in part for _, part, *_ in found)
    assert found["unusable", "", "", ""].value == 0


def test_a_judge_that_tosses_coins_agrees_by_chance(study):
    coins = random.Random(4)
    run = judge(
        study, TaskKind.DEPICTION, lambda option, *_: int(coins.random() < 0.5) if option.attribute else 0
    )
    found = scores(study, run, clustered=True)
    row = of(found, "judge_kappa")
    assert row.low < 0 < row.high
    assert of(found, "kappa_difference").value == pytest.approx(row.value - of(found, "people_alpha").value)


def test_a_judge_that_is_wrong_in_one_region_is_wrong_there_only(study):
    def but_in_asia(option, *_) -> int:
        right = as_most(option)
        return 1 - right if option.attribute and option.unit.image.group.name == "Nepali" else right

    found = scores(study, judge(study, TaskKind.DEPICTION, but_in_asia), clustered=True)
    asia, america = (
        of(found, "judge_percentage", f"; region: {name}") for name in ("South Asia", "Latin America")
    )
    assert (america.value, asia.value) == (80, 20)
    assert asia.high < america.low
    assert of(found, "judge_percentage", group="Nepali").value == 20
    for name in ("South Asia", "Latin America"):
        assert of(found, "people_percentage", f"; region: {name}").value == 60
    assert of(found, "percentage_difference_q", "; region: South Asia").value < 0.01
    p, q = (
        [
            of(found, f"{measure}_difference_{one}", f"; region: {name}").value
            for name in ("South Asia", "Latin America")
            for measure in ("percentage", "kappa")
        ]
        for one in "pq"
    )
    assert q == pytest.approx(false_discovery(p))
    assert q != p
    assert of(found, "percentage_difference", "; region: Latin America").value > 0


def test_confusion_adds_up(study):
    found = scores(study, judge(study, TaskKind.DEPICTION, as_most), clustered=True)
    rows = {part: row for (name, part, *_), row in found.items() if name == "confusion"}
    whole = of(found, "judge_percentage")
    assert sum(row.k for row in rows.values()) == whole.n
    assert {row.n for row in rows.values()} == {whole.n / 2}
    assert all(row.value == row.k / row.n for row in rows.values())
    assert all(row.low < row.value < row.high for row in rows.values())
    assert rows["people: 1; judge: 1"].k + rows["people: 0; judge: 0"].k == whole.k
    for value in (0, 1):
        assert sum(rows[f"people: {value}; judge: {each}"].value for each in (0, 1)) == pytest.approx(1)


def test_samples_count_once_and_show_how_stable_the_judge_is(study):
    run = judge(
        study,
        TaskKind.DEPICTION,
        lambda option, variant, sample: as_most(option) if sample < 3 or not option.attribute else 1,
        times=3,
        temperature=1.0,
    )
    found = scores(study, run, clustered=True)
    units = len(REGIONS) * IMAGES * len(TEXTS)
    assert of(found, "judge_percentage").n == PEOPLE * units
    assert of(found, "judge_percentage").value == 80
    row = found["stability", "variant: samples", "", ""]
    # of two answers after the first, the second of the two is another in half of the units
    assert (row.n, row.k) == (2 * units, units + units / 2)
    assert row.low < row.value == 0.75 < row.high
    of_images = np.repeat(np.arange(units / len(TEXTS)), 2 * len(TEXTS))
    alike = shares.share_alike(np.tile([1, 1, 1, 0], len(of_images) // 4), of_images, clustered=True)
    assert (row.low, row.high) == pytest.approx((alike.interval.low, alike.interval.high))


def test_another_order_that_changes_the_answer_shows(study):
    def by_order(option, variant, sample) -> int:
        """In another order, both attributes: one of two is another answer."""
        return int(option.attribute is not None) if variant == "order" else as_most(option)

    steady = scores(study, judge(study, TaskKind.DEPICTION, as_most, again=6, name="steady"))
    assert steady["stability", "variant: order", "", ""].value == 1
    found = scores(study, judge(study, TaskKind.DEPICTION, by_order, again=6, name="by-order"))
    row = found["stability", "variant: order", "", ""]
    assert (row.n, row.k) == (12, 6)
    assert ("stability", "variant: samples", "", "") not in found
    assert of(found, "judge_percentage").value == 80  # what is asked again is no verdict


def test_what_cannot_be_read_is_counted_and_its_units_are_compared_with_nobody(study):
    run = planned(study, TaskKind.DEPICTION, again=2)
    unread = iter(["I cannot see", *['{"chosen": []}'] * 2])

    def text(job) -> str:
        """What is asked again cannot be read, and is not counted."""
        return next(unread, '{"chosen": ["A"]}') if job.key.endswith(".base") else "I cannot see"

    found = scores(study, answer(run, text))
    asked = len(REGIONS) * IMAGES
    assert found["unusable", "problem: nothing", "", ""].value == 2 / asked
    assert (found["unusable", "", "", ""].k, found["unusable", "", "", ""].n) == (3, asked)
    parts = [part for name, part, *_ in found if name == "unusable"]
    assert parts == ["", "problem: nothing", "problem: unreadable"]
    assert of(found, "judge_percentage").n == (asked - 3) * len(TEXTS) * PEOPLE
    assert of(found, "people_percentage").n == (asked - 3) * len(TEXTS) * 10


def test_a_judge_of_whom_nothing_can_be_read_has_what_was_wrong_with_its_answers(study):
    run = answer(planned(study, TaskKind.DEPICTION), lambda job: "I cannot see")
    found = scores(study, run, clustered=True)
    assert {name for name, *_ in found} == {"unusable"}
    assert found["unusable", "problem: unreadable", "", ""].value == 1
    left = run.answers.latest("pk")
    run.answers.exclude(pk=left.pk).delete()
    run.jobs.filter(pk=left.job_id).update(key="1.order")  # which was not asked
    assert scores(study, run) == {}


def test_a_person_who_saw_an_attribute_on_two_pages_is_not_compared_with_themselves(study):
    unit = study.tasks.get().units.first()
    before = scores(study, judge(study, TaskKind.DEPICTION, as_most, name="before"))
    second = factories.page_unit(unit.task, picture=unit.image, page=2, texts=TEXTS)
    factories.responses((second, [0, 1, 0], given.annotator) for given in unit.responses.all())

    def as_most_at_first(option, *_) -> int:
        """And the contrary on the second page, which is no verdict."""
        right = as_most(option)
        return 1 - right if option.attribute and option.unit.page == 2 else right

    after = scores(study, judge(study, TaskKind.DEPICTION, as_most_at_first, name="after"))
    for name in ("judge_percentage", "people_percentage"):
        assert of(after, name) == of(before, name)


def test_boxes_are_compared_where_the_judge_drew_some(study):
    chosen = Judgement.objects.filter(value=1, option__role=OptionRole.UNASSIGNED).order_by("pk")
    for judgement in chosen.filter(option__attribute__text="hat"):
        Box.objects.create(judgement=judgement, x0=0, y0=0, x1=100, y1=100, image_width=512, image_height=512)
    latin = "Latin America"

    def hats_there(option, *_) -> int:
        there = option.unit.image.group.region == latin
        return int(there and option.attribute is not None and option.attribute.text == "hat")

    run = judge(
        study,
        TaskKind.DEPICTION,
        hats_there,
        boxes=lambda option: [[0, 0, 100, 12 * option.unit.image.index]],
    )
    found = scores(study, run, clustered=True)
    hats = (PEOPLE - 1) * IMAGES // 2  # in the other images one person draws a hat alone
    row = of(found, "judge_iou")
    assert (row.value, row.n) == (pytest.approx(0.6), hats)  # 0.24, 0.48, 0.72 and 0.96
    assert row.low < row.value < row.high
    assert of(found, "people_iou").value == 1
    assert (
        of(found, "people_iou").n == 6 * IMAGES // 2
    )  # of the four people who draw them, where the judge does
    apart = of(found, "iou_difference")
    assert apart.value == pytest.approx(-0.4)
    assert apart.low < apart.value < apart.high
    assert of(found, "judge_iou", f"; region: {latin}").n == hats
    assert ("judge_iou", "reading: nominal; region: South Asia", "", "") not in found


def test_unsure_has_no_place_on_the_scale_of_the_judge_either():
    study = cast.visual_study({"hat": [5, 5, 3], "kind": [1, 1, 2], "poor": [4, 4, 4]})
    said = {"hat": 5, "kind": 3, "poor": 4}
    run = judge(study, TaskKind.VISUAL_NATURE, lambda option, *_: said[option.attribute.text])
    found = scores(study, run)
    assert (of(found, "judge_percentage").n, of(found, "judge_percentage").k) == (9, 5)
    row = of(found, "judge_percentage", level="ordinal")
    assert (row.n, row.k) == (5, 5)
    assert of(found, "people_percentage", level="ordinal").n == 1 + 3
    assert not any("region" in part for _, part, *_ in found)
    assert scores(study, run, by="pool") == found  # an attribute has no region that people are of


def test_groups_of_annotators_are_beside_the_judge_unless_they_are_small():
    pair = ("Mexican", "poor")
    said = {"inside": [1, 1, 1], "outside": [0, 0, 0, 0], "elsewhere": [1]}
    study = votes_cast.prevalence_study({pair: said, ("Mexican", "tall"): said})
    run = judge(study, TaskKind.PREVALENCE, lambda *_: 1)
    found = scores(study, run, by="pool")
    # the one person elsewhere would be what the others lack, so the smaller pool is left out as well
    parts = {part for name, part, *_ in found if "annotators" in part}
    assert parts == {
        f"reading: nominal{region}; annotators: out-region" for region in ("", "; region: Latin America")
    }
    row = of(found, "judge_percentage", "; annotators: out-region")
    assert (row.value, row.n) == (0, 8)
    assert of(found, "people_percentage", "; annotators: out-region").value == 100


def test_a_group_of_annotators_is_listed_in_all_regions_and_then_in_each(study):
    ProfileAnswer.objects.bulk_create(
        ProfileAnswer(annotator=one, field="gender", value="g" * 200) for one in Annotator.objects.all()
    )
    found = scores(study, judge(study, TaskKind.DEPICTION, as_most), by="gender")
    rows = {
        part: row for (name, part, *_), row in found.items() if "g" * 9 in part and name.startswith("judge_p")
    }
    assert [part.partition("annotators")[0] for part in rows] == [
        f"reading: nominal; {region}" for region in ("", "region: Latin America; ", "region: South Asia; ")
    ]
    whole = of(found, "judge_percentage").n
    assert [row.n for row in rows.values()] == [whole, whole / 2, whole / 2]
    assert max(map(len, rows)) < 200


def test_few_people_show_no_difference_but_its_size():
    study = cast.depiction_study()
    run = judge(study, TaskKind.DEPICTION, lambda option, *_: int(option.attribute_id is None))
    found = scores(study, run, clustered=True)
    row = of(found, "percentage_difference")
    assert row.value == pytest.approx(
        of(found, "judge_percentage").value - of(found, "people_percentage").value
    )
    assert row.low is None
    assert not any(name.endswith(("_p", "_q")) for name, *_ in found)


def test_a_judge_that_is_not_there_and_another_grouping_are_refused(study):
    with pytest.raises(NothingToCompute, match="no machine judge 'nobody'"):
        judge_agreement_scores(Inputs(study, parameters={"judge": "nobody", "by": "none"}))
    with pytest.raises(ValueError, match="by none, gender, origin, pool; not by 'age'"):
        judge_agreement_scores(Inputs(study, parameters={"judge": "x", "by": "age"}))


def test_scores_are_out_of_date_when_annotators_or_regions_are_others(study):
    run = judge(study, TaskKind.DEPICTION, as_most)

    def digests():
        entry = registry.get("judge_agreement")
        return [inputs_digest(study, entry, {"judge": run.name, "by": by}) for by in ("none", "gender")]

    first = digests()
    ProfileAnswer.objects.create(annotator=Annotator.objects.first(), field="gender", value="woman")
    second = digests()
    assert [one == other for one, other in zip(first, second, strict=True)] == [True, False]
    IdentityGroup.objects.filter(name="Nepali").update(region="Middle East")
    assert [one == other for one, other in zip(second, digests(), strict=True)] == [False, False]
