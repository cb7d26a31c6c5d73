"""From a model's files to the printed numbers: CLIP with random weights, judged by its own functions."""

from __future__ import annotations

import csv
import importlib.util
import io
import math

import numpy as np
import pytest
from django.core.management import call_command
from scipy import stats

from annotation.models import Image
from generation.backends.torch_support import import_library
from tests.generation.backends import tiny_encoders
from tests.generation.image_sets import world
from tests.metrics.embedding_tests.planted import plain_cosine

WE, THEY, TARGET = ["we", "us"], ["they"], "a photo of a person in the street"
FILE = f"""
set = "drawn"
encoder = "FOLDER"

[[test]]
name = "one"
kind = "eat"
x = "White"
y = "Asian"
a = {WE}
b = {THEY}

[[test]]
name = "two"
kind = "sc-eat"
target = "{TARGET}"
a = "White"
b = "Asian"
"""

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.filterwarnings("ignore:::(transformers|torch|huggingface_hub)"),
    pytest.mark.skipif(
        any(importlib.util.find_spec(name) is None for name in ("torch", "transformers")),
        reason="NO MODELS: no real model was tested. Cure: pip install '.[models]'",
    ),
]


def printed(*arguments: str) -> str:
    out = io.StringIO()
    call_command(*arguments, stdout=out, stderr=io.StringIO())
    return out.getvalue()


def own_vectors(folder, texts):
    """Vectors of each group's images and of each text, by the model's own functions, one at a time."""
    torch, transformers = import_library("torch"), import_library("transformers")
    from PIL import Image as Picture

    model = transformers.CLIPModel.from_pretrained(folder).eval()
    processor = transformers.AutoProcessor.from_pretrained(folder)
    images: dict[str, list[np.ndarray]] = {"White": [], "Asian": []}
    with torch.inference_mode():
        for image in Image.objects.select_related("group"):
            with image.file.open() as file:
                pixels = processor(images=Picture.open(file).convert("RGB"), return_tensors="pt").pixel_values
            seen = model.get_image_features(pixels).pooler_output
            images[image.group.name].append(seen[0].double().numpy())
        read = {
            text: model.get_text_features(**processor.tokenizer([text], return_tensors="pt")).pooler_output
            for text in texts
        }
    return images, {text: vector[0].double().numpy() for text, vector in read.items()}


def mean_cosine(image, texts):
    return sum(plain_cosine(image, text) for text in texts) / len(texts)


@pytest.fixture
def path(tmp_path):
    """A file of tests, of a set whose images and texts a tiny CLIP has embedded."""
    folder = tiny_encoders.clip(tmp_path / "clip")
    world.made(world.pictures("White", "Asian"))
    path = tmp_path / "tests.toml"
    path.write_text(FILE.replace("FOLDER", str(folder)), encoding="utf-8")
    model = ("--backend", "transformers", "--model", str(folder), "--yes")
    printed("embed", "drawn", *model)
    (tmp_path / "texts.txt").write_text(printed("embedding_tests", str(path), "--missing-texts"))
    printed("embed", "drawn", *model, "--texts", str(tmp_path / "texts.txt"))
    return path


def test_printed_numbers_are_those_of_the_models_own_vectors(path):
    images, texts = own_vectors(path.parent / "clip", [*WE, *THEY, TARGET])

    def eat(image):
        return mean_cosine(image, [texts[word] for word in WE]) - plain_cosine(image, texts[THEY[0]])

    def single(image):
        return plain_cosine(image, texts[TARGET])

    for variant, ddof in (("corrected", 1), ("published", 0)):
        options = ("--variant", variant, "--resamples", "0", "--format", "csv")
        rows = list(csv.DictReader(io.StringIO(printed("embedding_tests", str(path), *options))))
        for row, association, side in zip(rows, (eat, single), ("greater", "less"), strict=True):
            x, y = (np.array([association(image) for image in images[group]]) for group in ("White", "Asian"))
            n = len(x)
            pooled = math.sqrt((x.var(ddof=ddof) + y.var(ddof=ddof)) / 2)  # of groups of one size
            welch = stats.ttest_ind_from_stats(
                *(x.mean(), x.std(ddof=ddof), n, y.mean(), y.std(ddof=ddof), n),
                equal_var=False,
                alternative=side,
            )
            permuted = stats.permutation_test(
                (x, y), lambda a, b, axis: a.mean(axis) - b.mean(axis), alternative=side, vectorized=True
            )
            assert int(row["n_x"]) == int(row["n_y"]) == n == len(y) > 2
            assert float(row["effect_size"]) == pytest.approx((x.mean() - y.mean()) / pooled, abs=1e-3)
            assert float(row["p_value"]) == pytest.approx(welch.pvalue, abs=1e-3)
            assert float(row["p_permutation"]) == pytest.approx(permuted.pvalue)
