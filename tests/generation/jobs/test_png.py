"""Pictures' files: the same bytes from try to try, and an origin that any program can read."""

from __future__ import annotations

import json
from io import BytesIO

from PIL import Image

from generation.jobs import png

PIXELS = Image.effect_noise((32, 24), 80).convert("RGB")
ORIGIN = png.Origin(
    prompt="a photo of a Türkiye person, 日本",
    seed=2**63 - 1,
    recipe="a" * 64,
    model="CompVis/stable-diffusion-v1-4",
    revision="main",
    libraries={"torch": "2.13.0", "diffusers": "0.42.1"},
    device="NVIDIA H100",
    code="visage-studies 0.1.0",
)


def test_the_pixels_and_the_origin_come_back():
    data = png.encode(PIXELS, ORIGIN)
    assert png.read_origin(data) == ORIGIN
    with Image.open(BytesIO(data)) as picture:
        assert picture.tobytes() == PIXELS.tobytes()
        # what other programs show of it
        assert picture.info["prompt"] == ORIGIN.prompt
        assert picture.info["seed"] == "9223372036854775807"
        assert picture.info["model"] == "CompVis/stable-diffusion-v1-4 main"
        assert picture.info["libraries"] == "diffusers 0.42.1, torch 2.13.0"
        assert picture.info["Software"] == "visage-studies 0.1.0"


def test_what_an_image_began_with_is_told_of_those_alone_that_began_with_one():
    begun = png.Origin(**{**vars(ORIGIN), "revision": "", "initial": "b" * 64, "strength": 0.25})
    data = png.encode(PIXELS, begun)
    assert png.read_origin(data) == begun
    with Image.open(BytesIO(data)) as picture, Image.open(BytesIO(png.encode(PIXELS, ORIGIN))) as other:
        assert (picture.info["initial image"], picture.info["strength"]) == ("b" * 64, "0.25")
        assert picture.info["model"] == ORIGIN.model
        told = " ".join([*other.info, *json.loads(other.info["visage"])])
    # so files of earlier versions come out again
    assert "initial" not in told
    assert "strength" not in told


def test_the_same_picture_is_the_same_file_whatever_the_order_of_what_is_told():
    other = png.Origin(**{**vars(ORIGIN), "libraries": dict(reversed(ORIGIN.libraries.items()))})
    assert png.encode(PIXELS, ORIGIN) == png.encode(PIXELS.copy(), other)
    assert png.encode(PIXELS, ORIGIN) != png.encode(PIXELS, png.Origin(**{**vars(ORIGIN), "seed": 1}))


def test_a_file_of_somebody_else_has_no_origin():
    out = BytesIO()
    PIXELS.save(out, "PNG")
    assert png.read_origin(out.getvalue()) is None
