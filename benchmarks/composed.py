"""docker-compose.yml without containers: the commands, settings and health checks of its services, for
processes of this machine. What is another here is where things stand: addresses, ports, folders."""

from __future__ import annotations

import json
import re
import secrets
import shlex
import socket
from typing import Any

import yaml

from benchmarks.annotate_server import ROOT

SERVICES: dict[str, dict[str, Any]] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
SITE = "studies.example.org"
FROM_PROXY = {"Host": SITE, "X-Forwarded-Proto": "https"}
"""What the proxy tells the web server of whoever comes by it."""


def settings(service: str = "web") -> dict[str, str]:
    """The environment of a service, with what compose would fill in from a file .env that has no more than it
    needs, and METRICS_TOKEN."""
    given = {
        "SITE": SITE,
        "SECRET_KEY": secrets.token_urlsafe(50),
        "POSTGRES_PASSWORD": secrets.token_urlsafe(),
        "METRICS_TOKEN": secrets.token_urlsafe(),
    }

    def filled(text: str) -> str:
        return re.sub(r"\$\{(\w+)(?::[-?]([^}]*))?\}", lambda m: given.get(m[1], m[2] or ""), text)

    said = {name: filled(str(value)) for name, value in SERVICES[service]["environment"].items()}
    # of the image, and of every container
    return said | {"DJANGO_SETTINGS_MODULE": "visage_app.settings", "HOSTNAME": socket.gethostname()}


def command(service: str, port: int = 0) -> list[str]:
    """A service's own command; `web` and the two Redis listen at `port` of this machine alone."""
    if service == "web":  # the image's
        last = re.findall(r"^CMD (\[.*\])$", (ROOT / "Dockerfile").read_text(), re.MULTILINE)[-1]
        return [each.replace("0.0.0.0:8000", f"127.0.0.1:{port}") for each in json.loads(last)]
    said = shlex.split(SERVICES[service]["command"])
    return [*said, "--bind", "127.0.0.1", "--port", str(port)] if said[0] == "redis-server" else said


def health_check(service: str, port: int = 0) -> list[str]:
    """How compose looks whether a service is well, which is where `command` says."""
    kind, *said = SERVICES[service]["healthcheck"]["test"]
    if kind == "CMD-SHELL":
        return ["sh", "-c", said[0].replace("$$", "$")]
    if said[0] == "redis-cli":
        return ["redis-cli", "-p", str(port), *said[1:]]
    return [each.replace("127.0.0.1:8000", f"127.0.0.1:{port}") for each in said]
