"""Images from images: planned in the terminal, on the page and through the API."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotation.models import Image
from generation.models import Run
from generation.recipes.recipes import from_json
from tests import factories
from tests.annotation.api.calls import Program
from tests.generation import faces
from tests.generation.plans.world import command, refused
from tests.generation.runs.test_pages import preview, start

pytestmark = pytest.mark.django_db(transaction=True)

OPTIONS = ("--initial", "faces", "--prompt", "an American person", "--strengths", "0.25,0.5,1")
FAKE = ("--backend", "fake", "--size", "16x16")
WANTED = {
    "groups": "",
    "prompts": "from_images",
    "initial": "faces",
    "prompt": "a photo of {group} person",
    "strengths": "0.25, 0.5",
    "image_set": "made",
    "width": "16",
    "height": "16",
}
PLAN = {
    "kind": "images",
    "backend": "fake",
    "prompts": "from_images",
    "initial": "faces",
    "prompt": "an American person",
    "strengths": [0.25, 0.5, 1],
    "image_set": "made",
    "width": 16,
    "height": 16,
}


@pytest.fixture
def face_set():
    return faces.faces()


@pytest.fixture
def page(client, face_set):
    client.force_login(factories.user("maker", lead=True))
    return client


class TestCommand:
    def test_it_makes_a_series_of_each_image(self, face_set):
        told = command("generate", "set:made", *OPTIONS, *FAKE)
        assert "From        faces, at strengths 0.25, 0.5, 1.0" in told
        assert "To make     9 of 9 images" in told
        assert "is done: 9 of 9." in told
        assert Image.objects.filter(image_set__name="made").count() == 9
        assert from_json(Run.objects.get().recipe).images_per_prompt == 1
        assert "Nothing to do" in command("generate", "made", *OPTIONS)

    def test_a_prompt_may_be_added_as_the_set_was_made(self, face_set):
        command("generate", "made", *OPTIONS, *FAKE)
        told = command("generate", "made", "--initial", "faces", "--prompt", "a neighbour")
        assert "To make     9 of 9 images" in told
        assert Run.objects.count() == 1

    def test_what_is_wrong_is_said(self, face_set):
        factories.study("studied")
        for arguments, told in (
            (("set:made", *OPTIONS[:2], "--strengths", "0.5", *FAKE), "There is no prompt"),
            (("set:made", *OPTIONS[:4], *FAKE), "strengths: give at least one"),
            (("set:made", *OPTIONS[:4], "--strengths", "much", *FAKE), "--strengths: 'much' is not a number"),
            (("set:made", *OPTIONS[:4], "--strengths", "0.5,0.2", *FAKE), "from the lowest to the highest"),
            (("set:made", *OPTIONS, "--prompts", "pull"), "--initial and --prompts do not go together"),
            (("studied", *OPTIONS), "belong to no study"),
            (("set:made", "--initial", "face", *OPTIONS[2:]), "Did you mean 'faces'?"),
            (("set:faces", *OPTIONS, *FAKE), "which holds the initial images"),
            (("set:faces", "--prompt", "x"), "go with --initial"),
            (("new", "--groups", "Indian", "--prompts", "from_images", *FAKE), "initial: name the set"),
        ):
            assert told in refused("generate", *arguments, "--preview"), arguments


class TestPage:
    def test_a_preview_counts_each_initial_image_and_strength(self, page):
        shown = preview(page, **WANTED)
        assert shown.status_code == 200
        assert shown.context["preview"].total == 6
        assert "2 images of each initial image" in shown.text
        assert "a photo of an Indian person" in shown.text

    def test_a_run_starts_and_shows_what_it_begins_with(self, page):
        answer = start(page, **WANTED)
        run = Run.objects.get()
        assert answer.url == reverse("run", args=[run.pk])
        text = page.get(answer.url).text
        assert f'Made from the images of <a href="{reverse("image_set", args=["faces"])}">faces</a>.' in text
        assert "2 strengths: 0.25, 0.5." in " ".join(text.split())

    @pytest.mark.parametrize(
        ("changed", "field", "told"),
        [
            ({"initial": ""}, "initial", "Choose the set"),
            ({"prompt": ""}, "prompt", "Write what"),
            ({"strengths": ""}, "strengths", "Give at least one"),
            ({"strengths": "many"}, "strengths", "not a number"),
            ({"strengths": "0.5, 0.2"}, "strengths", "from the lowest to the highest"),
            ({"strengths": "0.001"}, "strengths", "less than one step"),
            ({"initial": "nothing"}, "initial", "Select a valid choice"),
            ({"prompts": "detection"}, "initial", "Leave it empty"),
            ({"prompt": "a {person}"}, "__all__", "Only {group}"),
        ],
    )
    def test_what_is_wrong_is_said_at_its_field(self, page, changed, field, told):
        answer = preview(page, **{**WANTED, **changed})
        assert answer.status_code == 422
        [error] = answer.context["form"].errors[field]
        assert told in error
        assert not Run.objects.exists()

    def test_a_study_is_refused(self, page, client):
        study = factories.study("mine", leads=[factories.user("maker2", lead=True)])
        client.force_login(study.leads.get())
        errors = preview(page, **WANTED, study="mine").context["form"].errors
        assert "belong to no study" in str(errors["study"])

    @pytest.mark.parametrize(
        ("prompt", "groups"), [("a photo of {group} person", 2), ("an American person", 2)]
    )
    def test_a_similar_run_begins_with_its_settings(self, page, prompt, groups):
        start(page, **{**WANTED, "prompt": "a neighbour", "image_set": "another"})
        start(page, **{**WANTED, "prompt": prompt})
        run = Run.objects.get(image_set__name="made")
        form = page.get(reverse("new_run", args=["images"]), {"like": run.pk}).context["form"]
        for name, value in {**WANTED, "prompt": prompt, "groups": "Indian\nMexican"}.items():
            if name not in ("width", "height"):
                assert form.initial[name] == value, name

    def test_an_image_shows_what_it_was_made_from(self, page, face_set):
        run = faces.made(faces.plan(face_set))
        job = run.jobs.get(group__name="Mexican", number=8)
        initial = Image.objects.get(image_set=face_set, group__name="Mexican", index=3)
        text = page.get(reverse("image_history", args=[job.image_id])).text
        assert f'<a href="{reverse("image_history", args=[initial.pk])}">Mexican 3</a>' in text
        assert "<dt>strength</dt><dd>0.5</dd>" in text
        for other in run.jobs.filter(group=job.group, number__in=(7, 9)):
            assert reverse("image_history", args=[other.image_id]) in text
        Image.objects.filter(pk=initial.pk).update(index=30)
        assert "no longer there" in page.get(reverse("image_history", args=[job.image_id])).text

    def test_who_may_not_see_the_initial_images_gets_no_link(self, client, face_set):
        lead = factories.user("only-lead")
        run = faces.made(faces.plan(face_set))
        study = factories.study("shows", leads=[lead])
        factories.task(study, kind="depiction", image_set=run.image_set)
        client.force_login(lead)
        job = run.jobs.get(group__name="Indian", number=1)
        text = client.get(reverse("image_history", args=[job.image_id])).text
        initial = Image.objects.get(image_set=face_set, group__name="Indian")
        assert "<dt>strength</dt><dd>0.25</dd>" in text
        assert reverse("image_history", args=[initial.pk]) not in text


class TestApi:
    @pytest.fixture
    def program(self, face_set):
        return Program(factories.user("maker", lead=True))

    def test_a_plan_and_an_image(self, program, face_set):
        said = program.post("runs?dry_run=true", PLAN).json()
        assert (said["total"], said["pictures"]) == (9, {"from_images": 9})
        assert program.post("runs", PLAN).status_code == 201
        assert from_json(Run.objects.get().recipe).strengths == (0.25, 0.5, 1.0)
        run = faces.made(faces.plan(face_set, into="other"))
        job = run.jobs.get(group__name="Indian", number=2)
        initial = Image.objects.get(image_set=face_set, group__name="Indian")
        told = program.get(f"images/{job.image_id}").json()["made_from"]
        assert told == {"image_set": "faces", "index": 1, "image": initial.pk, "strength": 0.5, "sample": 1}
        assert program.get(f"images/{initial.pk}").json()["made_from"] is None
        rows = program.get("image-sets/other/images").json()["results"]
        assert [row["made_from"] for row in rows if row["id"] == job.image_id] == [told]
        assert {row["made_from"]["strength"] for row in rows} == {0.25, 0.5, 1.0}

    def test_a_list_of_images_needs_no_query_for_each(self, program, face_set):
        faces.made(faces.plan(face_set, into="other"))
        counts = []
        program.get("image-sets/other")  # notes when the token was used
        for limit in (2, 9):
            with CaptureQueriesContext(connection) as queries:
                program.get(f"image-sets/other/images?limit={limit}")
            counts.append(len(queries))
        assert counts[0] == counts[1]

    @pytest.mark.parametrize(
        ("changed", "field"),
        [
            ({"initial": ""}, "initial"),
            ({"prompts": "detection"}, "initial"),
            ({"strengths": [0.5, 0.2]}, "strengths"),
            ({"strengths": []}, "strengths"),
            ({"initial": "nothing"}, "initial"),
        ],
    )
    def test_what_the_form_refuses_is_refused(self, program, changed, field):
        answer = program.post("runs", {**PLAN, **changed})
        assert answer.status_code == 422
        assert field in str(answer.json())
