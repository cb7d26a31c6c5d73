"""Pages of the catalogue, for everyone who sets up or leads studies: annotators would see others' votes."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django import forms
from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation import policies
from annotation.catalogue import queries, services
from annotation.catalogue.forms import (
    AssociationFilters,
    AttributeFilters,
    GroupFilters,
    SuccessorForm,
)
from annotation.catalogue.keyset import stretch
from annotation.catalogue.source_form import SourceForm
from annotation.core.requests import LoggedIn
from annotation.models import Association, Attribute, IdentityGroup, Source

View = Callable[..., HttpResponse]
_FIXED = {"group": ("group_contains", "axis", "region"), "attribute": ("contains",)}
"""Filters that a page of one group or attribute does without."""


def researchers_only(view: View) -> View:
    """404 for accounts that may not see the catalogue."""

    @wraps(view)
    def checked(request: LoggedIn, *args: Any, **kwargs: Any) -> HttpResponse:
        if not policies.may_see_catalogue(request.user):
            raise Http404
        return view(request, *args, **kwargs)

    return checked


@require_safe
@researchers_only
def association_list(request: LoggedIn) -> HttpResponse:
    return _associations_page(request, "catalogue/associations.html", "associations", {}, {})


@require_safe
@researchers_only
def association(request: LoggedIn, pk: int) -> HttpResponse:
    """One pair with all its votes, and what other sources say of it."""
    rows = Association.objects.select_related("source", "group", "attribute")
    found = get_object_or_404(rows, pk=pk)
    context = {"association": found, "others": queries.other_votes(found), "here": "association"}
    return _render(request, "catalogue/association.html", context)


@require_safe
@researchers_only
def group_list(request: LoggedIn) -> HttpResponse:
    form = GroupFilters(request.GET)
    return _counted_list(request, form, queries.groups, "group", order="name")


@require_safe
@researchers_only
def group(request: LoggedIn, pk: int) -> HttpResponse:
    """One identity group with its associations."""
    found = get_object_or_404(IdentityGroup, pk=pk)
    return _associations_page(request, "catalogue/group.html", "group", {"group": found}, {"group_id": pk})


@require_safe
@researchers_only
def attribute_list(request: LoggedIn) -> HttpResponse:
    return _counted_list(
        request, AttributeFilters(request.GET), queries.attributes, "attribute", order="text"
    )


@require_safe
@researchers_only
def attribute(request: LoggedIn, pk: int) -> HttpResponse:
    """One attribute with the groups that it is associated with."""
    found = get_object_or_404(Attribute, pk=pk)
    extra = {"attribute": found, "only_in_checks": pk in queries.only_in_checks([pk])}
    return _associations_page(request, "catalogue/attribute.html", "attribute", extra, {"attribute_id": pk})


@require_safe
@researchers_only
def source_list(request: LoggedIn) -> HttpResponse:
    form = AttributeFilters(request.GET)
    filters = form.cleaned_data if form.is_valid() else {}
    page = _stretch(Source.objects.select_related("owner", "superseded_by"), filters, field="name")
    counts = queries.association_counts("source", [row.pk for row in page.rows])
    rows = [(row, counts.get(row.pk, 0)) for row in page.rows]
    context = {"page": page, "rows": rows, "query": _query(request), "here": "sources"}
    return _render(request, "catalogue/sources.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@researchers_only
def source(request: LoggedIn, name: str) -> HttpResponse:
    """One source: what it is, holds and is used for. POST changes its details."""
    found = _source(name)
    if request.method != "POST":
        return _source_page(request, found)
    form = SourceForm(request.POST, label_suffix="")
    if form.is_valid():
        try:
            services.edit_source(source=found, details=form.details(), by=request.user)
        except services.SourceForbidden as forbidden:
            raise Http404 from forbidden
        except services.SourceRefused as refused:
            form.add_error(None, str(refused))
        else:
            messages.success(request, _("Saved."))
            return redirect("source", name=name)
    if not policies.may_edit_source(request.user, found):
        raise Http404
    return _source_page(request, found, form=form)


@require_POST
@researchers_only
def source_action(request: LoggedIn, name: str, action: str) -> HttpResponse:
    """Delete a source that no study uses, or say which other one supersedes it."""
    found = _source(name)
    try:
        if action == "delete":
            services.delete_source(source=found, by=request.user)
            messages.success(request, _("Deleted “%(title)s”.") % {"title": found.title})
            return redirect("sources")
        if action == "supersede":
            form = SuccessorForm(found, request.POST)
            if form.is_valid():
                chosen = form.cleaned_data["successor"]
                successor = Source.objects.get(name=chosen) if chosen else None
                services.supersede_source(source=found, successor=successor, by=request.user)
                messages.success(request, _("Saved."))
            return redirect("source", name=name)
    except services.SourceForbidden as forbidden:
        raise Http404 from forbidden
    except services.SourceRefused as refused:
        messages.error(request, str(refused))
        return redirect("source", name=name)
    raise Http404


def _source(name: str) -> Source:
    return get_object_or_404(Source.objects.select_related("owner", "superseded_by"), name=name)


def _source_page(request: LoggedIn, source: Source, *, form: SourceForm | None = None) -> HttpResponse:
    uses = queries.uses(source, user=request.user)
    may_edit = policies.may_edit_source(request.user, source)
    fields = SourceForm.base_fields
    initial = {name: getattr(source, name) for name in fields}
    context = {
        "source": source,
        "counts": queries.source_counts(source),
        "uses": uses,
        "supersedes": source.supersedes.order_by("title"),
        "may_edit": may_edit,
        "form": form or SourceForm(initial=initial, label_suffix=""),
        "successor": SuccessorForm(source) if may_edit else None,
        "here": "source",
    }
    return _render(request, "catalogue/source.html", context, status=422 if form else 200)


def _counted_list(
    request: LoggedIn, form: forms.Form, find: Callable[[dict[str, Any]], Any], kind: str, *, order: str
) -> HttpResponse:
    """Groups or attributes (`kind`), each with its number of associations, in the order of a field."""
    filters = form.cleaned_data if form.is_valid() else {}
    page = _stretch(find(filters), filters, field=order)
    counts = queries.association_counts(kind, [row.pk for row in page.rows])
    rows = [(row, counts.get(row.pk, 0)) for row in page.rows]
    context = {"form": form, "page": page, "rows": rows, "query": _query(request), "here": f"{kind}s"}
    if kind == "attribute":
        context["only_in_checks"] = queries.only_in_checks([row.pk for row, number in rows if not number])
    return _render(request, f"catalogue/{kind}s.html", context, status=_status(form))


def _associations_page(
    request: LoggedIn, template: str, here: str, extra: dict[str, Any], of: dict[str, int]
) -> HttpResponse:
    """A page with a filtered list of associations. `of`: the columns that the page fixes."""
    form = AssociationFilters(request.GET)
    for name in _FIXED.get(here, ()):
        del form.fields[name]
    filters = form.cleaned_data if form.is_valid() else {}
    page = _stretch(queries.associations(filters).filter(**of), filters, field="pk")
    context = {**extra, "form": form, "page": page, "query": _query(request), "here": here}
    return _render(request, template, context, status=_status(form))


def _stretch(rows: Any, filters: dict[str, Any], *, field: str) -> Any:
    return stretch(rows, field=field, after=filters.get("after"), before=filters.get("before"))


def _query(request: LoggedIn) -> str:
    """The filters as a query string, for links to other pages of the list."""
    query = request.GET.copy()
    query.pop("after", None)
    query.pop("before", None)
    return f"{query.urlencode()}&" if query else ""


def _status(form: Any) -> int:
    return 422 if form.errors else 200


def _render(request: LoggedIn, template: str, context: dict[str, Any], *, status: int = 200) -> HttpResponse:
    context["may_add"] = policies.may_edit_catalogue(request.user)
    return render(request, f"annotation/{template}", context, status=status)
