"""What gunicorn asks of this program beside its pages."""

from __future__ import annotations

import json
import logging
import os
import socket
from pathlib import Path
from types import SimpleNamespace

import pytest
from gunicorn.http.errors import InvalidHeader, LimitRequestHeaders, LimitRequestLine
from gunicorn.workers.gthread import ThreadWorker

from visage_app.serving import gunicorn_hooks


@pytest.fixture
def worker():
    """Without a server around it."""
    made = gunicorn_hooks.Worker.__new__(gunicorn_hooks.Worker)
    made.cfg = SimpleNamespace(
        limit_request_line=4094, limit_request_fields=100, limit_request_field_size=8190
    )
    made.log = logging.getLogger("gunicorn.error")
    return made


@pytest.mark.parametrize(
    ("fault", "status", "said"),
    [
        (LimitRequestLine(9999, 4094), 414, "longer than 4,094 bytes"),
        (LimitRequestHeaders("too many"), 431, "more than 100 header fields, or one is longer than 8,190"),
    ],
)
def test_what_is_too_long_is_refused_as_the_api_refuses(worker, fault, status, said):
    ours, theirs = socket.socketpair()
    with ours, theirs:
        worker.handle_error(None, ours, None, fault)
        head, _, body = theirs.recv(65536).partition(b"\r\n\r\n")
    assert head.startswith(f"HTTP/1.1 {status} ".encode())
    assert f"Content-Length: {len(body)}".encode() in head
    told = json.loads(body)
    assert (told["status"], said in told["detail"]) == (status, True)


def test_who_is_gone_before_the_refusal_breaks_nothing(worker):
    ours, theirs = socket.socketpair()
    theirs.close()
    with ours:
        worker.handle_error(None, ours, None, LimitRequestLine(9999, 4094))


def test_what_else_is_wrong_is_left_to_gunicorn(worker, monkeypatch):
    seen = []
    monkeypatch.setattr(ThreadWorker, "handle_error", lambda self, *given: seen.append(given[-1]))
    fault = InvalidHeader("x")
    worker.handle_error(None, None, None, fault)
    assert seen == [fault]


def test_each_server_counts_in_a_folder_of_its_own_and_takes_it_away(monkeypatch, tmp_path):
    monkeypatch.setenv(gunicorn_hooks.FOLDER, "")
    monkeypatch.setattr(gunicorn_hooks.tempfile, "tempdir", str(tmp_path))
    gunicorn_hooks.on_starting(None)
    folder = Path(os.environ[gunicorn_hooks.FOLDER])
    assert folder.is_dir()
    (folder / "counter_1.db").write_bytes(b"x")
    gunicorn_hooks.on_exit(None)
    assert not folder.exists()
    assert gunicorn_hooks.FOLDER not in os.environ
