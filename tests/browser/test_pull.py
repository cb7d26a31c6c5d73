"""The pull explorer in a real browser, over pictures that the fake backends drew: readable, blurred where it
must be, its pictures fetched when they are come to, whole without scripts."""

import re

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from annotation.models import IdentityGroup, Region
from generation.jobs.services import work
from generation.plans import services as plans
from generation.recipes.recipes import EmbeddingRecipe, ImageRecipe
from generation.runs import services as runs
from metrics.score_runs import services as score_runs
from tests import factories
from tests.metrics import pulled

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("few_resamples"),
]

PEOPLE = {
    "Mexican": (Region.LATIN_AMERICA, ("hat", "sombrero")),
    "Nepali": (Region.SOUTH_ASIA, ("mountain",)),
    "Indian": (Region.SOUTH_ASIA, ("turban", "sari")),
    "Welsh": (Region.EUROPE, ("rain",)),
}


@pytest.fixture
def maker():
    return factories.user("maker", admin=True)


@pytest.fixture
def study(maker):
    """With few pictures: a page shows all that a group has."""
    return drawn_study(maker, images_per_prompt=2)


def drawn_study(maker, *, images_per_prompt: int):
    """Four groups; every picture drawn and embedded as a run does it."""
    source = factories.source("votes")
    made = factories.study("pulls", title="Pulls", leads=[maker], stereotype_source=source)
    groups = []
    for name, (region, words) in PEOPLE.items():
        groups.append(factories.group(name, region=region))
        for word in words:
            factories.association(group_name=name, text=word, out_votes=(3, 0, 0), from_source=source)
    recipe = ImageRecipe(
        backend="fake",
        model="fake",
        width=96,
        height=96,
        images_per_prompt=images_per_prompt,
        prompt_sets=("default", "stereotypical", "non_stereotypical"),
    )
    drawn = done(plans.plan_images(recipe=recipe, groups=groups, study=made))
    seen = EmbeddingRecipe(backend="fake", model="fake")
    done(plans.plan_captions_or_embeddings(recipe=seen, image_set=drawn.image_set, study=made))
    return made


def done(plan):
    run = runs.ensure(plan=plan, by=None).run
    runs.start(run=run, by=None)
    work.work(run_id=run.pk)
    return run


def compute(study) -> None:
    for metric in ("pull", "pull_contrast"):
        score_runs.request(study=study, metric=metric, variant="corrected")
    score_runs.compute_pending()


def address(study, group: str = "") -> str:
    url = reverse("pull", args=[study.name])
    return f"{url}?group={IdentityGroup.objects.get(name=group).pk}" if group else url


def test_it_is_accessible_and_fits_its_window(new_page, accessible_everywhere, maker):
    study = drawn_study(maker, images_per_prompt=5)
    page = new_page(maker)
    empty = factories.study("empty", leads=[maker])
    page.goto(address(empty))
    accessible_everywhere(page)
    compute(study)
    page.goto(address(study, "Mexican"))
    expect(page.locator("[data-figure][data-alive]")).to_be_visible()
    accessible_everywhere(page)


def test_scores_that_are_computed_meanwhile_appear_by_themselves(new_page, study, maker):
    page = new_page(maker)
    page.goto(address(study))
    expect(page.get_by_text("being computed")).to_be_visible()
    score_runs.compute_pending()
    expect(page.get_by_role("region", name="Pull of identity groups")).to_be_visible()
    expect(page.get_by_text("being computed")).to_have_count(0)


def test_a_group_leads_to_its_pictures_which_are_fetched_when_they_are_come_to(new_page, maker):
    study = drawn_study(maker, images_per_prompt=5)
    compute(study)
    page = new_page(maker)
    fetched = []
    page.on("request", lambda asked: fetched.append(asked.url) if "/images/" in asked.url else None)
    page.goto(address(study))
    table = page.get_by_role("region", name="Pull of identity groups")
    table.get_by_role("link", name="Mexican").click()
    expect(page.get_by_role("heading", name="Images of Mexican")).to_be_in_viewport()
    first = page.locator(".pull-images img").first
    expect(first).to_be_visible()
    expect(first).to_have_js_property("naturalWidth", 96)
    assert 0 < len(fetched) <= 5 + 12 + 12
    expect(page.get_by_text("a photo of a Mexican person described as hat").first).to_be_visible()


def test_pictures_stay_blurred_until_somebody_asks_for_them(new_page, accessible, study, maker):
    study.blur_images = True
    study.save()
    compute(study)
    page = new_page(maker)
    page.goto(address(study, "Welsh"))
    picture = page.locator(".pull-images img").first
    expect(picture).to_have_css("filter", re.compile(r"blur\(1\dpx\)"))
    page.get_by_label("Show these images without blur").check()
    expect(picture).to_have_css("filter", "none")
    accessible(page)


def test_a_point_of_the_plot_leads_to_its_group(new_page, maker):
    study, _ = pulled.pull_study(name="planted", leads=[maker])
    compute(study)
    page = new_page(maker)
    page.goto(f"{address(study)}?by=group")
    # by name, as the data stand: Mexican, Nepali, Peruvian
    point = page.locator("[data-figure] .mark-symbol.layer_3_marks path").nth(1)
    expect(point).to_be_visible()
    point.click()
    expect(page.get_by_role("heading", name="Images of Nepali")).to_be_visible()


def test_everything_works_without_scripts(new_page, study, maker):
    compute(study)
    page = new_page(maker, javascript=False)
    page.goto(address(study))
    page.get_by_role("link", name="S(d, ns)", exact=True).click()
    page.wait_for_url("**sort=s_d_ns**")
    page.get_by_label("Region", exact=True).select_option("South Asia")
    page.get_by_role("form", name="Filter").get_by_role("button", name="Show").click()
    expect(page.get_by_role("heading", name="Groups of South Asia")).to_be_visible()
    page.get_by_role("region", name="Pull of identity groups").get_by_role("link", name="Nepali").click()
    expect(page.get_by_role("heading", name="Images of Nepali")).to_be_visible()
