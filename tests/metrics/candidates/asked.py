"""A run of completions with answers, made without asking any model."""

from django.utils import timezone

from annotation.core.leases import JobState
from generation.models import Answer, Job, Run, RunKind, RunState
from metrics.candidates.services import lists
from tests import factories


def groups():
    """Three groups in two regions."""
    return [
        factories.group("Mexican", demonym="Mexican", country="Mexico", region="Latin America"),
        factories.group("Chilean", demonym="Chilean", country="Chile", region="Latin America"),
        factories.group("Iraqi", demonym="Iraqi", country="Iraq", region="Middle East"),
    ]


def run(*answers, name="asked", prompt="(Mexican, lazy), (Iraqi, hot)", design=None):
    """A finished run whose answers are these texts."""
    recipe = {"kind": "completions", "version": 1, "model": "tiny", "design": design or {}}
    now = timezone.now()
    made = Run.objects.create(
        kind=RunKind.COMPLETIONS,
        name=name,
        backend="imported",
        recipe=recipe,
        recipe_hash=factories.recipe_hash(),
        state=RunState.DONE,
        started_at=now,
        finished_at=now,
    )
    add(made, *answers, prompt=prompt)
    return made


def add(made, *answers, prompt="(Mexican, lazy), (Iraqi, hot)"):
    first = made.jobs.count()
    for number, text in enumerate(answers, start=first + 1):
        job = Job.objects.create(
            run=made,
            key=str(number),
            prompt=prompt,
            number=1,
            seed=0,
            state=JobState.DONE,
            finished_at=timezone.now(),
        )
        Answer.objects.create(job=job, run=made, text=text, ended="stop")


def found(made):
    """The list of a run's candidates, as a worker finds it."""
    one = lists.request(run=made)
    lists.compute(list_id=one.pk)
    one.refresh_from_db()
    return one
