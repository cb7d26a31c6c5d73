"""Which answers count, and what is said of where they come from."""

import pytest

from annotation.models import Box
from metrics.core.answers import (
    counted_boxes,
    counted_judgements,
    counted_responses,
    has_simulated_answers,
    stereotypes,
)
from tests import factories

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("simulated", [True, False])
def test_answers_are_simulated_if_a_program_gave_one_of_them(simulated):
    study, other = factories.study(), factories.study()
    factories.annotator(simulated=True)
    for each, by_program in ((study, simulated), (other, True)):
        unit = factories.attribute_unit(factories.task(each))
        factories.response(unit, values=[5], who=factories.annotator(simulated=by_program))
    assert has_simulated_answers(study) is simulated


def test_stereotypes_are_those_of_the_studys_own_source():
    mine, other = factories.source("mine"), factories.source("other")
    own = factories.association(text="hat", out_votes=(3, 0, 0), from_source=mine)
    factories.association(text="poor", out_votes=(3, 0, 0), from_source=other)
    assert list(stereotypes(factories.study(stereotype_source=mine))) == [own]
    assert not stereotypes(factories.study(stereotype_source=None)).exists()


def test_answers_count_in_their_own_study_for_their_own_question():
    units = [
        factories.attribute_unit(factories.task(study, kind=kind))
        for study in (factories.study(), factories.study())
        for kind in ("visual_nature", "prevalence")
    ]
    for unit in units:
        factories.response(unit)
    mine = units[0].task.study
    assert counted_responses(mine, "visual_nature").get().unit == units[0]
    assert counted_judgements(mine, "visual_nature").get().response.unit == units[0]


def test_boxes_count_around_attributes_that_were_selected_in_an_answer_of_the_study_that_counts():
    corners = {"x0": 1, "y0": 1, "x1": 3, "y1": 3, "image_width": 64, "image_height": 64}
    drawn = []
    for study in (factories.study(), factories.study()):
        picture = factories.image(image_set=factories.image_set(f"of-{study.pk}"))
        unit = factories.page_unit(factories.task(study, kind="depiction"), picture=picture)
        chosen, passed, *_ = factories.response(unit, values=[1, 0, 0, 0, 0]).judgements.order_by("position")
        drawn += [(study, Box.objects.create(judgement=each, **corners)) for each in (chosen, passed)]
    (mine, box), *_ = drawn
    assert list(counted_boxes(mine, "depiction")) == [box]
