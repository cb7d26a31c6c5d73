"""A lead's pages about people: annotators under pseudonyms, quotas, and invitations."""

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.api.study_access import study_for_lead
from annotation.core.requests import LoggedIn
from annotation.models import Invitation, StudyStatus
from annotation.participation.forms import InvitationForm
from annotation.participation.queries import people as people_queries
from annotation.participation.services import enrolments, invitations
from annotation.studies.errors import StudyRefused
from annotation.studies.services import feasibility, studies

ACTIONS = ("block", "unblock", "release")


@require_safe
def people(request: LoggedIn, name: str) -> HttpResponse:
    study = study_for_lead(request, name)
    page = people_queries.people(study, page=request.GET.get("page", "1"))
    return render(request, "annotation/participation/people.html", {"study": study, "page": page})


@require_http_methods(["GET", "HEAD", "POST"])
def person_action(request: LoggedIn, name: str, pk: int, action: str) -> HttpResponse:
    """GET asks for confirmation; POST does it."""
    study = study_for_lead(request, name)
    if action not in ACTIONS:
        raise Http404
    person = people_queries.person(study, pk=pk)
    if person is None:
        raise Http404
    if request.method != "POST":
        context = {"study": study, "person": person, "action": action}
        return render(request, "annotation/participation/person_action.html", context)
    who = person.enrolment.annotator.pseudonym
    try:
        if action == "block":
            enrolments.block(enrolment=person.enrolment, by=request.user)
            messages.success(request, _("%(who)s is blocked and gets no more items.") % {"who": who})
        elif action == "unblock":
            enrolments.unblock(enrolment=person.enrolment, by=request.user)
            messages.success(request, _("%(who)s is unblocked.") % {"who": who})
        else:
            number = enrolments.release(enrolment=person.enrolment, by=request.user)
            messages.success(
                request,
                ngettext(
                    "%(number)d item of %(who)s was released.",
                    "%(number)d items of %(who)s were released.",
                    number,
                )
                % {"number": number, "who": who},
            )
    except enrolments.EnrolmentRefused as refused:
        messages.warning(request, str(refused))
    return redirect("people", name=name)


@require_safe
def fill_rates(request: LoggedIn, name: str) -> HttpResponse:
    """How far each stratum is filled."""
    study = study_for_lead(request, name)
    context = {"study": study, "fill": feasibility.report(study=study)}
    return render(request, "annotation/studies/fill_rates.html", context)


@require_POST
def study_status(request: LoggedIn, name: str) -> HttpResponse:
    """Pause, resume or close a study."""
    study = study_for_lead(request, name)
    to = request.POST.get("to", "")
    if to not in studies.TRANSITIONS or study.status == StudyStatus.DRAFT:
        raise Http404
    try:
        studies.change_status(study=study, to=to, by=request.user)
    except StudyRefused as refused:
        messages.warning(request, str(refused))
    else:
        messages_by_status = {
            StudyStatus.OPEN: _("The study is open."),
            StudyStatus.PAUSED: _("The study is paused."),
            StudyStatus.CLOSED: _("The study is closed."),
        }
        messages.success(request, messages_by_status[StudyStatus(to)])
    return redirect("overview", name=name)


@require_http_methods(["GET", "HEAD", "POST"])
def invitation_list(request: LoggedIn, name: str) -> HttpResponse:
    """GET lists the invitations into a study; POST creates one."""
    study = study_for_lead(request, name)
    form = InvitationForm(request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        try:
            invitations.create(study=study, by=request.user, **form.cleaned_data)
        except invitations.InvitationRefused as refused:
            form.add_error(None, str(refused))
        else:
            messages.success(request, _("The link is created. Copy it and send it to the people you invite."))
            return redirect(request.get_full_path())
    now = timezone.now()
    links = [
        (
            each,
            invitations.state(each, now=now),
            request.build_absolute_uri(reverse("join", args=[each.code])),
        )
        for each in study.invitations.all()
    ]
    return render(
        request,
        "annotation/participation/invitations.html",
        {
            "study": study,
            "form": form,
            "links": links,
            "closed": study.status == StudyStatus.CLOSED,
            "opened": "opened" in request.GET and study.status == StudyStatus.OPEN,
            "link": next(
                (address for each, state, address in links if state == "open" and _is_for_anybody(each)), ""
            ),
            "own_address": request.build_absolute_uri(reverse("study", args=[name])),
        },
        status=422 if form.errors else 200,
    )


def _is_for_anybody(invitation: Invitation) -> bool:
    return invitation.max_uses is None and invitation.expires_at is None


@require_POST
def revoke_invitation(request: LoggedIn, name: str, pk: int) -> HttpResponse:
    study = study_for_lead(request, name)
    invitation = get_object_or_404(Invitation, pk=pk, study=study)
    if invitations.revoke(invitation=invitation, by=request.user):
        messages.success(request, _("The link is revoked. People who came by it stay in the study."))
    return redirect("invitations", name=name)
