"""The version of the program that scores and releases are marked with."""

import subprocess

import pytest

from annotation.core import code_version


@pytest.mark.parametrize(("status", "ends"), [(0, " (0123abc+)"), (128, "")])
def test_the_commit_is_there_where_git_knows_it(settings, monkeypatch, tmp_path, status, ends):
    settings.CODE_REVISION, settings.BASE_DIR = "", tmp_path
    (tmp_path / ".git").mkdir()
    answer = subprocess.CompletedProcess([], status, stdout="0123abc+\n", stderr="fatal: not a repository")
    monkeypatch.setattr(code_version.shutil, "which", lambda name: name)
    monkeypatch.setattr(code_version.subprocess, "run", lambda *command, **how: answer)
    told = code_version.code_version.__wrapped__()
    assert told.startswith("visage-studies ")
    assert told.endswith(ends) if ends else "(" not in told
