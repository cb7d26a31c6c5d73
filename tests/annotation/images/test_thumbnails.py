"""Small copies of images: small, of the same people, kept, and gone with the image."""

import io
import struct
import zlib

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.urls import reverse
from PIL import Image as Picture

from annotation.images import files, shrinking, thumbnails
from annotation.images.shrinking import CannotShrink, shrink
from tests import factories
from tests.annotation.images.test_view import study_showing


def png(width=800, height=400, mode="RGB", kind="PNG", **options) -> bytes:
    stored = io.BytesIO()
    Picture.effect_noise((width, height), 60).convert(mode).save(stored, format=kind, **options)
    return stored.getvalue()


WHOLE = png()
"""What most tests store."""


def bomb() -> bytes:
    """A PNG of some dozen bytes that claims 60 000 x 60 000 pixels."""
    header = struct.pack(">IIBBBBB", 60_000, 60_000, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(b"")), (b"IEND", b""))
    parts = (
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in chunks
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def opened(data: bytes):
    return Picture.open(io.BytesIO(data))


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP", "GIF"])
def test_a_copy_is_a_smaller_webp_in_the_same_proportions(kind):
    whole = png(kind=kind)
    small = shrink(whole, side=320)
    assert (opened(small).format, opened(small).size) == ("WEBP", (320, 160))
    assert len(small) < len(whole) / 2


def test_a_small_image_is_not_enlarged():
    assert opened(shrink(png(100, 60), side=320)).size == (100, 60)


def test_a_copy_is_upright_and_without_metadata():
    exif = Picture.Exif()
    exif[0x0112] = 6  # turned by a quarter
    exif[0x010F] = "a camera"
    said = {"icc_profile": b"of a camera", "xmp": b"a camera", "comment": b"a camera"}
    whole = png(kind="JPEG", exif=exif, **said)
    assert b"camera" not in shrink(whole, side=320, form="JPEG")
    small = shrink(whole, side=320)
    assert opened(small).size == (160, 320)
    assert not {"exif", "icc_profile", "xmp"} & set(opened(small).info)
    assert b"camera" not in small


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGBA"])
def test_every_stored_kind_of_pixels_can_be_shrunk(mode):
    assert opened(shrink(png(mode=mode), side=320)).size == (320, 160)


def test_what_is_transparent_stays_so():
    clear = io.BytesIO()
    Picture.new("RGBA", (800, 400), (255, 0, 0, 100)).save(clear, format="PNG")
    assert opened(shrink(clear.getvalue(), side=320)).convert("RGBA").getpixel((9, 9))[3] == 100


@pytest.mark.parametrize(
    "data", [b"", b"no image", WHOLE[:-200], bomb()], ids=["empty", "text", "cut", "bomb"]
)
def test_what_cannot_be_decoded_safely_is_refused(data):
    with pytest.raises(CannotShrink):
        shrink(data, side=320)


def test_an_image_of_the_most_pixels_is_shrunk_and_a_larger_one_is_not(monkeypatch):
    monkeypatch.setattr(shrinking, "MAX_PIXELS", 6000)
    assert opened(shrink(png(100, 60), side=50)).size == (50, 30)
    with pytest.raises(CannotShrink, match="100 × 61 pixels"):
        shrink(png(100, 61), side=50)


def test_a_transparent_colour_of_a_palette_stays_so_and_is_none_of_a_jpeg():
    stored = io.BytesIO()
    Picture.new("P", (800, 400), 0).save(stored, format="PNG", transparency=0)
    assert opened(shrink(stored.getvalue(), side=320)).convert("RGBA").getpixel((9, 9))[3] == 0
    assert opened(shrink(stored.getvalue(), side=320, form="JPEG")).mode == "RGB"


@pytest.fixture
def image(db):
    made = factories.image()
    name, made.sha256 = files.store(WHOLE)
    made.file.name = name
    made.save()
    return made


def url_of(image, side=320):
    return reverse("thumbnail_file", args=[image.pk, side])


def as_lead(client, image):
    lead = factories.user()
    study_showing(image, leads=[lead])
    client.force_login(lead)


def test_a_copy_is_made_once_and_cached_privately(client, image, monkeypatch):
    as_lead(client, image)
    first = client.get(url_of(image))
    assert (first.status_code, first["Content-Type"]) == (200, "image/webp")
    assert first["Cache-Control"] == "private, max-age=86400, immutable"
    assert first["X-Content-Type-Options"] == "nosniff"
    assert default_storage.exists(f"thumbnails/{image.sha256}-320.webp")
    monkeypatch.setattr(thumbnails, "shrink", None)  # it is not called again
    assert client.get(url_of(image)).content == first.content
    assert client.get(url_of(image), headers={"If-None-Match": first["ETag"]}).status_code == 304
    assert client.get(url_of(image), headers={"If-None-Match": '"0"'}).content == first.content


def test_other_sizes_are_not_made(client, image):
    as_lead(client, image)
    assert [client.get(url_of(image, side)).status_code for side in (0, 321, 10**30)] == [404, 404, 404]
    large, small = client.get(url_of(image, 640)), client.get(url_of(image))
    assert (opened(large.content).width, opened(small.content).width) == (640, 320)
    assert large["ETag"] != small["ETag"]


def test_who_may_not_see_the_image_sees_no_copy(client, image):
    assert client.get(url_of(image)).status_code == 302
    client.force_login(factories.user())
    assert client.get(url_of(image)).status_code == 404
    assert not default_storage.exists(f"thumbnails/{image.sha256}-320.webp")


def test_an_image_that_was_taken_out_has_no_copy_either(client, image):
    as_lead(client, image)
    etag = client.get(url_of(image))["ETag"]
    default_storage.delete(image.file.name)
    assert client.get(url_of(image)).status_code == 404
    assert client.get(url_of(image), headers={"If-None-Match": etag}).status_code == 404


def test_a_damaged_file_is_not_found(client, image):
    as_lead(client, image)
    image.file.save("broken.png", ContentFile(b"\x89PNG\r\n\x1a\nnot really"))
    assert client.get(url_of(image)).status_code == 404


def test_a_full_disk_does_not_keep_it_from_being_shown(client, image, monkeypatch):
    def full(*_):
        raise OSError("No space left on device")

    as_lead(client, image)
    monkeypatch.setattr(files, "write", full)
    assert client.get(url_of(image)).status_code == 200


def test_a_storage_that_does_not_answer_is_asked_again(client, image, monkeypatch):
    def away(*_, **__):
        raise OSError("away")

    as_lead(client, image)
    monkeypatch.setattr(type(default_storage._wrapped), "open", away)
    answer = client.get(url_of(image))
    assert (answer.status_code, answer["Cache-Control"]) == (503, "no-store")


def test_copies_are_kept_in_a_storage_that_is_no_folder_too(client, settings, db):
    settings.STORAGES = {
        **settings.STORAGES,
        "default": {"BACKEND": "django.core.files.storage.InMemoryStorage"},
    }
    image = factories.image()
    image.file.name, image.sha256 = files.store(png())
    image.save()
    as_lead(client, image)
    first = client.get(url_of(image))
    assert first.status_code == 200
    with default_storage.open(f"thumbnails/{image.sha256}-320.webp") as kept:
        assert kept.read() == first.content
