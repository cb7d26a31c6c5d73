"""One look: sizes of text from one scale, one width, one primary action a page, and icons."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.conf import settings
from django.urls import reverse
from PIL import Image

from annotation.models import EnrolmentStatus, Invitation, StudyStatus, TaskKind
from annotation.studies.queries import cards
from tests import factories
from tests.primary_actions import primary

STATIC = Path(settings.BASE_DIR) / "static"
TEMPLATES = Path(settings.BASE_DIR) / "templates"
RELATIVE = {"inherit", "0", "0.92em", "100%", "106.25%"}
"""Sizes that no token says: of code and intervals within a line, and of the root itself."""


def test_a_button_counts_where_it_is_one_of_few():
    assert len(primary('<a class="button">a</a><p><button class="button">b</button></p>')) == 2
    quiet = '<a class="button button-quiet">a</a><ul><li><a class="button">b</a></li></ul>'
    assert not primary(quiet)


@pytest.mark.parametrize(
    "name",
    ["visage", "dashboard", "annotation/lead", "generation/generation", "metrics/pull", "metrics/figure"],
)
def test_sizes_of_text_come_from_one_scale(name):
    # text in a drawing has a size in the drawing's own units
    css = re.sub(r"[^{}]* text \{[^}]*\}", "", (STATIC / f"{name}.css").read_text())
    sizes = re.findall(r"font-size:\s*([^;}]+)|font:\s*(?:[a-z0-9]+ )?([^/;]+)/", css)
    others = {size or short for size, short in sizes if not (size or short).startswith("var(--text")}
    assert {other.strip() for other in others} <= RELATIVE


def test_there_is_one_family_and_one_width():
    for css in STATIC.rglob("*.css"):
        assert not re.search(r"--serif|page-(narrow|wide|setup)", css.read_text()), css
    for template in TEMPLATES.rglob("*.html"):
        assert not re.search(r"page-(narrow|wide|setup)", template.read_text()), template


AT_WORK = {"annotate.css", "boxes.css"}
"""Of the page at work, whose colours are looked at in each combination of width and light."""
SEEN_OTHERWISE = (
    r"[{;]\s*(?:--(?!control:)|[a-z-]*color|background|opacity|visibility|filter|display:\s*none)[^;}]*"
)


def test_colours_and_what_is_hidden_do_not_depend_on_the_width():
    """So `accessible_everywhere` of the browser's tests sees each colour, in the light and in the dark."""
    looked_at = 0
    for css in STATIC.rglob("*.css"):
        if css.name in AT_WORK:
            continue
        # a media query and what stands in it, with rules one deep
        for asked, rules in re.findall(r"@media([^{]*)\{((?:[^{}]*\{[^{}]*\})*)\s*\}", css.read_text()):
            if "width" in asked:
                looked_at += 1
                assert not re.findall(SEEN_OTHERWISE, rules), (css.name, asked)
    assert looked_at > 10


def test_pages_without_a_login_say_what_they_are_to_messengers_and_search_engines(client, db):
    study = factories.study("told", status=StudyStatus.OPEN, description="Which words can be seen?")
    Invitation.objects.create(study=study, code="way-in")
    factories.consent_text(study)
    for address, heading, about in (
        (reverse("login"), "Visage", "text-to-image models"),
        (reverse("join", args=["way-in"]), study.title, "Which words can be seen?"),
    ):
        page = client.get(address).content.decode()
        told = dict(re.findall(r'<meta (?:name|property)="([^"]+)" content="([^"]*)">', page))
        assert heading in told["og:title"]
        assert about in told["og:description"] == told["description"]
        assert told["og:image"] == "http://testserver/static/social.png"
        assert told["og:type"], told["og:site_name"]
        assert "way-in" not in "".join(told.values()), "an invitation is for whom it was sent to"
    client.force_login(factories.user("amal"))
    assert "og:title" not in client.get("/").content.decode()


@pytest.mark.parametrize(
    ("name", "size"), [("favicon-32", (32, 32)), ("apple-touch-icon", (180, 180)), ("social", (1200, 630))]
)
def test_icons_are_small_and_as_large_as_they_say(client, name, size):
    path = STATIC / f"{name}.png"
    with Image.open(path) as image:
        assert image.size == size
    assert path.stat().st_size < 20_000


def test_a_lead_sees_how_far_each_study_is_and_what_comes_next(client, db, django_assert_num_queries):
    lead = factories.user("lead")
    words = factories.rating_study(name="words", leads=[lead])
    factories.study("draft", leads=[lead], status=StudyStatus.DRAFT, title="A draft")
    factories.enrolment(words, who=factories.annotator(), consented=True)
    words.enrolments.update(answered=12)
    left = factories.enrolment(words, who=factories.annotator(), consented=True)
    words.enrolments.filter(pk=left.pk).update(status=EnrolmentStatus.WITHDRAWN, answered=5)
    with django_assert_num_queries(2):
        led = cards.led_studies(lead)
        assert [len(card.study.tasks.all()) for card in led] == [1, 0]
    assert [card.study.name for card in led] == ["words", "draft"], "what is open comes first"
    assert (led[0].people, led[0].answers) == (1, 12), "who withdrew counts no more"
    client.force_login(lead)
    page = " ".join(client.get("/").content.decode().split())
    assert "1 person · 12 answers" in page
    assert "Nobody takes part yet." in page


def test_a_lead_of_two_studies_of_one_kind_is_led_to_their_league(client, db):
    lead = factories.user("lead")
    factories.rating_study(name="words", leads=[lead])
    factories.task(factories.study("pictures", leads=[lead]), kind=TaskKind.DEPICTION)
    client.force_login(lead)
    link = f'href="{reverse("league")}"'
    assert link not in client.get("/").content.decode()
    factories.rating_study(name="more", leads=[lead])
    assert link in client.get("/").content.decode()
    assert f'href="{reverse("league")}?study=words"' in client.get(reverse("overview", args=["words"])).text


def test_an_empty_home_says_what_to_do_next(client, db):
    person = factories.user("amal")
    client.force_login(person)
    assert f'href="{reverse("profile")}"' in client.get("/").content.decode()
    client.force_login(factories.user("root", admin=True))
    assert f'href="{reverse("setup")}"' in client.get("/").content.decode().split('class="empty"')[1]
