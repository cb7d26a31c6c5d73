"""Finished pictures brought in by a program."""

from __future__ import annotations

import errno
import io
from types import SimpleNamespace

import pytest

from annotation.api.errors import InsufficientStorage
from annotation.models import AuditEvent, Image
from generation.uploads import api
from tests import factories
from tests.annotation.api.calls import Program, is_problem
from tests.generation.uploads.bundles import encoded, table, zipped

pytestmark = pytest.mark.django_db
FILES = {"1.png": encoded(), "t.csv": table({"file": "1.png", "group": "Mexican", "note": "mine"})}


@pytest.fixture
def program():
    return Program(factories.user("admin", admin=True), "manage")


def send(program, body: bytes, query: str = "", kind: str = "application/zip"):
    return program.client.post(
        f"/api/v1/image-sets/brought/bundle{query}",
        body,
        content_type=kind,
        headers={"Authorization": f"Bearer {program.secret}"},
    )


def test_a_zip_becomes_an_image_set_once(program):
    body = zipped(FILES).getvalue()
    made = send(program, body, "?title=Brought&licence=CC0").json()
    assert (made["image_set"], made["created"], made["unchanged"]) == ("brought", 1, 0)
    assert send(program, body).json()["unchanged"] == 1
    image_set = Image.objects.get().image_set
    assert (image_set.title, image_set.licence) == ("Brought", "CC0")
    assert AuditEvent.objects.get(what="finished images imported").by.username == "admin"
    assert "under the licence" in is_problem(send(program, body, "?licence=CC-BY-4.0"), 422)["detail"]


def test_groups_that_nobody_knows_are_made_on_the_axis_that_is_named_when_asked_for(program):
    unknown = {"1.png": encoded(), "t.csv": table({"file": "1.png", "group": "Left-handed"})}
    body = zipped(unknown).getvalue()
    assert "Left-handed" in is_problem(send(program, body, "?axis=other"), 422)["detail"]
    assert send(program, body, "?axis=other&new_groups=true").status_code == 200
    assert Image.objects.get().group.axis == "other"


def test_a_client_that_calls_no_file_by_its_kind_sends_plain_bytes(program):
    made = send(program, zipped(FILES).getvalue(), "?title=Brought", "application/octet-stream")
    assert made.json()["created"] == 1


@pytest.mark.parametrize(
    ("body", "query", "status", "why"),
    [
        (b"not a zip", "", 422, "not a complete ZIP file"),
        (b"", "", 422, "empty"),
        (zipped({"1.png": encoded()}).getvalue(), "", 422, "CSV"),
        (b"", "?axis=shoes", 400, "axis"),
    ],
)
def test_what_cannot_be_brought_in_is_refused_and_nothing_is_kept(program, body, query, status, why):
    assert why.lower() in is_problem(send(program, body, query), status)["detail"].lower()
    assert not Image.objects.exists()


def test_what_is_too_large_is_not_read(program, settings):
    settings.UPLOAD_MAX_MB = 0
    assert "import_images" in is_problem(send(program, b"PK"), 413)["detail"]
    settings.UPLOAD_MAX_MB = 1
    body = zipped(FILES).getvalue()
    # a ZIP may have something before it
    assert send(program, bytes(1_000_000 - len(body)) + body).status_code == 200


@pytest.mark.parametrize("fails", ["write", "seek"])
def test_a_disk_that_is_full_is_said_after_the_whole_body_is_read(monkeypatch, settings, tmp_path, fails):
    settings.UPLOADS_UNFINISHED = tmp_path / "spool"

    def fail(number):
        raise OSError(number, "no")

    def opened(*, dir, number=errno.ENOSPC, **options):
        assert dir == str(tmp_path / "spool")
        calls = {"write": len, "seek": abs, "close": lambda: fail(errno.ENOSPC)}
        return SimpleNamespace(**{**calls, fails: lambda data: fail(number)})

    context = {"request": SimpleNamespace(headers={})}
    monkeypatch.setattr(api.tempfile, "SpooledTemporaryFile", opened)
    sent = io.BytesIO(bytes(3_000_000))
    with pytest.raises(InsufficientStorage):
        api.ZipBody().parse(sent, parser_context=context)
    assert sent.read() == b""
    monkeypatch.setattr(api.tempfile, "SpooledTemporaryFile", lambda **said: opened(**said, number=errno.EIO))
    with pytest.raises(OSError, match="no"):
        api.ZipBody().parse(io.BytesIO(b"PK"), parser_context=context)
