"""The overview: how a study stands, and who may know."""

import re

import pytest
from django.core.cache import cache
from django.urls import reverse
from django.utils import timezone

from annotation.core.leases import JobState
from annotation.models import Response
from metrics.core import studies
from metrics.dashboards.queries import progress
from metrics.dashboards.queries.results import read_results, result_metrics
from metrics.models import ScoreRun
from metrics.score_runs import services as score_runs
from metrics.visual_nature.visual_rule import in_words
from tests import factories
from tests.metrics import cast, votes_cast

pytestmark = pytest.mark.django_db


@pytest.fixture
def lead():
    return factories.user()


def page_of(client, study, user) -> str:
    client.force_login(user)
    answer = client.get(reverse("overview", args=[study.name]))
    assert answer.status_code == 200
    return re.sub(r"\s+", " ", answer.content.decode())


def test_only_the_lead_and_admins_see_it(client, lead):
    study = factories.study("mine", leads=[lead])
    factories.study("other", leads=[factories.user("other")])
    url = reverse("overview", args=[study.name])
    answer = client.get(url)
    assert answer.status_code == 302
    assert answer.url.startswith(reverse("login"))
    for user, expected in ((lead, 200), (factories.user(admin=True), 200), (factories.user(), 404)):
        client.force_login(user)
        assert client.get(url).status_code == expected
    client.force_login(lead)
    assert client.get(reverse("overview", args=["other"])).status_code == 404
    assert client.get(reverse("overview", args=["nothing"])).status_code == 404


def test_every_page_about_people_and_programs_is_one_click_away(client, lead):
    study = factories.study("mine", leads=[lead])
    page = page_of(client, study, lead)
    for name in ("people", "fill_rates", "invitations", "exposure", "webhooks"):
        assert f'href="{reverse(name, args=[study.name])}"' in page, name


def test_a_task_with_two_versions_has_its_tabs_once(client, lead):
    study = factories.study("mine", leads=[lead])
    for version in (1, 2):
        factories.task(study, kind="depiction", version=version)
    tabs = page_of(client, study, lead).partition('<nav class="dash-nav')[2].partition("</nav>")[0]
    for name in ("identities", "gallery", "compare", "pull"):
        assert tabs.count(f'href="{reverse(name, args=[study.name])}"') == 1, name


def test_the_quota_of_everybody_is_called_so_for_those_who_hear_the_page_as_well(client, lead):
    page = page_of(client, factories.rating_study(leads=[lead]), lead)
    assert 'aria-label="everybody: 0 %"' in page


def score(study) -> None:
    for metric in result_metrics(study):
        score_runs.request(study=study, metric=metric, variant="corrected")
    score_runs.compute_pending()


def test_a_large_study_is_counted_after_the_page_is_there(client, lead, monkeypatch):
    monkeypatch.setattr(studies, "MAX_SMALL", 2)
    study = cast.visual_study({"hat": [5, 5, 5]}, leads=[lead])
    page = page_of(client, study, lead)
    assert "Counting responses." in page
    assert f'hx-get="{reverse("overview_live", args=[study.name])}" hx-trigger="load, retry"' in page
    live = client.get(reverse("overview_live", args=[study.name]))
    assert "Responses" in live.text
    assert "Counting responses." not in page_of(client, study, lead), "the last count is shown at once"


def test_what_did_not_move_is_not_sent_again(client, lead):
    study = cast.visual_study({"hat": [5]}, leads=[lead])
    client.force_login(lead)
    url = reverse("overview_live", args=[study.name])
    mark = re.search(r"mark=(\w+)", client.get(url).text).group(1)
    assert client.get(url, {"mark": mark}).status_code == 204
    cache.clear()
    factories.response(study.tasks.get().units.get(), values=[1])
    assert client.get(url, {"mark": mark}).status_code == 200


def test_each_rule_says_how_many_attributes_it_selects():
    study = cast.visual_study({"hat": [5, 5, 4], "poor": [4, 4, 2], "kind": [1, 2, 5], "shy": [1, 1, 1]})
    score(study)
    page = read_results(study)
    assert [(in_words(rule), rule.selected, rule.in_use) for rule in page.rules] == [
        ("all who rated it chose Agree or Strongly agree", 1, True),
        ("at least 3 of 3 chose Agree or Strongly agree", 1, False),
        ("at least 2 of 3 chose Agree or Strongly agree", 2, False),
        ("at least 1 of 3 chose Agree or Strongly agree", 3, False),
        ("mean score of at least 3.5", 1, False),
        ("mean score of at least 4", 1, False),
        ("mean score of at least 4.5", 1, False),
        ("mean score of at least 5", 0, False),
    ]
    assert all(rule.low <= rule.percent <= rule.high for rule in page.rules)
    study.visual_rule = 2
    study.save()
    score(study)
    page = read_results(study)
    assert [in_words(rule) for rule in page.rules if rule.in_use] == [
        "at least 2 of 3 chose Agree or Strongly agree"
    ]
    assert [rule.selected for rule in page.rules if rule.in_use] == [2]


def test_scores_come_from_stored_runs_and_new_answers_are_asked_about(client, lead):
    study = cast.visual_study({"hat": [5, 5]}, leads=[lead])
    assert not read_results(study).consensus
    score(study)
    assert read_results(study).rated == 1
    factories.response(factories.attribute_unit(study.tasks.get(), "cap"), values=[5])
    assert read_results(study).rated == 1
    page = page_of(client, study, lead)
    assert f'hx-get="{reverse("fresh_scores", args=[study.name])}?of=consensus' in page


def test_the_page_links_consensus_and_rules_and_says_how_they_were_computed(client, lead):
    study = cast.visual_study({"hat": [5, 5, 5], "kind": [1, 1, 2]}, name="live", leads=[lead])
    score(study)
    page = page_of(client, study, lead)
    for figure in ("consensus", "visual-rules"):
        assert reverse("figure_page", args=["live", figure]) in page
    assert re.search(r'<td class="number">50.0 % <span class="interval">\[\d+\.\d, \d+\.\d\]</span>', page)
    assert "95 % intervals from clustered standard errors of attributes and annotators" in page
    assert "By the study’s rule (all who rated it chose Agree or Strongly agree), 1 of 2 attributes" in page
    assert "A low score does not certify a model" in page


def test_the_rules_of_older_answers_stay_until_newer_ones_are_computed(client, lead):
    study = cast.visual_study({"hat": [5, 5, 5], "kind": [1, 1, 2]}, leads=[lead])
    client.force_login(lead)
    question = f"{reverse('fresh_scores', args=[study.name])}?of=visual_rules:corrected"
    assert "are being computed" in client.get(question).text
    score(study)
    assert "are being computed" not in client.get(question).text
    factories.response(factories.attribute_unit(study.tasks.get(), "cap"), values=[5])
    assert "are being computed" in client.get(question).text
    assert "of=visual_rules" in page_of(client, study, lead).replace("%3A", ":")
    assert read_results(study).rated == 2
    score(study)
    assert read_results(study).rated == 3


def test_a_failed_run_can_be_tried_again(client, lead):
    study = cast.depiction_study(leads=[lead])
    run = score_runs.request(study=study, metric="likelihood", variant="corrected")
    ScoreRun.objects.update(state=JobState.FAILED, error="ValueError: odd", finished_at=timezone.now())
    page = page_of(client, study, lead)
    assert "ValueError: odd" in page
    retry = reverse("retry_scores", args=[study.name, run.pk])
    assert retry in page
    answer = client.post(retry, {"next": "https://elsewhere.example/"})
    assert answer.url == reverse("overview", args=[study.name])
    run.refresh_from_db()
    assert run.state == JobState.PENDING
    score_runs.compute_pending()
    assert "ValueError: odd" not in page_of(client, study, lead)


def test_a_run_of_another_study_cannot_be_tried_again(client, lead):
    mine, theirs = factories.study(leads=[lead]), cast.depiction_study()
    run = score_runs.request(study=theirs, metric="likelihood", variant="corrected")
    client.force_login(lead)
    assert client.post(reverse("retry_scores", args=[mine.name, run.pk])).status_code == 404


def test_attributes_that_many_are_unsure_about_are_pointed_out(client, lead):
    said = {"odd": [3, 3, 5], "hat": [5, 5, 3], "half": [3, 3, 5, 5], "once": [3]}
    said |= {"withdrawn": [3, 3, 5], "replaced": [3, 3, 5], "zoo": [3, 3, 3]}
    study = cast.visual_study(said, strata=("any",) * 4, leads=[lead])
    unsure = Response.objects.filter(judgements__value=3).order_by("pk")
    for text, change in (("withdrawn", {"withdrawn_at": timezone.now()}), ("replaced", {"current": False})):
        gone = unsure.filter(unit__attribute__text=text).first()
        Response.objects.filter(pk=gone.pk).update(**change)
    found = [one for one in progress.count_progress(study, now=timezone.now()).alerts if one.kind == "unsure"]
    assert [(one.name, one.k, one.n) for one in found] == [("zoo", 3, 3), ("half", 2, 4), ("odd", 2, 3)]
    biased = votes_cast.bias_study({("old", "grumpy"): [0, 0, 5], ("old", "wise"): [1, 1, 0]})
    alerts = progress.count_progress(biased, now=timezone.now()).alerts
    assert [(one.name, one.k, one.n) for one in alerts if one.kind == "unsure"] == [("grumpy", 2, 3)]
    page = page_of(client, study, lead)
    assert "2 of 3 answers about" in page
    assert reverse("attribute", args=[study.name, factories.attribute("odd").pk]) in page


def test_an_annotator_who_is_much_faster_than_the_others_is_pointed_out(client, lead):
    study = factories.study(leads=[lead])
    task = factories.task(study)
    people = [factories.annotator(pseudonym=name) for name in ("slow", "usual", "quick")]
    for _ in range(10):
        unit = factories.attribute_unit(task)
        for who, active in zip(people, (6000, 5000, 1500), strict=True):
            factories.response(unit, who=who, active_ms=active)
    beginner = factories.annotator(pseudonym="beginner")
    for _ in range(9):
        factories.response(factories.attribute_unit(task), who=beginner, active_ms=100)
    # none of these is a tenth answer
    elsewhere = factories.task(factories.study("elsewhere"))
    factories.response(factories.attribute_unit(elsewhere), who=beginner, active_ms=100)
    factories.response(factories.attribute_unit(task), who=beginner, active_ms=None)
    withdrawn = factories.response(factories.attribute_unit(task), who=beginner, active_ms=100)
    Response.objects.filter(pk=withdrawn.pk).update(withdrawn_at=timezone.now())
    found = [one for one in progress.count_progress(study, now=timezone.now()).alerts if one.kind == "fast"]
    assert [(one.name, one.n, one.seconds, one.usual) for one in found] == [("quick", 10, 1.5, 5.0)]
    assert "takes 1.5 s per item over the last 10 answers; 5.0 s is usual" in page_of(client, study, lead)
    Response.objects.filter(annotator=people[1]).update(active_ms=4500)
    alerts = progress.count_progress(study, now=timezone.now()).alerts
    assert not [one for one in alerts if one.kind == "fast"]  # a third is not less than a third
    Response.objects.filter(annotator=people[1]).update(annotator=people[0], active_ms=9000)
    alerts = progress.count_progress(study, now=timezone.now()).alerts
    assert not [one for one in alerts if one.kind == "fast"]  # of two people nothing is usual


@pytest.mark.parametrize("whole", [True, False])
def test_simulated_answers_are_marked(client, lead, whole):
    study = cast.visual_study({"hat": [5]}, simulated=whole, leads=[lead])
    assert ("badge-simulated" in page_of(client, study, lead)) is whole
    factories.response(factories.attribute_unit(study.tasks.get()), who=factories.annotator(simulated=True))
    assert "badge-simulated" in page_of(client, study, lead)


def test_accounts_of_annotators_are_not_in_the_page(client, lead):
    study = factories.study(leads=[lead])
    account = factories.user("jane.doe")
    who = factories.enrolment(study, user=account).annotator
    factories.response(factories.attribute_unit(factories.task(study)), who=who)
    assert "jane.doe" not in page_of(client, study, lead)


def test_only_admins_are_offered_the_data(client, lead):
    study = factories.study(leads=[lead])
    link = reverse("export_annotations", args=[study.name])
    assert link not in page_of(client, study, lead)
    assert link in page_of(client, study, factories.user(admin=True))


def test_queries_do_not_grow_with_the_study(client, lead, django_assert_num_queries):
    study = cast.visual_study({"hat": [5, 5, 5]}, leads=[lead])
    task = study.tasks.get()
    client.force_login(lead)
    url = reverse("overview", args=[study.name])

    def add(count: int) -> None:
        for _ in range(count):
            unit = factories.attribute_unit(task)
            both = (factories.annotator(), factories.annotator())
            factories.responses((unit, None, who) for who in both)
            for who in both:
                factories.enrolment(study, who=who)

    for rows in (1, 12):
        add(rows)
        score(study)
        with django_assert_num_queries(18):
            client.get(url)
