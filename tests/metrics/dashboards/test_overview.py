"""The overview: how a study stands, and who may know."""

import re
from datetime import timedelta

import pytest
from django.core.cache import cache
from django.urls import reverse
from django.utils import timezone

from annotation.core.leases import JobState
from annotation.models import Response, Slot, SlotState, StudyStatus
from metrics.core import studies
from metrics.dashboards.queries import progress
from metrics.dashboards.queries.overview import read_overview, shown_metrics
from metrics.models import ScoreRun
from metrics.score_runs import services as score_runs
from metrics.templatetags.scores import rule_words
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


def score(study) -> None:
    for metric in shown_metrics(study):
        score_runs.request(study=study, metric=metric, variant="corrected")
    score_runs.compute_pending()


def test_progress_is_counted_by_stratum_and_state():
    study = factories.study()
    task = factories.task(study, strata=("origin: Asia", "any"))
    units = [factories.attribute_unit(task) for _ in range(3)]
    factories.response(units[0])
    now = timezone.now()
    leased = units[1].slots.get(stratum="any")
    Slot.objects.filter(pk=leased.pk).update(
        state=SlotState.LEASED,
        annotator=factories.annotator(),
        lease_key="12345678-1234-5678-1234-567812345678",
        leased_at=now,
        lease_expires_at=now,
    )
    found = progress.count_progress(study, now=now)
    strata = {part.name: (part.filled, part.leased, part.open) for part in found.tasks[0].strata}
    assert strata == {"origin: Asia": (1, 0, 2), "any": (0, 1, 2)}
    assert (found.total.filled, found.total.leased, found.total.open, found.total.wanted) == (1, 1, 4, 6)
    assert found.total.percent == pytest.approx(100 / 6)


def test_pace_counts_what_fills_the_study_and_says_how_long_it_still_takes():
    study = factories.study()
    task = factories.task(study)
    now = timezone.now()
    people = [factories.annotator() for _ in range(2)]
    units = [factories.attribute_unit(task) for _ in range(3)]
    ages = [timedelta(minutes=5), timedelta(minutes=50), timedelta(hours=3)]
    for unit, who, age in zip(units, [people[0], people[1], people[1]], ages, strict=True):
        factories.response(unit, who=who, started_at=now - age, submitted_at=now - age)
    withdrawn = factories.response(units[0], who=people[1])
    Response.objects.filter(pk=withdrawn.pk).update(withdrawn_at=now)
    pace = progress.count_progress(study, now=now).pace
    assert (pace.timed, pace.last_hour, pace.withdrawn, pace.surplus) == (3, 2, 1, 0)
    # 9 places, of which the withdrawn answer still fills one
    assert [(rate.hours, rate.an_hour) for rate in pace.rates] == [(1, 2), (24, 3 / 24), (168, 3 / 168)]
    assert [rate.hours_left for rate in pace.rates] == pytest.approx([5 / 2, 5 * 24 / 3, 5 * 168 / 3])
    assert sum(number for _, number in pace.days) == 3
    assert len(pace.days) == 14
    tomorrow = progress.count_progress(study, now=now + timedelta(days=1)).pace
    assert tomorrow.rates[0].hours_left is None


def test_answers_without_a_time_have_no_pace():
    study = factories.study(status=StudyStatus.CLOSED)
    unit = factories.attribute_unit(factories.task(study))
    factories.response(unit, started_at=None, submitted_at=None)
    assert progress.count_progress(study, now=timezone.now()).pace.timed == 0


def test_a_large_study_is_counted_after_the_page_is_there(client, lead, monkeypatch):
    monkeypatch.setattr(studies, "MAX_SMALL", 2)
    study = cast.visual_study({"hat": [5, 5, 5]}, leads=[lead])
    page = page_of(client, study, lead)
    assert "Counting responses." in page
    assert f'hx-get="{reverse("overview_live", args=[study.name])}" hx-trigger="load, retry"' in page
    live = client.get(reverse("overview_live", args=[study.name]))
    assert "Responses" in live.text
    assert "Counting responses." not in page_of(client, study, lead), "the last count is shown at once"


def test_a_count_is_made_again_only_when_the_last_is_old_enough_for_its_cost(monkeypatch):
    study = cast.visual_study({"hat": [5]})
    now = timezone.now()
    clock = iter([0.0, 3.0, 10.0, 13.0])
    monkeypatch.setattr("metrics.dashboards.queries.progress.time.monotonic", lambda: next(clock))
    first = progress.recent_progress(study, now=now)
    assert progress.recent_progress(study, now=now + timedelta(seconds=59)) == first
    assert progress.recent_progress(study, now=now + timedelta(seconds=61)).counted_at != first.counted_at


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
    page = read_overview(study, now=timezone.now())
    assert [(rule_words(rule), rule.selected, rule.in_use) for rule in page.rules] == [
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
    page = read_overview(study, now=timezone.now())
    assert [rule_words(rule) for rule in page.rules if rule.in_use] == [
        "at least 2 of 3 chose Agree or Strongly agree"
    ]
    assert [rule.selected for rule in page.rules if rule.in_use] == [2]


def test_scores_come_from_stored_runs_and_new_answers_are_asked_about(client, lead):
    study = cast.visual_study({"hat": [5, 5]}, leads=[lead])
    assert read_overview(study, now=timezone.now()).figure is None
    score(study)
    assert read_overview(study, now=timezone.now()).rated == 1
    factories.response(factories.attribute_unit(study.tasks.get(), "cap"), values=[5])
    assert read_overview(study, now=timezone.now()).rated == 1
    page = page_of(client, study, lead)
    assert f'hx-get="{reverse("fresh_scores", args=[study.name])}?of=consensus' in page


def test_the_page_shows_plot_numbers_and_rules(client, lead):
    study = cast.visual_study({"hat": [5, 5, 5], "kind": [1, 1, 2]}, name="live", leads=[lead])
    score(study)
    page = page_of(client, study, lead)
    assert 'alt="Bar chart: attributes for which at least 2 annotators chose the same label' in page
    assert reverse("figure", args=["live", "consensus", "svg"]) in page
    assert '<th scope="row">Strongly agree</th><td class="number">1</td>' in page
    assert re.search(r'<td class="number">50.0 <span class="interval">\[\d+\.\d, \d+\.\d\]</span>', page)
    assert "95 % intervals from clustered standard errors of attributes and annotators" in page
    assert "this study’s rule" in page
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
    assert read_overview(study, now=timezone.now()).rated == 2
    score(study)
    assert read_overview(study, now=timezone.now()).rated == 3


def test_a_study_without_answers_says_so_instead_of_showing_an_empty_plot(client, lead):
    study = factories.study(leads=[lead])
    factories.attribute_unit(factories.task(study))
    page = page_of(client, study, lead)
    assert "<img" not in page
    assert "Agreement appears here once" in page


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
    study = cast.visual_study({"odd": [3, 3, 5], "hat": [5, 5, 3]}, leads=[lead])
    found = [one for one in progress.count_progress(study, now=timezone.now()).alerts if one.kind == "unsure"]
    assert [(one.name, one.k, one.n) for one in found] == [("odd", 2, 3)]
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
    found = [one for one in progress.count_progress(study, now=timezone.now()).alerts if one.kind == "fast"]
    assert [(one.name, one.n, one.seconds, one.usual) for one in found] == [("quick", 10, 1.5, 5.0)]
    assert "takes 1.5 s per item over the last 10 answers; 5.0 s is usual" in page_of(client, study, lead)


@pytest.mark.parametrize(("asians", "said"), [(0, ["any", "origin: Asia"]), (1, ["any"])])
def test_strata_that_nobody_can_fill_are_pointed_out(asians, said):
    study = factories.study()
    factories.attribute_unit(factories.task(study, strata=("origin: Asia", "any", "any")))
    for _ in range(asians):
        factories.enrolment(study, who=factories.annotator(profile={"origin": "Asia"}))
    found = progress.count_progress(study, now=timezone.now()).alerts
    assert [(one.name, one.k) for one in found] == [(name, asians) for name in said]
    study.status = StudyStatus.CLOSED
    assert progress.count_progress(study, now=timezone.now()).alerts == ()


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
            for who in (factories.annotator(), factories.annotator()):
                factories.response(unit, who=who)
                factories.enrolment(study, who=who)

    for rows in (1, 12):
        add(rows)
        score(study)
        with django_assert_num_queries(22):
            client.get(url)
