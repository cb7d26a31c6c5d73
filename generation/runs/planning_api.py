"""What the resources of the API share that plan a run: a form, and the plan's preview or its run."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from django.contrib.auth.models import User
from rest_framework.response import Response

from annotation.api.errors import refusals, refused_form
from annotation.studies.errors import StudyRefused
from generation.plans import services as plans
from generation.plans.errors import PlanRefused
from generation.plans.plan import Plan
from generation.runs import services as runs
from generation.runs.errors import RunRefused
from generation.runs.serializers import PlannedSerializer


def planned_response(
    form: Any, *, dry_run: str, by: User, completed: Callable[[Plan], Plan] = lambda plan: plan
) -> Response:
    """What the plan of a bound form would make, and its run unless `dry_run` is "true". `completed` is given
    the plan before it is stored, and may write what the plan needs. Raises Refused."""
    plan = form.plan() if form.is_valid() else None
    if plan is None:
        raise refused_form(form)
    preview = plans.preview(plan)
    if dry_run != "true":
        with refusals(RunRefused, StudyRefused, PlanRefused):
            preview = replace(preview, run=runs.ensure(plan=completed(plan), by=by).run)
    return Response(PlannedSerializer(preview).data, status=200 if dry_run == "true" else 201)
