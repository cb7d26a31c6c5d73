"""The judges of a study as lists show them: what each is asked, how far it is, and what it has used."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Sum

from generation.answers.queries import Spent, spent
from generation.models import Answer, Run
from generation.recipes.recipes import FAKE
from generation.runs import queries as runs_queries
from metrics.machine_judges.design import Design


@dataclass(frozen=True)
class JudgeRow(runs_queries.RunRow):
    """A run of a judge with its number of jobs: all, done and failed. `seconds`: of the model, so far; None
    if no answer has a time."""

    design: Design
    spent: Spent
    seconds: float | None

    @property
    def is_simulated(self) -> bool:
        return self.run.backend == FAKE

    @property
    def revision(self) -> str:
        return str(self.run.recipe.get("revision", ""))

    @property
    def temperature(self) -> float:
        return float(self.run.recipe.get("temperature", 0))

    @property
    def times(self) -> int:
        """Answers to each asking."""
        return int(self.run.recipe.get("times", 1))


def judge_rows(runs: Sequence[Run]) -> list[JudgeRow]:
    """The rows of `runs`, in their order. Two queries."""
    seconds = Answer.objects.filter(run__in=runs).order_by().values_list("run").annotate(Sum("seconds"))
    of_run = dict(seconds)
    return [
        JudgeRow(
            **vars(row),
            design=Design.from_json(row.run.recipe["design"]),
            spent=spent(row.run),
            seconds=of_run.get(row.run.pk),
        )
        for row in runs_queries.run_rows(runs)
    ]
