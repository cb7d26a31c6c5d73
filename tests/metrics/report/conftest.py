"""What the tests of a report share."""

from __future__ import annotations

from pathlib import Path

import pytest

from annotation.models import Study
from tests.metrics import cast
from tests.metrics.report import world


@pytest.fixture
def small(monkeypatch) -> Study:
    """Stored scores of a few answers; no figures, which take long to draw."""
    monkeypatch.setattr("metrics.report.figures.WANTED", ())
    study = cast.depiction_study(name="small", title="Small")
    world.compute(study, "tendency", "likelihood")
    return study


@pytest.fixture
def english_alone(settings) -> None:
    """For what does not depend on the language: test_report_folder.py reads the pages of all."""
    settings.LANGUAGES = [("en", "English")]


@pytest.fixture
def folder(tmp_path) -> Path:
    return tmp_path / "report"
