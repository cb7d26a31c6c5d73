"""The rules that tests/conftest.py holds the tests to."""

from __future__ import annotations

import multiprocessing
import os
import subprocess

import pytest

from annotation.core.heartbeat import PeriodicThread

STARTS = {
    "run": lambda: subprocess.run(["ls"], check=True),
    "a line of the shell": lambda: subprocess.run(args="ls", shell=True, check=True),
    "fork": os.fork,
    "system": lambda: os.system("ls"),
    "multiprocessing": multiprocessing.get_context("fork").Process(target=print).start,
}


@pytest.mark.parametrize("starts", STARTS.values(), ids=STARTS)
def test_a_test_without_the_mark_starts_no_process(starts):
    with pytest.raises(AssertionError, match=r"test_a_test_without_the_mark_starts_no_process.*mark it"):
        starts()


@pytest.mark.processes
def test_a_test_with_the_mark_starts_a_process():
    assert subprocess.run(["echo", "here"], capture_output=True, text=True, check=True).stdout == "here\n"


@pytest.mark.django_db
def test_no_heart_beats_in_a_test_that_is_rolled_back():
    """The two connections would wait for each other."""
    beats = []
    thread = PeriodicThread(lambda: bool(beats.append(1)), every=lambda: 0, name="heartbeat")
    with thread:
        thread._thread.join()
    assert beats == []
