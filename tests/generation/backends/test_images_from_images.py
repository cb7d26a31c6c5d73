"""Images from initial images: tiny models of the real classes, and the fake."""

from __future__ import annotations

from io import BytesIO

import numpy as np
import pytest
from PIL import Image, ImageDraw

from generation import backends
from generation.backends import pipelines
from generation.backends.base import BackendError, ImageRequest
from generation.backends.torch_support import import_library
from generation.core.initial_images import fitted
from generation.recipes.recipes import ImageRecipe
from tests.generation.backends.test_images import png, pngs

pytestmark = [
    pytest.mark.filterwarnings("ignore:::(diffusers|transformers|torch|huggingface_hub)"),
]
REAL = ("stable_diffusion", "stable_diffusion_2", "stable_diffusion_xl", "stable_diffusion_3", "flux")
STRENGTHS = (0.2, 0.5, 1.0)


def photograph(shift: int = 0) -> Image.Image:
    """Bright, with a dark disc."""
    picture = Image.new("RGB", (64, 64), (230, 200, 170))
    ImageDraw.Draw(picture).ellipse((10 + shift, 10, 40 + shift, 50), fill=(70, 50, 40))
    return picture


FIRST, SECOND = photograph(), photograph(14)
WANTED = [
    ImageRequest("an American person", seed, initial, strength)
    for seed, initial in ((1, FIRST), (2**63 - 1, SECOND))
    for strength in STRENGTHS
]


def recipe(**changed) -> ImageRecipe:
    # numbers that no pipeline takes by itself
    given = {"width": 64, "height": 64, "steps": 5, "guidance": 3.0, "safety": "off"}
    series = {"prompt_sets": ("from_images",), "initial": "faces", "strengths": STRENGTHS}
    return ImageRecipe(**{**given, **series, **changed})


@pytest.fixture(params=["fake", *REAL], scope="module")
def name(request):
    return request.param


@pytest.fixture(scope="module")
def model(request, name):
    """Each backend with a model that begins with images."""
    if name == "fake":
        return backends.load(recipe(backend="fake"), device="cpu")
    tiny = request.getfixturevalue("tiny_models")
    return backends.load(recipe(model=str(getattr(tiny, name))), device="cpu")


@pytest.fixture(scope="module")
def alone(model):
    """The files of WANTED, each picture made by itself."""
    return [pngs(model, [one])[0] for one in WANTED]


def distance(first: Image.Image, second: Image.Image) -> float:
    """Mean absolute difference of the levels."""
    return float(np.abs(np.asarray(first, float) - np.asarray(second, float)).mean())


def test_a_picture_has_the_same_bytes_alone_and_among_other_strengths(model, alone):
    assert len(set(alone)) == len(WANTED)
    assert pngs(model, WANTED[::-1]) == alone[::-1]


def test_the_initial_image_decides_the_picture_below_full_strength(model, alone):
    other = ImageRequest(WANTED[0].prompt, WANTED[0].seed, SECOND, WANTED[0].strength)
    assert alone[:1] != pngs(model, [other])


def test_the_fakes_brightness_goes_straight_from_the_image_to_the_drawing():
    fake = backends.load(recipe(backend="fake"), device="cpu")
    made = [np.asarray(each.pixels, float).mean() for each in fake.generate(WANTED[:3])]
    [drawn] = backends.load(recipe(backend="fake"), device="cpu").generate(
        [ImageRequest(WANTED[0].prompt, WANTED[0].seed)]
    )
    ends = np.asarray(FIRST, float).mean(), np.asarray(drawn.pixels, float).mean()
    assert abs(ends[0] - ends[1]) > 5
    for strength, brightness in zip(STRENGTHS, made, strict=True):
        assert brightness == pytest.approx((1 - strength) * ends[0] + strength * ends[1], abs=1)


@pytest.mark.parametrize("name", REAL, indirect=True, scope="module")
def test_it_is_the_picture_that_diffusers_makes_by_itself(tiny_models, name, alone):
    diffusers, torch = import_library("diffusers"), import_library("torch")
    own = diffusers.AutoPipelineForImage2Image.from_pretrained(getattr(tiny_models, name))
    own.set_progress_bar_config(disable=True)
    told = {"num_inference_steps": 5, "guidance_scale": 3.0, "strength": 0.5, "image": FIRST}
    if name in ("stable_diffusion_3", "flux"):  # else they would resize the image
        told |= {"width": 64, "height": 64}
    theirs = own("an American person", generator=torch.Generator("cpu").manual_seed(1), **told).images[0]
    assert Image.open(BytesIO(alone[1])).tobytes() == theirs.tobytes()


def test_a_low_strength_stays_near_the_image_and_a_high_one_goes_away(tiny_models):
    """Random weights cannot draw a face, so the picture is compared with what the decoder makes of the
    encoded image, which no step has changed."""
    torch = import_library("torch")
    low = recipe(model=str(tiny_models.stable_diffusion), steps=10, strengths=(0.1, 0.4, 1.0))
    model = backends.load(low, device="cpu")
    vae, processor = model._pipeline.vae, model._pipeline.image_processor
    with torch.inference_mode():
        kept = vae.decode(vae.encode(processor.preprocess(FIRST)).latent_dist.mean).sample
    [unchanged] = processor.postprocess(kept, output_type="pil")
    wanted = [ImageRequest("an American person", 1, FIRST, strength) for strength in low.strengths]
    far = [distance(each.pixels, unchanged) for each in model.generate(wanted)]
    assert far[0] < far[1] < far[2]


def test_batches_have_one_strength_and_stay_full(tiny_models):
    model = backends.load(recipe(model=str(tiny_models.stable_diffusion), repeatable=True), device="cpu")
    model.batch = 2
    sizes = []
    model._pipeline.unet.register_forward_pre_hook(lambda unet, given: sizes.append(len(given[0])))
    made = model.generate(WANTED)
    assert set(sizes) == {2 * 2}  # with and without the prompt, for guidance
    model.batch = 1
    for one, single in zip(made, model.generate(WANTED), strict=True):
        assert distance(one.pixels, single.pixels) < 0.1


def test_the_safety_checker_sees_what_became_of_the_image(tiny_models):
    flagging = recipe(model=str(tiny_models.flagging_all), safety="block")
    [made] = backends.load(flagging, device="cpu").generate(WANTED[:1])
    assert made.flagged is True
    assert made.pixels.tobytes() == bytes(64 * 64 * 3)


def test_a_lora_and_another_scheduler_go_with_it(tiny_models, lora):
    plain = recipe(model=str(tiny_models.stable_diffusion))
    known = png(backends.load(plain, device="cpu").generate(WANTED[1:2])[0])
    for changed in ({"lora": (str(lora),)}, {"scheduler": "DDIMScheduler"}):
        other = recipe(model=str(tiny_models.stable_diffusion), **changed)
        assert png(backends.load(other, device="cpu").generate(WANTED[1:2])[0]) != known


def test_a_pipeline_without_images_from_images_is_refused_when_it_is_planned(tiny_models, monkeypatch):
    folder = tiny_models.stable_diffusion
    backends.check(recipe(model=str(folder)))
    monkeypatch.setattr(pipelines, "_call_arguments", lambda name: {"prompt", "image", "guidance_scale"})
    with pytest.raises(BackendError, match="StableDiffusionImg2ImgPipeline does not make images from images"):
        backends.check(recipe(model=str(folder)))


def test_a_worker_says_when_diffusers_has_no_such_pipeline(tiny_models, monkeypatch):
    diffusers = import_library("diffusers")

    def refused(pipeline):
        raise ValueError("AutoPipeline can't find a pipeline linked to it")

    monkeypatch.setattr(diffusers.AutoPipelineForImage2Image, "from_pipe", refused)
    with pytest.raises(BackendError, match=r"no pipeline with which .* makes images from images"):
        backends.load(recipe(model=str(tiny_models.stable_diffusion)), device="cpu")


def test_a_server_is_not_asked_for_it():
    asked = {"backend": "openai", "model": "gpt-image-1", "steps": None, "guidance": None, "safety": "record"}
    with pytest.raises(BackendError, match="initial: a server takes no initial image here; leave it alone"):
        backends.check(recipe(**asked))


def test_an_initial_image_is_stretched_to_the_recipes_size():
    wide = Image.new("L", (200, 50))
    wide.paste(255, (100, 0, 200, 50))
    small = fitted(wide, width=64, height=32)
    assert (small.size, small.mode) == ((64, 32), "RGB")
    assert small.getpixel((16, 16)) == (0, 0, 0)
    assert small.getpixel((48, 16)) == (255, 255, 255)
