"""Which tests coverage traces.

Tracing makes a test take twice as long. So coverage traces the imports of the program and every test, with
what is set up for it, except those listed here. Of a test with many parameters it traces the first two: the
rest run the same lines, but for a few, which then count as not run.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

NOT_TRACED = {
    "browser",
    "processes",
    "release",
    "tests.test_access",
    "tests.test_api_access",
    "tests.test_lists",
    "tests.test_mass_assignment",
    "tests.test_other_teams",
    "tests.metrics.machine_judges.test_wall",
    "tests.visage_app.test_api_contract",
    "tests.visage_app.test_api_hostile",
}
"""Marks and modules. Their tests run many lines and say little of each, or few of them a million times."""

PACKAGES = ("annotation", "generation", "metrics", "visage_app")
CASES_TRACED = 2
_UNTRACED = pytest.StashKey[bool]()


def select(items: list[pytest.Item]) -> None:
    """Note for each test whether it is traced."""
    cases: Counter[str] = Counter()
    for item in items:
        test = item.nodeid.partition("[")[0]
        cases[test] += 1
        marks = {mark.name for mark in item.iter_markers()}
        module = item.getparent(pytest.Module)
        assert module is not None
        listed = bool(NOT_TRACED & {module.obj.__name__, *marks})
        item.stash[_UNTRACED] = listed or cases[test] > CASES_TRACED


@contextmanager
def traced(item: pytest.Item) -> Iterator[None]:
    """Around a test: pauses coverage if the test is not traced."""
    if not item.stash[_UNTRACED]:
        yield
        return
    with _paused(item.config):
        yield


@contextmanager
def only_imports_traced(config: pytest.Config) -> Iterator[None]:
    """Around the collection of tests, which takes three times as long when it is traced. Imports the program
    first, so that these lines count, and pauses coverage for the rest."""
    if not _controller(config):
        yield
        return
    for name in PACKAGES:
        package = importlib.import_module(name)
        for module in pkgutil.walk_packages(package.__path__, f"{name}."):
            # the application that a server runs is made by its import, and needs static files
            if ".migrations" not in module.name and module.name != "visage_app.wsgi":
                importlib.import_module(module.name)
    with _paused(config):
        yield


@contextmanager
def _paused(config: pytest.Config) -> Iterator[None]:
    controller = _controller(config)
    if not controller:
        yield
        return
    controller.pause()
    try:
        yield
    finally:
        controller.resume()


def _controller(config: pytest.Config):
    """pytest-cov's controller in this process; None without --cov."""
    plugin = config.pluginmanager.getplugin("_cov")
    return plugin and plugin.cov_controller
