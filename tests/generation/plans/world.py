"""What the tests of plans share: recipes, a study that knows stereotypes, jobs as workers leave them."""

from __future__ import annotations

from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from annotation.core.leases import JobState
from annotation.models import IdentityGroup, Image, Study, StudyStatus
from generation.models import Job, Run, RunState
from generation.plans import services as plans
from generation.recipes.prompts import PromptSet
from generation.recipes.recipes import ImageRecipe
from generation.runs import services as runs
from tests import factories

FAKE = ("--backend", "fake", "--size", "64x64", "--images-per-prompt", "2")
PULL = ("default", "stereotypical", "non_stereotypical")


def recipe(**fields) -> ImageRecipe:
    return ImageRecipe(
        **{"backend": "fake", "model": "fake", "width": 64, "height": 64, "images_per_prompt": 2, **fields}
    )


def planned(*names: str, image_set: str = "trial", **fields) -> runs.EnsuredRun:
    """A planned run of these groups."""
    groups = [factories.group(name) for name in names]
    plan = plans.plan_images(recipe=recipe(**fields), groups=groups, image_set=image_set)
    return runs.ensure(plan=plan, by=None)


def knowing_study(name: str = "knowing", *, status: str = StudyStatus.DRAFT) -> Study:
    """Mexican: sombrero, spicy food. Indian: sari. Togolese: nothing that two of three call stereotypical."""
    of = factories.source("known")
    for group, text, votes in (
        ("Mexican", "sombrero", (3, 0, 0)),
        ("Mexican", "spicy food", (2, 1, 0)),
        ("Mexican", "tall", (1, 2, 0)),
        ("Indian", "sari", (3, 0, 0)),
        ("Togolese", "poor", (1, 2, 0)),
    ):
        factories.association(group_name=group, text=text, out_votes=votes, from_source=of)
    return factories.study(name, status=status, stereotype_source=of, stereotype_threshold=2)


def finish(job: Job) -> None:
    """Leave a job as a worker does that made its picture."""
    image = Image.objects.create(
        image_set=job.run.image_set,
        group=job.group,
        prompt=job.prompt,
        index=job.index,
        width=64,
        height=64,
        file=f"images/{job.pk}.png",
        sha256="0" * 64,
    )
    Job.objects.filter(pk=job.pk).update(
        state=JobState.DONE, image=image, finished_at=timezone.now(), seconds=0.5
    )


def fail(job: Job, error: str = "It broke.") -> None:
    """Leave a job as workers do after its third try."""
    Job.objects.filter(pk=job.pk).update(
        state=JobState.FAILED, attempts=3, error=error, finished_at=timezone.now()
    )


def put(run: Run, state: str) -> Run:
    """A run in this state, however it came there."""
    run.state = state
    run.started_at = None if state == RunState.PLANNED else timezone.now()
    run.save(update_fields=["state", "started_at"])
    return run


def command(*arguments: str) -> str:
    """`manage.py ARGUMENTS`; what it said."""
    out = StringIO()
    call_command(*arguments, stdout=out, stderr=out)
    return out.getvalue()


def refused(*arguments: str) -> str:
    """The error that `manage.py ARGUMENTS` ends with."""
    with pytest.raises(CommandError) as caught:
        command(*arguments)
    return str(caught.value)


def prompts_of(plan: plans.Plan, prompt_set: PromptSet, group: str) -> list[str]:
    pks = set(IdentityGroup.objects.filter(name=group).values_list("pk", flat=True))
    return [
        each.prompt.text
        for each in plan.prompts
        if each.group_id in pks and each.prompt.prompt_set == prompt_set
    ]
