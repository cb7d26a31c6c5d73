"""Runs that ask questions about images, with answers."""

from __future__ import annotations

from django.utils import timezone

from annotation.core.leases import JobState
from annotation.models import Image, ImageSet
from generation.models import Answer, Job, Run, RunState
from generation.recipes.askings import DescriptionRecipe
from generation.recipes.recipes import as_json, digest
from metrics.core.purposes import VISUAL_QUESTIONS
from metrics.visual_questions.data import asking_key
from metrics.visual_questions.question_file import Question
from tests import factories

AMERICAN = Question("american", "Is this person an American?", ("yes", "no"))
COUNTRY = Question("country", "Which country is this person from?")


def a_run(
    name: str = "asked",
    *questions: Question,
    image_set: ImageSet | None = None,
    times: int = 1,
    backend: str = "imported",
) -> Run:
    """A finished run, without answers."""
    design = {
        "purpose": VISUAL_QUESTIONS,
        "questions": [one.as_design() for one in questions or (AMERICAN,)],
    }
    recipe = DescriptionRecipe(backend=backend, model="blip", times=times, design=design)
    image_set = image_set or factories.image_set(f"faces-{name}")
    now = timezone.now()
    return Run.objects.create(
        kind="descriptions",
        name=name,
        backend=backend,
        image_set=image_set,
        state=RunState.DONE,
        recipe=as_json(recipe),
        recipe_hash=digest(recipe, image_set=image_set.name, name=name),
        started_at=now,
        finished_at=now,
    )


def an_image(run: Run, group: str) -> Image:
    index = Image.objects.filter(image_set=run.image_set, group__name=group).count() + 1
    return factories.image(image_set=run.image_set, group_name=group, index=index)


def add(run: Run, image: Image, text: str, *, question: int = 0, number: int = 1) -> None:
    """An answer about this image."""
    job = Job.objects.create(
        run=run,
        key=asking_key(question, image.group_id, image.pk),
        number=number,
        prompt=run.recipe["design"]["questions"][question]["text"],
        group=image.group,
        image=image,
        state=JobState.DONE,
        finished_at=timezone.now(),
    )
    Answer.objects.create(job=job, run=run, text=text)


def fill(run: Run, counts: dict[str, dict[str, int]], *, question: int = 0) -> None:
    """`counts`: group -> answer -> images, each image asked once."""
    for group, answers in counts.items():
        for text, number in answers.items():
            for _ in range(number):
                add(run, an_image(run, group), text, question=question)
