"""Runs with answers about descriptors, made without asking any model."""

from django.utils import timezone

from annotation.core.leases import JobState
from annotation.models import IdentityGroup
from generation.models import Answer, Job, Run, RunKind, RunState
from metrics.associations.services import lists
from metrics.core.purposes import ASSOCIATIONS
from tests import factories


def group(name, axis="nationality", **fields):
    fields.setdefault("demonym", name)
    return IdentityGroup.objects.get_or_create(name=name, axis=axis, defaults=fields)[0]


def run(given=(), name="asked", *, kind=RunKind.COMPLETIONS, **design):
    """A finished run. `given`: (group, key, number, text)."""
    recipe = {
        "kind": kind.value,
        "version": 1,
        "model": "tiny",
        "design": {"purpose": ASSOCIATIONS, **design},
    }
    now = timezone.now()
    made = Run.objects.create(
        kind=kind,
        name=name,
        backend="imported",
        recipe=recipe,
        recipe_hash=factories.recipe_hash(),
        state=RunState.DONE,
        started_at=now,
        finished_at=now,
    )
    add(made, given)
    return made


def add(made, answers):
    now = timezone.now()
    jobs = [
        Job(
            run=made,
            group=about,
            key=key,
            number=number,
            prompt=f"asked about {about}",
            seed=0,
            state=JobState.DONE,
            finished_at=now,
        )
        for about, key, number, _ in answers
    ]
    jobs = Job.objects.bulk_create(jobs)
    Answer.objects.bulk_create(
        Answer(job=job, run=made, text=text, ended="stop")
        for job, (*_, text) in zip(jobs, answers, strict=True)
    )


def found(made):
    """The list of a run's associations, as a worker finds it."""
    one = lists.request(run=made)
    lists.compute(one.pk)
    one.refresh_from_db()
    return one
