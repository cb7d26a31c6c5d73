"""What is sent to a server, and what is read from its answers."""

from __future__ import annotations

import gc

import pytest
from PIL import Image

from generation.backends import model_servers, openai_text
from generation.backends.base import BackendError, Question, Refused, Reply
from generation.backends.openai_text import ImageTextOptions, TextOptions
from generation.recipes.askings import DescriptionRecipe
from tests import coroutines
from tests.fake_openai import (
    Fault,
    choice,
    error,
)
from tests.generation.backends.servers.asking import KEY, ask, raised


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


def test_an_image_of_printed_colours_is_sent_as_rgb():
    assert openai_text._data_url(Image.new("CMYK", (8, 6)), "png").startswith("data:image/png;base64,")


def test_many_at_once(server, load):
    """None is answered before all were asked."""
    server.company = 150
    model = load()
    replies = ask(model, *(f"prompt {number}" for number in range(150)))
    assert [reply.text for reply in replies] == [f"You said: prompt {number}" for number in range(150)]
    assert set(server.asked.values()) == {1}
    assert model.in_flight == 64


@pytest.mark.filterwarnings("ignore:Unclosed:ResourceWarning")
@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")
def test_one_event_loop_after_another(server, load):
    """As workers have them: one for each slice of work."""
    model = load()
    asked = (coroutines.run(model.answer(Question(prompt, 1))) for prompt in "ab")
    assert [reply.text for reply in asked] == ["You said: a", "You said: b"]
    assert ask(model, "c").text == "You said: c"
    gc.collect()


@pytest.mark.parametrize(
    ("fault", "text", "reason"),
    [
        (choice("I was", "content_filter"), "I was", ""),
        (choice(None, "content_filter"), "", ""),
        (choice(None, refusal="I cannot help with that."), "I cannot help with that.", ""),
        (error(400, "The response was filtered", code="content_filter"), "", "The response was filtered"),
        (error(400, f"Rejected with {KEY}", code="content_policy_violation"), "", "Rejected with [key]"),
        (error(403, "Your input was flagged", code="x"), "", "Your input was flagged"),
        (
            Fault(
                "status",
                400,
                {"error": {"message": "no", "innererror": {"code": "ResponsibleAIPolicyViolation"}}},
            ),
            "",
            "no",
        ),
    ],
)
def test_a_filter_is_an_answer_with_its_reason(server, load, fault, text, reason):
    server.faults.append(fault)
    assert ask(load(), "Hello?") == Reply(text, "filter", reason=reason)
    assert server.asked["Hello?"] == 1


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


def test_what_was_learnt_of_a_server_is_not_forgotten_for_an_asking_that_was_under_way(server, load):
    model, found = load(), openai_text._Dialect("max_completion_tokens", seeds=False)
    for dialect in (found, openai_text._Dialect(), found):
        model._learn(dialect)
    assert model._dialect == found
    assert model.about.device.count("asked without seeds") == 1
    ask(model, "a")  # closes it


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
        {"type": "text", "text": "Hello "},
        {"type": "text", "text": "there"},
    ]
    server.faults += [
        choice(parts),
        choice(None),
        Fault("raw", body={"choices": [{"text": 5, "finish_reason": 7}]}),
    ]
    model = load()
    replies = [ask(model, "Hello?") for _ in range(3)]
    assert replies == [Reply("Hello there", "stop"), Reply("", "stop"), Reply("", "7")]


@pytest.mark.parametrize(
    ("told", "kept"),
    [(0, 0), (2**31 - 1, 2**31 - 1), (2**31, None), (10**30, None), (-4, None), (True, None)],
)
def test_a_number_of_tokens_that_cannot_be_is_not_told(server, load, told, kept):
    choices = [{"message": {"content": "hi"}, "finish_reason": "stop"}]
    usage = {"prompt_tokens": told, "completion_tokens": told}
    server.faults.append(Fault("raw", body={"choices": choices, "usage": usage}))
    assert ask(load(), "Hello?") == Reply("hi", "stop", kept, kept)


@pytest.mark.parametrize(
    ("told", "kept"),
    [
        ("eos", "stop"),
        ("end_turn", "stop"),
        ("max_tokens", "length"),
        ("content_filter", "filter"),
        ("tool_calls", "tool_calls"),
        (None, "unknown"),
        ("x" * 50, "x" * 30),
    ],
)
def test_endings_have_one_name_whatever_a_server_calls_them(told, kept):
    answer = {"choices": [{"message": {"content": "hi"}, "finish_reason": told}]}
    assert openai_text._read(answer, model_servers.configured({})["openai"]) == Reply("hi", kept)


@pytest.mark.parametrize(
    ("kind", "wrong", "cure"),
    [
        (TextOptions, {"in_flight": 0}, "in_flight: choose 1 to 1024"),
        (TextOptions, {"in_flight": 1025}, "in_flight: choose 1 to 1024"),
        (TextOptions, {"timeout": 0.5}, "timeout: choose 1 to 3600"),
        (TextOptions, {"timeout": 3601}, "timeout: choose 1 to 3600"),
        (ImageTextOptions, {"in_flight": 0}, "in_flight: choose 1 to 1024"),
        (ImageTextOptions, {"image_format": "gif"}, "image_format: choose png or jpeg"),
        (ImageTextOptions, {"detail": "most"}, "detail: choose low, high, auto or nothing"),
    ],
)
def test_an_option_that_no_server_takes_is_refused_with_the_cure(kind, wrong, cure):
    kind(in_flight=1024, timeout=3600).check()
    kind(in_flight=1, timeout=1).check()
    with pytest.raises(BackendError, match=cure):
        kind(**wrong).check()
