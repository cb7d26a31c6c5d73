"""Tests on images are read by who may see the image set, in every room, on pages and in the API."""

from __future__ import annotations

import pytest
from django.urls import reverse

from generation.models import Caption, Run, RunKind
from generation.recipes.recipes import CaptionRecipe, as_json
from tests import factories
from tests.annotation.api.calls import Program
from tests.metrics.brightness import measured
from tests.metrics.embedding_tests import stored
from tests.metrics.visual_questions import asked

pytestmark = [pytest.mark.django_db, pytest.mark.pages, pytest.mark.usefixtures("undrawn")]
OURS, THEIRS = "our-set", "their-set"


def made_about(name: str) -> dict[str, object]:
    """Room -> what its addresses take. What is shown in lists has the set's name in its own."""
    embedded = stored.embedded(name, per_group=3)
    stored.texts(embedded)
    image = embedded.image_set.images.earliest("pk")
    questions = asked.a_run(f"{name}-questions", image_set=embedded.image_set)
    asked.add(questions, image, "yes")
    brightness = measured.empty_run(f"{name}-brightness", image_set=name)
    measured.measure(brightness, image, 100)
    captions = Run.objects.create(
        kind=RunKind.CAPTIONS,
        image_set=embedded.image_set,
        backend="fake",
        recipe=as_json(CaptionRecipe(backend="fake")),
        recipe_hash=factories.recipe_hash(),
    )
    Caption.objects.create(run=captions, image=image, rank=1, text="a hat")
    return {
        "embedding": stored.stored(embedded, f"{name}-tests").pk,
        "questions": questions.pk,
        "marking": name,
        "brightness": brightness.pk,
    }


LISTS = {
    "embedding": ("embedding_tests", "embedding-test-files"),
    "questions": ("visual_questions", "visual-question-runs"),
    "marking": ("marking", None),
    "brightness": ("brightness", "brightness-runs"),
}
PAGES = [
    ("embedding", "embedding_test_file", ()),
    ("embedding", "embedding_test_encoders", ()),
    ("embedding", "embedding_test_ranking", ()),
    ("embedding", "embedding_test_figure", ("effects", "csv")),
    ("embedding", "embedding_test_download", ("toml",)),
    ("questions", "visual_question_run", ()),
    ("questions", "visual_question_figure", ("csv",)),
    ("marking", "marking_of_set", ()),
    ("marking", "marking_figure", ("csv",)),
    ("brightness", "brightness_run", ()),
    ("brightness", "brightness_figure", ("csv",)),
]
API = [
    ("embedding", "embedding-test-files/{}"),
    ("embedding", "embedding-test-files/{}/results"),
    ("embedding", "embedding-test-files/{}/encoders"),
    ("embedding", "embedding-test-files/{}/ranking"),
    ("embedding", "embedding-test-files/{}/figures/effects/csv"),
    ("questions", "visual-question-runs/{}"),
    ("questions", "visual-question-runs/{}/figure/csv"),
    ("marking", "marking/{}"),
    ("marking", "marking/{}/figure/csv"),
    ("brightness", "brightness-runs/{}"),
    ("brightness", "brightness-runs/{}/figure/csv"),
]


@pytest.fixture(scope="module")
def made(once):
    return once(lambda: (made_about(OURS), made_about(THEIRS))).made


@pytest.fixture
def sets(db, made, few_resamples):
    return made


@pytest.fixture
def lead():
    return factories.lead_of(OURS)


@pytest.mark.parametrize("room", LISTS)
def test_a_list_has_what_is_about_a_visible_set_once(client, sets, lead, room):
    # a set that two studies show, one with two tasks, is still listed once
    again = factories.study(leads=[lead])
    for version in (1, 2):
        factories.task(again, kind="depiction", image_set=factories.image_set(OURS), version=version)
    page, api = LISTS[room]
    client.force_login(lead)
    text = client.get(reverse(page)).text
    detail = next(name for of, name, _ in PAGES if of == room)
    assert text.count(f'href="{reverse(detail, args=[sets[0][room]])}"') == 1
    assert THEIRS not in text
    if api:
        found = Program(lead).get(api)
        assert len(found.json()["results"]) == 1
        assert OURS in found.text
        assert THEIRS not in found.text
    client.force_login(factories.user(lead=True))
    assert THEIRS in client.get(reverse(page)).text


@pytest.mark.parametrize(("room", "page", "more"), PAGES)
def test_a_page_about_another_set_is_not_there(client, sets, lead, room, page, more):
    ours, theirs = (reverse(page, args=[of[room], *more]) for of in sets)
    client.force_login(lead)
    assert client.get(ours).status_code == 200
    assert client.get(theirs).status_code == 404
    client.force_login(factories.user(lead=True))
    assert client.get(theirs).status_code == 200


@pytest.mark.parametrize(("room", "address"), API)
def test_an_address_about_another_set_is_not_there(sets, lead, room, address):
    ours, theirs = (address.format(of[room]) for of in sets)
    assert Program(lead).get(ours).status_code == 200
    assert Program(lead).get(theirs).status_code == 404
    assert Program(factories.user(lead=True)).get(theirs).status_code == 200


def test_a_filter_by_set_does_not_open_another(sets, lead):
    assert Program(lead).get(f"embedding-test-files?image_set={THEIRS}").json()["results"] == []


def test_a_file_is_about_the_set_of_its_row(client, sets, lead):
    """A text that names another set shows nothing of it."""
    ours, theirs = (stored.EmbeddingTestFile.objects.get(pk=of["embedding"]) for of in sets)
    expected = Program(lead).get(f"embedding-test-files/{ours.pk}/results").json()
    ours.text = theirs.text
    ours.save()
    assert Program(lead).get(f"embedding-test-files/{ours.pk}/results").json() == expected
