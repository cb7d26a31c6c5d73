"""An admin's pages about people: accounts, roles, merging and erasing."""

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from annotation import policies
from annotation.accounts.confirmations import ROLES, STATES, Confirmation, confirmation
from annotation.accounts.forms import AccountForm
from annotation.accounts.queries import accounts as account_queries
from annotation.accounts.queries.accounts import Person
from annotation.accounts.services import accounts, erasure, merging
from annotation.accounts.services.accounts import AccountRefused
from annotation.accounts.services.erasure import ErasureRefused
from annotation.accounts.services.merging import MergeRefused
from annotation.core.requests import LoggedIn, query_without_page
from annotation.models import Study

Refused = (AccountRefused, ErasureRefused, MergeRefused)


def _require_admin(request: LoggedIn) -> None:
    """404 for anybody but an admin."""
    if not policies.is_admin(request.user):
        raise Http404


@require_http_methods(["GET", "HEAD", "POST"])
def people(request: LoggedIn) -> HttpResponse:
    """GET lists everybody; POST makes the account of a lead or an admin."""
    _require_admin(request)
    form = AccountForm(request.POST if request.method == "POST" else None, label_suffix="")
    if request.method == "POST" and form.is_valid():
        data = form.cleaned_data
        admin = data.pop("role") == "admin"
        try:
            user = accounts.create(**data, admin=admin, by=request.user)
        except AccountRefused as refused:
            form.add_error("username", str(refused))
        else:
            return _password_link(request, account_queries.person(f"u{user.pk}"), user, created=True)
    filters = {name: request.GET.get(name, "").strip()[:200] for name in ("text", "role", "state")}
    page, rows = account_queries.people(**filters, page=request.GET.get("page"))
    return render(
        request,
        "annotation/accounts/people.html",
        {
            "page": page,
            "people": rows,
            "filters": filters,
            "roles": ROLES,
            "states": STATES,
            "pager": query_without_page(request),
            "form": form,
        },
        status=422 if form.errors else 200,
    )


@require_safe
def account(request: LoggedIn, who: str) -> HttpResponse:
    _require_admin(request)
    person = account_queries.person(who)
    leadable = (
        account_queries.leadable_studies(person.user) if person.user is not None else Study.objects.none()
    )
    return render(
        request,
        "annotation/accounts/person.html",
        {
            "person": person,
            "leadable": leadable,
            "self": person.user == request.user,
            "second_factor": person.user is not None and account_queries.has_second_factor(person.user),
        },
    )


@require_http_methods(["GET", "HEAD", "POST"])
def account_action(request: LoggedIn, who: str, action: str) -> HttpResponse:
    """GET asks for confirmation; POST does it."""
    _require_admin(request)
    person = account_queries.person(who)
    params = request.POST if request.method == "POST" else request.GET
    study = Study.objects.filter(name=params.get("study", "")).first()
    confirm = confirmation(action, person, study)
    if confirm is None:
        raise Http404
    try:
        if request.method == "POST":
            return _perform(request, person, confirm, study)
        points = [*confirm.points, *_erasure_counts(person)] if action == "erase" else confirm.points
    except Refused as refused:
        messages.warning(request, str(refused))
        return redirect("account", who=who)
    context = {"person": person, "confirm": confirm, "points": points, "study": study}
    return render(request, "annotation/accounts/confirm.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
def merge(request: LoggedIn, who: str) -> HttpResponse:
    """GET with a pseudonym shows what merging would do; POST merges."""
    _require_admin(request)
    person = account_queries.person(who)
    if person.annotator is None:
        raise Http404
    params = request.POST if request.method == "POST" else request.GET
    duplicate = account_queries.person_by_pseudonym(params.get("with", "").strip())
    if duplicate is None or duplicate.annotator is None:
        messages.warning(request, _("Nobody has this pseudonym. Copy it from the list of people."))
        return redirect("account", who=who)
    try:
        if request.method == "POST":
            merging.merge(kept=person.annotator, duplicate=duplicate.annotator, by=request.user)
            messages.success(request, _("The two are merged."))
            merged = account_queries.person_by_pseudonym(person.annotator.pseudonym)
            return redirect("account", who=merged.who if merged else who)
        plan = merging.preview(kept=person.annotator, duplicate=duplicate.annotator)
    except MergeRefused as refused:
        messages.warning(request, str(refused))
        return redirect("account", who=who)
    context = {"person": person, "duplicate": duplicate, "plan": plan}
    return render(request, "annotation/accounts/merge.html", context)


def _erasure_counts(person: Person) -> list[str]:
    preview = erasure.preview(annotator=person.annotator, user=person.user)
    counts = [
        (_("Answers deleted"), preview.answers),
        (_("Slots reopened"), preview.slots_reopened),
        (_("Studies that they are withdrawn from"), preview.studies),
        (_("Studies that lose a lead"), preview.led),
    ]
    return [f"{label}: {number}" for label, number in counts if number]


def _password_link(request: LoggedIn, person: Person, user: User, *, created: bool = False) -> HttpResponse:
    uid, token = accounts.password_link(user=user, by=request.user)
    link = request.build_absolute_uri(reverse("password_reset_confirm", args=[uid, token]))
    context = {"person": person, "link": link, "created": created}
    return render(request, "annotation/accounts/password_link.html", context)


def _perform(request: LoggedIn, person: Person, confirm: Confirmation, study: Study | None) -> HttpResponse:
    by, user, annotator = request.user, person.user, person.annotator
    match confirm.action:
        case "erase":
            erasure.erase(annotator=annotator, user=user, by=by)
            messages.success(request, str(confirm.done))
            return redirect("accounts")
        case "block" if annotator is not None:
            accounts.block_everywhere(annotator=annotator, by=by)
        case "release" if annotator is not None:
            accounts.release_everywhere(annotator=annotator, by=by)
        case "password" if user is not None:
            return _password_link(request, person, user)
        case "make-admin" | "unmake-admin" if user is not None:
            accounts.set_admin(user=user, on=confirm.action == "make-admin", by=by)
        case "let-set-up" | "unlet-set-up" if user is not None:
            accounts.set_may_create_studies(user=user, on=confirm.action == "let-set-up", by=by)
        case "lead" | "unlead" if user is not None and study is not None:
            accounts.set_lead(user=user, study=study, on=confirm.action == "lead", by=by)
        case "remove-second-factor" if user is not None:
            accounts.remove_second_factor(user=user, by=by)
        case "switch-on" | "switch-off" if user is not None:
            accounts.set_active(user=user, on=confirm.action == "switch-on", by=by)
    messages.success(request, str(confirm.done))
    if user is not None and user.pk == by.pk and confirm.action == "unmake-admin":
        return redirect("home")
    return redirect("account", who=person.who)
