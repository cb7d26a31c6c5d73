"""From a source to %E and M(E) with a real classifier of transformers, of random weights."""

from __future__ import annotations

import io

import pytest
from django.core.management import call_command

from generation.backends.torch_support import import_library
from generation.jobs.services import loaded_model
from generation.models import Run
from metrics.inference import queries
from tests import factories
from tests.generation.backends import tiny_askings

pytestmark = pytest.mark.django_db
NAMES = {0: "CONTRADICTION", 1: "NEUTRAL", 2: "ENTAILMENT"}


def plainly(folder, run) -> list[float]:
    """The probability at place 2 of each pair, asked one by one."""
    torch, transformers = import_library("torch"), import_library("transformers")
    model = transformers.AutoModelForSequenceClassification.from_pretrained(folder).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    found = []
    for premise, hypothesis in run.jobs.order_by("pk").values_list("prompt", "text_pair"):
        with torch.inference_mode():
            logits = model(**tokenizer(premise, hypothesis, return_tensors="pt")).logits[0]
        found.append(float(logits.double().softmax(-1)[2]))
    return found


@pytest.mark.parametrize("named", [True, False])
def test_entailment_is_where_the_configuration_or_the_person_says(tmp_path, monkeypatch, named):
    """At place 2: not at place 0, where other models have it."""
    monkeypatch.setattr(loaded_model, "_loaded", [])
    source = factories.source("votes")
    for group, text in (("Mexican", "red"), ("Indian", "black"), ("French", "white")):
        factories.association(group_name=group, text=text, from_source=source)
    folder = tiny_askings.classifier(tmp_path / "nli", names=NAMES if named else None)
    labels = [] if named else [f"--label={NAMES[place].lower()}" for place in range(3)]
    words = ("--verbs", "bought,sold", "--objects", "a car", "--yes")
    call_command("inference", "votes", "--model", str(folder), *labels, *words, stdout=io.StringIO())
    run = Run.objects.get()
    wanted = plainly(folder, run)
    [row, *_] = queries.results(run, resamples=0).rows
    assert row.numbers.mean_of_all.value == pytest.approx(sum(wanted) / len(wanted), abs=1e-5)
    assert len({round(each, 4) for each in wanted}) > 1
    assert sum(wanted) / len(wanted) != pytest.approx(1 / 3, abs=1e-3)
