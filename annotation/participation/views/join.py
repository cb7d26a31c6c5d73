"""Entering a study by an invitation link or from a crowd platform."""

from django.contrib import auth, messages
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.views import redirect_to_login
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_http_methods

from annotation import policies
from annotation.models import Enrolment, EnrolmentStatus, Study, StudyStatus
from annotation.participation.queries import enrolments
from annotation.participation.services import crowd, invitations

_BACKEND = "django.contrib.auth.backends.ModelBackend"
# Somebody without a password can come back only in the same browser.
_SESSION_SECONDS = 90 * 24 * 60 * 60


@login_not_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def join(request: HttpRequest, code: str) -> HttpResponse:
    """GET describes the study and counts nothing, so link previews do not use up the invitation. POST enrols
    the person, with a new account if they have none."""
    user = request.user if request.user.is_authenticated else None
    known = enrolments.enrolment_by_code(user=user, code=code) if user else None
    if known is not None:
        return redirect("study", name=known.study.name)
    try:
        if request.method == "POST":
            enrolment, _new = invitations.accept(code=code, user=user)
            _log_in(request, enrolment)
            return redirect("consent", name=enrolment.study.name)
        study = invitations.look_up(code=code).study
    except invitations.InvitationRefused as refusal:
        closed = {"reason": refusal.reason}
        status = 404 if refusal.reason == "unknown" else 410
        return render(request, "annotation/participation/join_closed.html", closed, status=status)
    total = enrolments.total_units(study_id=study.pk)
    context = {"study": study, "total": total, "leads": policies.leads(request.user, study)}
    return render(request, "annotation/participation/join.html", context)


@login_not_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@sensitive_variables("arrival")
def enter(request: HttpRequest, name: str) -> HttpResponse:
    """Entry page for people from a crowd platform. A HEAD request enrols nobody, and somebody who is logged
    in to an account with a password is asked before they are logged out of it."""
    study = get_object_or_404(Study.objects.exclude(status=StudyStatus.DRAFT), name=name)
    try:
        arrival = crowd.read_arrival(study=study, params=dict(request.GET.lists()))
    except crowd.BadLink as bad:
        if not crowd.accepts_newcomers(study=study):
            raise Http404 from bad
        context = {"study": study, "problem": str(bad)}
        return render(request, "annotation/participation/bad_link.html", context, status=400)
    if arrival is None or (arrival.preview and not crowd.accepts_newcomers(study=study)):
        raise Http404
    if arrival.preview:
        total = enrolments.total_units(study_id=study.pk)
        return render(request, "annotation/setup/preview.html", {"study": study, "total": total})
    known = crowd.enrolment_of(study=study, arrival=arrival)
    if known is None and not crowd.accepts_newcomers(study=study):
        raise Http404
    if known is not None and known.status == EnrolmentStatus.WITHDRAWN:
        return render(request, "annotation/participation/withdrawn.html", {"study": study})
    if known is None and study.status != StudyStatus.OPEN:
        return render(request, "annotation/participation/not_open.html", {"study": study, "newcomer": True})
    if known is None and not crowd.has_open_slots(study=study):
        completion = crowd.study_completion(study=study)
        return render(
            request,
            "annotation/participation/full.html",
            {"study": study, "completion": completion, "newcomer": True},
        )
    if request.method == "HEAD":
        return HttpResponse()
    account = request.user if request.user.is_authenticated else None
    other_account = account is not None and (known is None or known.annotator.user_id != account.pk)
    if account and other_account and account.has_usable_password() and request.method != "POST":
        return render(request, "annotation/participation/enter_as.html", {"study": study})
    enrolment = crowd.enter(study=study, arrival=arrival)
    if not _log_in(request, enrolment):
        auth.logout(request)  # of any other account
        messages.info(request, _("You have set a password here. Please log in with it to continue."))
        return redirect_to_login(reverse("annotate", args=[study.name]))
    return redirect("annotate", name=study.name)


def _log_in(request: HttpRequest, enrolment: Enrolment) -> bool:
    """Log the annotator in, unless they are logged in already. A link logs in only to an account without a
    password and without rights. Returns False if the account has a password; 404 if it has rights."""
    account = enrolment.annotator.user
    if account is None or not account.is_active:
        raise Http404
    if request.user.is_authenticated and request.user.pk == account.pk:
        return True
    if account.is_staff or account.is_superuser:
        raise Http404
    if account.has_usable_password():
        return False
    auth.login(request, account, backend=_BACKEND)
    request.session.set_expiry(_SESSION_SECONDS)
    return True
