"""A release of a study whose people judged a random part: all units, and why some have no answers."""

import io
import json
import tomllib

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from annotation.models import Task
from annotation.studies.queries.fill import units_for_people
from metrics.machine_judges.scores.part import check_part
from metrics.score_runs.metric import NothingToCompute
from tests import factories
from tests.annotation.releases.test_import import changed
from tests.annotation.releases.world import ASIAN_WOMAN, about, answered, people, released, rows

pytestmark = pytest.mark.django_db
SENTENCE = "People judged a random part: 40 % of the items, drawn with the task's seed"


@pytest.fixture
def bundle(tmp_path):
    study = answered(people((ASIAN_WOMAN, 5)), units=2)
    task = study.tasks.get()
    for number in range(3):
        factories.attribute_unit(task, f"for the machine {number}").slots.all().delete()
    Task.objects.update(people_share=0.4, people_units=2)
    return released(study, tmp_path / "r")


def test_the_tables_have_all_units_and_the_documents_say_why_some_have_no_answers(bundle):
    assert {row["unit"] for row in rows(bundle, "units.csv")} == set("12345")
    assert {row["unit"] for row in rows(bundle, "annotations.csv")} == set("12")
    assert about(bundle)["tasks"][0]["people_share"] == 0.4
    assert SENTENCE in (bundle / "README.md").read_text()
    missing = json.loads((bundle / "croissant.json").read_text())["rai:dataCollectionMissingData"]
    assert f"are left out. visual nature of an attribute: {SENTENCE}" in missing
    assert tomllib.loads((bundle / "study.toml").read_text())["tasks"][0]["people_share"] == 0.4


def test_a_study_without_a_share_says_nothing_of_it(tmp_path):
    folder = released(answered(people((ASIAN_WOMAN, 5)), units=2), tmp_path / "r")
    assert about(folder)["tasks"][0]["people_share"] is None
    assert "random part" not in (folder / "README.md").read_text() + (folder / "croissant.json").read_text()


def test_the_share_comes_back_with_the_release(bundle):
    call_command("import_release", str(bundle), name="again", stdout=io.StringIO())
    task = Task.objects.get(study__name="again")
    assert (task.people_share, task.people_units) == (0.4, 2)
    assert (units_for_people(task=task).count(), task.units.count()) == (2, 5)


def test_the_number_of_units_of_the_part_comes_back_where_some_have_no_answers(bundle):
    changed(bundle, "release.json", '"people_units": 2', '"people_units": 3')
    call_command("import_release", str(bundle), name="again", stdout=io.StringIO())
    task = Task.objects.get(study__name="again")
    assert task.people_units == 3
    with pytest.raises(NothingToCompute, match="has 3 units, and 2 have slots here"):
        check_part(task)


def test_a_number_of_units_that_is_none_is_refused(bundle):
    changed(bundle, "release.json", '"people_units": 2', '"people_units": -2')
    with pytest.raises(CommandError, match=r"release\.json"):
        call_command("import_release", str(bundle), name="again", stdout=io.StringIO())


@pytest.mark.parametrize("share", ["1.5", '"most"', "NaN"])
def test_a_share_that_is_none_is_refused(bundle, share):
    changed(bundle, "release.json", '"people_share": 0.4', f'"people_share": {share}')
    with pytest.raises(CommandError, match=r"release\.json"):
        call_command("import_release", str(bundle), name="again", stdout=io.StringIO())
    assert not Task.objects.filter(study__name="again").exists()
