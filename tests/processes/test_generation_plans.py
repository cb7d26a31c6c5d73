"""The same plan made by two people at the same moment: one run, every job once, every number once."""

from __future__ import annotations

import json

import pytest

from tests.processes.conftest import Installation

pytestmark = pytest.mark.processes

# Both wait until the other is there too, then plan at once. GROUPS: how many; FIRST: from which on.
PLAN = """
import json, sys, time
from pathlib import Path
import django
django.setup()
from annotation.models import IdentityGroup
from generation.recipes.recipes import ImageRecipe
from generation.plans import services as plans
from generation.runs import services as runs
first, last, per_prompt, meeting, me = sys.argv[1:]
groups = list(IdentityGroup.objects.order_by("name")[int(first):int(last)])
recipe = ImageRecipe(
    backend="fake", model="fake", width=64, height=64, images_per_prompt=int(per_prompt)
)
Path(meeting, me).touch()
while len(list(Path(meeting).iterdir())) < 2:
    time.sleep(0.001)
plan = plans.plan_images(recipe=recipe, groups=groups, image_set="together")
ensured = runs.ensure(plan=plan, by=None)
print(json.dumps([ensured.run.pk, ensured.added]))
"""
GROUPS = """
import django
django.setup()
from annotation.models import IdentityGroup
IdentityGroup.objects.bulk_create(
    IdentityGroup(name=f"Group {number:03}", demonym=f"Group {number:03}") for number in range(60)
)
"""
FOUND = """
import json
import django
django.setup()
from django.db.models import Count
from annotation.models import AuditEvent, ImageSet
from generation.models import Job, Run
doubled = Job.objects.values("group", "prompt", "number").annotate(n=Count("pk")).filter(n__gt=1)
numbered = Job.objects.values("group", "index").annotate(n=Count("pk")).filter(n__gt=1)
print(json.dumps([
    ImageSet.objects.count(), Run.objects.count(), Job.objects.count(), doubled.count(), numbered.count()
]))
"""


def together(installation: Installation, meeting, *plans: tuple[int, int, int]) -> list[list[int]]:
    """Make these plans (first group, last group, pictures a prompt) at once; run and added of each."""
    meeting.mkdir()
    both = [installation.python("-c", PLAN, *plan, meeting, number) for number, plan in enumerate(plans)]
    said = [process.communicate() for process in both]
    assert [process.returncode for process in both] == [0, 0], [err for _, err in said]
    return [json.loads(out) for out, _ in said]


@pytest.fixture
def peopled(installation: Installation) -> Installation:
    installation.env["DJANGO_SETTINGS_MODULE"] = "visage_app.settings"
    installation.run("-c", GROUPS)
    return installation


def test_the_same_plan_twice_is_one_run(peopled: Installation, tmp_path):
    # 3,600 jobs are several parts: the two take turns
    one, other = together(peopled, tmp_path / "meeting", (0, 60, 20), (0, 60, 20))
    assert one[0] == other[0]
    assert one[1] + other[1] == 3600
    assert json.loads(peopled.run("-c", FOUND)) == [1, 1, 3600, 0, 0]


def test_two_plans_that_overlap_add_what_each_wants(peopled: Installation, tmp_path):
    one, other = together(peopled, tmp_path / "meeting", (0, 40, 20), (20, 60, 20))
    assert one[0] == other[0]
    assert one[1] + other[1] == 3600
    assert json.loads(peopled.run("-c", FOUND)) == [1, 1, 3600, 0, 0]


def test_two_runs_of_one_set_do_not_make_a_picture_twice(peopled: Installation, tmp_path):
    one, other = together(peopled, tmp_path / "meeting", (0, 60, 20), (0, 60, 12))
    assert one[0] != other[0]
    assert one[1] + other[1] == 3600
    assert json.loads(peopled.run("-c", FOUND)) == [1, 2, 3600, 0, 0]


def test_the_command_twice_at_once_makes_every_picture_once(peopled: Installation, tmp_path):
    arguments = ["generate", "trial", "--groups", "Group 001", "Group 002", "--backend", "fake"]
    both = [
        peopled.python("manage.py", *arguments, "--size", "64x64", "--images-per-prompt", "20")
        for _ in range(2)
    ]
    said = [process.communicate() for process in both]
    assert [process.returncode for process in both] == [0, 0], [err for _, err in said]
    assert json.loads(peopled.run("-c", FOUND)) == [1, 1, 120, 0, 0]
    assert len(list((tmp_path / "media" / "images").glob("*.png"))) == 120
    for out, _ in said:
        assert "is done: 120 of 120" in out
