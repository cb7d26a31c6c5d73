"""The proxy of deploy/Caddyfile before a server of one test's own, over plain HTTP."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

from tests.processes.conftest import ROOT
from tests.processes.servers import answers, free_port, program
from tests.waiting import wait_for


class Caddy:
    """The file as it is, but for where the server stands and that two of them can run on one machine."""

    def __init__(self, folder: Path, *, upstream: int, upload_max_mb: int = 500) -> None:
        self._program, self._log, self.port = program("caddy"), folder / "caddy.log", free_port()
        said = (ROOT / "deploy" / "Caddyfile").read_text()
        said, moved = re.subn(r"web:8000", f"127.0.0.1:{upstream}", said)
        said, alone = re.subn(r"grace_period 30s", "grace_period 1s\n\tadmin off", said)
        assert (moved, alone) == (1, 1), "the file changed: nothing was tried"
        (folder / "Caddyfile").write_text(said)
        settings = {"SITE": f"http://127.0.0.1:{self.port}", "UPLOAD_MAX_MB": str(upload_max_mb)}
        kept = {"XDG_DATA_HOME": str(folder), "XDG_CONFIG_HOME": str(folder)}
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [self._program, "run", "--config", str(folder / "Caddyfile"), "--adapter", "caddyfile"],
                env={**os.environ, **settings, **kept},
                stdout=log,
                stderr=log,
            )
        wait_for(lambda: answers(self.port) or self._process.poll() is not None, "the proxy does not listen")
        assert self._process.poll() is None, self.log()

    def log(self) -> str:
        return self._log.read_text()

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait(timeout=60)
