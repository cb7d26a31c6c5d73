"""manage.py inference SOURCE: ask an inference model about a source's stereotypes (PROTOCOL §15)."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from annotation.models import Pool, Source
from generation.management.commands._execution import add_run_options, carry_out
from generation.management.commands._targets import (
    add_precision_options,
    list_backends_in_help,
    parse_options,
    recipe_of,
)
from generation.plans.errors import PlanRefused
from generation.recipes.askings import ClassificationRecipe
from generation.recipes.recipes import FAKE
from metrics.core.suggestions import did_you_mean
from metrics.inference.data import inference_runs
from metrics.inference.drawing import RANDOM
from metrics.inference.labels import LabelsRefused
from metrics.inference.queries import ResultRow, number, results
from metrics.inference.sentences import OBJECTS, VERBS
from metrics.inference.services.planning import LABELS_OF, THRESHOLD, Choice, plan_inference
from metrics.management import output
from metrics.management.output import Cell
from metrics.score_runs.evaluation import check_resampling

COLUMNS = (
    *("source", "region", "n_groups", "n_pairs"),
    *("entailed_share", "entailed_low", "entailed_high"),
    *("mean_entailment_of_entailed", "mean_entailment_of_all"),
)


class Command(BaseCommand):
    help = (
        "Ask an inference model whether sentences about a group follow from sentences about its stereotypes, "
        "or print what it answered. The truth of every pair is neutral. The same choice gives the same run."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        list_backends_in_help(parser, ClassificationRecipe.kind, without=LABELS_OF)
        parser.add_argument("source", nargs="?", help="a source of associations, e.g. seegull-v2")
        parser.add_argument(
            "--baseline", choices=(RANDOM,), default="", help="also a random attribute for each group"
        )
        parser.add_argument(
            "--threshold",
            type=int,
            default=THRESHOLD,
            metavar="T",
            help=f"votes for a stereotype; 0: every association (default {THRESHOLD})",
        )
        parser.add_argument(
            "--pool", choices=Pool.values, default=Pool.IN_REGION.value, help="whose votes (default: in)"
        )
        parser.add_argument(
            "--seed", type=int, default=0, help="of the draws, or with --show of the bootstrap (default 0)"
        )
        parser.add_argument(
            "--verbs", metavar="LIST", help=f"separated by commas (default: {','.join(VERBS)})"
        )
        parser.add_argument(
            "--objects", metavar="LIST", help=f"with their articles (default: {','.join(OBJECTS)})"
        )
        parser.add_argument("--name", default="", help="of the run (default: from source and model)")
        model = parser.add_argument_group("the model")
        model.add_argument("--backend", metavar="NAME", help="default: transformers; see below")
        model.add_argument(
            "--model",
            metavar="ID|FOLDER",
            help="a model of natural language inference",
        )
        model.add_argument("--revision", metavar="REF", help="a branch, tag or commit of the hub's model")
        model.add_argument(
            "--label",
            action="append",
            metavar="NAME",
            help="of a model whose configuration does not name its labels: one for each, in its order",
        )
        add_precision_options(model)
        model.add_argument(
            "--option",
            action="append",
            default=[],
            metavar="KEY=VALUE",
            help="one of the backend's own options; may be repeated",
        )
        shown = parser.add_argument_group("results")
        shown.add_argument("--show", metavar="RUN", help="print the results of a run, by number or name")
        shown.add_argument("--format", choices=output.FORMATS, default="table", help="default: table")
        output.add_intervals(shown, with_seed=False)
        add_run_options(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        if bool(options["show"]) == bool(options["source"]):
            raise CommandError("Name a source to ask about, or a run with --show RUN; one of the two.")
        if options["show"]:
            self._show(options)
        else:
            self._ask(options)

    def _ask(self, options: dict[str, Any]) -> None:
        recipe = recipe_of(
            ClassificationRecipe,
            {
                **options,
                "labels": tuple(options["label"] or ()) or None,
                "options": parse_options(options["option"]) or None,
            },
        )
        source = _find_source(options["source"])
        if recipe.backend == ClassificationRecipe.backend and not recipe.model.strip():
            raise CommandError(
                "Which model is asked? Name one of natural language inference with --model, for example "
                "--model roberta-large-mnli, or try the command without a model: --backend fake."
            )
        try:
            plan = plan_inference(
                recipe=recipe,
                choice=Choice(
                    source=source,
                    threshold=options["threshold"],
                    pool=options["pool"],
                    seed=options["seed"],
                    baseline=options["baseline"],
                    verbs=_words(options["verbs"]) or VERBS,
                    objects=_words(options["objects"]) or OBJECTS,
                ),
                name=options["name"],
            )
        except PlanRefused as error:
            raise CommandError(str(error)) from error
        carry_out(self, plan, options)
        if not options["preview"]:
            self.stdout.write(f"Results: manage.py inference --show {plan.name}")

    def _show(self, options: dict[str, Any]) -> None:
        run = output.get_run(inference_runs(), options["show"], of="of an inference model")
        try:
            resamples = output.resamples_of(options)
            check_resampling(resamples or 0, seed=options["seed"])
            found = results(run, resamples=resamples, seed=options["seed"])
        except (LabelsRefused, ValueError) as error:
            raise CommandError(f"Run {run.pk}, '{run.name}': {error}") from error
        rows = [_cells(row) for row in found.rows]
        if options["format"] == "csv":
            self.stdout.write(output.as_csv(COLUMNS, rows), ending="")
            output.write_method(self, resamples, over="groups", format="csv")
            return
        simulated = run.backend == FAKE
        if options["format"] == "json":
            about = {
                "run": run.pk,
                "name": run.name,
                "model": run.model,
                "simulated": simulated,
                "intervals": output.method_name(resamples),
                "resamples": resamples,
                "seed": options["seed"],
            }
            self.stdout.write(output.as_json(about, rows), ending="")
            return
        if simulated:
            self.stdout.write(output.SIMULATED_MODEL)
        if not rows:
            self.stdout.write(f"Run {run.pk}, '{run.name}', has no answer yet.")
            return
        self.stdout.write(output.as_table(COLUMNS, rows), ending="")
        output.write_method(self, resamples, over="groups", format="table")


def _cells(row: ResultRow) -> dict[str, Cell]:
    numbers = row.numbers
    return {
        "source": row.source,
        "region": row.region,
        "n_groups": numbers.n_groups,
        "n_pairs": numbers.n_pairs,
        "entailed_share": number(numbers.share),
        "entailed_low": number(numbers.share, "low"),
        "entailed_high": number(numbers.share, "high"),
        "mean_entailment_of_entailed": number(numbers.mean_of_entailed),
        "mean_entailment_of_all": number(numbers.mean_of_all),
    }


def _words(text: str | None) -> list[str]:
    return [word.strip() for word in text.split(",")] if text else []


def _find_source(name: str) -> Source:
    source = Source.objects.filter(name=name).first()
    if source is None:
        known = list(Source.objects.order_by("name").values_list("name", flat=True))
        raise CommandError(
            f"There is no source '{name}'.{did_you_mean(name, known)} There are: "
            f"{', '.join(known) or 'none yet; import one first (docs/importing.md)'}."
        )
    return source
