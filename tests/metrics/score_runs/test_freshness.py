"""Whether shown scores are of today's answers: asked after the page is there, waited for, swapped in."""

import re

import pytest
from django.urls import reverse

from annotation.core.leases import JobState
from metrics.models import ScoreRun
from metrics.score_runs import services as score_runs
from tests import factories
from tests.metrics import cast, pulled

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("few_resamples")]


@pytest.fixture
def study(lead):
    return cast.depiction_study(name="pictures", leads=[lead])


URL = "/studies/pictures/scores/fresh/"


def ask(client, *of, **more):
    page = {
        "HTTP_HX_REQUEST": "true",
        "HTTP_HX_CURRENT_URL": "http://testserver/studies/pictures/identities/",
    }
    return client.get(URL, {"of": of, **more}, **page)


def change(study) -> None:
    unit = factories.page_unit(study.tasks.get(), picture=factories.image(index=9))
    factories.response(unit, values=[1, 0, 0, 0, 0])


def test_the_first_question_asks_for_the_scores_once(client, study):
    for _ in range(2):
        page = ask(client, "tendency:corrected", "offensiveness:corrected").text
        assert "being computed" in page
        assert 'hx-trigger="every 2s"' in page
    runs = ScoreRun.objects.all()
    assert sorted(run.metric for run in runs) == ["offensiveness", "tendency"]
    assert {run.state for run in runs} == {JobState.PENDING}


def test_who_waits_hears_nothing_until_something_is_there(client, study):
    page = ask(client, "tendency:corrected").text
    again = re.search(r'hx-get="([^"]+)"', page).group(1).replace("&amp;", "&")
    assert client.get(again).status_code == 204
    score_runs.compute_pending()
    here = client.get(again, HTTP_HX_REQUEST="true", HTTP_HX_CURRENT_URL="http://testserver/a/page/?q=x")
    assert 'hx-get="/a/page/?q=x"' in here.text
    assert 'hx-select="#scores"' in here.text


def test_waiting_costs_no_digest(client, study, monkeypatch):
    run = score_runs.request(study=study, metric="tendency", variant="corrected")

    def refused(*args, **kwargs):
        raise AssertionError("a digest reads the answers")

    for module in ("queries", "services"):
        monkeypatch.setattr(f"metrics.score_runs.{module}.inputs_digest", refused)
    assert client.get(URL, {"waiting": run.pk}).status_code == 204


def test_fresh_scores_need_no_words(client, study):
    score_runs.request(study=study, metric="tendency", variant="corrected")
    score_runs.compute_pending()
    assert ask(client, "tendency:corrected").text.strip() == ""


def test_stale_scores_are_computed_anew_and_marked(client, study):
    score_runs.request(study=study, metric="tendency", variant="corrected")
    score_runs.compute_pending()
    change(study)
    page = ask(client, "tendency:corrected").text
    assert "data-stale" in page
    assert ScoreRun.objects.filter(state=JobState.PENDING).count() == 1


def test_scores_of_answers_that_are_back_again_are_shown_and_not_computed(client, study):
    first = score_runs.request(study=study, metric="tendency", variant="corrected")
    score_runs.compute_pending()
    change(study)
    ask(client, "tendency:corrected")
    score_runs.compute_pending()
    back = study.tasks.get().units.order_by("-position").first().responses.get()
    type(back).objects.filter(pk=back.pk).update(withdrawn_at="2026-01-01T00:00Z")
    page = ask(client, "tendency:corrected", "offensiveness:corrected").text
    assert "New scores are available" in page
    assert not ScoreRun.objects.filter(metric="tendency", state=JobState.PENDING).exists()
    assert ask(client, "tendency:corrected").text.strip() == "", "the earlier run stands again"
    assert ScoreRun.objects.get(pk=first.pk).state == JobState.DONE


def test_a_failed_run_says_why_and_offers_another_try(client, study):
    ask(client, "tendency:corrected")
    ScoreRun.objects.update(state=JobState.FAILED, error="ValueError: <odd>", finished_at="2026-01-01T00:00Z")
    page = ask(client, "tendency:corrected").text
    assert "could not be computed" in page
    assert "ValueError: &lt;odd&gt;" in page
    run = ScoreRun.objects.get()
    assert f'action="{reverse("retry_scores", args=["pictures", run.pk])}"' in page
    assert 'value="/studies/pictures/identities/"' in page
    assert "every 2s" not in page


def test_a_run_that_was_moot_is_not_waited_for_for_ever(client, study):
    assert client.get(URL, {"waiting": 10**6}, HTTP_HX_CURRENT_URL="http://testserver/x/").status_code == 200


def test_a_page_elsewhere_is_not_fetched(client, study):
    page = {"HTTP_HX_REQUEST": "true", "HTTP_HX_CURRENT_URL": "https://elsewhere.example/x/"}
    answer = client.get(URL, {"waiting": 10**6}, **page)
    assert "elsewhere" not in answer.text
    assert "hx-get" not in answer.text


@pytest.mark.parametrize("of", ["tendency", "tendency:odd", "nothing:corrected", "", "a:b:c"])
def test_unknown_scores_are_not_found(client, study, of):
    assert client.get(URL, {"of": of}).status_code == 404


@pytest.mark.parametrize("waiting", ["x", "-1", "9" * 400, "1.5"])
def test_a_run_that_cannot_be_is_nothing_to_wait_for(client, study, waiting):
    assert client.get(URL, {"waiting": waiting}).status_code == 200


def test_runs_of_other_studies_tell_nothing(client, study):
    theirs = factories.task(kind="depiction").study
    run = score_runs.request(study=theirs, metric="tendency", variant="corrected")
    ScoreRun.objects.update(state=JobState.FAILED, error="secret", finished_at="2026-01-01T00:00Z")
    assert "secret" not in client.get(URL, {"waiting": run.pk}).text


def test_without_scripts_the_page_itself_checks(client, study):
    page = client.get(reverse("identities", args=["pictures"]), {"check": ""}).text
    assert "being computed" in page
    assert "Reload this page in a moment." in page
    assert ScoreRun.objects.count() == 2


@pytest.mark.parametrize(
    ("metric", "cure"), [("pull", "manage.py generate pictures"), ("pull_difference", "Say what to compare")]
)
def test_what_cannot_be_computed_is_said_with_the_cure_and_not_asked_for(client, study, metric, cure):
    page = ask(client, f"{metric}:corrected").text
    assert "could not be computed" in page
    assert cure in page
    assert not ScoreRun.objects.exists()


def test_a_failed_run_without_embeddings_is_not_tried_again(client, study):
    embedded = pulled.embedding_run(study)
    pulled.group_images(embedded, "Mexican")
    run = score_runs.request(study=study, metric="pull", variant="corrected")
    embedded.delete()
    ScoreRun.objects.update(state=JobState.FAILED, error="gone", finished_at=run.created_at)
    page = client.post(reverse("retry_scores", args=["pictures", run.pk]), follow=True).text
    assert "manage.py generate pictures --prompts pull" in page
    assert ScoreRun.objects.get(pk=run.pk).state == JobState.FAILED


def test_a_run_that_is_tried_again_is_sent_to_a_worker_and_the_page_comes_back(client, study, monkeypatch):
    sent = []
    monkeypatch.setattr("metrics.score_runs.views.enqueue", sent.append)
    run = score_runs.request(study=study, metric="tendency", variant="corrected")
    retry, page = reverse("retry_scores", args=["pictures", run.pk]), "/studies/pictures/identities/"
    assert client.post(retry, {"next": page}).url == page
    assert sent == [], "it waits already"
    ScoreRun.objects.update(state=JobState.FAILED, error="no", finished_at=run.created_at)
    assert client.post(retry, {"next": page}).url == page
    assert [(one.pk, one.state) for one in sent] == [(run.pk, JobState.PENDING)]
