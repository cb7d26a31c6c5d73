"""ZIPs that nobody packs in good faith: refused with a reason, and nothing here breaks over them."""

from __future__ import annotations

import io
import struct
import warnings
import zipfile

import pytest

from annotation.models import Image
from tests import factories
from tests.annotation.api.calls import Program
from tests.generation.uploads.bundles import encoded, table, zipped

pytestmark = pytest.mark.django_db


@pytest.fixture
def program():
    return Program(factories.user("root", admin=True))


def send(program, body: bytes, **headers):
    return program.client.post(
        "/api/v1/image-sets/brought/bundle?new_groups=true",
        body,
        content_type="application/zip",
        headers={"Authorization": f"Bearer {program.secret}", **headers},
    )


def test_a_zip_that_says_it_is_packed_again(program):
    body = zipped({"1.png": encoded(), "t.csv": _mexican()}).getvalue()
    answer = send(program, body, **{"Content-Encoding": "gzip", "Expect": "100-continue"})
    assert answer.status_code in (200, 415, 422)


def _mexican(png: str = "1.png") -> str:
    return table({"file": png, "group": "Mexican"})


def _bundles() -> dict[str, bytes]:
    good = zipped({"1.png": encoded(), "t.csv": _mexican()}).getvalue()
    twice = io.BytesIO()
    with zipfile.ZipFile(twice, "w") as archive:
        archive.writestr("1.png", encoded())
        with warnings.catch_warnings(action="ignore"):
            archive.writestr("1.png", b"other")
        archive.writestr("t.csv", _mexican())
    lzma = io.BytesIO()
    with zipfile.ZipFile(lzma, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("1.png", encoded())
        archive.writestr("t.csv", _mexican())
    end, long = good.rindex(b"PK\x05\x06"), "x" * 200_000
    # of a member in the directory, up to how it is packed
    head = b"PK\x01\x02\x14\x03\x14\0\0\0"
    many = good[: end + 8] + struct.pack("<HH", 65535, 65535) + good[end + 12 :]
    return {
        "cut short": good[:-30],
        "with something before": b"GIF89a" * 1000 + good,
        "two members of one name": twice.getvalue(),
        "says it has more members than it has": many,
        "says its directory is elsewhere": good[: end + 16] + b"\xff\xff\xff\x7f" + good[end + 20 :],
        "wrong checksums": good.replace(good[14:18], b"\0\0\0\0"),
        "unknown packing": good.replace(head + b"\0\0", head + b"\x63\0"),
        "damaged where few pack so": lzma.getvalue()[:50] + b"\xff" * 30 + lzma.getvalue()[80:],
        "encrypted": good.replace(head, head[:-2] + b"\x01\0"),
        "NUL in a name": zipped({"1.png": encoded(), "t.csv": "file,group\n1\0.png,Mexican\n"}).getvalue(),
        "NUL in a group": zipped({"1.png": encoded(), "t.csv": "file,group\n1.png,Mex\0ican\n"}).getvalue(),
        "half a character": zipped({"1.png": encoded(), "t.csv": b"file,group\n1.png,\xff\n"}).getvalue(),
        "long group": zipped({"1.png": encoded(), "t.csv": f"file,group\n1.png,{long}\n"}).getvalue(),
        "a folder called like a picture": zipped({"1.png/": b"", "t.csv": _mexican("1.png/")}).getvalue(),
        "a table without end of quotes": zipped(
            {"1.png": encoded(), "t.csv": 'file,group\n1.png,"Mexican\n'}
        ).getvalue(),
    }


@pytest.mark.parametrize("name", sorted(_bundles()))
def test_a_bundle_that_is_not_what_it_seems(program, name):
    factories.group("Mexican")
    answer = send(program, _bundles()[name])
    # what a ZIP's readers forgive may be brought in, whole
    assert answer.status_code in (200, 422), (answer.status_code, answer.content[:300])
    assert Image.objects.count() == (answer.status_code == 200)
