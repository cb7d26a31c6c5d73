"""Askings of a server that fails, stalls, limits and lies, without waiting: the clock is the test's own."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from email.utils import formatdate

import pytest
from PIL import Image

from generation import backends
from generation.backends import openai_server
from generation.backends.base import BackendError, ImageRequest, Question, Refused, Reply, ServerAway
from generation.backends.openai_server import MOST_FAILURES, Clock
from generation.recipes.askings import CompletionRecipe, DescriptionRecipe
from generation.recipes.recipes import ImageRecipe
from tests.fake_openai import (
    DROP,
    EMPTY,
    GARBAGE,
    HALF,
    HTML,
    STALL,
    FakeOpenAI,
    Fault,
    choice,
    error,
    limited,
    picture,
)

KEY = "sk-proj-very-secret-0123456789"
NOON = 1_790_000_000.0


@dataclass
class Time:
    """A clock that a sleep puts forward. `slept`: each pause."""

    now: float = 0.0

    def __post_init__(self):
        self.slept = []

    async def sleep(self, seconds):
        self.slept.append(seconds)
        self.now += seconds
        await asyncio.sleep(0)

    @property
    def clock(self):
        return Clock(lambda: self.now, lambda: NOON + self.now, self.sleep, lambda low, high: high)


@pytest.fixture
def server(monkeypatch):
    with FakeOpenAI(key=KEY) as started:
        monkeypatch.setenv("MODEL_SERVERS", f"lab={started.url}")
        monkeypatch.setenv("MODEL_SERVER_KEY_LAB", KEY)
        yield started


@pytest.fixture
def time():
    return Time()


@pytest.fixture
def load(time):
    def of(kind=CompletionRecipe, **changed):
        recipe = kind(backend="openai", server="lab", model="m", **changed)
        model = backends.load(recipe)
        model._connection._clock = time.clock
        return model

    return of


def ask(model, *prompts, image=None):
    async def all_at_once():
        try:
            asked = (model.answer(Question(prompt, 7, image)) for prompt in prompts)
            return await asyncio.gather(*asked, return_exceptions=True)
        finally:
            await model.close()

    replies = asyncio.run(all_at_once())
    return replies if len(prompts) != 1 else replies[0]


def raised(kind, outcome):
    assert isinstance(outcome, kind), outcome
    return str(outcome)


def test_what_is_sent(server, load):
    reply = ask(load(system="Be brief.", temperature=0.5, top_p=0.9, max_tokens=9, stop=("\n",)), "Hello?")
    assert reply == Reply("You said: Hello?", "stop", 1, 3)
    assert server.bodies == [
        {
            "model": "m",
            "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hello?"}],
            "temperature": 0.5,
            "top_p": 0.9,
            "max_tokens": 9,
            "stop": ["\n"],
            "seed": 7,
        }
    ]
    assert server.headers[-1]["authorization"] == f"Bearer {KEY}"


def test_a_continuation_and_more_fields(server, load):
    ask(load(chat=False, options={"body": {"top_k": 20}}), "(Mexican,")
    [sent] = server.bodies
    assert sent == {
        "model": "m",
        "prompt": "(Mexican,",
        "temperature": 0.5,
        "max_tokens": 100,
        "seed": 7,
        "top_k": 20,
    }
    assert server.paths["/v1/completions"] == 1


@pytest.mark.parametrize("form", ["png", "jpeg"])
def test_an_image_is_sent_with_its_pixels(server, load, form):
    import base64
    import io

    picture = Image.new("RGB", (8, 6), (200, 30, 60))
    ask(load(DescriptionRecipe, options={"image_format": form, "detail": "low"}), "Who?", image=picture)
    image, text = server.bodies[0]["messages"][0]["content"]
    assert text == {"type": "text", "text": "Who?"}
    assert image["image_url"]["detail"] == "low"
    head, _, data = image["image_url"]["url"].partition(",")
    assert head == f"data:image/{form};base64"
    seen = Image.open(io.BytesIO(base64.b64decode(data)))
    assert seen.size == (8, 6)
    assert form == "jpeg" or seen.tobytes() == picture.tobytes()


def test_many_at_once(server, load):
    server.delay = 0.01
    model = load()
    replies = ask(model, *(f"prompt {number}" for number in range(64)))
    assert [reply.text for reply in replies] == [f"You said: prompt {number}" for number in range(64)]
    assert set(server.asked.values()) == {1}
    assert server.most_in_flight > 32
    assert model.in_flight == 64


def test_one_event_loop_after_another(server, load):
    """As workers have them: one for each slice of work."""
    model = load()
    assert [ask(model, "a").text, ask(model, "b").text] == ["You said: a", "You said: b"]


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

    assert max(asyncio.run(one_after_another())) >= 50


def test_a_server_that_limits_for_hours_is_away_at_once(server, load, time):
    server.faults.append(limited("7200"))
    assert "asks to wait 7200 s" in raised(ServerAway, ask(load(), "Hello?"))
    assert time.slept == []


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

    assert "CUDA error (after" in raised(Refused, asyncio.run(beside_others()))
    assert MOST_FAILURES <= server.asked["bad"] <= MOST_FAILURES + 2


def test_no_answer_in_time(server, load, time):
    model = load(options={"timeout": 1})
    model._connection._timeout = 0.05
    server.faults.append(STALL)
    assert ask(model, "Hello?").text == "You said: Hello?"


@pytest.mark.parametrize(
    ("fault", "text"),
    [
        (choice("I was", "content_filter"), "I was"),
        (choice(None, "content_filter"), ""),
        (choice(None, refusal="I cannot help with that."), "I cannot help with that."),
        (error(400, "The response was filtered", code="content_filter"), ""),
        (error(400, "Rejected", code="content_policy_violation"), ""),
        (error(403, "Your input was flagged", code="x"), ""),
        (
            Fault(
                "status",
                400,
                {"error": {"message": "no", "innererror": {"code": "ResponsibleAIPolicyViolation"}}},
            ),
            "",
        ),
    ],
)
def test_a_filter_is_an_answer(server, load, fault, text):
    server.faults.append(fault)
    assert ask(load(), "Hello?") == Reply(text, "filter")
    assert server.asked["Hello?"] == 1


@pytest.mark.parametrize(
    ("fault", "kind", "words"),
    [
        (error(400, "Maximum context length is 10"), Refused, "Maximum context length"),
        (error(400, "Too large: context length", param="max_tokens"), Refused, "context length"),
        (error(413, "Payload too large"), Refused, "Payload too large"),
        (error(422, "Bad"), Refused, "status 422: Bad"),
        (error(429, "Request too large for m"), Refused, "Request too large"),
        (EMPTY, Refused, "without any choice"),
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
    assert words in raised(kind, ask(load(), "Hello?"))
    assert (server.asked["Hello?"], time.slept) == (1, [])


def test_a_model_that_wants_another_name_for_max_tokens_is_asked_so_from_then_on(server, load):
    message = (
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens'."
    )
    refusal = error(400, message, code="unsupported_parameter", param="max_tokens")
    server.judge = lambda body: refusal if "max_tokens" in body else None
    model = load()
    assert ask(model, "a").text == "You said: a"
    assert ask(model, "b", "c")[0].text == "You said: b"
    assert server.asked == {"a": 2, "b": 1, "c": 1}
    assert server.bodies[-1]["max_completion_tokens"] == 100


@pytest.mark.parametrize(
    "refusal",
    [
        error(400, "Unknown parameter: 'seed'.", code="unknown_parameter", param="seed"),
        Fault(
            "status", 422, {"detail": [{"loc": ["body", "seed"], "msg": "Extra inputs are not permitted"}]}
        ),
    ],
)
def test_a_server_that_refuses_seeds_is_asked_without_and_that_is_recorded(server, load, refusal):
    server.judge = lambda body: refusal if "seed" in body else None
    model = load()
    assert ask(model, "a").text == "You said: a"
    assert ask(model, "b").text == "You said: b"
    assert server.asked == {"a": 2, "b": 1}
    assert model.about.device.endswith("asked without seeds, which it refused")


def test_a_refusal_that_only_mentions_seeds_changes_nothing(server, load):
    server.judge = lambda body: error(400, "The prompt 'seed' is not supported.")
    model = load()
    assert "not supported" in raised(Refused, ask(model, "seed"))
    assert "seed" not in model.about.device
    server.judge = lambda body: None
    ask(model, "again")
    assert server.bodies[-1]["seed"] == 7


def test_an_answer_of_a_million_letters_is_whole(server, load):
    server.faults.append(choice("ä" * 1_000_000, "length"))
    reply = ask(load(), "Hello?")
    assert (len(reply.text), reply.ended) == (1_000_000, "length")


def test_odd_answers(server, load):
    parts = [
        {"type": "thinking", "thinking": "hm"},
        {"type": "text", "text": "Hel"},
        {"type": "text", "text": "lo"},
    ]
    server.faults += [
        choice(parts),
        choice(None),
        Fault("raw", body={"choices": [{"text": 5, "finish_reason": 7}]}),
    ]
    model = load()
    replies = [ask(model, "Hello?") for _ in range(3)]
    assert replies == [Reply("Hello", "stop"), Reply("", "stop"), Reply("", "7")]


class TestFirstRequest:
    def test_a_wrong_key(self, server, load, monkeypatch):
        monkeypatch.setenv("MODEL_SERVER_KEY_LAB", "sk-proj-another-secret-987654")
        with pytest.raises(
            BackendError, match=r"lab \(127.*correct MODEL_SERVER_KEY_LAB, and restart"
        ) as told:
            load()
        assert "another-secret" not in str(told.value)

    def test_no_key(self, server, load, monkeypatch):
        monkeypatch.delenv("MODEL_SERVER_KEY_LAB")
        with pytest.raises(BackendError, match="needs a key: set MODEL_SERVER_KEY_LAB"):
            load()

    def test_nobody_there(self, load, monkeypatch):
        monkeypatch.setenv("MODEL_SERVERS", "lab=http://127.0.0.1:9/v1")
        with pytest.raises(BackendError, match=r"lab \(127.0.0.1:9\) cannot be reached .*MODEL_SERVERS"):
            load()

    def test_a_web_page(self, server, load):
        server.first_fault = HTML
        with pytest.raises(BackendError, match=r"text/html that is not the JSON.*correct its URL"):
            load()

    @pytest.mark.parametrize("fault", [error(404), error(429), error(503, "Loading model")])
    def test_no_list_or_not_yet(self, server, load, fault):
        server.first_fault = fault
        assert ask(load(), "Hello?").text == "You said: Hello?"

    def test_a_model_that_is_not_listed(self, server, load):
        server.models = ["llama3:latest", "m2"]
        with pytest.raises(BackendError, match=r"no model 'm'\. It serves: llama3:latest, m2\."):
            load()
        load(options={"unlisted": True})
        server.models = ["m:latest"]
        load()

    def test_deployments_of_azure_are_not_listed(self, server, load, monkeypatch):
        server.models = ["gpt-x"]
        monkeypatch.setattr(openai_server, "_HIDING", ("127.0.0.1",))
        load()


def test_what_is_meant_for_openai_goes_to_no_other_server(server, load, monkeypatch):
    server.key = ""
    monkeypatch.delenv("MODEL_SERVER_KEY_LAB")
    for name, value in {
        "OPENAI_API_KEY": KEY,
        "OPENAI_ADMIN_KEY": KEY,
        "OPENAI_ORG_ID": "org-secret",
        "OPENAI_PROJECT_ID": "proj-secret",
        "OPENAI_CUSTOM_HEADERS": f"x-gateway-key: {KEY}\nAuthorization: Bearer {KEY}",
    }.items():
        monkeypatch.setenv(name, value)
    ask(load(), "Hello?")
    sent = str(server.headers)
    assert len(server.headers) == 2
    assert "secret" not in sent
    assert "authorization" not in sent


def test_a_key_is_in_no_log_record_or_error(server, load, caplog):
    caplog.set_level(logging.DEBUG)
    model = load()
    outcomes = [model, model.about, model._server, model._connection]
    for fault in (
        error(400, f"Bad request with {KEY} and Bearer abcdefgh, sk-other-0123456789"),
        error(401, f"Incorrect API key provided: {KEY}"),
        error(500, KEY),
        Fault("raw", body=f"<p>{KEY}", headers={"content-type": "text/html"}),
    ):
        server.always["Hello?"] = fault
        outcomes.append(ask(model, "Hello?"))
    for one in outcomes:
        chain = [one, getattr(one, "__cause__", None), getattr(one, "__context__", None)]
        assert not [each for each in chain[1:] if each is not None], one
        assert KEY not in f"{one!r} {one}"
    assert "sk-other" not in str(outcomes)
    assert "abcdefgh" not in str(outcomes)
    logged = caplog.text + "".join(str(vars(record)) for record in caplog.records)
    assert logged.count("openai")
    assert KEY not in logged


@pytest.mark.parametrize(
    ("kind", "changed", "message"),
    [
        (
            CompletionRecipe,
            {"server": "other"},
            "server: there is no server 'other'. There are: lab, openai.",
        ),
        (CompletionRecipe, {"model": " "}, "model: name the model as the server calls it"),
        (CompletionRecipe, {"options": {"timeot": 3}}, "no 'timeot'. Did you mean 'timeout'?"),
        (CompletionRecipe, {"options": {"timeout": 0}}, "options.timeout: choose 1 to 3600"),
        (CompletionRecipe, {"options": {"in_flight": 1.5}}, "options.in_flight: 1.5 is not a whole number"),
        (CompletionRecipe, {"options": {"unlisted": 1}}, "options.unlisted: 1 is not a yes or no"),
        (CompletionRecipe, {"options": {"body": {"seed": 1}}}, "options.body: seed cannot be set here"),
        (CompletionRecipe, {"repeatable": True}, "repeatable: a server does not promise"),
        (CompletionRecipe, {"revision": "v1"}, "revision: a server chooses"),
        (DescriptionRecipe, {"chat": False}, "chat: a server takes images in messages only"),
        (DescriptionRecipe, {"options": {"detail": "x"}}, "options.detail: choose low, high, auto"),
        (ImageRecipe, {"steps": 20}, "steps: a server takes no number of steps"),
        (ImageRecipe, {"negative_prompt": "x"}, "negative_prompt: a server takes no"),
        (ImageRecipe, {"model": ImageRecipe.model}, "model: name the model"),
    ],
)
def test_planning_refuses_what_no_server_can_do_and_asks_none(server, kind, changed, message):
    recipe = kind(**{"backend": "openai", "server": "lab", "model": "m", **changed})
    with pytest.raises(BackendError) as refused:
        backends.check(recipe)
    assert message in str(refused.value)
    assert not server.paths


class TestImages:
    @pytest.fixture
    def generate(self, server, load):
        def made(**changed):
            model = load(ImageRecipe, **{"width": 64, "height": 48, **changed})

            async def one():
                try:
                    return await model.generate(ImageRequest("a person", 5))
                finally:
                    await model.close()

            return asyncio.run(one())

        return made

    def test_one_image_of_the_size(self, server, generate):
        image = generate(steps=None, guidance=None)
        assert (image.pixels.size, image.pixels.mode, image.flagged) == ((64, 48), "RGB", None)
        assert server.bodies == [
            {"model": "m", "prompt": "a person", "n": 1, "size": "64x48", "response_format": "b64_json"}
        ]

    def test_a_model_that_always_sends_the_image_itself(self, server, generate):
        refusal = error(
            400, "Unknown parameter: 'response_format'.", param="response_format", code="unknown_parameter"
        )
        server.judge = lambda body: refusal if "response_format" in body else None
        assert generate().pixels.size == (64, 48)

    @pytest.mark.parametrize(
        ("fault", "kind", "words"),
        [
            (
                error(400, "Safety system", code="moderation_blocked"),
                Refused,
                "filter refused this prompt: Safety",
            ),
            (error(400, "Size must be 1024x1024", param="size"), BackendError, "recipe: size"),
            (Fault("raw", body={"data": []}), Refused, "without an image"),
            (
                Fault("raw", body={"data": [{"url": "http://169.254.169.254/x"}]}),
                BackendError,
                "addresses of images",
            ),
            (Fault("raw", body={"data": [{"b64_json": "aGFsbG8="}]}), Refused, "no image"),
        ],
    )
    def test_refusals(self, server, generate, fault, kind, words):
        server.faults.append(fault)
        with pytest.raises(kind, match=words):
            generate()
        assert server.asked["a person"] == 1

    def test_another_size_than_asked_for(self, server, generate):
        server.faults.append(Fault("raw", body={"data": [{"b64_json": picture("8x8")}]}))
        with pytest.raises(BackendError, match="made an image of 8x8 when asked for 64x48"):
            generate()
