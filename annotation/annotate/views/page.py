"""The page on which annotators answer one item after another (DESIGN §5).

It contains the first items as JSON and fetches the next ones from views/endpoints.py. Without scripts, rating
tasks work as a plain form, one item per page.
"""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import get_language
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from annotation.annotate import queries
from annotation.annotate import texts as page_texts
from annotation.annotate.forms import RatingForm
from annotation.annotate.services import responses
from annotation.annotate.services.answer_rules import Answer, AnswerRefused
from annotation.annotate.views import endpoints
from annotation.assignment import lease_keys
from annotation.assignment import queries as assignment_queries
from annotation.assignment.queries import Membership
from annotation.assignment.services import slots
from annotation.core import scales
from annotation.core.requests import LoggedIn
from annotation.models import EnrolmentStatus, SkipReason, TaskKind
from annotation.participation.queries import annotator_pages, enrolments

# Preloaded with the page, in one round of requests. A test compares the lists with the folders.
_PAGE_MODULES = (
    "annotation-page",
    "api",
    "clock",
    "dialogs",
    "dom",
    "item-queue",
    "journal",
    "keys",
    "paint-guard",
    "rating",
    "sender",
    "start",
    "status",
)
_DEPICTION_MODULES = ("depiction", "option-row")
_BOX_MODULES = (
    "board",
    "collection",
    "dom",
    "frame",
    "geometry",
    "keys",
    "messages",
    "paint",
    "pointer",
    "tools",
)
_ENDPOINTS = ("items", "answers", "skips", "last", "corrections", "token")


@login_required
@never_cache
@require_http_methods(["GET", "POST"])
def annotate(request: LoggedIn, name: str) -> HttpResponse:
    """GET shows the assigned items; POST stores the answer of a plain form and redirects to GET."""
    membership = assignment_queries.membership(user=request.user, study_name=name)
    if request.method == "POST":
        if membership is None:
            raise Http404
        if membership.enrolment.status == EnrolmentStatus.WITHDRAWN:
            return redirect("withdraw", name=name)
        # Also if they have not agreed to a new consent text yet, or are blocked: the item was assigned before
        # that, and no new one will be (annotate/views/endpoints.py does the same).
        return _store_answer(request, membership)
    if membership is None or not membership.consented:
        # That page asks for consent, or answers 404 if there is nothing to consent to.
        return redirect("consent", name=name)
    if membership.leads:
        return redirect("study", name=name)
    assigned = endpoints.assign_items(membership=membership)()
    if not assigned["items"]:
        return redirect("thanks", name=name)  # says why there are none (participation/views/leaving.py)
    return _page(request, membership, assigned, started_at=timezone.now().isoformat())


@login_required
@require_POST
def stop(request: LoggedIn, name: str) -> HttpResponse:
    """Release the assigned items for others, and go to the home page."""
    membership = assignment_queries.membership(user=request.user, study_name=name)
    if membership is None:
        raise Http404
    slots.release_leases(enrolment=membership.enrolment)
    messages.success(request, _("Everything you rated is saved. Come back whenever you like."))
    return redirect("home")


def _store_answer(request: LoggedIn, membership: Membership) -> HttpResponse:
    """Store the answer of a plain form, also if the study was paused or closed meanwhile: the item was
    assigned, and no work is lost."""
    form = RatingForm(request.POST)
    form.full_clean()
    unit_id, client_key = form.cleaned_data.get("unit"), form.cleaned_data.get("client_key")
    if unit_id is None or client_key is None:
        raise Http404
    enrolment = membership.enrolment
    if not lease_keys.was_issued(client_key, annotator_id=enrolment.annotator_id, unit_id=unit_id):
        raise PermissionDenied
    units = queries.units_as_json(
        study_id=enrolment.study_id, keys={unit_id: client_key}, language=get_language() or ""
    )
    if not units:
        raise PermissionDenied
    [unit] = units
    if unit["kind"] == TaskKind.DEPICTION:
        raise Http404  # images have no plain form
    errors = {field: texts[0] for field, texts in form.errors.items()}
    if not errors:
        data = form.cleaned_data
        # The reason's text box is visible only with a label that needs it. Text typed before the annotator
        # changed to another label is not meant to be sent.
        needs_reason = _needs_justification(unit["kind"], data["value"])
        try:
            submitted = responses.submit(
                enrolment=enrolment,
                unit_id=unit_id,
                client_key=client_key,
                answers=[
                    Answer(
                        option_id=unit["options"][0]["id"],
                        value=data["value"],
                        position=1,
                        justification=data["justification"] if needs_reason else "",
                    )
                ],
                started_at=data["started_at"],
                active_ms=data["active_ms"],
                language=unit["language"],
            )
        except responses.NotAssigned as error:
            raise PermissionDenied from error
        except AnswerRefused as refusal:
            missing = needs_reason and not data["justification"]
            errors = {"justification" if missing else "value": str(refusal)}
        else:
            if submitted.outcome == "surplus":
                messages.info(request, page_texts.messages()["surplus"])
            if submitted.feedback:
                messages.info(request, submitted.feedback)
            next_item = redirect("annotate", name=enrolment.study.name)
            next_item.status_code = 303  # so that reloading the next page does not send the answer again
            return next_item
    assigned = {"state": "items", "items": units, "progress": {}}
    return _page(
        request,
        membership,
        assigned,
        started_at=request.POST.get("started_at", ""),
        status=422,
        errors=errors,
        value=form.cleaned_data.get("value"),
        justification=request.POST.get("justification", ""),
    )


def _needs_justification(kind: str, value: int) -> bool:
    return any(label.value == value and label.needs_justification for label in scales.SCALES[kind])


def _page(
    request: LoggedIn, membership: Membership, assigned: queries.JSON, *, status: int = 200, **more: Any
) -> HttpResponse:
    study, first = membership.enrolment.study, assigned["items"][0]
    labels = page_texts.labels()
    progress = enrolments.progress(enrolment=membership.enrolment)
    tasks = list(study.tasks.all())
    draws = any(task.kind == TaskKind.DEPICTION for task in tasks)
    context = {
        "study": study,
        "item": first,
        "labels": [] if first["kind"] == TaskKind.DEPICTION else labels[first["kind"]],
        "note": page_texts.NOTES.get(first["kind"], ""),
        "progress": progress,
        "guides": annotator_pages.guides(tasks=tasks, language=get_language() or ""),
        "reasons": [(value, page_texts.reasons()[value]) for value in SkipReason.values],
        "assigned": assigned,
        "scripts": scripts(draws=draws),
        "config": {
            "enrolment": membership.enrolment.pk,
            "urls": {endpoint: reverse(f"work_{endpoint}", args=[study.name]) for endpoint in _ENDPOINTS}
            | {name: reverse(name, args=[study.name]) for name in ("annotate", "stop")}
            | {"login": f"{reverse('login')}?next={reverse('annotate', args=[study.name])}"},
            "labels": labels,
            "notes": {kind: str(note) for kind, note in page_texts.NOTES.items()},
            "messages": page_texts.messages(),
            "box_editor": page_texts.box_editor() if draws else {},
            "draws": draws,
            "break_after": study.break_after,
            "blurred": study.blur_images,
            "total": progress.total,
            "language": get_language(),
        },
        **more,
    }
    return render(request, "annotation/annotate/annotate.html", context, status=status)


def scripts(*, draws: bool) -> list[str]:
    """The static paths of the modules that the page needs; `draws`: with the box editor."""
    paths = ["annotation/annotate-images.js" if draws else "annotation/annotate.js"]
    paths += ["annotation/history.js", *(f"annotation/annotate/{name}.js" for name in _PAGE_MODULES)]
    if draws:
        paths += [f"annotation/annotate/{name}.js" for name in _DEPICTION_MODULES]
        paths += ["annotation/boxes.js", *(f"annotation/boxes/{name}.js" for name in _BOX_MODULES)]
    return paths
