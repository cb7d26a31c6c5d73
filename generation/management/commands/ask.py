"""manage.py ask: prompts to a language model, questions about images, texts to a classifier."""

import csv
import json
import sys
from argparse import ArgumentParser
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from django.core.management.base import BaseCommand, CommandError

from annotation.models import ImageSet, Study
from generation.management.commands._execution import add_run_options, carry_out
from generation.management.commands._targets import (
    add_precision_options,
    find_study_or_image_set,
    list_backends_in_help,
    parse_options,
    recipe_of,
)
from generation.plans import services as plans
from generation.plans.askings import AboutImages, Asking, Askings, PromptsRefused, read_prompts
from generation.plans.errors import PlanRefused
from generation.plans.queries import image_sets
from generation.plans.queries.runs import default_run_name
from generation.recipes.askings import ClassificationRecipe, CompletionRecipe, DescriptionRecipe
from generation.recipes.checks import RecipeRefused
from generation.recipes.limits import Limits
from generation.recipes.recipes import AskingRecipe

_RECIPES: dict[str, type[AskingRecipe]] = {
    each.kind: each for each in (CompletionRecipe, DescriptionRecipe, ClassificationRecipe)
}


class Command(BaseCommand):
    help = (
        "Ask a model: prompts to a language model (completions), prompts about the images of a set "
        "(descriptions), texts to a classifier (classifications). The same recipe and name give the same "
        "run: only prompts added since then are asked."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        list_backends_in_help(parser, *_RECIPES)
        parser.add_argument(
            "prompts",
            metavar="FILE",
            help="a prompt a line, or JSON objects with prompt and perhaps text_pair and key; .csv: these as "
            "columns; - reads the terminal. Between two texts to classify: ' || '",
        )
        parser.add_argument(
            "--kind", choices=list(_RECIPES), default="completions", help="default: completions"
        )
        parser.add_argument("--name", metavar="RUN", help="default: made of the kind and the model")
        parser.add_argument("--about", metavar="STUDY|SET", help="the images of descriptions")
        parser.add_argument("--times", type=int, metavar="N", help="answers to each prompt (default: 1)")
        parser.add_argument("--seed", type=int, metavar="N", help="default: 0")
        add_asking_options(parser)
        add_run_options(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        kind = options["kind"]
        recipe = asking_recipe(_RECIPES[kind], options)
        try:
            prompts: Askings = _read(options["prompts"], pairs=kind == "classifications")
            about = _images(options["about"], kind)
            if about is not None:
                prompts = AboutImages(cast("list[Asking]", prompts), image_sets.images_with_files(about))
            plan = plans.plan_askings(
                recipe=recipe,
                name=options["name"] or default_run_name(recipe, kind),
                askings=prompts,
                image_set=about,
                limits=limits_of(options),
            )
        except (PromptsRefused, PlanRefused) as refused:
            raise CommandError(str(refused)) from refused
        carry_out(self, plan, options)


def add_asking_options(parser: ArgumentParser) -> None:
    """The options of commands that ask a model: the model, its settings, and the limits of the run."""
    model = parser.add_argument_group("the model")
    model.add_argument("--backend", metavar="NAME", help="see below")
    model.add_argument("--server", metavar="NAME", help="of MODEL_SERVERS; default: openai")
    model.add_argument("--model", metavar="NAME|ID|FOLDER")
    model.add_argument("--revision", metavar="REF", help="a branch, tag or commit of the hub's model")
    model.add_argument("--system", metavar="TEXT", help="a system message")
    model.add_argument(
        "--continue",
        dest="chat",
        action="store_const",
        const=False,
        help="the model continues the prompt's text; else the prompt is a message to it",
    )
    model.add_argument("--temperature", type=float, metavar="T", help="default: 0.5")
    model.add_argument("--top-p", type=float, metavar="P", help="default: 1")
    model.add_argument("--max-tokens", type=int, metavar="N", help="of an answer; default: 100")
    model.add_argument("--stop", action="append", metavar="TEXT", help="ends an answer; may be repeated")
    model.add_argument(
        "--label", action="append", metavar="NAME", help="of a classifier that names none; may be repeated"
    )
    model.add_argument(
        "--option",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="one of the backend's own options; may be repeated",
    )
    add_precision_options(model)
    limits = parser.add_argument_group("limits")
    limits.add_argument("--in-flight", type=int, metavar="N", help="askings at once, on a server")
    limits.add_argument("--token-limit", type=int, metavar="N", help="pause before more tokens are used")
    limits.add_argument("--cost-limit", type=float, metavar="X", help="pause before it costs more")
    limits.add_argument("--price-in", type=float, metavar="X", help="of a million tokens in prompts")
    limits.add_argument("--price-out", type=float, metavar="X", help="of a million tokens in answers")


def asking_recipe(kind: type[AskingRecipe], options: Mapping[str, Any], **values: Any) -> AskingRecipe:
    """The recipe of the options; `values`: further fields. Raises CommandError."""
    fields = {
        **options,
        "options": parse_options(options["option"]) or None,
        "stop": tuple(options["stop"] or ()) or None,
        "labels": tuple(options["label"] or ()) or None,
        **values,
    }
    recipe: AskingRecipe = recipe_of(kind, fields)
    return recipe


def limits_of(options: Mapping[str, Any]) -> Limits:
    """Raises CommandError."""
    try:
        return Limits(
            in_flight=options["in_flight"],
            tokens=options["token_limit"],
            cost=options["cost_limit"],
            price_in=options["price_in"],
            price_out=options["price_out"],
        )
    except RecipeRefused as error:
        raise CommandError(f"{error} See --help.") from error


def _images(name: str | None, kind: str) -> ImageSet | None:
    if (name is not None) != (kind == "descriptions"):
        raise CommandError("--about names the images of --kind descriptions: give both, or neither.")
    if name is None:
        return None
    target = find_study_or_image_set(name)
    return image_sets.image_set_of(target) if isinstance(target, Study) else target


def _read(name: str, *, pairs: bool) -> list[Asking]:
    try:
        text = sys.stdin.read() if name == "-" else Path(name).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"{name}: {error}. Give a text file in UTF-8.") from error
    if not name.endswith(".csv"):
        return read_prompts(text.splitlines(), pairs=pairs)
    rows = csv.DictReader(text.splitlines(keepends=True))
    if "prompt" not in (rows.fieldnames or ()):
        raise CommandError(f"{name}: there is no column 'prompt'. The first row names the columns.")
    known = ("prompt", "text_pair", "key")
    lines = (json.dumps({name: row[name] for name in known if row.get(name)}) for row in rows)
    return read_prompts(lines, first_line=2)
