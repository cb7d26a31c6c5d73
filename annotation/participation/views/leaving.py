"""Pages at the end of the work, and withdrawal (DESIGN §5)."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.assignment import queries
from annotation.assignment.queries import Membership
from annotation.core.requests import LoggedIn
from annotation.models import Enrolment, EnrolmentStatus, StudyStatus
from annotation.participation.constants import SESSION_LENGTH
from annotation.participation.forms.annotator import WithdrawForm
from annotation.participation.queries import annotator_pages, enrolments
from annotation.participation.services import crowd, withdrawals


@login_required
@never_cache
@require_safe
def thanks(request: LoggedIn, name: str) -> HttpResponse:
    """Say why there is nothing to do at the moment, and how to hand in the work."""
    enrolment = _membership(request, name).enrolment
    study = enrolment.study
    context: dict[str, Any] = {
        "study": study,
        "completion": crowd.completion(enrolment=enrolment),
        "crowd": bool(enrolment.crowd_participant),
    }
    if enrolment.status == EnrolmentStatus.WITHDRAWN:
        return redirect("withdraw", name=name)
    if enrolment.status == EnrolmentStatus.BLOCKED:
        return render(request, "annotation/participation/blocked.html", context, status=403)
    if enrolment.status == EnrolmentStatus.SCREENED_OUT:
        return render(request, "annotation/participation/screened_out.html", context)
    context["progress"] = progress = enrolments.progress(enrolment=enrolment)
    if enrolment.status == EnrolmentStatus.FINISHED:
        return render(request, "annotation/participation/stopped.html", context)
    if study.status != StudyStatus.OPEN:
        return render(request, "annotation/participation/not_open.html", context)
    session_ends = _session_ends(enrolment)
    if session_ends is not None:
        hours = max(1, round((session_ends - timezone.now()) / timedelta(hours=1)))
        return render(request, "annotation/participation/cap.html", {**context, "hours": hours})
    done = crowd.is_done(enrolment=enrolment)
    context |= {"done": done, "left": enrolments.has_unfilled_slots(study=study)}
    if done and not progress.rated:
        return render(request, "annotation/participation/full.html", context)
    if not done:
        # The completion code is only for finished work.
        context["completion"] = None
    return render(request, "annotation/participation/thanks.html", context)


@login_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def withdraw(request: LoggedIn, name: str) -> HttpResponse:
    """Stop taking part, or withdraw one's answers as well. Open to everybody who ever took part, in any state
    of the study and of their enrolment."""
    enrolment = _membership(request, name).enrolment
    study, annotator = enrolment.study, enrolment.annotator
    if enrolment.status == EnrolmentStatus.WITHDRAWN:
        return _withdrawn(request, enrolment)
    form = WithdrawForm(request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        if form.cleaned_data["choice"] == "stop":
            withdrawals.stop(annotator=annotator, study=study)
            return redirect("thanks", name=name)
        withdrawals.withdraw(annotator=annotator, study=study, by=None)
        return redirect("withdraw", name=name)
    return render(
        request,
        "annotation/participation/withdraw.html",
        {
            "study": study,
            "form": form,
            "answers": annotator_pages.answer_count(enrolment=enrolment),
            "stopped": enrolment.status == EnrolmentStatus.FINISHED,
            "crowd": bool(enrolment.crowd_participant),
        },
        status=422 if form.errors else 200,
    )


@login_required
@require_POST
def come_back(request: LoggedIn, name: str) -> HttpResponse:
    """Take part again after having stopped."""
    enrolment = _membership(request, name).enrolment
    withdrawals.come_back(annotator=enrolment.annotator, study=enrolment.study)
    return redirect("annotate", name=name)


def _membership(request: LoggedIn, name: str) -> Membership:
    membership = queries.membership(user=request.user, study_name=name)
    if membership is None:
        raise Http404
    return membership


def _withdrawn(request: LoggedIn, enrolment: Enrolment) -> HttpResponse:
    context = {"study": enrolment.study, "crowd": bool(enrolment.crowd_participant), "mine": True}
    response = render(request, "annotation/participation/withdrawn.html", context)
    if not annotator_pages.takes_part(annotator=enrolment.annotator):
        # Clears drafts and unsent answers. Somebody in another study keeps theirs.
        response["Clear-Site-Data"] = '"storage"'
    return response


def _session_ends(enrolment: Enrolment) -> datetime | None:
    """When somebody who has reached the session cap can continue. None if they have not reached it."""
    cap, started = enrolment.study.session_cap, enrolment.session_started_at
    if cap is None or started is None or enrolment.session_units < cap:
        return None
    ends = started + SESSION_LENGTH
    return ends if timezone.now() <= ends else None
