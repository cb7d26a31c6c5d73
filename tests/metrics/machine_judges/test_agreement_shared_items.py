"""Only what two people answered is compared with a judge."""

from __future__ import annotations

import pytest

from annotation.models import Box, Response, TaskKind
from tests import factories
from tests.metrics import cast, votes_cast
from tests.metrics.machine_judges.judged import judge
from tests.metrics.machine_judges.test_agreement_scores import of, scores

pytestmark = pytest.mark.django_db


def test_what_one_person_drew_alone_is_on_neither_side_of_the_boxes():
    """On six images two people draw nearly the judge's box, on six one of three draws half of it."""
    study = factories.study()
    task = factories.task(study, kind=TaskKind.DEPICTION)
    people = [factories.annotator() for _ in range(3)]
    for index in range(1, 13):
        picture = factories.image(group_name="Mexican", index=index)
        unit = factories.page_unit(task, picture=picture, texts=("hat",))
        for place, person in enumerate(people):
            draws = place == 0 or (place == 1 and index <= 6)
            given = factories.response(unit, values=[int(draws), int(not draws)], who=person)
            if draws:
                drawn = given.judgements.get(value=1)
                size = {"image_width": 512, "image_height": 512}
                Box.objects.create(judgement=drawn, x0=0, y0=0, x1=100, y1=100 if index <= 6 else 50, **size)
    run = judge(
        study,
        TaskKind.DEPICTION,
        lambda option, *_: int(option.attribute is not None),
        boxes=lambda option: [[0, 0, 100, 100 - option.unit.image.index]],
    )
    found = scores(study, run, clustered=True)
    for about in ({}, {"group": "Mexican"}, {"attribute": "hat"}):
        judged, others, apart = (
            of(found, name, **about) for name in ("judge_iou", "people_iou", "iou_difference")
        )
        assert (judged.value, others.value, apart.value) == pytest.approx((0.965, 1, -0.035))
        assert (judged.n, others.n, apart.n) == (12, 6, 18)
        assert judged.low < judged.value < judged.high
        assert apart.low is None  # of three people
    again = factories.task(study, kind=TaskKind.DEPICTION, version=2)
    unit = factories.page_unit(again, picture=picture, texts=("hat",))
    for person in people:  # draw something about the last image in another version of the task
        drawn = factories.response(unit, values=[1, 0], who=person).judgements.get(value=1)
        Box.objects.create(judgement=drawn, x0=0, y0=0, x1=9, y1=9, **size)
    Response.objects.filter(unit__task=task).update(annotator=None)  # now nobody knows who drew what
    found = scores(study, run)
    for name, number in (("judge_iou", 12), ("people_iou", 6)):
        assert of(found, name).n == number


def test_confusion_is_of_units_with_one_answer_too():
    study = cast.visual_study({"hat": [5], "kind": [1, 1]}, strata=("any", "any"))
    found = scores(study, judge(study, TaskKind.VISUAL_NATURE, lambda *_: 5))
    assert (of(found, "judge_percentage").n, of(found, "judge_percentage").k) == (2, 0)
    assert found["confusion", "people: 5; judge: 5", "", ""].k == 1
    about = {attribute for name, *_, attribute in found if name == "judge_percentage"}
    assert about == {"", "kind"}
    # chance is that of other units, of which there are none
    assert not {name for name, *_ in found} & {"judge_kappa", "people_alpha", "kappa_difference"}


def test_a_group_of_which_two_count_is_not_shown():
    """Three people of a group, of whom one answers where no other of the group does."""
    study = factories.study()
    factories.group("Mexican", region="Latin America")
    task = factories.task(study, kind=TaskKind.PREVALENCE, strata=("any",) * 5)
    outside = [factories.annotator(profile=votes_cast.PEOPLE["outside"]) for _ in range(4)]
    inside = [factories.annotator(profile=votes_cast.PEOPLE["inside"]) for _ in range(3)]
    for text, some in (("poor", inside[:2]), ("tall", inside[2:])):
        unit = votes_cast.association_unit(task, "Mexican", text)
        for person in (*outside[: 5 - len(some)], *some):
            factories.response(unit, values=[1], who=person)
    found = scores(study, judge(study, TaskKind.PREVALENCE, lambda *_: 1), by="pool")
    assert of(found, "people_percentage").n == 20
    assert not any("annotators: in-region" in part for _, part, *_ in found)


def test_who_was_unsure_does_not_count_where_unsure_is_no_answer():
    """Three women, of whom one is unsure: as two they are not shown, nor the men, who are all others."""
    study = factories.study()
    task = factories.task(study, kind=TaskKind.ASSOCIATION, strata=("any",) * 7)
    unit = votes_cast.association_unit(task, "Mexican", "poor")
    for value, gender in ((0, "woman"), *[(3, "woman")] * 2, *[(3, "man")] * 4):
        factories.response(unit, values=[value], who=factories.annotator(profile={"gender": gender}))
    found = scores(study, judge(study, TaskKind.ASSOCIATION, lambda *_: 3), by="gender")
    shown = {part.partition(";")[0] for _, part, *_ in found if "annotators" in part}
    assert shown == {"reading: nominal"}


def test_people_who_are_not_identified_are_not_counted_as_few():
    study = cast.visual_study({"hat": [5, 5], "kind": [1, 2]}, strata=("any", "any"))
    run = judge(study, TaskKind.VISUAL_NATURE, lambda option, *_: 5 if option.attribute.text == "hat" else 1)
    assert Response.objects.filter(annotator=None).count() == 4
    apart = of(scores(study, run, clustered=True), "percentage_difference")
    assert apart.low < apart.value == 25 < apart.high
