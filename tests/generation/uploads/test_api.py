"""Finished pictures brought in by a program."""

from __future__ import annotations

import pytest

from annotation.models import AuditEvent, Image
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
    assert Image.objects.get().image_set.licence == "CC0"
    assert AuditEvent.objects.filter(what="finished images imported").exists()


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
