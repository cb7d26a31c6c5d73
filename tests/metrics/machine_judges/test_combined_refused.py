"""Where combined scores are refused: nothing says that the part is random, whole or answered."""

from __future__ import annotations

import pytest

from annotation.models import Annotator, Association, Purpose, Response, Slot, Study, Unit
from generation.models import Answer
from metrics.machine_judges.data import read_judge
from metrics.machine_judges.scores import part
from metrics.machine_judges.scores.combined import judge_combined_scores
from metrics.score_runs import registry
from metrics.score_runs.metric import NothingToCompute
from metrics.score_runs.rows import Inputs
from tests import factories
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
    study = depiction(pages=3)
    judges(study)
    rows_of(study)
    study.tasks.update(people_units=3 * PART - 1)
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
    gold = factories.page_unit(study.tasks.get(), picture=factories.image(index=99))
    Unit.objects.filter(pk=gold.pk).update(purpose=Purpose.GOLD)
    rows_of(study)  # what people are asked to see how well they answer is in no part
    units = study.tasks.get().units.all()
    missing = factories.open_slots(*units.filter(slots__isnull=True))
    study.tasks.update(people_units=IMAGES)
    assert "all items or none" in refusal(study)
    Slot.objects.filter(pk__in=[slot.pk for slot in missing]).delete()
    Response.objects.all().delete()
    Slot.objects.all().delete()
    assert "all items or none" in refusal(study)


def test_it_is_refused_where_a_judge_lacks_more_than_a_few_answers(monkeypatch):
    study = depiction(pages=3)
    run = judges(study)
    answers = list(Answer.objects.filter(run=run).order_by("-pk"))
    assert len(answers) == 3 * IMAGES
    Answer.objects.filter(pk__in=[each.pk for each in answers[:2]]).update(text="I cannot see it.")
    rows_of(study)  # 2 of 48
    with monkeypatch.context() as changed:
        changed.setattr(part, "MOST_LACKING", 2 / 48)
        part.asked_part(read_judge(run, study))
    Answer.objects.filter(pk=answers[2].pk).delete()
    assert "no readable answer about 3 of 48 items" in refusal(study)


def test_only_groups_with_images_on_both_sides_of_the_part_and_two_stereotypes_are_reported():
    study = depiction()
    task = study.tasks.get()
    inside = factories.page_unit(task, picture=factories.image(group_name="Nepali", index=99))
    for who in Annotator.objects.filter(responses__isnull=False).distinct():
        factories.response(inside, who=who)
    study.tasks.update(people_units=PART + 1)
    for text in ("hat", "sombrero"):
        factories.association(group_name="Nepali", text=text, from_source=study.stereotype_source)
    judges(study)
    found = judge_combined_scores(Inputs(study, parameters={"judge": "j"}))
    assert {row.group for row in found} == {"Mexican"}
    assert {row.low for row in found} == {None}  # none were asked for
    rule = registry.get("judge_combined").rule
    assert "stereotypical: at least" in rule(study, {"judge": "j"})
    assert rule(study, {"judge": "x"}) == "no machine judge"
    Association.objects.filter(attribute__text="hat").update(in_stereotypical=0, out_stereotypical=0)
    with pytest.raises(NothingToCompute):
        judge_combined_scores(Inputs(Study.objects.get(pk=study.pk), parameters={"judge": "j"}))
