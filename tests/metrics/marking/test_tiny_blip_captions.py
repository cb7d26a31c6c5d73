"""From images through a BLIP with random weights to the share of its captions that name the group."""

from __future__ import annotations

import csv
import io

import pytest
from django.core.management import call_command

from generation.models import Caption
from tests.generation.backends import tiny_captions
from tests.generation.image_sets import world

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.filterwarnings("ignore:::(transformers|torch|huggingface_hub)"),
]


def test_a_models_captions_are_written_and_counted_by_top_p(tmp_path):
    image_set = world.made(world.pictures("Asian", "White")).image_set
    model = ("--backend", "blip", "--model", str(tiny_captions.blip(tmp_path / "blip")), "--dtype", "float32")
    for top_p in ("0.5", "0.9"):
        options = ("--count", "1", "--option", f"top_p={top_p}", "--option", "candidates=1")
        call_command("caption", image_set.name, *model, *options, "--yes", stdout=io.StringIO())
    words = tmp_path / "words.txt"
    # a word that it wrote, since the model does not know the groups
    said = next(word for text in Caption.objects.values_list("text", flat=True) for word in text.split())
    words.write_text(f"Asian: {said}\nWhite: nothing-of-it\n")
    out = io.StringIO()
    call_command("marking", image_set.name, "--format", "csv", "--words", str(words), "--alone", stdout=out)
    rows = list(csv.DictReader(io.StringIO(out.getvalue())))
    assert [(row["top_p"], row["group"], row["n"]) for row in rows] == [
        ("0.5", "Asian", "6"),
        ("0.5", "White", "6"),
        ("0.9", "Asian", "6"),
        ("0.9", "White", "6"),
    ]
    expected = [
        sum(
            said in caption.text.split()
            for caption in Caption.objects.filter(run=row["run"], image__group__name=row["group"])
        )
        if row["group"] == "Asian"
        else 0
        for row in rows
    ]
    assert [int(row["marked"]) for row in rows] == expected
    assert any(expected)
