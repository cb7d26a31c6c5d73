"""The pages for uploading images: a ZIP with a CSV; and for a study, with its attributes."""

from contextlib import ExitStack
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.models import AnonymousUser, User
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from annotation import policies
from annotation.catalogue.services import SourceRefused
from annotation.core.requests import LoggedIn, accepts_files
from annotation.imports.readers import pairs
from annotation.imports.readers.oddities import FileRefused
from annotation.models import Axis, ImageSet, TaskKind
from annotation.setup import services as setup
from annotation.setup.steps import only_before_opening, wizard_context
from generation.core.access import image_makers_only
from generation.uploads import bundles
from generation.uploads.attribute_table import read_attributes
from generation.uploads.forms import StudyImagesForm, UploadForm
from generation.uploads.services import study_images as study_images_services
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
        initial=_target(request.GET.get("set", "")),
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


def _target(name: str) -> dict[str, str]:
    """What the form begins with for the set `name`, with its licence if it exists."""
    licence = ImageSet.objects.filter(name=name).values_list("licence", flat=True).first() if name else None
    return {"name": name, "licence": licence or ""}


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
        form.add_error("file", refused.lines)
    except UploadRefused as refused:
        form.add_error(refused.field or None, str(refused))
    return None


def _max_study_bytes(user: User | AnonymousUser) -> int:
    return _max_bytes(user) + pairs.MAX_BYTES if policies.may_make_images(user) else 0


@accepts_files(_max_study_bytes)
@image_makers_only
@require_http_methods(["GET", "HEAD", "POST"])
@only_before_opening
def study_images(request: LoggedIn, name: str) -> HttpResponse:
    """The images and attributes of a study that is being set up. POST imports and saves both, or shows
    what is wrong."""
    document, study = setup.begun(user=request.user, name=name)
    if not study_images_services.shows_images(document):
        raise Http404
    posted = request.method == "POST"
    task = next(task for task in document["tasks"] if task.get("kind") == TaskKind.DEPICTION)
    own_set = study_images_services.own_set(name, document=document, by=request.user)
    form = StudyImagesForm(
        request.POST if posted else None,
        request.FILES if posted else None,
        initial={
            "image_set": task.get("image_set", ""),
            "source": document.get("stereotypes", {}).get("source", ""),
            "licence": own_set.licence if own_set else "",
            "allow_fewer": bool(study_images_services.draw_of(task).get("allow_fewer")),
        },
    )
    if posted and form.is_valid():
        filled = _fill(request, form, name=name, document=document)
        if filled is not None:
            for line in filled.notes:
                messages.success(request, line)
            return redirect("setup_gold", name=name)
    context = {"form": form, "own_set": own_set, **wizard_context(name, "images", document, study)}
    return render(
        request, "generation/uploads/study_images.html", context, status=422 if form.errors else 200
    )


def _fill(
    request: LoggedIn, form: StudyImagesForm, *, name: str, document: dict[str, Any]
) -> study_images_services.Filled | None:
    """The result; None if an error was added to the form."""
    data = form.cleaned_data
    field = "attributes"
    try:
        table = None
        if data["attributes"]:
            table = read_attributes(data["attributes"].read(), name=data["attributes"].name)
        field = "images"
        with ExitStack() as opened:
            bundle = None
            if data["images"]:
                images = data["images"]
                bundle = opened.enter_context(bundles.open_bundle(images.file, name=images.name))
            given = study_images_services.Given(
                bundle=bundle,
                image_set=data["image_set"],
                attributes=table,
                source=data["source"],
                axis=Axis(data["axis"]),
                new_groups=data["new_groups"],
                allow_fewer=data["allow_fewer"],
                licence=data["licence"],
            )
            return study_images_services.fill(name=name, document=document, given=given, by=request.user)
    except study_images_services.StudyImagesRefused as refused:
        for error in refused.errors:
            form.add_error(refused.field, error)
    except FileRefused as refused:
        form.add_error(field, refused.lines)
    except UploadRefused as refused:
        form.add_error(refused.field or None, str(refused))
    except (SourceRefused, setup.SetupRefused) as refused:
        form.add_error(None, str(refused))
    return None
