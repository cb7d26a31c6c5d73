"""CLIP, SigLIP and BLIP for retrieval: the vectors are those of the model's own functions."""

import json
import shutil
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from generation import backends
from generation.backends.base import BackendError, OutOfMemory
from generation.backends.torch_support import import_library
from generation.recipes.recipes import EmbeddingRecipe
from tests.generation.backends.test_encoders import encoded, pictures

pytestmark = [pytest.mark.filterwarnings("ignore:::(transformers|torch|huggingface_hub)")]
TEXTS = ["a hat", "a photo of a person in the street", "person " * 60]
_CLASSES = {"clip": "CLIPModel", "siglip": "SiglipModel", "blip_retrieval": "BlipForImageTextRetrieval"}


def load(folder, **given):
    given = {"pretrained": "", **given}
    return backends.load(EmbeddingRecipe(backend="transformers", model=str(folder), **given), device="cpu")


@pytest.fixture(params=list(_CLASSES))
def kind(request):
    return request.param


@pytest.fixture
def folder(tiny_models, kind):
    return getattr(tiny_models, kind)


def own(folder, kind):
    """The model and its processor, as transformers loads them."""
    transformers = import_library("transformers")
    model = getattr(transformers, _CLASSES[kind]).from_pretrained(folder).eval()
    return model, transformers.AutoProcessor.from_pretrained(folder)


def unit(vectors):
    vectors = vectors.numpy()
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def own_vectors(folder, kind, images, text):
    """Images by the processor and the model's functions; one text alone, with the padding of its training."""
    torch = import_library("torch")
    model, processor = own(folder, kind)
    pixels = processor(images=images, return_tensors="pt").pixel_values
    padding = {"padding": "max_length"} if kind == "siglip" else {}
    longest = model.config.text_config.max_position_embeddings
    tokens = processor.tokenizer([text], truncation=True, max_length=longest, return_tensors="pt", **padding)
    with torch.inference_mode():
        if kind == "blip_retrieval":
            seen = model.vision_proj(model.vision_model(pixels).last_hidden_state[:, 0])
            read = model.text_proj(model.text_encoder(**tokens).last_hidden_state[:, 0])
            scores = model(**tokens, pixel_values=pixels, use_itm_head=False).itm_score.numpy()
            return unit(seen), unit(read), scores
        seen = model.get_image_features(pixels).pooler_output
        read = model.get_text_features(**tokens).pooler_output
        output = model(**tokens, pixel_values=pixels)
        return unit(seen), unit(read), (output.image_embeds @ output.text_embeds.T).numpy()


def test_vectors_are_those_of_the_models_own_functions(folder, kind):
    model, images = load(folder), [*pictures(2), *pictures(1, size=(200, 70))]
    vectors = encoded(model, images)
    texts = model.encode_texts(TEXTS)
    for text, vector in zip(TEXTS, texts, strict=True):
        seen, read, cosines = own_vectors(folder, kind, images, text)
        assert vectors == pytest.approx(seen, abs=2e-5)
        assert vector == pytest.approx(read[0], abs=2e-5)
        assert vectors @ vector == pytest.approx(cosines[:, 0], abs=1e-4)


def test_what_was_loaded_is_identified(folder):
    model = load(folder)
    assert model.about.model == str(folder)
    assert model.about.revision.startswith("files-")
    assert {"torch", "transformers"} <= set(model.about.libraries)


def test_images_are_prepared_by_several_threads_as_by_one(folder):
    model, images = load(folder), pictures(12)
    with ThreadPoolExecutor(4) as threads:
        together = list(threads.map(model.prepare, images))
    for image, prepared in zip(images, together, strict=True):
        assert prepared.shape == (32, 32, 3)
        assert (prepared == model.prepare(image)).all()


def test_half_precision_gives_nearly_the_same_vectors(folder):
    half = encoded(load(folder, dtype="bfloat16"), pictures(3))
    assert half.dtype == np.float32
    assert half == pytest.approx(encoded(load(folder), pictures(3)), abs=0.05)


def test_memory_that_runs_out_halves_the_batch(tiny_models):
    model = load(tiny_models.clip)
    whole = encoded(model, pictures(5))
    model.batch = 4

    def full(module, given, named):
        if len(named["pixel_values"]) > 2:
            raise import_library("torch").OutOfMemoryError("CUDA out of memory.")

    model._model.vision_model.register_forward_pre_hook(full, with_kwargs=True)
    with pytest.raises(OutOfMemory):
        encoded(model, pictures(5))
    assert model.batch == 2
    assert encoded(model, pictures(5)) == pytest.approx(whole, abs=1e-5)


def test_a_name_of_open_clip_is_refused_with_the_cure():
    recipe = EmbeddingRecipe(backend="transformers")
    with pytest.raises(BackendError, match=r"recipe: model: 'ViT-B-32' .*openai/clip-vit-base-patch32"):
        backends.check(recipe)


def test_a_model_of_another_type_is_refused_with_those_that_work(tiny_models, tmp_path):
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "bert"}))
    with pytest.raises(BackendError, match=r"type 'bert'.*clip, siglip, blip"):
        load(tmp_path)


def test_a_captioner_is_no_encoder(tiny_models, tmp_path):
    """BLIP for captions has no projections: they would be random numbers."""
    shutil.copytree(tiny_models.blip_retrieval, tmp_path / "blip")
    stored = import_library("safetensors.torch")
    path = tmp_path / "blip" / "model.safetensors"
    tensors = {name: one for name, one in stored.load_file(path).items() if "_proj." not in name}
    stored.save_file(tensors, path, {"format": "pt"})
    with pytest.raises(BackendError, match="lacks weights"):
        load(tmp_path / "blip")


def test_a_processor_that_gives_several_shapes_is_refused(tiny_models, tmp_path):
    shutil.copytree(tiny_models.clip, tmp_path / "clip")
    path = tmp_path / "clip" / "processor_config.json"
    stored = json.loads(path.read_text())
    stored["image_processor"]["do_center_crop"] = False
    path.write_text(json.dumps(stored))
    with pytest.raises(BackendError, match=r"several shapes .*preprocessor_config\.json"):
        load(tmp_path / "clip")


@pytest.mark.parametrize("model", ["/nowhere/at/all", "./nowhere"])
def test_a_folder_that_is_not_there_is_named(tiny_models, model):
    with pytest.raises(BackendError, match=f"no folder '{model}'"):
        load(model)
