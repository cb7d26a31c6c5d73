"""How the rooms of each app may be used (docs/adr/0012-rooms.md). import-linter holds their order."""

from pathlib import Path

import grimp
import pytest

APPS = ("annotation", "generation", "metrics", "visage_app")
OWN = {"views", "api", "forms"}
"""Modules of a room that are for itself alone."""
ROOT = Path(__file__).resolve().parents[1]


def test_nothing_imports_the_pages_forms_or_api_of_another_room():
    graph = grimp.build_graph(*APPS, include_external_packages=False, exclude_type_checking_imports=False)
    wrong = []
    for imported in graph.modules:
        app, room, *rest = [*imported.split("."), "", ""]
        if rest[0] not in OWN:
            continue
        for importer in graph.find_modules_that_directly_import(imported):
            # the addresses of an app name the views of all its rooms
            if not importer.startswith((f"{app}.{room}.", f"{app}.urls")):
                wrong.append(f"{importer} -> {imported}")
    assert sorted(wrong) == []


@pytest.mark.parametrize("app", APPS)
def test_an_app_has_few_modules_of_its_own(app):
    assert len(list((ROOT / app).glob("*.py"))) <= 12
