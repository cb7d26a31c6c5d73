"""manage.py embed STUDY|SET: embeddings of a set's images, and of texts (PROTOCOL §9, §12)."""

import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from generation.management.commands._execution import add_run_options, carry_out_on_images
from generation.management.commands._targets import add_precision_options, list_backends_in_help, recipe_of
from generation.plans.errors import PlanRefused
from generation.plans.texts import read_texts
from generation.recipes.recipes import EmbeddingRecipe


class Command(BaseCommand):
    help = (
        "Embed the images of a set or study, and texts, as unit vectors of one space. The same recipe gives "
        "the same run: only images and texts added since then are embedded."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        list_backends_in_help(parser, EmbeddingRecipe.kind)
        parser.add_argument("target", metavar="STUDY|SET")
        parser.add_argument(
            "--texts", metavar="FILE", help="also embed these texts, one a line; - reads the terminal"
        )
        model = parser.add_argument_group("the model")
        model.add_argument("--backend", metavar="NAME", help="default: open_clip; see below")
        model.add_argument(
            "--model",
            metavar="NAME|ID|FOLDER",
            help=f"open_clip: an architecture or local-dir:FOLDER (default: {EmbeddingRecipe.model}); "
            "transformers: a hub id or FOLDER",
        )
        model.add_argument(
            "--pretrained",
            metavar="TAG|FILE|REF",
            help=f"its weights; open_clip: a tag or file (default: {EmbeddingRecipe.pretrained}); "
            "transformers: a branch, tag or commit on the hub",
        )
        add_precision_options(model)
        add_run_options(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        texts = _read(options["texts"]) if options["texts"] else ()
        carry_out_on_images(self, recipe_of(EmbeddingRecipe, options), options, texts=texts)


def _read(name: str) -> tuple[str, ...]:
    try:
        text = sys.stdin.read() if name == "-" else Path(name).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"{name}: {error}. Give a text file in UTF-8.") from error
    try:
        texts = read_texts(text.split("\n"))
    except PlanRefused as refused:
        raise CommandError(f"{name}: {refused}") from refused
    if not texts:
        raise CommandError(f"{name}: it holds no text. Write one text on each line.")
    return texts
