"""What is kept of a database that was migrated for the tests of this process."""

from pathlib import Path

import pytest

MIGRATED = pytest.StashKey[Path]()
"""A copy of it before the first test (SQLite), once there is one."""
