"""A backup of everything, made once for all tests that restore it or change it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.visage_app.backup.world import emptied, installation, said_nothing
from visage_app.backup.services import writing


@pytest.fixture(scope="session")
def kept(tmp_path_factory):
    """Where the backup of these tests is once the first of them has made it."""
    return tmp_path_factory.mktemp("kept") / "all.tar"


@pytest.fixture
def path(kept, tmp_path, transactional_db):
    """A copy of it; the installation is empty."""
    if not kept.exists():
        installation()
        writing.backup(path=kept, progress=said_nothing)
        emptied()
    return Path(shutil.copy(kept, tmp_path))
