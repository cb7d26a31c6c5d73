"""manage.py generate STUDY|SET: images of identity groups from a text-to-image model (PROTOCOL §5, §9)."""

from argparse import ArgumentParser
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from annotation.models import ImageSet, Study
from generation.management.commands._execution import add_run_options, carry_out
from generation.management.commands._targets import (
    add_precision_options,
    find_study_or_image_set,
    image_set_name,
    list_backends_in_help,
    recipe_of,
)
from generation.plans import services as plans
from generation.plans.errors import PlanRefused
from generation.plans.from_images import plan_images_from
from generation.plans.prompt_choices import PROMPT_CHOICES
from generation.plans.queries import image_sets
from generation.plans.queries.identity_groups import groups_by_name, groups_of
from generation.recipes.prompts import PULL, PromptSet
from generation.recipes.recipes import QUANTISATIONS, ImageRecipe
from generation.recipes.series import parse_series


class Command(BaseCommand):
    help = (
        "Generate images of the identity groups of a study, or of those named with --groups, into an image "
        "set. The same recipe gives the same run: existing images are not generated again, and a new group "
        "adds only its own images. Options that are left out are as for the set's existing images."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        list_backends_in_help(parser, ImageRecipe.kind)
        parser.add_argument(
            "target", metavar="STUDY|SET", help="a study, or an image set (with --groups: a new one too)"
        )
        parser.add_argument(
            "--set", metavar="NAME", help="the image set to fill (default: named by model and prompts)"
        )
        parser.add_argument("--groups", nargs="+", metavar="GROUP", help="these identity groups only")
        parser.add_argument(
            "--groups-from", type=Path, metavar="FILE", help="a file with group names, one per line"
        )
        parser.add_argument(
            "--prompts",
            nargs="+",
            metavar="SET",
            help="detection (default), default, stereotypical, non_stereotypical, or pull for the last three",
        )
        parser.add_argument(
            "--images-per-prompt",
            type=int,
            metavar="N",
            help="default: 5 for detection, 15 for pull; with --initial: of each initial image, 1",
        )
        begin = parser.add_argument_group("images from images")
        begin.add_argument("--initial", metavar="SET", help="begin with the images of this image set")
        begin.add_argument(
            "--prompt",
            action="append",
            metavar="TEXT",
            help="what they are to show; {group}: the identity with its article; may be repeated",
        )
        begin.add_argument(
            "--strengths",
            metavar="LIST",
            help="above 0, at most 1, rising, such as 0.2,0.4,0.6,0.8: one image at each",
        )
        parser.add_argument("--seed", type=int, metavar="N", help="default: 0")
        model = parser.add_argument_group("the model")
        model.add_argument("--backend", metavar="NAME", help="default: diffusers; see below")
        model.add_argument("--server", metavar="NAME", help="of MODEL_SERVERS; default: openai")
        model.add_argument("--model", metavar="ID|FOLDER", help=f"default: {ImageRecipe.model}")
        model.add_argument("--revision", metavar="REF", help="a branch, tag or commit of the hub's model")
        model.add_argument(
            "--scheduler", metavar="CLASS", help="a scheduler of diffusers; default: the model's"
        )
        model.add_argument(
            "--steps", type=_or_own(int), metavar="N|own", help="default: 50; own: the model's"
        )
        model.add_argument(
            "--guidance", type=_or_own(float), metavar="X|own", help="default: 7.5; own: the model's"
        )
        model.add_argument("--size", metavar="WxH", help="pixels, default: 512x512")
        add_precision_options(model)
        model.add_argument(
            "--compiled",
            action="store_const",
            const=True,
            help="compile the model first: takes minutes, and is worth it for a long run on a GPU",
        )
        model.add_argument("--safety", metavar="WHAT", help="safety checker: off, record (default) or block")
        model.add_argument("--negative-prompt", metavar="TEXT")
        model.add_argument("--variant", metavar="NAME", help="of the weights' files, such as fp16")
        model.add_argument(
            "--lora",
            action="append",
            metavar="SOURCE[:FILE][@SCALE]",
            help="a LoRA from the hub, a folder or a file; several times for several",
        )
        model.add_argument(
            "--quantisation", metavar="HOW", help=f"weights in fewer bits: {', '.join(QUANTISATIONS)}"
        )
        model.add_argument(
            "--offload", metavar="HOW", help="keep what does not compute off the GPU: model or sequential"
        )
        add_run_options(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        names = [*(options["groups"] or []), *_lines(options["groups_from"])]
        new_set = bool(names or options["initial"])
        target = find_study_or_image_set(options["target"], new_set=new_set)
        study = target if isinstance(target, Study) else None
        if options["initial"]:
            self._from_images(names, target, options)
            return
        if options["prompt"] or options["strengths"]:
            raise CommandError("--prompt and --strengths go with --initial, the set of the initial images.")
        if study is None and options["set"]:
            raise CommandError(f"--set needs a study, but '{options['target']}' is an image set.")
        for_detection = options["prompts"] is None or PromptSet.DETECTION in options["prompts"]
        if study is None:
            name = image_set_name(options["target"])
        else:
            name = options["set"] or (image_sets.image_set_shown_by(study) if for_detection else "")
        try:
            groups = groups_by_name(names) or groups_of(study, name)
            recipe = _recipe(options, like=image_sets.recipe_of_image_set(name) if name else None)
            plan = plans.plan_images(recipe=recipe, groups=groups, image_set=name, study=study)
        except PlanRefused as error:
            raise CommandError(str(error)) from error
        carry_out(self, plan, options)

    def _from_images(
        self, names: Sequence[str], target: Study | ImageSet | None, options: Mapping[str, Any]
    ) -> None:
        if isinstance(target, Study):
            raise CommandError("Images from images belong to no study: name the set to fill, as set:NAME.")
        if options["prompts"] not in (None, [PromptSet.FROM_IMAGES.value]):
            raise CommandError("--initial and --prompts do not go together: write your own with --prompt.")
        initial = find_study_or_image_set(f"set:{image_set_name(options['initial'])}")
        assert isinstance(initial, ImageSet)
        name = image_set_name(options["target"])
        like = image_sets.recipe_of_image_set(name)
        try:
            strengths = parse_series(options["strengths"] or "") or None
        except ValueError as error:
            raise CommandError(f"--strengths: {error}") from error
        values = {
            **options,
            "prompts": [PromptSet.FROM_IMAGES.value],
            "initial": initial.name,
            "strengths": strengths,
        }
        try:
            plan = plan_images_from(
                recipe=_recipe(values, like=like),
                initial_set=initial,
                prompts=options["prompt"] or [],
                groups=groups_by_name(names),
                image_set=name,
            )
        except PlanRefused as error:
            raise CommandError(str(error)) from error
        carry_out(self, plan, options)


def _or_own(kind: type[int | float]) -> Callable[[str], int | float | str]:
    """Parser for a number or 'own'."""

    def read(text: str) -> int | float | str:
        return "own" if text == "own" else kind(text)

    read.__name__ = f"{kind.__name__} or 'own'"  # argparse shows it in error messages
    return read


def _recipe(options: Mapping[str, Any], *, like: ImageRecipe | None) -> ImageRecipe:
    values = dict(options)
    if options["prompts"] is not None:
        sets = _prompt_sets(options["prompts"])
        values["prompt_sets"] = sets
        if options["images_per_prompt"] is None and not (like and set(like.prompt_sets) == set(sets)):
            choice = next((name for name in ("detection", "from_images") if name in sets), "pull")
            values["images_per_prompt"] = PROMPT_CHOICES[choice][2]
    if options["lora"]:
        values["lora"] = tuple(options["lora"])
    if options["size"]:
        values["width"], values["height"] = _size(options["size"])
    own: dict[str, Any] = dict.fromkeys(name for name in ("steps", "guidance") if options[name] == "own")
    return replace(recipe_of(ImageRecipe, {**values, **own}, like=like), **own)


def _prompt_sets(named: Sequence[str]) -> tuple[str, ...]:
    """In a fixed order, so that the same prompts give the same recipe."""
    chosen = {one for name in named for one in (PULL if name == "pull" else (name,))}
    if unknown := sorted(chosen - set(PromptSet)):
        raise CommandError(f"--prompts '{unknown[0]}': there are {', '.join(PromptSet)}, and pull.")
    return tuple(one.value for one in PromptSet if one in chosen)


def _size(text: str) -> tuple[int, int]:
    width, _, height = text.lower().partition("x")
    if not (width.isdigit() and height.isdigit()):
        raise CommandError(f"--size '{text}': write width and height in pixels, e.g. 512x512.")
    return int(width), int(height)


def _lines(path: Path | None) -> list[str]:
    if path is None:
        return []
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"--groups-from {path}: {error}") from error
    names = [line.strip() for line in lines if line.strip()]
    if not names:
        raise CommandError(f"--groups-from {path}: the file is empty. Write one group per line.")
    return names
