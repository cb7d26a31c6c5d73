"""The processes of docker-compose.yml with its settings, without containers: they answer, work and end."""

from __future__ import annotations

import json
import os
import re
import shlex
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest
import yaml

from tests.processes.conftest import ROOT, Installation
from tests.processes.test_celery import RING, STATE

BROKER = os.environ.get("CELERY_BROKER_URL", "")
POSTGRESQL = os.environ.get("DATABASE_URL", "").startswith("postgresql")
pytestmark = [
    pytest.mark.processes,
    pytest.mark.skipif(
        not (BROKER and POSTGRESQL),
        reason="NO POSTGRESQL OR NO BROKER: the served way to run was not tried",
    ),
]
SERVICES = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
PATIENCE = 120
METRICS_TOKEN = "served-metrics-0123456789"


class StayHere(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *args, **kwargs):
        return None


def get(port: int, path: str, **headers: str) -> tuple[int, dict[str, str], bytes]:
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", headers=headers)
    try:
        with urllib.request.build_opener(StayHere).open(request, timeout=30) as answer:
            return answer.status, dict(answer.headers), answer.read()
    except urllib.error.HTTPError as error:
        return error.code, dict(error.headers), error.read()


def wait_for(what, *, said: str):
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        if found := what():
            return found
        time.sleep(0.3)
    raise AssertionError(said)


@pytest.fixture
def served(installation: Installation):
    """The installation with the settings of the file, and a way to start a service's own command."""
    given = {
        "SITE": "studies.example.org",
        "SECRET_KEY": "served-0123456789-abcdefghijklmnopqrstuvwxyz-ABCDEFGH",
        "POSTGRES_PASSWORD": "postgres",
        "METRICS_TOKEN": METRICS_TOKEN,
    }

    def filled(text: str) -> str:
        return re.sub(r"\$\{(\w+)(?::[-?]([^}]*))?\}", lambda m: given.get(m[1], m[2] or ""), text)

    said = {name: filled(str(value)) for name, value in SERVICES["web"]["environment"].items()}
    # where they stand is this machine's; a queue of its own, which no other test's worker listens to
    said |= {
        "DATABASE_URL": installation.env["DATABASE_URL"],
        "CELERY_BROKER_URL": re.sub(r"/\d+$", "/9", BROKER),
        "DJANGO_SETTINGS_MODULE": "visage_app.settings",
        "HOSTNAME": socket.gethostname(),
    }
    installation.env |= said
    running: list[subprocess.Popen[bytes]] = []
    bin_folder = Path(sys.executable).parent

    def start(command: list[str]) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [str(bin_folder / command[0]), *command[1:]],
            cwd=ROOT,
            env={**installation.env, "PATH": f"{bin_folder}:{os.environ['PATH']}"},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        running.append(process)
        return process

    yield start
    for process in running:
        if process.poll() is None:
            process.kill()
            process.wait()


def own_command(name: str) -> list[str]:
    return shlex.split(SERVICES[name]["command"])


def web_command(port: int) -> list[str]:
    """The image's own command, at another port."""
    last = re.findall(r"^CMD (\[.*\])$", (ROOT / "Dockerfile").read_text(), re.MULTILINE)[-1]
    return [each.replace("0.0.0.0:8000", f"127.0.0.1:{port}") for each in json.loads(last)]


def test_the_servers_processes_answer_work_and_end_when_told(installation: Installation, served):
    [enrolment] = installation.act("set_up", 2, 1, "any")
    installation.act("annotate_together", enrolment, 1, installation.env["VAR_DIR"], 0)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    started = {"web": served(web_command(port))}
    started |= {name: served(own_command(name)) for name in ("worker", "beat")}

    def ready():
        try:
            return get(port, "/readyz")
        except OSError:
            return None

    status, _, body = wait_for(ready, said="the web server did not answer")
    assert (status, set(json.loads(body)["checks"])) == (
        200,
        {"database", "migrations", "storage", "broker", "queues"},
    )
    # whichever of its processes is asked says what all of them answered, and who works elsewhere
    for _ in range(24):
        get(port, "/healthz")

    def watched():
        told = get(port, "/metrics", Authorization=f"Bearer {METRICS_TOKEN}")[2].decode()
        return told if 'visage_workers{queue="default"} 2.0' in told else None

    told = wait_for(watched, said="worker and beat did not report")
    assert 'visage_http_requests_total{method="GET",route="healthz",status="2xx"} 24.0' in told
    # people come through the proxy, over HTTPS, to a name that is the site's
    status, headers, _ = get(port, "/accounts/login/", Host="studies.example.org")
    assert (status, headers["Location"]) == (301, "https://studies.example.org/accounts/login/")
    forwarded = {"X-Forwarded-Proto": "https", "Host": "studies.example.org"}
    status, headers, _ = get(port, "/accounts/login/", **forwarded)
    assert status == 200
    assert "max-age=31536000" in headers["Strict-Transport-Security"]
    assert "; Secure" in headers["Set-Cookie"]
    assert get(port, "/accounts/login/", **(forwarded | {"Host": "elsewhere.example"}))[0] == 400

    # the worker takes what the web server rings for, and says that it is well
    installation.run("-c", RING)
    wait_for(lambda: installation.run("-c", STATE).strip() == "done", said="no worker computed the scores")
    asked = SERVICES["worker"]["healthcheck"]["test"][1].replace("$$HOSTNAME", installation.env["HOSTNAME"])
    ping = served(shlex.split(asked))
    assert ping.wait(timeout=PATIENCE) == 0

    for name, process in started.items():
        process.terminate()
        grace = int(SERVICES[name]["stop_grace_period"].removesuffix("s"))
        assert process.wait(timeout=grace) == 0, name
