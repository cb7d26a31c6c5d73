"""The files that containers are made from. No engine runs here: what they say is held against the program,
and tests/processes/test_served.py runs the same commands with the same settings."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, requires
from itertools import chain, product
from pathlib import Path

import pytest
import yaml
from django.conf import settings
from django.core.management import get_commands
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from annotation.setup import services as setup_services

ROOT = Path(__file__).resolve().parents[3]
COMPOSE = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
SERVICES = COMPOSE["services"]
DOCKERFILE = (ROOT / "Dockerfile").read_text()
CADDYFILE = ROOT / "deploy" / "Caddyfile"
PINNED = dict(
    line.split("==")
    for line in (ROOT / "deploy" / "constraints.txt").read_text().splitlines()
    if not line.startswith("#")
)
COMPILED = ("TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR")
"""Where torch and Triton keep what they compiled."""
EACH = pytest.mark.parametrize("name", sorted(SERVICES))


@pytest.mark.processes
def test_the_file_is_one_of_its_kind():
    """By the schema of the Compose specification, which comes with the program that checks."""
    checker = Path(sys.executable).with_name("check-jsonschema")
    command = [checker, "--builtin-schema", "vendor.compose-spec", ROOT / "docker-compose.yml"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_there_is_everything_that_a_server_needs():
    ours, others = {"migrate", "web", "worker", "beat", "gpu-worker"}, {"db", "redis", "cache", "proxy"}
    assert set(SERVICES) == ours | others
    assert SERVICES["gpu-worker"]["profiles"] == ["gpu"]
    assert [name for name in SERVICES if "ports" in SERVICES[name]] == ["proxy"]


@EACH
def test_each_is_watched_limited_and_may_do_little(name):
    service = SERVICES[name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert {"mem_limit", "pids_limit", "networks"} <= set(service)
    # what ends by itself is not watched
    assert name == "migrate" or {"healthcheck", "stop_grace_period"} <= set(service)


@EACH
def test_each_names_only_what_there_is(name):
    service = SERVICES[name]
    for volume in service.get("volumes", []):
        source = volume.split(":")[0]
        assert source in COMPOSE["volumes"] or (ROOT / source).is_file()
    assert set(service["networks"]) <= set(COMPOSE["networks"])
    assert set(service.get("depends_on", {})) <= set(SERVICES)
    if "build" in service:
        assert f" AS {service['build']['target']}\n" in DOCKERFILE
    else:
        assert re.fullmatch(r"\w+:\d+\.\d+-alpine", service["image"]), "an image without its version"


@EACH
def test_settings_and_commands_are_those_of_the_program(name):
    service = SERVICES[name]
    if service["image"] not in ("visage-studies", "visage-studies-gpu"):
        return
    known = set(re.findall(r"^([A-Z0-9_]+)=", (ROOT / ".env.example").read_text(), re.MULTILINE))
    assert set(service["environment"]) - known <= {"HF_HOME", *COMPILED}
    said = " ".join([str(service.get("command", "")), str(service.get("healthcheck", ""))])
    for command in re.findall(r"manage\.py'?,? '?(\w+)", said):
        assert command in get_commands()


# of a machine without containers, of how the image is made, of the GPU worker alone
NOT_OF_ALL = {"CODE_REVISION", "DEBUG", "MODEL_DEVICE", "OPENAI_API_KEY", "STATIC_MANIFEST", "VAR_DIR"}
# what a server is asked to tell is more than what a laptop is
MORE_OF_A_SERVER = {"LOG_LEVEL", "LOG_FORMAT"}


def test_what_is_set_beside_the_file_reaches_the_program():
    """A setting that is documented and not handed on is one that says nothing: SECOND_FACTOR, say."""
    said = (ROOT / ".env.example").read_text()
    defaults = dict(re.findall(r"^([A-Z0-9_]+)=(.*)$", said, re.MULTILINE))
    given = SERVICES["web"]["environment"]
    assert set(defaults) - set(given) == NOT_OF_ALL
    handed = {
        name: found[1]
        for name, value in given.items()
        if (found := re.fullmatch(r"\$\{" + name + r":-(.*)\}", str(value)))
    }
    assert {n for n, value in handed.items() if value != defaults[n]} == MORE_OF_A_SERVER
    for name in ("web", "worker", "beat", "gpu-worker", "migrate"):
        assert given.items() <= SERVICES[name]["environment"].items()


def test_each_has_time_to_end_what_it_has_in_hand():
    patience = {name: int(SERVICES[name].get("stop_grace_period", "0s")[:-1]) for name in SERVICES}
    [graceful] = re.findall(r'"--graceful-timeout", "(\d+)"', DOCKERFILE)
    [proxied] = re.findall(r"grace_period (\d+)s", CADDYFILE.read_text())
    assert int(graceful) < patience["web"] <= int(proxied) < patience["proxy"]


def test_what_is_sent_does_not_lie_in_memory():
    """Two uploads of the largest size would take all that the web server may have."""
    assert Path(settings.UPLOADS_UNFINISHED).parent == Path(settings.VAR_DIR)
    assert "/tmp" in SERVICES["web"]["tmpfs"]
    assert "VAR_DIR=/var/lib/visage" in DOCKERFILE
    assert "var:/var/lib/visage" in SERVICES["web"]["volumes"]


def test_a_full_broker_loses_no_message_and_a_full_cache_throws_out_what_is_old():
    assert "--maxmemory-policy noeviction" in SERVICES["redis"]["command"]
    assert "--maxmemory-policy allkeys-lru" in SERVICES["cache"]["command"]


def test_the_gpu_worker_can_compile_and_keeps_what_it_compiled():
    """It has a compiler, a folder that outlives it, and one for passing files that programs may run from."""
    worker = SERVICES["gpu-worker"]
    assert re.search(r"apt-get install .*g\+\+", stages()["gpu"][1])
    assert "python3-dev" in (ROOT / "deploy" / "build_without_registry.sh").read_text()
    [volume] = [each.split(":")[1] for each in worker["volumes"]]
    for name in COMPILED:
        assert Path(worker["environment"][name]).is_relative_to(volume)
    assert worker["tmpfs"] == ["/tmp:exec"]


def stages() -> dict[str, tuple[str, str]]:
    """What each stage of the Dockerfile is made from, and what is done in it, by its name."""
    parts = re.split(r"^FROM (\S+) AS (\S+)\n", DOCKERFILE, flags=re.MULTILINE)[1:]
    return {
        name: (made_from, done)
        for made_from, name, done in zip(parts[::3], parts[1::3], parts[2::3], strict=True)
    }


@pytest.mark.processes
def test_without_a_registry_each_image_is_built_on_bases_under_the_names_of_the_official_ones(tmp_path):
    """By programs that only note how they were called, instead of those that make images."""
    calls = tmp_path / "calls"
    for name, does in {
        "debootstrap": 'mkdir -p "$4/etc/apt" && touch "$4/etc/apt/sources.list"',
        "chroot": "true",
        "buildah": f'echo "$@" >> {calls}',
    }.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{does}\n")
        (tmp_path / name).chmod(0o755)
    env = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "CODE_REVISION": "abc"}
    subprocess.run([ROOT / "deploy" / "build_without_registry.sh"], env=env, capture_output=True, check=True)
    built = [tuple(re.findall(r"--(?:target|tag) (\S+)", call)) for call in calls.read_text().splitlines()]
    bases = {made_from for made_from, _ in stages().values() if made_from not in stages()}
    assert {tag for _, tag in built[:2]} == set(bases)
    ours = {(each["build"]["target"], each["image"]) for each in SERVICES.values() if "build" in each}
    assert set(built[2:]) == ours
    assert calls.read_text().count("--build-arg CODE_REVISION=abc .") == len(ours)


def user_of(stage: str) -> str | None:
    """Who runs what is made from a stage; None where it is whoever the image from elsewhere says: root."""
    made_from, done = stages()[stage]
    said = re.findall(r"^USER (\S+)$", done, re.MULTILINE)
    if said or made_from not in stages():
        return said[-1] if said else None
    return user_of(made_from)


@EACH
def test_images_do_not_run_as_root(name):
    service = SERVICES[name]
    who = service.get("user") or ("build" in service and user_of(service["build"]["target"]))
    assert who in ("10001", "10001:10001", "postgres", "redis")
    assert "cap_add" not in service


def test_the_proxy_has_low_ports_without_being_root():
    """The image's program is marked to gain what nobody without rights may: it would not start."""
    made_from, done = stages()["proxy"]
    assert re.fullmatch(r"caddy:\d+\.\d+-alpine", made_from), "an image without its version"
    assert "setcap -r /usr/bin/caddy" in done
    assert SERVICES["proxy"]["sysctls"] == {"net.ipv4.ip_unprivileged_port_start": 0}
    kept = {volume.split(":")[1] for volume in SERVICES["proxy"]["volumes"]} - {"/etc/caddy/Caddyfile"}
    [owned] = re.findall(r"chown -R 10001:10001 (.*)$", done, re.MULTILINE)
    assert set(owned.split()) == kept


@pytest.mark.processes
@pytest.mark.skipif(
    shutil.which("hadolint", path=Path(sys.executable).parent) is None, reason="NO HADOLINT: not linted"
)
def test_the_dockerfile_has_no_known_fault():
    linter = Path(sys.executable).with_name("hadolint")
    done = subprocess.run([linter, ROOT / "Dockerfile"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.processes
@pytest.mark.parametrize("extra", [None, "errors", "models", "s3"])
def test_every_dependency_is_pinned_within_what_the_project_allows(extra):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = project["dependencies"] if extra is None else project["optional-dependencies"][extra]
    for each in map(Requirement, wanted):
        assert each.specifier.contains(PINNED[canonicalize_name(each.name)]), each
    command = [sys.executable, ROOT / "deploy" / "requirements.py", ROOT / "pyproject.toml"]
    told = subprocess.run([*command, *filter(None, [extra])], capture_output=True, text=True, check=True)
    assert told.stdout.split("\n")[:-1] == wanted


def needed_by(requirement: Requirement) -> Iterator[Requirement]:
    """What a dependency needs itself, by the first and the newest release of Python 3.11."""
    with suppress(PackageNotFoundError):
        for each in map(Requirement, requires(requirement.name) or ()):
            for version, extra in product(("3.11.0", "3.11.14"), ("", *requirement.extras)):
                here = {"python_full_version": version, "python_version": "3.11", "extra": extra}
                if each.marker is None or each.marker.evaluate(here):
                    yield each
                    break


# Known to torch for NVIDIA cards alone; these were installed in the image of the GPU worker.
OF_CUDA = {"cuda-bindings", "cuda-toolkit", "nvidia-cudnn-cu13", "nvidia-nvjitlink", "triton"}


def test_what_the_dependencies_need_themselves_is_pinned_too():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = (project["optional-dependencies"][name] for name in ("errors", "models", "s3"))
    left = [Requirement(each) for each in chain(project["dependencies"], *extras)]
    seen: set[str] = set()
    while left:
        requirement = left.pop()
        if str(requirement) not in seen:
            seen.add(str(requirement))
            left += needed_by(requirement)
    names = {canonicalize_name(Requirement(each).name) for each in seen} | OF_CUDA
    assert names - PINNED.keys() == set()


def test_secrets_and_data_stay_out_of_images():
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    assert {".env", "var", ".git", ".venv"} <= set(ignored)
    # what the program itself needs is not
    assert not {"templates", "static", "locale", "manage.py", "deploy"} & set(ignored)


def test_the_proxy_leads_to_the_web_server_and_says_who_the_client_is():
    caddy = CADDYFILE.read_text()
    assert "reverse_proxy web:8000" in caddy
    assert "header_up X-Forwarded-For {remote_host}" in caddy
    assert "header_up X-Request-ID " in caddy, "or a client chooses what the log says of it"
    assert "@probes path /healthz /readyz /metrics\n\trespond @probes 404" in caddy
    assert set(re.findall(r"\{\$(\w+)\}", caddy)) <= set(SERVICES["proxy"]["environment"])


@pytest.mark.parametrize("megabytes", [1, 2, 3, 4, 5, 9, 10, 53, 99, 100, 500, 5000])
def test_the_proxy_lets_through_what_the_program_takes_and_what_it_refuses_itself(megabytes):
    """Or somebody whose file is as large as may be is told 502 (tests/processes/test_proxy.py sends one)."""
    [written] = re.findall(r"max_size (\S+)MB$", CADDYFILE.read_text(), re.MULTILINE)
    proxied = int(written.replace("{$UPLOAD_MAX_MB}", str(megabytes))) * 1_000_000
    assert (
        SERVICES["proxy"]["environment"]["UPLOAD_MAX_MB"] == SERVICES["web"]["environment"]["UPLOAD_MAX_MB"]
    )
    files = max(megabytes * 1_000_000, setup_services.LARGEST_BYTES)
    assert proxied > files + settings.DATA_UPLOAD_MAX_MEMORY_SIZE


@pytest.mark.processes
@pytest.mark.skipif(
    shutil.which("caddy") is None, reason="NO CADDY: what the proxy is told was not read by it"
)
def test_the_proxy_understands_what_it_is_told(tmp_path):
    told = {"SITE": "studies.example.org", "UPLOAD_MAX_MB": "500"}
    kept = {"XDG_DATA_HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path)}

    def caddy(action: str) -> str:
        done = subprocess.run(
            ["caddy", action, "--config", CADDYFILE, "--adapter", "caddyfile"],
            env={**os.environ, **told, **kept},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    caddy("validate")
    understood = json.loads(caddy("adapt"))
    assert '"max_size": 5000000000' in json.dumps(understood)
    log = understood["logging"]["logs"]["default"]
    assert log["encoder"]["fields"]["request"] == {"filter": "delete"}
    assert log["exclude"] == ["admin.api"], "a line for each health check"
