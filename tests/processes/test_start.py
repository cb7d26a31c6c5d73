"""What the program imports to start: every process of it waits for that, and keeps it in memory."""

from __future__ import annotations

import pytest

from tests.processes.conftest import Installation

pytestmark = pytest.mark.processes
# only some jobs and pages use them, and each takes long
LATER = ("altair", "pandas", "scipy", "torch", "vl_convert")
PAGES = f"""
import sys, django
django.setup()
import visage_app.urls
early = set({LATER!r}) & set(sys.modules)
assert not early, early
"""


def test_pages_are_there_before_what_only_some_of_them_use_is_imported(installation: Installation):
    installation.env["DJANGO_SETTINGS_MODULE"] = "visage_app.settings"
    installation.run("-c", PAGES, cold=True)
