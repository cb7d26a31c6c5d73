"""The voluntary profile."""

import pytest

from annotation.assignment.services import slots
from annotation.models import Annotator, Enrolment, EnrolmentStatus, ProfileAnswer, Region, Slot, SlotState
from annotation.participation import profile_fields
from annotation.participation.services import annotators
from annotation.participation.services.annotators import ProfileEntry
from tests import factories

pytestmark = pytest.mark.django_db


@pytest.fixture
def amal(client):
    who = factories.user("amal")
    client.force_login(who)
    return who


def kept() -> dict:
    return {
        answer.field: (answer.value, answer.self_described, answer.may_publish)
        for answer in ProfileAnswer.objects.all()
    }


def test_looking_at_it_keeps_nothing(client, amal):
    page = client.get("/profile/").text
    assert page.count("Prefer not to say") == 3
    assert " checked" not in page
    assert "decides which items you can get" not in page
    assert not Annotator.objects.exists()


def test_each_field_is_kept_with_its_own_permission(client, amal):
    client.post(
        "/profile/",
        {"origin": "Asia", "origin_publish": "on", "age_band": "25-34", "languages_own": " Hindi,  English "},
    )
    assert kept() == {
        "origin": ("Asia", False, True),
        "age_band": ("25-34", False, False),
        "languages": ("Hindi, English", False, False),
    }


def test_who_chooses_and_uses_their_own_words_says_both(client, amal):
    client.post("/profile/", {"origin": "Asia", "origin_own": "  Nepal,  born in  India "})
    assert kept() == {"origin": ("Asia", False, False)}
    assert ProfileAnswer.objects.get().own_words == "Nepal, born in India"
    page = client.get("/profile/").text
    assert 'value="Asia" selected' in page
    assert 'value="Nepal, born in India"' in page

    client.post("/profile/", {"origin": "", "origin_own": "Nepal"})
    assert kept() == {"origin": ("Nepal", True, False)}
    assert ProfileAnswer.objects.get().own_words == ""


def test_slots_go_by_the_choice_whatever_is_said_besides(client, amal):
    study = factories.rating_study(name="words", strata=("origin: Asia",))
    client.post("/profile/", {"origin": "Asia", "origin_own": "Nepal"})
    enrolment = factories.enrolment(study, who=Annotator.objects.get())
    assert slots.lease_next(enrolment=enrolment).stratum == "origin: Asia"


def test_own_words_alone_are_the_answer(client, amal):
    client.post("/profile/", {"gender": "", "gender_own": "two-spirit"})
    assert kept() == {"gender": ("two-spirit", True, False)}
    page = client.get("/profile/").text
    assert 'value="two-spirit"' in page
    assert 'value="woman" selected' not in page


def test_what_was_said_is_shown_again_and_can_be_taken_back(client, amal):
    client.post("/profile/", {"origin": "Europe", "origin_publish": "on"})
    page = client.get("/profile/").text
    assert 'value="Europe" selected' in page
    assert page.count(" checked") == 1
    # also an answer to what nobody asks any more
    ProfileAnswer.objects.create(annotator=Annotator.objects.get(), field="residence", value="Europe")
    assert "Where you live" in client.get("/profile/").text

    client.post("/profile/", {"origin": ""})
    assert kept() == {}


def test_a_value_that_was_not_offered_is_refused(client, amal):
    assert client.post("/profile/", {"origin": "Atlantis"}).status_code == 422
    assert client.post("/profile/", {"origin_own": "x" * 201}).status_code == 422
    assert client.post("/profile/", {"origin_own": "a\0b"}).status_code == 422
    assert kept() == {}


def test_on_the_way_into_a_study_it_leads_on_to_the_items(client, amal):
    study = factories.rating_study(name="words")
    assert client.get("/studies/words/profile/").url == "/studies/words/consent/"
    factories.enrolment(study, who=factories.annotator(user=amal), consented=True)
    page = client.get("/studies/words/profile/").text
    assert "Continue without saving" in page
    assert client.post("/studies/words/profile/", {"origin": "Asia"}).url == "/studies/words/annotate/"


def test_a_changed_origin_gives_back_what_is_in_hand_and_opens_other_items():
    study = factories.rating_study(strata=("origin: Asia", "origin: Europe"))
    annotator = factories.annotator(profile={"origin": "Asia"})
    enrolment = factories.enrolment(study, who=annotator)
    assert slots.lease_next(enrolment=enrolment).stratum == "origin: Asia"

    assert annotators.save_profile(annotator=annotator, entries={"origin": ProfileEntry("Europe")}) is True
    assert not Slot.objects.filter(state=SlotState.LEASED).exists()
    assert slots.lease_next(enrolment=enrolment).stratum == "origin: Europe"


def test_a_changed_origin_opens_items_that_the_queue_had_passed():
    study = factories.rating_study(texts=["hat", "turban"], strata=("origin: Asia", "origin: Europe"))
    slots.lease_next(enrolment=factories.enrolment(study, profile={"origin": "Asia"}))
    annotator = factories.annotator(profile={"origin": "Asia"})
    enrolment = factories.enrolment(study, who=annotator)
    assert slots.lease_next(enrolment=enrolment).unit.attribute.text == "turban"

    annotators.save_profile(annotator=annotator, entries={"origin": ProfileEntry("Europe")})
    assert slots.lease_next(enrolment=enrolment).unit.attribute.text == "hat"


def test_a_changed_permission_alone_leaves_the_item_in_hand():
    study = factories.rating_study()
    annotator = factories.annotator(profile={"origin": "Asia"})
    slot = slots.lease_next(enrolment=factories.enrolment(study, who=annotator))

    assert (
        annotators.save_profile(
            annotator=annotator, entries={"origin": ProfileEntry("Asia", may_publish=True)}
        )
        is False
    )
    assert Slot.objects.get(state=SlotState.LEASED) == slot
    assert kept() == {"origin": ("Asia", False, True)}


def test_an_unknown_field_is_refused_by_name():
    with pytest.raises(ValueError, match="There is no profile field 'shoe_size'"):
        annotators.save_profile(annotator=factories.annotator(), entries={"shoe_size": ProfileEntry("42")})


# -- what a study asks besides


@pytest.fixture
def at_work(amal):
    def made(**fields):
        study = factories.rating_study(name="words", **fields)
        factories.enrolment(study, who=factories.annotator(user=amal), consented=True)
        return study

    return made


QUESTIONS = [
    {"field": "religion", "label": "Religion", "choices": ["Islam", "Hinduism"]},
    {"field": "craft", "label": "What you do", "choices": []},
]


@pytest.mark.parametrize(
    ("strata", "asked", "not_asked"),
    [
        (("any",), [], ["Where you live", "The region you identify with"]),
        (("in-region", "any"), ["Where you live"], ["The region you identify with"]),
        (("out-region",), ["Where you live", "The region you identify with"], []),
        (("residence: Europe and gender: not man",), ["Where you live"], ["The region you identify with"]),
    ],
)
def test_regions_are_asked_for_only_where_a_stratum_needs_them(client, at_work, strata, asked, not_asked):
    at_work().tasks.update(strata=list(strata))
    factories.annotator(profile={"residence": "Europe", "identity_region": "Europe"})
    for page in ("/studies/words/profile/", "/profile/"):
        shown = client.get(page).text
        assert [words for words in asked if words not in shown] == []
        assert [words for words in not_asked if words in shown] == []


def test_every_question_can_be_left_open_and_answered_in_own_words(client, at_work):
    at_work(questions=QUESTIONS).tasks.update(strata=["out-region"])
    page = client.get("/studies/words/profile/").text
    # origin, residence, identity region, gender, age and religion to choose from; languages and craft not
    assert page.count(">Prefer not to say</option>") == 6
    assert page.count("Leave it empty if you prefer not to say.") == 2
    assert page.count('_own"') == 3 * 8  # a label, a name and an id each


def test_a_studys_own_questions_are_kept_under_their_field(client, at_work):
    at_work(questions=QUESTIONS)
    sent = {"religion": "Islam", "craft_own": "weaver", "craft_publish": "on"}
    assert client.post("/studies/words/profile/", sent).status_code == 302
    assert kept() == {"religion": ("Islam", False, False), "craft": ("weaver", False, True)}
    page = client.get("/profile/").text
    assert 'value="Islam" selected' in page
    assert 'value="weaver"' in page


def test_slots_can_be_reserved_by_a_studys_own_question(client, at_work, amal):
    study = at_work(questions=QUESTIONS, strata=("religion: Islam",))
    assert "Nothing for you at the moment" in client.get("/studies/words/annotate/", follow=True).text
    assert "decides which items" in client.get("/studies/words/profile/").text.partition("Religion")[2]
    client.post("/studies/words/profile/", {"religion": "islam"})  # not offered in this spelling
    assert kept() == {}
    client.post("/studies/words/profile/", {"religion_own": "islam"})
    assert client.get("/studies/words/annotate/").status_code == 200
    assert study.slots.filter(annotator__user=amal).exists()


def test_residence_lets_somebody_judge_the_in_region_items(client, at_work, amal):
    study = at_work(strata=("residence: South Asia",))
    assert "Nothing for you at the moment" in client.get("/studies/words/annotate/", follow=True).text
    client.post("/studies/words/profile/", {"residence": "South Asia"})
    assert client.get("/studies/words/annotate/").status_code == 200
    assert study.slots.filter(annotator__user=amal).exists()


def test_a_study_one_withdrew_from_asks_nothing_more(client, at_work):
    at_work(questions=QUESTIONS)
    assert "What you do" in client.get("/profile/").text
    Enrolment.objects.update(status=EnrolmentStatus.WITHDRAWN)
    assert "What you do" not in client.get("/profile/").text


def test_what_another_study_asked_is_left_alone(client, at_work, amal):
    at_work(questions=QUESTIONS)
    ProfileAnswer.objects.create(annotator=amal.annotator, field="shoe_size", value="42")
    client.post("/studies/words/profile/", {"religion": "Islam"})
    assert set(kept()) == {"religion", "shoe_size"}


def test_the_profile_waits_until_somebody_has_agreed(client, amal):
    study = factories.rating_study(name="words")
    factories.enrolment(study, who=factories.annotator(user=amal))
    assert client.get("/studies/words/profile/").url == "/studies/words/consent/"
    assert client.post("/studies/words/profile/", {"gender": "woman"}).url == "/studies/words/consent/"
    assert kept() == {}


def test_the_regions_offered_are_those_of_the_catalogue():
    assert {value for value, _label in profile_fields.REGIONS} == set(Region.values)


def test_a_question_of_several_studies_or_of_the_profile_is_asked_once():
    own = [*QUESTIONS, *QUESTIONS, {"field": "residence", "label": "Your country"}]
    asked = [question.name for question in profile_fields.questions_for(own_questions=own)]
    assert asked == ["origin", "gender", "age_band", "languages", "religion", "craft"]
