"""The options of captions recipes: unknown names and unfit values are refused before anything is loaded."""

import pytest

from generation import backends
from generation.backends.base import BackendError
from generation.backends.sampling import Sampling
from generation.plans import services as plans
from generation.plans.errors import PlanRefused
from generation.recipes.recipes import CaptionRecipe
from tests import factories

NEEDED = {"visage": {"ngrams": "/data/ngrams"}, "coca": {}, "blip": {}}


def refusal(backend, *, count=50, model="folder", revision="", **options):
    asked = CaptionRecipe(
        backend=backend,
        model=model,
        revision=revision,
        count=count,
        options={**NEEDED[backend], **options},
    )
    with pytest.raises(BackendError) as refused:
        backends.check(asked)
    return str(refused.value)


@pytest.mark.parametrize("backend", NEEDED)
class TestEvery:
    def test_the_defaults_are_good(self, backend):
        backends.check(CaptionRecipe(backend=backend, model="folder", options=NEEDED[backend]))

    def test_an_unknown_name(self, backend):
        told = refusal(backend, max_token=1)
        assert "there is no 'max_token'. Did you mean 'max_tokens'?" in told
        assert "temperature" in told

    @pytest.mark.parametrize(
        ("given", "told"),
        [
            ({"method": "beam"}, "options.method: choose one of greedy, top_k, top_p."),
            ({"method": "greedy"}, "greedy writes one caption per image, and count is 50"),
            ({"method": 3}, "options.method: 3 is not a text"),
            ({"top_k": 0}, "options.top_k: choose 1 to 1000"),
            ({"top_k": 1001}, "options.top_k: choose 1 to 1000"),
            ({"top_k": "many"}, "options.top_k: 'many' is not a whole number"),
            ({"top_k": 2.5}, "options.top_k: 2.5 is not a whole number"),
            ({"top_k": True}, "options.top_k: True is not a whole number"),
            ({"top_p": 0}, "options.top_p: choose more than 0"),
            ({"top_p": 1.01}, "options.top_p: choose more than 0"),
            ({"top_p": None}, "options.top_p: None is not a number"),
            ({"temperature": 0}, "options.temperature: choose more than 0"),
            ({"temperature": float("nan")}, "options.temperature: choose more than 0"),
            ({"temperature": 10.1}, "options.temperature: choose more than 0 and at most 10"),
            ({"max_tokens": 1}, "options.max_tokens: choose 2 to 500"),
            ({"max_tokens": 501}, "options.max_tokens: choose 2 to 500"),
            ({"candidates": 49}, "options.candidates: choose 50 (the number of captions) to 10000"),
            ({"candidates": 10_001}, "options.candidates"),
        ],
    )
    def test_unfit_values(self, backend, given, told):
        assert told in refusal(backend, **given)

    @pytest.mark.parametrize(
        "given",
        [
            {"top_p": 1, "top_k": 1, "temperature": 10, "max_tokens": 2, "candidates": 50},
            {"top_k": 1000, "temperature": 2, "max_tokens": 500, "candidates": 10_000},
        ],
    )
    def test_whole_numbers_are_numbers_and_the_ends_of_a_range_belong_to_it(self, backend, given):
        asked = {**NEEDED[backend], **given}
        backends.check(CaptionRecipe(backend=backend, model="folder", options=asked))

    def test_loading_checks_them_too(self, backend):
        asked = CaptionRecipe(backend=backend, model="folder", options={"nothing": 1})
        with pytest.raises(BackendError, match="there is no 'nothing'"):
            backends.load(asked)


@pytest.mark.parametrize(
    ("chosen", "number"), [({}, 12), ({"candidates": 5}, 5), ({"method": "greedy", "candidates": 5}, 1)]
)
def test_four_candidates_are_sampled_for_each_caption_unless_something_else_is_chosen(chosen, number):
    assert Sampling(**chosen).candidates_per_round(3) == number


class TestVisage:
    def test_no_ngrams(self):
        assert "options.ngrams: name the folder of an n-gram cache" in refusal("visage", ngrams="")

    @pytest.mark.parametrize("top", [0, 101])
    def test_too_few_or_many_ngrams(self, top):
        assert "options.top_ngrams: choose 1 to 100" in refusal("visage", top_ngrams=top)

    def test_ngrams_that_run_together(self):
        assert "options.separator" in refusal("visage", separator="")

    def test_no_bart(self):
        assert "recipe: model: name what writes the captions" in refusal("visage", model="")

    def test_a_checkpoint_of_no_bart(self):
        assert "options.base: name the BART" in refusal("visage", model="/data/x.ckpt", base="")


def test_a_revision_that_coca_would_not_read():
    assert "options.pretrained names the weights of CoCa" in refusal("coca", revision="main")


def test_options_of_another_backend():
    assert "there is no 'ngrams'" in refusal("coca", ngrams="/data/ngrams")
    assert "there is no 'prompt'" in refusal("coca", prompt="a photo of")


@pytest.mark.django_db
def test_a_plan_that_could_not_run_is_refused(settings, tmp_path):
    """A run's recipe cannot be mended: it is looked at before there is a run."""
    settings.MEDIA_ROOT = tmp_path
    shown = factories.image_set()
    factories.image(image_set=shown)
    asked = CaptionRecipe(backend="blip", options={"beams": 3})
    with pytest.raises(PlanRefused, match="there is no 'beams'"):
        plans.plan_captions_or_embeddings(recipe=asked, image_set=shown)


def test_the_fake_one_takes_any():
    backends.check(CaptionRecipe(backend="fake", options={"ngrams": "/data/ngrams"}))


def test_no_such_backend():
    with pytest.raises(BackendError, match="no backend 'gpt' for captions"):
        backends.check(CaptionRecipe(backend="gpt"))
