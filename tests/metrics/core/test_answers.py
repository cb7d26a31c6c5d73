"""Which answers count, and what is said of where they come from."""

import pytest

from metrics.core.answers import has_simulated_answers
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
