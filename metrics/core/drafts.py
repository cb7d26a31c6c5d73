"""What pages share that create the draft of a study."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _

from annotation.models import Study


def to_draft(request: HttpRequest, study: Study) -> HttpResponse:
    """Say that the draft is created, and go to its first page that has to be read."""
    messages.success(
        request,
        _("The draft study is created. Read and adapt its texts, above all the consent, before you open it."),
    )
    return redirect("setup_step", name=study.name, step="consent")
