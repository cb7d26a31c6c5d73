"""Two studies, or two groups of annotators, side by side."""

import re

import pytest
from django.urls import reverse

from annotation.models import ProfileAnswer, Response, TaskKind
from metrics.models import RunState, Score, ScoreRun
from metrics.queries_pages import compare
from metrics.services import score_runs
from tests import factories
from tests.metrics import cast

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _few_resamples(settings):
    settings.BOOTSTRAP_RESAMPLES = 100


@pytest.fixture
def lead(client):
    made = factories.user()
    client.force_login(made)
    return made


def scored(name: str, values: dict[str, float] | None, leads) -> ScoreRun | None:
    """A study about images whose finished run has these values of theta."""
    study = factories.study(name, leads=leads)
    factories.task(study, kind=TaskKind.DEPICTION)
    if values is None:
        return None
    run = score_runs.request(study=study, metric="tendency", variant="corrected")
    score_runs.compute(run_id=run.pk)
    for group, value in values.items():
        for score in ("l_stereo", "l_random", "theta"):
            Score.objects.create(
                run=run, group=factories.group(group), name=score, value=value, low=value, high=value, n=2
            )
    return run


def page(client, name="one", **query) -> str:
    return re.sub(r"\s+", " ", client.get(reverse("compare", args=[name]), query).text)


def test_groups_of_both_studies_stand_in_one_row(client, lead):
    scored("one", {"Thai": 0.5, "French": 0.25}, [lead])
    scored("two", {"Thai": 2.0, "Welsh": 1.0}, [lead])
    shown = page(client, **{"with": "study:two"})
    assert '>Thai</a></th> <td class="number">0.50 <span class="interval">[0.50, 0.50]' in shown
    assert '<td class="number">2.00 ' in shown
    assert "French" not in shown
    assert "Intervals that overlap are no test" in shown
    assert "does not certify a model" in shown


def test_the_difference_is_asked_for_computed_and_shown_with_its_q(client, lead):
    study = cast.depiction_study(name="one", leads=[lead])
    other = factories.study("two", leads=[lead], stereotype_source=study.stereotype_source)
    task = factories.task(other, kind=TaskKind.DEPICTION)
    for index in (21, 22):
        unit = factories.page_unit(task, picture=factories.image(index=index), texts=cast.TEXTS)
        for _ in range(3):
            factories.response(unit, values=[1, 1, 0, 1, 0])
    asked = client.get(reverse("fresh_scores", args=["one"]), {"with": "study:two"})
    assert "being computed" in asked.text
    run = ScoreRun.objects.get(metric="tendency_difference")
    assert (run.study, run.state) == (study, RunState.PENDING)
    assert '"against": "two"' in run.parameters
    score_runs.compute_pending()
    shown = page(client, **{"with": "study:two"})
    # hat 4/6 and sombrero 1/6 here, always there
    assert re.search(r'Mexican</a></th>.*?<td class="number">−0.58 <span class="interval">\[', shown)
    assert "Mean over the groups" in shown


def test_two_groups_of_annotators_of_one_study_are_compared(client, lead):
    study = cast.depiction_study(name="one", leads=[lead])
    for _ in range(5):
        factories.enrolment(study, who=factories.annotator(profile={"gender": "woman"}))
    people = sorted({response.annotator_id for response in Response.objects.all()})
    for who, gender in zip(people, ("woman", "man", "man"), strict=True):
        ProfileAnswer.objects.create(annotator_id=who, field="gender", value=gender)
    assert "gender" not in page(client), "two men could be told from each other"
    for who in people:
        factories.enrolment(study, who=Response.objects.filter(annotator=who).first().annotator)
    factories.enrolment(study, who=factories.annotator(profile={"gender": "man"}))
    choice = compare.choices(study, type(study).objects.all())[0]
    assert (choice.key, choice.parameters) == (
        "gender:man|woman",
        {"by": "gender", "first": "man", "second": "woman"},
    )
    client.get(reverse("fresh_scores", args=["one"]), {"with": choice.key})
    score_runs.compute_pending()
    assert "Mexican</a>" in page(client, **{"with": choice.key})


def test_only_what_the_reader_leads_is_offered(client, lead):
    scored("one", {}, [lead])
    scored("theirs", {}, [factories.user()])
    factories.task(factories.study("words", leads=[lead]))
    assert "There is nothing to compare" in page(client)
    for other in ("study:theirs", "study:words", "study:one", "study:nothing", "gender:man|woman", "x"):
        for name in ("compare", "fresh_scores"):
            assert client.get(reverse(name, args=["one"]), {"with": other}).status_code == 404
    assert not ScoreRun.objects.filter(metric="tendency_difference").exists()


def test_what_is_missing_is_said(client, lead):
    scored("one", {"Thai": 1.0}, [lead])
    scored("two", None, [lead])
    scored("three", {"Welsh": 1.0}, [lead])
    assert "Choose what to compare" in page(client)
    assert "No group is reported on both sides" in page(client, **{"with": "study:three"})
    scored("four", None, [lead])
    assert "No scores yet" in page(client, "two", **{"with": "study:four"})


def test_queries_do_not_grow_with_the_groups(client, lead, django_assert_num_queries):
    runs = [scored(name, {"Thai": 1.0}, [lead]) for name in ("one", "two")]
    for count in (1, 20):
        for run in runs:
            for number in range(count):
                group = factories.group(f"group {count} {number}")
                Score.objects.create(run=run, group=group, name="theta", value=1, n=2)
        with django_assert_num_queries(15):
            page(client, **{"with": "study:two"})
