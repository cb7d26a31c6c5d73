"""Which embedding runs can stand beside each other in the pull explorer."""

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
    """The embedding runs whose numbers may stand beside those of `study`, the newest first: those of the
    studies that the reader leads, or `every` one, for who makes images. Three queries."""
    return list(finished_runs() if every else embedding_runs(study, *led))


def comparable_runs(run: Run, others: Iterable[Run]) -> list[Run]:
    """Those of the same encoder: similarities of another one are on a scale of their own."""
    return [one for one in others if one != run and encoder_of(one) == encoder_of(run)]


def comparison_parameters(first: Run, second: Run) -> dict[str, str]:
    """What METRIC is asked for to compare the two."""
    return {"by": "run", "first": str(first.pk), "second": str(second.pk)}


def may_compare(chosen: Mapping[str, str], runs: Sequence[Run], led: QuerySet[Study]) -> bool:
    """Whether what METRIC is asked for is of `runs` or of a study in `led`. What is no comparison at all may
    be asked for: it is told what it lacks."""
    if chosen["against"]:
        return led.filter(name=chosen["against"]).exists()
    known = {str(run.pk) for run in runs} | {NEWEST, ""}
    if chosen["by"] == "image_set":
        known = {run.image_set.name for run in runs if run.image_set} | {""}
    return {chosen["first"], chosen["second"]} <= known


def check_offered(user: User, study: Study, parameters: Mapping[str, str]) -> None:
    """Both sides of a comparison of pull must be of studies of one's own, unless one makes images. Raises
    ValueError."""
    led, every = policies.studies_led_by(user), policies.may_make_images(user)
    runs = visible_runs(study, led, every=every)
    if not may_compare(parameters, runs, led):
        listed = ", ".join(str(run.pk) for run in runs) or "none"
        raise ValueError(
            f"Pull is compared between studies, sets and runs of yours. There are the runs: {listed}."
        )
