"""Which attributes another study found visual: by its rule, and by the answers that count."""

import pytest

from annotation.models import Purpose, Response, TaskKind
from annotation.studies.units.draws import visual_attributes
from tests import factories

pytestmark = pytest.mark.django_db


def rated(unit, *values: int) -> list[Response]:
    return [factories.response(unit, values=[value]) for value in values]


@pytest.mark.parametrize(
    ("rule", "visual"),
    [
        ({"visual_mean": 4.0}, {"hat"}),
        ({"visual_mean": 4.01}, set()),
        ({"visual_rule": 2}, {"hat"}),
        ({"visual_rule": 3}, set()),
        ({}, set()),
    ],
)
def test_a_mean_or_as_many_as_the_rule_says_are_enough(rule, visual):
    study = factories.rating_study(texts=("hat",), **rule)
    rated(study.tasks.get().units.get(), 5, 4, 3)
    assert visual_attributes(study=study) == visual


def test_surplus_answers_check_items_and_other_tasks_say_nothing_of_what_is_visual():
    study = factories.rating_study(texts=("hat",), strata=("any",) * 4)
    task = study.tasks.get()
    *_, surplus = rated(task.units.get(), 5, 4, 4, 1)
    Response.objects.filter(pk=surplus.pk).update(slot=None)
    assert visual_attributes(study=study) == {"hat"}
    gold = factories.attribute_unit(task, "hat", purpose=Purpose.GOLD, repeat=1)
    rated(gold, 1)
    offensive = factories.task(study, kind=TaskKind.OFFENSIVENESS)
    rated(factories.attribute_unit(offensive, "hat"), 1)
    assert visual_attributes(study=study) == {"hat"}
