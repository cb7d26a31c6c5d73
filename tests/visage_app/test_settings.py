"""The settings: every variable is documented, and invalid values are refused with a helpful message."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from visage_app.storage import storages

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = (ROOT / ".env.example").read_text()
SOURCE = "\n".join(path.read_text() for path in sorted((ROOT / "visage_app").rglob("*.py")))
S3 = {"S3_BUCKET": "x", "S3_ENDPOINT": "http://s3.lab:9000"}


def load_settings(tmp_path: Path, *, before: str = "", **variables: str) -> subprocess.CompletedProcess[str]:
    env = {
        "PATH": os.environ["PATH"],
        "VAR_DIR": str(tmp_path),
        "DJANGO_SETTINGS_MODULE": "visage_app.settings",
    }
    return subprocess.run(
        [sys.executable, "-c", f"{before}\nfrom django.conf import settings; print(settings.SECRET_KEY)"],
        cwd=ROOT,
        env={**env, **variables},
        capture_output=True,
        text=True,
        check=False,
    )


def test_every_variable_that_is_read_is_in_the_example_and_the_other_way_round():
    read = set(re.findall(r'env(?:\.str|\.list|_[a-z]+)\(\s*"([A-Z0-9_]+)"', SOURCE))
    assert len(read) > 25
    shown = set(re.findall(r"^([A-Z0-9_]+)=", EXAMPLE, re.MULTILINE))
    assert read == shown


@pytest.mark.processes
def test_the_example_itself_is_usable(tmp_path):
    variables = dict(re.findall(r"^([A-Z0-9_]+)=(.*)$", EXAMPLE, re.MULTILINE))
    done = load_settings(tmp_path, **{**variables, "VAR_DIR": str(tmp_path)})
    assert done.returncode == 0, done.stderr


@pytest.mark.processes
def test_a_secret_key_is_made_once_and_kept(tmp_path):
    first, second = load_settings(tmp_path), load_settings(tmp_path)
    assert first.stdout == second.stdout
    assert len(first.stdout.strip()) >= 50
    assert (tmp_path / "secret_key").stat().st_mode & 0o077 == 0


SLOW = """
import os, time
from django.core.management import utils
made = utils.get_random_secret_key
utils.get_random_secret_key = lambda: (time.sleep(float(os.environ["SECONDS"])), made())[1]
"""


@pytest.mark.processes
def test_processes_that_start_at_once_have_the_same_key(tmp_path):
    """Also if each finds that there is none before another has made it."""
    with ThreadPoolExecutor(4) as pool:
        waits = [f"{0.5 + number / 4}" for number in range(4)]
        done = list(pool.map(lambda seconds: load_settings(tmp_path, before=SLOW, SECONDS=seconds), waits))
    assert [one.stderr for one in done if one.returncode] == []
    assert len({one.stdout for one in done}) == 1


@pytest.mark.processes
@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ({"DEBUG": "perhaps"}, "DEBUG='perhaps' is neither yes nor no. Set DEBUG=yes or DEBUG=no."),
        ({"LEASE_MINUTES": "0"}, "LEASE_MINUTES='0' is not a whole number of at least 1."),
        ({"LEASE_MINUTES": "an hour"}, "LEASE_MINUTES='an hour' is not a whole number"),
        ({"API_RATE": "often"}, "API_RATE='often' is not a rate. Write it like 600/minute"),
        (
            {"WEBHOOK_ALLOWED_HOSTS": "https://x"},
            "WEBHOOK_ALLOWED_HOSTS='https://x' is not a host name.",
        ),
        ({"SECOND_FACTOR": "all"}, "SECOND_FACTOR='all' is not one of: optional, admins, leads."),
        ({"SECRET_KEY": "short"}, "SECRET_KEY is too short to be safe."),
        ({"HTTPS": "yes"}, "SECRET_KEY is not set."),
        ({"S3_BUCKET": "x"}, "S3_ENDPOINT='' is not the URL of an S3 server. Write scheme and host"),
        (
            {**S3, "S3_ENDPOINT": "s3.lab/bucket"},
            "S3_ENDPOINT='s3.lab/bucket' is not the URL of an S3 server.",
        ),
        ({"S3_ENDPOINT": "https://s3.lab"}, "S3_ENDPOINT is set but S3_BUCKET is not."),
        ({**S3, "S3_ACCESS_KEY": "x"}, "Only one of S3_ACCESS_KEY and S3_SECRET_KEY is set."),
        ({**S3, "S3_SIGNED_MINUTES": "90"}, "S3_SIGNED_MINUTES=90 is too long"),
        (
            {**S3, "S3_SIGNED_MINUTES": "5", "HTTPS": "yes", "SECRET_KEY": "0123456789abcdef" * 4},
            "S3_SIGNED_MINUTES sends browsers to http://s3.lab:9000, and this site is reached over https.",
        ),
        ({"DATABASE_REPLICA_URL": "postgresql://x/y"}, "must be a standby of the PostgreSQL at DATABASE_URL"),
        ({"CACHE_URL": "memcached://x"}, "CACHE_URL is not a Redis URL."),
        (
            {"CACHE_URL": "redis://x/0", "CELERY_BROKER_URL": "redis://x/0"},
            "CACHE_URL and CELERY_BROKER_URL are the same.",
        ),
        (
            {"MODEL_SERVERS": "lab=ftp://x"},
            "MODEL_SERVERS: lab: this is not the URL of a server, without query or fragment.",
        ),
        (
            {"MODEL_SERVER_KEY_LAP": "secret", "MODEL_SERVERS": "lab=http://x/v1"},
            "MODEL_SERVER_KEY_LAP is the key of no server. There are lab, openai",
        ),
        ({"DATABASE_URL": "mysql://localhost/x"}, "DATABASE_URL must begin with sqlite:// or postgresql://."),
        (
            {"DATABASE_POOL": "4"},
            "DATABASE_POOL=4 works only with PostgreSQL, and this database is SQLite.",
        ),
    ],
)
def test_bad_values_are_refused_with_the_cure(tmp_path, variables, message):
    done = load_settings(tmp_path, **variables)
    assert done.returncode != 0
    assert message in done.stderr


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({}, []),
        (S3, []),
        ({**S3, "S3_SIGNED_MINUTES": "5"}, ["http://s3.lab:9000"]),
        (
            {**S3, "S3_SIGNED_MINUTES": "5", "S3_PUBLIC_ENDPOINT": "https://files.example.org/"},
            ["https://files.example.org"],
        ),
    ],
)
def test_pages_may_load_images_from_a_bucket_only_where_browsers_are_sent_there(
    monkeypatch, variables, expected
):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert storages.image_origins(https=False) == expected
