"""Consent: nobody answers without having agreed to the latest text."""

import html
import re

import pytest

from annotation.models import (
    Annotator,
    Consent,
    Enrolment,
    EnrolmentStatus,
    Judgement,
    Purpose,
    Slot,
    SlotState,
    StudyStatus,
)
from annotation.participation.services import annotators, withdrawals
from tests import factories

pytestmark = pytest.mark.django_db


@pytest.fixture
def study():
    return factories.rating_study(name="words")


@pytest.fixture
def amal(client):
    who = factories.user("amal")
    client.force_login(who)
    return who


def test_the_page_warns_first_and_names_the_version(client, amal, study):
    page = client.get("/studies/words/consent/").text
    assert page.index("What you may see") < page.index("What taking part means.")
    assert "Version 1 of this text" in page
    assert not Annotator.objects.exists()  # looking at it keeps nothing about anybody


def test_agreeing_enrols_under_a_pseudonym_that_tells_nothing(client, amal, study):
    text = study.consent_texts.get()
    sent = client.post("/studies/words/consent/", {"text": text.pk})

    assert sent.url == "/studies/words/profile/"
    enrolment = Enrolment.objects.get()
    assert enrolment.status == EnrolmentStatus.QUALIFIED
    assert enrolment.annotator.user == amal
    assert "amal" not in enrolment.annotator.pseudonym
    assert Consent.objects.get().text == text


def test_agreeing_twice_is_agreeing_once(client, amal, study):
    for _ in range(2):
        client.post("/studies/words/consent/", {"text": study.consent_texts.get().pk})
    assert Consent.objects.count() == Enrolment.objects.count() == Annotator.objects.count() == 1


@pytest.mark.parametrize("text", ["", "none", "0", "99999999999999999999999"])
def test_agreeing_to_a_text_that_is_not_the_latest_is_asked_again(client, amal, study, text):
    sent = client.post("/studies/words/consent/", {"text": text}, follow=True)
    assert "Please read it again" in sent.text
    assert not Enrolment.objects.exists()
    assert not Annotator.objects.exists()


def test_a_new_version_is_asked_for_before_the_next_item(client, amal, study):
    factories.enrolment(study, who=factories.annotator(user=amal), consented=True)
    assert client.get("/studies/words/annotate/").status_code == 200

    newer = factories.consent_text(study, version=2)
    assert client.get("/studies/words/annotate/").url == "/studies/words/consent/"
    client.post("/studies/words/consent/", {"text": newer.pk})
    assert client.get("/studies/words/annotate/").status_code == 200


def test_consent_taken_back_closes_the_way_to_the_items(client, amal, study):
    factories.enrolment(study, who=factories.annotator(user=amal), consented=True)
    Consent.objects.update(withdrawn_at=Consent.objects.get().given_at)
    assert client.get("/studies/words/annotate/").url == "/studies/words/consent/"
    client.post("/studies/words/consent/", {"text": study.consent_texts.get().pk})
    assert client.get("/studies/words/annotate/").status_code == 200


def test_without_consent_there_is_no_item(client, amal, study):
    assert client.get("/studies/words/annotate/").url == "/studies/words/consent/"
    assert not Slot.objects.exclude(state=SlotState.OPEN).exists()


def test_what_others_agreed_to_and_the_texts_of_other_studies_change_nothing(client, amal, study):
    who = factories.annotator(user=amal)
    Enrolment.objects.create(annotator=who, study=study, status=EnrolmentStatus.INVITED)
    factories.enrolment(study, consented=True)
    elsewhere = factories.rating_study(name="elsewhere")
    factories.enrolment(elsewhere, who=who, consented=True)
    theirs = factories.consent_text(elsewhere, version=2)
    assert client.get("/studies/words/annotate/").url == "/studies/words/consent/"

    text = study.consent_texts.get()
    for other in (theirs, elsewhere.consent_texts.get(version=1)):
        client.post("/studies/words/consent/", {"text": other.pk})
    assert Enrolment.objects.get(annotator=who, study=study).status == EnrolmentStatus.INVITED
    shown = client.get("/studies/words/consent/").context
    assert (shown["text"], shown["others"]) == (text, [])
    client.post("/studies/words/consent/", {"text": text.pk})
    assert client.get("/studies/words/annotate/").status_code == 200


def test_somebody_blocked_stays_blocked(client, amal, study):
    enrolment = factories.enrolment(study, who=factories.annotator(user=amal), consented=True)
    Enrolment.objects.update(status=EnrolmentStatus.BLOCKED)
    annotators.enrol(annotator=enrolment.annotator, study=study)
    ended = client.get("/studies/words/annotate/", follow=True)
    assert (ended.status_code, ended.redirect_chain) == (403, [("/studies/words/thanks/", 302)])
    assert "have ended your part" in ended.text


def test_an_invited_annotator_is_in_once_they_agree(amal, study):
    annotator = annotators.annotator_for(user=amal)
    Enrolment.objects.create(annotator=annotator, study=study, status=EnrolmentStatus.INVITED)
    annotators.agree(user=amal, study=study, text_id=study.consent_texts.get().pk)
    assert Enrolment.objects.get().status == EnrolmentStatus.QUALIFIED


def test_a_lead_cannot_agree_to_their_own_study(client, study):
    lead = factories.user("lead")
    study.leads.add(lead)
    client.force_login(lead)
    assert client.post("/studies/words/consent/", {"text": study.consent_texts.get().pk}).status_code == 404
    assert not Enrolment.objects.exists()


@pytest.mark.parametrize("status", [StudyStatus.DRAFT, StudyStatus.CLOSED, StudyStatus.PAUSED])
def test_a_study_that_is_not_open_is_not_there_for_strangers(client, amal, status):
    factories.rating_study(name="other", status=status)
    for page in ("", "consent/", "thanks/"):
        assert client.get(f"/studies/other/{page}").status_code == 404


@pytest.mark.parametrize("text", ["", "0", "-1", "x", "\0", "٣", "9" * 19, "9" * 5000])
def test_agreeing_to_a_text_that_was_never_shown_enrols_nobody(client, amal, study, text):
    assert client.post("/studies/words/consent/", {"text": text}).url == "/studies/words/consent/"
    assert not Enrolment.objects.exists()


# -- languages


@pytest.fixture
def translated(study):
    study.consent_texts.create(
        version=1, language="es", text="Lo que significa participar.", content_warning="¡Ojo!"
    )
    study.consent_texts.create(version=1, language="ar", text="معنى المشاركة", content_warning="تنبيه")
    return study


@pytest.mark.parametrize(
    ("asked", "words", "language"),
    [
        ("es", "Lo que significa", "es"),
        ("es-mx", "Lo que significa", "es"),
        ("ar", "معنى المشاركة", "ar"),
        ("fr", "What taking part means.", "en"),
        ("", "What taking part means.", "en"),
    ],
)
def test_the_text_is_in_the_language_of_the_page_else_in_english(
    client, amal, translated, asked, words, language
):
    page = client.get("/studies/words/consent/", headers={"accept-language": asked}).text
    assert f'<div class="card prose" lang="{language}" dir="auto"><p>{words}' in page


def test_the_text_can_be_read_in_every_language_it_is_written_in(client, amal, translated):
    for language in ("fr", "zu"):
        translated.consent_texts.create(version=1, language=language, text="…")
    page = client.get("/studies/words/consent/").text
    # as the program calls those that its pages are in; the others with a capital, or by their code
    for language, name in (("es", "Español"), ("ar", "العربية"), ("fr", "Français"), ("zu", "zu")):
        assert f'href="?language={language}" lang="{language}" hreflang="{language}">{name}</a>' in page
    for language in ("es", "es-MX"):
        shown = client.get("/studies/words/consent/", {"language": language})
        assert "Lo que significa" in shown.text
        assert [text.language for text in shown.context["others"]] == ["en", "ar", "fr", "zu"]


def test_agreeing_in_one_language_is_agreeing_in_all(client, amal, translated):
    for language in ("es", "en", "es"):
        client.post("/studies/words/consent/", {"text": translated.consent_texts.get(language=language).pk})
    assert Consent.objects.get().text.language == "es"
    assert client.get("/studies/words/annotate/").status_code == 200


def test_a_translation_of_an_older_version_is_not_agreed_to(client, amal, translated):
    factories.consent_text(translated, version=2)
    page = client.get("/studies/words/consent/", headers={"accept-language": "es"}).text
    assert "Lo que significa" not in page
    spanish = translated.consent_texts.get(language="es").pk
    assert (
        "Please read it again" in client.post("/studies/words/consent/", {"text": spanish}, follow=True).text
    )
    assert not Enrolment.objects.exists()


def test_who_reads_the_text_that_they_agreed_to_is_not_told_that_it_has_changed(client, amal, study):
    factories.enrolment(study, who=factories.annotator(user=amal), consented=True)
    assert "has changed since you agreed" not in client.get("/studies/words/consent/").text


def test_who_is_asked_again_is_told_why_and_can_leave_instead(client, amal, study):
    factories.enrolment(study, who=factories.annotator(user=amal), consented=True)
    factories.consent_text(study, version=2)
    page = client.get("/studies/words/consent/").text
    assert "has changed since you agreed" in page
    assert 'href="/studies/words/withdraw/">I do not agree</a>' in page
    assert 'name="decline"' not in page


def test_who_declines_without_having_been_let_in_just_goes_home(client, amal, study):
    page = client.get("/studies/words/consent/").text
    assert 'href="/">I do not want to take part</a>' in page
    client.post("/studies/words/consent/", {"decline": "yes"})
    assert not Annotator.objects.exists()


def test_a_study_with_practice_items_begins_with_them(amal, study):
    factories.attribute_unit(study.tasks.get(), "moustache", purpose=Purpose.TRAINING)
    without = factories.rating_study()
    for of in (study, without):
        annotators.agree(user=amal, study=of, text_id=of.consent_texts.get().pk)
    statuses = dict(Enrolment.objects.values_list("study", "status"))
    assert statuses == {study.pk: EnrolmentStatus.TRAINING, without.pk: EnrolmentStatus.QUALIFIED}


def test_somebody_who_withdrew_cannot_agree_anew(amal, study):
    annotator = annotators.annotator_for(user=amal)
    Enrolment.objects.create(annotator=annotator, study=study, status=EnrolmentStatus.WITHDRAWN)
    with pytest.raises(annotators.ConsentRefused, match="withdrew"):
        annotators.agree(user=amal, study=study, text_id=study.consent_texts.get().pk)
    assert not Consent.objects.exists()


def hidden(page) -> dict[str, str]:
    """The hidden fields of the rating form."""
    form = page.text[page.text.index('id="rating"') :]
    found = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', form))
    return {name: html.unescape(value) for name, value in found.items()}


def test_an_answer_sent_while_a_new_text_is_published_is_kept_and_the_text_is_asked_for(client, amal, study):
    factories.enrolment(study, who=factories.annotator(user=amal), consented=True)
    shown = client.get("/studies/words/annotate/")
    newer = factories.consent_text(study, version=2)

    # a form that lacks something is shown again, with what was typed
    unsure = {**hidden(shown), "value": "3", "justification": ""}
    again = client.post("/studies/words/annotate/", unsure)
    assert again.status_code == 422
    assert re.search(r'value="3"[^>]* checked', again.text)

    sent = client.post("/studies/words/annotate/", {**unsure, "justification": "it depends"}, follow=True)
    assert Judgement.objects.get().justification == "it depends"
    assert sent.redirect_chain[-1][0] == "/studies/words/consent/"
    assert "The text has changed since you agreed to it" in sent.text
    back = client.post("/studies/words/consent/", {"text": newer.pk}, follow=True)
    assert back.redirect_chain == [("/studies/words/annotate/", 302)]
    assert "1 of" in back.text


def test_a_form_sent_after_withdrawing_keeps_nothing(client, amal, study):
    enrolment = factories.enrolment(study, who=factories.annotator(user=amal), consented=True)
    shown = client.get("/studies/words/annotate/")
    withdrawals.withdraw(annotator=enrolment.annotator, study=study, by=None)
    sent = client.post("/studies/words/annotate/", {**hidden(shown), "value": "5"})
    assert sent.url == "/studies/words/withdraw/"
    assert not Judgement.objects.exists()
