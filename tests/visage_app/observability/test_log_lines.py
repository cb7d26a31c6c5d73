"""The log: one format for all processes, a request id, and no personal data."""

import io
import json
import logging
import re
import sqlite3
from itertools import islice
from types import SimpleNamespace

import pytest
from django.contrib.auth.models import User
from django.db import IntegrityError, InterfaceError, OperationalError, transaction
from django.test import Client

from annotation.models import Judgement
from tests import factories
from visage_app.observability import log_lines, logs
from visage_app.observability.log_lines import JsonLineFormatter, LineFormatter, describe_error, stack

pytestmark = pytest.mark.django_db
SECRETS = ("anna.b", "anna@example.org", "wrong-pass-77", "because she smiles", "203.0.113.7")


class Written(logging.StreamHandler):
    """What would stand in the log, in both formats, from DEBUG upwards."""

    def __init__(self):
        super().__init__(io.StringIO())
        self.formats = (JsonLineFormatter(), LineFormatter())

    def format(self, record):
        return "\n".join(each.format(record) for each in self.formats)

    @property
    def text(self):
        return self.stream.getvalue()

    def lines(self):
        return [json.loads(line) for line in self.text.splitlines() if line.startswith("{")]

    def requests(self):
        return [line for line in self.lines() if line["logger"] == "visage_app.requests"]


@pytest.fixture
def written():
    handler, root = Written(), logging.getLogger()
    named = [logging.getLogger(name) for name in (*logging.root.manager.loggerDict, "visage_app.requests")]
    quiet = {each: each.level for each in named if each.level and each.name not in logs._QUIET}
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    for each in quiet:
        each.setLevel(logging.DEBUG)
    yield handler
    for each, before in quiet.items():
        each.setLevel(before)
    root.setLevel(level)
    root.removeHandler(handler)


@pytest.fixture
def study():
    return factories.rating_study(name="words")


def test_a_request_is_one_line_by_the_name_of_its_route(client, written):
    answer = client.get("/healthz?who=anna.b")
    [line] = written.requests()
    assert {name: line[name] for name in ("route", "method", "status", "level")} == {
        "route": "healthz",
        "method": "GET",
        "status": 200,
        "level": "INFO",
    }
    assert line["request_id"] == answer["X-Request-ID"]
    assert line["duration_ms"] >= 0
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", line["time"])
    assert "anna.b" not in written.text
    assert log_lines.request_id.get() == "", "the next request of this thread has another one"


def test_the_id_is_that_of_our_proxy_and_of_nobody_else(client, settings, written):
    chosen = "from-outside-1234"
    assert client.get("/healthz", headers={"X-Request-ID": chosen})["X-Request-ID"] != chosen
    settings.BEHIND_PROXY = True
    assert client.get("/healthz", headers={"X-Request-ID": chosen})["X-Request-ID"] == chosen
    for unusable in ("short", "x" * 65, 'a"b<script>c', "ü" * 10):
        given = client.get("/healthz", headers={"X-Request-ID": unusable})["X-Request-ID"]
        assert re.fullmatch(r"[0-9a-f]{16}", given)


def test_an_error_page_shows_what_leads_to_the_lines(client, written, monkeypatch):
    factories.user("anna.b")
    client.force_login(User.objects.get())
    missing = client.get("/studies/of-anna.b/")
    assert missing.status_code == 404
    assert f'<code dir="ltr">{missing["X-Request-ID"]}</code>' in missing.text
    lines = [line for line in written.lines() if line.get("request_id") == missing["X-Request-ID"]]
    assert {"django.request", "visage_app.requests"} <= {line["logger"] for line in lines}
    assert {line["route"] for line in lines if "request" in line["logger"]} == {"none"}
    monkeypatch.setattr("annotation.participation.queries.enrolments.study_cards", lambda user: 1 / 0)
    client.raise_request_exception = False
    broken = client.get("/")
    assert broken.status_code == 500
    assert broken["X-Request-ID"] in broken.text
    assert "of-anna.b" not in written.text


def test_a_login_that_fails_names_nobody(client, written, settings):
    settings.AXES_FAILURE_LIMIT = 2
    factories.user("anna.b")
    wrong = {"username": "anna.b", "password": "wrong-pass-77"}
    for _ in range(3):
        client.post("/accounts/login/", wrong, REMOTE_ADDR="203.0.113.7")
    assert [line["status"] for line in written.requests()] == [200, 429, 429]
    assert "AXES: Locking out somebody" in written.text
    for secret in SECRETS:
        assert secret not in written.text


def test_an_answer_leaves_no_word_of_itself(client, written, study):
    who = factories.user("anna.b")
    client.force_login(who)
    factories.enrolment(study, who=factories.annotator(user=who), consented=True)
    url = "/studies/words/annotate"
    item = client.post(f"{url}/items/", "{}", content_type="application/json").json()["items"][0]
    option = item["options"][0]
    said = {"option": option["id"], "position": option["position"], "value": 5, "justification": SECRETS[3]}
    answer = {"unit": item["unit"], "client_key": item["client_key"], "answers": [said]}
    kept = client.post(f"{url}/answers/", json.dumps(answer), content_type="application/json")
    assert kept.status_code == 200
    assert Judgement.objects.get().justification == SECRETS[3]
    answer["answers"][0]["value"] = SECRETS[3]
    refused = client.post(f"{url}/answers/", json.dumps(answer), content_type="application/json")
    assert refused.status_code >= 400
    assert [line["route"] for line in written.requests()] == ["work_items", "work_answers", "work_answers"]
    for secret in (*SECRETS, item["client_key"]):
        assert secret not in written.text


def test_addresses_with_a_secret_in_them_are_named_by_their_route(client, written):
    token = "not-a-code-77"
    client.get(f"/join/{token}/")
    client.get(f"/nowhere/{token}/")
    client.get("/accounts/reset/MQ/set-password-token-77/")
    assert token not in written.text
    assert "set-password-token-77" not in written.text
    assert [line["route"] for line in written.requests()] == ["join", "none", "password_reset_confirm"]


def test_a_form_from_elsewhere_says_why_it_was_refused_and_not_what_it_was(written, study):
    strict = Client(enforce_csrf_checks=True)
    strict.post("/language/?of=anna.b", {"language": "es"}, headers={"Origin": "https://anna.b.example.org"})
    assert "Forbidden (Origin checking failed): set_language" in written.text
    assert "anna.b" not in written.text


def test_an_exception_is_told_without_the_values_that_it_names(client, written, monkeypatch):
    factories.user("anna.b")

    def twice(*args):
        with transaction.atomic():
            User.objects.create(username="anna.b", email="anna@example.org")

    client.force_login(User.objects.get())
    monkeypatch.setattr("annotation.participation.queries.enrolments.study_cards", twice)
    client.raise_request_exception = False
    assert client.get("/").status_code == 500
    [line] = [line for line in written.lines() if line["level"] == "ERROR"]
    assert line["message"] == "Internal Server Error: home"
    assert "IntegrityError" in line["exception"]
    assert "in twice" in line["exception"], "where it happened is told"
    assert "UNIQUE" in line["exception"] or "auth_user_username_key" in line["exception"]
    for secret in SECRETS:
        assert secret not in written.text


class Violation(Exception):
    """As psycopg tells it."""

    sqlstate = "23505"
    diag = SimpleNamespace(constraint_name="username_key")


def test_what_is_safe_of_an_error_is_told():
    assert describe_error(ValueError("anna.b")) == "ValueError"
    assert describe_error(FileNotFoundError(2, "No such file or directory", "anna.b")) == (
        "FileNotFoundError: No such file or directory"
    )
    unique = sqlite3.IntegrityError("UNIQUE constraint failed")
    unique.sqlite_errorname = "SQLITE_CONSTRAINT_UNIQUE"
    error = IntegrityError("Key (username)=(anna.b) already exists.")
    error.__cause__ = unique
    assert describe_error(error) == "django.db.utils.IntegrityError: SQLITE_CONSTRAINT_UNIQUE"
    assert describe_error(OSError("anna.b")) == "OSError"
    for away in (OperationalError, InterfaceError):
        told = f"django.db.utils.{away.__name__}: connection refused"
        assert describe_error(away("connection refused\nanna.b")) == told
    error.__cause__ = Violation()
    assert describe_error(error) == "django.db.utils.IntegrityError: 23505 username_key"
    error.__cause__ = unique
    both = stack(error)
    assert both.index("sqlite3.IntegrityError") < both.index("Caused another") < both.index("django.db")
    assert "anna.b" not in both


def test_the_causes_of_an_error_are_told_once_each_unless_they_are_hidden():
    first, second = ValueError(), KeyError()
    second.__context__ = first
    assert list(log_lines.chain(second)) == [second, first]
    first.__cause__ = second
    assert list(islice(log_lines.chain(second), 3)) == [second, first], "they do not go round in a circle"
    second.__suppress_context__ = True
    assert list(log_lines.chain(second)) == [second]


def test_what_is_no_request_of_a_browser_is_logged_as_it_is(written):
    """The server of Django's own puts a socket there; its records have been written by others before."""
    told = {"name": "django.server", "msg": "broken pipe", "request": object(), "exc_text": "anna.b"}
    record = logging.makeLogRecord(told)
    written.handle(record)
    assert "broken pipe" in written.text
    assert "anna.b" not in written.text
    assert "request_id" not in written.lines()[0]


def test_the_program_itself_chooses_what_it_says(written):
    logging.getLogger("annotation.core").warning("not done: %s", ValueError("the second line"))
    logging.getLogger("celery.app.trace").warning("%(name)s took %(args)s", {"name": "score", "args": "7 s"})
    assert "not done: the second line" in written.text
    assert "score took 7 s" in written.text


def test_a_route_without_a_name_is_told_as_such():
    match = SimpleNamespace(view_name="")
    assert log_lines.route_of(SimpleNamespace(resolver_match=match, path="/")) == "unnamed"


def test_the_web_server_and_celery_say_no_more(written):
    logging.getLogger("gunicorn.error").propagate = True
    try:
        logging.getLogger("gunicorn.error").warning(
            "Invalid request from ip=%s: %s", "203.0.113.7", "no host"
        )
        logging.getLogger("gunicorn.error").error("Error handling request %s", "/join/anna.b/")
    finally:
        logging.getLogger("gunicorn.error").propagate = False
    try:
        raise ValueError("anna.b")
    except ValueError as error:
        context = {"id": "7", "name": "score", "exc": repr(error), "args": "('anna.b',)", "description": "x"}
        context |= {"kwargs": "{'who': 'anna.b'}", "traceback": "anna.b"}
        logging.getLogger("celery.app.trace").error(
            "Task %(name)s[%(id)s] %(description)s: %(exc)s%(args)s%(kwargs)s%(traceback)s",
            *(context,),
            exc_info=True,
        )
    logging.getLogger("celery.utils").error("it raised: %r", KeyError("anna.b"))
    assert "it raised: 'KeyError'" in written.text
    assert "Invalid request from ip=-: no host" in written.text
    assert "Error handling request\n" in written.text
    assert "Task score[7] x: ValueError" in written.text
    for secret in SECRETS:
        assert secret not in written.text


def test_sql_with_its_values_is_logged_at_no_level(monkeypatch):
    monkeypatch.setenv("LOG_LEVEL", "debug")
    monkeypatch.setenv("LOG_FORMAT", "json")
    made = logs.configured()
    assert made["root"]["level"] == "DEBUG"
    assert made["loggers"]["django.db.backends"]["level"] == "INFO"
    for name in ("httpx", "httpcore", "botocore", "boto3", "s3transfer", "urllib3"):
        assert made["loggers"][name]["level"] == "WARNING", "addresses may be signed"
    assert made["loggers"]["gunicorn.access"]["level"] == "CRITICAL"
    assert made["formatters"]["chosen"]["()"] == "visage_app.observability.log_lines.JsonLineFormatter"
    monkeypatch.setenv("LOG_LEVEL", "ERROR")
    assert logs.configured()["loggers"]["django.db.backends"]["level"] == "ERROR"
