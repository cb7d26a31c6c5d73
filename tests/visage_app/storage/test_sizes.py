"""Sizes of the disk and of the stored files, as far as they can be counted in the time there is."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from django.utils import timezone

from visage_app.storage import queries


def test_two_gigabytes_are_enough_and_less_is_little():
    files = queries.Files(0, None, None, True, timezone.now())
    for free, little in ((2 * 1024**3 - 1, True), (2 * 1024**3, False)):
        assert queries.Storage("", 0, free, files).little_space is little


def test_free_space_is_that_of_the_nearest_folder_there_is(settings, tmp_path, monkeypatch):
    asked = []

    def disk_usage(path):
        asked.append(path)
        return SimpleNamespace(total=9, used=2, free=7)

    monkeypatch.setattr(queries.shutil, "disk_usage", disk_usage)
    for folder in (tmp_path / "none" / "yet", tmp_path):
        settings.VAR_DIR = folder
        assert queries.disk_free() == 7
    assert asked == [tmp_path] * 2


@pytest.mark.django_db
def test_files_are_counted_every_five_minutes(monkeypatch):
    asked = []
    monkeypatch.setattr(queries.cache, "get_or_set", lambda *given: asked.append(given))
    assert queries.storage().database_size == queries.database_size() > 10_000
    assert asked == [(queries.FILES_KEY, queries._count_files, 300)]


@pytest.mark.django_db
def test_what_was_counted_when_the_time_is_over_is_told(settings, tmp_path, monkeypatch):
    settings.MEDIA_ROOT = tmp_path
    for name in "abc":
        (tmp_path / name).write_bytes(b"x" * 100)
    moments = iter((10.0, 10.1, 10.5, 10.6))
    monkeypatch.setattr(queries.time, "monotonic", lambda: next(moments))
    cut = queries._count_files()
    assert (cut.count, cut.size, cut.whole) == (2, 200, False)
