"""The examples in docstrings are run, so that they stay true."""

import doctest
import importlib

import pytest

from tests.conftest import ROOT
from tests.traced import PACKAGES

NEED_NONE = {"__init__", "checks", "offensiveness_scale"}
"""Modules of statistics without an example."""


def modules():
    """Those with examples, and all of statistics."""
    for package in PACKAGES:
        for file in sorted((ROOT / package).rglob("*.py")):
            *parts, name = file.relative_to(ROOT).with_suffix("").parts
            of_statistics = "stats" in (*parts, name) and name not in NEED_NONE
            if of_statistics or ">>> " in file.read_text(encoding="utf-8"):
                yield ".".join(parts if name == "__init__" else (*parts, name))


@pytest.mark.parametrize("name", list(modules()))
def test_every_example_gives_what_it_says(name):
    result = doctest.testmod(importlib.import_module(name))
    assert result.failed == 0
    assert result.attempted
