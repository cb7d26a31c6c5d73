"""Groups and regions against the others, and other embeddings, in the pull explorer."""

import re
from html import unescape

import pytest
from django.urls import reverse

from generation.models import Run
from metrics.models import Score, ScoreRun
from metrics.score_runs import services as score_runs
from tests import factories
from tests.metrics import pulled

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("few_resamples")]


@pytest.fixture
def lead():
    return factories.user()


@pytest.fixture
def study(lead):
    return pulled.depicted_study(lead)


@pytest.fixture
def second(study):
    """Another model's pictures of two of the groups, embedded before the study's newest."""
    run = pulled.embedding_run(study, image_set="second-model")
    pulled.group_images(run, "Mexican", region="Latin America", towards=0.1, seed=8)
    pulled.group_images(run, "Nepali", region="South Asia", towards=0.2, seed=9)
    first = Run.objects.exclude(pk=run.pk).get()
    Run.objects.filter(pk=run.pk).update(finished_at=first.started_at.replace(year=2020))
    return run


def page(client, user, **query) -> str:
    client.force_login(user)
    return " ".join(unescape(client.get(reverse("pull", args=["pulls"]), query).text).split())


def section(shown: str, name: str) -> list[list[str]]:
    """The rows of the tables of a section, without their tags."""
    found = shown[shown.index(f'aria-labelledby="{name}"') :]
    rows = re.findall(r"<tr>\s*(<th scope=\"row\">.*?)</tr>", found[: found.index("</section>")])
    cells = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in rows]
    return [[" ".join(re.sub("<[^>]+>", "", cell).split()) for cell in row] for row in cells]


def score_of(metric, name, **of) -> str:
    found = Score.objects.get(run__metric=metric, name=name, **of)
    return f"{found.value:.3f} [{found.low:.3f}, {found.high:.3f}]".replace("-", "−")


def test_the_contrast_is_computed_in_the_background_and_shown_with_its_q(client, study, lead):
    assert "No scores yet" in page(client, lead)
    score_runs.compute_pending()
    shown = page(client, lead)
    rows = section(shown, "others")
    assert [row[0] for row in rows] == ["Latin America", "South Asia", "Mexican", "Peruvian", "Nepali"]
    mexican = rows[2]
    assert mexican[1] == f"{score_of('pull_contrast', 'x', group__name='Mexican', part='')} n = 3"
    assert mexican[3] == f"{score_of('pull_contrast', 's_d_s', group__name='Mexican', part='')} n = 3"
    q = Score.objects.get(run__metric="pull_contrast", name="x_q", group__name="Mexican")
    assert mexican[2] == f"{q.value:.3f}"
    assert rows[0][1] == f"{score_of('pull_contrast', 'x', part='region: Latin America')} n = 2"
    assert "95 % intervals from clustered standard errors of " in shown


def test_a_single_group_has_no_others(client, lead):
    made = factories.study("pulls", leads=[lead])
    pulled.group_images(pulled.embedding_run(made), "Mexican")
    page(client, lead)
    score_runs.compute_pending()
    assert "This needs results of at least two groups" in page(client, lead)
    assert "Compare with other embeddings" not in page(client, lead)


def test_another_run_stands_beside_with_differences_and_q(client, study, second, lead):
    first = Run.objects.exclude(pk=second.pk).get()
    shown = page(client, lead)
    assert f"second-model: planted (run {second.pk})" in shown
    assert ScoreRun.objects.filter(metric="pull_difference").count() == 0, "nothing was asked for"
    assert "No scores yet" in page(client, lead, **{"with": second.pk})
    run = ScoreRun.objects.get(metric="pull_difference")
    assert f'"first": "{first.pk}", "second": "{second.pk}"' in run.parameters
    score_runs.compute_pending()
    shown = page(client, lead, **{"with": second.pk})
    assert f"second-model (run {second.pk})" in shown
    rows = section(shown, "compare-runs")
    assert [row[0] for row in rows] == [
        "Mean over the groups",
        "Latin America",
        "South Asia",
        "Mexican",
        "Nepali",
    ]
    mexican = rows[3]
    of = {"group__name": "Mexican"}
    for place, side in ((1, "side: first"), (2, "side: second")):
        assert mexican[place] == f"{score_of('pull_difference', 'x', part=side, **of)} n = 28"
    assert mexican[3] == score_of("pull_difference", "x", part="", **of)
    assert float(mexican[4]) < 0.05
    assert rows[1][2].endswith("n = 1")
    other = section(page(client, lead, **{"with": second.pk, "number": "s_d_ns"}), "compare-runs")[3]
    assert other[3] == score_of("pull_difference", "s_d_ns", part="", **of)
    assert ScoreRun.objects.filter(metric="pull_difference").count() == 1


def test_what_is_shown_is_asked_for_again_when_a_side_has_changed(client, study, second, lead):
    query = {"with": second.pk}
    page(client, lead, **query)
    score_runs.compute_pending()
    assert "being computed" not in page(client, lead, **query)
    pulled.group_images(second, "Peruvian", region="Latin America")
    assert "being computed" in page(client, lead, **query)
    assert len(section(page(client, lead, **query), "compare-runs")) == 5, "the old numbers stay meanwhile"


def test_two_sets_without_a_whole_group_in_common_say_so(client, study, lead):
    other = pulled.embedding_run(study, image_set="welsh")
    pulled.group_images(other, "Welsh", region="Europe")
    first = Run.objects.exclude(pk=other.pk).get()
    query = {"run": first.pk, "with": other.pk}
    page(client, lead, **query)
    score_runs.compute_pending()
    assert "No group has images of all three kinds on both sides" in page(client, lead, **query)


def test_only_runs_that_one_may_see_and_of_the_same_encoder_are_offered(client, study, second, lead):
    theirs = pulled.embedding_run(factories.study("theirs"), image_set="theirs")
    mine = pulled.embedding_run(factories.study("mine", leads=[lead]), image_set="mine")
    odd = pulled.embedding_run(study, image_set="odd-encoder")
    for run in (theirs, mine, odd):
        pulled.group_images(run, "Mexican", attributes=1, each=1)
    Run.objects.filter(pk=odd.pk).update(
        recipe={**odd.recipe, "model": "another"}, finished_at=second.finished_at.replace(year=2019)
    )
    page(client, lead)
    score_runs.compute_pending()
    shown = page(client, lead)
    offered = re.search(r'<select id="with".*?</select>', shown).group()
    assert f'value="{second.pk}"' in offered
    assert f'value="{mine.pk}"' in offered
    for run, user, status in (
        (theirs, lead, 404),
        (odd, lead, 404),
        (mine, lead, 200),
        (theirs, factories.user(admin=True), 200),
    ):
        client.force_login(user)
        assert client.get(reverse("pull", args=["pulls"]), {"with": run.pk}).status_code == status
    for asked in ("x", "0", "9" * 30):
        assert client.get(reverse("pull", args=["pulls"]), {"with": asked}).status_code == 404


def test_queries_do_not_grow_with_what_is_compared(
    client, study, second, lead, django_assert_max_num_queries
):
    query = {"with": second.pk}

    def queries() -> int:
        page(client, lead, **query)
        score_runs.compute_pending()
        page(client, lead, **query)
        with django_assert_max_num_queries(60) as asked:
            client.get(reverse("pull", args=["pulls"]), query)
        assert "being computed" not in page(client, lead, **query)
        return len(asked)

    few = queries()
    for number in range(8):
        for run in Run.objects.all():
            pulled.group_images(run, f"group {number}", region="Europe", attributes=1, each=1)
    assert queries() == few <= 40
