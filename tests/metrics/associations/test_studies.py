"""From associations to drafts of studies."""

from __future__ import annotations

import pytest

from annotation.core.leases import JobState
from annotation.models import Option, Source, Study
from generation.models import Run
from metrics.associations.evaluation import AssociationsRefused
from metrics.associations.queries import Choice
from metrics.associations.services.studies import ask_people, look_for_them
from tests import factories
from tests.metrics import cast
from tests.metrics.associations.judged import a_list, pair

pytestmark = pytest.mark.django_db


@pytest.fixture
def found():
    made = a_list()
    pair(made, "miner", "keen")
    pair(made, "nurse", "kind")
    return made


def by(email: str = ""):
    made = factories.user("maker", lead=True)
    made.email = email
    made.save()
    return made


def looked_for(found, visual=None, name="look"):
    images = factories.image_set("pictures")
    return look_for_them(found=found, choice=Choice(), name=name, image_set=images, by=by(), visual=visual)


@pytest.fixture
def pictures(found):
    """Two of miners, and one of nurses in another set."""
    images = factories.image_set("pictures")
    factories.images((1, 2), group_name="miner", of=images)
    factories.image(group_name="nurse")


def asked_about(study: Study) -> list[tuple]:
    options = Option.objects.filter(unit__task__study=study).exclude(attribute=None)
    return [*options.order_by("unit", "attribute__text").values_list("attribute__text", "role")]


@pytest.mark.usefixtures("pictures")
def test_images_of_a_set_are_asked_about_once_with_the_words_of_their_group_and_of_others(found):
    assert asked_about(looked_for(found)) == [("keen", "stereotypical"), ("kind", "random")] * 2


@pytest.mark.usefixtures("pictures")
def test_only_words_that_were_rated_as_visual_are_looked_for(found):
    factories.image(group_name="nurse", image_set=factories.image_set("pictures"))
    visual = cast.visual_study({"keen": [5, 5, 5], "kind": [1, 1, 1]})
    assert asked_about(looked_for(found, visual)) == [("keen", "stereotypical")] * 2


@pytest.mark.usefixtures("pictures")
def test_a_set_without_a_group_that_has_a_visual_word_is_refused(found):
    visual = cast.visual_study({"keen": [1, 1, 1], "kind": [5, 5, 5]})
    with pytest.raises(AssociationsRefused, match="No group with images in 'pictures' has a visual word"):
        looked_for(found, visual)
    assert not Source.objects.filter(name="look").exists()


def test_the_name_of_a_source_or_of_a_study_is_taken(found):
    factories.source("of-a-source")
    factories.study("of-a-study")
    who = by()
    for name in ("of-a-source", "of-a-study"):
        with pytest.raises(AssociationsRefused, match=f"named '{name}' already"):
            ask_people(found=found, choice=Choice(), name=name, by=who)
    assert ask_people(found=found, choice=Choice(), name="of-neither", by=who)


def test_nothing_is_asked_before_all_is_found_or_if_nothing_is_chosen(found):
    who = by()
    with pytest.raises(AssociationsRefused, match="No association is chosen"):
        ask_people(found=found, choice=Choice(setting="t2t-noun"), name="ask", by=who)
    found.state = JobState.PENDING
    with pytest.raises(AssociationsRefused, match="still being found"):
        ask_people(found=found, choice=Choice(), name="ask", by=who)


@pytest.mark.parametrize(("email", "contact"), [("", "maker"), ("maker@example.org", "maker@example.org")])
def test_the_draft_is_of_whoever_asked_and_its_title_fits(found, email, contact):
    Run.objects.filter(pk=found.run_id).update(recipe={**found.run.recipe, "model": "m" * 150})
    found.run.refresh_from_db()
    who = by(email)
    study = ask_people(found=found, choice=Choice(), name="ask", by=who)
    assert (study.contact, len(study.title), Source.objects.get(name="ask").owner) == (contact, 120, who)
