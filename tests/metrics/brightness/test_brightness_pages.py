"""The pages and the API of brightness: who sees them, what they show, and from the preview to the numbers."""

from __future__ import annotations

import io
import re

import pytest
from django.urls import reverse
from PIL import Image as PillowImage

from annotation.images import files as image_files
from generation.jobs.services import loaded_model, work
from generation.models import Answer, Run, RunState
from metrics.brightness import data, queries, services
from tests import factories
from tests.annotation.api.calls import Program
from tests.metrics.brightness import measured

pytestmark = pytest.mark.django_db
NEW = reverse("new_brightness")


@pytest.fixture
def run():
    return measured.a_run("measured", {"White": [200, 210, 190], "Asian": [100, 110, 120]})[0]


@pytest.fixture
def reader(client):
    """The lead of a study, who may not set one up."""
    lead = factories.lead_of("measured-set", "initial", "made")
    client.force_login(lead)
    return lead


@pytest.fixture
def maker(client):
    made = factories.user(lead=True)
    client.force_login(made)
    return made


def page(client, run) -> str:
    return client.get(reverse("brightness_run", args=[run.pk])).content.decode()


def files(name: str, *colours: tuple[int, int, int]) -> None:
    """A set of images, each of one colour, with files."""
    for index, colour in enumerate(colours, start=1):
        content = io.BytesIO()
        PillowImage.new("RGB", (32, 32), colour).save(content, "PNG")
        file, sha256 = image_files.store(content.getvalue())
        factories.image(image_set=factories.image_set(name), index=index, file=file, sha256=sha256)


@pytest.fixture
def pairs(monkeypatch):
    """An initial set, and one that was made of it."""
    initial, before = measured.a_run("before", {"White": [100, 120, 100, 120]}, image_set="initial")
    changed, after = measured.a_run("after", {"White": [130, 150, 130, 150]}, image_set="made")
    of = {made.pk: (one.pk, 0.5, 1) for made, one in zip(after["White"], before["White"], strict=True)}
    monkeypatch.setattr(data, "initial_images", lambda image_set: of if image_set.name == "made" else {})
    return initial, changed


def test_the_page_shows_the_sentence_the_numbers_the_limits_and_the_figure(client, run, reader):
    text = page(client, run)
    assert "Images of White are the brightest on average (200.0 of 255), images of Asian the darkest" in text
    assert "Their intervals do not overlap." in text
    assert "in 6 of 6 images" in text
    assert "RGB brightness is no measure of skin tone." in text
    assert "L* and ITA have no intervals: they describe skin in some images and whole crops in others" in text
    assert "a licence of their owner" in text
    assert "drawn, no model" not in text
    listed = client.get(reverse("brightness")).context["rows"]
    assert [(row.run, crop) for row, crop in listed] == [(run, "published")]
    [picture] = re.findall(r'<img src="(/brightness/[^"]+)"', text)
    svg = client.get(picture)
    assert svg.headers["Content-Type"] == "image/svg+xml"
    assert b"Mean brightness" in svg.content
    csv = client.get(reverse("brightness_figure", args=[run.pk, "csv"]), {"download": ""})
    assert csv.headers["Content-Disposition"] == 'attachment; filename="measured-brightness.csv"'
    assert csv.content.decode().splitlines()[0] == "group,brightness,low,high,n"


@pytest.mark.usefixtures("undrawn")
def test_which_region_was_measured_and_why_is_said(client, run, reader):
    measured.add_image(run, "White", 200, region="crop", note="OpenCV is not installed", ita=None)
    measured.add_image(run, "Asian", 200, note="<new>")
    text = page(client, run)
    assert "1 image: &lt;new&gt;." in text
    assert "in 7 of 8 images, and of the crop in the others" in text
    assert "1 image: OpenCV was not installed on the worker." in text
    assert "(3 images)" in text


def test_drawn_images_are_marked(client, run, reader):
    run.image_set.drawn = True
    run.image_set.save()
    run.recipe["options"]["faces"] = False
    run.save()
    assert "<dt>Look for faces</dt><dd>no</dd>" in page(client, run)
    for address in (reverse("brightness_run", args=[run.pk]), reverse("brightness")):
        assert "drawn, no model" in client.get(address).content.decode()
    assert b"drawn images" in client.get(reverse("brightness_figure", args=[run.pk, "svg"])).content


def test_the_change_is_shown_over_the_strength(client, pairs, reader):
    initial, changed = pairs
    text = page(client, changed)
    assert (
        "Images of “White” at strength 0.50 are clearly brighter than the images they were made from: 27.3 %"
        in text
    )
    assert "Change, %" in text
    assert f'href="{reverse("brightness_run", args=[initial.pk])}"' in text
    svg = client.get(reverse("brightness_figure", args=[changed.pk, "svg"])).content
    assert b"Strength of the change" in svg
    for kind in ("png", "pdf", "json"):
        assert client.get(reverse("brightness_figure", args=[changed.pk, kind])).status_code == 200


@pytest.mark.usefixtures("undrawn")
def test_what_to_measure_first_is_said_with_a_link(client, pairs, maker):
    initial, changed = pairs
    link = f"{NEW}?set=initial&amp;crop=published"
    assert link not in page(client, changed)
    initial.answers.all().delete()
    text = page(client, changed)
    assert "measure also the images that these were made from" in text
    assert link in text
    form = client.get(link.replace("&amp;", "&")).content.decode()
    assert '<option value="initial" selected>' in form
    assert '<option value="published" selected>' in form
    own = client.get(NEW, {"set": "initial", "crop": "0.1,0.2,0.3,0.4"}).content.decode()
    assert 'value="0.1,0.2,0.3,0.4"' in own
    assert '<option value="own" selected>' in own


@pytest.mark.usefixtures("undrawn")
def test_images_whose_initial_image_is_not_measured_are_counted(client, pairs, reader):
    initial, changed = pairs
    initial.answers.last().delete()
    assert "1 image is not compared" in page(client, changed)


@pytest.mark.usefixtures("undrawn")
def test_initial_sets_that_an_account_may_not_see_are_not_named(client, pairs):
    initial, changed = pairs
    lead = factories.lead_of("made")
    client.force_login(lead)
    text = page(client, changed)
    assert "27.3 %" in text
    assert "before" not in re.findall(r"<a [^>]*>([^<]*)</a>", text)
    initial.answers.all().delete()
    assert "“initial”" not in page(client, changed)
    assert Program(lead).get(f"brightness-runs/{changed.pk}").json()["missing"] == []
    maker = factories.user(lead=True)
    assert Program(maker).get(f"brightness-runs/{changed.pk}").json()["missing"] == ["initial"]


def test_a_run_without_a_measurement_and_one_with_other_answers(client, run, reader):
    Answer.objects.filter(run=run).update(text="{}")
    assert "is no measurement" in page(client, run)
    figure = reverse("brightness_figure", args=[run.pk, "svg"])
    assert client.get(figure).status_code == 404
    run.answers.all().delete()
    assert "Nothing is measured yet" in page(client, run)
    assert client.get(figure).status_code == 404
    assert client.get(reverse("brightness_figure", args=[run.pk, "exe"])).status_code == 404
    assert client.get(reverse("brightness_run", args=[run.pk + 1])).status_code == 404


def test_annotators_see_none_of_it(client, run):
    client.force_login(factories.user())
    for name, *arguments in (
        ("brightness",),
        ("brightness_run", run.pk),
        ("brightness_figure", run.pk, "svg"),
        ("new_brightness",),
    ):
        assert client.get(reverse(name, args=arguments)).status_code == 404


def test_a_lead_who_may_not_set_up_studies_reads_but_does_not_measure(client, run, reader):
    text = client.get(reverse("brightness")).content.decode()
    assert "measured" in text
    assert NEW not in text
    assert client.get(NEW).status_code == 404
    assert client.post(NEW).status_code == 404
    assert NEW not in page(client, run)


def form(**changes) -> dict[str, str]:
    return {"image_set": "grey", "crop": "whole", "own_crop": "", "faces": "on", "name": "", **changes}


def test_from_the_preview_to_the_numbers(client, maker, monkeypatch):
    monkeypatch.setattr(loaded_model, "_loaded", [])
    files("grey", (10, 20, 30), (205, 150, 120))
    preview = client.post(NEW, form()).content.decode()
    assert not Run.objects.exists()
    assert "Start: 2 images" in preview
    assert "graphics card" not in preview
    [fingerprint] = re.findall(r'name="fingerprint" value="([0-9a-f]+)"', preview)
    unseen = client.post(NEW, form(start="1", fingerprint="0" * 32))
    assert "The preview has changed" in unseen.content.decode()
    started = client.post(NEW, form(start="1", fingerprint=fingerprint))
    run = Run.objects.get()
    assert started.headers["Location"] == reverse("brightness_run", args=[run.pk])
    assert (run.created_by, run.name[:16]) == (maker, "grey-brightness-")
    while work.work(run_id=run.pk):
        pass
    run.refresh_from_db()
    assert (run.state, run.made_with[0]["model"]) == (RunState.DONE, "brightness")
    [row] = queries.results(run, resamples=0).rows
    assert row.rgb.value == pytest.approx((20 + 475 / 3) / 2, abs=1e-3)
    assert (row.n, row.faces, row.with_ita) == (2, 0, 1)
    text = page(client, run)
    assert "2 images: no face was found." in text
    assert "Everything is already planned or made." in client.post(NEW, form()).content.decode()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"image_set": "nobody"}, "Select a valid choice"),
        ({"crop": "own"}, "is no crop"),
        ({"crop": "own", "own_crop": "0,0,2,2"}, "lies outside the image"),
        ({"own_crop": "0,0,1,1"}, "or leave this empty"),
        ({"crop": "own", "own_crop": "0" * 81}, "at most 80 characters"),
        ({"name": "no name"}, "Enter a valid"),
        ({"image_set": "empty"}, "holds no image yet"),
    ],
)
def test_a_plan_that_is_refused_says_why(client, maker, change, said):
    files("grey", (1, 2, 3))
    factories.image_set("empty")
    answer = client.post(NEW, form(**change))
    assert answer.status_code == 422
    assert said in answer.content.decode()
    assert not Run.objects.exists()


def test_images_without_a_file_are_left_out_and_said(client, maker):
    files("grey", (1, 2, 3))
    for name in ("grey", "another"):
        factories.image(image_set=factories.image_set(name), index=9)
    text = client.post(NEW, form()).content.decode()
    assert "Start: 1 image" in text
    assert "Images without a file in this installation, which are left out: 1." in text


def test_one_crop_written_in_two_ways_is_one_run(client, maker):
    files("grey", (1, 2, 3))
    names = set()
    for crop in ("0.25,0.25,0.5,0.5", " .25, 0.250,.5 , 0.50"):
        shown = client.post(NEW, form(crop="own", own_crop=crop))
        names.add(shown.context["preview"].plan.name)
    assert len(names) == 1


def test_a_run_has_the_name_that_was_written(client, maker):
    files("grey", (1, 2, 3))
    plan = client.post(NEW, form(name="mine")).context["preview"].plan
    assert plan.name == "mine"
    assert not plan.notes
    longest = factories.image_set("x" * 80)
    factories.image(image_set=longest, file="a.png", sha256="0" * 64)
    named = services.plan_brightness(image_set=longest, crop="whole", faces=False)
    assert (len(named.name), named.recipe.options["faces"]) == (80, False)


@pytest.mark.usefixtures("undrawn")
def test_pages_ask_as_many_queries_for_more_images(
    client, pairs, maker, monkeypatch, django_assert_max_num_queries
):
    _, changed = pairs
    with django_assert_max_num_queries(100) as few:
        page(client, changed)
    of = data.initial_images(changed.image_set)
    initial = data.brightness_runs().get(name="before")
    for number in range(5):
        one = measured.add_image(initial, f"Group {number}", 50)
        of[measured.add_image(changed, f"Group {number}", 60).pk] = (one.pk, 0.5, 1)
    with django_assert_max_num_queries(100) as more:
        page(client, changed)
    assert len(few) == len(more) <= 20


def test_the_list_asks_as_many_queries_for_more_runs(client, run, maker, django_assert_max_num_queries):
    with django_assert_max_num_queries(100) as few:
        client.get(reverse("brightness"))
    for number in range(3):
        measured.empty_run(f"more{number}", image_set=f"set{number}")
    with django_assert_max_num_queries(100) as more:
        client.get(reverse("brightness"))
    assert len(few) == len(more) <= 12


def test_the_api_reads_what_the_pages_show(pairs):
    initial, changed = pairs
    program = Program(factories.user(lead=True))
    listed = program.get("brightness-runs").json()["results"]
    assert [(one["name"], one["jobs"]["done"]) for one in listed] == [("after", 4), ("before", 4)]
    found = program.get(f"brightness-runs/{changed.pk}").json()
    [row] = found["results"]
    assert (found["crop"], found["made"], found["missing"], found["drawn"]) == ("published", 4, [], False)
    assert (row["group"], row["strength"], row["rgb"], row["compared"]) == ("White", 0.5, 140, 4)
    assert (row["lightness"], row["ita"], row["with_ita"], row["faces"]) == (60, 30, 4, 4)
    assert row["rgb_low"] < 140 < row["rgb_high"]
    assert found["not_compared"] == 0
    assert row["change"] == pytest.approx(100 * 30 / 110)
    assert row["change_low"] <= row["change"] <= row["change_high"]
    [row] = program.get(f"brightness-runs/{initial.pk}").json()["results"]
    assert (row["change"], row["strength"]) == (None, None)
    assert (row["n"], row["compared"]) == (4, 0)
    for rgb in (100, 120):
        more = {"region": "crop", "note": "no face found", "ita": None}
        measured.add_image(initial, "White", rgb, **more)
    found = program.get(f"brightness-runs/{initial.pk}").json()
    [row] = found["results"]
    assert found["notes"] == [{"note": "no face found", "images": 2}]
    assert (row["n"], row["faces"], row["with_ita"]) == (6, 4, 4)
    assert program.get(f"brightness-runs/{changed.pk}/figure/csv").status_code == 200
    assert program.get(f"brightness-runs/{changed.pk}/figure/exe").status_code == 404
    Answer.objects.filter(run=changed).update(text="no")
    assert program.get(f"brightness-runs/{changed.pk}").status_code == 409
    Answer.objects.filter(run=changed).delete()
    assert program.get(f"brightness-runs/{changed.pk}/figure/csv").status_code == 409


def test_the_api_plans_what_the_form_plans():
    files("grey", (1, 2, 3), (4, 5, 6))
    program = Program(factories.user(lead=True))
    body = {"image_set": "grey", "crop": "0.4, 0.3, 0.6, 0.4", "faces": False}
    dry = program.post("brightness-runs?dry_run=true", body)
    assert (dry.status_code, dry.json()["total"], dry.json()["run"]) == (200, 2, None)
    planned = program.post("brightness-runs", body)
    assert planned.status_code == 201
    run = Run.objects.get(pk=planned.json()["run"])
    assert (run.state, run.jobs.count()) == (RunState.PLANNED, 2)
    assert run.recipe["options"] == {"crop": "0.4,0.3,0.6,0.4", "faces": False}
    plain = program.post("brightness-runs", {"image_set": "grey"})
    assert Run.objects.get(pk=plain.json()["run"]).recipe["options"] == {"crop": "published", "faces": True}
    assert program.post("brightness-runs", {**body, "crop": "nose"}).status_code == 422
    assert program.post("brightness-runs", {**body, "bogus": 9}).status_code == 400
    lead = factories.user()
    factories.study(leads=[lead])
    assert Program(lead).post("brightness-runs", body).status_code == 404
