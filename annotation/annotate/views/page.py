"""The page on which annotators answer one item after another (DESIGN §5). Without scripts, rating tasks work
as a plain form, one item per page."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse, HttpResponseRedirect
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
from annotation.annotate.services.responses import NotAssigned
from annotation.annotate.views import endpoints
from annotation.assignment import lease_keys
from annotation.assignment import queries as assignment_queries
from annotation.assignment.queries import Membership
from annotation.assignment.services import slots
from annotation.core import scales
from annotation.core.requests import LoggedIn
from annotation.core.translation import translated_field
from annotation.models import EnrolmentStatus, SkipReason, Study, Task, TaskKind
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
    enrolment = membership.enrolment
    sent = read_form(
        request,
        study=enrolment.study,
        was_issued=partial(lease_keys.was_issued, annotator_id=enrolment.annotator_id),
        send=partial(responses.submit, enrolment=enrolment),
    )
    if sent.reply is None:
        return _page(request, membership, sent.assigned, status=422, **sent.entries)
    if sent.reply.public_outcome == "surplus":
        messages.info(request, page_texts.messages()["surplus"])
    return show_next(request, sent.reply, url=reverse("annotate", args=[enrolment.study.name]))


@dataclass(frozen=True)
class SentForm:
    """A plain form that was sent. `reply`: of the services, None if the answer was refused; then the item is
    shown again, with what was entered. `key`: of the item."""

    key: UUID
    assigned: queries.JSON
    reply: endpoints.Reply | None = None
    entries: dict[str, Any] = field(default_factory=dict)


def read_form(
    request: LoggedIn, *, study: Study, was_issued: Callable[..., bool], send: Callable[..., endpoints.Reply]
) -> SentForm:
    """Check a plain form, and `send` its answer. `was_issued` says whether the item with this key was given
    to this account. 404 and 403 are raised for what no page sends."""
    form = RatingForm(request.POST)
    form.full_clean()
    unit_id, client_key = form.cleaned_data.get("unit"), form.cleaned_data.get("client_key")
    if unit_id is None or client_key is None:
        raise Http404
    if not was_issued(key=client_key, unit_id=unit_id):
        raise PermissionDenied
    units = queries.units_as_json(
        study_id=study.pk, keys={unit_id: client_key}, language=get_language() or ""
    )
    if not units:
        raise PermissionDenied
    [unit] = units
    if unit["kind"] == TaskKind.DEPICTION:
        raise Http404  # images have no plain form
    assigned = {"state": "items", "items": units, "progress": {}}
    errors = {name: texts[0] for name, texts in form.errors.items()}
    if not errors:
        data = form.cleaned_data
        # The reason's text box is visible only with a label that needs it. Text typed before the annotator
        # changed to another label is not meant to be sent.
        needs_reason = any(
            label.value == data["value"] and label.needs_justification
            for label in scales.SCALES[unit["kind"]]
        )
        try:
            reply = send(
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
        except NotAssigned as error:
            raise PermissionDenied from error
        except AnswerRefused as refusal:
            missing = needs_reason and not data["justification"]
            errors = {"justification" if missing else "value": str(refusal)}
        else:
            return SentForm(key=client_key, assigned=assigned, reply=reply)
    entries = {
        "started_at": request.POST.get("started_at", ""),
        "errors": errors,
        "value": form.cleaned_data.get("value"),
        "justification": request.POST.get("justification", ""),
    }
    return SentForm(key=client_key, assigned=assigned, entries=entries)


def show_next(request: LoggedIn, reply: endpoints.Reply, *, url: str) -> HttpResponse:
    """Go to the next item, and say there what is to be said about the last one."""
    if reply.feedback:
        messages.info(request, reply.feedback)
    # 303, so that reloading the next page does not send the answer again
    return HttpResponseRedirect(url, status=303)


def _page(
    request: LoggedIn, membership: Membership, assigned: queries.JSON, *, status: int = 200, **more: Any
) -> HttpResponse:
    study, here = membership.enrolment.study, reverse("annotate", args=[membership.enrolment.study.name])
    tasks = list(study.tasks.all())
    config = {
        "enrolment": membership.enrolment.pk,
        "urls": {endpoint: reverse(f"work_{endpoint}", args=[study.name]) for endpoint in _ENDPOINTS}
        | {name: reverse(name, args=[study.name]) for name in ("annotate", "stop", "study")}
        | {"login": f"{reverse('login')}?next={here}"},
    }
    context = page_context(
        study=study,
        tasks=tasks,
        assigned=assigned,
        progress=enrolments.progress(enrolment=membership.enrolment),
        config=config,
    )
    context |= {"form_url": here, "scripts": scripts(draws=context["config"]["draws"])}
    return render(request, "annotation/annotate/annotate.html", {**context, **more}, status=status)


def page_context(
    *,
    study: Study,
    tasks: Sequence[Task],
    assigned: queries.JSON,
    progress: enrolments.Progress,
    config: Mapping[str, Any],
) -> dict[str, Any]:
    """What the template of the annotation page needs, besides its scripts and `form_url`, to which its plain
    form is sent. `config`: for its scripts: the addresses of its endpoints, and whose answers it keeps."""
    first, labels = assigned["items"][0], page_texts.labels()
    language = get_language() or ""
    wordings = {task.kind: translated_field(task, "wording", language)[0] for task in tasks}
    notes = {kind: page_texts.note(kind, wording) for kind, wording in wordings.items()}
    draws = any(task.kind == TaskKind.DEPICTION for task in tasks)
    return {
        "study": study,
        "item": first,
        "labels": [] if first["kind"] == TaskKind.DEPICTION else labels[first["kind"]],
        "note": notes.get(first["kind"], ""),
        "progress": progress,
        "guides": enrolments.guides(tasks=tasks, language=language),
        "reasons": [(value, page_texts.reasons()[value]) for value in SkipReason.values],
        "assigned": assigned,
        "config": {
            **config,
            "labels": labels,
            "notes": notes,
            "messages": page_texts.messages(),
            "box_editor": page_texts.box_editor() if draws else {},
            "draws": draws,
            "break_after": study.break_after,
            "blurred": study.blur_images,
            "total": progress.total,
            "language": get_language(),
        },
    }


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
