"""Which tests count for coverage.

To follow each line makes a test take twice as long. So coverage follows imports and, but for those below,
what a test does and what is set up for it.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

NOT_COUNTED = {
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
_UNFOLLOWED = pytest.StashKey[bool]()


def choose(items: list[pytest.Item]) -> None:
    """Note of each of `items` whether it counts."""
    for item in items:
        marks = {mark.name for mark in item.iter_markers()}
        module = item.getparent(pytest.Module)
        assert module is not None
        item.stash[_UNFOLLOWED] = bool(NOT_COUNTED & {module.obj.__name__, *marks})


@contextmanager
def followed(item: pytest.Item) -> Iterator[None]:
    """Around a test: nothing is followed if it does not count."""
    if not item.stash[_UNFOLLOWED]:
        yield
        return
    with _paused(item.config):
        yield


@contextmanager
def imports_alone(config: pytest.Config) -> Iterator[None]:
    """Around the collection of tests, which takes three times as long where it is followed: of it, the
    modules of the program that tests import are what counts."""
    if not _controller(config):
        yield
        return
    for name in PACKAGES:
        package = importlib.import_module(name)
        for module in pkgutil.walk_packages(package.__path__, f"{name}."):
            # the application that a server runs is made by its import, and wants static files
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
    """What follows lines in this process; None if the run has no --cov."""
    plugin = config.pluginmanager.getplugin("_cov")
    return plugin and plugin.cov_controller
