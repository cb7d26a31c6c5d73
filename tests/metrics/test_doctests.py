"""The examples in the docstrings of the statistics are run, so that they stay true."""

import doctest
import importlib
import pkgutil

import pytest

import metrics.stats

MODULES = [module.name for module in pkgutil.iter_modules(metrics.stats.__path__)]


@pytest.mark.parametrize("name", MODULES)
def test_every_example_gives_what_it_says(name):
    result = doctest.testmod(importlib.import_module(f"metrics.stats.{name}"))
    assert result.failed == 0
    assert result.attempted or name == "checks"
