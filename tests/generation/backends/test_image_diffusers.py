"""What is special to diffusers: its own pictures, batches of one size, the safety checker, schedulers."""

import importlib
from dataclasses import replace
from io import BytesIO
from types import SimpleNamespace

import pytest
from PIL import Image, ImageChops

from generation import backends
from generation.backends.base import About, BackendError, ImageRequest, OutOfMemory
from generation.backends.torch_support import import_library
from generation.recipes.recipes import ImageRecipe
from tests.generation.backends.test_images import png, pngs

pytestmark = [
    pytest.mark.filterwarnings("ignore:::(diffusers|transformers|torch|huggingface_hub)"),
]
WANTED = [ImageRequest("a photo of an Indian person", seed) for seed in range(5)]


def recipe(folder, **changed):
    given = {"width": 64, "height": 64, "steps": 2, "safety": "off"} | changed
    return ImageRecipe(model=str(folder), **given)


def loaded(folder, **changed):
    return backends.load(recipe(folder, **changed), device="cpu")


def refusal(folder, **changed):
    with pytest.raises(BackendError) as refused:
        loaded(folder, **changed)
    return str(refused.value)


@pytest.fixture(scope="module")
def shared(tiny_models):
    return loaded(tiny_models.stable_diffusion)


@pytest.fixture
def model(shared):
    """Stable Diffusion, as it is, with one picture at a time and nobody who watches it."""
    yield shared
    shared.batch = 1
    shared._pipeline.unet._forward_pre_hooks.clear()


@pytest.fixture(scope="module")
def plain(shared):
    """The files of WANTED by Stable Diffusion, as it is."""
    return pngs(shared, WANTED)


def test_a_picture_is_the_one_that_diffusers_makes_by_itself(tiny_models, plain):
    diffusers, torch = import_library("diffusers"), import_library("torch")
    own = diffusers.StableDiffusionPipeline.from_pretrained(tiny_models.stable_diffusion)
    own.set_progress_bar_config(disable=True)
    seed = torch.Generator("cpu").manual_seed(WANTED[3].seed)
    told = {"num_inference_steps": 2, "guidance_scale": 7.5, "width": 64, "height": 64}
    theirs = own(WANTED[3].prompt, generator=seed, **told).images[0]
    assert Image.open(BytesIO(plain[3])).tobytes() == theirs.tobytes()


def test_a_negative_prompt_changes_the_picture_and_is_refused_where_it_would_be_ignored(tiny_models, plain):
    hatless = loaded(tiny_models.stable_diffusion, negative_prompt="a hat")
    assert pngs(hatless, WANTED[:1]) != plain[:1]
    assert "does not support a negative prompt" in refusal(tiny_models.flux, negative_prompt="a hat")


def test_guidance_is_refused_where_it_would_be_ignored(tiny_models):
    """Flux schnell takes the number and makes the same picture of every one."""
    assert "does not support guidance" in refusal(tiny_models.flux_schnell)
    [picture] = loaded(tiny_models.flux_schnell, guidance=None).generate(WANTED[:1])
    assert picture.pixels.size == (64, 64)


def test_on_a_gpu_convolutions_are_laid_out_for_its_tensor_cores(tiny_models):
    """As far as a machine without one can tell: what is put where, and that no part is in its way."""
    module, torch = importlib.import_module("generation.backends.image_diffusers"), import_library("torch")

    class Parts:
        unet, vae = torch.nn.Conv2d(4, 8, 3), torch.nn.Conv3d(4, 8, 3)
        placed = None

        def set_progress_bar_config(self, *, disable):
            assert disable

        def to(self, device):
            self.placed = device

    parts, card = Parts(), SimpleNamespace(type="cuda")
    module._place(parts, card, None)
    assert parts.placed is card
    assert parts.unet.weight.is_contiguous(memory_format=torch.channels_last)
    assert parts.vae.weight.is_contiguous()


def test_the_global_random_state_does_not_reach_a_picture(tiny_models):
    model = loaded(tiny_models.stable_diffusion, scheduler="EulerAncestralDiscreteScheduler")
    import_library("torch").manual_seed(1)
    first = pngs(model, WANTED[:2])
    import_library("torch").manual_seed(2)
    assert pngs(model, WANTED[1::-1]) == first[::-1]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_makes_another_picture_and_the_same_one_again(tiny_models, plain, dtype):
    model = loaded(tiny_models.stable_diffusion, dtype=dtype)
    made = pngs(model, WANTED[:2])
    assert made != plain[:2]
    assert pngs(model, WANTED[1::-1]) == made[::-1]


def test_numbers_that_overflow_are_an_error_and_no_black_picture(tiny_models):
    model = loaded(tiny_models.stable_diffusion)
    weight = model._pipeline.vae.decoder.conv_out.weight
    weight.data[:] = float("nan")
    with pytest.raises(BackendError, match="overflowed in float32"):
        model.generate(WANTED[:1])


@pytest.mark.parametrize(("revision", "asked"), [("", None), ("abc", "abc")])
def test_a_hub_model_is_of_the_revision_asked_for_or_the_newest(
    tiny_models, monkeypatch, tmp_path, revision, asked
):
    # of a model of which something is in the cache, the hub is not asked first whether it is there
    (tmp_path / "models--owner--name").mkdir()
    monkeypatch.setattr(import_library("huggingface_hub.constants"), "HF_HUB_CACHE", str(tmp_path))
    wanted = []

    def download(model, **options):
        wanted.append((model, options["revision"]))
        return tiny_models.stable_diffusion

    monkeypatch.setattr(import_library("diffusers").DiffusionPipeline, "download", download)
    loaded("owner/name", revision=revision)
    assert wanted == [("owner/name", asked)]


def test_a_size_that_the_model_cannot_make_is_refused(tiny_models):
    with pytest.raises(BackendError, match="asks for 72x64, but the model makes 64x64"):
        loaded(tiny_models.flux, width=72).generate(WANTED[:1])


@pytest.mark.parametrize("batch", [2, 4])
def test_the_device_always_gets_a_full_batch_of_a_power_of_two(model, plain, batch):
    assert model.batch == 1  # on a CPU
    model.batch = batch + 1 if batch > 2 else batch
    assert model.batch == batch
    assert model.about.device.endswith(f"{batch} at a time")
    sizes = watched(model)
    together = model.generate(WANTED)
    assert set(sizes) == {2 * batch}  # with and without the prompt, for guidance
    for one, alone in zip(together, plain, strict=True):
        distance = ImageChops.difference(one.pixels, Image.open(BytesIO(alone))).getextrema()
        assert max(high for _, high in distance) <= 1  # the last bits of float32, no other picture


def test_a_batch_is_not_filled_where_bytes_need_not_repeat(model):
    """As on a GPU with a recipe that does not ask for it; a compiled model has one size all the same."""
    settled = recipe("unused", dtype="float32", steps=1)
    pipeline = model._pipeline
    module = importlib.import_module("generation.backends.image_diffusers")
    about = About("m", "1", "card", {})
    for changed, reached in (({}, {2 * 3}), ({"compiled": True}, {2 * 4}), ({"repeatable": True}, {2 * 4})):
        fitting = replace(settled, **changed)
        other = module.Pipeline(pipeline, fitting, about=about, checker=None, batch=4)
        sizes = watched(other)
        assert len(other.generate(WANTED)) == 5
        assert set(sizes) == reached


def test_the_number_type_that_was_used_is_told_with_the_device(tiny_models, model):
    assert model.about.device.endswith(", float32, 1 at a time")
    half = loaded(tiny_models.stable_diffusion, dtype="bfloat16")
    assert half.about.device.endswith(", bfloat16, 1 at a time")


def test_torch_keeps_nothing_for_gradients(tiny_models):
    model = loaded(tiny_models.flagging_none, safety="record")
    torch, modes = import_library("torch"), []
    for part in (model._pipeline.unet, model._pipeline.vae.decoder, model._checker):
        part.register_forward_pre_hook(lambda part, given: modes.append(torch.is_inference_mode_enabled()))
    model.generate(WANTED[:1])
    assert len(modes) > 2
    assert all(modes)


def watched(model):
    """The sizes of the batches that reach the denoiser from now on."""
    sizes = []
    model._pipeline.unet.register_forward_pre_hook(lambda unet, given: sizes.append(len(given[0])))
    return sizes


def test_memory_that_runs_out_halves_the_batch_down_to_one_and_says_so(model, plain):
    model.batch = 4

    def full(unet, given):
        if len(given[0]) > 2:
            raise import_library("torch").OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")

    hook = model._pipeline.unet.register_forward_pre_hook(full)
    for left in (2, 1):
        with pytest.raises(OutOfMemory, match="Tried to allocate"):
            model.generate(WANTED)
        assert model.batch == left
    assert pngs(model, WANTED[:3]) == plain[:3]
    model.batch = 2
    hook.remove()
    assert len(model.generate(WANTED[:3])) == 3


def test_other_errors_of_a_model_stay_what_they_are(model):

    def broken(unet, given):
        raise RuntimeError("mat1 and mat2 shapes cannot be multiplied")

    model._pipeline.unet.register_forward_pre_hook(broken)
    with pytest.raises(RuntimeError, match="cannot be multiplied"):
        model.generate(WANTED)
    assert model.batch == 1


@pytest.fixture(scope="module")
def unchecked(tiny_models):
    """What both models with a checker make: their other parts have the same weights."""
    return pngs(loaded(tiny_models.flagging_all), WANTED[:2])


def test_the_checkers_verdict_is_recorded_and_the_picture_left_as_it_is(tiny_models, unchecked):
    for folder, flagged in ((tiny_models.flagging_all, True), (tiny_models.flagging_none, False)):
        pictures = loaded(folder, safety="record").generate(WANTED[:2])
        assert [picture.flagged for picture in pictures] == [flagged] * 2
        assert [png(picture) for picture in pictures] == unchecked


def test_a_flagged_picture_is_black_only_if_the_recipe_blocks(tiny_models, unchecked):
    blocked = loaded(tiny_models.flagging_all, safety="block").generate(WANTED[:2])
    assert [picture.pixels.tobytes() for picture in blocked] == [bytes(64 * 64 * 3)] * 2
    assert [picture.flagged for picture in blocked] == [True, True]
    passed = loaded(tiny_models.flagging_none, safety="block")
    assert pngs(passed, WANTED[:2]) == unchecked


def test_the_verdict_is_each_pictures_own(tiny_models):
    """A checker that flags bright pictures: the verdicts follow the pictures, not their places."""
    model = loaded(tiny_models.flagging_none, safety="record")
    model.batch = 4
    features = model._pipeline.feature_extractor
    library_torch = import_library("torch")

    class Bright:
        def parameters(self):
            return iter([library_torch.zeros(1)])

        def __call__(self, *, images, clip_input):
            return images, [bool(one > cut) for one in clip_input.mean((1, 2, 3))]

    seen = [
        features([picture.pixels], return_tensors="pt").pixel_values.mean().item()
        for picture in model.generate(WANTED[:4])
    ]
    cut = sorted(seen)[2]
    model._checker = Bright()
    verdicts = [picture.flagged for picture in model.generate(WANTED[:4])]
    assert verdicts == [one > cut for one in seen]
    assert sum(verdicts) == 1


@pytest.mark.parametrize("name", ["stable_diffusion", "stable_diffusion_xl", "flux"])
def test_blocking_is_refused_for_a_model_without_a_checker(tiny_models, name):
    folder = getattr(tiny_models, name)
    assert "no safety checker" in refusal(folder, safety="block")
    [picture] = loaded(folder, safety="record").generate(WANTED[:1])
    assert picture.flagged is None


def test_a_scheduler_is_chosen_by_its_class_and_refused_if_it_does_not_fit(tiny_models, plain):
    ddim = loaded(tiny_models.stable_diffusion, scheduler="DDIMScheduler")
    assert type(ddim._pipeline.scheduler).__name__ == "DDIMScheduler"
    assert ddim._pipeline.scheduler.config.beta_start == 0.00085  # the model's own settings
    assert pngs(ddim, WANTED[:1]) != plain[:1]
    for name in ("UNet2DConditionModel", "Nothing", "FlowMatchEulerDiscreteScheduler"):
        told = refusal(tiny_models.stable_diffusion, scheduler=name)
        assert name in told
        assert "DPMSolverMultistepScheduler" in told
    assert "FlowMatchEulerDiscreteScheduler" in refusal(tiny_models.flux, scheduler="DDIMScheduler")


def test_another_scheduler_predicts_what_the_model_was_trained_to(tiny_models):
    """Stable Diffusion 2.x predicts the velocity: a scheduler that took it for noise would make none of its
    pictures."""
    changed = loaded(tiny_models.stable_diffusion_2, scheduler="EulerDiscreteScheduler")
    assert changed._pipeline.scheduler.config.prediction_type == "v_prediction"


def test_a_scheduler_that_draws_noise_without_our_seed_is_refused(tiny_models):
    assert "cannot repeat an image" in refusal(
        tiny_models.stable_diffusion, scheduler="DPMSolverSDEScheduler"
    )


@pytest.mark.filterwarnings("ignore:__array_wrap__ must accept:DeprecationWarning")
def test_every_scheduler_that_is_offered_makes_the_same_picture_twice(tiny_models, model, monkeypatch):
    offered = refusal(tiny_models.stable_diffusion, scheduler="?").partition("one of: ")[2]
    names = offered.removesuffix(".").split(", ")
    assert len(names) > 10
    module, own = importlib.import_module("generation.backends.image_diffusers"), model._pipeline.scheduler
    for name in names:  # as a recipe's is loaded, without the other parts, which stay the same
        scheduler = module._scheduler(import_library("diffusers"), name, own)
        monkeypatch.setattr(model._pipeline, "scheduler", scheduler)
        assert type(model._pipeline.scheduler).__name__ == name
        first, again = pngs(model, [WANTED[0], WANTED[0]])
        assert first == again, name
