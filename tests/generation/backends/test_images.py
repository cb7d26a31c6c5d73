"""What every backend of pictures promises: the fake's drawings and pipelines of five families."""

from collections import Counter
from io import BytesIO

import pytest
from PIL import Image

from generation import backends
from generation.backends.base import ImageRequest
from generation.recipes.recipes import ImageRecipe

pytestmark = [
    pytest.mark.filterwarnings("ignore:::(diffusers|transformers|torch|huggingface_hub)"),
]
REAL = ("stable_diffusion", "stable_diffusion_2", "stable_diffusion_xl", "stable_diffusion_3", "flux")
WANTED = [
    ImageRequest("a photo of an Indian person", 1),
    ImageRequest("a portrait of a Ukrainian person", 2**63 - 1),
    ImageRequest("an Indian person", 1),
    ImageRequest("a photo of an Indian person", 2),
    ImageRequest("", 5),
]


@pytest.fixture(params=["fake", *REAL], scope="module")
def recipe_of(request, tmp_path_factory):
    """Makes recipes for one backend, with what a test changes."""

    def make(**changed):
        given = {"width": 64, "height": 64, "steps": 2, "safety": "off"} | changed
        if request.param == "fake":
            return ImageRecipe(backend="fake", **given)
        tiny_models = request.getfixturevalue("tiny_models")
        return ImageRecipe(model=str(getattr(tiny_models, request.param)), **given)

    return make


@pytest.fixture(scope="module")
def model(recipe_of):
    return backends.load(recipe_of(), device="cpu")


@pytest.fixture(scope="module")
def alone(model):
    """The files of WANTED, each picture made by itself."""
    return [pngs(model, [one])[0] for one in WANTED]


def png(picture):
    written = BytesIO()
    picture.pixels.save(written, "PNG")
    return written.getvalue()


def pngs(model, wanted):
    return [png(picture) for picture in model.generate(wanted)]


def test_the_prompt_and_the_seed_decide_the_picture(alone):
    assert len(set(alone)) == len(WANTED)
    first = Image.open(BytesIO(alone[0]))
    assert max(Counter(first.tobytes()).values()) < 64 * 64  # not one colour


def test_a_picture_has_the_same_bytes_alone_and_in_company(model, alone):
    assert pngs(model, [WANTED[1], *WANTED[::-1], WANTED[1]]) == [alone[1], *alone[::-1], alone[1]]


def test_a_model_that_is_loaded_again_and_whose_batch_is_lowered_makes_the_same_pictures(recipe_of, alone):
    again = backends.load(recipe_of(), device="cpu")
    assert pngs(again, WANTED[:1]) == alone[:1]
    again.batch = 1
    assert again.batch == 1
    assert pngs(again, WANTED[1::-1]) == alone[1::-1]


@pytest.mark.parametrize("changed", [{"steps": 3}, {"guidance": 1.5}])
def test_the_fakes_recipe_decides_too(changed):
    """That of real models does in test_images_from_images.py, to the byte."""
    asked = {"backend": "fake", "width": 64, "height": 64}
    plain, other = (backends.load(ImageRecipe(**asked, **more), device="cpu") for more in ({}, changed))
    assert pngs(plain, WANTED[:1]) != pngs(other, WANTED[:1])


def test_nothing_wanted_is_nothing_made(model):
    assert model.generate([]) == []


def test_pictures_have_the_size_asked_for_and_steps_and_guidance_may_be_left_to_the_model(recipe_of):
    model = backends.load(recipe_of(width=96, height=64, steps=None, guidance=None), device="cpu")
    pipeline = getattr(model, "_pipeline", None)
    if pipeline is not None:  # which would go 28 to 50 steps: it leaves out all after the first
        denoiser = getattr(pipeline, "unet", None) or pipeline.transformer
        denoiser.register_forward_hook(lambda *_: setattr(pipeline, "_interrupt", True))
    pictures = model.generate(WANTED[:2])
    assert [picture.pixels.size for picture in pictures] == [(96, 64)] * 2
    assert {picture.pixels.mode for picture in pictures} == {"RGB"}
    assert pipeline is None or pipeline.num_timesteps >= 28


def test_a_model_tells_what_a_repetition_needs(model):
    about = model.about
    assert about.model
    assert about.revision
    assert "cpu" in about.device
    assert "pillow" in about.libraries
    assert all(about.libraries.values())


def test_a_safety_checker_that_was_not_asked_gives_no_verdict(model):
    assert [picture.flagged for picture in model.generate(WANTED[:2])] == [None] * 2
