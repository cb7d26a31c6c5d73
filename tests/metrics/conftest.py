"""Who looks at scores, and what they see."""

import pytest

from metrics.core.charts import figure
from metrics.planning import curves
from tests import checked_charts, factories


@pytest.fixture
def lead(client):
    """Somebody who is logged in, to be made the lead of a study."""
    made = factories.user()
    client.force_login(made)
    return made


@pytest.fixture(autouse=True)
def _charts_are_checked(monkeypatch):
    monkeypatch.setattr(figure, "_specification", checked_charts.specification)


@pytest.fixture
def few_studies(monkeypatch) -> None:
    """As few as there may be simulated for a plan: for what is shown of it, not how it is computed."""
    monkeypatch.setattr(curves, "_MAIN_SECONDS", 0.0)
    monkeypatch.setattr(curves, "_CURVE_SECONDS", 0.0)


@pytest.fixture
def undrawn(monkeypatch) -> None:
    """No picture is drawn: for what a page says around it. The charts are made, and checked."""
    monkeypatch.setattr(figure, "_draw", lambda spec, file_format: b"<svg></svg>")
