"""Images from the images of a set: what is planned, and what is refused."""

from __future__ import annotations

import pytest

from annotation.models import Image, ImageSet
from generation.backends.base import BackendError
from generation.models import Job
from generation.plans import services as plans
from generation.plans.errors import PlanRefused
from generation.plans.from_images import plan_images_from
from generation.plans.queries import recipe_checks
from generation.plans.queries.image_sets import default_name
from generation.plans.queries.jobs import missing_jobs
from generation.recipes.recipes import sample_seed
from generation.runs import services as runs
from tests import factories
from tests.generation import faces

pytestmark = pytest.mark.django_db


@pytest.fixture
def face_set() -> ImageSet:
    return faces.faces()


def refused(image_set, *prompts, **changed) -> str:
    with pytest.raises(PlanRefused) as told:
        faces.plan(image_set, *prompts, **changed)
    return str(told.value)


def test_one_image_for_each_file_prompt_sample_and_strength(face_set):
    prompts = "an American person", "a photo of {group} person"
    shown = plans.preview(faces.plan(face_set, *prompts, images_per_prompt=2))
    assert (shown.total, shown.added, shown.groups) == (3 * 2 * 2 * 3, 36, 2)
    assert shown.pictures == {"from_images": 36}
    assert shown.prompts == ["an American person", "a photo of an Indian person"]
    assert Job.objects.count() == 0


def test_jobs_know_their_initial_image_and_share_a_seed_over_strengths(face_set):
    plan = faces.plan(face_set, images_per_prompt=2)
    ensured = runs.ensure(plan=plan, by=None)
    assert (ensured.added, ensured.total) == (18, 18)
    rows = list(ensured.run.jobs.order_by("group__name", "number").values("group__name", "number", "seed"))
    numbers = {
        name: [row["number"] for row in rows if row["group__name"] == name] for name in ("Indian", "Mexican")
    }
    # (index - 1) * 2 samples * 3 strengths; Mexican 2 has no file
    assert numbers == {"Indian": [*range(1, 7)], "Mexican": [*range(1, 7), *range(13, 19)]}
    for row in rows:
        seed = sample_seed(seed=0, prompt="an American person", number=(row["number"] - 1) // 3 + 1)
        assert row["seed"] == seed


def test_a_series_stands_together_in_its_set_and_a_batch_has_one_strength(face_set):
    run = runs.ensure(plan=faces.plan(face_set), by=None).run
    mexican = run.jobs.filter(group__name="Mexican")
    assert list(mexican.order_by("index").values_list("number", flat=True)) == [1, 2, 3, 7, 8, 9]
    by_claim = [(job.number - 1) % 3 for job in run.jobs.order_by("pk")]
    assert by_claim == sorted(by_claim)


def test_planning_again_adds_what_is_new_and_nothing_twice(face_set):
    first = runs.ensure(plan=faces.plan(face_set), by=None)
    assert runs.ensure(plan=faces.plan(face_set), by=None).added == 0
    file = Image.objects.filter(image_set=face_set).exclude(file="").first()
    Image.objects.filter(image_set=face_set, file="").update(
        file=file.file.name, sha256=file.sha256, width=40, height=40
    )
    again = runs.ensure(plan=faces.plan(face_set), by=None)
    assert (again.run, again.added) == (first.run, 3)
    assert len(missing_jobs(faces.plan(face_set, "another"))) == 12
    assert sorted(again.run.jobs.filter(group__name="Mexican").values_list("index", flat=True)) == [
        *range(1, 10)
    ]


def test_a_plan_is_counted_in_parts_as_a_whole(face_set):
    plan = faces.plan(face_set, "one", "two")
    parts = list(plan.split(min_jobs=1))
    assert len(parts) == 2  # no group is split
    assert sum(part.total for part in parts) == plan.total == 18


def test_only_the_groups_that_are_named(face_set):
    indian = factories.group("Indian")
    plan = plan_images_from(
        recipe=faces.recipe(), initial_set=face_set, prompts=["x"], groups=[indian, indian], image_set="made"
    )
    assert plan.total == 3
    with pytest.raises(PlanRefused, match=r"no image with a file of: 'Welsh'. Leave"):
        plan_images_from(
            recipe=faces.recipe(), initial_set=face_set, prompts=["x"], groups=[factories.group("Welsh")]
        )


def test_the_set_is_named_by_the_model_and_the_initial_images(face_set):
    assert faces.plan(face_set, into="").image_set == "fake-from-faces"
    long = default_name(faces.recipe(initial="f" * 80))
    assert len(long) <= 80
    assert long.startswith("fake-from-fff")
    cut = default_name(faces.recipe(initial="f" * 34 + "-of-all"))
    assert cut == "fake-from-" + "f" * 34


def test_what_is_noted(face_set):
    factories.image(image_set=factories.image_set("another"))
    assert [note for note in faces.plan(face_set).notes if "no file" in note] == [
        "1 initial image has no file in this installation and is left out."
    ]
    assert not [note for note in faces.plan(face_set).notes if "stretched" in note or "licence" in note]
    wide = faces.plan(face_set, width=32).notes
    assert "3 initial images have another shape than 32 × 16 and are stretched to it." in wide
    ImageSet.objects.update(licence="")
    face_set.refresh_from_db()
    assert any("licence of “faces” is not recorded" in note for note in faces.plan(face_set).notes)


def test_a_set_has_one_series_and_one_purpose(face_set):
    runs.ensure(plan=faces.plan(face_set), by=None)
    assert "images_per_prompt 1, not 2" in refused(face_set, images_per_prompt=2)
    assert "strengths" in refused(face_set, strengths=(0.5,))
    drawn = faces.recipe(initial="", strengths=(), prompt_sets=("detection",))
    with pytest.raises(PlanRefused, match="initial 'faces', not ''"):
        plans.plan_images(recipe=drawn, groups=[factories.group()], image_set="made")
    plan = plans.plan_images(recipe=drawn, groups=[factories.group()], image_set="plain")
    runs.ensure(plan=plan, by=None)
    assert "made by another recipe" in refused(face_set, into="plain")


def test_what_is_refused_says_why(face_set):
    assert "cannot go into the set “faces”" in refused(face_set, into="faces")
    assert "empty" in refused(face_set, " ")
    assert "Only {group} may stand" in refused(face_set, "a {person}")
    assert "Write 1 to 500 characters" in refused(face_set, "x" * 501)
    assert "Write 1 to 500 characters" in refused(face_set, "x\0y")
    assert "begins with images of 'others'" in refused(face_set, initial="others")
    assert "use letters, digits, - and _ only" in refused(face_set, into="two words")
    assert "has 201 characters" in refused(face_set, model="m" * 201)
    with pytest.raises(PlanRefused, match="There is no prompt"):
        plan_images_from(recipe=faces.recipe(), initial_set=face_set, prompts=[], image_set="made")
    bare = factories.image_set("bare")
    assert "holds no image yet" in refused(bare, initial="bare")
    with pytest.raises(PlanRefused, match="need the initial images and a prompt"):
        plans.plan_images(recipe=faces.recipe(), groups=[factories.group()], image_set="made")


def test_numbers_that_the_column_cannot_hold_are_refused(face_set):
    Image.objects.filter(image_set=face_set, index=3).update(index=2_000_000)
    assert "would begin image number" in refused(
        face_set, images_per_prompt=1000, strengths=(0.1, 0.2), steps=50
    )
    Image.objects.filter(image_set=face_set, index=2_000_000).update(index=2**31 - 1)
    assert faces.plan(face_set, strengths=(0.5,)).total == 3
    assert f"image number {2**32 - 2:,}" in refused(face_set, strengths=(0.5, 1.0))


def test_a_backend_that_cannot_is_refused(face_set, monkeypatch):
    def no(recipe):
        raise BackendError("It cannot.")

    monkeypatch.setattr(recipe_checks.backends, "check", no)
    assert refused(face_set) == "It cannot."
