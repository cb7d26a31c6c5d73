"""The pages and the API of visual questions."""

from __future__ import annotations

import re

import pytest
from django.urls import reverse

from annotation.models import IdentityGroup
from generation.models import Run, RunState
from metrics.visual_questions.figures import question_figure
from metrics.visual_questions.queries import results
from tests import factories
from tests.annotation.api.calls import Program
from tests.generation.image_sets import world
from tests.metrics.visual_questions import asked
from tests.metrics.visual_questions.asked import AMERICAN, COUNTRY

pytestmark = [pytest.mark.django_db, pytest.mark.pages]
NEW = reverse("new_visual_questions")
LIST = reverse("visual_questions")


@pytest.fixture
def run():
    made = asked.a_run("faces", AMERICAN, COUNTRY)
    asked.fill(made, {"White": {"yes": 3}, "Asian": {"yes": 1, "no": 2, "=who?": 1}})
    asked.fill(made, {"White": {"france": 3}, "Asian": {"japan": 4}}, question=1)
    return made


@pytest.fixture
def reader(client):
    """The lead of a study, who may not set one up."""
    lead = factories.lead_of("faces-faces", "faces-asked")
    client.force_login(lead)
    return lead


@pytest.fixture
def maker(client):
    made = factories.user(lead=True)
    client.force_login(made)
    return made


def page(client, run, **query) -> str:
    answer = client.get(reverse("visual_question_run", args=[run.pk]), query)
    assert answer.status_code == 200
    return answer.content.decode()


def test_the_page_shows_table_sentence_figure_and_published_numbers(client, run, reader):
    text = page(client, run)
    assert "100.0 % of the images of “White” and for 25.0 % of the images of “Asian”" in text
    assert "White 96.7 %, Black 68.5 %, Latina/o 61.1 %, Asian 2.8 %" in text
    assert "10.1145/3514094.3534136" in text
    assert "says nothing about the person" in text
    assert "other answers" in text
    assert "made elsewhere" in text
    assert "\0" not in text
    [picture] = re.findall(r'<img src="(/visual-questions/[^"]+)"', text)
    drawn = client.get(picture.replace("&amp;", "&"))
    assert drawn["Content-Type"] == "image/svg+xml"
    assert f"/runs/{run.pk}/answers" not in text


def test_another_question_has_no_published_numbers(client, run, reader):
    text = page(client, run, question="country")
    assert 'id="one" lang="en" dir="auto">Which country' in text
    assert "96.7" not in text
    csv = client.get(reverse("visual_question_figure", args=[run.pk, "csv"]), {"question": "country"})
    assert "france" in csv.content.decode()
    assert "attachment" in client.get(f"{csv.request['PATH_INFO']}?download")["Content-Disposition"]
    assert 'dir="auto">Is this person' in page(client, run, question="none")


def test_a_maker_reads_the_answers_of_a_group(client, run, maker):
    text = page(client, run)
    links = re.findall(r'href="(/[^"]+/answers/\?key=[^"]+)"', text)
    assert len(links) == 2
    answers = client.get(links[0]).content.decode()
    assert "=who?" in answers
    assert "japan" not in answers
    assert "france" not in answers


def test_what_is_drawn_depends_on_the_number_of_answers_and_groups():
    two, many = asked.a_run("two"), asked.a_run("many", COUNTRY)
    asked.fill(two, {"White": {"yes": 1, "no": 1}, "Asian": {"no": 2}})
    asked.fill(many, {"White": {f"c{n}": 1 for n in range(5)}, "Asian": {"c0": 1}})

    def rows(run):
        [found] = results(run, resamples=0)
        return [(row[0], row[2], row[6], row[7]) for row in question_figure(run, found).rows]

    assert rows(two) == [("Asian", "yes", 0, 2), ("White", "yes", 1, 2)]
    assert rows(many)[:3] == [("c0", "Asian", 1, 1), ("c0", "White", 1, 5), ("c1", "Asian", 0, 1)]
    asked.fill(many, {f"Group {n}": {"c0": 1} for n in range(9)})
    assert {row[1] for row in rows(many)} == {"c0"}
    asked.fill(two, {"White": {"maybe": 1, "": 1}})
    answers = ("yes", "no", "other answers", "empty answers")
    assert [row[:2] for row in rows(two)] == [
        (group, answer) for group in ("Asian", "White") for answer in answers
    ]
    IdentityGroup.objects.filter(name="White").update(axis="other")
    IdentityGroup.objects.filter(name="Asian").update(name="White")
    assert [row[0] for row in rows(two)] == ["White (nationality)"] * 4 + ["White (other)"] * 4
    asked.fill(two, {f"Group {n}": {"no": 1} for n in range(9)})
    assert {row[1] for row in rows(two)} == {*answers}


@pytest.mark.parametrize(
    ("times", "kind", "interval"), [(1, "images", " after Wilson."), (2, "answers", ", clustered by image.")]
)
def test_a_figure_says_what_it_counts(times, kind, interval):
    run = asked.a_run(times=times)
    asked.fill(run, {"White": {"yes": 1}})
    [found] = results(run, resamples=10)
    figure = question_figure(run, found)
    assert f"share of {kind} with the answer “yes”" in str(figure.spec)
    assert f"'{kind.capitalize()}'" in str(figure.spec)
    assert interval in figure.notes[0]
    [row] = figure.rows
    shown = dict(zip(figure.columns, row, strict=True))
    assert [shown[end] is None for end in ("low", "high")] == [times > 1] * 2, "one image has no interval"


def test_simulated_runs_are_marked(client, reader):
    run = asked.a_run("made up", backend="fake", image_set=factories.image_set("faces-asked"))
    asked.fill(run, {"White": {"yes": 1}})
    assert "simulated answers" in page(client, run)
    shown = client.get(reverse("visual_question_run", args=[run.pk])).context
    assert shown["sentence"] == "The model answered “yes” for 100.0 % of the images of “White”."
    told = client.get(f"/api/v1/visual-question-runs/{run.pk}").json()
    assert (told["simulated"], told["questions"][0]["p_value"]) == (True, None)
    assert "simulated answers" in client.get(LIST).content.decode()
    svg = client.get(reverse("visual_question_figure", args=[run.pk, "svg"])).content.decode()
    assert "simulated answers" in svg


def test_without_answers_there_is_nothing_to_draw(client, reader):
    run = asked.a_run()
    assert "No answer yet" in page(client, run)
    assert "Is this person an American?" in page(client, run)
    assert client.get(reverse("visual_question_figure", args=[run.pk, "svg"])).status_code == 404


def test_other_runs_figures_and_people_are_not_there(client, run, reader):
    assert client.get(reverse("visual_question_run", args=[run.pk + 1])).status_code == 404
    assert client.get(reverse("visual_question_figure", args=[run.pk, "exe"])).status_code == 404
    assert client.get(NEW).status_code == 404
    assert NEW not in client.get(LIST).content.decode()
    Run.objects.filter(pk=run.pk).update(recipe={**run.recipe, "design": {}})
    assert client.get(reverse("visual_question_run", args=[run.pk])).status_code == 404
    client.force_login(factories.user())
    for address in (LIST, NEW, reverse("visual_question_run", args=[run.pk])):
        assert client.get(address).status_code == 404


def form(of_set, **changes) -> dict[str, str]:
    data = {"image_set": of_set.name, "questions": "Is it?\nWho is it?", "times": "1", "backend": "fake"}
    model = {"temperature": "0", "top_p": "1", "max_tokens": "20", "dtype": "auto", "chat": "on"}
    return {**data, **model, "name": "asked", **changes}


def test_from_the_preview_to_the_run(client, maker):
    image_set = world.made(world.pictures("Asian", "White")).image_set
    shown = client.get(NEW, {"set": image_set.name}).content.decode()
    assert "Is this person an American?" in shown
    assert f'<option value="{image_set.name}" selected>' in shown
    preview = client.post(NEW, form(image_set)).content.decode()
    number = 2 * image_set.images.count()
    assert f"Start: {number} askings" in preview
    assert preview.count("<li>Is it?</li>") == preview.count("<li>Who is it?</li>") == 1
    assert not Run.objects.filter(name="asked").exists()
    [fingerprint] = re.findall(r'name="fingerprint" value="([0-9a-f]+)"', preview)
    limits = {"token_limit": "30", "cost_limit": "4", "price_in": "5", "price_out": "6"}
    started = client.post(NEW, form(image_set, start="1", fingerprint=fingerprint, **limits))
    run = Run.objects.get(name="asked")
    assert [run.limits[name] for name in ("tokens", "cost", "price_in", "price_out")] == [30, 4, 5, 6]
    assert started.headers["Location"] == reverse("visual_question_run", args=[run.pk])
    assert (run.jobs.count(), run.created_by) == (number, maker)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"questions": ""}, "This field is required"),
        ({"questions": '[[question]]\nname = "a"'}, "question 1 (&#x27;a&#x27;): text"),
        ({"image_set": "nothing"}, "Select a valid choice"),
        ({"temperature": "3"}, "less than or equal to 2"),
        ({"options": "bies=1"}, "here is no &#x27;bies&#x27;"),
    ],
)
def test_a_plan_that_is_refused_says_why(client, maker, change, said):
    image_set = world.made(world.pictures("Asian")).image_set
    answer = client.post(NEW, form(image_set, **change))
    assert answer.status_code == 422
    assert said in answer.content.decode()


def test_pages_ask_as_many_queries_for_more_rows(client, maker, django_assert_max_num_queries):
    small, large = asked.a_run("small"), asked.a_run("large", AMERICAN, COUNTRY)
    asked.fill(small, {"White": {"yes": 1}})
    asked.fill(large, {f"Group {number}": {"yes": 2, "no": 1} for number in range(9)})
    counts = []
    for run in (small, large):
        with django_assert_max_num_queries(100) as found:
            page(client, run)
        counts.append(len(found))
    assert counts[0] == counts[1] <= 14
    for number in range(3):
        with django_assert_max_num_queries(12):
            client.get(LIST)
        asked.a_run(f"more-{number}")


def test_the_api_reads_what_the_pages_show(run):
    program = Program(factories.user(lead=True))
    listed = program.get("visual-question-runs").json()["results"]
    assert [(one["name"], one["jobs"]["done"]) for one in listed] == [("faces", 14)]
    found = program.get(f"visual-question-runs/{run.pk}").json()
    assert found["run"]["image_set"] == "faces-faces"
    assert found["simulated"] is False
    first = found["results"][0]
    assert (first["question"], first["group"], first["answer"], first["n"], first["k"]) == (
        "american",
        "Asian",
        "yes",
        4,
        1,
    )
    assert first["low"] < first["share"] == 0.25 < first["high"]
    assert [(one["question"], one["groups"], one["method"]) for one in found["questions"]] == [
        ("american", 2, "permutation"),
        ("country", 2, "permutation"),
    ]
    assert all(0 < one["p_value"] <= one["q_value"] <= 1 for one in found["questions"])
    figure = f"visual-question-runs/{run.pk}/figure"
    country = program.get(f"{figure}/csv?question=country")
    assert "japan" in country.content.decode()
    assert "faces-country.csv" in country["Content-Disposition"]
    assert "yes" in program.get(f"{figure}/csv").content.decode()
    assert program.get(f"{figure}/exe").status_code == 404
    assert program.get(f"{figure}/csv?question=none").status_code == 409


def test_the_api_plans_what_the_form_plans():
    image_set = world.made(world.pictures("Asian", "White")).image_set
    program = Program(factories.user(lead=True))
    body = {"image_set": image_set.name, "backend": "fake", "questions": "Is it?", "options": {"bias": 0.9}}
    dry = program.post("visual-question-runs?dry_run=true", body)
    assert (dry.status_code, dry.json()["total"]) == (200, image_set.images.count())
    planned = program.post("visual-question-runs", {**body, "name": "asked"})
    assert planned.status_code == 201
    run = Run.objects.get(pk=planned.json()["run"])
    assert (run.state, run.recipe["temperature"], run.recipe["options"]) == (
        RunState.PLANNED,
        0,
        {"bias": 0.9},
    )
    assert program.post("visual-question-runs", {**body, "name": "asked", "times": 2}).status_code == 422
    assert program.post("visual-question-runs", {**body, "questions": "[[question]]"}).status_code == 422
    assert program.post("visual-question-runs", {**body, "prompts": ["x"]}).status_code == 400
    lead = factories.user()
    factories.study(leads=[lead])
    assert Program(lead).post("visual-question-runs", body).status_code == 404
