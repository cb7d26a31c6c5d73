"""manage.py judges: models that answer the items of a study, beside people (PROTOCOL §16)."""

from argparse import ArgumentParser
from typing import Any

from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError

from annotation.models import Study, Task, TaskKind
from generation.management.commands._execution import add_run_options, carry_out
from generation.management.commands._targets import list_backends_in_help
from generation.management.commands.ask import add_asking_options, asking_recipe, limits_of
from generation.models import Run
from generation.plans.errors import PlanRefused
from generation.recipes.askings import CompletionRecipe, DescriptionRecipe
from generation.recipes.recipes import FAKE
from metrics.machine_judges.answers_csv import stream_answers
from metrics.machine_judges.data import judge_runs
from metrics.machine_judges.design import Boxes
from metrics.machine_judges.planning import (
    AGAIN,
    MAX_TOKENS,
    NO_JUDGES,
    TEMPERATURE,
    Choice,
    plan_judge,
    recipe_kind,
)
from metrics.machine_judges.queries.judges import JudgeRow, judge_rows
from metrics.machine_judges.queries.requests import AGREEMENT
from metrics.machine_judges.scores.metric import SOURCE
from metrics.management import output
from metrics.management.output import Cell
from metrics.score_runs import registry

COLUMNS = (
    *("run", "name", "task", "model", "revision", "state", "done", "total", "failed", "temperature"),
    *("samples", "boxes", "variants", "again", "tokens_in", "tokens_out", "cost", "seconds"),
)


class Command(BaseCommand):
    help = (
        "Machine judges of a study: plan one, list them, or print how one agrees with people. Their answers "
        "count in no score of people's answers."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True, metavar="plan|list|results|answers")
        _add_plan(verbs.add_parser("plan", help="ask a model about every item of a task"))
        listed = verbs.add_parser("list", help="the judges of a study, their state, tokens and cost")
        listed.add_argument("study", help="name of the study")
        listed.add_argument("--format", choices=output.FORMATS, default="table", help="default: table")
        _add_results(verbs.add_parser("results", help="scores of a judge beside people's"))
        answers = verbs.add_parser("answers", help="the answers of a judge as CSV, one judgement a row")
        answers.add_argument("study", help="name of the study")
        answers.add_argument("judge", metavar="NAME", help="the judge's run, by name or number")

    def handle(self, *args: Any, **options: Any) -> None:
        verbs = {
            "plan": self._plan,
            "list": self._list,
            "results": self._results,
            "answers": self._answers,
        }
        verbs[options["verb"]](options)

    def _plan(self, options: dict[str, Any]) -> None:
        study = output.get_study(options["study"])
        recipe = asking_recipe(
            recipe_kind(options["task"]),
            options,
            temperature=TEMPERATURE if options["temperature"] is None else options["temperature"],
            max_tokens=options["max_tokens"] or MAX_TOKENS,
        )
        assert isinstance(recipe, CompletionRecipe | DescriptionRecipe)
        choice = Choice(
            study=study,
            task=options["task"],
            boxes=options["boxes"],
            again=options["again"],
            wording=options["wording"],
            languages=options["language"],
            seed=options["seed"] or 0,
        )
        try:
            plan = plan_judge(recipe=recipe, choice=choice, name=options["name"], limits=limits_of(options))
        except PlanRefused as error:
            raise CommandError(str(error)) from error
        carry_out(self, plan, options)
        if not options["preview"]:
            self.stdout.write(f"Results: manage.py judges results {study.name} {plan.name}")

    def _list(self, options: dict[str, Any]) -> None:
        study = output.get_study(options["study"])
        rows = [_cells(row) for row in judge_rows(list(judge_runs(study)))]
        if options["format"] == "csv":
            self.stdout.write(output.as_csv(COLUMNS, rows), ending="")
        elif options["format"] == "json":
            self.stdout.write(output.as_json({"study": study.name}, rows), ending="")
        elif rows:
            self.stdout.write(output.as_table(COLUMNS, rows), ending="")
        else:
            self.stdout.write(
                f"The study '{study.name}' has no machine judge yet. Plan one: manage.py judges plan "
                f"{study.name} TASK --model MODEL --preview"
            )

    def _results(self, options: dict[str, Any]) -> None:
        """As `manage.py scores` prints them, of this judge."""
        study = output.get_study(options["study"])
        run = _judge(study, options["judge"])
        known = [metric.name for metric in registry.metrics() if metric.source == SOURCE]
        if options["metric"] not in known:
            raise CommandError(
                f"There is no metric '{options['metric']}' of machine judges. There are: "
                f"{', '.join(known) or 'none'}."
            )
        if run.backend == FAKE:
            self.stderr.write("SIMULATED: a program, and no model, gave the judge's answers.")
        call_command(
            "scores",
            study.name,
            metric=options["metric"],
            format=options["format"],
            intervals=options["intervals"],
            resamples=options["resamples"],
            seed=options["seed"],
            set=[f"judge={run.name}", *options["set"]],
            stdout=self.stdout,
            stderr=self.stderr,
        )

    def _answers(self, options: dict[str, Any]) -> None:
        """As the page has them (answers_csv.py)."""
        study = output.get_study(options["study"])
        run = _judge(study, options["judge"])
        try:
            for lines in stream_answers(run, study):
                self.stdout.write(lines, ending="")
        except Task.DoesNotExist as gone:
            raise CommandError(f"The task that '{run.name}' was asked about no longer exists.") from gone


def _judge(study: Study, name: str) -> Run:
    cure = f"plan one: manage.py judges plan {study.name} TASK --model MODEL --preview"
    return output.get_run(judge_runs(study), name, of=f"of a judge of '{study.name}'", if_none=cure)


def _add_plan(parser: ArgumentParser) -> None:
    list_backends_in_help(parser, CompletionRecipe.kind, DescriptionRecipe.kind, without=NO_JUDGES)
    parser.add_argument("study", help="name of the study")
    parser.add_argument("task", choices=TaskKind.values, metavar="task", help=", ".join(TaskKind.values))
    parser.add_argument("--name", default="", metavar="RUN", help="default: from study, task and settings")
    parser.add_argument("--times", type=int, metavar="N", help="samples of each item (default: 1)")
    parser.add_argument("--seed", type=int, metavar="N", help="of orders, draws and answers (default: 0)")
    parser.add_argument(
        "--boxes",
        choices=[each.value for each in Boxes],
        default=Boxes.NONE.value,
        help="how the model gives boxes of what an image depicts (default: none)",
    )
    parser.add_argument(
        "--again",
        type=int,
        default=AGAIN,
        metavar="N",
        help=f"items asked about again, with the options in another order (default: {AGAIN})",
    )
    parser.add_argument("--wording", default="", metavar="TEXT", help="these also in another wording")
    parser.add_argument(
        "--language", action="append", default=[], metavar="CODE", help="and in this one; may be repeated"
    )
    add_asking_options(parser)
    add_run_options(parser)


def _add_results(parser: ArgumentParser) -> None:
    parser.add_argument("study", help="name of the study")
    parser.add_argument("judge", metavar="NAME", help="the judge's run, by name or number")
    parser.add_argument("--metric", default=AGREEMENT, help=f"default: {AGREEMENT}")
    parser.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", help="a parameter of the metric"
    )
    parser.add_argument("--format", choices=output.FORMATS, default="table", help="default: table")
    output.add_intervals(parser, default="as the study has chosen")


def _cells(row: JudgeRow) -> dict[str, Cell]:
    return {
        "run": row.run.pk,
        "name": row.run.name,
        "task": row.design.task,
        "model": row.run.model,
        "revision": row.revision,
        "state": row.run.state,
        "done": row.done,
        "total": row.total,
        "failed": row.failed,
        "temperature": row.temperature,
        "samples": row.times,
        "boxes": row.design.boxes,
        "variants": " ".join(row.design.variants),
        "again": row.design.again,
        "tokens_in": row.spent.tokens_in,
        "tokens_out": row.spent.tokens_out,
        "cost": row.spent.cost,
        "seconds": row.seconds,
    }
