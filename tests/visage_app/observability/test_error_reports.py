"""Error reports to an external server: the error, without personal data."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.visage_app.test_settings import ROOT, load_settings
from visage_app.observability import monitoring

pytestmark = pytest.mark.processes
DSN = "https://public@errors.example.org/1"
# A transport that keeps what would be sent; then errors as they happen to somebody.
SCRIPT = """
import json, logging, os
import django
from sentry_sdk.transport import Transport

sent = []

class Kept(Transport):
    def capture_envelope(self, envelope):
        sent.extend(item.payload.json for item in envelope.items if item.type == "event")

    def flush(self, timeout, callback=None): ...
    def kill(self): ...

from visage_app.observability import monitoring
init = monitoring.report_errors
monitoring.report_errors = lambda **given: init(**given, transport=Kept)
django.setup()
from django.test import Client
from visage_app.health import readiness

def broken():
    justification = "because she smiles"
    try:
        raise KeyError("anna@example.org")
    except KeyError as error:
        raise FileNotFoundError(2, "No such file or directory", "/media/of-anna.b") from error

readiness.checks = broken
client = Client(raise_request_exception=False, REMOTE_ADDR="203.0.113.7")
client.cookies["sessionid"] = "session-of-anna.b"
answer = client.get("/readyz?mail=anna@example.org", headers={"Authorization": "Bearer tok-anna.b"})
logging.getLogger("annotation").error("it failed for %s", "anna.b")
print(json.dumps({"sent": sent, "status": answer.status_code, "id": answer["X-Request-ID"]}))
"""
SECRETS = ("anna", "smiles", "203.0.113.7", "sessionid", "Bearer", "mail", "media/of")


@pytest.fixture(scope="module")
def reported(tmp_path_factory):
    folder = tmp_path_factory.mktemp("errors")
    env = {
        "PYTHONPATH": str(ROOT),
        "VAR_DIR": str(folder),
        "DJANGO_SETTINGS_MODULE": "visage_app.settings",
        "SENTRY_DSN": DSN,
        "CODE_REVISION": "abc123",
        "ALLOWED_HOSTS": "testserver",
        "STATIC_MANIFEST": "no",
    }
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], cwd=ROOT, env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_an_error_of_a_request_says_what_failed_where_and_in_which_version(reported):
    event = reported["sent"][0]
    assert reported["status"] == 500
    assert event["release"] == "abc123"
    assert event["tags"] == {"request_id": reported["id"]}, "it leads to the lines of the log"
    first, last = event["exception"]["values"]
    assert (first["type"], first["value"]) == ("KeyError", "KeyError")
    assert last["value"] == "FileNotFoundError: No such file or directory"
    assert last["stacktrace"]["frames"][-1]["function"] == "broken"


def test_nothing_of_the_person_or_their_request_leaves(reported):
    assert len(reported["sent"]) == 2
    for event in reported["sent"]:
        assert not {"request", "user", "extra", "breadcrumbs", "server_name"} & set(event)
        frames = [each["stacktrace"]["frames"] for each in event.get("exception", {}).get("values", [])]
        # lines of the program's own code are no secret, values are; those of this test stand in its text
        assert not any("vars" in frame for each in frames for frame in each)
    for secret in SECRETS:
        assert secret not in json.dumps(reported["sent"])


def test_a_line_of_the_log_is_reported_as_it_stands_in_the_code(reported):
    assert reported["sent"][1]["logentry"] == {"message": "it failed for %s"}
    assert "exception" not in reported["sent"][1]


def test_without_the_setting_nothing_is_set_up(monkeypatch):
    monkeypatch.delenv("SENTRY_DSN", raising=False)
    monkeypatch.setitem(sys.modules, "sentry_sdk", None)
    monitoring.report_errors(release="")


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ({"SENTRY_DSN": "errors.example.org"}, "SENTRY_DSN is not the URL of a project"),
        ({"METRICS_TOKEN": "short"}, "METRICS_TOKEN has fewer than 20 characters"),
        ({"LOG_FORMAT": "xml"}, "LOG_FORMAT='xml' is not one of: line, json."),
        ({"LOG_LEVEL": "loud"}, "LOG_LEVEL='loud' is not one of: warning, debug, info, error."),
        ({"QUEUE_SLOW_MINUTES": "0"}, "QUEUE_SLOW_MINUTES='0' is not a whole number of at least 1."),
    ],
)
def test_bad_settings_are_refused_with_the_cure(tmp_path: Path, variables, message):
    done = load_settings(tmp_path, **variables)
    assert done.returncode != 0
    assert message in done.stderr


def test_without_the_sdk_the_setting_says_what_to_install(monkeypatch):
    monkeypatch.setenv("SENTRY_DSN", DSN)
    monkeypatch.setitem(sys.modules, "sentry_sdk", None)
    with pytest.raises(Exception, match=r"pip install '\.\[errors\]'"):
        monitoring.report_errors(release="")
