"""The pages and the API of inference models: who sees them, what they show, and from the preview to a run."""

from __future__ import annotations

import csv
import io
import re

import pytest
from django.core.management import call_command
from django.urls import reverse

from generation import backends
from generation.models import Answer, Run, RunState
from metrics.inference import views
from metrics.inference.forms import InferenceForm
from tests import factories
from tests.annotation.api.calls import Program
from tests.metrics.inference import answered
from tests.metrics.inference.test_inference_results import expected

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("model")]
NEW = reverse("new_inference")


@pytest.fixture
def run(tmp_path):
    answered.groups()
    return answered.imported(tmp_path)


@pytest.fixture
def reader(client):
    """The lead of a study, who may not set one up."""
    lead = factories.user()
    factories.study(leads=[lead])
    client.force_login(lead)
    return lead


@pytest.fixture
def maker(client):
    made = factories.user(lead=True)
    client.force_login(made)
    return made


@pytest.fixture
def source():
    found = factories.source("votes")
    for group, text in (("Mexican", "lazy"), ("Indian", "kind"), ("French", "rude")):
        factories.association(group_name=group, text=text, from_source=found)
    return found


def page(client, run, **query) -> str:
    return client.get(reverse("inference", args=[run.pk]), query).content.decode()


def test_the_page_shows_the_numbers_the_figure_and_the_sentences(client, run, reader):
    text = page(client, run)
    assert 'aria-current="true">Inference models</a>' in text
    assert "seegull-v2" in text
    assert "Latin America" in text
    assert f"{expected('seegull-v2', 'Latin America')['entailed_share']:.1%}".replace("%", " %") in text
    assert "A lazy person" in text
    assert "The truth of every pair is neutral" in text
    assert "made elsewhere" in text
    [picture] = re.findall(r'<img src="(/inference/[^"]+)"', text)
    svg = client.get(picture.replace("&amp;", "&"))
    assert svg.headers["Content-Type"] == "image/svg+xml"
    assert b"roberta-large-mnli" in svg.content


@pytest.mark.parametrize("shown", ["share", "mean_of_entailed", "mean_of_all"])
def test_each_number_can_be_drawn(client, run, reader, shown):
    assert f"show={shown}" in page(client, run, show=shown)
    found = client.get(reverse("inference_figure", args=[run.pk, "csv"]), {"show": shown, "download": ""})
    assert found.headers["Content-Disposition"] == f'attachment; filename="elsewhere-{shown}.csv"'
    rows = [row for row in csv.DictReader(io.StringIO(found.text)) if row["series"] == "random"]
    assert [row["region"] for row in rows] == ["all groups", "Latin America", "South Asia"]
    numbers = expected("random", "")
    entailed = round(numbers["entailed_share"] * numbers["n_pairs"])
    of = {"share": (entailed, numbers["n_pairs"]), "mean_of_entailed": ("", entailed)}
    assert (rows[0]["k"], rows[0]["n"]) == tuple(map(str, of.get(shown, ("", numbers["n_pairs"]))))
    of_default = client.get(reverse("inference_figure", args=[run.pk, "csv"]), {"show": "bogus"}).text
    assert (of_default == found.text) is (shown == "share")


def test_the_lists_can_be_narrowed(client, run, reader):
    narrowed = client.get(reverse("inference", args=[run.pk]), {"source": "random", "region": "South Asia"})
    assert {(row.source, row.region) for row in narrowed.context["groups"]} == {("random", "South Asia")}
    assert len(narrowed.context["groups"]) == narrowed.context["groups_in_all"] == 2
    below = narrowed.text.split('id="most"')[1]
    assert "A lazy person" not in below
    assert ">Nepali<" in below


def test_a_run_without_an_answer_and_one_without_an_entailment(client, run, reader):
    assert "No answer yet" not in page(client, run)
    Answer.objects.filter(run=run).update(text="neutral")
    Run.objects.filter(pk=run.pk).update(finished_at="2026-01-01T00:00:00Z")
    assert "no mean to draw" in page(client, run, show="mean_of_entailed")
    run.answers.all().delete()
    Run.objects.filter(pk=run.pk).update(state=RunState.PAUSED, backend="fake")
    text = page(client, run)
    assert "No answer yet" in text
    assert "simulated answers" in text
    assert client.get(reverse("inference_figure", args=[run.pk, "svg"])).status_code == 404


def test_labels_without_entailment_are_said_on_the_page(client, run, reader):
    Answer.objects.filter(run=run).update(probabilities={"yes": 1.0})
    assert "None of the model&#x27;s labels is entailment: yes" in page(client, run)


def test_other_runs_and_figures_are_not_there(client, run, reader):
    assert client.get(reverse("inference", args=[run.pk + 1])).status_code == 404
    assert client.get(reverse("inference_figure", args=[run.pk, "exe"])).status_code == 404
    Run.objects.filter(pk=run.pk).update(recipe={**run.recipe, "design": {}})
    assert client.get(reverse("inference", args=[run.pk])).status_code == 404


def test_annotators_see_none_of_it(client, run):
    client.force_login(factories.user())
    for name, *arguments in (
        ("inference_runs",),
        ("inference", run.pk),
        ("inference_figure", run.pk, "svg"),
        ("new_inference",),
    ):
        assert client.get(reverse(name, args=arguments)).status_code == 404


def test_a_lead_who_may_not_set_up_studies_reads_but_does_not_ask(client, run, reader):
    text = client.get(reverse("inference_runs")).content.decode()
    assert "elsewhere" in text
    assert NEW not in text
    assert client.get(NEW).status_code == 404
    assert client.post(NEW).status_code == 404


def form(**changes) -> dict[str, str]:
    data = {"source": "votes", "threshold": "2", "pool": "in", "baseline": "on", "seed": "0"}
    words = {"verbs": "bought, sold", "objects": "a car", "backend": "fake", "model": "rule"}
    return {**data, **words, "labels": "", "revision": "", "options": "", "name": "", **changes}


def test_options_are_lines_of_names_and_values(source):
    filled = InferenceForm(form(options="bias=0.9\n\n more = of it "))
    assert filled.is_valid()
    assert filled.cleaned_data["options"] == {"bias": 0.9, "more": "of it"}


def test_from_the_preview_to_the_answers(client, maker, source, monkeypatch):
    monkeypatch.setattr(views, "DRAWN_SHOWN", 5)
    preview = client.post(NEW, form()).content.decode()
    assert "and 1 more." in preview
    assert 'aria-current="true">Inference models</a>' in preview
    assert not Run.objects.exists()
    assert "A lazy person bought a car." in preview
    assert "wording of the paper (SeeGULL, section 4.2), “A … person”, whatever the attribute is" in preview
    assert "Start: 12 pairs" in preview
    [fingerprint] = re.findall(r'name="fingerprint" value="([0-9a-f]+)"', preview)
    unseen = client.post(NEW, form(start="1", fingerprint="0" * 32))
    assert "The preview has changed" in unseen.content.decode()
    assert not Run.objects.exists()
    started = client.post(NEW, form(start="1", fingerprint=fingerprint))
    run = Run.objects.get()
    assert started.headers["Location"] == reverse("inference", args=[run.pk])
    assert (run.jobs.count(), run.created_by) == (12, maker)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"source": "nobody"}, "Select a valid choice"),
        ({"threshold": "9"}, "Lower the threshold"),
        ({"threshold": "-1"}, "greater than or equal to 0"),
        ({"verbs": "bought,,sold"}, "no empty one"),
        ({"labels": "yes, no"}, "is entailment: yes, no"),
        ({"options": "bias"}, "write name=value"),
        ({"name": "no name"}, "Enter a valid"),
    ],
)
def test_a_plan_that_is_refused_says_why(client, maker, source, change, said):
    answer = client.post(NEW, form(**change))
    assert answer.status_code == 422
    assert said in answer.content.decode()
    assert not Run.objects.exists()


def test_a_lexicon_of_sentiment_is_not_offered(monkeypatch, capsys):
    monkeypatch.setattr(backends, "names", lambda kind: {"fake": "A rule.", "vader": "A lexicon."})
    offered = [name for name, _label in InferenceForm().fields["backend"].choices]
    assert offered == ["fake"]
    with pytest.raises(SystemExit):
        call_command("inference", "--help")
    told = capsys.readouterr().out
    assert "A rule." in told
    assert "A lexicon." not in told


def test_the_form_knows_the_source_of_a_link(client, maker, source):
    listed = reverse("inference_runs")
    assert f'href="{listed}?source=votes"' in client.get(reverse("source", args=["votes"])).content.decode()
    assert f'href="{NEW}?source=votes"' in client.get(listed, {"source": "votes"}).content.decode()
    assert '<option value="votes" selected>' in client.get(NEW, {"source": "votes"}).content.decode()


@pytest.mark.usefixtures("undrawn")
def test_pages_ask_as_many_queries_for_more_groups(client, tmp_path, maker, django_assert_max_num_queries):
    answered.groups()
    small = answered.imported(tmp_path, answered.rows()[:1], name="small")
    large = answered.imported(tmp_path, name="large")
    counts = []
    for run in (small, large):
        with django_assert_max_num_queries(100) as found:
            page(client, run)
        counts.append(len(found))
    assert counts[0] == counts[1] <= 25


def test_the_api_reads_what_the_pages_show(run):
    program = Program(factories.user(lead=True))
    listed = program.get("inference-runs").json()["results"]
    assert [(one["name"], one["jobs"]["done"]) for one in listed] == [("elsewhere", len(answered.rows()))]
    found = program.get(f"inference-runs/{run.pk}").json()
    assert found["run"]["model"] == "roberta-large-mnli"
    assert found["simulated"] is False
    assert [(row["source"], row["region"]) for row in found["results"]][:2] == [
        ("seegull-v2", ""),
        ("seegull-v2", "Latin America"),
    ]
    row = found["results"][0]
    for name, value in expected("seegull-v2", "").items():
        assert row[name] == pytest.approx(value)
    for low, name, high in (
        ("entailed_low", "entailed_share", "entailed_high"),
        *(
            (f"{name}_low", name, f"{name}_high")
            for name in ("mean_entailment_of_entailed", "mean_entailment_of_all")
        ),
    ):
        assert row[low] < row[name] < row[high]
    pairs = program.get(f"inference-runs/{run.pk}/pairs?limit=1&source=random").json()["results"]
    assert [pair["source"] for pair in pairs] == ["random"]
    pairs = program.get(f"inference-runs/{run.pk}/pairs?region=South Asia").json()["results"]
    assert {pair["region"] for pair in pairs} == {"South Asia"}
    assert program.get(f"inference-runs/{run.pk}/figure/csv?show=mean_of_all").status_code == 200
    assert program.get(f"inference-runs/{run.pk}/figure/exe").status_code == 404
    Answer.objects.filter(run=run).update(probabilities={"yes": 1.0})
    assert program.get(f"inference-runs/{run.pk}").status_code == 409


def test_the_api_plans_what_the_form_plans(source):
    program = Program(factories.user(lead=True))
    body = {
        "source": "votes",
        "backend": "fake",
        "options": {"bias": 0.9},
        "verbs": ["bought"],
        "objects": ["a car"],
    }
    dry = program.post("inference-runs?dry_run=true", body)
    assert (dry.status_code, dry.json()["total"], dry.json()["run"]) == (200, 6, None)
    least = {"source": "votes", "backend": "fake"}
    assert program.post("inference-runs?dry_run=true", least).status_code == 200
    planned = program.post("inference-runs", body)
    assert planned.status_code == 201
    run = Run.objects.get(pk=planned.json()["run"])
    assert (run.state, run.jobs.count()) == (RunState.PLANNED, 6)
    assert run.recipe["options"] == {"bias": 0.9}
    assert program.post("inference-runs", {**body, "threshold": 9}).status_code == 422
    assert program.post("inference-runs", {**body, "bogus": 9}).status_code == 400
    lead = factories.user()
    factories.study(leads=[lead])
    assert Program(lead).post("inference-runs", body).status_code == 404
