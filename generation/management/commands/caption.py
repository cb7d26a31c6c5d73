"""manage.py caption STUDY|SET: captions of a set's images (PROTOCOL §8)."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from collections.abc import Sequence
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from generation.management.commands._execution import add_run_options, carry_out_on_images
from generation.management.commands._targets import recipe_of, list_backends_in_help
from generation.recipes.recipes import CaptionRecipe


class Command(BaseCommand):
    help = (
        "Write captions of the images of a set, or of those that a study shows. The same recipe is the same "
        "run: images that were added since are captioned, and no other again."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        list_backends_in_help(parser, CaptionRecipe.kind)
        parser.add_argument("target", metavar="STUDY|SET")
        parser.add_argument("--count", type=int, metavar="N", help="captions an image (default: 50)")
        parser.add_argument("--seed", type=int, metavar="N", help="default: 0")
        model = parser.add_argument_group("the model")
        model.add_argument("--backend", metavar="NAME", help="default: visage; see below")
        model.add_argument("--model", metavar="ID|FOLDER", help="default: the backend's")
        model.add_argument("--revision", metavar="REF", help="a branch, tag or commit of the hub's model")
        model.add_argument("--dtype", metavar="TYPE", help="float32 (default), float16 or bfloat16")
        model.add_argument(
            "--option",
            action="append",
            default=[],
            metavar="KEY=VALUE",
            help="one of the backend's own options, e.g. ngrams=FOLDER; may be repeated",
        )
        add_run_options(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        given = {**options, "options": _options(options["option"]) or None}
        carry_out_on_images(self, recipe_of(CaptionRecipe, given), options)


def _options(given: Sequence[str]) -> dict[str, Any]:
    """Numbers, true, false and null as JSON has them; anything else is a text."""
    found: dict[str, Any] = {}
    for text in given:
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise CommandError(f"--option '{text}': write KEY=VALUE.")
        try:
            found[key] = json.loads(value)
        except ValueError:
            found[key] = value
    return found
