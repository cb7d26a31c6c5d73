"""manage.py embedding_tests FILE.toml: association tests on embeddings of images (PROTOCOL §12)."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from metrics.core.numbers import finite
from metrics.embedding_tests.published_files import published_files
from metrics.embedding_tests.queries import TestResult, TestsRefused, missing_texts, results
from metrics.embedding_tests.stats.effects import CORRECTED, PERMUTATIONS, VARIANTS
from metrics.embedding_tests.stored import is_simulated
from metrics.management import output
from metrics.management.embedding_test_files import SIMULATED, add_file_options, load
from metrics.management.output import Cell
from metrics.score_runs.evaluation import check_resampling

MOST_PERMUTATIONS = 10_000_000
_NUMBERS = (
    *("n_x", "n_y", "effect_size", "effect_low", "effect_high"),
    *("t", "df", "p_value", "p_two_sided", "p_permutation"),
)
COLUMNS = ("test", "kind", "encoder", "x", "y", *_NUMBERS, "q")


class Command(BaseCommand):
    help = (
        "Test whether the images of one group are nearer to some texts than those of another, by the cosines "
        "of their embeddings. The texts are embedded beforehand: manage.py embed SET --texts FILE."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_file_options(parser, required=False)
        parser.add_argument("--variant", choices=VARIANTS, default=CORRECTED, help=f"default: {CORRECTED}")
        parser.add_argument(
            "--permutations",
            type=int,
            default=PERMUTATIONS,
            metavar="N",
            help=f"where not all splits can be tried (default {PERMUTATIONS})",
        )
        output.add_intervals(parser)
        parser.add_argument(
            "--missing-texts", action="store_true", help="print the texts without an embedding, one a line"
        )
        parser.add_argument(
            "--published",
            action="store_true",
            help="list the published files of tests; with a name, print that file",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if options["published"]:
            self._published(options["file"])
            return
        if not options["file"]:
            raise CommandError("Name a file of tests, or list the published ones with --published.")
        if not 1 <= options["permutations"] <= MOST_PERMUTATIONS:
            raise CommandError(f"--permutations: write a number from 1 to {MOST_PERMUTATIONS}.")
        try:
            resamples = output.resamples_of(options)
            check_resampling(resamples or 0, seed=options["seed"])
        except ValueError as error:
            raise CommandError(str(error)) from error
        loaded = load(options["file"], image_set=options["set"], reference=options["reference"])
        run = loaded.run(options["encoder"])
        try:
            if options["missing_texts"]:
                for text in missing_texts(loaded.file, run, loaded.reference()):
                    self.stdout.write(text)
                return
            with output.spinner("Testing"):
                found = results(
                    loaded.file,
                    run,
                    variant=options["variant"],
                    resamples=resamples,
                    seed=options["seed"],
                    permutations=options["permutations"],
                )
        except TestsRefused as error:
            raise CommandError(str(error)) from error
        if not found:
            raise CommandError(
                f"{options['file']} has no [[test]]. Its ranking: manage.py image_ranking {options['file']}"
            )
        rows = [_cells(each) for each in found]
        if options["format"] == "csv":
            self.stdout.write(output.as_csv(COLUMNS, rows), ending="")
        else:
            if is_simulated(run):
                self.stdout.write(SIMULATED)
            self.stdout.write(output.as_table(COLUMNS, rows), ending="")
        if any(each.numbers for each in found):
            output.write_method(self, resamples, over="images", format=options["format"])
        for each in found:
            if each.problem:
                self.stderr.write(f"{each.test.name}: {each.problem}")

    def _published(self, name: str | None) -> None:
        known = published_files()
        if name is None:
            for each in known.values():
                self.stdout.write(f"{each.name}: {each.about}")
        elif name in known:
            self.stdout.write(known[name].text, ending="")
        else:
            raise CommandError(f"No published tests are called '{name}'. There are: {', '.join(known)}.")


def _cells(found: TestResult) -> dict[str, Cell]:
    numbers = {name: None if found.numbers is None else getattr(found.numbers, name) for name in _NUMBERS}
    return {
        "test": found.test.name,
        "kind": found.test.kind,
        "encoder": found.encoder,
        "x": " + ".join(found.test.x),
        "y": " + ".join(found.test.y),
        **{name: finite(value) for name, value in numbers.items()},
        "q": found.q,
    }
