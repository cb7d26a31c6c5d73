"""manage.py ngrams TEXT: build the n-gram cache of ViSAGe's captioner (PROTOCOL §8)."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from annotation.management.commands import _importing
from generation import backends
from generation.backends import ngrams_build
from generation.backends.base import BackendError
from generation.backends.caption_visage import VisageOptions
from generation.backends.counting import TextRefused
from generation.management.commands._targets import DTYPE_HELP, recipe_of
from generation.recipes.recipes import EmbeddingRecipe

_CLIP = EmbeddingRecipe(model=VisageOptions.clip, pretrained=VisageOptions.pretrained)


class Command(BaseCommand):
    help = (
        "Count the n-grams of text files of any size, and store them with their CLIP vectors in a folder for "
        "'caption --backend visage --option ngrams=FOLDER'. Either the whole folder is written or nothing."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("text", nargs="+", type=Path, metavar="TEXT", help="a text file in UTF-8")
        parser.add_argument(
            "--out", required=True, type=Path, metavar="FOLDER", help="the cache's folder; must not exist yet"
        )
        parser.add_argument("--max-n", type=int, default=3, metavar="N", help="words at most (default: 3)")
        parser.add_argument(
            "--min-count", type=int, default=2, metavar="N", help="times seen at least (default: 2)"
        )
        parser.add_argument("--limit", type=int, metavar="N", help="keep the N most frequent (default: all)")
        parser.add_argument(
            "--store",
            default="float16",
            choices=("float16", "float32"),
            help="number type of the vectors (default: float16)",
        )
        model = parser.add_argument_group(
            "the model, the same as the captioner's options clip and pretrained"
        )
        model.add_argument("--backend", metavar="NAME", help="default: open_clip")
        model.add_argument("--model", metavar="NAME", help=f"default: {_CLIP.model}")
        model.add_argument("--pretrained", metavar="TAG|FILE", help=f"default: {_CLIP.pretrained}")
        model.add_argument("--dtype", metavar="TYPE", help=DTYPE_HELP)
        model.add_argument("--device", default="", metavar="NAME", help="default: a GPU if there is one")

    def handle(self, *args: Any, **options: Any) -> None:
        recipe = recipe_of(EmbeddingRecipe, options, like=_CLIP)
        try:
            encoder: Any = backends.load(recipe, device=options["device"])
            with _importing.progress_bar() as progress:
                made = ngrams_build.build(
                    options["text"],
                    options["out"],
                    encoder=encoder,
                    model=recipe.model,
                    pretrained=recipe.pretrained,
                    dtype=options["store"],
                    max_n=options["max_n"],
                    min_count=options["min_count"],
                    limit=options["limit"],
                    progress=progress,
                )
        except (BackendError, TextRefused) as error:
            raise CommandError(str(error)) from error
        words = sum(source["words"] for source in made.sources)
        kinds = ", ".join(f"{count:,} of {n}" for n, count in made.per_n.items())
        self.stdout.write(
            f"{options['out']}: {made.rows:,} n-grams ({kinds} words) from {words:,} words, "
            f"each as {made.dim} numbers of {made.dtype}."
        )
