"""manage.py embed STUDY|SET: embeddings of a set's images (PROTOCOL §9, §12)."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from generation.management.commands._execution import add_run_options, carry_out_on_images
from generation.management.commands._targets import add_precision_options, list_backends_in_help, recipe_of
from generation.recipes.recipes import EmbeddingRecipe


class Command(BaseCommand):
    help = (
        "Embed the images of a set or study as unit vectors. The same recipe gives the same run: only images "
        "added since then are embedded."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        list_backends_in_help(parser, EmbeddingRecipe.kind)
        parser.add_argument("target", metavar="STUDY|SET")
        model = parser.add_argument_group("the model")
        model.add_argument("--backend", metavar="NAME", help="default: open_clip; see below")
        model.add_argument(
            "--model", metavar="NAME|local-dir:FOLDER", help=f"default: {EmbeddingRecipe.model}"
        )
        model.add_argument(
            "--pretrained", metavar="TAG|FILE", help=f"its weights, default: {EmbeddingRecipe.pretrained}"
        )
        add_precision_options(model)
        add_run_options(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        carry_out_on_images(self, recipe_of(EmbeddingRecipe, options), options)
