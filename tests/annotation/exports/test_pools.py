"""Which pool an answer belongs to: of whoever lives in the region judged, or identifies with it from North
America (PROTOCOL §3)."""

import pytest

from annotation.exports.selection import Selection, with_pools
from annotation.models import Judgement, TaskKind
from tests import factories

pytestmark = pytest.mark.django_db
HERE, NORTH, ELSEWHERE = "Latin America", "North America", "Europe"


@pytest.mark.parametrize(
    ("region", "residence", "identity", "pools"),
    [
        (HERE, HERE, HERE, (True, False)),
        (HERE, HERE.lower(), ELSEWHERE, (True, False)),
        (HERE, NORTH, HERE.lower(), (False, True)),
        (HERE, NORTH, NORTH, (False, False)),
        (HERE, ELSEWHERE, HERE, (False, False)),
        (NORTH, NORTH, NORTH, (True, False)),
        ("", NORTH, HERE, (False, False)),
    ],
)
def test_a_pool_is_told_by_where_somebody_lives_and_what_they_identify_with(
    region, residence, identity, pools
):
    group = factories.group("Mexican", region=region)
    study = factories.study()
    task = factories.task(study, kind=TaskKind.DEPICTION, image_set=factories.image_set())
    unit = factories.page_unit(task, picture=factories.image(group_name=group.name))
    who = factories.annotator(profile={"residence": residence, "identity_region": identity})
    factories.response(unit, who=who)
    factories.annotator(profile={"residence": HERE, "identity_region": HERE})
    found = with_pools(Selection(study).judgements())
    assert {(row.in_region, row.out_region) for row in found} == {pools}
    assert found.count() == Judgement.objects.count()
