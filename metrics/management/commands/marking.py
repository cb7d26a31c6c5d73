"""manage.py marking SET: how many captions of a set's images name the group (PROTOCOL §12)."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from annotation.models import ImageSet
from generation.recipes.recipes import FAKE
from metrics.core.suggestions import did_you_mean
from metrics.management import output
from metrics.marking.data import Choice, groups_of_set
from metrics.marking.queries import results, words_of_set
from metrics.marking.serializers import row_data
from metrics.marking.words import NOUNS, WordList, WordsRefused, check_words, read_words
from metrics.score_runs.evaluation import check_resampling

COLUMNS = ("run", "model", "top_p", "group", "n", "marked", "share", "low", "high")


class Command(BaseCommand):
    help = (
        "Print the share of captions and descriptions of a set's images that name the group of the image, by "
        "run and group."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("image_set", metavar="SET")
        parser.add_argument(
            "--words",
            type=Path,
            metavar="FILE",
            help="a line for each group, 'Group: word, word' (default: its name, demonym and singular)",
        )
        parser.add_argument(
            "--nouns", metavar="LIST", help=f"separated by commas (default: {','.join(NOUNS)})"
        )
        parser.add_argument(
            "--alone", action="store_true", help="a word counts without a noun, also in 'a white shirt'"
        )
        parser.add_argument(
            "--all-ranks", action="store_true", help="all captions of an image, not only the first-ranked"
        )
        parser.add_argument("--format", choices=output.FORMATS, default="table", help="default: table")
        output.add_intervals(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        image_set = _image_set(options["image_set"])
        try:
            resamples = output.resamples_of(options)
            check_resampling(resamples or 0, seed=options["seed"])
            choice = _choice(image_set, options)
        except (WordsRefused, ValueError) as error:
            raise CommandError(str(error)) from error
        found = results(image_set, choice, resamples=resamples, seed=options["seed"])
        rows = row_data(found)
        if options["format"] == "csv":
            self.stdout.write(output.as_csv(COLUMNS, rows), ending="")
            output.write_method(self, resamples, over="images", format="csv")
            return
        simulated = any(row.run.backend == FAKE for row in found)
        if options["format"] == "json":
            about = {
                "image_set": image_set.name,
                "words": {group: list(words) for group, words in choice.listed.words.items()},
                "simulated": simulated,
                "intervals": output.method_name(resamples),
            }
            self.stdout.write(output.as_json(about, rows), ending="")
            return
        if simulated:
            self.stdout.write("SIMULATED: a program, and no model, wrote some or all of these texts.")
        if not rows:
            self.stdout.write(
                f"No image of '{image_set.name}' has a caption or a description yet. Write some: manage.py "
                f"caption {image_set.name} --backend blip --count 1"
            )
            return
        self.stdout.write(output.as_table(COLUMNS, rows), ending="")
        output.write_method(self, resamples, over="images", format="table")


def _choice(image_set: ImageSet, options: dict[str, Any]) -> Choice:
    groups = groups_of_set(image_set)
    words = words_of_set(groups)
    if path := options["words"]:
        try:
            text = path.read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            raise CommandError(f"--words {path}: {error}. Give a text file in UTF-8.") from error
        words |= read_words(text, groups=words, name=path.name)
    nouns = check_words(options["nouns"].split(","), "--nouns") if options["nouns"] else NOUNS
    return Choice(WordList(words, nouns=nouns, alone=options["alone"]), all_ranks=options["all_ranks"])


def _image_set(name: str) -> ImageSet:
    found = ImageSet.objects.filter(name=name).first()
    if found is None:
        known = list(ImageSet.objects.order_by("name").values_list("name", flat=True))
        raise CommandError(
            f"There is no image set '{name}'.{did_you_mean(name, known)} There are: "
            f"{', '.join(known) or 'none yet'}."
        )
    return found
