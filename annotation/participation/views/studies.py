"""An annotator's pages before the work: the study, consent, and the voluntary profile."""

from __future__ import annotations

from django.contrib import auth, messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import get_language
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from annotation import policies
from annotation.assignment import queries
from annotation.assignment.queries import Membership
from annotation.core.requests import LoggedIn
from annotation.models import EnrolmentStatus, Study, StudyStatus
from annotation.participation.constants import ENDED_STATUSES
from annotation.participation.forms.annotator import ProfileForm
from annotation.participation.queries import annotator_pages, enrolments
from annotation.participation.services import annotators

# A guess at how long one item takes. The page says so.
_SECONDS_PER_ITEM = 10


@login_required
@never_cache
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
            "guides": annotator_pages.guides(tasks=found.tasks.all(), language=get_language() or ""),
        },
    )


@login_required
@never_cache
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
    texts = annotator_pages.consent_texts(study=found)
    text = annotator_pages.in_language(texts, request.GET.get("language", "") or get_language() or "")
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
        except annotators.ConsentOutdated as outdated:
            messages.warning(request, str(outdated))
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


@login_required
@never_cache
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
    questions = annotator_pages.profile_questions(
        user=request.user, study=found, language=get_language() or ""
    )
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
