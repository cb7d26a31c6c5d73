"""JSON endpoints of the annotation page (docs/annotating.md). Refusals are JSON too, {"error", "field"}: the
page then knows not to send that again. An answer is accepted in any state of the study."""

from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import partial, wraps
from typing import Any, Protocol
from uuid import UUID

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.middleware.csrf import get_token
from django.utils.translation import get_language
from django.utils.translation import gettext as _
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


class Reply(Protocol):
    """What an annotator is told about an answer: `services.responses.Submitted`, for example."""

    @property
    def public_outcome(self) -> str: ...

    @property
    def correct(self) -> bool | None: ...

    @property
    def feedback(self) -> str: ...


def _unlocked_membership(**who: Any) -> AbstractContextManager[Membership | None]:
    return nullcontext(assignment_queries.membership(**who))


def json_endpoint(
    *, method: str, find: FindMembership = _unlocked_membership
) -> Callable[[Endpoint], Callable[..., HttpResponse]]:
    """Make a JSON view for annotators of the study; `find` reads their membership."""

    def decorate(endpoint: Endpoint) -> Callable[..., HttpResponse]:
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
    return assign_items(membership=membership, **requested_items(request_body.parse(request)))


@json_endpoint(method="POST", find=enrolment_lock.locked_membership)
def answers(request: LoggedIn, membership: Membership) -> Payload:
    """Store one answer; sending it again is the same as sending it once. If the body asks for `next`, the
    reply brings the next items, unless nothing seems to be left: only `items/` can say that for certain. If
    reading them fails, the answer is not stored either, so the page must send it again without `next`."""
    body = request_body.parse(request)
    result = send_answer(partial(responses.submit, enrolment=membership.enrolment), body)
    requested = items_wanted_next(body)
    if requested is None:
        return result
    describe_next = assign_items(membership=membership, **requested, sweep=False)

    def with_next() -> JSON:
        following = describe_next()
        return result if following["state"] == "done" else {**result, "next": following}

    return with_next


@json_endpoint(method="POST")
def corrections(request: LoggedIn, membership: Membership) -> JSON:
    """Correct one of the annotator's own answers."""
    _refuse_if_blocked(membership)
    return send_answer(partial(responses.revise, enrolment=membership.enrolment), request_body.parse(request))


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
    last_answers = queries.last_answers(enrolment=membership.enrolment, language=get_language() or "")
    for answer in last_answers:
        options, submitted_at = answer["item"]["options"], answer["submitted_at"]
        for option in options:  # in the order in which they were shown for that answer
            option["position"] = answer["judgements"][option["id"]].pop("position")
        options.sort(key=lambda option: option["position"])
        answer["submitted_at"] = submitted_at.isoformat() if submitted_at else ""
    return {"answers": last_answers}


@json_endpoint(method="GET")
def token(request: LoggedIn, membership: Membership) -> JSON:
    """The CSRF token for a page whose user has logged in again, and the enrolment it is for."""
    # `desk`: for pages that were open before an upgrade.
    pk = membership.enrolment.pk
    return {"token": get_token(request), "enrolment": pk, "desk": pk}


def requested_items(body: Mapping[str, Any]) -> dict[str, Any]:
    """`wanted` items in all, of which the page has those with the keys `have`."""
    have = frozenset(request_body.uuids(body, "have"))
    wanted = min(request_body.integer(body, "wanted", default=PREFETCHED, maximum=1000), MAX_ITEMS)
    return {"have": have, "wanted": max(1, wanted)}


def items_wanted_next(body: Mapping[str, Any]) -> dict[str, Any] | None:
    """What the body of an answer asks for besides, as `requested_items`; None if nothing. An invalid request
    for items must not cost the answer."""
    try:
        return requested_items(body["next"]) if isinstance(body.get("next"), dict) else None
    except RequestRefused:
        return None


def assign_items(
    *,
    membership: Membership,
    have: Collection[UUID] = (),
    wanted: int = PREFETCHED,
    sweep: bool = True,
) -> Callable[[], JSON]:
    """Assign `wanted` items to the annotator now, and return a function that describes those that are not in
    `have`. In the reply, `held` lists the keys of all of them. `sweep`: see annotate/services/items.py."""
    enrolment = membership.enrolment
    reply: JSON = {
        "state": "",
        "held": [],
        "items": [],
        "progress": {"answered": enrolments.answered_items(enrolment=enrolment)},
    }
    if not membership.consented or membership.leads:
        reply["state"] = "no_consent" if not membership.consented else "blocked"
        return lambda: reply
    assigned = items.next_items(enrolment=enrolment, wanted=wanted, sweep=sweep)
    new = [item for item in assigned.items if item.client_key not in have]
    reply |= {"state": assigned.state, "held": [str(key) for key in assigned.assigned_keys]}
    keys = {item.unit_id: item.client_key for item in new}
    training = [item.unit_id for item in new if item.purpose == "training"]
    describe = partial(queries.units_as_json, study_id=enrolment.study_id, keys=keys, training=training)
    return lambda: {**reply, "items": describe(language=get_language() or "")}


def _refuse_if_blocked(membership: Membership) -> None:
    """For what a blocked annotator may not do. Answers to items assigned before are still accepted."""
    if membership.blocked:
        raise RequestRefused(_("You can no longer give answers in this study."), status=403)


def send_answer(send: Callable[..., Reply], body: Mapping[str, Any]) -> JSON:
    """Call `send` with the answer in `body`; its reply as JSON."""
    with request_body.refusals():
        reply = send(
            unit_id=request_body.integer(body, "unit", minimum=1),
            client_key=request_body.uuid(body, "client_key"),
            answers=request_body.answers(body),
            **request_body.times(body),
            language=request_body.text(body, "language", maximum=10),
        )
    result: JSON = {"outcome": reply.public_outcome}
    if reply.correct is not None or reply.feedback:
        result |= {"correct": reply.correct, "feedback": reply.feedback}
    return result
