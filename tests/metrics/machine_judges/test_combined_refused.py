"""Where combined scores are refused: nothing says that the part is random, whole or answered."""

from __future__ import annotations

import pytest

from annotation.models import Response, Slot, Unit
from generation.models import Answer
from metrics.score_runs.metric import NothingToCompute
from tests.metrics.machine_judges.test_combined import IMAGES, PART, depiction, judges, rows_of

pytestmark = pytest.mark.django_db


def refusal(study) -> str:
    with pytest.raises(NothingToCompute) as refused:
        rows_of(study)
    return str(refused.value)


def test_it_is_refused_where_people_were_not_asked_about_a_random_part():
    study = depiction()
    judges(study)
    study.tasks.update(people_share=None)
    assert "Set people_share" in refusal(study)


def test_it_is_refused_while_a_part_is_not_answered():
    study = depiction()
    judges(study)
    first = Response.objects.order_by("pk").first().unit_id
    one, *rest = Response.objects.filter(unit=first)
    one.current = False
    one.save()
    rows_of(study)  # two others have answered
    Response.objects.filter(pk__in=[each.pk for each in rest]).update(current=False)
    assert "without an answer that counts: 1." in refusal(study)


def test_it_is_refused_where_an_image_is_in_the_part_by_half():
    study = depiction(pages=2)
    judges(study)
    rows_of(study)
    study.tasks.update(people_units=2 * PART - 1)
    page = Unit.objects.filter(task__study=study, image__index=101, page=2)
    Response.objects.filter(unit__in=page).delete()
    Slot.objects.filter(unit__in=page).delete()
    assert "only of 1 images" in refusal(study)


@pytest.mark.parametrize("known", [PART + 1, None])
def test_it_is_refused_where_drawn_units_have_no_slots(known):
    """As after a release was imported, which has slots for answers only."""
    study = depiction()
    judges(study)
    study.tasks.update(people_units=known)
    assert f"and {PART} have slots here" in refusal(study)


def test_it_is_refused_where_nothing_or_everything_is_in_the_part():
    study = depiction()
    judges(study)
    Response.objects.all().delete()
    Slot.objects.all().delete()
    assert "all items or none" in refusal(study)


def test_it_is_refused_where_a_judge_lacks_more_than_a_few_answers():
    study = depiction(pages=3)
    run = judges(study)
    answers = list(Answer.objects.filter(run=run).order_by("-pk"))
    assert len(answers) == 3 * IMAGES
    Answer.objects.filter(pk__in=[each.pk for each in answers[:2]]).update(text="I cannot see it.")
    rows_of(study)  # 2 of 48
    Answer.objects.filter(pk=answers[2].pk).delete()
    assert "no readable answer about 3 of 48 items" in refusal(study)
