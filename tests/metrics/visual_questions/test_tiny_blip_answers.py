"""From images through a BLIP with random weights to the shares of its answers."""

from __future__ import annotations

import csv
import io

import pytest
from django.core.management import call_command

from tests.generation.backends import tiny_askings
from tests.generation.image_sets import world

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.filterwarnings("ignore:::(transformers|torch|huggingface_hub)"),
]


def test_a_models_answers_are_asked_for_and_counted(tmp_path):
    image_set = world.made(world.pictures("Asian", "White")).image_set
    model = (
        "--backend",
        "blip",
        "--model",
        str(tiny_askings.blip_vqa(tmp_path / "blip")),
        "--dtype",
        "float32",
    )
    call_command("visual_questions", image_set.name, "--name", "asked", *model, "--yes", stdout=io.StringIO())
    out = io.StringIO()
    call_command("visual_questions", "--show", "asked", "--format", "csv", stdout=out)
    rows = list(csv.DictReader(io.StringIO(out.getvalue())))
    answered = {}
    for row in rows:
        key = row["question"], row["group"]
        answered[key] = answered.get(key, 0) + int(row["k"])
        assert row["n"] == "6"
    assert set(answered.values()) == {6}
    assert {("american", "Asian"), ("state", "White")} <= set(answered)
