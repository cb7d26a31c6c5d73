"""What is taken out of the report of an error before it is sent (test_error_reports.py sends one)."""

from __future__ import annotations

import sentry_sdk

from visage_app.observability import monitoring
from visage_app.observability.log_lines import request_id

DSN = "https://public@errors.example.org/1"


def test_the_library_is_told_to_send_as_little_as_it_can(monkeypatch):
    """Beside what is taken out: what is not collected cannot leave."""
    told = {}
    monkeypatch.setattr(sentry_sdk, "init", told.update)
    monkeypatch.setenv("SENTRY_DSN", f" {DSN} ")
    monitoring.report_errors(release="")
    [django] = told.pop("integrations")
    assert django.transaction_style == "function_name"
    assert told == {
        "dsn": DSN,
        "release": None,
        "send_default_pii": False,
        "max_request_body_size": "never",
        "include_local_variables": False,
        "max_breadcrumbs": 0,
        "send_client_reports": False,
        "auto_session_tracking": False,
        "before_send": monitoring.scrubbed,
    }


def test_only_known_fields_are_sent_and_of_a_value_what_is_safe():
    error = FileNotFoundError(2, "No such file", "anna.b")
    frame = {"function": "broken", "vars": {"who": "anna.b"}}
    event = {
        "level": "error",
        "user": "anna.b",
        "logentry": {"message": "anna.b"},
        "exception": {
            "values": [
                {
                    "type": "FileNotFoundError",
                    "value": "anna.b",
                    "thread_id": 7,
                    "stacktrace": {"frames": [frame]},
                },
                {"type": "Other", "module": "of", "value": "anna.b", "stacktrace": None},
            ]
        },
    }
    token = request_id.set("")
    try:
        sent = monitoring.scrubbed(event, {"exc_info": (type(error), error, None)})
    finally:
        request_id.reset(token)
    told = "FileNotFoundError: No such file"
    assert sent == {
        "level": "error",
        "exception": {
            "values": [
                {
                    "type": "FileNotFoundError",
                    "value": told,
                    "stacktrace": {"frames": [{"function": "broken"}]},
                },
                {"type": "Other", "module": "of", "value": "", "stacktrace": {"frames": []}},
            ]
        },
    }


def test_a_line_of_the_log_is_sent_without_its_arguments():
    event = {"logentry": {"message": "it failed for %s", "params": ["anna.b"]}, "exception": None}
    token = request_id.set("from-the-proxy-1")
    try:
        sent = monitoring.scrubbed(event, {})
    finally:
        request_id.reset(token)
    assert sent == {
        "logentry": {"message": "it failed for %s"},
        "tags": {"request_id": "from-the-proxy-1"},
    }
    assert monitoring.scrubbed({"level": "error"}, {}) == {"level": "error"}
