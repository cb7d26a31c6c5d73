"""JSON endpoints of the annotation page: items, answers, skips, last answers, corrections.

docs/annotating.md describes them. Refusals are JSON too, {"error", "field"}: the page then knows not to send
that again. An answer to an assigned item is accepted in any state of the study: no work is lost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial, wraps
from typing import Any
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.middleware.csrf import get_token
from django.utils.translation import get_language
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from annotation.annotate import queries
from annotation.annotate.limits import MAX_ITEMS
from annotation.annotate.queries import JSON
from annotation.annotate.services import items, responses
from annotation.annotate.views import request_body
from annotation.annotate.views.request_body import RequestRefused
from annotation.assignment import queries as assignment_queries
from annotation.assignment.queries import Membership
from annotation.assignment.services import enrolment_lock
from annotation.core.requests import LoggedIn
from annotation.participation.queries import enrolments

PREFETCHED = 3
"""Items that the page keeps: the one on the screen and the next two."""

Payload = JSON | Callable[[], JSON]
"""A reply, or a function that builds it from reads alone, to call after the enrolment is unlocked."""
Endpoint = Callable[[LoggedIn, Membership], Payload]
FindMembership = Callable[..., AbstractContextManager[Membership | None]]


@contextmanager
def _unlocked_membership(**who: Any) -> Iterator[Membership | None]:
    yield assignment_queries.membership(**who)


def json_endpoint(
    *, method: str, find: FindMembership = _unlocked_membership
) -> Callable[[Endpoint], Callable[..., HttpResponse]]:
    """Make a JSON view for annotators of the study; `find` reads their membership."""

    def decorate(endpoint: Endpoint) -> Callable[..., HttpResponse]:
        @login_required
        @never_cache
        @require_http_methods([method])
        @wraps(endpoint)
        def view(request: HttpRequest, name: str) -> HttpResponse:
            assert isinstance(request.user.pk, int)
            try:
                # Read the body before anything is locked: a slow client may take long to send it.
                request.body  # noqa: B018
                with find(user=request.user, study_name=name) as membership:
                    if membership is None:
                        raise RequestRefused(_("You do not take part in this study."), status=404)
                    payload = endpoint(request, membership)  # type: ignore[arg-type]
                return JsonResponse(payload() if callable(payload) else payload)
            except RequestRefused as refused:
                error = {"error": str(refused), "field": refused.field}
                return JsonResponse(error, status=refused.status)

        return view

    return decorate


@json_endpoint(method="POST", find=partial(enrolment_lock.locked_membership, for_leases=True))
def next_items(request: LoggedIn, membership: Membership) -> Payload:
    """The next items, without those that the page has already."""
    return assign_items(membership=membership, requested=_requested_items(request_body.parse(request)))


@json_endpoint(method="POST", find=enrolment_lock.locked_membership)
def answers(request: LoggedIn, membership: Membership) -> Payload:
    """Store one answer; sending it again is the same as sending it once.

    If the body asks for `next`, the reply brings the next items under that name, which saves a request. It
    is left out if nothing seems to be left: only `items/` can say that for certain. If reading the next items
    fails, the answer is not stored either, so the page must send it again without `next`.
    """
    body = request_body.parse(request)
    result = _store_answer(responses.submit, membership, body)
    requested = _requested_next(body)
    if requested is None:
        return result
    describe_next = assign_items(membership=membership, requested=requested, sweep=False)

    def with_next() -> JSON:
        following = describe_next()
        return result if following["state"] == "done" else {**result, "next": following}

    return with_next


@json_endpoint(method="POST")
def corrections(request: LoggedIn, membership: Membership) -> JSON:
    """Correct one of the annotator's own answers."""
    _refuse_if_blocked(membership)
    return _store_answer(responses.revise, membership, request_body.parse(request))


@json_endpoint(method="POST")
def skips(request: LoggedIn, membership: Membership) -> JSON:
    """Skip an item."""
    _refuse_if_blocked(membership)
    body = request_body.parse(request)
    with request_body.refusals():
        responses.skip(
            enrolment=membership.enrolment,
            unit_id=request_body.integer(body, "unit", minimum=1),
            client_key=request_body.uuid(body, "client_key"),
            reason=request_body.text(body, "reason", maximum=20),
            note=request_body.text(body, "note", maximum=2000),
        )
    return {"outcome": "skipped"}


@json_endpoint(method="GET")
def last(request: LoggedIn, membership: Membership) -> JSON:
    """The annotator's last answers, each with the key for a correction."""
    enrolment = membership.enrolment
    last_answers = queries.last_answers(enrolment=enrolment)
    keys: dict[int, UUID] = {
        answer.response.unit_id: responses.correction_key(enrolment=enrolment, earlier=answer.response)
        for answer in last_answers
    }
    units = queries.units_as_json(study_id=enrolment.study_id, keys=keys, language=get_language() or "")
    payload = []
    for answer, unit in zip(last_answers, units, strict=True):
        for option in unit["options"]:  # in the order in which they were shown for that answer
            option["position"] = answer.judgements[option["id"]].pop("position")
        unit["options"].sort(key=lambda option: option["position"])
        submitted = answer.response.submitted_at
        submitted_at = submitted.isoformat() if submitted else ""
        payload.append({"item": unit, "judgements": answer.judgements, "submitted_at": submitted_at})
    return {"answers": payload}


@json_endpoint(method="GET")
def token(request: LoggedIn, membership: Membership) -> JSON:
    """The CSRF token for a page whose user has logged in again, and the enrolment it is for."""
    # `desk`: for pages that were open before an upgrade.
    pk = membership.enrolment.pk
    return {"token": get_token(request), "enrolment": pk, "desk": pk}


@dataclass(frozen=True)
class ItemRequest:
    """`wanted` items in all, of which the page has those with the keys `have`."""

    have: frozenset[UUID] = frozenset()
    wanted: int = PREFETCHED


def _requested_items(body: Mapping[str, Any]) -> ItemRequest:
    have = frozenset(request_body.uuids(body, "have"))
    wanted = min(request_body.integer(body, "wanted", default=PREFETCHED, maximum=1000), MAX_ITEMS)
    return ItemRequest(have=have, wanted=max(1, wanted))


def _requested_next(body: Mapping[str, Any]) -> ItemRequest | None:
    """The items that an answer asks for. An invalid request there must not cost the answer."""
    requested = body.get("next")
    try:
        return _requested_items(requested) if isinstance(requested, dict) else None
    except RequestRefused:
        return None


def assign_items(
    *, membership: Membership, requested: ItemRequest | None = None, sweep: bool = True
) -> Callable[[], JSON]:
    """Assign items to the annotator now, and return a function that describes them.

    In the reply, `held` lists the keys of all their items, and `items` describes those that the page does not
    have. `sweep`: see annotate/services/items.py.
    """
    enrolment, requested = membership.enrolment, requested or ItemRequest()
    reply: JSON = {
        "state": "",
        "held": [],
        "items": [],
        "progress": {"answered": enrolments.answered_items(enrolment=enrolment)},
    }
    if not membership.consented or membership.leads:
        reply["state"] = "no_consent" if not membership.consented else "blocked"
        return lambda: reply
    assigned = items.next_items(enrolment=enrolment, wanted=requested.wanted, sweep=sweep)
    new = [item for item in assigned.items if item.client_key not in requested.have]
    reply |= {"state": assigned.state, "held": [str(key) for key in assigned.assigned_keys]}
    keys = {item.unit_id: item.client_key for item in new}
    training = [item.unit_id for item in new if item.purpose == "training"]
    describe = partial(queries.units_as_json, study_id=enrolment.study_id, keys=keys, training=training)
    return lambda: {**reply, "items": describe(language=get_language() or "")}


def _refuse_if_blocked(membership: Membership) -> None:
    """For what a blocked annotator may not do. Answers to items assigned before are still accepted."""
    if membership.blocked:
        raise RequestRefused(_("You can no longer give answers in this study."), status=403)


def _store_answer(
    store: Callable[..., responses.Submitted], membership: Membership, body: Mapping[str, Any]
) -> JSON:
    with request_body.refusals():
        submitted = store(
            enrolment=membership.enrolment,
            unit_id=request_body.integer(body, "unit", minimum=1),
            client_key=request_body.uuid(body, "client_key"),
            answers=request_body.answers(body),
            **request_body.times(body),
            language=request_body.text(body, "language", maximum=10),
        )
    result: JSON = {"outcome": submitted.public_outcome}
    if submitted.correct is not None or submitted.feedback:
        result |= {"correct": submitted.correct, "feedback": submitted.feedback}
    return result
