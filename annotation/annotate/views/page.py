"""The page on which annotators judge one item after another (DESIGN §5).

It comes with the first items in it, as JSON, and goes on through the doors of views/endpoints.py. Without
scripts the rating tasks work as a plain form, one item a page.
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
from annotation.annotate.views import endpoints
from annotation.assignment import lease_keys
from annotation.assignment import queries as assignment_queries
from annotation.assignment.queries import Membership
from annotation.assignment.services import slots
from annotation.core import scales
from annotation.core.requests import LoggedIn
from annotation.models import EnrolmentStatus, SkipReason, TaskKind
from annotation.participation.queries import annotator_pages, enrolments

# Fetched with the page, in one round of requests; tests hold the lists to the folders.
_WORK = (
    "api",
    "clock",
    "desk",
    "dialogs",
    "dom",
    "journal",
    "keys",
    "prefetch",
    "rating",
    "sender",
    "sight",
    "start",
    "status",
)
_DRAWING = ("depiction", "option-row")
_BOARD = (
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
_DOORS = ("items", "answers", "skips", "last", "corrections", "token")


@login_required
@never_cache
@require_http_methods(["GET", "POST"])
def annotate(request: LoggedIn, name: str) -> HttpResponse:
    """GET shows the items in hand, or the next ones; POST takes the answer of a plain form and comes back."""
    membership = assignment_queries.membership(user=request.user, study_name=name)
    if request.method == "POST":
        if membership is None:
            raise Http404  # a stranger: nothing was given to them
        if membership.enrolment.status == EnrolmentStatus.WITHDRAWN:
            return redirect("withdraw", name=name)
        # Also while a new consent text waits to be agreed to, or after they were blocked: the item was given
        # out before, and what follows is not (annotate/views/endpoints.py does the same).
        return _take(request, membership)
    if membership is None or not membership.consented:
        # Asks for consent, or answers 404 where there is nothing to consent to.
        return redirect("consent", name=name)
    if membership.leads:
        return redirect("study", name=name)
    given = endpoints.given_out(membership=membership)()
    if not given["items"]:
        return redirect("thanks", name=name)  # says why there is nothing (participation/views/leaving.py)
    return _page(request, membership, given, started_at=timezone.now().isoformat())


@login_required
@require_POST
def stop(request: LoggedIn, name: str) -> HttpResponse:
    """Give the items in hand back, so that nobody waits for them, and go home."""
    membership = assignment_queries.membership(user=request.user, study_name=name)
    if membership is None:
        raise Http404
    slots.release_all(enrolment=membership.enrolment)
    messages.success(request, _("Everything you rated is saved. Come back whenever you like."))
    return redirect("home")


def _take(request: LoggedIn, membership: Membership) -> HttpResponse:
    """Take the answer of a plain form. Studies that were paused or closed meanwhile still take it: the
    item was given out, and work done is not thrown away."""
    form = RatingForm(request.POST)
    form.full_clean()
    unit_id, client_key = form.cleaned_data.get("unit"), form.cleaned_data.get("client_key")
    if unit_id is None or client_key is None:
        raise Http404
    enrolment = membership.enrolment
    if not lease_keys.was_issued(client_key, annotator_id=enrolment.annotator_id, unit_id=unit_id):
        raise PermissionDenied
    shown = queries.described(
        study_id=enrolment.study_id, keys={unit_id: client_key}, language=get_language() or ""
    )
    if not shown:
        raise PermissionDenied
    if shown[0]["kind"] == TaskKind.DEPICTION:
        raise Http404  # no plain form was shown for an image
    errors = {field: texts[0] for field, texts in form.errors.items()}
    if not errors:
        said = form.cleaned_data
        # The box is only seen beside a label that needs it; what was typed before a change of mind is
        # not what they meant to send.
        needs_reason = _needs_justification(shown[0]["kind"], said["value"])
        try:
            submitted = responses.submit(
                enrolment=enrolment,
                unit_id=unit_id,
                client_key=client_key,
                answers=[
                    responses.Answer(
                        option_id=shown[0]["options"][0]["id"],
                        value=said["value"],
                        position=1,
                        justification=said["justification"] if needs_reason else "",
                    )
                ],
                started_at=said["started_at"],
                active_ms=said["active_ms"],
                language=shown[0]["language"],
            )
        except responses.NotYours as error:
            raise PermissionDenied from error
        except responses.AnswerRefused as refusal:
            missing = needs_reason and not said["justification"]
            errors = {"justification" if missing else "value": str(refusal)}
        else:
            if submitted.outcome == "surplus":
                messages.info(request, page_texts.messages()["surplus"])
            if submitted.feedback:
                messages.info(request, submitted.feedback)
            next_item = redirect("annotate", name=enrolment.study.name)
            next_item.status_code = 303  # a reload of the next page asks for it and does not send again
            return next_item
    given = {"state": "items", "items": shown, "progress": {}}
    return _page(
        request,
        membership,
        given,
        started_at=request.POST.get("started_at", ""),
        status=422,
        errors=errors,
        value=form.cleaned_data.get("value"),
        justification=request.POST.get("justification", ""),
    )


def _needs_justification(kind: str, value: int) -> bool:
    return any(label.value == value and label.needs_justification for label in scales.SCALES[kind])


def _page(
    request: LoggedIn, membership: Membership, given: queries.JSON, *, status: int = 200, **more: Any
) -> HttpResponse:
    study, first = membership.enrolment.study, given["items"][0]
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
        "work": given,
        "scripts": scripts(draws=draws),
        "config": {
            "desk": membership.enrolment.pk,
            "urls": {door: reverse(f"work_{door}", args=[study.name]) for door in _DOORS}
            | {name: reverse(name, args=[study.name]) for name in ("annotate", "stop")}
            | {"login": f"{reverse('login')}?next={reverse('annotate', args=[study.name])}"},
            "labels": labels,
            "notes": {kind: str(note) for kind, note in page_texts.NOTES.items()},
            "messages": page_texts.messages(),
            "board": page_texts.board() if draws else {},
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
    """The modules that the page needs, as paths of static files."""
    paths = ["annotation/annotate-images.js" if draws else "annotation/annotate.js"]
    paths += ["annotation/history.js", *(f"annotation/annotate/{name}.js" for name in _WORK)]
    if draws:
        paths += [f"annotation/annotate/{name}.js" for name in _DRAWING]
        paths += ["annotation/boxes.js", *(f"annotation/boxes/{name}.js" for name in _BOARD)]
    return paths
