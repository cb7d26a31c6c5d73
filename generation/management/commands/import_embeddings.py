"""manage.py import_embeddings: store vectors that were computed elsewhere (docs/generation.md)."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from annotation.management.commands import _importing
from annotation.management.commands._lookups import command_errors
from annotation.models import Axis
from generation.core.file_errors import FileUnusable
from generation.embeddings.services.importing import TargetSet, import_embeddings
from generation.plans.errors import PlanRefused
from generation.recipes.checks import RecipeRefused


class Command(BaseCommand):
    help = (
        "Import embeddings of images, and of texts, that were made elsewhere, from an NPZ file of numpy with "
        "the arrays names, groups and vectors, and perhaps texts and text_vectors. Vectors of any scale are "
        "brought to length 1. In a set that has files, names are those of its images; in a new set, an image "
        "without a file is created for each name. The same file again changes nothing; if anything is wrong, "
        "nothing is imported."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE.npz")
        parser.add_argument("--set", required=True, metavar="NAME", help="short name of the image set")
        parser.add_argument(
            "--encoder",
            required=True,
            metavar="ID",
            help="as test files name it, such as ViT-B-32 openai",
        )
        parser.add_argument("--title", default="", help="title of a new set")
        parser.add_argument("--licence", default="", help="licence of a new set")
        parser.add_argument("--axis", choices=Axis.values, default=Axis.NATIONALITY, help="of the groups")
        parser.add_argument("--new-groups", action="store_true", help="create groups that are not known yet")

    def handle(self, *args: Any, **options: Any) -> None:
        target = TargetSet(
            name=options["set"],
            **{name: options[name] for name in ("title", "licence", "axis", "new_groups")},
        )
        refused = (FileUnusable, PlanRefused, RecipeRefused)
        with command_errors(*refused), _importing.progress_bar() as progress:
            imported = import_embeddings(
                path=options["file"], target=target, encoder=options["encoder"], progress=progress
            )
        for line in imported.summary():
            self.stdout.write(line)
