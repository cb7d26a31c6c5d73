"""Pages that add one's own pairs as a source, and that import SeeGULL's and ViSAGe's files."""

from collections.abc import Mapping
from typing import Any

from django.contrib import messages
from django.contrib.auth.models import AnonymousUser, User
from django.core.paginator import Paginator
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation import policies
from annotation.catalogue.services import SourceRefused
from annotation.core.leases import OPEN
from annotation.core.requests import LoggedIn, accepts_files
from annotation.imports import files, queries, tasks
from annotation.imports.forms import PairsForm, SeegullForm, VisageForm
from annotation.imports.readers import pairs
from annotation.imports.readers.oddities import FileRefused
from annotation.imports.services import jobs
from annotation.imports.services.pairs import Checked, add_source, check_pairs
from annotation.models import Axis, CatalogueImport

ERRORS_SHOWN = 200
PAIRS_SHOWN = 20
IMPORTS_PER_PAGE = 30
_DEMONYM = "demonym:"
"""Prefix of the fields for the demonyms of new groups."""


def _pairs_bytes(user: User | AnonymousUser) -> int:
    return pairs.MAX_BYTES if policies.may_edit_catalogue(user) else 0


def _release_bytes(user: User | AnonymousUser) -> int:
    return 2 * files.MAX_BYTES if policies.may_edit_catalogue(user) else 0


@accepts_files(_pairs_bytes)
@require_http_methods(["GET", "HEAD", "POST"])
def new_source(request: LoggedIn) -> HttpResponse:
    """GET shows the form. POST checks the pairs and shows what would be stored, or what is wrong; with `save`
    it stores what was checked before."""
    if not policies.may_edit_catalogue(request.user):
        raise Http404
    if request.method != "POST":
        return _pairs_page(request, PairsForm(label_suffix=""))
    form = PairsForm(request.POST, request.FILES, label_suffix="")
    if not form.is_valid():
        return _pairs_page(request, form, status=422)
    try:
        file, text = _pairs(form.cleaned_data)
        checked = check_pairs(
            file,
            axis=Axis(form.cleaned_data["axis"]),
            create_groups=form.cleaned_data["create_groups"],
            demonyms=_demonyms(request.POST),
        )
        if checked.errors:
            return _pairs_page(request, form, wrong=checked, status=422)
        if "save" in request.POST:
            source = add_source(
                name=form.cleaned_data["name"],
                details=form.details(),
                axis=Axis(form.cleaned_data["axis"]),
                checked=checked,
                by=request.user,
            )
            messages.success(request, _("Saved %(number)d associations.") % {"number": len(checked.pairs)})
            return redirect("source", name=source.name)
        text = text or pairs.as_csv(checked.rows)
        if len(text.encode()) > pairs.MAX_BYTES:
            raise FileRefused(
                _file_name(form),
                "these are more than 2 MB of pairs.",
                "Use the command: manage.py import_pairs FILE --source NAME",
            )
    except (FileRefused, SourceRefused) as refused:
        form.add_error(None, str(refused))
        return _pairs_page(request, form, status=422)
    return _pairs_page(request, form, preview=checked, text=text)


def _pairs(data: Mapping[str, Any]) -> tuple[pairs.PairFile, str]:
    """The pairs of a valid form, and the text of those that were checked before. Raises FileRefused."""
    if data["checked"]:
        return pairs.read_file(data["checked"].encode(), name="the pairs"), data["checked"]
    if data["file"]:
        return pairs.read_file(data["file"].read(), name=data["file"].name), ""
    return pairs.read_typed(data["typed"]), ""


def _file_name(form: PairsForm) -> str:
    file = form.cleaned_data["file"]
    return file.name if file else "the text"


def _demonyms(posted: Mapping[str, str]) -> dict[str, str]:
    return {
        key.removeprefix(_DEMONYM): value
        for key, value in posted.items()
        if key.startswith(_DEMONYM) and "\0" not in value
    }


def _pairs_page(
    request: LoggedIn,
    form: PairsForm,
    *,
    wrong: Checked | None = None,
    preview: Checked | None = None,
    text: str = "",
    status: int = 200,
) -> HttpResponse:
    context = {
        "form": form,
        "wrong": wrong,
        "errors": wrong.errors[:ERRORS_SHOWN] if wrong else (),
        "preview": preview,
        "sample": preview.rows[:PAIRS_SHOWN] if preview else (),
        "text": text,
        "columns": pairs.COLUMNS,
        "demonym": _DEMONYM,
        "here": "new",
        "may_add": True,
    }
    return render(request, "annotation/imports/new_source.html", context, status=status)


@accepts_files(_release_bytes)
@require_http_methods(["GET", "HEAD", "POST"])
def import_list(request: LoggedIn) -> HttpResponse:
    """The imports of this account, and the forms to upload files."""
    rows = queries.imports_of(request.user)
    forms = [SeegullForm(label_suffix=""), VisageForm(label_suffix="")]
    status = 200
    if request.method == "POST":
        number = 1 if request.POST.get("kind") == jobs.Kind.VISAGE else 0
        form = type(forms[number])(request.POST, request.FILES, label_suffix="")
        job = _request(request, form) if form.is_valid() else None
        if job is not None:
            return redirect("catalogue_import", pk=job.pk)
        forms[number], status = form, 422
    page = Paginator(rows, IMPORTS_PER_PAGE).get_page(request.GET.get("page"))
    context = {"page": page, "forms": forms, "here": "imports", "may_add": True}
    return render(request, "annotation/imports/imports.html", context, status=status)


def _request(request: LoggedIn, form: Any) -> CatalogueImport | None:
    """The queued import; None if an error was added to the form."""
    data = form.cleaned_data
    parts = files.PARTS[form.kind]
    try:
        job = jobs.request(
            kind=form.kind,
            uploads={part: (data[part].name, data[part].file) for part in parts},
            options={name: value for name, value in data.items() if name not in parts},
            by=request.user,
        )
    except jobs.UploadRefused as refused:
        form.add_error(None, str(refused))
    except OSError:
        form.add_error(None, _("The file storage is not responding. Try again in a minute."))
    else:
        tasks.enqueue(job)
        return job
    return None


@require_safe
def import_page(request: LoggedIn, pk: int) -> HttpResponse:
    """One import: its progress, then what it stored and what was odd, or why it failed."""
    return _import_page(request, pk, "annotation/imports/import.html")


@require_safe
def import_progress(request: LoggedIn, pk: int) -> HttpResponse:
    """The part of that page that it polls; anything else is sent to the whole page."""
    if not request.htmx:
        queries.import_of(request.user, pk)
        return redirect("catalogue_import", pk=pk)
    return _import_page(request, pk, "annotation/imports/_import.html")


@require_POST
def import_delete(request: LoggedIn, pk: int) -> HttpResponse:
    """Delete an import's record, or stop one that is not done."""
    jobs.delete(job=queries.import_of(request.user, pk), by=request.user)
    messages.success(request, _("Deleted the import. What it has stored stays."))
    return redirect("catalogue_imports")


def _import_page(request: LoggedIn, pk: int, template: str) -> HttpResponse:
    job = queries.import_of(request.user, pk)
    context = {
        "job": job,
        "waiting": job.state in OPEN,
        "share": min(100, job.done * 100 // job.total) if job.total else None,
        "here": "import",
        "may_add": True,
    }
    return render(request, template, context)
