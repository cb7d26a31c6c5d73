"""Files of forms while they are being sent (tests/processes/test_faults_disk.py fills a real disk)."""

from __future__ import annotations

import errno
import os

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from annotation.images import upload_spool
from tests import factories

pytestmark = pytest.mark.django_db
LARGE = 3_000_000
TOKEN = "t" * 32


@pytest.fixture(autouse=True)
def spool(settings, tmp_path):
    settings.UPLOADS_UNFINISHED = tmp_path / "spool"
    return tmp_path / "spool"


@pytest.fixture
def maker():
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(factories.user("root", admin=True))
    browser.cookies["csrftoken"] = TOKEN
    return browser


def send(browser):
    said = {
        "csrfmiddlewaretoken": TOKEN,
        "name": "sent",
        "axis": "nationality",
        "file": SimpleUploadedFile("p.zip", os.urandom(LARGE)),
    }
    return browser.post(reverse("upload"), said)


def test_a_large_file_lies_in_its_folder_and_under_no_name(maker, spool, monkeypatch):
    seen = []
    write = upload_spool.SpoolingUploadHandler.file_complete

    def look(self, size):
        found = write(self, size)
        held = os.fstat(found.file.fileno())
        seen.append((held.st_nlink, held.st_dev == spool.stat().st_dev, list(spool.iterdir()), found.size))
        return found

    monkeypatch.setattr(upload_spool.SpoolingUploadHandler, "file_complete", look)
    shown = send(maker)
    assert "not a complete ZIP file" in shown.text, "it is read from there"
    assert seen == [(0, True, [], LARGE)]


@pytest.mark.parametrize(
    ("call", "fault"),
    [*((call, errno.ENOSPC) for call in ("open", "write", "close")), ("write", errno.EDQUOT)],
)
def test_a_disk_that_is_full_at_any_moment_is_said(maker, monkeypatch, caplog, call, fault):
    made = upload_spool.tempfile.TemporaryFile

    class Full:
        """Finds no room at `call`; what is written goes out at the end only, if that is closing."""

        def __init__(self, file):
            self._file, self._closed = file, False

        def _full(self):
            raise OSError(fault, os.strerror(fault))

        def write(self, data):
            return self._full() if call == "write" else self._file.write(data)

        def seek(self, place):
            self._full()

        def close(self):
            if not self._closed:
                self._closed = True
                self._file.close()
                self._full()

    def opened(**options):
        if call == "open":
            raise OSError(fault, os.strerror(fault))
        return Full(made(**options))

    monkeypatch.setattr(upload_spool.tempfile, "TemporaryFile", opened)
    shown = send(maker)
    assert shown.status_code == 507
    assert "Nothing you sent was saved." in shown.text
    assert os.strerror(fault) in caplog.text


def test_another_fault_of_the_disk_is_none_of_room(maker, monkeypatch):
    def refuse(**options):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(upload_spool.tempfile, "TemporaryFile", refuse)
    with pytest.raises(OSError, match="Input/output error"):
        send(maker)
