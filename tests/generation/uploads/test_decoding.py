"""Pictures from outside: kept as they are if they hold pixels alone, cleaned or refused otherwise."""

import io
import random
import struct
import zlib

import pytest
from PIL import Image, ImageCms, PngImagePlugin

from generation.uploads import decoding
from generation.uploads.decoding import PictureRefused, clean_image
from tests.generation.uploads.bundles import encoded, pixels

SECRET = "Ada's camera"


def gradient(mode: str = "RGB", size=(24, 16)) -> Image.Image:
    image = Image.new("RGB", size)
    for x in range(size[0]):
        for y in range(size[1]):
            image.putpixel((x, y), (10 * x % 256, 13 * y % 256, x * y % 256))
    return image.convert(mode)


def exif(orientation: int = 1) -> bytes:
    said = Image.Exif()
    said[0x010F], said[0x0112] = SECRET, orientation
    return said.tobytes()


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


@pytest.mark.parametrize(
    ("kind", "suffix", "options"),
    [
        ("PNG", ".png", {}),
        ("JPEG", ".jpg", {}),
        ("JPEG", ".jpg", {"progressive": True}),
        ("WEBP", ".webp", {}),
        ("WEBP", ".webp", {"lossless": True}),
    ],
)
def test_a_file_of_pixels_alone_is_kept_byte_for_byte(kind, suffix, options):
    data = encoded(gradient(size=(200, 120)), kind, **options)
    kept = clean_image(data)
    assert (kept.data, kept.suffix, kept.width, kept.height, kept.reencoded) == (
        data,
        suffix,
        200,
        120,
        False,
    )


def segment(marker: int, body: bytes) -> bytes:
    return struct.pack(">BBH", 0xFF, marker, len(body) + 2) + body


def riff(chunks: bytes) -> bytes:
    """A WebP of these chunks."""
    return b"RIFF" + struct.pack("<I", len(chunks) + 4) + b"WEBP" + chunks


PNG, JPEG, WEBP = (encoded(gradient(), kind) for kind in ("PNG", "JPEG", "WEBP"))
ABOUT_PIXELS = (
    (b"gAMA", struct.pack(">I", 45455)),
    (b"cHRM", struct.pack(">8I", 31270, 32900, 64000, 33000, 30000, 60000, 15000, 6000)),
    (b"sRGB", b"\0"),
    (b"cICP", b"\1\1\0\1"),
    (b"sBIT", b"\x08\x08\x08"),
    (b"bKGD", bytes(6)),
    (b"pHYs", struct.pack(">IIB", 2835, 2835, 1)),
)


def clear() -> Image.Image:
    image = gradient("RGBA")
    image.putalpha(100)
    return image


def scaled_webp() -> bytes:
    """Whoever shows it may enlarge it by 5/4: this is no part of its size."""
    data = bytearray(WEBP)
    data[27] |= 0x40
    data[29] |= 0x40
    return bytes(data)


@pytest.mark.parametrize(
    "data",
    [
        PNG[:33] + b"".join(chunk(*each) for each in ABOUT_PIXELS) + PNG[33:],
        encoded(gradient("P"), transparency=3),
        JPEG[:2] + b"\xff" + JPEG[2:],
        JPEG[:2] + segment(0xEE, b"Adobe\0\x64\0\0\0\0\1") + JPEG[2:],
        encoded(gradient(), "JPEG", icc_profile=b"a profile"),
        encoded(gradient(), "JPEG", restart_marker_blocks=1),
        encoded(gradient(size=(200, 120)), "JPEG", restart_marker_blocks=1),
        JPEG[:-2] + segment(0xCC, bytes(8)) + JPEG[-2:],
        encoded(gradient(), "WEBP", icc_profile=b"odd"),
        encoded(clear(), "WEBP"),
        encoded(clear(), "WEBP", lossless=True),
        scaled_webp(),
    ],
)
def test_what_says_how_the_pixels_are_to_be_shown_stays(data):
    kept = clean_image(data)
    assert (kept.data, kept.reencoded) == (data, False)
    assert (kept.width, kept.height) == ((200, 120) if kept.width > 24 else (24, 16))


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGBA"])
def test_every_kind_of_pixel_that_browsers_show_is_kept(mode):
    data = encoded(gradient(mode), "PNG")
    kept = clean_image(data)
    assert (kept.data, kept.reencoded) == (data, False)


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP"])
def test_what_a_file_says_besides_its_pixels_is_left_out_and_no_pixel_changes(kind):
    data = encoded(gradient(), kind, exif=exif())
    assert SECRET.encode() in data
    kept = clean_image(data)
    assert kept.reencoded
    assert kept.suffix == ".png"
    assert SECRET.encode() not in kept.data
    with Image.open(io.BytesIO(data)) as before, Image.open(io.BytesIO(kept.data)) as after:
        assert before.convert("RGB").tobytes() == after.convert("RGB").tobytes()
        assert not after.getexif()
    assert not clean_image(kept.data).reencoded


def test_text_comments_thumbnails_and_what_stands_after_the_end_are_left_out():
    said = PngImagePlugin.PngInfo()
    said.add_text("parameters", SECRET)
    said.add_text("zipped", SECRET, zip=True)
    plain = encoded(gradient())
    made = [
        encoded(gradient(), pnginfo=said),
        plain + SECRET.encode(),
        plain[:-12] + chunk(b"caBX", SECRET.encode()) + plain[-12:],
        encoded(gradient(), "JPEG", comment=SECRET),
        encoded(gradient(), "JPEG") + SECRET.encode(),
        encoded(gradient(), "WEBP", xmp=SECRET.encode()),
        encoded(gradient(), "WEBP") + SECRET.encode(),
        PNG[:33] + chunk(b"tIME", b"\x07\xe6\1\1\1\1\1") + PNG[33:],
        JPEG[:2] + segment(0xE0, b"JFIF of " + SECRET.encode()) + JPEG[2:],
        JPEG[:2] + segment(0xE0, b"JFXX\0" + SECRET.encode()) + JPEG[2:],
        JPEG[:2] + segment(0xE2, b"FPXR\0" + SECRET.encode()) + JPEG[2:],
        JPEG[:2] + segment(0xEE, SECRET.encode()) + JPEG[2:],
        JPEG[:2] + segment(0xEF, SECRET.encode()) + JPEG[2:],
        riff(WEBP[12:] + b"ADA \0\0\0\0"),
    ]
    for data in made:
        kept = clean_image(data)
        assert kept.reencoded
        assert SECRET.encode() not in kept.data
        assert not clean_image(kept.data).reencoded


def test_a_picture_on_its_side_is_stored_as_it_is_seen():
    data = encoded(gradient(size=(24, 16)), "PNG", exif=exif(orientation=6))
    kept = clean_image(data)
    assert (kept.width, kept.height) == (16, 24)
    with Image.open(io.BytesIO(kept.data)) as after:
        assert after.getpixel((15, 0)) == gradient(size=(24, 16)).getpixel((0, 0))


def test_a_colour_profile_stays_since_it_says_what_the_pixels_mean():
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    assert not clean_image(encoded(gradient(), icc_profile=profile)).reencoded
    kept = clean_image(encoded(gradient(), "JPEG", icc_profile=profile, exif=exif()))
    assert kept.reencoded
    with Image.open(io.BytesIO(kept.data)) as after:
        assert after.info["icc_profile"] == profile


def test_transparency_of_a_palette_survives():
    image = gradient("P")
    data = encoded(image, transparency=3, exif=exif())
    with Image.open(io.BytesIO(data)) as before, Image.open(io.BytesIO(clean_image(data).data)) as after:
        assert before.convert("RGBA").tobytes() == after.convert("RGBA").tobytes()


def test_cmyk_is_stored_as_rgb_without_the_profile_of_its_inks():
    kept = clean_image(encoded(gradient("CMYK"), "JPEG", icc_profile=b"of inks"))
    assert kept.reencoded
    with Image.open(io.BytesIO(kept.data)) as after:
        assert (after.mode, "icc_profile" in after.info) == ("RGB", False)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "not a PNG, JPEG or WebP"),
        (b"GIF89a" + b"\0" * 40, "not a PNG, JPEG or WebP"),
        (b'<svg xmlns="http://www.w3.org/2000/svg"><script/></svg>', "not a PNG, JPEG or WebP"),
        (PNG[:4] + b"\n" + PNG[4:], "not a PNG, JPEG or WebP"),
        (JPEG[:2] + JPEG[3:], "not a PNG, JPEG or WebP"),
        (WEBP.replace(b"WEBP", b"WAVE"), "not a PNG, JPEG or WebP"),
        (WEBP.replace(b"RIFF", b"RIFX"), "not a PNG, JPEG or WebP"),
        (encoded()[:40], "cut short or damaged"),
        (JPEG[:20] + b"\1" + JPEG[20:], "JPEG file is damaged"),
        (PNG[:-20], r"PNG file is cut short\."),
        (JPEG[:-60], r"JPEG file is cut short\."),
        (WEBP[:-20], r"WebP file is cut short\."),
        (encoded(gradient("I;16")), "format is 'I;16'"),
        (encoded(pixels(), save_all=True, append_images=[pixels("red")]), "animation"),
        (encoded(pixels(), "WEBP", save_all=True, append_images=[pixels("red")]), "animation"),
        (encoded(pixels(), "MPO", save_all=True, append_images=[pixels("red")]), "animation"),
        (PNG[:-12] + chunk(b"acTL", bytes(8)) + PNG[-12:], "animation"),
        (riff(b"VP8X" + struct.pack("<II", 10, 2) + b"\x17\0\0\x0f\0\0" + WEBP[12:]), "animation"),
        *(
            (
                JPEG[:-2] + segment(marker, struct.pack(">BHHBBBB", 8, *size, 1, 1, 17, 0)) + JPEG[-2:],
                "two diff",
            )
            for marker, size in ((0xC0, (16, 25)), (0xCF, (17, 24)))
        ),
    ],
)
def test_what_is_no_still_picture_is_refused_with_a_reason(data, said):
    with pytest.raises(PictureRefused, match=said):
        clean_image(data)


def bomb_png(width: int, height: int) -> bytes:
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    body = chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(b"\0" * 1000)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body


def bomb_webp(**options) -> bytes:
    canvas = struct.pack("<I", 0) + (16382).to_bytes(3, "little") * 2
    return riff(b"VP8X" + struct.pack("<I", 10) + canvas + encoded(kind="WEBP", **options)[12:])


def bomb_jpeg() -> bytes:
    data = bytearray(encoded(kind="JPEG"))
    place = data.index(b"\xff\xc0")
    data[place + 5 : place + 9] = struct.pack(">HH", 65500, 65500)
    return bytes(data)


@pytest.mark.parametrize(
    "data",
    [
        *(bomb_png(2**31 - 1, 2**31 - 1), bomb_png(0, 5)),
        *(bomb_webp(), bomb_webp(lossless=True), bomb_jpeg()),
    ],
)
def test_a_small_file_that_claims_a_huge_picture_is_refused_before_it_is_decoded(data, monkeypatch):
    def never(*args, **options):
        raise AssertionError("decoded")

    monkeypatch.setattr(decoding.Image, "open", never)
    with pytest.raises(PictureRefused, match="pixels; the limit is 40 million"):
        clean_image(data)


@pytest.mark.parametrize(
    ("limit", "most", "said"), [("MAX_BYTES", len(PNG), "MB"), ("MAX_PIXELS", 24 * 16, "pix")]
)
def test_a_file_may_be_as_large_as_the_limit(limit, most, said, monkeypatch):
    monkeypatch.setattr(decoding, limit, most)
    assert clean_image(PNG).data == PNG
    monkeypatch.setattr(decoding, limit, most - 1)
    with pytest.raises(PictureRefused, match=said):
        clean_image(PNG)


# pillow warns of a damaged EXIF, which is not kept
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP"])
def test_damage_anywhere_ends_in_a_refusal_or_in_a_picture_and_in_nothing_else(kind):
    generator = random.Random(f"damage {kind}")
    whole = encoded(gradient(size=(40, 30)), kind, exif=exif())
    refused = 0
    for _ in range(400):
        data = bytearray(whole)
        for _ in range(generator.randint(1, 4)):
            data[generator.randrange(len(data))] = generator.randrange(256)
        if generator.random() < 0.3:
            del data[generator.randrange(len(data)) :]
        try:
            assert clean_image(bytes(data)).width <= decoding.MAX_PIXELS
        except PictureRefused:
            refused += 1
    assert refused > 50
