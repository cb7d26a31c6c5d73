"""manage.py candidates: ask a language model for stereotypes, and read what it gave (PROTOCOL §14)."""

from argparse import ArgumentParser
from dataclasses import asdict
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from annotation.imports.readers.oddities import FileRefused
from annotation.models import Axis, Pool
from generation.management.commands._execution import add_run_options, carry_out
from generation.management.commands._targets import (
    add_precision_options,
    list_backends_in_help,
    recipe_of,
)
from generation.plans.errors import PlanRefused
from generation.recipes.askings import CompletionRecipe
from generation.recipes.checks import RecipeRefused
from generation.recipes.limits import Limits
from generation.recipes.recipes import FAKE, option_value
from metrics.candidates import evaluation
from metrics.candidates.evaluation import CandidatesRefused
from metrics.candidates.planning import TEMPERATURE, TIMES, find_seeds, plan_candidates
from metrics.candidates.prompts import Prompts, PromptsRefused, PromptVariant
from metrics.candidates.queries import find_run
from metrics.candidates.report import report
from metrics.candidates.selection import MOST_PER_REGION
from metrics.management.output import FORMATS, SIMULATED_MODEL, Cell, as_csv, as_json, as_table, spinner

COLUMNS = ("identity", "attribute", "region", "count", "tf", "idf", "salience", "selected")
REPORT_COLUMNS = ("rule", "of", "number", "meaning")


class Command(BaseCommand):
    help = (
        "Print the candidates for stereotypes in the answers of a run of completions, planned here or "
        "imported; or, with --plan, ask a language model for them from known pairs."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        list_backends_in_help(parser, CompletionRecipe.kind)
        parser.add_argument("run", nargs="?", metavar="RUN", help="the name or number of a run")
        parser.add_argument("--format", choices=FORMATS, default="table")
        parser.add_argument(
            "--report", action="store_true", help="what each rule of extraction dropped, not the candidates"
        )
        parser.add_argument(
            "--axis",
            choices=Axis.values,
            help="kind of identity group (default: as planned, else nationality)",
        )
        parser.add_argument(
            "--per-region", type=int, default=MOST_PER_REGION, metavar="K", help="default: %(default)s"
        )
        planned = parser.add_argument_group("planning")
        planned.add_argument("--plan", metavar="NAME", help="plan and start a run of this name")
        planned.add_argument(
            "--seeds",
            metavar="FILE|SOURCE",
            help="a CSV file identity,attribute or a source of the catalogue",
        )
        planned.add_argument("--seed-number", type=int, metavar="N", help="draw so many pairs of the source")
        planned.add_argument(
            "--threshold", type=int, default=2, help="votes that make a pair of the source known (default 2)"
        )
        planned.add_argument("--pool", choices=Pool.values, default=Pool.IN_REGION.value, help="whose votes")
        planned.add_argument(
            "--variant", choices=list(PromptVariant), default=PromptVariant.IDENTITY_ATTRIBUTE.value
        )
        planned.add_argument("--n", type=int, default=2, help="pairs in a prompt (default 2)")
        planned.add_argument(
            "--sample", type=int, metavar="N", help="draw so many choices of pairs (default: all)"
        )
        planned.add_argument("--sample-seed", type=int, default=0, help="seed of all draws (default 0)")
        planned.add_argument("--times", type=int, default=TIMES, help="answers to each prompt (default 5)")
        model = parser.add_argument_group("the model")
        model.add_argument("--backend", metavar="NAME", help="see below")
        model.add_argument("--server", metavar="NAME", help="of the backend openai: of MODEL_SERVERS")
        model.add_argument("--model", metavar="ID")
        model.add_argument("--revision", metavar="REF")
        model.add_argument(
            "--chat", action="store_true", help="send prompts as messages; by default, a model continues them"
        )
        model.add_argument("--system", metavar="TEXT", help="a system message; needs --chat")
        model.add_argument("--temperature", type=float, default=TEMPERATURE, help="default 0.5")
        model.add_argument("--top-p", type=float)
        model.add_argument("--max-tokens", type=int, help="of an answer")
        model.add_argument("--stop", action="append", metavar="TEXT", help="a text that ends an answer")
        model.add_argument("--seed", type=int, metavar="N", help="default: 0")
        model.add_argument("--option", action="append", metavar="NAME=VALUE", help="of the backend")
        add_precision_options(model)
        limits = parser.add_argument_group("limits")
        limits.add_argument("--in-flight", type=int, metavar="N", help="askings at once")
        limits.add_argument("--token-limit", type=int, metavar="N", help="pause after so many tokens")
        limits.add_argument("--cost-limit", type=float, metavar="X", help="pause after such a cost")
        limits.add_argument("--price-in", type=float, metavar="X", help="of a million tokens in prompts")
        limits.add_argument("--price-out", type=float, metavar="X", help="of a million tokens in answers")
        add_run_options(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        if bool(options["run"]) == bool(options["plan"]):
            raise CommandError("Give a run, or --plan NAME with --seeds to ask a model.")
        try:
            if options["plan"]:
                self._plan(options)
            else:
                self._print(options)
        except (CandidatesRefused, FileRefused, PlanRefused, PromptsRefused, RecipeRefused) as error:
            raise CommandError(str(error)) from error

    def _plan(self, options: dict[str, Any]) -> None:
        if not options["seeds"]:
            raise CommandError("--seeds is missing: name a CSV file, or a source of the catalogue.")
        axis = options["axis"] or Axis.NATIONALITY.value
        seeds = find_seeds(
            options["seeds"],
            axis=axis,
            threshold=options["threshold"],
            pool=options["pool"],
            number=options["seed_number"],
            seed=options["sample_seed"],
        )
        prompts = Prompts(
            tuple(seeds),
            PromptVariant(options["variant"]),
            n=options["n"],
            sample=options["sample"],
            sample_seed=options["sample_seed"],
        )
        values = {**options, "options": dict(_option(text) for text in options["option"] or ())}
        values["stop"] = tuple(options["stop"] or ())
        recipe = recipe_of(CompletionRecipe, values)
        limits = Limits(
            in_flight=options["in_flight"],
            tokens=options["token_limit"],
            cost=options["cost_limit"],
            price_in=options["price_in"],
            price_out=options["price_out"],
        )
        plan = plan_candidates(recipe=recipe, name=options["plan"], axis=axis, prompts=prompts, limits=limits)
        carry_out(self, plan, options)

    def _print(self, options: dict[str, Any]) -> None:
        run = find_run(options["run"])
        if options["per_region"] < 0:
            raise CommandError("--per-region: choose at least 0.")
        axis = options["axis"] or evaluation.axis_of(run)
        with spinner(f"Reading the answers of run {run.pk}"):
            found = evaluation.evaluate(run, axis=axis, per_region=options["per_region"])
        simulated = run.backend == FAKE
        rows: list[dict[str, Cell]]
        if options["report"]:
            columns: tuple[str, ...] = REPORT_COLUMNS
            rows = [line._asdict() for line in report(asdict(found.extracted.rules))]
        else:
            columns = COLUMNS
            rows = [
                {
                    "identity": found.groups[row.group].name,
                    "attribute": row.attribute,
                    "region": found.groups[row.group].region,
                    "count": row.given,
                    "tf": row.tf,
                    "idf": row.idf,
                    "salience": row.salience,
                    "selected": row.selected,
                }
                for row in found.candidates
            ]
        if simulated and options["format"] != "json":
            (self.stderr if options["format"] == "csv" else self.stdout).write(SIMULATED_MODEL)
        if options["format"] == "csv":
            self.stdout.write(as_csv(columns, rows), ending="")
        elif options["format"] == "json":
            about = {
                "run": run.pk,
                "name": run.name,
                "simulated": simulated,
                "axis": axis,
                "per_region": options["per_region"],
            }
            self.stdout.write(as_json(about, rows), ending="")
        else:
            self.stdout.write(as_table(columns, rows), ending="")


def _option(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise CommandError(f"--option {text}: write --option NAME=VALUE.")
    return name, option_value(value)
