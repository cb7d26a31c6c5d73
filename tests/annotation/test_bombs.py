"""Small things sent to keep the program busy or fill its memory: refused before they do.

Pictures and ZIPs: tests/generation/pages. Rows of releases and tables: their readers' own tests.
"""

from __future__ import annotations

import json
import tomllib

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import get_resolver

from annotation.studies.errors import StudyFileError
from annotation.studies.study_file import safe_toml
from annotation.studies.study_file.reading import read_study_text
from tests import factories
from tests.annotation.api.calls import Program, is_problem

DEEP = "[" * 20_000 + "]" * 20_000
DEEP_OBJECT = '{"a":' * 20_000 + "1" + "}" * 20_000
LARGE = json.dumps({"a": "x" * 3_000_000})
DIGITS = '{"unit": ' + "9" * 10_000 + "}"
KINDS = {"deep": DEEP, "nested": DEEP_OBJECT, "large": LARGE, "digits": DIGITS}
BODIES = pytest.mark.parametrize("body", KINDS.values(), ids=KINDS)
DOTS = ".a" * 2000
LONG_KEYS = (
    f"a{DOTS} = 1",
    f"[a{DOTS}]",
    f"[[a{DOTS}]]",
    f"x = {{ a{DOTS} = 1 }}",
    "a" + ".a" * 20 + " = 1",
    "a" + " . a" * 2000 + " = 1",
    "a" + "\t.\ta" * 2000 + " = 1",
    "a" + '."a"' * 2000 + " = 1",
    "a" + ".'a'" * 2000 + " = 1",
    f'text = """ "" """\n# "\na{DOTS} = 1',
    f"text = '''it''s'''\na{DOTS} = 1",
    f'text = "a \\" b" # it\'s\na{DOTS} = 1',
)


class TestLongKeys:
    """Of which Python's reader of TOML takes the square of the time."""

    @pytest.fixture(autouse=True)
    def _not_read(self, monkeypatch):
        def read(text):
            raise AssertionError("it was given to the reader")

        assert get_resolver().url_patterns, "loaded now: some of its modules read files of their own"
        monkeypatch.setattr(tomllib, "loads", read)

    @pytest.mark.parametrize("text", LONG_KEYS, ids=range(len(LONG_KEYS)))
    def test_are_refused_before_they_are_read(self, text):
        with pytest.raises(ValueError, match="more than 20 parts"):
            safe_toml.loads(text)

    def test_at_the_door_of_study_files(self):
        with pytest.raises(StudyFileError, match="is not valid TOML: a key has more than 20 parts"):
            read_study_text(LONG_KEYS[0])

    @pytest.mark.django_db
    def test_at_the_door_of_the_api(self):
        program = Program(factories.user("root", admin=True))
        answer = program.client.post(
            "/api/v1/studies",
            LONG_KEYS[0],
            content_type="application/toml",
            headers={"Authorization": f"Bearer {program.secret}"},
        )
        assert "more than 20 parts" in is_problem(answer, 400)["detail"]

    @pytest.mark.django_db
    def test_at_the_door_of_the_pages(self, client):
        client.force_login(factories.user("root", admin=True))
        sent = {"upload": "1", "file": SimpleUploadedFile("a.toml", LONG_KEYS[0].encode())}
        answer = client.post("/setup/", sent)
        assert answer.status_code == 422
        assert "more than 20 parts" in answer.text


@pytest.mark.parametrize(
    "text",
    [
        "a" + ".a" * 19 + " = 1",
        "a.b.c = 1.5\n[x.y]\nz = 2026-01-01T00:00:00.5Z",
        'prose = """' + "One. Two. " * 500 + '"""',
        "prose = '''" + "a.b.c." * 500 + "'''",
        'prose = "' + "a." * 500 + '"',
        "prose = '" + "a." * 500 + "'",
        "# " + "a." * 500 + "\nx = 1",
        'x = ["' + '", "'.join(["a.b"] * 500) + '"]',
    ],
)
def test_what_has_dots_and_no_long_key_is_read(text):
    assert safe_toml.loads(text) == tomllib.loads(text)


@BODIES
@pytest.mark.django_db
def test_a_body_that_is_too_deep_or_too_large_is_refused_at_work(client, body):
    study = factories.rating_study(name="words")
    who = factories.user("amal")
    factories.enrolment(study, who=factories.annotator(user=who), consented=True)
    client.force_login(who)
    for endpoint in ("items", "answers", "skips", "corrections"):
        answer = client.post(f"/studies/words/annotate/{endpoint}/", body, content_type="application/json")
        assert answer.status_code == 400, (endpoint, answer.text[:200])


@BODIES
@pytest.mark.django_db
def test_a_body_that_is_too_deep_or_too_large_is_refused_by_the_api(body):
    study = factories.rating_study(name="words")
    admin = factories.user("root", admin=True)
    amal = factories.user("amal")
    factories.enrolment(study, who=factories.annotator(user=amal), consented=True)
    for program, method, path in (
        (Program(amal), "POST", "studies/words/answers"),
        (Program(amal), "POST", "studies/words/next"),
        (Program(admin), "POST", "studies"),
        (Program(admin), "POST", "runs"),
        (Program(admin), "POST", "studies/words/invitations"),
        (Program(admin), "POST", "studies/words/webhooks"),
        (Program(admin), "POST", "studies/words/exports"),
    ):
        answer = program.client.generic(
            method,
            f"/api/v1/{path}",
            body,
            content_type="application/json",
            headers={"Authorization": f"Bearer {program.secret}"},
        )
        is_problem(answer, 413 if body == LARGE else 400)


@pytest.mark.django_db
def test_a_form_that_is_too_large_or_has_too_many_fields_is_refused(client):
    assert client.post("/accounts/login/", {"username": "x" * 3_000_000}).status_code == 413
    plain = "application/x-www-form-urlencoded"
    body = "username=" + "x" * 3_000_000
    assert client.post("/accounts/login/", body, content_type=plain).status_code == 400
    many = {f"field{number}": "1" for number in range(1001)}
    assert client.post("/accounts/login/", many).status_code == 400
