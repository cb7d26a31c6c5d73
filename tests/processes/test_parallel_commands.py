"""The same command twice at the same moment: both end well, and what they make is there once."""

from __future__ import annotations

import pytest

from tests.processes.conftest import Installation

pytestmark = pytest.mark.processes

STUDY = """
name = "twice"
title = "Twice"
contact = "studies@example.org"
[consent]
text = "What taking part means."
[[tasks]]
kind = "visual_nature"
attributes = [{words}]
"""
COUNT = """
import django
django.setup()
from django.apps import apps
for name in ("auth.User", "annotation.Study", "annotation.Slot", "annotation.Response", "metrics.ScoreRun"):
    print(name, apps.get_model(name).objects.count())
"""


def twice(installation: Installation, *arguments: str) -> list[str]:
    """Run `manage.py ARGUMENTS` in two processes at once; what each printed."""
    both = [installation.python("manage.py", *arguments) for _ in range(2)]
    said = [process.communicate() for process in both]
    assert [process.returncode for process in both] == [0, 0], [err for _, err in said]
    return [out for out, _ in said]


def counted(installation: Installation) -> dict[str, int]:
    installation.env["DJANGO_SETTINGS_MODULE"] = "visage_app.settings"
    lines = installation.run("-c", COUNT).splitlines()
    return {line.split()[0]: int(line.split()[1]) for line in lines}


def test_a_study_file_opened_twice_at_once_makes_one_study(installation: Installation, tmp_path):
    # enough of them that neither has ended when the other begins
    words = ", ".join(f'"word {number}"' for number in range(3000))
    file = tmp_path / "twice.toml"
    file.write_text(STUDY.format(words=words))
    said = sorted(out.split()[0] for out in twice(installation, "open_study", str(file)))
    assert said == ["Created", "The"]
    rows = counted(installation)
    assert (rows["annotation.Study"], rows["annotation.Slot"]) == (1, 9000)


def test_the_demonstration_loaded_twice_at_once_is_there_once(installation: Installation):
    said = sorted(out.partition(":")[0] for out in twice(installation, "demo"))
    assert said == ["Demonstration loaded", "The demonstration is already loaded"]
    rows = counted(installation)
    assert (rows["auth.User"], rows["annotation.Study"]) == (4, 2)
    installation.run("manage.py", "demo")
    assert counted(installation) == rows
