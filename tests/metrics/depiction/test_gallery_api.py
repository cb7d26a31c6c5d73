"""The gallery for a program: what the page shows, and nobody behind it."""

from __future__ import annotations

import pytest

from annotation.models import Annotator
from tests import factories
from tests.annotation.api.calls import Program, is_problem
from tests.metrics.depiction.test_gallery import lead, study  # noqa: F401 - fixtures

pytestmark = pytest.mark.django_db


def test_boxes_of_all_annotators_under_letters(lead, study):  # noqa: F811
    program = Program(lead, "read")
    told = program.get("studies/pictures/gallery").json()
    first = told["results"][0]
    assert (told["next"], told["simulated"], told["people"]) == (None, False, [])
    assert first["people"] == max(one["n"] for one in first["attributes"])
    selected = next(one for one in first["attributes"] if one["k"])
    assert len(selected["by"]) == selected["k"]
    boxes = [box for box in first["boxes"] if box["attribute"] == selected["attribute"]]
    assert {box["by"] for box in boxes} == set(selected["by"])
    assert (boxes[0]["y0"], boxes[0]["height"]) == (10, 190)
    text = program.get("studies/pictures/gallery").text
    assert not any(who.pseudonym in text for who in Annotator.objects.all())
    one = program.get(f"studies/pictures/gallery?attribute={selected['attribute']}").json()
    assert any(found["k"] for found in one["results"][0]["attributes"])


def test_its_images_come_a_page_at_a_time_as_in_every_list(lead, study):  # noqa: F811
    program = Program(lead, "read")
    whole = program.get("studies/pictures/gallery").json()["results"]
    first = program.get("studies/pictures/gallery?limit=1").json()
    second = program.get(first["next"].partition("/api/v1/")[2]).json()
    assert first["results"] + second["results"] == whole
    assert (second["next"], second["people"]) == (None, [])
    assert program.get(second["previous"].partition("/api/v1/")[2]).json()["results"] == first["results"]
    is_problem(program.get("studies/pictures/gallery?page=2"), 400)
    is_problem(program.get("studies/pictures/gallery?limit=101"), 400)
    assert program.get("studies/pictures/gallery?attribute=nowhere").json()["results"] == []


def test_what_is_not_offered_is_refused(lead, study):  # noqa: F811
    program = Program(lead, "read")
    is_problem(program.get("studies/pictures/gallery?people=gender:%20woman"), 422)
    is_problem(program.get("studies/pictures/gallery?differ=7"), 400)
    other = Program(factories.user("other"), "read")
    is_problem(other.get("studies/pictures/gallery"), 404)
