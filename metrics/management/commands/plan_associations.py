"""manage.py plan_associations: ask models what they associate with groups of people (PROTOCOL §11)."""

from argparse import ArgumentParser
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from annotation.imports.readers.oddities import FileRefused
from annotation.models import Axis, ImageSet
from generation.management.commands._execution import add_run_options, carry_out
from generation.management.commands._targets import find_study_or_image_set, list_backends_in_help, recipe_of
from generation.management.commands.ask import add_asking_options, asking_recipe, limits_of
from generation.plans.errors import PlanRefused
from generation.plans.plan import Plan
from generation.recipes.askings import CompletionRecipe, DescriptionRecipe
from generation.recipes.recipes import ImageRecipe
from metrics.associations import planning
from metrics.associations.askings import Modality, Setting, settings_of
from metrics.associations.descriptors import DescriptorList, read_descriptors, starter_list
from metrics.associations.groups import catalogue_list
from metrics.associations.prompts import (
    Instruction,
    PromptsRefused,
    PromptText,
    changes_of_folder,
    read_prompts,
)
from metrics.associations.services.descriptors import with_groups

_STARTER, _CATALOGUE = "starter", "catalogue"
_IMAGES = "images"


class Command(BaseCommand):
    help = (
        "Plan and start a run that asks models for associations: words that a language model completes "
        "(t2t), images of descriptors (images), their objective description (t2i), or what a model sees in "
        "them (i2t). The same options give the same run."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        list_backends_in_help(parser, CompletionRecipe.kind, DescriptionRecipe.kind, ImageRecipe.kind)
        parser.add_argument(
            "modality",
            choices=[*Modality, _IMAGES],
            help="t2t: words; images: make images; t2i: describe images; i2t: interpret images",
        )
        parser.add_argument(
            "--setting",
            action="append",
            default=[],
            metavar="NAME",
            help="such as plural; may be repeated (default: all; of images and t2i: singular)",
        )
        parser.add_argument(
            "--descriptors",
            default=_STARTER,
            metavar="FILE",
            help=f"a CSV file, {_STARTER} (the list that ships; default) or {_CATALOGUE}",
        )
        parser.add_argument(
            "--dimension",
            action="append",
            default=[],
            choices=Axis.values,
            metavar="NAME",
            help="only of this dimension; may be repeated",
        )
        parser.add_argument("--prompts", type=Path, metavar="FOLDER", help="files instead of those that ship")
        parser.add_argument(
            "--instruction",
            choices=list(Instruction),
            default=Instruction.STRAIGHTFORWARD,
            help="of t2i (default: straightforward)",
        )
        parser.add_argument("--set", metavar="NAME", help="the image set to describe, or to fill")
        parser.add_argument("--name", default="", metavar="RUN", help="default: from setting and model")
        parser.add_argument(
            "--times",
            type=int,
            metavar="N",
            help="runs, or images of each descriptor (default: 10, texts 1)",
        )
        parser.add_argument("--seed", type=int, metavar="N", help="default: 0")
        images = parser.add_argument_group("images")
        images.add_argument("--size", metavar="WxH", help="pixels (default: 512x512)")
        images.add_argument("--steps", type=int, metavar="N", help="default: 50")
        images.add_argument("--guidance", type=float, metavar="X", help="default: 7.5")
        add_asking_options(parser)
        add_run_options(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        about_images = options["modality"] in (Modality.T2I, Modality.I2T)
        try:
            listed = None if about_images else _listed(options["descriptors"], options["dimension"])
            folder = options["prompts"]
            prompts = read_prompts(changes_of_folder(folder) if folder else None)
            plan = _plan(options, prompts, listed)
        except (FileRefused, PlanRefused, PromptsRefused) as error:
            raise CommandError(str(error)) from error
        carry_out(self, plan, options, completed=lambda plan: with_groups(plan, listed))


def _plan(
    options: Mapping[str, Any], prompts: Mapping[str, PromptText], listed: DescriptorList | None
) -> Plan:
    settings = _settings(options["modality"], options["setting"])
    if options["modality"] == _IMAGES:
        assert listed is not None
        size = _size(options["size"])
        values = {**options, **size, "images_per_prompt": options["times"] or planning.TIMES}
        return planning.plan_images(
            recipe=recipe_of(ImageRecipe, values),
            setting=settings[0],
            listed=listed,
            prompts=prompts,
            image_set=options["set"] or "",
        )
    how: dict[str, Any] = {
        "temperature": planning.TEMPERATURE if options["temperature"] is None else options["temperature"],
        "top_p": planning.TOP_P if options["top_p"] is None else options["top_p"],
    }
    if listed is not None:
        used = planning.words_used(settings, prompts)
        how |= {**_filled(options, used), "times": options["times"] or planning.TIMES}
        recipe = asking_recipe(CompletionRecipe, options, **how)
        assert isinstance(recipe, CompletionRecipe)
        return planning.plan_words(
            recipe=recipe,
            name=options["name"],
            settings=settings,
            listed=listed,
            prompts=prompts,
            limits=limits_of(options),
        )
    used = planning.texts_used(settings, Instruction(options["instruction"]), prompts)
    description = asking_recipe(DescriptionRecipe, options, **_filled(options, used), **how)
    assert isinstance(description, DescriptionRecipe)
    return planning.plan_texts(
        recipe=description,
        name=options["name"],
        settings=settings,
        image_set=_image_set(options["set"]),
        prompts=prompts,
        instruction=Instruction(options["instruction"]),
        limits=limits_of(options),
    )


def _filled(options: Mapping[str, Any], used: Mapping[str, Any]) -> dict[str, Any]:
    return {name: options[name] or value for name, value in used.items()}


def _settings(modality: str, named: list[str]) -> list[Setting]:
    kind = Modality.T2I if modality == _IMAGES else Modality(modality)
    known = {setting.short: setting for setting in settings_of(kind)}
    if unknown := [name for name in named if name.removeprefix(f"{kind}-") not in known]:
        raise CommandError(f"--setting '{unknown[0]}': of {modality} there are {', '.join(known)}.")
    chosen = [known[name.removeprefix(f"{kind}-")] for name in named]
    if kind == Modality.T2I and len(chosen) > 1:
        raise CommandError("--setting: choose singular or plural; each has an image set of its own.")
    return chosen or [*known.values()][: 1 if kind == Modality.T2I else None]


def _listed(given: str, dimensions: list[str]) -> DescriptorList:
    if given == _CATALOGUE:
        return catalogue_list(dimensions)
    if given == _STARTER:
        return starter_list().on(dimensions)
    try:
        text = Path(given).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"--descriptors {given}: {error}. Give a CSV file in UTF-8.") from error
    return read_descriptors(text, given).on(dimensions)


def _image_set(name: str | None) -> ImageSet:
    found = find_study_or_image_set(name) if name else None
    if not isinstance(found, ImageSet):
        raise CommandError("--set: name the image set that is to be described.")
    return found


def _size(text: str | None) -> dict[str, int]:
    if text is None:
        return {}
    width, _, height = text.lower().partition("x")
    if not (width.isdigit() and height.isdigit()):
        raise CommandError(f"--size '{text}': write width and height in pixels, e.g. 512x512.")
    return {"width": int(width), "height": int(height)}
