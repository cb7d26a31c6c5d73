"""Where work ends, for now or for good, and how somebody takes back what they said (DESIGN §5)."""

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
from annotation.participation.forms.annotator import WithdrawForm
from annotation.participation.queries import care, enrolments
from annotation.participation.services import crowd, withdrawals
from annotation.participation.sessions import SESSION


@login_required
@never_cache
@require_safe
def thanks(request: LoggedIn, name: str) -> HttpResponse:
    """The page that says why there is nothing to do at the moment, and how to hand the work in."""
    enrolment = _membership(request, name).enrolment
    study = enrolment.study
    page: dict[str, Any] = {
        "study": study,
        "completion": crowd.completion(enrolment=enrolment),
        "crowd": bool(enrolment.crowd_participant),
    }
    if enrolment.status == EnrolmentStatus.WITHDRAWN:
        return redirect("withdraw", name=name)
    if enrolment.status == EnrolmentStatus.BLOCKED:
        return render(request, "annotation/participation/blocked.html", page, status=403)
    if enrolment.status == EnrolmentStatus.SCREENED_OUT:
        return render(request, "annotation/participation/screened_out.html", page)
    page["progress"] = progress = enrolments.progress(enrolment=enrolment)
    if enrolment.status == EnrolmentStatus.FINISHED:
        return render(request, "annotation/participation/stopped.html", page)
    if study.status != StudyStatus.OPEN:
        return render(request, "annotation/participation/not_open.html", page)
    rested_at = _rested_at(enrolment)
    if rested_at is not None:
        hours = max(1, round((rested_at - timezone.now()) / timedelta(hours=1)))
        return render(request, "annotation/participation/cap.html", {**page, "hours": hours})
    done = crowd.is_done(enrolment=enrolment)
    page |= {"done": done, "left": enrolments.has_unfilled_slots(study=study)}
    if done and not progress.rated:
        return render(request, "annotation/participation/full.html", page)
    if not done:
        # The code is for finished work: it is not shown to who opens this page half-way.
        page["completion"] = None
    return render(request, "annotation/participation/thanks.html", page)


@login_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def withdraw(request: LoggedIn, name: str) -> HttpResponse:
    """What leaving means, and leaving: only stopping, or taking one's answers out of the data as well.
    It is open to everybody who ever took part, whatever has become of them or of the study."""
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
            "answers": care.answers_given(enrolment=enrolment),
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
    page = {"study": enrolment.study, "crowd": bool(enrolment.crowd_participant), "mine": True}
    response = render(request, "annotation/participation/withdrawn.html", page)
    if not care.takes_part(annotator=enrolment.annotator):
        # Drafts and answers that the browser kept for sending; other studies' are not thrown away.
        response["Clear-Site-Data"] = '"storage"'
    return response


def _rested_at(enrolment: Enrolment) -> datetime | None:
    """When somebody who has reached the session's cap can go on; None if they have not."""
    cap, begun = enrolment.study.session_cap, enrolment.session_started_at
    if cap is None or begun is None or enrolment.session_units < cap:
        return None
    rested_at = begun + SESSION
    return rested_at if timezone.now() <= rested_at else None
