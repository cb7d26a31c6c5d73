"""*Try it as an annotator*: the annotation page for those who lead the study, in any state of it. Nothing is
stored: no endpoint here writes, and the browser forgets the answers with the page (docs/annotating.md)."""

from collections.abc import Callable
from functools import cache, partial, wraps
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.middleware.csrf import get_token
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import get_language
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation import policies
from annotation.annotate import queries
from annotation.annotate.queries import JSON
from annotation.annotate.services import trying
from annotation.annotate.services.trying import Trial
from annotation.annotate.views import endpoints, page, request_body
from annotation.annotate.views.request_body import RequestRefused
from annotation.core.requests import LoggedIn
from annotation.models import Purpose, Study, TaskKind, Unit
from annotation.participation.queries import enrolments

_ENDPOINTS = ("items", "answers", "skips", "corrections", "token")


@require_safe
def first_page(request: LoggedIn, name: str) -> HttpResponse:
    """What somebody reads before their first item: the consent text and the questions about them."""
    trial = _trial(request, name)
    study, language = trial.study, get_language() or ""
    texts = enrolments.consent_texts(study=study)
    text = enrolments.in_language(texts, request.GET.get("language", "") or language)
    # as their items come; all versions of a task are one kind
    kinds = dict.fromkeys(study.tasks.order_by("pk").values_list("kind", flat=True))
    context = {
        "text": text,
        "others": [other for other in texts if other != text],
        "kinds": [(TaskKind(kind).label, _url("try_annotate", study, task=kind)) for kind in kinds],
        "annotate_url": _url("try_annotate", study),
        "has_items": bool(trying.next_items(trial, after=None, wanted=1).items),
        "questions": enrolments.profile_questions(user=request.user, study=study, language=language),
    }
    return render(request, "annotation/annotate/try.html", _context(request, study, context))


@require_http_methods(["GET", "HEAD", "POST"])
def annotate(request: LoggedIn, name: str) -> HttpResponse:
    """GET shows the next items; POST checks the answer of a plain form and redirects to GET."""
    trial = _trial(request, name)
    if request.method == "POST":
        sent = page.read_form(
            request,
            study=trial.study,
            was_issued=partial(trying.was_issued, trial),
            send=partial(trying.check_answer, trial),
        )
        if sent.reply is None:
            return _page(request, trial, sent.assigned, place=sent.key, status=422, **sent.entries)
        url = _url("try_annotate", trial.study, task=trial.kind, after=str(sent.key))
        return page.show_next(request, sent.reply, url=url)
    assigned = _items(trial, after=_key(request.GET.get("after", "")))
    if not assigned["items"]:
        return redirect("try_end", name=name)
    place = UUID(assigned["items"][0]["client_key"])
    return _page(request, trial, assigned, place=place, started_at=timezone.now().isoformat())


@require_http_methods(["GET", "HEAD", "POST"])
def end(request: LoggedIn, name: str) -> HttpResponse:
    """The end of a try. Also the address of the button to stop, which sends a form."""
    trial = _trial(request, name)
    return render(request, "annotation/annotate/try_end.html", _context(request, trial.study))


def _endpoint(view: Callable[[HttpRequest, Trial], JSON]) -> Callable[..., HttpResponse]:
    """A JSON view for those who lead the study."""

    @wraps(view)
    def checked(request: LoggedIn, name: str) -> HttpResponse:
        trial = _trial(request, name)
        try:
            return JsonResponse(view(request, trial))
        except RequestRefused as refused:
            return JsonResponse({"error": str(refused), "field": refused.field}, status=refused.status)

    return checked


@require_POST
@_endpoint
def next_items(request: HttpRequest, trial: Trial) -> JSON:
    """The items after the one with key `after`, besides those that the page has."""
    body = request_body.parse(request)
    return _items(trial, after=_after(body), **endpoints.requested_items(body))


@require_POST
@_endpoint
def answers(request: HttpRequest, trial: Trial) -> JSON:
    """Check one answer. If the body asks for `next`, the reply brings the next items, as for annotators."""
    body = request_body.parse(request)
    result = endpoints.send_answer(partial(trying.check_answer, trial), body)
    requested = endpoints.items_wanted_next(body)
    following = None if requested is None else _items(trial, after=_after(body), **requested)
    return result if following is None or following["state"] == "done" else {**result, "next": following}


@require_POST
@_endpoint
def corrections(request: HttpRequest, trial: Trial) -> JSON:
    """Check a correction."""
    return endpoints.send_answer(partial(trying.check_answer, trial), request_body.parse(request))


@require_POST
@_endpoint
def skips(request: HttpRequest, trial: Trial) -> JSON:
    """Check a skip."""
    body = request_body.parse(request)
    request_body.text(body, "note", maximum=2000)
    with request_body.refusals():
        trying.check_skip(
            trial,
            unit_id=request_body.integer(body, "unit", minimum=1),
            client_key=request_body.uuid(body, "client_key"),
            reason=request_body.text(body, "reason", maximum=20),
        )
    return {"outcome": "skipped"}


@require_safe
@_endpoint
def token(request: HttpRequest, trial: Trial) -> JSON:
    """The CSRF token for a page whose user has logged in again, and whose try it is."""
    return {"token": get_token(request), "enrolment": _owner(trial)}


def _trial(request: HttpRequest, name: str) -> Trial:
    """The study as the account that asks tries it; 404 if it does not lead it. The parameter `task` chooses
    a kind of task."""
    study = get_object_or_404(Study, name=name)
    kind = request.GET.get("task", "")
    if not policies.leads(request.user, study) or (kind and kind not in TaskKind.values):
        raise Http404
    assert isinstance(request.user.pk, int)
    return Trial(study=study, user_id=request.user.pk, kind=kind)


def _owner(trial: Trial) -> str:
    """Whose try it is, for the page's scripts. An annotator's page has the number of their enrolment here."""
    return f"try-{trial.study.pk}-{trial.user_id}"


def _url(name: str, study: Study, **parameters: str) -> str:
    given = {key: value for key, value in parameters.items() if value}
    return reverse(name, args=[study.name]) + (f"?{urlencode(given)}" if given else "")


def _key(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None


def _after(body: Any) -> UUID | None:
    """The key after whose item the page wants others."""
    return request_body.uuid(body, "after") if body.get("after") is not None else None


def _items(trial: Trial, *, after: UUID | None, have: Any = (), wanted: int = endpoints.PREFETCHED) -> JSON:
    """The next items as the page expects them. It counts the answers itself."""
    found = trying.next_items(trial, have=have, after=after, wanted=wanted)
    return {
        "state": found.state,
        "held": [str(key) for key in found.assigned_keys],
        "items": queries.units_as_json(
            study_id=trial.study.pk,
            keys={item.unit_id: item.client_key for item in found.items},
            training=[item.unit_id for item in found.items if item.purpose == Purpose.TRAINING],
            language=get_language() or "",
        ),
        "progress": {"answered": 0},
    }


def _context(request: LoggedIn, study: Study, more: JSON | None = None) -> JSON:
    """What every page of a try needs. `wizard`: where the study is being set up, or empty."""
    wizard = policies.may_set_up(request.user, study)
    return {
        "study": study,
        "trying": True,
        "wizard": reverse("setup_step", args=[study.name, "open"]) if wizard else "",
        **(more or {}),
    }


def _page(
    request: LoggedIn, trial: Trial, assigned: JSON, *, place: UUID, status: int = 200, **more: Any
) -> HttpResponse:
    """The annotation page with these items. `place`: the key of the first, which says how many came
    before."""
    study, task = trial.study, trial.kind
    urls = {endpoint: _url(f"try_{endpoint}", study, task=task) for endpoint in _ENDPOINTS}
    urls |= {"annotate": _url("try_end", study), "stop": _url("try_end", study)}
    urls |= {
        "study": _url("try_study", study),
        "login": f"{reverse('login')}?next={_url('try_study', study)}",
    }
    practice = Unit.objects.filter(task__study=study, purpose=Purpose.TRAINING).exclude(purpose=Purpose.DATA)
    if task:
        practice = practice.filter(task__kind=task)
    before = max(0, trying.place_of(place) - practice.count())
    total = enrolments.total_units(study_id=study.pk, kind=task)
    tasks = [each for each in study.tasks.all() if task in ("", each.kind)]
    assigned = {**assigned, "progress": {"answered": before}}
    context = page.page_context(
        study=study,
        tasks=tasks,
        assigned=assigned,
        progress=enrolments.Progress(before, total),
        config={"enrolment": _owner(trial), "urls": urls},
    )
    context |= {"form_url": _url("try_annotate", study, task=task), "scripts": _scripts()}
    return render(
        request,
        "annotation/annotate/annotate.html",
        _context(request, study, {**context, **more}),
        status=status,
    )


@cache
def _scripts() -> list[str]:
    """The modules of a try: those of a study with images, which can show all kinds of items."""
    return ["annotation/try.js", "annotation/try/api.js", *page.scripts(draws=True)[1:]]
