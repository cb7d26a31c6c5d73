"""Python processes that start in a fraction of the time, for tests that need many of them.

One server a session imports the packages that the program uses, and nothing of the program itself; each start
is a fork of it, which sets Django up by its own environment.
"""

from __future__ import annotations

import multiprocessing
import os
import runpy
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import IO

from tests.waiting import PATIENCE_SECONDS

ROOT = Path(__file__).resolve().parents[2]
_forks = multiprocessing.get_context("forkserver")
_forks.set_forkserver_preload(["tests.processes.packages"])


class Started:
    """`python ARGUMENTS` in an environment: `-m MODULE ...`, `-c CODE ...` or `FILE ...`.

    It has those methods of subprocess.Popen that are used here.
    """

    def __init__(self, arguments: tuple[object, ...], env: Mapping[str, str]) -> None:
        # gone with this object, which reads them
        self._out = tempfile.NamedTemporaryFile("w+")  # noqa: SIM115
        self._err = tempfile.NamedTemporaryFile("w+")  # noqa: SIM115
        told = ([str(each) for each in arguments], dict(env), self._out.name, self._err.name)
        # a daemon is not waited for at the end of the session
        self._process = _forks.Process(target=_run, args=told, daemon=True)
        self._process.start()
        self.pid = int(self._process.pid or 0)

    @property
    def returncode(self) -> int | None:
        return self._process.exitcode

    def poll(self) -> int | None:
        return self._process.exitcode

    def wait(self, timeout: float = PATIENCE_SECONDS) -> int:
        self._process.join(timeout)
        if self._process.exitcode is None:
            raise subprocess.TimeoutExpired([self._process.name], timeout)
        return self._process.exitcode

    def communicate(self, timeout: float = 600) -> tuple[str, str]:
        self.wait(timeout)
        return _whole(self._out), _whole(self._err)

    def send_signal(self, number: int) -> None:
        os.kill(self.pid, number)

    def terminate(self) -> None:
        self._process.terminate()

    def kill(self) -> None:
        self._process.kill()


def _whole(file: IO[str]) -> str:
    file.seek(0)
    return file.read()


def _run(arguments: list[str], env: dict[str, str], out: str, err: str) -> None:
    for name, descriptor in ((out, 1), (err, 2)):
        opened = os.open(name, os.O_WRONLY | os.O_APPEND)
        os.dup2(opened, descriptor)
        os.close(opened)
    os.environ.clear()
    os.environ.update(env)
    time.tzset()
    os.chdir(ROOT)
    match arguments:
        case ["-m", module, *rest]:
            sys.argv = [module, *rest]
            runpy.run_module(module, run_name="__main__", alter_sys=True)
        case ["-c", code, *rest]:
            sys.argv = ["-c", *rest]
            exec(compile(code, "-c", "exec"), {"__name__": "__main__"})
        case [file, *_]:
            sys.argv = arguments
            runpy.run_path(file, run_name="__main__")
