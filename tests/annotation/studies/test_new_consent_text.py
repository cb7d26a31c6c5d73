"""manage.py consent: another text for a study that runs, to which everybody is asked again."""

from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from annotation.assignment import queries
from annotation.audit import sentences
from annotation.models import AuditEvent, Consent, Study
from tests import factories
from tests.annotation.studies.test_open_study import FILE, opened

pytestmark = pytest.mark.django_db
NEW = FILE.replace("What taking part means.", "What it really means.") + (
    '\n[consent.es]\ntext = "Lo que significa."\n'
)


@pytest.fixture
def study(tmp_path):
    factories.user("maria")
    opened(tmp_path)
    return Study.objects.get()


def published(tmp_path, text: str) -> str:
    path = tmp_path / "study.toml"
    path.write_text(text, encoding="utf-8")
    out = StringIO()
    call_command("consent", str(path), stdout=out)
    return out.getvalue()


def test_everybody_is_asked_again_and_what_was_agreed_to_stays(study, tmp_path):
    account = factories.user()
    enrolment = factories.enrolment(study, who=factories.annotator(user=account))
    old = study.consent_texts.get()
    Consent.objects.create(annotator=enrolment.annotator, text=old, given_at=timezone.now())
    assert queries.membership(user=account, study_name="pilot").consented

    assert "Version 2 is published" in published(tmp_path, NEW)
    assert not queries.membership(user=account, study_name="pilot").consented
    texts = study.consent_texts.filter(version=2).order_by("language")
    assert [(text.language, text.text) for text in texts] == [
        ("en", "What it really means."),
        ("es", "Lo que significa."),
    ]
    assert texts[0].content_warning == "Some words are hurtful."
    assert Consent.objects.get().text == old
    Consent.objects.create(annotator=enrolment.annotator, text=texts[1], given_at=timezone.now())
    assert queries.membership(user=account, study_name="pilot").consented

    event = AuditEvent.objects.get(what="consent text published")
    assert event.details == {"version": 2}
    assert sentences.sentence(event) == "Published version 2 of the consent text."


def test_the_same_text_again_changes_nothing(study, tmp_path):
    assert "nothing to change" in published(tmp_path, FILE)
    published(tmp_path, NEW)
    assert "nothing to change" in published(tmp_path, NEW)
    assert study.consent_texts.filter(version=3).count() == 0
    for version, text in ((3, FILE), (4, NEW)):
        assert f"Version {version} is published" in published(tmp_path, text)


def test_who_changes_only_the_consent_of_an_open_study_is_told_of_the_command(study, tmp_path):
    with pytest.raises(CommandError, match=r"differs in consent\.text\. The command `consent`"):
        opened(tmp_path, FILE.replace("taking part means", "taking part is"))


@pytest.mark.parametrize(
    ("status", "message"),
    [("draft", "is draft: open_study --draft updates it"), ("closed", "is closed: nobody can take part")],
)
def test_where_nobody_is_asked_nothing_is_published(study, tmp_path, status, message):
    Study.objects.update(status=status, closed_at=timezone.now() if status == "closed" else None)
    with pytest.raises(CommandError, match=message):
        published(tmp_path, NEW)
    assert study.consent_texts.count() == 1


def test_a_file_of_no_study_and_a_file_that_is_none_are_refused(study, tmp_path):
    with pytest.raises(CommandError, match="there is no study 'other'"):
        published(tmp_path, NEW.replace('name = "pilot"', 'name = "other"'))
    with pytest.raises(CommandError, match=r"study\.toml: "):
        published(tmp_path, "name = 1")
