"""Files of images: whole under their hash or not there, in a folder or elsewhere."""

from __future__ import annotations

import errno
import hashlib
import os
import time
from pathlib import Path
from threading import Barrier, Thread

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import InMemoryStorage, default_storage

from annotation.images import files as image_files

DATA = b"not really a picture" * 1000
NAME = f"images/{hashlib.sha256(DATA).hexdigest()}.png"


def folder(settings) -> list[str]:
    found = Path(settings.MEDIA_ROOT) / "images"
    return sorted(path.name for path in found.iterdir()) if found.is_dir() else []


def test_a_file_bears_its_hash_and_can_be_read_by_a_web_server_of_another_account(settings):
    name, sha256 = image_files.store(DATA)
    assert (name, sha256) == (NAME, hashlib.sha256(DATA).hexdigest())
    assert Path(default_storage.path(name)).read_bytes() == DATA
    assert Path(default_storage.path(name)).stat().st_mode & 0o777 == 0o644
    assert image_files.store(DATA, suffix=".jpg")[0].endswith(".jpg")


def test_the_same_bytes_again_leave_the_file_alone():
    name, _ = image_files.store(DATA)
    before = Path(default_storage.path(name)).stat().st_ino
    assert image_files.store(DATA)[0] == name
    assert Path(default_storage.path(name)).stat().st_ino == before


@pytest.mark.parametrize("damaged", [b"", DATA[:-1], b"x" * len(DATA)])
def test_a_damaged_file_is_mended(damaged, settings):
    name, sha256 = image_files.store(DATA)
    Path(default_storage.path(name)).write_bytes(damaged)
    assert not image_files.is_stored(name, sha256=sha256)
    image_files.store(DATA)
    assert image_files.is_stored(name, sha256=sha256)
    assert len(folder(settings)) == 1


@pytest.mark.parametrize("step", ["fsync", "fchmod", "replace"])
def test_a_disk_that_is_full_leaves_nothing_behind(step, monkeypatch, settings):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(*((Path, step) if step == "replace" else (os, step)), full)
    with pytest.raises(OSError, match="No space left"):
        image_files.store(DATA)
    assert folder(settings) == []
    monkeypatch.undo()
    image_files.store(DATA)
    assert len(folder(settings)) == 1


def leftover(settings, *, hours: float) -> Path:
    """A temporary file whose writer was killed."""
    found = Path(settings.MEDIA_ROOT) / "images" / f".part-{hours}"
    found.parent.mkdir(parents=True, exist_ok=True)
    found.write_bytes(DATA[:5])
    written = time.time() - hours * 3600
    os.utime(found, (written, written))
    return found


def test_only_what_killed_writers_left_a_day_ago_is_swept(settings):
    assert image_files.sweep_unfinished() == 0  # there is no folder yet
    old, fresh = leftover(settings, hours=24.1), leftover(settings, hours=23.9)
    (old.parent / ".part-gone").symlink_to("nowhere")  # as one that its writer has just renamed
    image = Path(default_storage.path(image_files.store(DATA)[0]))
    os.utime(image, (0, 0))
    assert image_files.sweep_unfinished() == 1
    assert (old.exists(), fresh.exists(), image.exists()) == (False, True, True)


@pytest.mark.parametrize("storage", ["folder", "elsewhere"])
def test_many_who_write_the_same_file_at_once_leave_one_whole(storage, settings):
    if storage == "elsewhere":
        elsewhere(settings)
    barrier, failed = Barrier(8), []

    def write():
        barrier.wait()
        try:
            image_files.store(DATA)
        except Exception as error:
            failed.append(error)

    threads = [Thread(target=write) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert default_storage.listdir("images")[1] == [NAME.removeprefix("images/")]
    assert image_files.sweep_unfinished() == 0
    with default_storage.open(NAME) as file:
        assert file.read() == DATA


def elsewhere(settings):
    settings.STORAGES = {
        **settings.STORAGES,
        "default": {"BACKEND": "django.core.files.storage.InMemoryStorage"},
    }


def test_a_storage_that_is_no_folder_keeps_it_under_the_same_name(settings):
    elsewhere(settings)
    assert isinstance(default_storage, InMemoryStorage)
    assert image_files.store(DATA)[0] == NAME
    assert image_files.store(DATA)[0] == NAME
    default_storage.delete(NAME)
    default_storage.save(NAME, ContentFile(b"damaged"))
    assert image_files.store(DATA)[0] == NAME
    with default_storage.open(NAME) as file:
        assert file.read() == DATA
    assert default_storage.listdir("images")[1] == [NAME.removeprefix("images/")]
    leftover(settings, hours=25)  # not this storage's
    assert image_files.sweep_unfinished() == 0


def test_what_another_process_mends_at_the_same_time_is_kept_once(settings, monkeypatch):
    elsewhere(settings)
    default_storage.save(NAME, ContentFile(b"damaged"))
    delete = InMemoryStorage.delete

    def mended_by_another(storage, name):
        delete(storage, name)
        if name == NAME:
            storage.save(NAME, ContentFile(DATA))

    monkeypatch.setattr(InMemoryStorage, "delete", mended_by_another)
    assert image_files.store(DATA)[0] == NAME
    assert default_storage.listdir("images")[1] == [NAME.removeprefix("images/")]
