"""manage.py caption STUDY|SET: captions of a set's images (PROTOCOL §8)."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from generation.management.commands._execution import add_run_options, carry_out_on_images
from generation.management.commands._targets import (
    add_precision_options,
    list_backends_in_help,
    parse_options,
    recipe_of,
)
from generation.recipes.recipes import CaptionRecipe


class Command(BaseCommand):
    help = (
        "Write captions for the images of a set or study. The same recipe gives the same run: only images "
        "added since then are captioned."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        list_backends_in_help(parser, CaptionRecipe.kind)
        parser.add_argument("target", metavar="STUDY|SET")
        parser.add_argument("--count", type=int, metavar="N", help="captions per image (default: 50)")
        parser.add_argument("--seed", type=int, metavar="N", help="default: 0")
        model = parser.add_argument_group("the model")
        model.add_argument("--backend", metavar="NAME", help="default: visage; see below")
        model.add_argument("--model", metavar="ID|FOLDER", help="default: the backend's")
        model.add_argument("--revision", metavar="REF", help="a branch, tag or commit of the hub's model")
        add_precision_options(model)
        model.add_argument(
            "--option",
            action="append",
            default=[],
            metavar="KEY=VALUE",
            help="one of the backend's own options, e.g. ngrams=FOLDER; may be repeated",
        )
        add_run_options(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        values = {**options, "options": parse_options(options["option"]) or None}
        carry_out_on_images(self, recipe_of(CaptionRecipe, values), options)
