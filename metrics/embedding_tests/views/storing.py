"""Pages that store, change, delete and download files of embedding tests."""

from typing import Any

import tomli_w
from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.core.requests import LoggedIn
from generation.core.access import image_makers_only
from metrics.core.access import catalogue_readers_only
from metrics.core.tables import url_with
from metrics.embedding_tests import services
from metrics.embedding_tests.forms.fields import TestsForm
from metrics.embedding_tests.forms.rows import (
    MORE_ROWS,
    PREFIX,
    TestRows,
    row_formset,
    rows_of,
    sent_rows,
)
from metrics.embedding_tests.forms.whole_file import TestFileForm
from metrics.embedding_tests.test_file import as_toml_data, parse
from metrics.embedding_tests.views.access import stored_file
from metrics.models import EmbeddingTestFile

_FILE = "file"
_KINDS = {"toml": "application/toml", "csv": "text/csv; charset=utf-8"}


@image_makers_only
@require_http_methods(["GET", "HEAD", "POST"])
def new_embedding_tests(request: LoggedIn) -> HttpResponse:
    """`?as=file` takes a file, else its parts are fields."""
    return _page(request, None)


@image_makers_only
@require_http_methods(["GET", "HEAD", "POST"])
def edit_embedding_tests(request: LoggedIn, pk: int) -> HttpResponse:
    return _page(request, stored_file(request, pk))


@image_makers_only
@require_POST
def delete_embedding_tests(request: LoggedIn, pk: int) -> HttpResponse:
    stored = stored_file(request, pk)
    services.delete(stored=stored, by=request.user)
    messages.success(request, _("Deleted “%(title)s”.") % {"title": stored.name})
    return redirect("embedding_tests")


@catalogue_readers_only
@require_safe
def embedding_test_download(request: LoggedIn, pk: int, fmt: str) -> HttpResponse:
    """The file as TOML, or the table that it ranks against as CSV."""
    stored = stored_file(request, pk)
    if fmt not in _KINDS or (fmt == "csv" and not stored.reference):
        raise Http404
    response = HttpResponse(stored.text if fmt == "toml" else stored.reference, content_type=_KINDS[fmt])
    response["Content-Disposition"] = f'attachment; filename="{stored.name}.{fmt}"'
    return response


def _page(request: LoggedIn, stored: EmbeddingTestFile | None) -> HttpResponse:
    as_file = request.GET.get("as") == _FILE
    saved, context = _file_page(request, stored) if as_file else _fields_page(request, stored)
    if saved is not None:
        messages.success(request, _("Saved."))
        return redirect("embedding_test_file", pk=saved.pk)
    form, rows = context["form"], context.get("rows")
    wrong = bool(form.errors) or (rows is not None and rows.is_bound and not rows.is_valid())
    context |= {
        "stored": stored,
        "as_file": as_file,
        "wrong": wrong,
        "fields_link": url_with(request, **{"as": "fields"}),
        "file_link": url_with(request, **{"as": _FILE}),
    }
    return render(
        request, "metrics/embedding_tests/edit_embedding_tests.html", context, status=422 if wrong else 200
    )


def _file_page(
    request: LoggedIn, stored: EmbeddingTestFile | None
) -> tuple[EmbeddingTestFile | None, dict[str, Any]]:
    if request.method != "POST":
        initial = (
            {name: getattr(stored, name) for name in ("name", "text", "reference", "variables")}
            if stored
            else {"published": request.GET.get("published", "")}
        )
        return None, {"form": TestFileForm(initial=initial, stored=stored)}
    form = TestFileForm(request.POST, request.FILES, stored=stored)
    if form.is_valid():
        data = form.cleaned_data
        return _save(request, stored, form, data["text"]), {"form": form}
    return None, {"form": form}


def _fields_page(
    request: LoggedIn, stored: EmbeddingTestFile | None
) -> tuple[EmbeddingTestFile | None, dict[str, Any]]:
    """Stores nothing while it adds rows."""
    if request.method != "POST":
        tests = rows_of(parse(stored.text)) if stored else []
        initial = TestsForm.initial_of(stored) if stored else {"vectors": request.GET.get("vectors", "")}
        return None, {
            "form": TestsForm(initial=initial, stored=stored),
            "rows": row_formset()(initial=tests, prefix=PREFIX),
        }
    form = TestsForm(request.POST, request.FILES, stored=stored)
    if "more" in request.POST:
        return None, _with_more_rows(request, form, stored)
    rows = row_formset()(request.POST, prefix=PREFIX)
    context = {"form": form, "rows": rows}
    # both, so that the errors of both are shown
    valid = [form.is_valid(), rows.is_valid()]
    if not all(valid) or not rows.check_groups(form.image_set):
        return None, context
    return _save_fields(request, stored, form, rows), context


def _save_fields(
    request: LoggedIn, stored: EmbeddingTestFile | None, form: TestsForm, rows: TestRows
) -> EmbeddingTestFile | None:
    file = form.as_file(tuple(row.as_test() for row in rows.filled()))
    return _save(request, stored, form, tomli_w.dumps(as_toml_data(file)))


def _with_more_rows(
    request: HttpRequest, form: TestsForm, stored: EmbeddingTestFile | None
) -> dict[str, Any]:
    try:
        initial = form.as_initial()
    except forms.ValidationError as error:
        messages.error(request, " ".join(error.messages))
        initial = form.data.dict()  # type: ignore[attr-defined] # a QueryDict, as request.POST
    return {
        "form": TestsForm(initial=initial, stored=stored),
        "rows": row_formset(MORE_ROWS)(initial=sent_rows(request.POST), prefix=PREFIX),
    }


def _save(
    request: LoggedIn,
    stored: EmbeddingTestFile | None,
    form: TestFileForm | TestsForm,
    text: str,
) -> EmbeddingTestFile | None:
    """None if it is refused, with the reason at its field."""
    named = {name: form.cleaned_data[name] for name in ("name", "reference", "variables")}
    given = {**named, "text": text, "by": request.user}
    try:
        if stored is None:
            return services.create(**given)
        return services.change(stored=stored, **given)
    except services.FileRefused as refused:
        form.add_error(refused.field if refused.field in form.fields else None, str(refused))
        return None
