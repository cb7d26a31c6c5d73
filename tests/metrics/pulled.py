"""Image sets for pull whose embeddings are planted, without a model: rows as runs leave them behind."""

from __future__ import annotations

import numpy as np
from django.utils import timezone

from annotation.models import AuditEvent, Image, Study, TaskKind
from generation.core import vectors
from generation.models import Embedding, Provenance, Run, RunKind, RunState
from generation.recipes.prompts import PromptSet, default_prompts, described_prompts
from generation.recipes.recipes import EmbeddingRecipe, as_json
from tests import factories

DIM = 12


def unit(vector) -> np.ndarray:
    array = np.asarray(vector, dtype=float)
    return array / np.linalg.norm(array)


def embedding_run(study: Study | None = None, *, image_set: str = "drawn-pull", state=RunState.DONE) -> Run:
    """A finished embedding run of a set that was made for `study`."""
    run = Run.objects.create(
        kind=RunKind.EMBEDDINGS,
        state=state,
        image_set=factories.image_set(image_set),
        backend="planted",
        recipe=as_json(EmbeddingRecipe(backend="planted", model="planted", pretrained="")),
        recipe_hash=factories.recipe_hash(),
        started_at=timezone.now(),
        finished_at=timezone.now(),
    )
    if study is not None:
        AuditEvent.objects.create(what="run planned", study=study, details={"run": run.pk})
    return run


def group_images(
    run: Run,
    name: str,
    *,
    region: str = "",
    towards: float = 0.5,
    sets: tuple[PromptSet, ...] = (PromptSet.DEFAULT, PromptSet.STEREOTYPICAL, PromptSet.NON_STEREOTYPICAL),
    attributes: int = 2,
    each: int = 2,
    default_each: int = 4,
    seed: int = 0,
    noise: float = 0.3,
) -> dict[str, np.ndarray]:
    """Images of one group and their embeddings, {prompt set: vectors}.

    Stereotypical images lie along the first axis, the other described ones along the second; the default
    ones lean `towards` the first rather than the second (1: wholly, 0: wholly the second).
    """
    group = factories.group(name, region=region)
    rng = np.random.default_rng(seed)
    first, second = np.eye(DIM)[0], np.eye(DIM)[1]
    centres = {
        PromptSet.DEFAULT: unit(towards * first + (1 - towards) * second),
        PromptSet.STEREOTYPICAL: first,
        PromptSet.NON_STEREOTYPICAL: second,
    }
    words = {
        PromptSet.STEREOTYPICAL: [f"{name.lower()} word {number}" for number in range(attributes)],
        PromptSet.NON_STEREOTYPICAL: [f"other word {number}" for number in range(attributes)],
    }
    found: dict[str, np.ndarray] = {}
    images: list[Image] = []
    provenances: list[Provenance] = []
    embeddings: list[Embedding] = []
    index = Image.objects.filter(image_set=run.image_set, group=group).count()
    for prompt_set in sets:
        if prompt_set == PromptSet.DEFAULT:
            prompts = default_prompts(name)
        else:
            prompts = described_prompts(name, words[prompt_set], prompt_set)
        made = []
        for prompt in prompts:
            attribute = factories.attribute(prompt.attribute) if prompt.attribute else None
            for _ in range(default_each if prompt_set == PromptSet.DEFAULT else each):
                index += 1
                image = Image(
                    image_set=run.image_set,
                    group=group,
                    prompt=prompt.text,
                    index=index,
                    width=64,
                    height=64,
                    reference=f"{name}{index}.png",
                )
                images.append(image)
                provenances.append(Provenance(image=image, prompt_set=prompt_set, attribute=attribute))
                vector = unit(centres[prompt_set] + noise * rng.normal(size=DIM) / np.sqrt(DIM))
                made.append(vector.astype(np.float32))
                embeddings.append(Embedding(run=run, image=image, dim=DIM, vector=vectors.pack(made[-1])))
        found[prompt_set] = np.array(made)
    Image.objects.bulk_create(images)
    Provenance.objects.bulk_create(provenances)
    Embedding.objects.bulk_create(embeddings)
    return found


def pull_study(**fields) -> tuple[Study, Run]:
    """Three groups in two regions: Mexican and Peruvian are pulled, Nepali is not."""
    study = factories.study(**fields)
    run = embedding_run(study)
    group_images(run, "Mexican", region="Latin America", towards=0.9, seed=1)
    group_images(run, "Peruvian", region="Latin America", towards=0.7, seed=2)
    group_images(run, "Nepali", region="South Asia", towards=0.2, seed=3)
    return study, run


def depicted_study(lead) -> Study:
    """A study of the planted images in which people judge what they depict."""
    made, run = pull_study(name="pulls", title="Pulls", leads=[lead])
    factories.task(made, kind=TaskKind.DEPICTION, image_set=run.image_set)
    return made
