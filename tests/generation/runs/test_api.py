"""Runs and images by the API: planned as the page plans them, steered, and told with their provenance."""

from __future__ import annotations

import json

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from annotation.models import AuditEvent, ImageSet
from generation.jobs import tasks
from generation.models import Job, Run, RunState
from generation.recipes.recipes import CaptionRecipe, from_json
from tests import factories
from tests.annotation.api.calls import Program, is_problem
from tests.generation.image_sets import world as pictures
from tests.generation.plans import world as plans

pytestmark = pytest.mark.django_db

PLAN = {
    "kind": "images",
    "backend": "fake",
    "groups": ["Mexican", "Indian"],
    "image_set": "trial",
    "images_per_prompt": 2,
    "width": 64,
    "height": 64,
}


@pytest.fixture
def maker():
    user = factories.user("maker", lead=True)
    for name in ("Mexican", "Indian"):
        factories.group(name)
    return type(user).objects.get(pk=user.pk)


@pytest.fixture
def program(maker):
    return Program(maker)


def test_a_dry_run_says_what_would_come_of_it_and_writes_nothing(program):
    answer = program.post("runs?dry_run=true", PLAN)
    said = answer.json()
    assert answer.status_code == 200, said
    assert (said["run"], said["total"], said["added"], said["groups"]) == (None, 12, 12, 2)
    assert said["pictures"] == {"detection": 12}
    # groups in the order in which they were named
    assert said["prompts"][0] == "a photo of a Mexican person"
    assert said["estimate"]["bytes"] > 0
    assert not Run.objects.exists()
    assert not ImageSet.objects.exists()


def test_number_type_and_repeatable_results(program):
    program.post("runs", PLAN)
    recipe = Run.objects.get().recipe
    assert (recipe["dtype"], recipe["repeatable"]) == ("auto", False)
    slow = {**PLAN, "image_set": "slow", "backend": "diffusers", "dtype": "float32", "repeatable": True}
    answer = program.post("runs", slow)
    assert "twice the memory" in " ".join(answer.json()["notes"])
    assert from_json(Run.objects.latest("pk").recipe).repeatable


def test_the_same_plan_again_is_the_same_run_and_adds_what_is_missing(program, maker):
    first = program.post("runs", PLAN)
    assert first.status_code == 201, first.json()
    assert (first.json()["added"], first.json()["state"]) == (12, "planned")
    again = program.post("runs", PLAN).json()
    assert (again["run"], again["added"], Job.objects.count()) == (first.json()["run"], 0, 12)
    fewer = program.post("runs", {**PLAN, "groups": ["Mexican"]}).json()
    assert (fewer["run"], fewer["added"]) == (first.json()["run"], 0)
    assert Run.objects.get().created_by == maker
    assert AuditEvent.objects.get(what="run planned").by == maker


def test_a_run_goes_where_its_actions_lead(program, maker, monkeypatch):
    rung = []
    monkeypatch.setattr(tasks, "enqueue", lambda run: rung.append(run.state))
    number = program.post("runs", PLAN).json()["run"]

    def act(action):
        answer = program.post(f"runs/{number}/{action}")
        return answer.json()["state"] if answer.status_code == 200 else answer.status_code

    assert program.get(f"runs/{number}").json()["actions"] == ["start", "cancel", "discard"]
    is_problem(program.post(f"runs/{number}/pause"), 409)
    states = [act(one) for one in ("start", "start", "pause", "resume", "retry", "cancel", "cancel")]
    assert states == ["running", "running", "paused", "running", "running", "cancelled", "cancelled"]
    assert rung == states
    acts = AuditEvent.objects.exclude(what__in=("run planned", "api token made"))
    assert set(acts.values_list("what", "by")) == {
        (f"run {done}", maker.pk) for done in ("started", "paused", "resumed", "cancelled")
    }
    assert "Plan it again" in is_problem(program.post(f"runs/{number}/start"), 409)["detail"]
    is_problem(program.post(f"runs/{number}/explode"), 404)
    is_problem(program.post("runs/99999/start"), 404)


def test_a_run_that_is_done_runs_again_when_its_failures_are_retried(program):
    run = plans.put(plans.planned("Mexican").run, RunState.DONE)
    plans.fail(run.jobs.first())
    assert program.post(f"runs/{run.pk}/retry").json()["state"] == "running"


def test_a_body_that_is_no_object_is_refused(program):
    assert "kind" in is_problem(program.post("runs", []), 400)["detail"]


def test_a_run_names_what_made_it(program):
    run = pictures.made(pictures.pictures("Mexican"))
    [way] = program.get(f"runs/{run.pk}").json()["made_with"]
    assert (way["model"], way["revision"], way["device"]) == ("fake", "1", "cpu")
    assert way["libraries"] == run.made_with[0]["libraries"]
    assert {"code", "since"} < set(way)


def test_a_run_says_how_it_stands_and_what_went_wrong(program):
    run = plans.put(plans.planned("Mexican").run, RunState.RUNNING)
    jobs = list(run.jobs.order_by("pk"))
    plans.finish(jobs[0])
    plans.fail(jobs[1])
    said = program.get(f"runs/{run.pk}").json()
    assert {name: said["jobs"][name] for name in ("total", "done", "failed", "pending")} == {
        "total": 6,
        "done": 1,
        "failed": 1,
        "pending": 4,
    }
    assert said["jobs"]["errors"][0]["error"] == "It broke."
    assert said["actions"] == ["pause", "cancel", "retry"]
    assert (said["recipe"]["backend"], len(said["recipe_hash"])) == ("fake", 64)
    (listed,) = program.get("runs?state=running&kind=images&image_set=trial").json()["results"]
    assert listed["jobs"] == {"total": 6, "done": 1, "failed": 1}
    assert not program.get("runs?state=paused").json()["results"]


@pytest.mark.parametrize(
    ("change", "status", "told"),
    [
        ({"kind": "films"}, 400, "kind"),
        ({"kind": {}}, 400, "kind"),
        ({"smal": 5}, 400, "no such field"),
        ({"images_per_prompt": 0}, 400, "images_per_prompt"),
        ({"width": 65}, 422, "width"),
        ({"groups": ["Martian"]}, 422, "Martian"),
        ({"groups": []}, 422, "identity groups"),
        ({"groups": ["x" * 121]}, 400, "groups"),
        ({"backend": "magic"}, 422, "backend"),
        ({"study": "of-somebody-else"}, 422, "study"),
        ({"quantisation": "gguf"}, 400, "quantisation"),
        ({"quantisation": "torchao_int8", "dtype": "float32"}, 422, "half precision"),
        ({"lora": "a/b"}, 400, "lora"),
        ({"seed": 2**63}, 400, "seed"),
        ({"model": "a\x00b"}, 400, "U+0000"),
        ({"negative_prompt": "\ud800"}, 400, ""),
        ({"steps": "fifty"}, 400, "steps"),
    ],
)
def test_what_cannot_be_planned_is_refused_and_leaves_nothing(program, change, status, told):
    factories.study("of-somebody-else", leads=[factories.user("other")])
    answer = program.client.generic(
        "POST",
        "/api/v1/runs",
        json.dumps({**PLAN, **change}),
        content_type="application/json",
        headers={"Authorization": f"Bearer {program.secret}"},
    )
    assert told.lower() in json.dumps(is_problem(answer, status)).lower()
    assert not Run.objects.exists()


def test_how_the_model_is_loaded_is_planned_too(program):
    options = {
        "variant": "fp16",
        "lora": ["a/b@0.5", "c/d"],
        "quantisation": "torchao_int8",
        "offload": "model",
    }
    number = program.post("runs", {**PLAN, **options, "dtype": "bfloat16"}).json()["run"]
    recipe = program.get(f"runs/{number}").json()["recipe"]
    assert {name: recipe[name] for name in options} == options


def test_captions_and_embeddings_are_planned_of_a_set_that_is_there(program):
    pictures.made(pictures.pictures("Mexican"))
    asked = {"kind": "captions", "backend": "fake", "image_set": "drawn", "count": 2}
    said = program.post("runs", asked).json()
    assert (said["added"], said["prompts"]) == (6, [])
    is_problem(program.post("runs", {**asked, "image_set": "nosuch"}), 422)
    is_problem(program.post("runs", {**asked, "options": {"a\nb": 1}}), 422)
    embeddings = {"kind": "embeddings", "backend": "fake", "image_set": "drawn"}
    assert program.post("runs?dry_run=true", embeddings).json()["added"] == 6


def test_texts_are_planned_beside_images(program):
    pictures.made(pictures.pictures("Mexican"))
    body = {"kind": "embeddings", "backend": "fake", "image_set": "drawn", "texts": ["a hat", "b", "a hat"]}
    said = program.post("runs?dry_run=true", body).json()
    assert (said["added"], said["total"], said["texts"], said["prompts"]) == (8, 8, 2, ["a hat", "b"])
    assert program.post("runs?dry_run=true", {**body, "texts": []}).json()["texts"] == 0
    for wrong in (["two\nlines"], ["x" * 501], [""], "a hat"):
        is_problem(program.post("runs", {**body, "texts": wrong}), 400)
    hub = {**body, "backend": "transformers", "model": "openai/clip-vit-base-patch32"}
    number = program.post("runs", hub).json()["run"]
    assert program.get(f"runs/{number}").json()["recipe"]["pretrained"] == ""


def test_an_image_comes_with_its_whole_provenance_and_its_captions(program):
    run = pictures.made(pictures.pictures("Mexican"))
    pictures.made(pictures.read(run, CaptionRecipe(backend="fake", count=2)))
    (row,) = program.get("image-sets").json()["results"]
    assert (row["name"], row["images"], row["groups"], row["drawn"]) == ("drawn", 6, 1, True)
    assert program.get("image-sets/drawn").json() == row
    said = program.get("image-sets/drawn/images?prompt_set=detection").json()["results"]
    assert len(said) == 6
    image = said[0]
    origin = image["provenance"]
    assert (origin["run"], origin["recipe_hash"], origin["model"]) == (run.pk, run.recipe_hash, "fake")
    assert (image["prompt"], image["group"]) == ("a photo of a Mexican person", "Mexican")
    assert origin["seed"] is not None
    assert origin["libraries"]
    assert program.get(f"images/{image['id']}").json() == image
    captions = program.get(f"images/{image['id']}/captions").json()["results"]
    assert [one["rank"] for one in captions] == [1, 2]
    assert not program.get(f"images/{image['id']}/captions?run={run.pk}").json()["results"]
    file = program.client.get(image["file"], headers={"Authorization": f"Bearer {program.secret}"})
    assert (file["Content-Type"], file.content[:4]) == ("image/png", b"\x89PNG")


def test_an_image_of_which_nothing_is_known_is_told_so(program):
    picture = factories.image()
    said = program.get(f"images/{picture.pk}").json()
    assert (said["provenance"], said["file"], said["reference"]) == (None, None, "Mexican1.png")
    is_problem(program.get(f"images/{picture.pk}/file"), 404)


def test_lists_take_as_many_queries_whatever_is_on_them(program):
    run = pictures.made(pictures.pictures("Mexican"))
    for number in range(3):
        factories.image(index=number + 1, image_set=factories.image_set(f"set-{number}"))
        plans.planned("Mexican", image_set=f"run-{number}")
    for path in ("image-sets", "runs", "image-sets/drawn/images"):
        program.get(path)
        with CaptureQueriesContext(connection) as few:
            assert len(program.get(f"{path}?limit=1").json()["results"]) == 1
        with CaptureQueriesContext(connection) as many:
            assert len(program.get(path).json()["results"]) > 3
        assert len(many) == len(few), path
    assert run.state == RunState.DONE
