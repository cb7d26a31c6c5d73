"""What is taken out of what people wrote."""

import pytest

from annotation.releases.screening import REMOVED, Screen, known_names
from tests import factories

NAMES = frozenset({"maria.k", "noor", "lovelace", "ada lovelace", "5f3c", "_amal_"})


@pytest.mark.parametrize(
    ("text", "gone"),
    [
        ("write to ada@example.org please", "ada@example.org"),
        ("ADA.K+x@Example.CO.UK", "Example"),
        ("ada at example dot org", "example"),
        ("ada (at) example (dot) org", "example"),
        ("ｗｒｉｔｅ ａｄａ＠ｅｘａｍｐｌｅ．ｏｒｇ", "ｅｘａｍｐｌｅ"),
        ("a​da@exam​ple.org", "org"),
        ("see https://example.org/me?x=1 now", "example"),
        ("see www.example.org", "example"),
        ("see https://hat/me", "hat"),
        ("see www.hat", "hat"),
        ("example.org/me", "example"),
        ("bit.ly/x1", "x1"),
        ("see example.org now", "example"),
        ("I am @someone on there", "someone"),
        ("call +44 20 7946 0958", "7946"),
        ("call (020) 7946-0958", "7946"),
        ("5551234567", "555"),
        ("call 555 0199", "0199"),
        ("my id is 5a9d64f5f6dfdd0001eaa73d", "5a9d"),
        ("worker A1B2C3D4E5F6G7", "A1B2"),
        ("ask Noor.", "Noor"),
        ("ask maria.k, she knows", "maria"),
        ("ask maria.k.", "maria"),
        ("ask _amal_", "amal"),
        ("ask no\u00ador", "or"),
        ("ask no\u2060or", "or"),
        ("ask no\ufeffor", "or"),
        ("signed: Lovelace", "Lovelace"),
        ("by noor@work", "noor"),
    ],
)
def test_what_could_lead_to_somebody_is_removed(text, gone):
    screen = Screen(NAMES)
    said = screen(text)
    assert gone not in said
    assert REMOVED in said
    assert (screen.texts, screen.removed) == (1, 1)


@pytest.mark.parametrize(
    "text",
    [
        "A hat is an object; one can point at it (see page 12).",
        "1990-2000, 50% of 1,000 people",
        "123 456 hats",
        "it depends... e.g. on culture, i.e. the viewer",
        "=HYPERLINK() is a formula",
        "ｆｕｌｌ width",
        "Es un sombrero típico de México",
        "قبعة",
        "noorish",
    ],
)
def test_everything_else_stays_as_it_was_written(text):
    screen = Screen(NAMES)
    assert screen(text) == text
    assert screen.removed == 0


def test_nothing_is_no_text():
    screen = Screen(NAMES)
    assert screen("") == ""
    assert screen.texts == 0


@pytest.mark.django_db
def test_the_names_are_those_of_the_installation():
    somebody = factories.user("grace")
    # in full-width letters, as some keyboards write
    somebody.first_name, somebody.last_name, somebody.email = "Mary Al Lee", "Ｈｏｐｐｅｒ", "gh@example.org"
    somebody.save()
    enrolment = factories.enrolment(factories.study(), pseudonym="a-secret-one")
    enrolment.crowd_participant, enrolment.crowd_session = "worker-77", "session-88"
    enrolment.save()
    names = known_names()
    assert {"grace", "hopper", "a-secret-one", "worker-77", "session-88"} <= names
    assert {"mary al lee", "mary", "lee", "gh@example.org"} <= names
    assert "al" not in names
    assert "" not in names
    screen = Screen(names)
    assert screen("Hopper told worker-77 and a-secret-one") == f"{REMOVED} told {REMOVED} and {REMOVED}"
