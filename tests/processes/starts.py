"""Python processes that start in a fraction of the time, for tests that need many of them.

One server a session imports the packages that the program uses, and nothing of the program itself. For each
environment a fork of it, the template, sets Django up by that environment, as every process would for itself,
and imports what is to run. Each start is a fork of the template.
"""

from __future__ import annotations

import gc
import importlib
import multiprocessing
import os
import runpy
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import weakref
from collections.abc import Mapping, Sequence
from multiprocessing.connection import Connection, wait
from multiprocessing.context import BaseContext
from multiprocessing.process import BaseProcess
from multiprocessing.util import Finalize
from pathlib import Path

from tests.waiting import PATIENCE_SECONDS

ROOT = Path(__file__).resolve().parents[2]
_forks: BaseContext = multiprocessing.get_context("forkserver")
_forks.set_forkserver_preload(["tests.processes.packages"])


class Started:
    """`python ARGUMENTS` in an environment: `-m MODULE ...`, `-c CODE ...` or `FILE ...`.

    It has those methods of subprocess.Popen that are used here. `cold`: nothing of the program is imported
    before. `group`: it leads a group of processes, to be killed at once.
    """

    def __init__(
        self, arguments: Sequence[object], env: Mapping[str, str], *, cold: bool = False, group: bool = False
    ) -> None:
        # gone with this object, which reads what is in it
        folder = tempfile.mkdtemp()
        weakref.finalize(self, shutil.rmtree, folder)
        self._said = [Path(folder, name) for name in ("out", "err")]
        for file in self._said:
            file.touch()
        self._arguments = [str(each) for each in arguments]
        self._template = _template(None if cold else env)
        told = (self._arguments, dict(env), *map(str, self._said), group)
        self._number, self.pid = self._template.start(told)

    @property
    def returncode(self) -> int | None:
        return self._template.status(self._number)

    def poll(self) -> int | None:
        return self.returncode

    def wait(self, timeout: float = PATIENCE_SECONDS) -> int:
        if (status := self._template.status(self._number, timeout)) is None:
            raise subprocess.TimeoutExpired(self._arguments, timeout)
        return status

    def communicate(self, timeout: float = 600) -> tuple[str, str]:
        self.wait(timeout)
        out, err = (file.read_text() for file in self._said)
        return out, err

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


class _Template:
    """A process that forks itself for each start. It ends, and all that it started, when this is gone."""

    def __init__(self, env: Mapping[str, str] | None) -> None:
        self._asking, asked = _forks.Pipe()
        _ASKING.add(self._asking)
        # also before multiprocessing waits for it at the end of this process
        Finalize(self, self._asking.close, exitpriority=0)
        _forks.Process(target=_serve, args=(asked, env and dict(env))).start()
        asked.close()
        self._pids: list[int] = []
        self._ended: dict[int, int] = {}

    def start(self, told: tuple[object, ...]) -> tuple[int, int]:
        """Its number and its process id."""
        number = len(self._pids)
        self._asking.send(told)
        while len(self._pids) == number:
            self._hear()
        return number, self._pids[number]

    def status(self, number: int, timeout: float = 0) -> int | None:
        """With which it ended; None if it has not after so many seconds."""
        until = time.monotonic() + timeout
        while number not in self._ended and self._asking.poll(max(0, until - time.monotonic())):
            self._hear()
        return self._ended.get(number)

    def _hear(self) -> None:
        match self._asking.recv():
            case [number, status]:
                self._ended[number] = status
            case pid:
                self._pids.append(pid)


_ASKING: weakref.WeakSet[Connection] = weakref.WeakSet()
"""This process's ends of the connections to templates."""
_KEPT = 3
"""Templates in memory: as many environments as one test has."""
_templates: dict[frozenset[tuple[str, str]] | None, _Template] = {}


def fork_from_here() -> None:
    """What is started from now on is forked from this process, in whose place in the system it belongs."""
    global _forks
    _forks = multiprocessing.get_context("fork")


def _template(env: Mapping[str, str] | None) -> _Template:
    """The one for this environment; None: for any, without the program."""
    key = env if env is None else frozenset(env.items())
    # the last asked for stands last
    _templates[key] = _templates.pop(key, None) or _Template(env)
    if len(_templates) > _KEPT:
        del _templates[next(iter(_templates))]
    return _templates[key]


def _serve(asked: Connection, env: dict[str, str] | None) -> None:
    """Start what is asked for, and tell who has ended, until nobody can ask any more."""
    for end in list(_ASKING):  # which a fork has as well
        end.close()
    if env is not None:
        _enter({"DJANGO_SETTINGS_MODULE": "visage_app.settings", **env})
        import django

        django.setup()
    forks = multiprocessing.get_context("fork")
    running: dict[int, tuple[int, BaseProcess]] = {}
    started = 0
    while True:
        for ready in wait([asked, *running]):
            if isinstance(ready, int):
                number, process = running.pop(ready)
                process.join()
                asked.send([number, process.exitcode])
                continue
            try:
                arguments, *told = asked.recv()
            except EOFError:
                for _, process in running.values():
                    process.kill()
                return
            if env is not None:
                _import_for(arguments)
            process = forks.Process(target=_run, args=(asked, arguments, *told))
            process.start()
            running[process.sentinel] = (started, process)
            started += 1
            asked.send(process.pid)


def _import_for(arguments: list[str]) -> None:
    """What these would import, so that it is there for the next as well."""
    match arguments:
        case ["-m", "gunicorn", *_]:
            modules = ["gunicorn.app.wsgiapp", "gunicorn.workers.gthread", "visage_app.wsgi"]
        case ["-m", "celery", *_]:
            modules = ["celery.bin.worker", "visage_app.celery"]
        case ["-m", module, *_]:
            modules = [module]
        case ["manage.py", command, *_]:
            from django.core.management import get_commands

            modules = ["visage_app.urls", f"{get_commands()[command]}.management.commands.{command}"]
        case _:
            modules = []
    for module in modules:
        importlib.import_module(module)
    # what stays is no garbage, which each of the forks would look for
    gc.freeze()


def _enter(env: Mapping[str, str]) -> None:
    os.environ.clear()
    os.environ.update(env)
    time.tzset()
    os.chdir(ROOT)


def _run(
    asked: Connection, arguments: list[str], env: dict[str, str], out: str, err: str, group: bool
) -> None:
    asked.close()
    if group:
        os.setsid()
    for name, descriptor in ((out, 1), (err, 2)):
        opened = os.open(name, os.O_WRONLY | os.O_APPEND)
        os.dup2(opened, descriptor)
        os.close(opened)
    _enter(env)
    match arguments:
        case ["-m", module, *rest]:
            sys.argv = [module, *rest]
            # it runs as if it were not there, with what it imports
            sys.modules.pop(module, None)
            runpy.run_module(module, run_name="__main__", alter_sys=True)
        case ["-c", code, *rest]:
            sys.argv = ["-c", *rest]
            exec(compile(code, "-c", "exec"), {"__name__": "__main__"})
        case [file, *_]:
            sys.argv = arguments
            runpy.run_path(file, run_name="__main__")
