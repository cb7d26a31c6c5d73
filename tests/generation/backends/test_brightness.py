"""Brightness of crops and lightness of skin, against numbers computed in another way."""

from __future__ import annotations

import builtins
import json
import math

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFilter

from generation import backends
from generation.backends import brightness, describe_brightness
from generation.backends.base import BackendError, Question
from generation.backends.brightness import CropRefused, cropped, lab, parse_crop, skin_in, skin_of
from generation.recipes.askings import DescriptionRecipe

SKIN = (205, 150, 120)


def recipe(**options) -> DescriptionRecipe:
    return DescriptionRecipe(backend="brightness", options=options)


def measured(image: Image.Image, **options) -> dict:
    [reply] = backends.load(recipe(**options)).answer([Question("brightness", 0, image)])
    return json.loads(reply.text)


def drawn_face(side: int = 400) -> Image.Image:
    """A face with what the cascade looks for: dark sockets below a light forehead, a light nose between."""
    image = Image.new("RGB", (side, side), (120, 140, 160))
    draw = ImageDraw.Draw(image)
    shade, light, dark = (tuple(int(part * f) for part in SKIN) for f in (0.75, 1.12, 0.45))
    white, black = (235, 235, 235), (40, 25, 20)
    for box, colour in (
        ((95, 40, 305, 330), (50, 35, 30)),
        ((110, 70, 290, 350), SKIN),
        ((130, 80, 270, 150), light),
        *(((x, 150, x + 65, 205), shade) for x in (125, 210)),
        *(((x, 142, x + 58, 156), black) for x in (130, 212)),
        *(((x, 163, x + 44, 187), white) for x in (138, 218)),
        *(((x, 163, x + 24, 187), black) for x in (149, 228)),
        ((188, 150, 212, 235), light),
        ((178, 220, 222, 248), shade),
        *(((x, 232, x + 13, 244), dark) for x in (183, 204)),
        *(((x, 205, x + 45, 260), light) for x in (130, 225)),
        ((160, 270, 240, 302), (150, 70, 70)),
        ((162, 283, 238, 289), (90, 40, 40)),
        ((165, 305, 235, 340), shade),
    ):
        draw.ellipse([part * side / 400 for part in box], fill=colour)
    return image.filter(ImageFilter.GaussianBlur(4 * side / 400))


# By the formulas of CIE 15:2004 and IEC 61966-2-1, colour by colour.
def plain_lab(red: int, green: int, blue: int) -> tuple[float, float, float]:
    def linear(value):
        share = value / 255
        return share / 12.92 if share <= 0.04045 else math.pow((share + 0.055) / 1.055, 2.4)

    r, g, b = linear(red), linear(green), linear(blue)
    x = (0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.95047
    y = 0.2126 * r + 0.7152 * g + 0.0722 * b
    z = (0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.08883

    def root(t):
        return math.pow(t, 1 / 3) if t > 216 / 24389 else (24389 / 27 * t + 16) / 116

    return 116 * root(y) - 16, 500 * (root(x) - root(y)), 200 * (root(y) - root(z))


def test_lab_is_that_of_the_formulas():
    colours = [(0, 0, 0), (1, 2, 3), (9, 9, 10), (255, 255, 255), (128, 64, 32), (255, 0, 0), (0, 0, 255)]
    colours += np.random.default_rng(3).integers(0, 256, size=(200, 3)).tolist()
    expected = [plain_lab(*colour) for colour in colours]
    assert lab(np.array(colours, dtype=np.uint8)) == pytest.approx(np.array(expected), abs=0.03)


@pytest.mark.parametrize(
    ("colour", "known"),
    [
        ((255, 0, 0), (53.24, 80.09, 67.20)),
        ((0, 255, 0), (87.73, -86.18, 83.18)),
        ((0, 0, 255), (32.30, 79.19, -107.86)),
    ],
)
def test_lab_of_the_primaries_is_the_known_one(colour, known):
    assert lab(np.array(colour, dtype=np.uint8)) == pytest.approx(known, abs=0.02)


def test_the_angle_is_of_the_mean_lightness_and_the_mean_b():
    colours = np.array([SKIN, (120, 80, 60), (230, 190, 160)], dtype=np.uint8)
    rows = [plain_lab(*map(int, colour)) for colour in colours]
    light, b = (sum(row[part] for row in rows) / 3 for part in (0, 2))
    found = skin_of(colours)
    assert (found.lightness, found.b) == (pytest.approx(light, abs=0.02), pytest.approx(b, abs=0.02))
    assert found.ita == pytest.approx(math.degrees(math.atan((light - 50) / b)), abs=0.1)


def test_many_colours_are_those_of_their_parts(monkeypatch):
    colours = np.random.default_rng(1).integers(0, 256, size=(10, 7, 3), dtype=np.uint8)
    whole = skin_of(colours)
    monkeypatch.setattr(brightness, "_AT_ONCE", 3)
    assert skin_of(colours).lightness == pytest.approx(whole.lightness)
    assert skin_of(colours).b == pytest.approx(whole.b)


@pytest.mark.parametrize("colour", [(0, 0, 0), (100, 100, 100), (255, 255, 255), (120, 130, 200)])
def test_grey_and_bluish_colours_have_no_angle(colour):
    assert skin_of(np.array([colour], dtype=np.uint8)).ita is None


def test_dark_skin_has_a_negative_angle_and_light_skin_a_positive_one():
    dark, light = (
        skin_of(np.array([colour], dtype=np.uint8)).ita for colour in ((80, 50, 35), (240, 205, 180))
    )
    assert dark < -30
    assert light > 55


def test_the_published_crop_is_what_the_published_program_reads():
    pixels = np.random.default_rng(0).integers(0, 256, size=(592, 592, 3), dtype=np.uint8)
    image = Image.fromarray(pixels).crop((250, 175, 300, 225))
    read = [image.getpixel((i, j)) for i in range(1, 50) for j in range(1, 50)]
    expected = sum(sum(pixel) / 3 for pixel in read) / len(read)
    found = measured(Image.fromarray(pixels), faces=False)
    assert (found["crop"], found["pixels"]) == ("published", 49 * 49)
    assert found["rgb"] == pytest.approx(expected, abs=1e-4)
    part = cropped(pixels, parse_crop("published"))
    assert (part == pixels[176:225, 251:300]).all()


def test_crops_scale_with_the_image_and_are_never_empty():
    assert cropped(np.zeros((296, 1184, 3), np.uint8), parse_crop("published")).shape == (24, 98, 3)
    assert cropped(np.zeros((1, 1, 3), np.uint8), parse_crop("published")).shape == (1, 1, 3)
    assert cropped(np.zeros((8, 12, 3), np.uint8), parse_crop("centre")).shape == (4, 6, 3)
    assert cropped(np.zeros((8, 12, 3), np.uint8), parse_crop("whole")).shape == (8, 12, 3)
    assert cropped(np.zeros((8, 12, 3), np.uint8), parse_crop("0,0,1,1")).shape == (8, 12, 3)
    assert cropped(np.zeros((8, 12, 3), np.uint8), parse_crop("0.99,0.99,1,1")).shape == (1, 1, 3)
    own = cropped(np.arange(100).reshape(10, 10, 1).repeat(3, 2), parse_crop("0.1, 0.2, 0.3, 0.5"))
    assert own[..., 0].tolist() == [[21, 22], [31, 32], [41, 42]]


@pytest.mark.parametrize(
    "text", ["", "forehead", "1,2,3", "0,0,0,1", "0,0,2,1", "nan,0,1,1", "0,.5,1,.4", "0,.5,1,.5"]
)
def test_what_is_no_crop_is_refused_with_the_cure(text):
    with pytest.raises(CropRefused, match="Name one of published, centre, whole"):
        parse_crop(text)
    with pytest.raises(BackendError, match=r"options\.crop"):
        backends.check(recipe(crop=text))


def test_skin_is_inside_the_ellipse_and_has_the_chroma_of_skin():
    pixels = np.full((100, 100, 3), (30, 90, 200), dtype=np.uint8)
    pixels[:, :50] = SKIN
    colours, share = skin_in(pixels, (20, 20, 60, 60))
    assert (colours == SKIN).all()
    inside = [
        (x, y) for x in range(100) for y in range(100) if math.hypot(x + 0.5 - 50, y + 0.5 - 50) <= 0.8 * 30
    ]
    assert len(colours) == sum(x < 50 for x, _ in inside)
    assert share == pytest.approx(len(colours) / len(inside))
    beyond, share = skin_in(pixels, (-30, -30, 60, 60))
    corner = sum(math.hypot(x + 0.5, y + 0.5) <= 0.8 * 30 for x in range(30) for y in range(30))
    assert (len(beyond), share) == (corner, 1.0)
    assert skin_in(pixels, (200, 200, 50, 50))[1] == 0


def test_a_drawn_face_is_found_and_its_skin_is_measured():
    found = measured(drawn_face(), crop="whole")
    assert (found["region"], found["note"]) == ("face", "")
    assert found["lightness"] == pytest.approx(plain_lab(*SKIN)[0], abs=12)
    assert found["ita"] > 20
    # the sheet around it is bluish
    assert measured(drawn_face(), crop="whole", faces=False)["lightness"] < found["lightness"]


def test_a_face_in_a_large_image_is_found_where_it_is():
    import cv2

    image = np.asarray(drawn_face(1600))
    [(left, top, width, height)] = describe_brightness.opencv_finder(cv2)(image)
    assert left < 600 < 1000 < left + width
    assert top < 600 < 1000 < top + height


def meter(*boxes) -> describe_brightness.BrightnessMeter:
    return describe_brightness.BrightnessMeter(parse_crop("whole"), lambda pixels: boxes)


def answered(model, image) -> dict:
    return json.loads(model.answer([Question("", 0, image)])[0].text)


def test_the_largest_face_counts_and_a_covered_one_does_not():
    image = Image.new("RGB", (200, 100), (30, 90, 200))
    image.paste(SKIN, (100, 0, 200, 100))
    found = answered(meter((0, 0, 50, 50), (100, 0, 100, 100)), image)
    assert (found["region"], found["lightness"]) == ("face", pytest.approx(plain_lab(*SKIN)[0], abs=0.02))
    assert found["skin_pixels"] == pytest.approx(math.pi * 40**2, rel=0.01)
    assert found["pixels"] == 200 * 100
    covered = answered(meter((0, 0, 99, 99)), image)
    assert (covered["region"], covered["note"], covered["skin_pixels"]) == (
        "crop",
        "too little skin in the face",
        0,
    )


def test_why_the_crop_is_measured_is_said(monkeypatch):
    plain = Image.new("RGB", (64, 64), SKIN)
    assert measured(plain)["note"] == "no face found"
    assert measured(plain, faces=False)["note"] == "faces were not looked for"
    real = builtins.__import__

    def without(name, *rest, **more):
        if name == "cv2":
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    found = measured(plain)
    assert (found["note"], found["region"]) == ("OpenCV is not installed", "crop")
    assert found["rgb"] == pytest.approx(sum(SKIN) / 3, abs=1e-4)


def test_the_version_of_opencv_is_recorded_where_it_is_used():
    import cv2

    assert backends.load(recipe()).about.libraries["opencv"] == cv2.__version__
    assert "opencv" not in backends.load(recipe(faces=False)).about.libraries


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"model": "m"}, "model: brightness is measured without a model"),
        ({"server": "lab"}, "server"),
        ({"times": 2}, "times"),
        ({"options": {"face": True}}, "Did you mean 'faces'"),
        ({"options": {"faces": "maybe"}}, "yes or no"),
    ],
)
def test_what_a_measurement_does_not_know_is_refused(changed, said):
    with pytest.raises(BackendError, match=said):
        backends.check(DescriptionRecipe(backend="brightness", **changed))


def test_a_question_without_an_image_is_refused():
    with pytest.raises(BackendError, match="needs an image"):
        backends.load(recipe()).answer([Question("brightness", 0)])


@pytest.mark.parametrize(("b", "has_one"), [(0.01, True), (0.0099, False)])
def test_a_colour_that_is_as_good_as_grey_has_no_angle(monkeypatch, b, has_one):
    monkeypatch.setattr(brightness, "lab", lambda colours: np.array([[60.0, 0.0, b]]))
    assert (skin_of(np.array([SKIN], dtype=np.uint8)).ita is not None) is has_one
