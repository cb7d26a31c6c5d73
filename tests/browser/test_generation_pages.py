"""The pages of generation in a real browser: readable, alive while a run works, whole without scripts."""

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from annotation.core.leases import JobState
from annotation.models import Image
from generation.jobs.services import work
from generation.models import Job, Run
from generation.recipes.recipes import CaptionRecipe, EmbeddingRecipe
from generation.runs import services as runs
from tests import factories
from tests.generation.image_sets import world
from tests.generation.uploads.bundles import encoded, table, zipped

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def maker():
    return factories.user("maker", admin=True)


@pytest.fixture
def run():
    """A run at work: half of its pictures are made, one was given up."""
    started = world.pictures("Mexican", "Indian")
    runs.start(run=started, by=None)
    work.work(run_id=started.pk, batches=1)
    waiting = started.jobs.filter(state=JobState.DONE).order_by("-pk")[:4]
    Job.objects.filter(pk__in=[job.pk for job in waiting]).update(
        state=JobState.PENDING, finished_at=None, image=None
    )
    Image.objects.filter(pk__in=[job.image_id for job in waiting]).delete()
    broken = started.jobs.filter(state=JobState.PENDING).first()
    Job.objects.filter(pk=broken.pk).update(state=JobState.FAILED, error="RuntimeError: no", attempts=3)
    started.refresh_from_db()
    type(started).objects.filter(pk=started.pk).update(state="running", finished_at=None)
    return started


def test_every_page_is_accessible_and_fits_its_window(new_page, accessible_everywhere, run, maker):
    world.made(world.read(run, CaptionRecipe(backend="fake", count=8)))
    world.made(world.read(run, EmbeddingRecipe(backend="fake", model="fake")))
    image = Image.objects.filter(image_set=run.image_set).first()
    world.judged(image, lead=maker)
    page = new_page(maker)
    for url in (
        *(reverse(name) for name in ("runs", "image_sets", "upload")),
        *(reverse("new_run", args=[kind]) for kind in ("images", "captions", "embeddings")),
        reverse("run", args=[run.pk]),
        reverse("image_set", args=["drawn"]),
        reverse("image_history", args=[image.pk]),
    ):
        page.goto(url)
        page.evaluate("for (const part of document.querySelectorAll('details')) part.open = true")
        accessible_everywhere(page, widths=(1280, 320))


def test_a_run_is_planned_seen_and_started_by_keyboard_and_mouse(new_page, accessible, maker):
    factories.group("Mexican")
    page = new_page(maker)
    page.goto(reverse("new_run", args=["images"]))
    page.get_by_label("Identity groups").fill("Mexican")
    page.get_by_text("The model:").click()
    page.get_by_label("Backend").select_option("fake")
    page.get_by_label("Seed").fill("-1")
    page.get_by_role("button", name="Preview").click()
    expect(page.get_by_role("alert")).to_contain_text("Nothing was planned")
    accessible(page)
    page.get_by_label("Seed").fill("3")
    page.get_by_label("Seed").press("Enter")
    expect(page.get_by_role("heading", name="Preview")).to_be_visible()
    accessible(page)
    # Enter in a field asks again; only the button starts
    page.get_by_label("Seed").press("Enter")
    expect(page.get_by_role("heading", name="Preview")).to_be_visible()
    assert not Run.objects.exists()
    page.get_by_role("button", name="Start: 15 images").click()
    expect(page.get_by_text("Started: 15 jobs.")).to_be_visible()
    expect(page.get_by_role("button", name="Pause")).to_be_visible()


def test_a_running_page_follows_the_run_until_it_is_done(new_page, run, maker):
    page = new_page(maker)
    page.goto(reverse("run", args=[run.pk]))
    expect(page.get_by_text("update automatically")).to_be_visible()
    before = page.locator(".gallery li").count()
    page.evaluate("window.same = true")
    work.work(run_id=run.pk)
    # the failed one is left: the page shows what it is and that the run ended
    expect(page.get_by_text("done", exact=True)).to_be_visible()
    expect(page.get_by_role("button", name="Pause")).to_have_count(0)
    assert page.locator(".gallery li").count() > before
    assert page.evaluate("window.same")
    page.get_by_role("button", name="Try 1 failed job again").click()
    expect(page.get_by_text("Failed jobs are tried again.")).to_be_visible()


def test_everything_works_without_scripts(new_page, run, maker, tmp_path):
    page = new_page(maker, javascript=False)
    page.goto(reverse("run", args=[run.pk]))
    expect(page.get_by_text("update automatically")).to_be_hidden()
    page.get_by_role("button", name="Pause").click()
    page.get_by_role("button", name="Resume").click()
    page.get_by_text("Cancel the run").click()
    page.get_by_role("button", name="Cancel run").click()
    expect(page.get_by_text("The run is cancelled. Its results are kept.")).to_be_visible()
    packed = tmp_path / "pack.zip"
    row = {"file": "1.png", "group": "Mexican"}
    packed.write_bytes(zipped({"1.png": encoded(), "t.csv": table(row)}).getvalue())
    page.goto(reverse("upload"))
    page.get_by_label("ZIP file").set_input_files(packed)
    page.get_by_label("Image set", exact=True).fill("brought")
    page.get_by_role("button", name="Upload").click()
    expect(page.get_by_text("1 images added")).to_be_visible()
    page.get_by_role("link", name="Mexican 1").click()
    expect(page.get_by_text("the image was uploaded")).to_be_visible()
