"""What every encoder promises: the fake's colours and words, and tiny models of the real classes."""

import json

import numpy as np
import pytest
from PIL import Image, ImageDraw

from generation import backends
from generation.backends.base import BackendError, OutOfMemory
from generation.backends.torch_support import import_library
from generation.core import vectors
from generation.recipes.recipes import EmbeddingRecipe

pytestmark = [
    pytest.mark.filterwarnings("ignore:::(open_clip|transformers|torch|huggingface_hub|timm)"),
]


def pictures(count, size=(48, 64)):
    made = []
    for number in range(count):
        image = Image.new("RGB", size, (number * 37 % 256, number * 91 % 256, 40))
        ImageDraw.Draw(image).ellipse((number, 5, number + 20, 40), fill=(200, 30, number * 11 % 256))
        made.append(image)
    return made


def encoded(model, images):
    return model.encode_images([model.prepare(image) for image in images])


@pytest.fixture(params=["fake", "open_clip", "clip", "siglip", "blip_retrieval"], scope="module")
def recipe(request):
    if request.param == "fake":
        return EmbeddingRecipe(backend="fake", model="fake")
    folder = getattr(request.getfixturevalue("tiny_models"), request.param)
    if request.param == "open_clip":
        return EmbeddingRecipe(model=f"local-dir:{folder}")
    return EmbeddingRecipe(backend="transformers", model=str(folder), pretrained="")


@pytest.fixture(scope="module")
def model(recipe):
    return backends.load(recipe, device="cpu")


def test_images_and_texts_become_unit_vectors_of_one_space(model):
    images, texts = encoded(model, pictures(5)), model.encode_texts(["a hat", "a portrait", ""])
    for vectors_made, count in ((images, 5), (texts, 3)):
        assert vectors_made.shape == (count, model.dim)
        assert vectors_made.dtype == np.float32
        assert np.linalg.norm(vectors_made, axis=1) == pytest.approx(1, abs=1e-5)
        assert len({one.tobytes() for one in vectors_made}) == count
    assert vectors.unpack([vectors.pack(one) for one in images], dim=model.dim) == pytest.approx(images)


def test_nothing_becomes_no_vectors(model):
    assert encoded(model, []).shape == (0, model.dim)
    assert model.encode_texts([]).shape == (0, model.dim)


def test_order_is_kept_over_several_goes(model):
    images, texts = pictures(23), [f"picture {number}" for number in range(23)]
    whole, whole_texts = encoded(model, images), model.encode_texts(texts)
    alone = np.concatenate([encoded(model, [image]) for image in images])
    held, model.batch = model.batch, 4
    assert encoded(model, images) == pytest.approx(whole, abs=1e-5)
    assert model.encode_texts(texts) == pytest.approx(whole_texts, abs=1e-5)
    model.batch = held
    assert alone == pytest.approx(whole, abs=1e-5)


@pytest.mark.parametrize("mode", ["L", "RGBA", "P", "CMYK", "1", "I;16"])
def test_images_of_every_mode_and_shape_are_taken(model, mode):
    image = Image.new("L", (1, 300), 128).convert(mode) if mode != "I;16" else Image.new(mode, (300, 1))
    assert np.isfinite(encoded(model, [image])).all()
    [usual] = pictures(1)
    assert model.prepare(image).shape == model.prepare(usual).shape
    assert model.prepare(image).dtype == np.uint8


def test_the_same_recipe_gives_the_same_vectors(model, recipe):
    again = backends.load(recipe, device="cpu")
    assert (encoded(again, pictures(3)) == encoded(model, pictures(3))).all()
    assert again.about == model.about
    assert again.about.revision


# open_clip alone


@pytest.fixture
def folder(tiny_models):
    return tiny_models.open_clip


def test_a_vector_is_the_one_that_open_clip_gives(folder):
    open_clip, torch = import_library("open_clip"), import_library("torch")
    name = f"local-dir:{folder}"
    own, _, preprocess = open_clip.create_model_and_transforms(name)
    own.eval()
    with torch.inference_mode():
        image = own.encode_image(preprocess(pictures(1)[0])[None], normalize=True).numpy()
        text = own.encode_text(open_clip.get_tokenizer(name)(["a hat"]), normalize=True).numpy()
    model = backends.load(EmbeddingRecipe(model=name), device="cpu")
    assert encoded(model, pictures(1)) == pytest.approx(image, abs=1e-6)
    assert model.encode_texts(["a hat"]) == pytest.approx(text, abs=1e-6)


@pytest.mark.parametrize("resize", ["shortest", "longest", "squash"])
def test_its_pixels_are_those_of_open_clips_preprocessing(folder, tmp_path, resize):
    """To the last bit, or the embeddings of a run would differ from those it has."""
    open_clip, torch = import_library("open_clip"), import_library("torch")
    stored = json.loads((folder / "open_clip_config.json").read_text())
    stored["preprocess_cfg"]["resize_mode"] = resize
    (tmp_path / "open_clip_config.json").write_text(json.dumps(stored))
    (tmp_path / "open_clip_model.safetensors").symlink_to(folder / "open_clip_model.safetensors")
    name = f"local-dir:{tmp_path}"
    _, _, preprocess = open_clip.create_model_and_transforms(name)
    images = [*pictures(2), *pictures(1, size=(200, 70))]
    model = backends.load(EmbeddingRecipe(model=name), device="cpu")
    pixels = model._normalize([model.prepare(image) for image in images])
    assert torch.equal(pixels, torch.stack([preprocess(image) for image in images]))


def test_weights_are_taken_from_a_file_for_a_known_architecture(folder, tmp_path):
    open_clip = import_library("open_clip")
    config = json.loads((folder / "open_clip_config.json").read_text())
    (tmp_path / "tiny-for-tests.json").write_text(json.dumps(config["model_cfg"]))
    open_clip.add_model_config(tmp_path / "tiny-for-tests.json")
    weights = str(folder / "open_clip_model.safetensors")
    model = backends.load(EmbeddingRecipe(model="tiny-for-tests", pretrained=weights), device="cpu")
    assert model.about.revision.startswith("files-")
    assert model.encode_texts(["a hat"]).shape == (1, 16)


def test_the_number_type_that_was_used_is_told_with_the_device(folder):
    made = backends.load(EmbeddingRecipe(model=f"local-dir:{folder}"), device="cpu")
    assert made.about.device.endswith(", float32")


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_gives_nearly_the_same_vectors_in_float32(folder, dtype):
    whole = backends.load(EmbeddingRecipe(model=f"local-dir:{folder}"), device="cpu")
    half = backends.load(EmbeddingRecipe(model=f"local-dir:{folder}", dtype=dtype), device="cpu")
    made = encoded(half, pictures(3))
    assert made.dtype == np.float32
    assert made == pytest.approx(encoded(whole, pictures(3)), abs=0.05)


def test_memory_that_runs_out_halves_the_batch_and_loses_nothing(folder):
    model = backends.load(EmbeddingRecipe(model=f"local-dir:{folder}"), device="cpu")
    whole = encoded(model, pictures(9))
    model.batch = 8

    def full(visual, given):
        if len(given[0]) > 3:
            raise import_library("torch").OutOfMemoryError("CUDA out of memory.")

    model._model.visual.register_forward_pre_hook(full)
    for left in (4, 2):
        with pytest.raises(OutOfMemory):
            encoded(model, pictures(9))
        assert model.batch == left
    assert encoded(model, pictures(9)) == pytest.approx(whole, abs=1e-5)


def test_numbers_that_overflow_are_an_error(folder):
    model = backends.load(EmbeddingRecipe(model=f"local-dir:{folder}"), device="cpu")
    model._model.visual.proj.data[:] = float("nan")
    with pytest.raises(BackendError, match="overflowed"):
        encoded(model, pictures(1))


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"model": "local-dir:/nowhere"}, "no folder /nowhere"),
        ({"model": "ViT-B-33"}, "has no model 'ViT-B-33'. It has: .*ViT-B-32"),
        ({"pretrained": "a-tag"}, "neither a file of weights on this machine nor a tag of ViT-B-32.*openai"),
        ({"pretrained": ""}, r"pretrained=openai .*pretrained=/models/open_clip_model\.safetensors"),
        ({"pretrained": "/nowhere.pt"}, "'/nowhere.pt' is neither"),
    ],
)
def test_what_cannot_be_found_is_named_with_what_can(tiny_models, given, told):
    with pytest.raises(BackendError, match=told):
        backends.load(EmbeddingRecipe(**given), device="cpu")


@pytest.mark.parametrize("spoil", ["truncated", "gone", "no config"])
def test_a_spoilt_folder_is_refused_and_never_filled_with_random_weights(folder, tmp_path, spoil):
    for file in folder.iterdir():
        data = file.read_bytes()
        (tmp_path / file.name).write_bytes(data[:1000] if spoil == "truncated" else data)
    if spoil == "gone":
        (tmp_path / "open_clip_model.safetensors").unlink()
    if spoil == "no config":
        (tmp_path / "open_clip_config.json").unlink()
    with pytest.raises(BackendError, match=rf"cannot be loaded .*{tmp_path}/open_clip_model\.safetensors"):
        backends.load(EmbeddingRecipe(model=f"local-dir:{tmp_path}"), device="cpu")


def test_weights_trained_with_quick_gelu_get_it(tiny_models, monkeypatch):
    """open_clip itself would only warn, and the vectors would be wrong."""
    open_clip = import_library("open_clip")
    asked = {}

    def made(name, pretrained, **given):
        asked.update(given, name=name, pretrained=pretrained)
        raise OSError("no network in a test")

    monkeypatch.setattr(open_clip, "create_model_and_transforms", made)
    for pretrained, quick in (("openai", True), ("laion2b_s34b_b79k", None)):
        asked.clear()
        with pytest.raises(BackendError, match=r"no network in a test.*hf download .*local-dir:FOLDER\."):
            backends.load(EmbeddingRecipe(pretrained=pretrained), device="cpu")
        assert asked.get("force_quick_gelu") == quick
        assert asked["require_pretrained"]
