"""The examples in the docstrings of the statistics are run, so that they stay true."""

import doctest
import importlib
import pkgutil

import pytest

import metrics

MODULES = [
    module.name
    for module in pkgutil.walk_packages(metrics.__path__, "metrics.")
    if "stats" in module.name.split(".") and not module.ispkg
]


@pytest.mark.parametrize("name", MODULES)
def test_every_example_gives_what_it_says(name):
    result = doctest.testmod(importlib.import_module(name))
    assert result.failed == 0
    assert result.attempted or name.endswith((".checks", ".offensiveness_scale"))
