"""The processes of docker-compose.yml with its settings, without containers: they answer, work and end."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from redis import Redis

from benchmarks import composed
from tests.processes import read_only
from tests.processes.conftest import ROOT, Installation
from tests.processes.servers import answers, free_port
from tests.processes.test_celery import RING, STATE
from tests.waiting import PATIENCE_SECONDS, wait_for

POSTGRESQL = os.environ.get("DATABASE_URL", "").startswith("postgresql")
pytestmark = [
    pytest.mark.processes,
    pytest.mark.real_time,
    pytest.mark.skipif(
        not (POSTGRESQL and shutil.which("redis-server")),
        reason="NO POSTGRESQL OR NO REDIS: the served way to run was not tried",
    ),
]
REDIS = ("redis", "cache")
OURS = ("web", "worker", "beat", "gpu-worker")


class StayHere(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *args, **kwargs):
        return None


def get(port: int, path: str, **headers: str) -> tuple[int, dict[str, str], bytes]:
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", headers=headers)
    try:
        with urllib.request.build_opener(StayHere).open(request, timeout=PATIENCE_SECONDS) as answer:
            return answer.status, dict(answer.headers), answer.read()
    except urllib.error.HTTPError as error:
        return error.code, dict(error.headers), error.read()


class Served:
    """Starts services by their own commands and with their settings, on a read-only root where it may."""

    def __init__(self, env: dict[str, str]) -> None:
        self.ports = {name: free_port() for name in ("web", *REDIS)}
        self.started: dict[str, subprocess.Popen[bytes]] = {}
        data, programs = env["VAR_DIR"], f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        broker, cache = (f"redis://127.0.0.1:{self.ports[name]}/0" for name in REDIS)
        # where things stand is this machine's
        here = {"DATABASE_URL": env["DATABASE_URL"], "CELERY_BROKER_URL": broker, "CACHE_URL": cache}
        said = composed.settings() | here | {"HOME": data, "PATH": programs}
        self.env = {name: value for name, value in env.items() if name != "STATIC_MANIFEST"} | said
        self._of_gpu = {
            name: value.replace("/var/lib/visage", data)
            for name, value in composed.settings("gpu-worker").items()
            if name not in said
        }
        self._before = read_only.prefix(Path(data))

    def run(self, service: str, command: list[str]) -> subprocess.Popen[bytes]:
        env = self.env | (self._of_gpu if service == "gpu-worker" else {})
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        return subprocess.Popen([*self._before, *command], cwd=ROOT, env=env, **quiet)

    def start(self, *services: str) -> None:
        for name in services:
            self.started[name] = self.run(name, composed.command(name, self.ports.get(name, 0)))

    def checked(self, *services: str) -> dict[str, bool]:
        """What the health check of each says, all at once."""
        asked = {
            name: self.run(name, composed.health_check(name, self.ports.get(name, 0))) for name in services
        }
        return {name: process.wait(timeout=PATIENCE_SECONDS) == 0 for name, process in asked.items()}

    def stop(self, *services: str) -> None:
        """As compose does: whoever takes longer than they are given would be killed."""
        for name in services:
            self.started[name].terminate()
        for name in services:
            grace = int(composed.SERVICES[name]["stop_grace_period"].removesuffix("s"))
            assert self.started[name].wait(timeout=grace) == 0, name


@pytest.fixture
def served(installation: Installation) -> Iterator[Served]:
    made = Served(installation.env)
    installation.env = made.env
    yield made
    for process in made.started.values():
        if process.poll() is None:
            process.kill()
            process.wait()


def test_the_servers_processes_answer_work_and_end_when_told(installation: Installation, served: Served):
    [enrolment] = installation.act("set_up", 2, 1, "any")
    installation.act("annotate_together", enrolment, 1, installation.env["VAR_DIR"], 0)
    served.start(*REDIS)
    wait_for(lambda: all(answers(served.ports[name]) for name in REDIS), "Redis did not start")
    assert served.run("migrate", composed.command("migrate")).wait(timeout=PATIENCE_SECONDS) == 0
    served.start(*OURS)
    port = served.ports["web"]

    def ready():
        try:
            return get(port, "/readyz")
        except OSError:
            return None

    status, _, body = wait_for(ready, "the web server did not answer")
    assert (status, set(json.loads(body)["checks"])) == (
        200,
        {"database", "migrations", "storage", "broker", "queues"},
    )
    # whichever of its processes is asked says what all of them answered, and who works elsewhere
    for _ in range(24):
        get(port, "/healthz")
    token = f"Bearer {served.env['METRICS_TOKEN']}"

    def watched():
        told = get(port, "/metrics", Authorization=token)[2].decode()
        there = ('visage_workers{queue="default"} 2.0', 'visage_workers{queue="gpu"} 1.0')
        return told if all(line in told for line in there) else None

    told = wait_for(watched, "worker, beat and gpu-worker did not report")
    assert 'visage_http_requests_total{method="GET",route="healthz",status="2xx"} 24.0' in told
    check_what_people_get(port)
    assert Redis(port=served.ports["cache"]).dbsize() > 0, "how often somebody asked is counted in the cache"

    # the worker takes what the web server rings for
    installation.run("-c", RING)
    wait_for(lambda: installation.run("-c", STATE).strip() == "done", "no worker computed the scores")
    assert served.checked(*REDIS, *OURS) == dict.fromkeys((*REDIS, *OURS), True)

    served.stop(*OURS)
    served.stop(*REDIS)
    away = ("web", "worker", *REDIS)
    assert served.checked(*away) == dict.fromkeys(away, False)


def check_what_people_get(port: int) -> None:
    """They come through the proxy, over HTTPS, to a name that is the site's."""
    status, headers, _ = get(port, "/accounts/login/", Host=composed.SITE)
    assert (status, headers["Location"]) == (301, f"https://{composed.SITE}/accounts/login/")
    status, headers, page = get(port, "/accounts/login/", **composed.FROM_PROXY)
    assert status == 200
    assert "max-age=31536000" in headers["Strict-Transport-Security"]
    assert "; Secure" in headers["Set-Cookie"]
    elsewhere = composed.FROM_PROXY | {"Host": "elsewhere.example"}
    assert get(port, "/accounts/login/", **elsewhere)[0] == 400
    [style, *_] = re.findall(r'"(/static/[^"]+\.[0-9a-f]{12}\.css)"', page.decode())
    status, headers, _ = get(port, style, **composed.FROM_PROXY)
    assert (status, "immutable" in headers["Cache-Control"]) == (200, True)
    assert get(port, "/api/v1/studies", **composed.FROM_PROXY)[0] in (401, 403)


def test_nothing_but_its_data_can_be_written_by_a_service(installation: Installation):
    """The root of those above, or it is said that they had none."""
    data = Path(installation.env["VAR_DIR"])
    before = read_only.prefix(data)
    if not before:
        pytest.skip("NO READ-ONLY ROOT: this account may not mount; the services ran on one they could write")
    tried = 'for folder in "$@"; do touch "$folder/written" 2>/dev/null && echo "$folder"; done; ls /tmp'
    folders = [str(ROOT), str(ROOT / "static"), "/etc", "/var", "/srv", "/tmp", str(data)]
    done = subprocess.run(
        [*before, "sh", "-c", tried, "sh", *folders], capture_output=True, text=True, check=True
    )
    able = done.stdout.splitlines()[:2]
    assert able == ["/tmp", str(data)]
    assert (data / "written").is_file()
    assert not Path("/tmp/written").exists(), "its /tmp is this machine's"
