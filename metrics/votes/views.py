"""Saving the votes of a closed study as a source."""

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from annotation import policies
from annotation.core.requests import LoggedIn
from metrics.core.studies import get_study_or_404
from metrics.votes import services
from metrics.votes.services import VotesRefused


@require_POST
def save_votes(request: LoggedIn, name: str) -> HttpResponse:
    study = get_study_or_404(request, name)
    if not policies.may_create_studies(request.user):
        raise Http404
    try:
        source = services.save_votes(study=study, name=request.POST.get("name", "").strip(), by=request.user)
    except VotesRefused as refused:
        messages.error(request, str(refused))
    else:
        messages.success(request, _("The votes are the source “%(name)s” now.") % {"name": source.name})
    return redirect("overview", name=study.name)
