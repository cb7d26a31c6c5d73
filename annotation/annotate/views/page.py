"""The page on which annotators answer one item after another (DESIGN §5). Without scripts, rating tasks work
as a plain form, one item per page."""

from functools import cache
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import get_language
from django.utils.translation import gettext as _
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
from annotation.participation.queries import enrolments

# Modules in static/annotation/annotate/ that only images need.
_DEPICTION_MODULES = ("depiction", "option-row")
_ENDPOINTS = ("items", "answers", "skips", "last", "corrections", "token")


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
        return redirect("thanks", name=name)  # says why there are none (participation/views/studies.py)
    return _page(request, membership, assigned, started_at=timezone.now().isoformat())


@require_POST
def stop(request: LoggedIn, name: str) -> HttpResponse:
    """Release the assigned items for others, and go to the home page."""
    membership = assignment_queries.membership_or_404(user=request.user, study_name=name)
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
        needs_reason = any(
            label.value == data["value"] and label.needs_justification
            for label in scales.SCALES[unit["kind"]]
        )
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
        "guides": enrolments.guides(tasks=tasks, language=get_language() or ""),
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


@cache
def scripts(*, draws: bool) -> list[str]:
    """The static paths of the modules that the page preloads in one round of requests; `draws`: with the box
    editor."""
    static = settings.BASE_DIR / "static"
    paths = ["annotation/annotate.js", "annotation/dom.js", "annotation/history.js"]
    if draws:
        paths = ["annotation/annotate-images.js", *paths[1:], "annotation/boxes.js"]
    for folder in ("annotate", "boxes") if draws else ("annotate",):
        modules = sorted((static / "annotation" / folder).glob("*.js"))
        paths += [
            module.relative_to(static).as_posix()
            for module in modules
            if draws or module.stem not in _DEPICTION_MODULES
        ]
    return paths
