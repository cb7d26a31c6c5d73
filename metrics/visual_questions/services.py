"""Plan a run that asks questions about the images of a set (PROTOCOL §12). Only reads."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation.models import Image, ImageSet
from generation.plans.askings import Asking
from generation.plans.plan import Plan
from generation.plans.queries.image_sets import images_with_files
from generation.plans.queries.runs import default_run_name
from generation.plans.services import plan_askings
from generation.recipes.askings import DescriptionRecipe
from generation.recipes.limits import Limits
from metrics.core.purposes import VISUAL_QUESTIONS
from metrics.visual_questions.data import asking_key
from metrics.visual_questions.question_file import Question

TEMPERATURE = 0.0
MAX_TOKENS = 20


@dataclass(frozen=True)
class QuestionAskings:
    """Every question about every image, made while they are read. `images`: the ids of image and group."""

    questions: Sequence[Question]
    images: Sequence[tuple[int, int]]

    def __len__(self) -> int:
        return len(self.questions) * len(self.images)

    def __iter__(self) -> Iterator[Asking]:
        for image, group in self.images:
            for place, question in enumerate(self.questions):
                yield Asking(
                    key=asking_key(place, group, image),
                    prompt=question.text,
                    group_id=group,
                    image_id=image,
                )


def plan_questions(
    *,
    recipe: DescriptionRecipe,
    image_set: ImageSet,
    questions: Sequence[Question],
    name: str = "",
    limits: Limits | None = None,
) -> Plan:
    """Plan a run that asks every question about every image of the set that has a file here. `name` "": from
    the set and the model. Raises PlanRefused with the cure."""
    with_file = set(images_with_files(image_set))
    rows = Image.objects.filter(image_set=image_set).order_by("pk").values_list("pk", "group_id")
    images = [(pk, group) for pk, group in rows if pk in with_file]
    design = {"purpose": VISUAL_QUESTIONS, "questions": [one.as_design() for one in questions]}
    return plan_askings(
        recipe=replace(recipe, design=design),
        name=name or default_run_name(recipe, f"questions-{image_set.name}"),
        askings=QuestionAskings(questions, images),
        image_set=image_set,
        limits=limits,
        notes=_notes(recipe, groups={group for _pk, group in images}, absent=len(rows) - len(images)),
    )


def _notes(recipe: DescriptionRecipe, *, groups: set[int], absent: int) -> list[str]:
    notes = []
    if absent:
        note = ngettext(
            "%(number)d image has no file in this installation and is left out.",
            "%(number)d images have no file in this installation and are left out.",
            absent,
        )
        notes.append(note % {"number": absent})
    if len(groups) == 1:
        notes.append(_("All images of the set are of one group, so there is nothing to compare."))
    if recipe.times > 1 and not recipe.temperature:
        notes.append(
            _("At temperature 0 a model always gives the same answer. Ask once, or raise the temperature.")
        )
    return notes
