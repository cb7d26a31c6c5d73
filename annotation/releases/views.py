"""Publishing a study's data, for admins: a preview of what would be disclosed, then the download."""

from django.http import HttpResponse, StreamingHttpResponse
from django.shortcuts import render
from django.utils.translation import gettext
from django.views.decorators.http import require_POST, require_safe

from annotation.core.requests import LoggedIn
from annotation.exports.packing import zip_response
from annotation.models import Study
from annotation.releases.forms import ReleaseForm
from annotation.releases.metadata import describe_level
from annotation.releases.request import ReleaseRefused, study_to_release
from annotation.releases.services import bundle


@require_safe
def release_page(request: LoggedIn, name: str) -> HttpResponse:
    """The options, and what a release with them would disclose about people. Nothing is released yet."""
    study = study_to_release(request.user, name)
    form = ReleaseForm(study, request.GET if "k" in request.GET else {"k": "5"})
    return _page(request, study, form)


@require_POST
def release_download(request: LoggedIn, name: str) -> HttpResponse | StreamingHttpResponse:
    """The release as a zip archive."""
    study = study_to_release(request.user, name)
    form = ReleaseForm(study, request.POST)
    if not form.is_valid():
        return _page(request, study, form)
    try:
        archive = bundle.stream_zip(study=study, by=request.user, options=form.options())
    except ReleaseRefused:
        return _page(request, study, form)  # it shows the reason
    return zip_response(archive, f"{study.name}-release.zip")


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
