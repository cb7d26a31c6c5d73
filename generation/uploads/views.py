"""The page for uploading images: a ZIP with a CSV."""

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.models import AnonymousUser, User
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from annotation import policies
from annotation.core.requests import LoggedIn, accepts_files
from annotation.imports.readers.oddities import FileRefused
from generation.core.access import image_makers_only
from generation.uploads import bundles
from generation.uploads.forms import UploadForm
from generation.uploads.services import uploads
from generation.uploads.services.images import UploadRefused
from generation.uploads.tables import COLUMNS, read_table


def _max_bytes(user: User | AnonymousUser) -> int:
    return settings.UPLOAD_MAX_MB * 1_000_000 if policies.may_make_images(user) else 0


@accepts_files(_max_bytes)
@image_makers_only
@require_http_methods(["GET", "HEAD", "POST"])
def upload(request: LoggedIn) -> HttpResponse:
    """GET shows the form; POST imports everything, or shows the errors."""
    posted = request.method == "POST"
    form = UploadForm(
        request.POST if posted else None,
        request.FILES if posted else None,
        initial={"name": request.GET.get("set", "")},
        label_suffix="",
    )
    if posted and form.is_valid():
        imported = _import(request, form)
        if imported is not None:
            for line in imported.summary():
                messages.success(request, line)
            return redirect("image_set", name=imported.image_set.name)
    return render(
        request,
        "generation/uploads/upload.html",
        {"form": form, "columns": COLUMNS, "here": "upload"},
        status=422 if form.errors else 200,
    )


def _import(request: LoggedIn, form: UploadForm) -> uploads.Imported | None:
    """The result; None if an error was added to the form."""
    data = form.cleaned_data
    try:
        with bundles.open_bundle(data["file"].file, name=data["file"].name) as bundle:
            return uploads.import_images(
                bundle=bundle,
                table=read_table(bundle),
                target=uploads.TargetSet(name=data["name"], title=data["title"], licence=data["licence"]),
                by=request.user,
                axis=data["axis"],
                new_groups=data["new_groups"],
            )
    except FileRefused as refused:
        form.add_error("file", str(refused))
    except UploadRefused as refused:
        form.add_error(None, str(refused))
    return None
