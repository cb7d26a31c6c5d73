"""The first page of a study: what came out before how the work stands, or after it while work goes on."""

import re

import pytest
from django.urls import reverse

from annotation.models import SlotState, StudyStatus, TaskKind
from metrics.dashboards.queries import overview as pages
from metrics.models import Score
from metrics.score_runs import services as score_runs
from tests import factories
from tests.metrics import cast, pulled, votes_cast
from tests.metrics.planted_scores import INFINITE, run, score

pytestmark = pytest.mark.django_db


def page_of(client, study) -> str:
    answer = client.get(reverse("overview", args=[study.name]))
    assert answer.status_code == 200
    return re.sub(r"\s+", " ", answer.content.decode())


def parts_of(page: str) -> list[str]:
    """The parts of the page, in order."""
    return re.findall(r'<h2 id="(came-out|progress|data)">', page)


def planted(lead, groups: int = 3, **fields):
    """A depiction study with a ranking of `groups`, the first of them with an infinite theta."""
    study = factories.study(stereotype_source=factories.source(), leads=[lead], **fields)
    factories.task(study, kind=TaskKind.DEPICTION)
    tendency = run(study, "tendency")
    for number in range(groups):
        group = factories.group(f"Group {number}")
        theta, interval = (9.87 - number / 8, (1.05, 12.34)) if number else (INFINITE, (1.5, INFINITE))
        score(tendency, "theta", theta, interval, group=group)
        score(tendency, "l_stereo", 0.25, group=group)
    return study


@pytest.mark.parametrize(
    ("status", "first"),
    [
        (StudyStatus.OPEN, "progress"),
        (StudyStatus.PAUSED, "progress"),
        (StudyStatus.CLOSED, "came-out"),
        (StudyStatus.DRAFT, "came-out"),
    ],
)
def test_what_comes_first_depends_on_whether_work_goes_on(client, lead, status, first):
    found = parts_of(page_of(client, planted(lead, status=status)))
    assert found[0] == first
    assert sorted(found) == ["came-out", "data", "progress"]
    assert found[-1] == "data"


def test_what_came_out_is_first_once_every_answer_is_there(client, lead):
    study = cast.visual_study({"odd": [3, 3, 5]}, leads=[lead], status=StudyStatus.OPEN)
    assert parts_of(page_of(client, study))[0] == "came-out"
    study.slots.filter(pk=study.slots.earliest("pk").pk).update(state=SlotState.OPEN)
    assert parts_of(page_of(client, study))[0] == "progress"


def test_every_number_is_that_of_a_stored_score(client, lead):
    study = planted(lead, status=StudyStatus.CLOSED)
    score(run(study, "offensiveness"), "o", 0.4321, (0.1234, 0.8765), group=factories.group("Group 1"))
    agreement = run(study, "agreement")
    part = "task: depiction; reading: nominal"
    score(agreement, "alpha", 0.5432, (0.3456, 0.7654), part=part)
    score(agreement, "box_iou", 0.7891, (0.6789, 0.8912), part=part)
    pulled.group_images(pulled.embedding_run(study), "Group 1")
    score(run(study, "pull"), "x", 0.0312, (0.0123, 0.0514), n=3)
    page = page_of(client, study)

    def row(name: str, numbers: str) -> str:
        return rf"{re.escape(name)}.{{0,900}}{re.escape(numbers)}"

    for name, numbers in (
        ("Group 0</a>", '∞ <span class="interval">[1.50, ∞]</span>'),
        ("Group 1</a>", '9.74 <span class="interval">[1.05, 12.34]</span>'),
        ("Group 2</a>", '9.62 <span class="interval">[1.05, 12.34]</span>'),
        ("result-depicted", '0.43 <span class="interval">[0.12, 0.88]</span>'),
        ("what an image depicts, nominal", '0.54 <span class="interval">[0.35, 0.77]</span>'),
        ("Box overlap", '0.79 <span class="interval">[0.68, 0.89]</span>'),
        ("mean x", '0.031 <span class="interval">[0.012, 0.051]</span>'),
    ):
        assert re.search(row(name, numbers), page), name
    for group in range(3):
        assert reverse("identity", args=[study.name, factories.group(f"Group {group}").pk]) in page
    for name in ("identities", "pull", "agreement"):
        assert f'href="{reverse(name, args=[study.name])}"' in page
    assert "more often than random ones in images of 3 of 3 groups" in page
    assert page.index("more often than random ones") < page.index('id="ranking"')


def test_the_map_is_beside_the_ranking_of_nationalities_only(client, lead):
    study = planted(lead)
    picture = reverse("figure", args=[study.name, "map-stereotypes", "svg"])
    page = page_of(client, study)
    assert re.search(rf'<img[^>]* src="{picture}\?show=likely" loading="lazy"', page)
    factories.group("Group 0").scores.model.objects.all()
    for group in range(3):
        of = factories.group(f"Group {group}")
        of.axis = "religion"
        of.save()
    assert picture not in page_of(client, study)


def test_a_long_ranking_is_cut_in_the_middle(client, lead):
    page = page_of(client, planted(lead, groups=pages.MOST_RANKED + 1))
    shown = re.findall(r"Group (\d+)</a></th><td class=\"drawn\"", page)
    assert shown == [*map(str, range(10)), *map(str, range(16, 26))]
    assert "6 groups between these" in page


def test_alerts_are_one_line_that_opens(client, lead):
    study = cast.visual_study({"odd": [3, 3, 5], "even": [3, 3, 1]}, leads=[lead])
    page = page_of(client, study)
    assert page.count('<details class="notice notice-warning alerts" id="alerts">') == 1
    assert re.search(r"<summary>\d things need attention</summary>", page)
    assert page.count("Hard to understand:") == 2
    calm = cast.visual_study({"odd": [5, 5, 5]}, leads=[lead], status=StudyStatus.CLOSED)
    assert 'id="alerts"' not in page_of(client, calm)


def test_an_alert_about_a_quota_names_its_task(client, lead):
    task = factories.task(factories.study(leads=[lead]))
    factories.attribute_unit(task)
    page = page_of(client, task.study)
    assert f'<a href="#task-{task.pk}">visual nature of an attribute</a> – open slots' in page


def test_a_study_without_results_says_what_happens_next(client, lead):
    study = factories.study(leads=[lead])
    unit = factories.attribute_unit(factories.task(study))
    page = page_of(client, study)
    assert "Nobody has answered yet." in page
    assert reverse("fresh_scores", args=[study.name]) not in page
    assert f'<a class="button" href="{reverse("invitations", args=[study.name])}"' in page
    assert "<img" not in page
    factories.response(unit, values=[5])
    page = page_of(client, study)
    assert "Nothing has been computed yet." in page
    for metric in ("consensus", "visual_rules", "agreement"):
        run(study, metric)
    assert "The answers so far give no result." in page_of(client, study)


def test_a_study_without_images_answers_its_own_question(client, lead):
    study = factories.study(leads=[lead], status=StudyStatus.CLOSED)
    for kind in (TaskKind.PREVALENCE, TaskKind.OFFENSIVENESS):
        factories.task(study, kind=kind)
    score(run(study, "prevalence"), "share", 0.4, (0.3, 0.5), part="pool: in-region, t=2", n=80, k=32)
    rated = run(study, "rated_offensiveness")
    score(rated, "mean_attribute", 1.25, (1.0, 1.5), n=40)
    page = page_of(client, study)
    assert (
        "At least 2 in-region annotators called 32 of 80 associations stereotypical: 40 % [30, 50]." in page
    )
    assert "The mean of 40 ratings of offensiveness is 1.25 [1.00, 1.50]" in page
    assert 'id="ranking"' not in page
    assert "Not there yet:" in page
    assert f"{reverse('figure_page', args=[study.name, 'pools'])}?from=answers" in page


def test_a_study_of_associations_says_how_often_each_level_was_chosen(client, lead):
    said = {("old", "grumpy"): [5, 5, 4], ("old", "wise"): [1, 2, 0], ("young", "loud"): [3, 2, 2]}
    study = votes_cast.bias_study(said, leads=[lead], status=StudyStatus.CLOSED)
    other = votes_cast.bias_study({("old", "mean"): [5, 5, 5]}, name="other")
    for of in (study, other):
        score_runs.request(study=of, metric="bias_levels", variant="corrected")
    score_runs.compute_pending()
    page = page_of(client, study)
    assert "annotators answered “Slightly biased” most often: 33 %" in page
    assert re.search(r"Of 3 associations “grumpy” of the group “old” has the highest mean: 4\.67 \[", page)
    assert "overlap" not in page
    card = page[page.index('id="result-levels"') :]
    assert card.index("old: grumpy") < card.index("young: loud") < card.index("old: wise")
    assert re.search(r"Unsure</th>.{0,900}?0\.11 <span", card)
    Score.objects.filter(name="association", attribute__text="loud").update(high=4.5)
    assert "The interval of 1 other association overlaps it." in page_of(client, study)


def test_the_map_says_which_answers_it_is_of(client, lead):
    page = page_of(client, planted(lead))
    assert re.search(
        r"<img[^>]*map-stereotypes[^>]*></a> </figure> <p[^>]*>Of the answers as they are now", page
    )


MORE = {
    "fill_rates": "Fill rates",
    "plan_study": "Planning",
    "judges": "Machine judges",
    "exposure": "Hours",
    "webhooks": "Webhooks",
}


ALWAYS_SHOWN = {"people": "People", "invitations": "Invitations"}


@pytest.mark.parametrize(("name", "here"), [*ALWAYS_SHOWN.items(), *MORE.items()])
def test_a_page_of_a_study_leads_to_the_others_and_shows_which_it_is(client, lead, few_studies, name, here):
    study = factories.study(leads=[lead])
    page = re.sub(r"\s+", " ", client.get(reverse(name, args=[study.name])).text)
    shown, folded = page.split('<details class="more">')
    assert f'aria-current="page">{here}</a>' in shown
    assert f'href="{reverse("agreement", args=[study.name])}"' in shown
    for other, label in MORE.items():
        in_its_place = shown if other == name else folded
        assert f'href="{reverse(other, args=[study.name])}"' in in_its_place
        assert page.count(f">{label}</a></li>") == 1


def test_a_draft_leads_back_to_its_set_up(client, lead, few_studies):
    draft, opened = factories.study(leads=[lead], status="draft"), factories.study(leads=[lead])
    link = reverse("setup_step", args=[draft.name, "open"])
    assert link not in client.get(reverse("people", args=[draft.name])).text
    lead.user_permissions.add(factories.Permission.objects.get(codename="add_study"))
    assert link in client.get(reverse("people", args=[draft.name])).text
    assert "/setup/" + opened.name not in client.get(reverse("people", args=[opened.name])).text
