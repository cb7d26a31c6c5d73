"""What is sent to a server, and what is read from its answers."""

from __future__ import annotations

import gc

import pytest
from PIL import Image

from generation.backends.base import Question, Refused, Reply
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
    ("told", "kept"), [(2**31 - 1, 2**31 - 1), (2**31, None), (10**30, None), (-4, None), (True, None)]
)
def test_a_number_of_tokens_that_cannot_be_is_not_told(server, load, told, kept):
    choices = [{"message": {"content": "hi"}, "finish_reason": "stop"}]
    usage = {"prompt_tokens": told, "completion_tokens": told}
    server.faults.append(Fault("raw", body={"choices": choices, "usage": usage}))
    assert ask(load(), "Hello?") == Reply("hi", "stop", kept, kept)
