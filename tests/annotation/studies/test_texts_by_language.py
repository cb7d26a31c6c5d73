"""What a study is called, what it is about, where help is found and what it asks besides the profile: read by
annotators in their own language, as far as it is translated, and by those who lead it as it was written."""

import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from annotation.core.translation import LocalizedText, translated_text
from annotation.models import EnrolmentStatus, ProfileAnswer, Study, StudyStatus
from annotation.participation.services import invitations
from tests import factories
from tests.annotation.api.calls import Program

pytestmark = pytest.mark.django_db

ENGLISH = {
    "title": "What is to be seen?",
    "description": "We look at pictures <together>.",
    "support_text": "A helpline: https://example.org/help",
}
SPANISH = {
    "title": "¿Qué se ve?",
    "description": "Miramos imágenes <en común>.",
    "support_text": "Una línea de ayuda: https://example.org/ayuda",
}
ARABIC = {
    "title": "ما الذي يظهر؟",
    "description": "ننظر إلى الصور <معًا>.",
    "support_text": "خط للمساعدة: https://example.org/musaada",
}
QUESTIONS = [
    {
        "field": "craft",
        "label": "Your craft",
        "choices": ["weaver", "baker"],
        "translations": {
            "es": {"label": "Su oficio", "choices": ["quien teje", "quien hornea"]},
            "ar": {"label": "حرفتك", "choices": ["النسيج", "الخبز"]},
        },
    },
    {"field": "town", "label": "Your town", "choices": [], "translations": {"es": {"label": "Su ciudad"}}},
]
IN = {"en": ENGLISH, "es": SPANISH, "es-mx": SPANISH, "ar": ARABIC}
OF_QUESTIONS = {
    "en": ("Your craft", "weaver", "Your town"),
    "es": ("Su oficio", "quien teje", "Su ciudad"),
    "ar": ("حرفتك", "النسيج", "Your town"),
}


def study_and_amal():
    study = factories.rating_study(
        name="words",
        leads=[factories.user("lead")],
        questions=QUESTIONS,
        translations={"es": SPANISH, "ar": ARABIC},
        completion_code="C1AB2",
        **ENGLISH,
    )
    who = factories.user("amal")
    factories.enrolment(study, who=factories.annotator(user=who), consented=True)
    return study, who


@pytest.fixture(scope="module")
def made(once):
    return once(study_and_amal)


@pytest.fixture
def both(made, db, tmp_path):
    return made.copied(tmp_path)


@pytest.fixture
def study(both):
    return both[0]


@pytest.fixture
def amal(client, both):
    client.force_login(both[1])
    return both[1]


def read(client, path: str, language: str, **more) -> str:
    """The page without what it is told in scripts."""
    text = client.get(path, headers={"accept-language": language}, follow=True, **more).text
    return re.sub(r"<script.*?</script>", "", text, flags=re.S)


def words(text: str) -> str:
    """As it stands in a page."""
    return text.replace("<", "&lt;").replace(">", "&gt;")


def only_in(page: str, language: str, *parts: str) -> None:
    """That these parts stand there in this language, and nothing of the study's in another."""
    for part in parts:
        shown = IN[language][part]
        if part == "support_text":
            shown = shown.partition(" https")[0]
        assert words(shown) in page, (part, page)
    for other in IN.values():
        if other is not IN[language]:
            for text in other.values():
                assert words(text.partition(" https")[0]) not in page, text


@pytest.mark.parametrize("language", ["en", "es", "es-mx", "ar"])
@pytest.mark.parametrize(
    ("page", "parts"),
    [
        ("/studies/words/", ("title", "description", "support_text")),
        ("/studies/words/annotate/", ("title", "support_text")),
        ("/studies/words/profile/", ("title", "support_text")),
        ("/studies/words/thanks/", ("title", "support_text")),
        ("/studies/words/withdraw/", ("title", "support_text")),
        ("/", ("title", "description")),
    ],
)
def test_pages_of_who_takes_part_are_in_their_language(client, amal, page, parts, language):
    only_in(read(client, page, language), language, *parts)


@pytest.mark.parametrize("language", ["en", "es", "ar"])
@pytest.mark.parametrize(
    ("status", "of_study"),
    [
        (EnrolmentStatus.BLOCKED, StudyStatus.OPEN),
        (EnrolmentStatus.SCREENED_OUT, StudyStatus.OPEN),
        (EnrolmentStatus.FINISHED, StudyStatus.OPEN),
        (EnrolmentStatus.WITHDRAWN, StudyStatus.OPEN),
        (EnrolmentStatus.QUALIFIED, StudyStatus.PAUSED),
    ],
)
def test_pages_where_work_ends_are_in_their_language(client, amal, study, status, of_study, language):
    study.enrolments.update(status=status)
    Study.objects.update(status=of_study)
    only_in(read(client, "/studies/words/thanks/", language), language, "title", "support_text")


@pytest.mark.parametrize("language", ["en", "es", "ar"])
def test_so_are_those_that_say_why_there_is_nothing_now(client, amal, study, language):
    Study.objects.update(session_cap=1)
    study.enrolments.update(session_started_at=timezone.now(), session_units=1)
    capped = read(client, "/studies/words/thanks/", language)
    only_in(capped, language, "title", "support_text")
    Study.objects.update(session_cap=None)
    study.slots.all().delete()
    full = read(client, "/studies/words/thanks/", language)
    only_in(full, language, "title", "support_text")
    assert full != capped


@pytest.mark.parametrize("language", ["en", "es", "ar"])
def test_pages_on_the_way_in_are_in_the_language_of_who_comes(client, study, language):
    factories.enrolment(study, who=factories.annotator(), consented=True)
    invitation = invitations.create(study=study, by=study.leads.get(), max_uses=9)
    page = read(client, f"/join/{invitation.code}/", language)
    only_in(page, language, "title", "description", "support_text")
    arrived = {"PROLIFIC_PID": "5f8d", "STUDY_ID": "64aa", "SESSION_ID": "77bb"}
    page = read(client, "/studies/words/enter/", language, data={"PROLIFIC_PID": "5f8d"})
    only_in(page, language, "title", "support_text")  # the link is not complete
    page = read(client, "/studies/words/enter/", language, data=arrived)
    assert "C1AB2" not in page
    only_in(page, language, "title", "support_text")  # consent
    Study.objects.update(crowd_parameters={"participant": "workerId", "session": "assignmentId"})
    preview = {"workerId": "W1", "assignmentId": "ASSIGNMENT_ID_NOT_AVAILABLE"}
    page = read(client, "/studies/words/enter/", language, data=preview)
    only_in(page, language, "title", "description", "support_text")


@pytest.mark.parametrize("language", ["es", "ar"])
def test_what_is_not_translated_stays_english_and_says_so(client, amal, language):
    Study.objects.update(translations={language: {"title": IN[language]["title"]}})
    page = read(client, "/studies/words/", language)
    assert f'<h1><bdi dir="auto">{IN[language]["title"]}</bdi></h1>' in page
    assert '<div class="prose" lang="en" dir="auto"><p>We look at pictures &lt;together&gt;.</p>' in page
    assert '<div class="small" lang="en" dir="auto"><p>A helpline' in page
    Study.objects.update(translations={})
    assert '<h1><bdi lang="en" dir="auto">What is to be seen?</bdi></h1>' in read(
        client, "/studies/words/", language
    )
    assert 'lang="en" dir="auto"' not in read(client, "/studies/words/", "en")


def test_a_text_that_only_a_language_has_is_shown_to_its_readers(client, amal):
    Study.objects.update(support_text="")
    assert "línea de ayuda" in read(client, "/studies/words/annotate/", "es")
    assert "helpline" not in read(client, "/studies/words/annotate/", "en")


@pytest.mark.parametrize("language", ["en", "es", "ar"])
@pytest.mark.parametrize("page", ["/profile/", "/studies/words/profile/"])
def test_questions_are_asked_in_their_language_and_answered_in_english(client, amal, page, language):
    shown = read(client, page, language)
    label, choice, town = OF_QUESTIONS[language]
    assert f'<legend><bdi dir="auto">{label}</bdi></legend>' in shown
    assert f'<option value="weaver" dir="auto">{choice}</option>' in shown
    lang = ' lang="en"' if language == "ar" else ""
    assert f'<legend><bdi{lang} dir="auto">{town}</bdi></legend>' in shown
    others = [texts[0] for other, texts in OF_QUESTIONS.items() if other != language]
    assert [other for other in others if other in shown] == []
    sent = client.post(page, {"craft": "weaver"}, headers={"accept-language": language})
    assert sent.status_code == 302
    assert ProfileAnswer.objects.get().value == "weaver"
    assert '<option value="weaver" selected' in read(client, page, language)


def test_what_a_choice_says_in_another_language_is_no_choice(client, amal):
    sent = client.post("/studies/words/profile/", {"craft": "quien teje"}, headers={"accept-language": "es"})
    assert sent.status_code == 422
    assert not ProfileAnswer.objects.exists()


def test_those_who_lead_see_it_as_it_was_written(client, study):
    client.force_login(study.leads.get())
    for page in ("/", "/studies/words/people/", "/studies/words/overview/"):
        shown = read(client, page, "es")
        assert ENGLISH["title"] in shown, page
        assert SPANISH["title"] not in shown, page
    only_in(read(client, "/studies/words/", "es"), "es", "title", "description", "support_text")


@pytest.mark.parametrize(
    ("language", "told"),
    [
        ("es", LocalizedText("¿Qué se ve?", "es")),
        ("es-419", LocalizedText("¿Qué se ve?", "es")),
        ("pt-br", LocalizedText("O que se vê?", "pt-br")),
        ("pt", LocalizedText(ENGLISH["title"], "en")),
        ("", LocalizedText(ENGLISH["title"], "en")),
    ],
)
def test_a_variety_of_a_language_is_given_what_is_written_in_the_language(language, told):
    translations = {"es": SPANISH, "pt-br": {"title": "O que se vê?"}}
    study = Study(translations=translations, **ENGLISH)
    assert translated_text(study, "title", language) == told


@pytest.mark.parametrize("language", ["en", "es", "ar"])
def test_programs_are_told_in_the_language_they_ask_for_and_which_it_is(amal, language):
    program = Program(amal, "annotate")
    asked = {"accept-language": language}
    (own,) = program.get("own-studies", **asked).json()["results"]
    assert {part: own[part] for part in ENGLISH} == IN[language]
    assert own["languages"] == dict.fromkeys(ENGLISH, language)
    consent = program.get("studies/words/consent", **asked).json()
    assert (consent["title"], consent["description"]) == (
        IN[language]["title"],
        IN[language]["description"],
    )
    assert consent["languages"] == {"title": language, "description": language}
    for address in ("own-profile", "studies/words/profile"):
        questions = {one["field"]: one for one in program.get(address, **asked).json()["questions"]}
        label, choice, town = OF_QUESTIONS[language]
        assert (questions["craft"]["label"], questions["craft"]["language"]) == (label, language)
        assert questions["craft"]["choices"][0] == {"value": "weaver", "label": choice}
        spoken = "en" if language == "ar" else language
        assert (questions["town"]["label"], questions["town"]["language"]) == (town, spoken)
        assert questions["gender"]["language"] == language
    answer = {"field": "craft", "choice": "weaver"}
    assert program("PUT", "own-profile", {"answers": [answer]}, **asked).status_code == 200
    refused = program("PUT", "own-profile", {"answers": [{"field": "craft", "choice": "النسيج"}]}, **asked)
    assert refused.status_code == 422
    assert ProfileAnswer.objects.get().value == "weaver"


def test_texts_in_the_readers_language_cost_no_question_to_the_database(client, amal):
    def asked(language: str) -> int:
        with CaptureQueriesContext(connection) as captured:
            read(client, "/studies/words/annotate/", language)
        return len(captured)

    asked("en")  # items are given out
    assert asked("es") == asked("en")
