"""Releases through the API: what would be told, the bundle, and which were made."""

from __future__ import annotations

import hashlib
import io
import zipfile

import pytest

from annotation.models import AuditEvent, ProfileAnswer, Study
from tests import factories
from tests.annotation.api.calls import Program, is_problem

pytestmark = pytest.mark.django_db
STUDY = "studies/words"


@pytest.fixture
def program():
    study = factories.rating_study(name="words", texts=("sombrero", "kind", "poor", "tall"))
    units = list(study.tasks.get().units.order_by("position"))
    for number in range(10):
        who = factories.annotator(profile={"gender": "woman" if number < 9 else "man"})
        factories.enrolment(study, who=who)
        factories.response(units[number % len(units)], who=who, justification="ask amal@example.org")
    ProfileAnswer.objects.update(may_publish=True)
    return Program(factories.user("admin", admin=True))


def test_the_report_says_what_is_told_and_takes_nothing_out(program):
    told = program.get(f"{STUDY}/release-report?k=5").json()
    assert (told["people"], told["responses"], told["smallest"], told["earlier"]) == (10, 10, 5, 0)
    (gender,) = told["profile"]
    assert (gender["name"], gender["told"], gender["rare"], gender["withheld"]) == ("gender", 5, 5, False)
    assert program.get(f"{STUDY}/release-report?k=5&withhold=%20gender%20,").json()["profile"] == []
    assert not AuditEvent.objects.filter(what="release").exists()
    is_problem(program.get(f"{STUDY}/release-report?k=1"), 400)
    is_problem(program.get(f"{STUDY}/release-report?k=10001"), 400)
    is_problem(program.get(f"{STUDY}/release-report?withhold=shoes"), 422)


def test_a_bundle_is_whole_screened_and_noted(program):
    asked = {"k": 5, "with_text": True, "licence": "CC-BY-4.0", "withhold": ["age_band"]}
    AuditEvent.objects.create(what="blocked", study=Study.objects.get())
    AuditEvent.objects.create(what="release", study=factories.study())
    assert program.get(f"{STUDY}/release-report").json()["earlier"] == 0
    answer = program.post(f"{STUDY}/release", asked)
    assert answer["Content-Type"] == "application/zip"
    archive = zipfile.ZipFile(io.BytesIO(b"".join(answer.streaming_content)))
    texts = {name.partition("/")[2]: archive.read(name) for name in archive.namelist()}
    assert not any(b"amal@example.org" in text for text in texts.values())
    (made,) = program.get(f"{STUDY}/releases").json()["results"]
    sums = next(text for name, text in texts.items() if "sums" in name.lower())
    assert made["checksum"] == hashlib.sha256(sums).hexdigest()
    assert (made["k"], made["texts"], made["by"], made["annotators"]) == (5, True, "admin", 10)
    assert made["withheld"] == ["age_band"]
    event = AuditEvent.objects.get(pk=made["id"])
    AuditEvent.objects.create(what="release", study=event.study, details=event.details)
    ids = [each["id"] for each in program.get(f"{STUDY}/releases").json()["results"]]
    assert ids == sorted(ids, reverse=True)
    assert program.get(f"{STUDY}/release-report").json()["earlier"] == 2


def test_what_cannot_be_released_is_refused_before_anything_is_sent(program):
    said = is_problem(
        program.post(f"{STUDY}/release", {"withhold": ["shoes"], "licence": "", "citation": ""}), 422
    )
    assert "shoes" in said["detail"]
    factories.study("empty")
    is_problem(program.post("studies/empty/release", {}), 422)
    is_problem(program.post(f"{STUDY}/release", {"k": 1}), 400)
    assert not AuditEvent.objects.filter(what="release").exists()
