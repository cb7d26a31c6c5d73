"""Planning on the page, by the command and by the API."""

import csv
import io
import json
from dataclasses import replace

import numpy as np
import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from annotation.setup import services
from metrics.planning import queries
from metrics.planning.simulation import Design
from metrics.planning.stats import Assumptions
from tests import factories
from tests.metrics.planning.piloted import simulated, stored

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("few_studies")]
QUICK = {"measures": ["l_stereo"], "images": 10, "annotators": 6}
PILOT = Assumptions(Design(images=8, people=6, overlap=3), stereotypical=3, others=3)


@pytest.fixture
def study(lead):
    return factories.study(leads=[lead], title="What maps show")


def page_of(client, study, **data):
    return client.get(reverse("plan_study", args=[study.name]), {**QUICK, **data})


def test_the_page_is_filled_in_and_says_what_to_expect(client, study):
    page = client.get(reverse("plan_study", args=[study.name]))
    text = page.content.decode()
    for words in (
        "What maps show",
        "Half of its 95 % interval",
        "power, p below 0.05",
        "For a preregistration",
    ):
        assert words in text
    assert page.context["result"].studies == (20, 5)
    assert "±" in text


@pytest.mark.usefixtures("undrawn")
def test_the_numbers_of_a_draft_are_filled_in(client, lead):
    study = stored(simulated(PILOT, 0), leads=[lead])
    pictures = factories.images([1, 2, 3, 4], group_name="Indian")
    factories.page_units(study.tasks.get(), [(picture, ["word 1"]) for picture in pictures])
    form = page_of(client, study, images="").context["form"]
    assert form["overlap"].value() == 3
    form = client.get(reverse("plan_study", args=[study.name])).context["form"]
    # 8 images of one group, 4 of the other
    assert (form["groups"].value(), form["images"].value()) == (2, 6)


@pytest.mark.usefixtures("undrawn")
def test_numbers_of_a_study_beyond_the_limits_of_the_form_are_limited(client, study):
    factories.task(study, kind="depiction", strata=("any",) * 25, page_size=1)
    page = client.get(reverse("plan_study", args=[study.name]), {"measures": ["l_stereo"]})
    assert page.status_code == 200
    found = {name: page.context["form"][name].value() for name in ("overlap", "annotators", "page_size")}
    assert found == {"overlap": 20, "annotators": 20, "page_size": 2}
    assert client.get(f"/api/v1/studies/{study.name}/plan", {"measures": "l_stereo"}).status_code == 200


@pytest.mark.usefixtures("undrawn")
def test_a_study_that_is_only_being_set_up_can_be_planned_by_who_sets_it_up(client):
    maker = factories.user(lead=True)
    document = {"title": "Soon", "tasks": [{"kind": "depiction", "strata": ["any"] * 4, "page_size": 7}]}
    services.save(user=maker, name="soon", document=document)
    url = reverse("plan_study", args=["soon"])
    client.force_login(factories.user(lead=True))
    assert client.get(url).status_code == 404
    client.force_login(maker)
    page = client.get(url, QUICK)
    assert page.context["form"]["overlap"].value() == 4
    assert page.context["form"]["page_size"].value() == 7
    assert url in client.get(reverse("setup_step", args=["soon", "source"])).content.decode()


@pytest.mark.usefixtures("undrawn")
def test_a_pilot_fills_in_the_assumptions_and_is_named(client, lead):
    study = stored(simulated(PILOT, 0), leads=[lead], title="The pilot")
    page = page_of(client, study, pilot=study.name)
    estimates = page.context["pilot"].estimates
    assert (estimates.images, estimates.annotators, estimates.answers) == (8, 6, 24)
    assert (estimates.stereotypical, estimates.others) == (3, 3)
    assert page.context["form"]["of_people"].value() == round(estimates.of_people, 3)
    assert page.context["form"]["seconds"].value() == 1.5
    assert "Estimated from the study “The pilot”" in page.context["paragraph"]
    text = client.get(next(url for name, url in page.context["files"] if name == "txt")).content.decode()
    assert text == page.context["paragraph"]


@pytest.mark.usefixtures("undrawn")
def test_the_images_of_a_group_are_at_least_those_that_the_form_asks_for(client, lead):
    study = stored(simulated(Assumptions(Design(images=2, people=3, overlap=3)), 0), leads=[lead])
    assert client.get(reverse("plan_study", args=[study.name])).context["form"]["images"].value() == 3


def test_of_a_large_pilot_the_first_groups_with_enough_answers_are_read(lead, monkeypatch):
    study = stored(simulated(PILOT, 0), leads=[lead])
    frames = list(queries.read_depiction(study, by_response=True)) * 3
    monkeypatch.setattr(queries, "read_depiction", lambda *_, **__: iter(frames))
    for most, groups in ((24, 1), (25, 2), (1000, 3)):
        monkeypatch.setattr(queries, "_MOST_ANSWERS", most)
        assert queries.read_pilot(study).estimates.groups == groups


@pytest.mark.usefixtures("undrawn")
def test_what_a_pilot_fills_in_is_within_the_limits_of_the_form(client, lead, monkeypatch):
    study = stored(simulated(PILOT, 0), leads=[lead])
    found = queries.read_pilot(study)
    large = replace(found.estimates, stereotypical=130, others=101, apart=4.0)
    monkeypatch.setattr(queries, "read_pilot", lambda study: replace(found, estimates=large))
    page = page_of(client, study, pilot=study.name)
    values = [page.context["form"][name].value() for name in ("stereotypical", "others", "apart")]
    assert values == [100, 100, 3]
    assert client.get(page.context["urls"]["json"]).status_code == 200


def test_a_pilot_that_is_too_small_or_nobodys_or_another_teams_is_refused(client, study, lead):
    unknown = stored(simulated(PILOT, 0), identified=False, leads=[lead])
    small = stored(simulated(Assumptions(Design(images=3, people=3)), 0), leads=[lead])
    theirs = stored(simulated(PILOT, 1))
    for pilot, message in (
        (unknown, "not identified"),
        (small, "at least 5 images"),
        (theirs, "not one of the available choices"),
    ):
        page = page_of(client, study, pilot=pilot.name)
        assert page.status_code == 422
        assert message in page.content.decode()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"overlap": 8}, "cannot be judged by 8 of 6"),
        ({"l_stereo": "x"}, "Enter a number"),
        ({"agreement": 0.001}, "is not possible here"),
        ({"measures": ["alpha"], "images": 2000, "overlap": 6}, "too large"),
    ],
)
def test_what_cannot_be_planned_is_explained(client, study, data, message):
    page = page_of(client, study, **data)
    assert page.status_code == 422
    summary = page.content.decode().partition('role="alert"')[2].partition("</div>")[0]
    form = page.context["form"]
    assert all(f'<a href="#id_{field.name}">{field.label}</a>' in summary for field in form if field.errors)
    assert all(error in summary for error in form.non_field_errors())
    assert message in page.content.decode()
    assert client.get(reverse("plan_file", args=[study.name, "csv"]), {**QUICK, **data}).status_code == 404


@pytest.mark.usefixtures("undrawn")
def test_files_and_figure(client, study):
    page = page_of(client, study, agreement=0.3)
    table = client.get(next(url for name, url in page.context["files"] if name == "csv"))
    rows = list(csv.DictReader(io.StringIO(table.content.decode())))
    assert rows[0]["varied"] == "chosen"
    assert float(rows[0]["l_stereo_half_width"]) == page.context["result"].chosen.values["l_stereo"]
    spec = json.loads(client.get(page.context["urls"]["json"]).content)
    assert len(spec["vconcat"]) == 1
    assert len(spec["vconcat"][0]["hconcat"]) == 3
    assert client.get(reverse("plan_file", args=[study.name, "exe"]), QUICK).status_code == 404


@pytest.mark.usefixtures("undrawn")
def test_the_api_says_the_same_as_the_page(client, study):
    page = page_of(client, study)
    address = f"/api/v1/studies/{study.name}/plan"
    asked = {**QUICK, "measures": "l_stereo"}
    found = client.get(address, asked).json()
    assert found["paragraph"] == page.context["paragraph"]
    assert found["rows"][0]["l_stereo_half_width"] == page.context["result"].chosen.values["l_stereo"]
    assert client.get(f"{address}/figure/csv", asked).content.startswith(b"varied,")
    for refused in ({"overlap": 9}, {"measures": "luck"}, {"pilot": "nosuch"}):
        assert client.get(address, {**asked, **refused}).status_code == 422
    assert client.get(address, {**asked, "images": 0}).status_code == 400
    assert client.get(f"{address}/figure/exe", asked).status_code == 404


def test_the_command_prints_and_writes_the_same(tmp_path, capsys):
    study = stored(simulated(PILOT, 0), name="first")
    text, table = tmp_path / "plan.txt", tmp_path / "plan.csv"
    options = {"pilot": study.name, "measures": "l_stereo,theta", "studies": 20, "text": text, "csv": table}
    call_command("plan", set=["images=12", "annotators=8", "seed=4"], **options)
    printed = capsys.readouterr().out
    assert text.read_text() in printed
    assert "seed 4" in text.read_text()
    assert "20 simulated studies" in text.read_text()
    first = next(csv.DictReader(io.StringIO(table.read_text())))
    assert (first["images"], first["annotators"]) == ("12", "8")
    assert np.isfinite(float(first["theta_factor"]))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"set": ["size=3"]}, "There is no size"),
        ({"set": ["pilot=first"]}, "There is no pilot"),
        ({"set": ["images"]}, "NAME=VALUE"),
        ({"set": ["overlap=20"]}, "cannot be judged"),
        ({"pilot": "nosuch"}, "no study 'nosuch'"),
        ({"studies": 0}, "at least 1"),
    ],
)
def test_the_command_refuses_in_words(options, message):
    with pytest.raises(CommandError, match=message):
        call_command("plan", **options)


@pytest.mark.usefixtures("undrawn")
def test_simulated_answers_of_a_pilot_are_marked(client, lead):
    study = stored(simulated(PILOT, 0), leads=[lead], simulated=True)
    page = page_of(client, study, pilot=study.name)
    assert "simulated answers" in page.context["paragraph"]
