"""A server that fails, stalls, limits and lies, without waiting: the clock is the test's own."""

from __future__ import annotations

import asyncio
from email.utils import formatdate

import pytest

from generation.backends.base import BackendError, Question, Refused, ServerAway
from generation.backends.openai_server import MOST_FAILURES
from tests import coroutines
from tests.fake_openai import (
    DROP,
    EMPTY,
    GARBAGE,
    HALF,
    HTML,
    STALL,
    Fault,
    error,
    limited,
)
from tests.generation.backends.servers.asking import NOON, ask, raised


@pytest.mark.parametrize(
    ("headers", "least"),
    [
        ({"retry_after": "20"}, 20),
        ({"retry_after_ms": "30500", "retry_after": "20"}, 30.5),
        ({"retry_after": formatdate(NOON + 40, usegmt=True)}, 40),
        ({"retry_after": "soon"}, 0.5),
        ({}, 0.5),
    ],
)
@pytest.mark.parametrize("status", [429, 503])
def test_it_waits_as_long_as_it_is_told(server, load, time, status, headers, least):
    server.faults.append(error(status, "Slow down.", **headers))
    assert ask(load(), "Hello?").text == "You said: Hello?"
    assert least <= time.slept[0] <= least + 1.5
    assert server.asked["Hello?"] == 2


def test_all_askings_wait_when_one_is_told_to(server, load, time):
    model = load()

    async def one_after_another():
        server.faults.append(limited("100"))
        first = asyncio.create_task(model.answer(Question("first", 1)))
        while not time.slept:
            await asyncio.sleep(0)
        assert server.asked == {"first": 1}
        time.now = 50.0  # half of it has passed
        before = len(time.slept)
        await model.answer(Question("second", 1))
        await first
        await model.close()
        return time.slept[before:]

    assert max(coroutines.run(one_after_another())) >= 50


def test_a_server_that_limits_for_hours_is_away_at_once(server, load, time):
    server.faults.append(limited("7200"))
    away = ask(load(), "Hello?")
    assert raised(ServerAway, away).endswith("Rate limit reached. It asks to wait 7200 s.")
    assert 7200 <= away.seconds <= 7202
    assert time.slept == []


@pytest.mark.parametrize("after", ["1e300", "inf", "200000"])
def test_a_server_is_asked_again_after_a_day_however_long_it_asks_to_wait(server, load, time, after):
    server.faults.append(limited(after))
    away = ask(load(), "Hello?")
    assert raised(ServerAway, away).endswith("asks to wait more than a day.")
    assert away.seconds == 86_400


def test_nothing_is_asked_of_a_server_that_limits_for_hours_until_these_are_over(server, load, time):
    model = load()

    async def one_after_another():
        server.faults.append(limited("7200"))
        found = []
        for prompt, at in (("a", 0.0), ("b", 3000.0), ("c", 6950.0)):
            time.now = at
            found += await asyncio.gather(model.answer(Question(prompt, 1)), return_exceptions=True)
        await model.close()
        return found

    first, second, third = coroutines.run(one_after_another())
    assert raised(ServerAway, second) == str(first)
    assert 4200 <= second.seconds <= 4202
    assert third.text == "You said: c"
    assert server.asked == {"a": 1, "c": 1}
    assert time.now >= 7200


def test_a_server_that_limits_for_a_while_again_and_again_is_asked_no_earlier(server, load, time):
    server.always["Hello?"] = limited("100")
    away = ask(load(), "Hello?")
    assert "asks to wait 100 s" in raised(ServerAway, away)
    assert 100 <= away.seconds <= 101


@pytest.mark.parametrize("fault", [error(500, "Oops"), error(502), limited("0"), DROP, HALF, HTML, GARBAGE])
def test_it_tries_again_and_gives_up_after_five_minutes(server, load, time, fault):
    server.always["Hello?"] = fault
    message = raised(ServerAway, ask(load(), "Hello?"))
    assert "lab (127.0.0.1:" in message
    assert 200 < time.now <= 300
    assert 5 < server.asked["Hello?"] < 400


@pytest.mark.parametrize("fault", [error(500, "Oops"), DROP, HALF, HTML, GARBAGE, error(408), error(529)])
def test_a_failure_that_passes_is_not_noticed(server, load, fault):
    server.faults += [fault, fault]
    assert ask(load(), "Hello?").text == "You said: Hello?"


def test_an_asking_that_always_fails_while_others_are_answered_is_to_blame(server, load, time):
    """A server that breaks at one prompt would hold up its run for ever."""
    server.always["bad"] = error(500, "CUDA error")
    model = load()

    async def beside_others():
        bad = asyncio.create_task(model.answer(Question("bad", 1)))
        while not bad.done():
            await model.answer(Question("good", 1))
        await model.close()
        return bad.exception()

    message = raised(Refused, coroutines.run(beside_others()))
    assert "CUDA error (after" in message
    assert message.endswith("Plan another prompt, or mend the server and retry the job.")
    assert MOST_FAILURES <= server.asked["bad"] <= MOST_FAILURES + 2


def test_no_answer_in_time(server, load, time):
    model = load(options={"timeout": 1})
    model._connection._timeout = 0.05
    server.faults.append(STALL)
    assert ask(model, "Hello?").text == "You said: Hello?"
    server.always["Hello?"] = STALL
    assert "did not answer in time" in raised(ServerAway, ask(model, "Hello?"))


@pytest.mark.parametrize(
    ("fault", "kind", "words"),
    [
        (error(400, "Maximum context length is 10."), Refused, "length is 10. Plan a shorter prompt"),
        (error(400, "Too large: context length", param="max_tokens"), Refused, "with a lower max_tokens."),
        (error(413, "Payload too large"), Refused, "Payload too large"),
        (error(422, "Bad"), Refused, "status 422: Bad. Plan another prompt, or mend what the server names"),
        (Fault("status", 422, {"detail": [{"msg": "Bad"}]}), Refused, 'status 422: [{"msg": "Bad"}]. Plan'),
        (error(429, "Request too large for m"), Refused, "Request too large for m. Plan a shorter prompt"),
        (EMPTY, Refused, "so there is no text. Retry the job; if it comes again"),
        (error(403, "Not yours"), BackendError, "correct MODEL_SERVER_KEY_LAB"),
        (error(404, "The model m does not exist"), BackendError, "does not exist. Correct the model's name"),
        (error(402, "Pay"), BackendError, "no credit"),
        (error(429, "Quota", code="insufficient_quota"), BackendError, "no credit"),
        (
            error(400, "Only 1", code="unsupported_value", param="temperature"),
            BackendError,
            "recipe: temperature",
        ),
        (error(307, location="http://elsewhere/"), BackendError, "MODEL_SERVERS"),
        (Fault("raw", body={"error": {"message": "No", "code": 400}}), Refused, "status 400: No"),
    ],
)
def test_what_waiting_does_not_help(server, load, time, fault, kind, words):
    server.faults.append(fault)
    message = raised(kind, ask(load(), "Hello?"))
    assert words in message
    assert message.startswith("The server lab (127.0.0.1:")
    assert (server.asked["Hello?"], time.slept) == (1, [])
