"""A backend is one file (docs/generation.md): found by its name, shown, planned with, worked with."""

from __future__ import annotations

import sys
from io import StringIO

import pytest
from django.core.files.storage import default_storage
from django.core.management import call_command
from PIL import Image as PillowImage

from annotation.models import Image
from generation import backends
from tests import factories

pytestmark = pytest.mark.django_db

MODULE = '''"""Grey: one shade for each seed.

What a person who adds a backend writes, as the documentation says it.
"""

from PIL import Image

from generation.backends.base import About, BackendError, GeneratedImage


class Grey:
    about = About("grey", "1", "cpu", {})
    batch = 4

    def __init__(self, recipe):
        self._size = recipe.width, recipe.height

    def generate(self, wanted):
        return [GeneratedImage(Image.new("RGB", self._size, (one.seed % 256,) * 3)) for one in wanted]


def check(recipe):
    if recipe.negative_prompt:
        raise BackendError("Grey knows no negative prompt. Leave it empty.")


def load(recipe, *, device=""):
    return Grey(recipe)
'''


@pytest.fixture
def grey(tmp_path, monkeypatch):
    (tmp_path / "image_grey.py").write_text(MODULE)
    monkeypatch.setattr(backends, "__path__", [*backends.__path__, str(tmp_path)])
    yield
    sys.modules.pop("generation.backends.image_grey", None)


def generate(*arguments):
    out = StringIO()
    call_command(
        "generate", "greys", "--groups", "Mexican", "--yes", "--size", "16x16", *arguments, stdout=out
    )
    return out.getvalue()


def test_a_backend_in_one_file_is_found_shown_and_used(grey):
    factories.group("Mexican")
    assert backends.names("images")["grey"] == "Grey: one shade for each seed."
    assert "15 of 15" in generate("--backend", "grey", "--model", "grey")
    for image in Image.objects.select_related("provenance"):
        with default_storage.open(image.file.name) as file, PillowImage.open(file) as picture:
            assert picture.getpixel((3, 3)) == (image.provenance.seed % 256,) * 3
        assert image.provenance.model == "grey"
