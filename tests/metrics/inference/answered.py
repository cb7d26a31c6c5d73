"""Files of answers, and runs that are made of them."""

from __future__ import annotations

import hashlib
import itertools
import random
from pathlib import Path

from django.utils import timezone

from annotation.core.leases import JobState
from generation.models import Answer, Job, Run, RunState
from generation.recipes.askings import ClassificationRecipe
from generation.recipes.recipes import as_json
from metrics.inference.answers_csv import COLUMNS
from metrics.inference.data import PURPOSE
from metrics.inference.services.importing import import_inference
from tests import factories

VERBS, OBJECTS = ("bought", "sold", "lost"), ("a car", "a lamp")
REGIONS = {
    "Mexican": "Latin America",
    "Peruvian": "Latin America",
    "Indian": "South Asia",
    "Nepali": "South Asia",
}
ATTRIBUTES = {"Mexican": "lazy", "Peruvian": "poor", "Indian": "vegetarian", "Nepali": "kind"}


def groups() -> None:
    for name, region in REGIONS.items():
        factories.group(name, region=region)


def rows(seed: int = 0, *, sources=("seegull-v2", "random")) -> list[tuple[object, ...]]:
    """A row for each source, group, verb and object, with random probabilities of four digits."""
    draws = random.Random(seed)
    found = []
    for source, (group, attribute), verb, thing in itertools.product(
        sources, ATTRIBUTES.items(), VERBS, OBJECTS
    ):
        cuts = sorted(draws.randint(0, 10_000) for _ in range(2))
        parts = (cuts[0], cuts[1] - cuts[0], 10_000 - cuts[1])
        found.append((source, group, attribute, verb, thing, *(part / 10_000 for part in parts)))
    return found


def write(path: Path, content) -> Path:
    lines = [",".join(COLUMNS), *(",".join(map(str, row)) for row in content)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def imported(folder: Path, content=None, *, name: str = "elsewhere") -> Run:
    path = write(folder / f"{name}.csv", rows() if content is None else content)
    return import_inference(path=path, name=name, model="roberta-large-mnli").run


def empty_run(name: str, *sources: str) -> Run:
    """A finished run about these sources, which has no answer yet."""
    design = {"purpose": PURPOSE, "sources": list(sources), "verbs": ["sold"], "objects": ["a car"]}
    now = timezone.now()
    return Run.objects.create(
        kind="classifications",
        name=name,
        backend="fake",
        state=RunState.DONE,
        recipe=as_json(ClassificationRecipe(backend="fake", model="fake", design=design)),
        recipe_hash=hashlib.sha256(name.encode()).hexdigest(),
        started_at=now,
        finished_at=now,
    )


def add_pair(run: Run, group: str, text: str, *, entailment: float = 0.9) -> None:
    """One more answered pair of the run's first source."""
    about, attribute = factories.group(group), factories.attribute(text)
    job = Job.objects.create(
        run=run,
        key=f"0.{about.pk}.{attribute.pk}.0.0",
        number=1,
        prompt=f"A {text} person sold a car.",
        text_pair=f"A {group} person sold a car.",
        group=about,
        attribute=attribute,
        state=JobState.DONE,
        finished_at=timezone.now(),
    )
    Answer.objects.create(
        job=job,
        run=run,
        text="entailment",
        probabilities={"entailment": entailment, "neutral": 1 - entailment, "contradiction": 0},
    )
