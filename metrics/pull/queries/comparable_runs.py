"""Which embedding runs can be compared in the pull explorer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from django.contrib.auth.models import User
from django.db.models import QuerySet

from annotation import policies
from annotation.models import Study
from generation.models import Run
from metrics.pull.data import NEWEST, embedding_runs, encoder_of, finished_runs
from metrics.score_runs.contrasts import NAMES

METRIC = "pull_difference"
NUMBERS = NAMES["pull_contrast"]


def visible_runs(study: Study, led: QuerySet[Study], *, every: bool) -> list[Run]:
    """The embedding runs that may be compared with those of `study`, newest first: those of the studies in
    `led`, or `every` one, for users who may generate images. Three queries."""
    return list(finished_runs() if every else embedding_runs(study, *led))


def comparable_runs(run: Run, others: Iterable[Run]) -> list[Run]:
    """The other runs with the same encoder: similarities of different encoders are on different scales."""
    return [one for one in others if one != run and encoder_of(one) == encoder_of(run)]


def comparison_parameters(first: Run, second: Run) -> dict[str, str]:
    """The parameters of METRIC that compare the two runs."""
    return {"by": "run", "first": str(first.pk), "second": str(second.pk)}


def may_compare(chosen: Mapping[str, str], runs: Sequence[Run], led: QuerySet[Study]) -> bool:
    """Whether parameters of METRIC refer only to `runs` or to a study in `led`. Incomplete parameters pass:
    they get their own error message."""
    if chosen["against"]:
        return led.filter(name=chosen["against"]).exists()
    known = {str(run.pk) for run in runs} | {NEWEST, ""}
    if chosen["by"] == "image_set":
        known = {run.image_set.name for run in runs if run.image_set} | {""}
    return {chosen["first"], chosen["second"]} <= known


def check_offered(user: User, study: Study, parameters: Mapping[str, str]) -> None:
    """Raise ValueError unless the user leads the studies of both sides or may generate images."""
    led, every = policies.studies_led_by(user), policies.may_make_images(user)
    runs = visible_runs(study, led, every=every)
    if not may_compare(parameters, runs, led):
        run_ids = ", ".join(str(run.pk) for run in runs) or "none"
        raise ValueError(
            f"You can compare pull between your own studies, image sets and runs. Your runs: {run_ids}."
        )
