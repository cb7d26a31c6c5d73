"""An annotator's pages around the work: the study, consent, the voluntary profile, the end, withdrawal."""

from datetime import datetime, timedelta
from typing import Any

from django.contrib import auth, messages
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import get_language
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation import policies
from annotation.assignment import queries
from annotation.assignment.constants import ENDED_STATUSES, SESSION_LENGTH
from annotation.assignment.queries import Membership
from annotation.assignment.services import slots
from annotation.core.requests import LoggedIn
from annotation.models import Enrolment, EnrolmentStatus, Study, StudyStatus
from annotation.participation.forms import ProfileForm, WithdrawForm
from annotation.participation.queries import enrolments
from annotation.participation.services import annotators, crowd, withdrawals

# A guess at how long one item takes. The page says so.
_SECONDS_PER_ITEM = 10


@require_safe
def study(request: LoggedIn, name: str) -> HttpResponse:
    found = get_object_or_404(Study, name=name)
    membership = queries.membership(user=request.user, study_name=name)
    if membership is not None and membership.enrolment.status == EnrolmentStatus.WITHDRAWN:
        return redirect("withdraw", name=name)
    leads = policies.leads(request.user, found)
    if not leads and not policies.studies_open_to(request.user).filter(pk=found.pk).exists():
        raise Http404
    total = enrolments.total_units(study_id=found.pk)
    return render(
        request,
        "annotation/participation/study.html",
        {
            "study": found,
            "leads": leads,
            "may_annotate": policies.may_annotate(request.user, found),
            "membership": membership,
            "ended": membership is not None and membership.enrolment.status in ENDED_STATUSES,
            "progress": enrolments.progress(enrolment=membership.enrolment) if membership else None,
            "total": total,
            "minutes": max(1, round(total * _SECONDS_PER_ITEM / 60)),
            "guides": enrolments.guides(
                tasks=found.tasks.all(),
                language=get_language() or "",
                consented=leads or (membership is not None and membership.consented),
            ),
        },
    )


@require_http_methods(["GET", "HEAD", "POST"])
def consent(request: LoggedIn, name: str) -> HttpResponse:
    found = get_object_or_404(Study, name=name)
    membership = queries.membership(user=request.user, study_name=name)
    if request.method == "POST" and "decline" in request.POST:
        return _decline(request, membership) if membership else redirect("home")
    if membership is not None and (
        found.status != StudyStatus.OPEN or membership.enrolment.status in ENDED_STATUSES
    ):
        return redirect("thanks", name=name)
    if not policies.may_annotate(request.user, found):
        raise Http404
    again = membership is not None and membership.enrolment.status != EnrolmentStatus.INVITED
    texts = enrolments.consent_texts(study=found)
    text = enrolments.in_language(texts, request.GET.get("language", "") or get_language() or "")
    if text is None:
        raise Http404
    if request.method == "POST":
        text_id = request.POST.get("text", "")[:19]  # no id is longer
        try:
            annotators.agree(
                user=request.user,
                study=found,
                text_id=int(text_id) if text_id.isascii() and text_id.isdigit() else 0,
            )
        except annotators.ConsentRefused as refused:
            messages.warning(request, str(refused))
            return redirect("consent", name=name)
        # Somebody who agrees to a new version was at work already.
        return redirect("annotate" if again else "study_profile", name=name)
    return render(
        request,
        "annotation/participation/consent.html",
        {
            "study": found,
            "text": text,
            "others": [other for other in texts if other != text],
            "membership": membership,
            "again": again,
        },
    )


@require_http_methods(["GET", "HEAD", "POST"])
def profile(request: LoggedIn, name: str | None = None) -> HttpResponse:
    """The voluntary profile, on the way into a study or on its own."""
    found = None
    if name is not None:
        membership = queries.membership(user=request.user, study_name=name)
        if membership is None or not membership.consented:
            return redirect("consent", name=name)
        if membership.enrolment.status in ENDED_STATUSES:
            return redirect("thanks", name=name)
        found = membership.enrolment.study
    questions = enrolments.profile_questions(user=request.user, study=found, language=get_language() or "")
    if request.method == "POST":
        form = ProfileForm(request.POST, questions=questions)
        if form.is_valid():
            annotators.save_profile(
                annotator=annotators.annotator_for(user=request.user),
                entries=form.entries(),
                own_questions=[question.name for question in questions],
            )
            if found:
                return redirect("annotate", name=found.name)
            messages.success(request, _("Your profile is saved."))
            return redirect("profile")
    else:
        answers = enrolments.profile_answers(user=request.user)
        form = ProfileForm(
            initial=ProfileForm.initial_from(answers, questions=questions), questions=questions
        )
    return render(
        request,
        "annotation/participation/profile.html",
        {"form": form, "study": found},
        status=422 if form.errors else 200,
    )


def _decline(request: LoggedIn, membership: Membership) -> HttpResponse:
    """Forget somebody who does not consent."""
    found, crowd = membership.enrolment.study, bool(membership.enrolment.crowd_participant)
    if annotators.decline(annotator=membership.enrolment.annotator, study=found):
        auth.logout(request)
    return render(request, "annotation/participation/declined.html", {"study": found, "crowd": crowd})


@require_safe
def thanks(request: LoggedIn, name: str) -> HttpResponse:
    """Say why there is nothing to do at the moment, and how to hand in the work."""
    enrolment = queries.membership_or_404(user=request.user, study_name=name).enrolment
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
    done = slots.is_done(enrolment=enrolment)
    context |= {"done": done, "left": enrolments.has_unfilled_slots(study=study)}
    if done and not progress.rated:
        return render(request, "annotation/participation/full.html", context)
    if not done:
        # The completion code is only for finished work.
        context["completion"] = None
    return render(request, "annotation/participation/thanks.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
def withdraw(request: LoggedIn, name: str) -> HttpResponse:
    """Stop taking part, or withdraw one's answers as well. Open to everybody who ever took part, in any state
    of the study and of their enrolment."""
    enrolment = queries.membership_or_404(user=request.user, study_name=name).enrolment
    study, annotator = enrolment.study, enrolment.annotator
    if enrolment.status == EnrolmentStatus.WITHDRAWN:
        context = {"study": study, "crowd": bool(enrolment.crowd_participant), "mine": True}
        response = render(request, "annotation/participation/withdrawn.html", context)
        if not enrolments.takes_part(annotator=annotator):
            # Clears drafts and unsent answers. Somebody in another study keeps theirs.
            response["Clear-Site-Data"] = '"storage"'
        return response
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
            "answers": enrolments.answered_items(enrolment=enrolment),
            "stopped": enrolment.status == EnrolmentStatus.FINISHED,
            "crowd": bool(enrolment.crowd_participant),
        },
        status=422 if form.errors else 200,
    )


@require_POST
def come_back(request: LoggedIn, name: str) -> HttpResponse:
    """Take part again after having stopped."""
    enrolment = queries.membership_or_404(user=request.user, study_name=name).enrolment
    withdrawals.come_back(annotator=enrolment.annotator, study=enrolment.study)
    return redirect("annotate", name=name)


def _session_ends(enrolment: Enrolment) -> datetime | None:
    """When somebody who has reached the session cap can continue. None if they have not reached it."""
    cap, started = enrolment.study.session_cap, enrolment.session_started_at
    if cap is None or started is None or enrolment.session_units < cap:
        return None
    ends = started + SESSION_LENGTH
    return ends if timezone.now() <= ends else None
