"""Publishing a study's data, for admins: a preview of what would be disclosed, then the download."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from annotation import policies
from annotation.core.requests import LoggedIn
from annotation.models import Study
from annotation.releases.forms import ReleaseForm
from annotation.releases.metadata import describe_level
from annotation.releases.request import ReleaseRefused
from annotation.releases.services import bundle


@login_required
@never_cache
@require_safe
def release_page(request: LoggedIn, name: str) -> HttpResponse:
    """The options, and what a release with them would disclose about people. Nothing is released yet."""
    study = _released(request, name)
    form = ReleaseForm(study, request.GET if "k" in request.GET else {"k": "5"})
    return _page(request, study, form)


@login_required
@require_POST
@never_cache
def release_download(request: LoggedIn, name: str) -> HttpResponse | StreamingHttpResponse:
    """The release as a zip archive."""
    study = _released(request, name)
    form = ReleaseForm(study, request.POST)
    if not form.is_valid():
        return _page(request, study, form)
    try:
        archive = bundle.stream_zip(study=study, by=request.user, options=form.options())
    except ReleaseRefused:
        return _page(request, study, form)  # it shows the reason
    return StreamingHttpResponse(
        archive,
        content_type="application/zip",
        headers={"Content-Disposition": f'attachment; filename="{study.name}-release.zip"'},
    )


def _released(request: LoggedIn, name: str) -> Study:
    study = get_object_or_404(Study, name=name)
    if not policies.may_release(request.user, study):
        raise Http404
    return study


def _page(request: LoggedIn, study: Study, form: ReleaseForm) -> HttpResponse:
    context: dict[str, object] = {"study": study, "form": form}
    status = 422
    if form.is_valid():
        try:
            preview = bundle.preview(study=study, options=form.options())
        except ReleaseRefused as refused:
            form.add_error(None, str(refused))
        else:
            status = 200
            labels = dict(form.fields["withhold"].choices)  # type: ignore[attr-defined]
            context |= {
                "preview": preview,
                "fields": [
                    (labels.get(each.name, each.name), gettext(describe_level(each)), each)
                    for each in preview.people.coarsened.report
                ],
                "smallest": preview.people.smallest_group(),
            }
    return render(request, "annotation/releases/release.html", context, status=status)
