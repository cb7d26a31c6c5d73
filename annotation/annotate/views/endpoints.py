"""The page at work talks to the server here: items, answers, skips, one's own last answers, corrections.

JSON in and out, described in docs/annotating.md. Refusals are JSON too, {"error", "field"}: the page tells
by that what it must not send again. An answer is taken in any state of the study, from whoever it was
given out to: work done is not thrown away.
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
from annotation.annotate.queries import JSON
from annotation.annotate.services import items, responses
from annotation.annotate.views import bodies
from annotation.annotate.views.bodies import Refused
from annotation.assignment import queries as assignment_queries
from annotation.assignment.queries import Membership
from annotation.assignment.services import enrolment_lock
from annotation.core.requests import LoggedIn
from annotation.participation.queries import enrolments

AT_HAND = 3
"""Items that the page keeps: the one on the screen and two that are ready."""
MOST_AT_HAND = 12
"""With those whose answers are still under way."""

Told = JSON | Callable[[], JSON]
"""What the page is told, or how to put that together: from what is only read, once the place is let go of."""
Door = Callable[[LoggedIn, Membership], Told]
Place = Callable[..., AbstractContextManager[Membership | None]]


@contextmanager
def _found(**who: Any) -> Iterator[Membership | None]:
    yield assignment_queries.membership(**who)


def door(*, method: str, place: Place = _found) -> Callable[[Door], Callable[..., HttpResponse]]:
    """A JSON view of somebody who takes part in the study; `place` finds them there."""

    def made(answer: Door) -> Callable[..., HttpResponse]:
        @login_required
        @never_cache
        @require_http_methods([method])
        @wraps(answer)
        def view(request: HttpRequest, name: str) -> HttpResponse:
            assert isinstance(request.user.pk, int)
            try:
                # as long as the client takes to send it, and before anything is locked
                request.body  # noqa: B018
                with place(user=request.user, study_name=name) as membership:
                    if membership is None:
                        raise Refused(_("You do not take part in this study."), status=404)
                    told = answer(request, membership)  # type: ignore[arg-type]
                return JsonResponse(told() if callable(told) else told)
            except Refused as refused:
                said = {"error": str(refused), "field": refused.field}
                return JsonResponse(said, status=refused.status)

        return view

    return made


@door(method="POST", place=partial(enrolment_lock.held, for_leases=True))
def next_items(request: LoggedIn, membership: Membership) -> Told:
    """What to show next: items that the page does not have yet."""
    return given_out(membership=membership, asked=_asked_for(bodies.read(request)))


@door(method="POST", place=enrolment_lock.held)
def answers(request: LoggedIn, membership: Membership) -> Told:
    """One answer; sending it again is the same as sending it once.

    What to show next comes with the reply, as `next`, if the body asks for it under that name: as a request
    of its own it would cost as much again. It is left out where it takes more than a look to say that nothing
    is left. If it fails, so does the answer: whoever sends that again must not ask again.
    """
    body = bodies.read(request)
    told = _taken(responses.submit, membership, body)
    asked = _asked_for_with(body)
    if asked is None:
        return told
    following = given_out(membership=membership, asked=asked, sweep=False)

    def with_next() -> JSON:
        given = following()
        return told if given["state"] == "done" else {**told, "next": given}

    return with_next


@door(method="POST")
def corrections(request: LoggedIn, membership: Membership) -> JSON:
    """A change of mind about an answer of one's own."""
    _refuse_if_blocked(membership)
    return _taken(responses.revise, membership, bodies.read(request))


@door(method="POST")
def skips(request: LoggedIn, membership: Membership) -> JSON:
    """Pass over an item."""
    _refuse_if_blocked(membership)
    body = bodies.read(request)
    with bodies.refusals():
        responses.skip(
            enrolment=membership.enrolment,
            unit_id=bodies.whole(body, "unit", least=1),
            client_key=bodies.key(body, "client_key"),
            reason=bodies.text(body, "reason", most=20),
            note=bodies.text(body, "note", most=2000),
        )
    return {"outcome": "skipped"}


@door(method="GET")
def last(request: LoggedIn, membership: Membership) -> JSON:
    """One's own last answers, each with the key under which a correction is sent."""
    own = queries.last_answers(enrolment=membership.enrolment)
    keys: dict[int, UUID] = {
        answer.response.unit_id: responses.correction_key(
            enrolment=membership.enrolment, earlier=answer.response
        )
        for answer in own
    }
    units = queries.described(
        study_id=membership.enrolment.study_id, keys=keys, language=get_language() or ""
    )
    told = []
    for answer, unit in zip(own, units, strict=True):
        for option in unit["options"]:  # as they were shown when it was answered
            option["position"] = answer.said[option["id"]].pop("position")
        unit["options"].sort(key=lambda option: option["position"])
        submitted = answer.response.submitted_at
        told.append({"item": unit, "said": answer.said, "at": submitted.isoformat() if submitted else ""})
    return {"answers": told}


@door(method="GET")
def token(request: LoggedIn, membership: Membership) -> JSON:
    """The token that a page needs once somebody has logged in again, and who that was."""
    return {"token": get_token(request), "desk": membership.enrolment.pk}


@dataclass(frozen=True)
class Wish:
    """`wanted` items in all, of which the page has those with the keys `have`."""

    have: frozenset[UUID] = frozenset()
    wanted: int = AT_HAND


def _asked_for(body: Mapping[str, Any]) -> Wish:
    have = frozenset(bodies.keys(body, "have"))
    wanted = min(bodies.whole(body, "wanted", default=AT_HAND, most=1000), MOST_AT_HAND)
    return Wish(have=have, wanted=max(1, wanted))


def _asked_for_with(body: Mapping[str, Any]) -> Wish | None:
    """What an answer asks for next. Nonsense there loses no answer."""
    asked = body.get("next")
    try:
        return _asked_for(asked) if isinstance(asked, dict) else None
    except Refused:
        return None


def given_out(*, membership: Membership, asked: Wish | None = None, sweep: bool = True) -> Callable[[], JSON]:
    """What the page at work is given: `held` names everything that is in this annotator's hands, `items`
    describes those of it that it does not have. `sweep`: see annotate/services/items.py.

    It is given out at once, and described by what is returned.
    """
    enrolment, asked = membership.enrolment, asked or Wish()
    told: JSON = {
        "state": "",
        "held": [],
        "items": [],
        "progress": {"answered": enrolments.rated(enrolment=enrolment)},
    }
    if not membership.consented or membership.leads:
        told["state"] = "no_consent" if not membership.consented else "blocked"
        return lambda: told
    given = items.next_items(enrolment=enrolment, wanted=asked.wanted, sweep=sweep)
    fresh = [item for item in given.items if item.client_key not in asked.have]
    told |= {"state": given.state, "held": [str(key) for key in given.held]}
    keys = {item.unit_id: item.client_key for item in fresh}
    training = [item.unit_id for item in fresh if item.purpose == "training"]
    described = partial(queries.described, study_id=enrolment.study_id, keys=keys, training=training)
    return lambda: {**told, "items": described(language=get_language() or "")}


def _refuse_if_blocked(membership: Membership) -> None:
    """For what somebody who was blocked may not do; an answer to what they had in hand is still taken."""
    if membership.blocked:
        raise Refused(_("You cannot give answers in this study any more."), status=403)


def _taken(take: Callable[..., responses.Submitted], membership: Membership, body: Mapping[str, Any]) -> JSON:
    with bodies.refusals():
        submitted = take(
            enrolment=membership.enrolment,
            unit_id=bodies.whole(body, "unit", least=1),
            client_key=bodies.key(body, "client_key"),
            answers=bodies.answers(body),
            **bodies.times(body),
            language=bodies.text(body, "language", most=10),
        )
    told: JSON = {
        # That something was a check is not told: nobody learns which items are gold.
        "outcome": "kept" if submitted.outcome in {"filled", "check", "revised"} else submitted.outcome
    }
    if submitted.correct is not None or submitted.feedback:
        told |= {"correct": submitted.correct, "feedback": submitted.feedback}
    return told
