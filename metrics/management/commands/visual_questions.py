"""manage.py visual_questions SET: ask a model questions about the images of a set (PROTOCOL §12)."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any, cast

from django.core.management.base import BaseCommand, CommandError

from annotation.models import ImageSet, Study
from generation.management.commands._execution import add_run_options, carry_out
from generation.management.commands._targets import find_study_or_image_set, list_backends_in_help
from generation.management.commands.ask import add_asking_options, asking_recipe, limits_of
from generation.plans.errors import PlanRefused
from generation.plans.queries.image_sets import image_set_of
from generation.recipes.askings import DescriptionRecipe
from generation.recipes.recipes import FAKE
from metrics.management import output
from metrics.score_runs.evaluation import check_resampling
from metrics.visual_questions.data import question_runs, times_of
from metrics.visual_questions.queries import results
from metrics.visual_questions.question_file import (
    Question,
    QuestionsRefused,
    read_questions,
    shipped_text,
)
from metrics.visual_questions.serializers import question_data, share_data
from metrics.visual_questions.services import MAX_TOKENS, TEMPERATURE, plan_questions

COLUMNS = ("question", "group", "answer", "n", "k", "share", "low", "high")
SUMMARY_COLUMNS = ("question", "groups", "statistic", "df", "p_value", "method")


class Command(BaseCommand):
    help = (
        "Ask a model every question about every image of a set, or print the share of each answer by group. "
        "The same choice gives the same run."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        list_backends_in_help(parser, DescriptionRecipe.kind)
        parser.add_argument("target", nargs="?", metavar="STUDY|SET", help="the images")
        parser.add_argument(
            "--questions",
            type=Path,
            metavar="FILE",
            help="TOML, a table [[question]] for each; or a question a line (default: those that ship)",
        )
        parser.add_argument("--name", default="", metavar="RUN", help="default: from set and model")
        parser.add_argument("--times", type=int, metavar="N", help="answers about each image (default: 1)")
        parser.add_argument(
            "--seed",
            type=int,
            metavar="N",
            help="of the answers, or with --show of the resamples (default: 0)",
        )
        add_asking_options(parser)
        shown = parser.add_argument_group("results")
        shown.add_argument("--show", metavar="RUN", help="print the results of a run, by number or name")
        shown.add_argument(
            "--summary", action="store_true", help="the test of each question instead of its answers"
        )
        shown.add_argument("--format", choices=output.FORMATS, default="table", help="default: table")
        output.add_intervals(shown, with_seed=False)
        add_run_options(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        if bool(options["show"]) == bool(options["target"]):
            raise CommandError("Name an image set to ask about, or a run with --show RUN; one of the two.")
        if options["show"]:
            self._show(options)
        else:
            self._ask(options)

    def _ask(self, options: dict[str, Any]) -> None:
        recipe = asking_recipe(
            DescriptionRecipe,
            options,
            backend=options["backend"] or "blip",
            temperature=TEMPERATURE if options["temperature"] is None else options["temperature"],
            max_tokens=options["max_tokens"] or MAX_TOKENS,
        )
        assert isinstance(recipe, DescriptionRecipe)
        target = find_study_or_image_set(options["target"])
        try:
            image_set = image_set_of(target) if isinstance(target, Study) else cast("ImageSet", target)
            plan = plan_questions(
                recipe=recipe,
                image_set=image_set,
                questions=_questions(options["questions"]),
                name=options["name"],
                limits=limits_of(options),
            )
        except (PlanRefused, QuestionsRefused) as error:
            raise CommandError(str(error)) from error
        carry_out(self, plan, options)
        if not options["preview"]:
            self.stdout.write(f"Results: manage.py visual_questions --show {plan.name}")

    def _show(self, options: dict[str, Any]) -> None:
        run = output.get_run(question_runs(), options["show"], of="of visual questions")
        seed = options["seed"] or 0
        try:
            resamples = output.resamples_of(options)
            check_resampling(resamples or 0, seed=seed)
        except ValueError as error:
            raise CommandError(str(error)) from error
        found = results(run, resamples=resamples, seed=seed)
        by_image = times_of(run) > 1 and not options["summary"]  # else Wilson's intervals, or none
        rows = question_data(found) if options["summary"] else share_data(found)
        columns = SUMMARY_COLUMNS if options["summary"] else COLUMNS
        if options["format"] == "csv":
            self.stdout.write(output.as_csv(columns, rows), ending="")
            if by_image:
                output.write_method(self, resamples, over="images", format="csv")
            return
        simulated = run.backend == FAKE
        if options["format"] == "json":
            about = {
                "run": run.pk,
                "name": run.name,
                "model": run.model,
                "simulated": simulated,
                "intervals": output.method_name(resamples) if by_image else "Wilson",
            }
            self.stdout.write(output.as_json(about, rows), ending="")
            return
        if simulated:
            self.stdout.write(output.SIMULATED_MODEL)
        if not rows:
            self.stdout.write(f"Run {run.pk}, '{run.name}', has no answer yet.")
            return
        self.stdout.write(output.as_table(columns, rows), ending="")
        if by_image:
            output.write_method(self, resamples, over="images", format="table")


def _questions(path: Path | None) -> tuple[Question, ...]:
    if path is None:
        return read_questions(shipped_text())
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"--questions {path}: {error}. Give a text file in UTF-8.") from error
    return read_questions(text, name=path.name)
