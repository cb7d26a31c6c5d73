"""Plan the run of a machine judge: a model that answers the items of one task (PROTOCOL §16). Only reads."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from django.conf import settings
from django.db.models import Count
from django.utils import translation
from django.utils.text import slugify
from django.utils.translation import gettext as _

from annotation.annotate.queries import units_as_json
from annotation.core.translation import LANGUAGE
from annotation.core.translation import translation as translation_of
from annotation.models import Image, Purpose, Study, StudyStatus, Task, TaskKind, Unit
from annotation.participation.queries import enrolments
from annotation.studies.study_file.default_wordings import translated_wording
from generation import backends
from generation.plans.askings import Asking
from generation.plans.errors import PlanRefused
from generation.plans.plan import Plan
from generation.plans.services import plan_askings
from generation.recipes.askings import CompletionRecipe, DescriptionRecipe
from generation.recipes.limits import Limits
from generation.recipes.recipes import digest
from metrics.machine_judges import prompts
from metrics.machine_judges.design import (
    BASE,
    ORDER,
    WORDING,
    Boxes,
    Design,
    asking_key,
    drawn_again,
    language_of,
    order_key,
)

JudgeRecipe = CompletionRecipe | DescriptionRecipe
TEMPERATURE = 0.0
MAX_TOKENS = 400
AGAIN = 200
"""Units that are asked about again, by default."""
NO_JUDGES = frozenset({"blip", "brightness"})
"""Backends of descriptions that cannot give an answer in the form that is asked for: one writes a few words,
the other measures the image and reads no prompt."""
_AT_ONCE = 100
_MOST_NAME = 80


@dataclass(frozen=True, kw_only=True)
class Choice:
    """What is asked. `boxes`, `again`, `wording`, `languages` and `seed` as in Design."""

    study: Study
    task: str
    boxes: str = Boxes.NONE.value
    again: int = 0
    wording: str = ""
    languages: Sequence[str] = ()
    seed: int = 0


@dataclass(frozen=True, slots=True)
class _AskedUnit:
    pk: int
    position: int
    attributes: int


@dataclass(frozen=True)
class ItemAskings:
    """An asking for each unit and variant of `design`, read from the database while they are planned."""

    task: Task
    design: Design

    @cached_property
    def _units(self) -> list[_AskedUnit]:
        # items without an image stay
        units = Unit.objects.filter(task=self.task, purpose=Purpose.DATA).exclude(image__file="")
        counted = units.annotate(attributes=Count("options__attribute")).order_by("position")
        return [_AskedUnit(*row) for row in counted.values_list("pk", "position", "attributes")]

    @cached_property
    def _again(self) -> list[_AskedUnit]:
        return [self._units[place] for place in drawn_again(len(self._units), self.design)]

    def _in(self, variant: str) -> list[_AskedUnit]:
        """The units that are asked about in a variant: a page of one attribute has one order only."""
        if variant == ORDER and not self.design.is_rating:
            return [unit for unit in self._again if unit.attributes > 1]
        return self._units if variant == BASE else self._again

    def __len__(self) -> int:
        return sum(len(self._in(variant)) for variant in self.design.variants)

    def __iter__(self) -> Iterator[Asking]:
        for variant in self.design.variants:
            units = self._in(variant)
            for start in range(0, len(units), _AT_ONCE):
                yield from self._askings(units[start : start + _AT_ONCE], variant)

    def _askings(self, units: Sequence[_AskedUnit], variant: str) -> list[Asking]:
        language = language_of(variant) or LANGUAGE
        positions = {unit.pk: unit.position for unit in units}
        keys = {
            unit.pk: order_key(self.design, unit.position, variant, attributes=unit.attributes)
            for unit in units
        }
        about = _about([*positions])
        with translation.override(language):
            guides = enrolments.guides(tasks=[self.task], language=language)
            items = units_as_json(study_id=self.task.study_id, keys=keys, language=language)
            return [
                Asking(
                    key=asking_key(positions[item["unit"]], variant),
                    prompt=self._prompt(item, guides, variant),
                    **about[item["unit"]],
                )
                for item in items
            ]

    def _prompt(self, item: dict[str, Any], guides: Sequence[enrolments.Guide], variant: str) -> str:
        statement = "".join(text for _kind, text in item["statement"])
        if variant == WORDING:
            statement = self.design.wording.replace("[attr]", item["attribute"])
            statement = statement.replace("[id]", item["identity"])
        if self.design.is_rating:
            return prompts.rating_prompt(guides, kind=item["kind"], statement=statement, variant=variant)
        return prompts.image_prompt(
            guides,
            statement=statement,
            options=["" if option["none"] else option["text"] for option in item["options"]],
            boxes=self.design.boxes,
            width=item["image"]["width"],
            height=item["image"]["height"],
        )


def plan_judge(*, recipe: JudgeRecipe, choice: Choice, name: str = "", limits: Limits | None = None) -> Plan:
    """Plan the askings of a judge. `name` "": from the study, the task and the recipe, so that the same
    choice gives the same run. Raises PlanRefused, which says what to choose instead."""
    task = _task(choice)
    _check(recipe, choice, task)
    design = Design(
        study=choice.study.name,
        task=task.kind,
        task_version=task.version,
        boxes=choice.boxes,
        again=choice.again,
        wording=choice.wording.strip(),
        languages=tuple(sorted(set(choice.languages))),
        seed=choice.seed,
    )
    recipe = replace(recipe, design=design.as_json())
    askings = ItemAskings(task, design)
    return plan_askings(
        recipe=recipe,
        name=name or _default_name(design, recipe),
        askings=askings,
        image_set=task.image_set,
        limits=limits,
        notes=_notes(recipe, choice, task),
    )


def recipe_kind(task: str) -> type[JudgeRecipe]:
    """The kind of recipe that a task needs: images are shown to models that see."""
    return DescriptionRecipe if task == TaskKind.DEPICTION else CompletionRecipe


def judge_backends(task: str) -> dict[str, str]:
    """The backends that can be asked about a kind of task: name -> the first line of its module."""
    known = backends.names(recipe_kind(task).kind)
    return {name: label for name, label in known.items() if name not in NO_JUDGES}


def languages_of(task: Task) -> list[str]:
    """The other languages that a judge can be asked in: those that both the task's wording and the program
    are translated into, since the labels and the form of the answer are the program's."""
    codes = (code for code, _name in settings.LANGUAGES if code != LANGUAGE)
    return sorted(
        code
        for code in codes
        if translation_of(task.translations, "wording", code) or translated_wording(task.wording, code)
    )


def _task(choice: Choice) -> Task:
    tasks = choice.study.tasks.select_related("image_set", "study")
    task = tasks.filter(kind=choice.task).order_by("-version").first()
    if task is None:
        known = ", ".join(choice.study.tasks.order_by("kind").values_list("kind", flat=True))
        raise PlanRefused(
            _("The study '%(study)s' has no task '%(task)s'. It has: %(known)s.")
            % {"study": choice.study.name, "task": choice.task, "known": known or _("none yet")},
            field="task",
        )
    if choice.study.status == StudyStatus.DRAFT:
        raise PlanRefused(_("The items of a draft can still change. Open the study first."))
    return task


def _check(recipe: JudgeRecipe, choice: Choice, task: Task) -> None:
    if not isinstance(recipe, recipe_kind(task.kind)):
        raise PlanRefused(
            _("What an image depicts is asked of a model that sees images. Plan descriptions.")
            if task.kind == TaskKind.DEPICTION
            else _("This task has no images. Ask a language model: plan completions.")
        )
    if recipe.backend not in (known := judge_backends(task.kind)):
        raise PlanRefused(
            _("This backend cannot be asked about this task. Choose one of: %(known)s.")
            % {"known": ", ".join(known)},
            field="backend",
        )
    if choice.boxes not in list(Boxes):
        raise PlanRefused(_("Boxes: choose one of %(known)s.") % {"known": ", ".join(Boxes)}, field="boxes")
    if choice.boxes != Boxes.NONE and task.kind != TaskKind.DEPICTION:
        raise PlanRefused(_("This task has no images, so it has no boxes. Choose none."), field="boxes")
    if choice.again < 0:
        raise PlanRefused(_("Ask about 0 or more items again."), field="again")
    if not choice.again and (choice.wording.strip() or choice.languages):
        raise PlanRefused(
            _(
                "Other wordings and languages are for items that are asked about again, and there are none. "
                "Choose a number of items, or leave the other two empty."
            ),
            field="again",
        )
    for place in ("[attr]", "[id]"):
        if choice.wording.strip() and (place in choice.wording) != (place in task.wording):
            raise PlanRefused(
                _("The other wording must have the same places as the study's: “%(wording)s”.")
                % {"wording": task.wording},
                field="wording",
            )
    translated = languages_of(task)
    if lacking := sorted(set(choice.languages) - set(translated)):
        raise PlanRefused(
            _("The task cannot be asked in: %(lacking)s. It can in: %(known)s.")
            % {"lacking": ", ".join(lacking), "known": ", ".join(translated) or _("no other language")},
            field="languages",
        )


def _notes(recipe: JudgeRecipe, choice: Choice, task: Task) -> list[str]:
    notes = []
    if recipe.times > 1 and not recipe.temperature:
        notes.append(
            _("At temperature 0 a model always gives the same answer. Ask once, or raise the temperature.")
        )
    if task.kind == TaskKind.DEPICTION:
        shown = Unit.objects.filter(task=task, purpose=Purpose.DATA, image__file="").order_by()
        if absent := Image.objects.filter(units__in=shown).distinct().count():
            note = _("Images without a file in this installation, left out: %(number)d.")
            notes.append(note % {"number": absent})
    return notes


def _about(units: Sequence[int]) -> dict[int, dict[str, Any]]:
    """The group, attribute and image of each unit, as fields of Asking."""
    rows = Unit.objects.filter(pk__in=units).values_list(
        "pk", "attribute", "association__attribute", "association__group", "image__group", "image"
    )
    return {
        pk: {"group_id": group or shown, "attribute_id": attribute or associated, "image_id": image}
        for pk, attribute, associated, group, shown, image in rows
    }


def _default_name(design: Design, recipe: JudgeRecipe) -> str:
    model = slugify((recipe.model or recipe.backend).replace("/", "-").replace("_", "-"))
    ending = digest(recipe, image_set="")[:8]
    start = f"{design.study}-{design.task.replace('_', '-')}-{model}"
    return f"{start[: _MOST_NAME - len(ending) - 1].rstrip('-_')}-{ending}"
