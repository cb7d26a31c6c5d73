"""Rating one attribute after another in the browser."""

import html
import re
from datetime import timedelta
from pathlib import Path
from uuid import UUID, uuid4

import pytest
from django.conf import settings
from django.db import connection
from django.utils import timezone

from annotation.annotate.views.page import scripts
from annotation.assignment import lease_keys
from annotation.assignment.services import slots
from annotation.models import (
    Enrolment,
    EnrolmentStatus,
    Judgement,
    Option,
    Response,
    Slot,
    SlotState,
    Study,
    StudyStatus,
    Unit,
)
from tests import factories

pytestmark = [pytest.mark.django_db, pytest.mark.postgresql]
PAGE = "/studies/words/annotate/"


@pytest.fixture
def study():
    return factories.rating_study(name="words", texts=["sombrero", "kind", "poor"])


@pytest.fixture
def enrolment(client, study):
    who = factories.user("amal")
    client.force_login(who)
    return factories.enrolment(study, who=factories.annotator(user=who), consented=True)


def fields(page) -> dict[str, str]:
    """The hidden fields of the rating form."""
    form = page.text[page.text.index('id="rating"') :]
    found = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', form))
    return {name: html.unescape(value) for name, value in found.items()}


def send(client, page, **more):
    return client.post(PAGE, {**fields(page), **more})


def test_it_shows_the_statement_the_five_labels_and_no_answer_chosen(client, enrolment):
    page = client.get(PAGE).text
    assert "The attribute &#x27;<strong>sombrero</strong>&#x27; can be visually depicted in an image." in page
    names = re.findall(r'class="choice-name">([^<]+)<', page)
    assert names == ["Strongly agree", "Agree", "Disagree", "Strongly disagree", "Unsure"]
    assert " checked" not in page
    assert "0 of 3 rated" in page


def test_an_answer_is_kept_and_the_next_item_comes(client, enrolment):
    sent = send(client, client.get(PAGE), value="4", active_ms="2300")
    assert (sent.status_code, sent.url) == (303, PAGE)

    response = Response.objects.get()
    assert response.unit.attribute.text == "sombrero"
    assert (response.active_ms, response.slot.state) == (2300, SlotState.FILLED)
    assert Judgement.objects.get().value == 4
    page = client.get(PAGE).text
    assert "<strong>kind</strong>" in page
    assert "1 of 3 rated" in page


@pytest.mark.parametrize("more", [{}, {"value": ""}, {"value": "seven"}, {"value": "7"}])
def test_without_a_label_of_the_scale_it_asks_again_beside_the_choices(client, enrolment, more):
    shown = client.get(PAGE)
    page = send(client, shown, **more)
    assert page.status_code == 422
    assert 'id="error-value"' in page.text
    assert fields(page)["client_key"] == fields(shown)["client_key"]
    assert not Response.objects.exists()


@pytest.mark.parametrize("reason", ["", "   "])
def test_unsure_without_a_reason_is_asked_again_and_keeps_what_was_typed(client, enrolment, reason):
    shown = client.get(PAGE)
    page = send(client, shown, value="3", justification=reason)
    assert page.status_code == 422
    assert 'id="error-justification"' in page.text
    assert re.search(r'value="3"[^>]* checked', page.text)
    assert fields(page)["started_at"] == fields(shown)["started_at"]
    assert not Response.objects.exists()

    assert send(client, page, value="3", justification="it depends").status_code == 303
    assert Judgement.objects.get().justification == "it depends"


def test_a_reason_that_is_too_long_is_kept_on_the_page(client, enrolment):
    page = send(client, client.get(PAGE), value="3", justification="why " * 600)
    assert page.status_code == 422
    assert "why why" in page.text


def test_a_reason_of_many_lines_is_as_long_as_the_box_says(client, enrolment):
    """A text box counts the end of a line as one character, and sends it as two."""
    reason = ("why\r\n" * 500).strip()
    assert len(reason) > 2000 > len(reason.replace("\r\n", "\n"))
    assert send(client, client.get(PAGE), value="3", justification=reason).status_code == 303
    assert Judgement.objects.get().justification == ("why\n" * 500).strip()


def test_a_reason_typed_before_a_change_of_mind_is_not_sent_along(client, enrolment):
    send(client, client.get(PAGE), value="5", justification="hm")
    assert Judgement.objects.get().justification == ""


def test_sending_twice_counts_once_and_goes_on(client, enrolment):
    shown = client.get(PAGE)
    send(client, shown, value="5")
    again = send(client, shown, value="1")
    assert again.status_code == 303
    assert Judgement.objects.get().value == 5


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("active_ms", ""),
        ("active_ms", "-5"),
        ("active_ms", "NaN"),
        ("active_ms", "99999999999999999"),
        ("active_ms", "9" * 5000),
        ("active_ms", "1\0"),
        ("active_ms", "²"),
        ("started_at", ""),
        ("started_at", "yesterday"),
        ("started_at", "2026-01-01\0"),
        ("started_at", "x" * 5000),
        ("started_at", "9999-12-31T23:59:59-23:59"),
        ("started_at", "2031-01-01T00:00:00+00:00"),
        ("started_at", "2020-01-01T00:00:00"),
        ("started_at", "0001-01-01T00:00:00+14:00"),
    ],
)
def test_nonsense_about_time_loses_no_answer(client, enrolment, field, value):
    assert send(client, client.get(PAGE), value="5", **{field: value}).status_code == 303
    response = Response.objects.get()
    assert response.started_at <= response.submitted_at
    assert response.active_ms is None or 0 <= response.active_ms <= 24 * 60 * 60 * 1000


def test_a_reload_shows_the_same_item(client, enrolment):
    first, again = fields(client.get(PAGE)), fields(client.get(PAGE))
    assert (first["unit"], first["client_key"]) == (again["unit"], again["client_key"])


def test_stopping_gives_the_item_back_and_says_that_all_is_saved(client, enrolment):
    client.get(PAGE)
    assert client.get("/studies/words/stop/").status_code == 405
    home = client.post("/studies/words/stop/", follow=True)
    assert "Everything you rated is saved" in home.text
    assert not Slot.objects.filter(state=SlotState.LEASED).exists()


def test_somebody_elses_item_is_refused_and_nothing_is_written(client, enrolment, study):
    other = factories.enrolment(study)
    theirs = slots.lease_next(enrolment=other)
    sent = client.post(PAGE, {"unit": theirs.unit_id, "client_key": str(theirs.lease_key), "value": "5"})
    assert sent.status_code == 403
    assert not Response.objects.exists()


def test_an_answerless_form_does_not_show_somebody_elses_item(client, enrolment, study):
    theirs = slots.lease_next(enrolment=factories.enrolment(study))
    sent = client.post(PAGE, {"unit": theirs.unit_id, "client_key": str(theirs.lease_key)})
    assert sent.status_code == 403
    assert "sombrero" not in sent.text


def test_an_invented_key_is_refused(client, enrolment, study):
    slot = slots.lease_next(enrolment=enrolment)
    sent = client.post(PAGE, {"unit": slot.unit_id, "client_key": str(uuid4()), "value": "5"})
    assert sent.status_code == 403
    assert not Response.objects.exists()


@pytest.mark.parametrize(
    "sent",
    [{}, {"unit": "x", "client_key": "y"}, {"unit": "9" * 40, "client_key": str(UUID(int=1))}, {"unit": "1"}],
)
def test_a_form_that_this_page_never_made_is_not_found(client, enrolment, sent):
    assert client.post(PAGE, {"value": "5", **sent}).status_code == 404
    assert not Response.objects.exists()


def test_the_sheet_of_keys_names_every_key_of_the_drawing_board():
    said = (settings.BASE_DIR / "static/annotation/boxes/keys.js").read_text(encoding="utf-8")
    letters = set(re.findall(r'case "(.)":', said)) - {" ", "=", "_"}
    assert {"r", "v", "h", "f", "i", "[", "]", "+", "-"} <= letters
    sheet = (settings.BASE_DIR / "templates/annotation/annotate/_dialogs.html").read_text(encoding="utf-8")
    keys = re.findall(r"<kbd>(.*?)</kbd>", sheet)
    assert letters <= set(keys)
    assert {"Del", "Esc", "Alt", "Ctrl", "←", "↑", "↓", "→"} <= set(keys)
    assert "space bar" in sheet


def test_a_stranger_to_the_study_can_neither_see_nor_send(client, study):
    client.force_login(factories.user("stranger"))
    assert client.post(PAGE, {"value": "5"}).status_code == 404
    assert client.get(PAGE).url == "/studies/words/consent/"
    assert client.post("/studies/words/stop/").status_code == 404
    assert not Response.objects.exists()


def test_an_item_of_another_study_cannot_be_answered_here(client, enrolment):
    elsewhere = factories.rating_study(texts=["turban"])
    unit = elsewhere.tasks.get().units.get()
    key = lease_keys.issue(annotator_id=enrolment.annotator_id, unit_id=unit.pk)
    for value in ("5", ""):
        sent = client.post(PAGE, {"unit": unit.pk, "client_key": str(key), "value": value})
        assert sent.status_code == 403
    assert not Response.objects.exists()


def test_a_late_answer_whose_slot_is_gone_is_kept_as_an_extra_one(client, study):
    study = factories.rating_study(name="narrow", texts=["hat"], strata=("any",))
    who = factories.user()
    client.force_login(who)
    factories.enrolment(study, who=factories.annotator(user=who), consented=True)
    shown = client.get("/studies/narrow/annotate/")
    slots.release_expired(now=timezone.now() + timedelta(days=1))
    factories.response(study.tasks.get().units.get(), who=factories.annotator())

    after = client.post("/studies/narrow/annotate/", {**fields(shown), "value": "5"}, follow=True)
    assert "saved as an extra answer" in after.text
    assert Response.objects.filter(slot=None).count() == 1


@pytest.mark.parametrize("status", [StudyStatus.PAUSED, StudyStatus.CLOSED])
def test_an_answer_under_way_when_the_study_stops_is_not_lost(client, enrolment, status):
    shown = client.get(PAGE)
    closed_at = timezone.now() if status == StudyStatus.CLOSED else None
    Study.objects.update(status=status, closed_at=closed_at)

    after = client.post(PAGE, {**fields(shown), "value": "5"}, follow=True)
    assert after.status_code == 200
    assert "Your answers are saved" in after.text
    assert Response.objects.count() == 1


def test_who_has_withdrawn_is_led_to_what_they_can_still_do(client, enrolment):
    shown = client.get(PAGE)
    Enrolment.objects.update(status=EnrolmentStatus.WITHDRAWN)
    assert send(client, shown, value="5").url == "/studies/words/withdraw/"
    assert not Response.objects.exists()


def test_the_next_page_says_what_practice_taught(client, enrolment, study):
    practice = factories.attribute_unit(study.tasks.get(), purpose="training", feedback="It can be seen.")
    practice.slots.all().delete()
    Enrolment.objects.update(status=EnrolmentStatus.TRAINING)
    send(client, client.get(PAGE), value="5")
    assert "It can be seen." in client.get(PAGE).text


def test_who_leads_another_study_gets_items_of_this_one(client, enrolment):
    factories.study(leads=[enrolment.annotator.user])
    assert client.get(PAGE).status_code == 200


def test_who_becomes_a_lead_gets_no_more_items(client, enrolment, study):
    study.leads.add(enrolment.annotator.user)
    assert client.get(PAGE).url == "/studies/words/"
    assert not Slot.objects.filter(state=SlotState.LEASED).exists()


def test_the_end_says_whether_the_study_is_complete_or_only_nothing_is_left_for_this_profile(
    client, enrolment, study
):
    for _ in range(3):
        send(client, client.get(PAGE), value="5")
    thanks = client.get(PAGE, follow=True)
    assert thanks.redirect_chain == [("/studies/words/thanks/", 302)]
    assert "You rated 3 items" in thanks.text
    assert "You rated everything there is" in thanks.text

    for_others = factories.attribute_unit(study.tasks.get(), "old")
    for_others.slots.update(stratum="origin: Asia")
    assert "nothing left for your profile" in client.get(PAGE, follow=True).text

    for unit in study.tasks.get().units.all():
        for _ in range(3 if unit == for_others else 2):
            factories.response(unit, who=factories.annotator())
    assert "The study is complete" in client.get(PAGE, follow=True).text


def test_simulated_studies_say_so_on_every_page(client, enrolment):
    Study.objects.update(simulated=True)
    for path in ("/", "/studies/words/", PAGE):
        assert "simulated answers" in client.get(path).text


def test_the_page_asks_the_database_a_fixed_number_of_times(
    client, enrolment, study, django_assert_num_queries
):
    task = study.tasks.get()
    for number in range(40):
        factories.attribute_unit(task, f"word {number}")
    send(client, client.get(PAGE), value="5")
    together = connection.vendor == "postgresql"  # changes there are one statement
    with django_assert_num_queries(12 if together else 13):
        shown = client.get(PAGE)  # takes the next item
    with django_assert_num_queries(10):
        client.get(PAGE)  # has it in hand
    with django_assert_num_queries(10 if together else 13):
        send(client, shown, value="5")


def test_the_page_fetches_every_module_that_it_runs_in_one_round():
    """A module that is not in the list would be asked for only when another one names it."""
    root = Path(settings.BASE_DIR) / "static"
    everything = {
        str(path.relative_to(root))
        for folder in ("annotate", "boxes")
        for path in (root / "annotation" / folder).glob("*.js")
    }
    assert set(scripts(draws=True)) == everything | {
        f"annotation/{name}.js" for name in ("annotate-images", "boxes", "dom", "history")
    }
    ratings = scripts(draws=False)
    named = re.compile(r'from "(\.\.?/[\w/-]+\.js)"')
    used = {
        str((root / path).parent.joinpath(name).resolve().relative_to(root.resolve()))
        for path in ratings
        for name in named.findall((root / path).read_text())
    }
    assert "annotation/history.js" in used
    assert used <= set(ratings)


@pytest.mark.parametrize("kind", ["prevalence", "offensiveness", "association"])
def test_the_other_ratings_are_plain_forms_too(client, kind):
    study = factories.study("plain", contact="a@example.org")
    task = factories.task(study, kind=kind, wording="Most [id] are [attr].", strata=("any",))
    of = factories.association(group_name="Mexican", text="merry")
    unit = Unit.objects.create(task=task, position=1, association=of)
    Option.objects.create(unit=unit, attribute=of.attribute, position=1)
    factories.open_slots(unit)
    who = factories.user()
    client.force_login(who)
    factories.enrolment(study, who=factories.annotator(user=who), consented=True)
    page = client.get("/studies/plain/annotate/")
    assert "Most <strong>Mexican</strong> are <strong>merry</strong>." in page.text
    assert ("not whether you hold it" in page.context["note"]) == (kind != "offensiveness")
    client.post("/studies/plain/annotate/", {**fields(page), "value": "1"})
    assert Judgement.objects.get().value == 1


def test_without_scripts_a_depiction_task_says_what_it_needs(client, enrolment, study):
    Study.objects.filter(pk=study.pk).update(name="other")
    pictures = factories.study("words", contact="a@example.org")
    task = factories.task(pictures, kind="depiction", wording="What does it depict?")
    factories.page_unit(task, picture=factories.image())
    factories.enrolment(pictures, who=enrolment.annotator, consented=True)
    page = client.get(PAGE)
    assert "<noscript>" in page.text
    assert client.post(PAGE, {**fields(page), "value": "1"}).status_code == 404
    assert not Response.objects.exists()
