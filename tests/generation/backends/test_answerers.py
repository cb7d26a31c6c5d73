"""What every model that answers keeps: fakes, tiny models of the real classes, and those on a server."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from generation import backends
from generation.backends.base import BackendError, OutOfMemory, Question, Refused, RemoteAnswerer
from generation.recipes.askings import CompletionRecipe, DescriptionRecipe
from tests import coroutines
from tests.fake_openai import FakeOpenAI, prompt_of
from tests.generation.backends import tiny_askings

pytestmark = pytest.mark.filterwarnings("ignore:::(transformers|torch|huggingface_hub)")

REAL = ("llama", "gpt2", "llava", "blip_vqa")
FAKE = ("complete_fake", "describe_fake")
REMOTE = ("complete_server", "describe_server")
ALL = (*FAKE, *REAL, *REMOTE)
MAKERS = {
    "llama": tiny_askings.llama,
    "gpt2": tiny_askings.gpt2,
    "llava": tiny_askings.llava,
    "llava_without_chat": lambda folder: tiny_askings.llava(folder, template=None),
    "blip_vqa": tiny_askings.blip_vqa,
    "no_system": lambda folder: tiny_askings.llama(folder, template=tiny_askings.NO_SYSTEM),
}


@pytest.fixture(scope="session")
def folder(tiny_models):
    def made(name):
        there = tiny_models.root / name
        return there if there.is_dir() else MAKERS[name](there)

    return made


@pytest.fixture(scope="module")
def server():
    """Its answers depend on all that it is sent."""
    with FakeOpenAI(reply=lambda body: f"{prompt_of(body)} {hash(str(sorted(body.items())))}") as started:
        yield started


@pytest.fixture
def recipe(request, monkeypatch):
    def of(name, **changed):
        given = {"max_tokens": 12, "temperature": 1.0, **changed}
        if name in FAKE:
            kind = CompletionRecipe if name == "complete_fake" else DescriptionRecipe
            return kind(backend="fake", **given)
        if name in REMOTE:
            monkeypatch.setenv("MODEL_SERVERS", f"here={request.getfixturevalue('server').url}")
            kind = CompletionRecipe if name == "complete_server" else DescriptionRecipe
            return kind(backend="openai", server="here", model="m", **given)
        model = str(request.getfixturevalue("folder")(name))
        if name in ("llama", "gpt2", "no_system"):
            return CompletionRecipe(
                backend="transformers", model=model, **{"chat": name != "gpt2", "dtype": "float32", **given}
            )
        return DescriptionRecipe(
            backend="blip" if name == "blip_vqa" else "transformers",
            model=model,
            **{"chat": name != "llava_without_chat", "dtype": "float32", **given},
        )

    return of


@pytest.fixture
def load(recipe):
    return lambda name, **changed: backends.load(recipe(name, **changed), device="cpu")


@pytest.fixture(scope="module")
def memo():
    return {}


@pytest.fixture
def loaded(load, memo):
    """Each is loaded once for the tests that change nothing about it."""
    return lambda name: memo.get(name) or memo.setdefault(name, load(name))


def ask(model, questions):
    """The replies of a local model, or of one on a server."""
    if not hasattr(model, "in_flight"):
        return model.answer(questions)

    async def all_at_once(remote: RemoteAnswerer):
        try:
            return await asyncio.gather(*(remote.answer(question) for question in questions))
        finally:
            await remote.close()

    return coroutines.run(all_at_once(model))


def questions(count=3, seed=1):
    """Of different lengths, about different images."""
    random = np.random.default_rng(5)
    noise = [random.integers(0, 100, (48, 40, 3)) + 50 * (number % 4) for number in range(count)]
    pictures = [Image.fromarray(each.astype(np.uint8)) for each in noise]
    words = ["a man in a hat", "a photo of a woman in the street", "the sari"]
    return [Question(words[n % 3], seed + n, picture) for n, picture in enumerate(pictures)]


@pytest.mark.parametrize("name", ALL)
class TestContract:
    def test_one_reply_for_each_question_in_order(self, loaded, name):
        model = loaded(name)
        replies = ask(model, questions())
        assert len(replies) == 3
        assert len({reply.text for reply in replies}) == 3
        assert ask(model, questions()[::-1]) == replies[::-1]
        assert ask(model, []) == []

    def test_the_same_alone_and_when_loaded_again(self, load, loaded, name):
        replies = ask(load(name), questions())
        assert [ask(loaded(name), [one])[0] for one in questions()] == replies

    def test_it_says_why_it_ended_and_counts_tokens(self, loaded, name):
        for reply in ask(loaded(name), questions()):
            assert reply.ended in ("stop", "length")
            assert reply.tokens_in > 0
            assert reply.tokens_out > 0
            if name not in REMOTE:
                assert reply.tokens_out <= 12

    def test_another_seed_and_another_prompt_change_the_answer(self, loaded, name):
        [asked] = questions(1)
        first, *others = ask(loaded(name), [replace(asked, seed=seed) for seed in range(4)])
        assert set(others) != {first}
        assert ask(loaded(name), [replace(asked, seed=0, prompt="the street")]) != [first]

    def test_it_says_what_it_is(self, loaded, recipe, name):
        about = loaded(name).about
        if name in FAKE:
            assert about.model == "fake"
        else:
            assert about.model == recipe(name).model
        if name in REMOTE:
            assert about.device.startswith("here (127.0.0.1:")
            assert about.libraries.keys() == {"openai"}
            assert about.revision == ""

    def test_unknown_options_are_refused_with_the_known(self, recipe, name):
        with pytest.raises(BackendError, match=r"options: there is no 'bies'"):
            backends.check(recipe(name, options={"bies": 1}))


@pytest.mark.parametrize("name", ["describe_fake", "llava", "blip_vqa", "describe_server"])
class TestImages:
    def test_an_image_of_a_description_decides_with(self, loaded, name):
        one, other = questions(2)
        asked = [one, replace(one, image=other.image), replace(one, image=one.image.convert("L"))]
        replies = ask(loaded(name), asked)
        assert replies[0] != replies[1]
        assert len(replies) == 3
        with pytest.raises(BackendError, match="needs an image"):
            ask(loaded(name), [replace(one, image=None)])


@pytest.mark.parametrize("name", [*REAL, *FAKE])
class TestLocal:
    def test_temperature_0_needs_no_seed(self, load, name):
        model = load(name, temperature=0.0)
        one, other = ask(model, questions(1, seed=1)), ask(model, questions(1, seed=2))
        assert one == other

    def test_a_stop_text_ends_the_answer_and_is_no_part_of_it(self, load, loaded, name):
        [whole] = ask(loaded(name), questions(1))
        stop = whole.text[len(whole.text) // 2 :][:1]
        [cut] = ask(load(name, stop=("never written", stop)), questions(1))
        assert cut.text == whole.text[: whole.text.index(stop)]
        assert cut.ended == "stop"
        assert cut.tokens_out <= whole.tokens_out

    def test_no_longer_than_asked(self, load, name):
        [reply] = ask(load(name, max_tokens=1), questions(1))
        assert (reply.tokens_out, reply.ended) == (1, "length")


@pytest.mark.parametrize("name", REAL)
class TestReal:
    def test_a_batch_changes_no_letter(self, loaded, name, monkeypatch):
        """On a device of more room, with prompts of other lengths beside it. As on a GPU with a recipe that
        need not repeat, prompts are padded in the end: the answers are the same but for rounding."""
        model, many = loaded(name), questions(5)
        alone = [reply.text for reply in ask(model, many)]
        monkeypatch.setattr(model, "batch", 4)
        assert model.about.device.endswith("4 at a time")
        together = ask(model, many)
        assert ask(model, many[3:]) == together[3:]
        assert [reply.text for reply in together] == alone
        monkeypatch.setattr(model, "full", False)
        assert [reply.text for reply in ask(model, many[:4])] == alone[:4]

    def test_memory_that_runs_out_halves_the_batch(self, loaded, name, monkeypatch):
        import torch

        model = loaded(name)
        monkeypatch.setattr(model, "batch", 2)

        def full(*args, **given):
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB")

        monkeypatch.setattr(model._model, "write", full)
        with pytest.raises(OutOfMemory, match="Tried to allocate"):
            ask(model, questions())
        assert model.batch == 1

    def test_a_prompt_that_is_too_long_is_refused(self, loaded, name):
        with pytest.raises(Refused, match=r"has \d+ tokens.*max_tokens.*Shorten"):
            ask(loaded(name), [replace(questions(1)[0], prompt="a man " * 200)])

    def test_numbers_that_overflow(self, load, name, monkeypatch):
        model = load(name)
        for part in model._model._model.parameters():
            part.data.fill_(float("nan"))
        with pytest.raises(BackendError, match=r"NaN\. Choose dtype float32 or bfloat16"):
            ask(model, questions(1))

    def test_half_precision(self, load, name):
        assert ask(load(name, dtype="bfloat16"), questions(1))[0].tokens_out > 0

    def test_a_model_that_is_not_there(self, recipe, name, tmp_path):
        with pytest.raises(BackendError, match="There is no folder"):
            backends.load(replace(recipe(name), model=str(tmp_path / "none")))


def test_a_continuation_keeps_the_space_before_its_first_word(load, monkeypatch):
    """Its text is what follows the prompt, letter by letter."""
    model = load("gpt2")
    tokenizer = model._model.tokenizer
    ids = tokenizer(" tacos)").input_ids
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(model._model, "write", lambda prompts, settings: torch.tensor([ids]))
    monkeypatch.setattr("generation.backends.sampling.Picker.likelihoods", lambda self: [0.0])
    assert ask(model, [Question("(Mexican,", 0)])[0].text == " tacos)"


@pytest.mark.parametrize(
    ("name", "changed", "message"),
    [
        ("gpt2", {"chat": True}, "has no chat template.*without chat, or a model that was tuned"),
        ("llava_without_chat", {"chat": True}, "has no chat template"),
        ("no_system", {"system": "Be brief."}, r"refuses this \(.*No system here.*Leave system empty"),
        ("blip_vqa", {"system": "Be brief."}, "system: BLIP knows no system message"),
        ("blip_vqa", {"chat": False}, "chat: BLIP answers questions"),
        ("llama", {"server": "here"}, "server: only the backend openai"),
    ],
)
def test_what_a_model_cannot_do_is_one_error_with_the_cure(load, name, changed, message):
    with pytest.raises(BackendError, match=message):
        load(name, **changed)


def test_a_model_without_chat_sees_the_image_before_the_prompt(load):
    model = load("llava_without_chat")
    [asked] = questions(1)
    assert model._model.text_of("a man") == "<image>a man"
    assert model._model.text_of("a <image> man") == "a <image> man"
    assert ask(model, [asked])[0].tokens_out > 0


def test_a_system_message_changes_the_answer(load):
    plain, told = (ask(load("llama", system=system), questions(1)) for system in ("", "Be brief."))
    assert plain != told


def test_what_the_model_itself_sets_does_not_apply(load, folder):
    """The tiny Llama's own configuration asks for a repetition penalty."""
    model = load("llama", temperature=0.0, max_tokens=40)
    assert "repetition_penalty" in (folder("llama") / "generation_config.json").read_text()
    assert model._model._model.generation_config.repetition_penalty in (None, 1.0)
