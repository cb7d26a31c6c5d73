"""Runs in the browser: what would be made before anything starts, how it stands, and what is done to it."""

from dataclasses import replace
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from annotation.core.leases import JobState
from annotation.models import AuditEvent, Image, ImageSet
from annotation.studies.errors import StudyRefused
from generation.core.durations import duration
from generation.jobs import tasks
from generation.models import Job, Run, RunState, Worker
from generation.plans import services as plans
from generation.plans.errors import PlanRefused
from generation.plans.prompt_choices import PROMPT_CHOICES
from generation.recipes.askings import ClassificationRecipe, CompletionRecipe
from generation.recipes.recipes import CaptionRecipe, EmbeddingRecipe
from generation.runs import queries, views
from generation.runs import services as runs
from generation.runs.errors import RunRefused
from tests import factories
from tests.annotation.api.calls import Program, is_problem
from tests.generation.answers import answered
from tests.generation.image_sets import world

pytestmark = pytest.mark.django_db

WANTED = {
    "groups": "Mexican\nIndian",
    "prompts": "detection",
    "backend": "fake",
    "dtype": "auto",
    "width": "64",
    "height": "64",
    "safety": "record",
    "steps": "50",
    "guidance": "7.5",
}


@pytest.fixture
def maker():
    """A lead who may set up studies."""
    made = factories.user("maker", lead=True)
    return made


@pytest.fixture
def program(maker):
    return Program(type(maker).objects.get(pk=maker.pk))


@pytest.fixture
def page(client, maker):
    client.force_login(maker)
    for name in ("Mexican", "Indian"):
        factories.group(name)
    return client


def preview(page, kind="images", **said):
    return page.post(reverse("new_run", args=[kind]), {**WANTED, **said})


def start(page, kind="images", **said):
    seen = preview(page, kind, **said).context["preview"].fingerprint
    return page.post(reverse("new_run", args=[kind]), {**WANTED, **said, "fingerprint": seen, "start": "1"})


def test_a_preview_of_simulated_images_names_no_model(page):
    model = "an-author/a-model"
    shown = [preview(page, backend=backend, model=model).text for backend in ("fake", "diffusers")]
    said = [text.partition("<summary>The model: ")[2].partition("<")[0].strip() for text in shown]
    assert said == ["none, the output is simulated", model]


def test_a_preview_says_what_how_many_how_long_and_how_large_and_writes_nothing(page):
    shown = preview(page)
    assert shown.status_code == 200
    assert "a photo of an Indian person" in shown.text or "a photo of a Mexican person" in shown.text
    for said in (
        "Start: 30 images",
        "The time is an assumption.",
        "Disk",
        "fake-detection",
        "Identity groups",
    ):
        assert said in shown.text
    assert shown.context["preview"].added == 30
    assert shown.context["time"] == duration(shown.context["preview"].estimate.seconds)
    assert preview(page, groups=" Mexican ; Indian,").context["preview"].added == 30
    for kind in (Run, Job, ImageSet, AuditEvent):
        assert not kind.objects.exists()


def test_a_preview_says_what_float32_costs(page):
    real = {"backend": "diffusers", "model": "m"}
    assert "twice the memory" in preview(page, **real, dtype="float32").text
    assert "twice the memory" not in preview(page, **real).text
    assert "twice the memory" not in preview(page, dtype="float32").text  # drawings
    world.made(world.pictures())
    written = {"image_set": "drawn", "count": "4", "backend": "blip", "dtype": "float32"}
    assert "twice the memory" in preview(page, "captions", **written).text


def test_starting_makes_what_was_shown_and_nothing_else(page, maker, monkeypatch):
    rung = []
    monkeypatch.setattr(tasks, "enqueue", rung.append)
    answer = start(page)
    run = Run.objects.get()
    assert answer.url == reverse("run", args=[run.pk])
    assert (run.state, run.created_by, run.jobs.count()) == (RunState.RUNNING, maker, 30)
    assert [each.state for each in rung] == [RunState.RUNNING]
    assert (run.recipe["dtype"], run.recipe["repeatable"]) == ("auto", False)
    assert run.recipe["model"] == "fake"  # drawings do not pass for the model named in the field


def test_a_start_of_something_else_than_was_seen_shows_it_first(page):
    seen = preview(page).context["preview"].fingerprint
    url = reverse("new_run", args=["images"])
    for changed in ({"seed": "1"}, {"groups": "Mexican"}, {"steps": "20"}):
        shown = page.post(url, {**WANTED, **changed, "fingerprint": seen, "start": "1"})
        assert "The preview has changed since you last saw it" in shown.text
    five = replace(world.FAKE, images_per_prompt=5)
    world.made(world.pictures("Mexican", image_set="fake-detection", recipe=five))
    shown = page.post(url, {**WANTED, "fingerprint": seen, "start": "1"})
    assert "The preview has changed since you last saw it" in shown.text
    assert "Start: 15 images" in shown.text
    assert not Run.objects.exclude(state=RunState.DONE).exists()


def test_the_same_again_is_the_same_run_and_a_group_more_adds_its_pictures(page):
    start(page, groups="Mexican")
    run = Run.objects.get()
    again = preview(page, groups="Mexican").text
    assert "Everything is already planned or made" in again
    assert "Started: 15 jobs." in again
    more = preview(page)
    assert (more.context["preview"].added, more.context["preview"].existing) == (15, 15)
    runs.start(run=run, by=None)
    runs.pause(run=run, by=None)
    started = start(page)
    assert started.status_code == 302, "it goes on when it is resumed"
    assert "15 jobs are planned." in page.get(started.url).text
    run.refresh_from_db()
    assert (run.state, run.jobs.count()) == (RunState.PAUSED, 30)
    again = page.get(start(page).url).text
    assert "30 jobs" not in again
    assert "Nothing to add: this run already has all jobs." in again
    assert Run.objects.get() == run


@pytest.mark.parametrize("refused", [PlanRefused, RunRefused, StudyRefused])
def test_what_changed_since_the_preview_is_said(page, program, monkeypatch, refused):
    def refuse(**given):
        raise refused("Somebody was faster.")

    monkeypatch.setattr(runs, "ensure", refuse)
    shown = start(page)
    assert (shown.status_code, shown.context["form"].non_field_errors()) == (422, ["Somebody was faster."])
    assert "Nothing was planned.</p>" in shown.text, "no field is marked"
    plan = {"kind": "images", "backend": "fake", "groups": ["Mexican"]}
    assert "faster" in is_problem(program.post("runs", plan), 409)["detail"]


@pytest.mark.parametrize(
    ("said", "field", "why"),
    [
        ({"groups": "Atlantean"}, None, "no identity group &#x27;Atlantean&#x27;"),
        ({"groups": ""}, None, "Choose a study, or name identity groups"),
        ({"width": "65"}, "width", "multiple of 8"),
        ({"steps": "0"}, "steps", "greater than or equal to 1"),
        ({"seed": str(2**64)}, "seed", "Choose 0 to 2^63"),
        ({"backend": "nonsense"}, "backend", "nonsense"),
        ({"image_set": "No Slug!"}, None, "letters, digits, - and _ only"),
        ({"prompts": "pull"}, None, "Name a study"),
        ({"backend": "diffusers", "model": ""}, "model", "Give a hub id or a local folder"),
        ({"guidance": "nan"}, "guidance", "number"),
        ({"lora": "a/b@99"}, "lora", "choose a scale"),
        ({"quantisation": "torchao_int8", "dtype": "float32"}, "dtype", "half precision"),
        ({"offload": "model", "compiled": "on"}, "compiled", "do not compile"),
    ],
)
def test_what_cannot_be_planned_is_said_beside_its_field(page, said, field, why):
    shown = preview(page, **said)
    assert shown.status_code == 422
    assert why in shown.text
    form = shown.context["form"]
    assert (field or "__all__") in form.errors
    summary = shown.text.partition('role="alert"')[2].partition("</div>")[0]
    assert f'<a href="#id_{field}">' in summary if field else why in summary
    assert form.model_errors() == (field not in (None, "seed"))
    assert not Run.objects.exists()


def test_pull_sets_describe_people_as_a_study_of_ones_own_does(page, maker):
    for text in ("poor", "sombrero"):
        factories.association(text=text)
    for text in ("tall", "kilt", "beret"):
        factories.association(group_name="Welsh", text=text)
    mine = factories.study("mine", leads=[maker], stereotype_source=factories.source())
    factories.study("theirs", stereotype_source=factories.source())
    shown = preview(page, study="mine", groups="Mexican", prompts="pull", images_per_prompt="2")
    numbers = dict(shown.context["pictures"])
    assert numbers == {"default": 2, "stereotypical": 12, "non stereotypical": 12}
    assert "a photo of a Mexican person described as poor" in shown.text
    assert preview(page, study="theirs", groups="Mexican", prompts="pull").status_code == 422
    assert mine.name in page.get(reverse("new_run", args=["images"])).text


def test_captions_and_embeddings_are_planned_over_a_set_that_has_files(page):
    run = world.made(world.pictures())
    shown = preview(page, "captions", image_set="drawn", count="7", options="ngrams=/data\n \nlevel = 2")
    assert "Start: 6 images" in shown.text
    assert shown.context["preview"].plan.recipe.options == {"ngrams": "/data", "level": 2}
    start(page, "captions", image_set="drawn", count="7")
    start(page, "embeddings", image_set="drawn", model="fake", pretrained="")
    assert sorted(run.image_set.runs.values_list("kind", flat=True)) == ["captions", "embeddings", "images"]
    for options in ("=x", "x"):
        assert preview(page, "captions", image_set="drawn", count="7", options=options).status_code == 422
    refused = preview(page, "captions", image_set="drawn", count="7", backend="visage", model="")
    assert "model" in refused.context["form"].errors
    factories.image(image_set=factories.image_set("elsewhere"))
    assert "no file" in preview(page, "captions", image_set="elsewhere", count="7").text


def test_texts_are_embedded_beside_images_and_never_called_images(page):
    world.made(world.pictures())
    fields = {"image_set": "drawn", "model": "fake", "pretrained": ""}
    shown = preview(page, "embeddings", **fields, texts="a hat\r\n\r\na <sari>\r\na hat")
    assert "Start: images: 6, texts: 2" in shown.text
    assert "<dt>Texts to embed</dt><dd>2</dd>" in shown.text
    assert "<li>a &lt;sari&gt;</li>" in shown.text
    assert (shown.context["preview"].images, shown.context["preview"].texts) == (6, 2)
    start(page, "embeddings", **fields, texts="a hat\r\na <sari>")
    run = Run.objects.get(kind="embeddings")
    world.made(run)
    more = preview(page, "embeddings", **fields, texts="a hat\nmore")
    assert "Start: images: 0, texts: 1" in more.text
    assert '<dd>0 <span class="of">of 6</span></dd>' in more.text
    text = page.get(reverse("run", args=[run.pk])).text
    assert "<dt>Images</dt><dd>6</dd>" in text
    assert "<dt>Texts</dt><dd>2</dd>" in text
    assert "<li>a &lt;sari&gt;</li>" in text
    form = page.get(reverse("new_run", args=["embeddings"]), {"like": run.pk}).context["form"]
    assert (form["texts"].value(), form["image_set"].value()) == ("a hat\na <sari>", "drawn")
    refused = preview(page, "embeddings", **fields, texts="fine\n" + "x" * 501)
    assert "Line 2" in refused.context["form"].errors["texts"][0]


def test_a_text_that_failed_is_shown_as_a_text(page):
    images = world.made(world.pictures())
    run = runs.ensure(
        plan=plans.plan_captions_or_embeddings(
            recipe=EmbeddingRecipe(backend="fake", model="fake"), image_set=images.image_set, texts=["a hat"]
        ),
        by=None,
    ).run
    run.jobs.exclude(key="").update(state="failed", error="too hot")
    text = page.get(reverse("run", args=[run.pk])).text
    assert '<th scope="row">a hat</th>' in text
    assert "seed" not in text[text.index("Failed jobs") : text.index("Recipe")]


def test_the_first_weights_of_the_form_are_no_revision_of_a_hubs_model(page):
    world.made(world.pictures())
    fields = {"image_set": "drawn", "backend": "transformers", "model": "openai/clip-vit-base-patch32"}
    shown = preview(page, "embeddings", **fields)
    assert shown.context["preview"].plan.recipe.pretrained == ""
    shown = preview(page, "embeddings", **fields, pretrained="v2")
    assert shown.context["preview"].plan.recipe.pretrained == "v2"
    own = {**fields, "backend": "open_clip", "model": "ViT-B-32", "pretrained": EmbeddingRecipe.pretrained}
    assert preview(page, "embeddings", **own).context["preview"].plan.recipe.pretrained == own["pretrained"]
    refused = preview(page, "embeddings", **{**fields, "model": "ViT-B-32"})
    assert "name of open_clip" in refused.context["form"].errors["model"][0]


def test_how_the_model_is_loaded_is_previewed_and_planned_again_alike(page):
    options = {"lora": "a/b@0.5\r\n\r\n c/d ", "offload": "sequential", "variant": "fp16"}
    shown = preview(page, **options)
    assert "<dd>a/b@0.5, c/d</dd>" in shown.text
    start(page, **options)
    run = Run.objects.get()
    assert run.recipe["lora"] == ["a/b@0.5", "c/d"]
    assert "<dd>a/b@0.5, c/d</dd>" in page.get(reverse("run", args=[run.pk])).text
    form = page.get(reverse("new_run", args=["images"]), {"like": run.pk}).context["form"]
    assert form["lora"].value() == "a/b@0.5\nc/d"
    assert (form["offload"].value(), form["variant"].value()) == ("sequential", "fp16")


def test_more_like_a_run_fills_the_form_with_its_recipe(page):
    run = world.pictures(image_set="mine")
    form = page.get(reverse("new_run", args=["images"]), {"like": run.pk}).context["form"]
    said = {
        name: form[name].value() for name in ("backend", "model", "width", "images_per_prompt", "image_set")
    }
    assert said == {
        "backend": "fake",
        "model": "fake",
        "width": 64,
        "images_per_prompt": 2,
        "image_set": "mine",
    }
    captions = world.read(world.made(run), CaptionRecipe(backend="fake", options={"a": 1, "b": "x"}))
    form = page.get(reverse("new_run", args=["captions"]), {"like": captions.pk}).context["form"]
    assert form["options"].value() == "a=1\nb=x"
    form = page.get(reverse("new_run", args=["captions"]), {"like": run.pk}).context["form"]
    assert form["image_set"].value() is None, "it is of another kind"
    form = page.get(reverse("new_run", args=["images"]), {"set": "a", "study": "b"}).context["form"]
    assert (form["image_set"].value(), form["study"].value()) == ("a", "b")
    Run.objects.filter(pk=run.pk).update(recipe={**run.recipe, "version": 0, "width": 128})
    form = page.get(reverse("new_run", args=["images"]), {"like": run.pk}).context["form"]
    assert form["width"].value() == 512, "who knows what another version of the program meant"
    for odd in ("", "x", "9" * 5000, "-1", "²"):
        assert page.get(reverse("new_run", args=["images"]), {"like": odd}).status_code == 200
    assert page.get(reverse("new_run", args=["poems"])).status_code == 404


def test_a_recipe_fills_the_fields_of_its_form():
    for key, (_, prompt_sets, _) in PROMPT_CHOICES.items():
        if key != "from_images":  # test_from_images.py
            found = views._initial_from_recipe(replace(world.FAKE, prompt_sets=prompt_sets))
            assert found["prompts"] == key
    several = replace(world.FAKE, prompt_sets=("detection", "default"))
    assert views._initial_from_recipe(several)["prompts"] == "detection"
    asked = {"backend": "fake", "model": "fake"}
    assert views._initial_from_recipe(CompletionRecipe(**asked, stop=("a", "b")))["stop"] == "a\nb"
    assert views._initial_from_recipe(ClassificationRecipe(**asked, labels=("a", "b")))["labels"] == "a\nb"


def test_runs_have_pages(page, monkeypatch):
    monkeypatch.setattr(views, "RUNS_PER_PAGE", 1)
    first = world.pictures()
    world.pictures(image_set="another")
    assert [row.run for row in page.get(reverse("runs"), {"page": 2}).context["rows"]] == [first]


@pytest.mark.parametrize(
    ("state", "possible"),
    [
        ("planned", {"start", "cancel", "discard"}),
        ("running", {"pause", "retry", "cancel"}),
        ("cancelled", {"discard"}),
        ("done", {"retry", "discard"}),
    ],
)
def test_a_page_offers_what_is_possible(page, state, possible):
    run = world.pictures()
    if state != "planned":
        Run.objects.filter(pk=run.pk).update(state=state, started_at=timezone.now())
        Job.objects.filter(pk=run.jobs.first().pk).update(state=JobState.FAILED, error="x", attempts=3)
    shown = page.get(reverse("run", args=[run.pk])).context
    offered = {name for name, _ in shown["actions"]}
    offered |= {name for name in ("retry", "cancel", "discard") if shown[f"may_{name}"]}
    assert offered == possible


def test_numbers_of_nothing_and_of_the_last_moment():
    empty = queries.Progress("planned", "", *[0] * 5, None, None, (), None, False)
    shown = views.progress_texts(empty)
    assert [shown[name] for name in ("percent", "rate", "left")] == ["–"] * 3
    assert views.progress_texts(replace(empty, seconds_left=0.0))["left"] != "–"


def test_numbers_are_told_in_groups_of_digits_and_few_of_a_share_and_a_rate():
    counts = {"total": 40_000, "pending": 20_000, "claimed": 3000, "done": 15_100, "failed": 1900}
    full = queries.Progress(
        "running", "", **counts, rate=1.23456, seconds_left=61.0, errors=(), loading=None, idle=False
    )
    assert views.progress_texts(full) == {
        **{name: f"{number:,}" for name, number in counts.items()},
        "percent": "38 %",
        "rate": "1.23/s",
        "left": "1 min 1 s",
    }


def test_a_run_says_how_it_stands_page_and_numbers_alike(page):
    run = world.pictures("Mexican", "Indian")
    runs.start(run=run, by=None)
    jobs = list(run.jobs.order_by("pk"))
    Job.objects.filter(pk=jobs[0].pk).update(
        state=JobState.FAILED, error="RuntimeError: <b>no</b>", attempts=3, worker="gpu-1 17"
    )
    shown = page.get(reverse("run", args=[run.pk]))
    for said in (
        "RuntimeError: &lt;b&gt;no&lt;/b&gt;",
        "gpu-1 17",
        "Try 1 failed job again",
        "Pause",
        "Cancel",
    ):
        assert said in shown.text
    told = page.get(reverse("run_progress", args=[run.pk])).json()
    assert (told["done"], told["total"], told["failed"], told["pending"]) == ("0", "12", "1", "11")
    assert told["bar"] == {"value": 0, "max": 12}
    assert (
        f'data-version="{told["version"]}"'.replace("<b>", "&lt;b&gt;").replace("</b>", "&lt;/b&gt;")
        in shown.text
    )
    versions = {told["version"]}
    for change in (
        lambda: Job.objects.filter(pk=jobs[1].pk).update(
            state=JobState.FAILED, error="RuntimeError: <b>no</b>"
        ),
        lambda: Job.objects.filter(pk=jobs[2].pk).update(error="other", attempts=1),
        lambda: Run.objects.filter(pk=run.pk).update(error="It broke."),
        lambda: Run.objects.filter(pk=run.pk).update(state=RunState.PAUSED),
    ):
        change()
        version = page.get(reverse("run_progress", args=[run.pk])).json()["version"]
        assert version not in versions
        versions.add(version)


def test_a_run_that_stopped_by_itself_says_why(page):
    run = world.pictures()
    runs.start(run=run, by=None)
    Run.objects.filter(pk=run.pk).update(state=RunState.PAUSED, error="There is no folder /m. Copy it there.")
    shown = page.get(reverse("run", args=[run.pk]))
    assert "There is no folder /m. Copy it there." in shown.text
    assert "Resume" in shown.text
    assert "data-progress" not in shown.text
    assert "paused by an error" in page.get(reverse("runs")).text


def act(page, run, action):
    answer = page.post(reverse("run_action", args=[run.pk, action]), follow=True)
    run.refresh_from_db()
    return answer


def test_a_run_is_paused_resumed_cancelled_and_retried_and_the_audit_says_by_whom(page, maker, monkeypatch):
    rung = []
    monkeypatch.setattr(tasks, "enqueue", lambda run: rung.append(run.state))
    run = world.pictures()
    act(page, run, "start")
    act(page, run, "pause")
    assert run.state == RunState.PAUSED
    assert "The run continues." in act(page, run, "resume").text
    assert run.state == RunState.RUNNING
    Job.objects.filter(pk=run.jobs.first().pk).update(state=JobState.FAILED, error="x", attempts=3)
    Run.objects.filter(pk=run.pk).update(error="It broke.")  # it had paused before
    assert "Failed jobs are tried again." in act(page, run, "retry").text
    assert run.jobs.filter(state=JobState.PENDING, attempts=0).count() == 6
    assert "Nothing to change" in act(page, run, "retry").text
    act(page, run, "cancel")
    assert (run.state, run.jobs.count()) == (RunState.CANCELLED, 0)
    assert set(AuditEvent.objects.filter(by=maker).values_list("what", flat=True)) == {
        *("run started", "run paused", "run resumed", "run retried", "run cancelled")
    }
    assert set(rung) == {"running"}
    assert "was cancelled" in act(page, run, "resume").text
    assert page.post(reverse("run_action", args=[run.pk, "explode"])).status_code == 404
    assert page.post(reverse("run_action", args=[10**6, "pause"])).status_code == 404


def test_who_may_not_set_up_studies_finds_none_of_it_and_changes_nothing(client):
    run = world.pictures()
    runs.start(run=run, by=None)
    client.force_login(factories.user("lead"))
    for action in ("pause", "cancel", "retry", "resume", "start"):
        assert client.post(reverse("run_action", args=[run.pk, action])).status_code == 404
    assert client.post(reverse("new_run", args=["images"]), {**WANTED, "start": "1"}).status_code == 404
    run.refresh_from_db()
    assert (run.state, Run.objects.count()) == (RunState.RUNNING, 1)


def test_the_finished_run_shows_its_last_pictures_and_every_choice_of_its_recipe(page):
    run = world.made(world.pictures("Mexican"))
    shown = page.get(reverse("run", args=[run.pk]))
    assert run.state == RunState.DONE
    assert shown.text.count('class="picture"') == 6
    assert not shown.context["may_discard"], "it has made something"
    assert run.recipe_hash in shown.text
    for name in set(run.recipe) - {"kind", "version"}:
        assert f'<dt lang="en">{name.replace("_", " ")}</dt>' in shown.text
    [way] = run.made_with
    assert "Made by" in shown.text
    for said in (way["revision"], way["device"], way["code"], f"pillow {way['libraries']['pillow']}"):
        assert said, "nothing was recorded"
        assert said.replace("+", "&#x2B;") in shown.text or said in shown.text
    assert "data-progress" not in shown.text


def test_a_run_that_is_done_with_failures_says_so_everywhere(page, maker):
    run = world.made(world.pictures("Mexican"))
    Job.objects.filter(pk=run.jobs.first().pk).update(state=JobState.FAILED, attempts=3, error="It broke.")
    for url in (reverse("runs"), reverse("run", args=[run.pk])):
        assert "1 job failed" in page.get(url).text


def test_while_a_model_is_loaded_the_page_of_the_run_says_so(page, maker):
    run = world.pictures("Mexican")
    runs.start(run=run, by=None)
    now = timezone.now()
    worker = Worker.objects.create(
        name="gpu a 1", queue="gpu", host="a", started_at=now, seen_at=now, run=run, loading_since=now
    )
    url, progress = reverse("run", args=[run.pk]), reverse("run_progress", args=[run.pk])
    assert "has been loading the model since" in page.get(url).text
    version = page.get(progress).json()["version"]
    Worker.objects.filter(pk=worker.pk).update(loading_since=None)
    assert "has been loading the model since" not in page.get(url).text
    assert page.get(progress).json()["version"] != version


@pytest.mark.parametrize(
    ("design", "page_name"),
    [
        ({"purpose": "candidates"}, "candidates"),
        ({"purpose": "associations"}, "model_associations"),
        ({"purpose": "machine_judge", "study": "seen"}, "judge"),
        ({"purpose": "inference"}, "inference"),
        ({"purpose": "visual_questions"}, "visual_question_run"),
        ({"purpose": "brightness"}, "brightness_run"),
        (None, "candidates"),
        ({"purpose": "association judgements"}, ""),
    ],
)
def test_a_run_with_answers_links_to_what_they_are_for(page, design, page_name):
    run = answered.a_run(design=design)
    answered.answer(run)
    pages = ("candidates", "model_associations", "inference", "visual_question_run", "brightness_run")
    urls = {name: reverse(name, args=[run.pk]) for name in pages}
    urls["judge"] = reverse("judge", args=["seen", run.pk])
    page.force_login(factories.user(admin=True))
    shown = page.get(reverse("run", args=[run.pk])).text
    assert {name for name, url in urls.items() if f'href="{url}"' in shown} == {page_name} - {""}


def test_a_cancelled_run_says_how_much_of_the_plan_was_done(page):
    run = world.pictures("Mexican")
    Job.objects.filter(pk=run.jobs.first().pk).update(state=JobState.FAILED, error="x", attempts=3)
    total = run.jobs.count()
    runs.cancel(run=run, by=None)
    shown = page.get(reverse("run", args=[run.pk])).text
    assert f"0 of {total} done, {total} cancelled." in shown
    assert "0 %" in shown
    assert f"0 of {total}" in page.get(reverse("runs")).text
    assert "Plan the run again" in shown
    asked = answered.a_run(state=RunState.RUNNING)
    Job.objects.create(run=asked, key="k", number=1, prompt="what?")
    runs.cancel(run=asked, by=None)
    shown = page.get(reverse("run", args=[asked.pk])).text
    assert "Planned again with the same name and settings, it does the others." in shown
    again = page.get(reverse("new_run", args=["images"]), {"like": run.pk}).text
    assert "Groups, prompts or texts of which nothing was done are not filled in here" in again


def test_a_run_that_waits_for_its_turn_says_behind_which(page):
    first, second = world.pictures("Mexican"), world.pictures("Mexican", image_set="other")
    for run in (first, second):
        runs.start(run=run, by=None)
    url, progress = reverse("run", args=[second.pk]), reverse("run_progress", args=[second.pk])
    assert "no worker has taken one of its jobs yet" in page.get(url).text
    version = page.get(progress).json()["version"]
    now = timezone.now()
    Worker.objects.create(name="gpu a 1", queue="gpu", host="a", started_at=now, seen_at=now, run=first)
    shown = page.get(url).text
    assert f'a worker is on <a href="{reverse("run", args=[first.pk])}">run {first.pk}</a>' in shown
    assert "no worker has taken" not in shown
    assert page.get(progress).json()["version"] != version
    assert "waiting for its turn" in page.get(reverse("runs")).text
    Run.objects.filter(pk=first.pk).update(recipe=first.recipe | {"design": {"study": "another"}})
    shown = page.get(url).text
    assert "Waiting for its turn: a worker is on another run." in shown
    assert reverse("run", args=[first.pk]) not in shown


def test_a_run_whose_jobs_are_tried_again_later_says_when(page):
    run = world.pictures("Mexican")
    runs.start(run=run, by=None)
    later = timezone.now() + timedelta(minutes=5)
    run.jobs.update(error="It broke.", attempts=1, not_before=later)
    shown = page.get(reverse("run", args=[run.pk])).text
    assert f"what is left is tried again from {later:%H:%M} UTC on." in shown


def test_pages_ask_as_many_questions_however_much_there_is(page, maker):
    run = world.made(world.pictures("Mexican"))
    image = Image.objects.get(group__name="Mexican", index=2)
    urls = {
        **{name: reverse(name) for name in ("runs", "image_sets")},
        **{name: reverse(name, args=[run.pk]) for name in ("run", "run_progress")},
        "image_set": reverse("image_set", args=["drawn"]),
        "image_history": reverse("image_history", args=[image.pk]),
    }

    def asked() -> dict[str, int]:
        found = {}
        for name, url in urls.items():
            with CaptureQueriesContext(connection) as queries:
                assert page.get(url).status_code == 200
            found[name] = len(queries)
        return found

    world.made(world.read(run, CaptionRecipe(backend="fake", count=2)))
    world.made(world.read(run, EmbeddingRecipe(backend="fake", model="fake")))
    world.judged(image, lead=maker, name="first")
    before = asked()
    assert world.made(world.pictures("Mexican", "Indian", "French", "Welsh")) == run
    for number in range(3):
        world.pictures(image_set=f"set-{number}")
        world.made(world.read(run, CaptionRecipe(backend="fake", count=9, seed=number)))
        world.judged(image, lead=maker, name=f"more-{number}", times=3)
    assert asked() == before
    assert before == {
        "runs": 7,
        "image_sets": 8,
        "run": 10,
        "run_progress": 8,
        "image_set": 12,
        "image_history": 14,
    }
