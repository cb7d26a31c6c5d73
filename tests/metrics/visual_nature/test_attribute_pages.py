"""The table of attributes, and one attribute over all groups."""

import re
from datetime import timedelta

import pytest
from django.urls import reverse

from metrics.core.tables import Order
from metrics.models import Score, ScoreRun
from metrics.score_runs import services as score_runs
from metrics.visual_nature import queries
from tests import factories
from tests.metrics import cast

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("few_resamples")]


@pytest.fixture
def lead():
    return factories.user()


@pytest.fixture
def study(lead):
    """Images of two groups, and whether three of their attributes can be seen at all."""
    made = cast.depiction_study(name="pictures", leads=[lead])
    task = factories.task(made)
    for text, values in (("hat", [5, 5, 4]), ("kind", [1, 3, 1]), ("shy", [1, 1, 1])):
        unit = factories.attribute_unit(task, text)
        factories.responses((unit, [value], None) for value in values)
    return made


def score(study) -> None:
    for metric in ("visual_nature", "likelihood"):
        score_runs.request(study=study, metric=metric, variant="corrected")
    score_runs.compute_pending()


def table(study, *, sort="text", descending=False, **choices):
    order = Order(sort, descending)
    return queries.attribute_table(study, order=order, **{"search": "", "page": "1", **choices})


def page_of(client, user, name, *args, **query) -> str:
    client.force_login(user)
    answer = client.get(reverse(name, args=args), query)
    assert answer.status_code == 200
    return re.sub(r"\s+", " ", answer.content.decode())


def hat():
    return factories.attribute("hat")


def test_only_the_lead_and_admins_see_them(client, study, lead):
    for url in (
        reverse("attributes", args=["pictures"]),
        reverse("attribute", args=["pictures", hat().pk]),
    ):
        client.logout()
        assert client.get(url).status_code == 302
        for user, expected in ((lead, 200), (factories.user(admin=True), 200), (factories.user(), 404)):
            client.force_login(user)
            assert client.get(url).status_code == expected


def test_every_attribute_that_was_judged_has_its_row(study):
    score(study)
    for one in Score.objects.filter(attribute=hat(), name__in=("likelihood", "visual"), value__gt=0):
        values = {"run": one.run, "attribute": hat(), "group": one.group, "value": 0.9, "n": 50}
        Score.objects.create(**values, name=one.name, part="people: some")
        Score.objects.create(**values, name="another")
    votes = {"group_name": "Nepali", "text": "hat"}
    factories.association(**votes, mean=2.0, from_source=study.stereotype_source)
    factories.association(**votes, mean=4.0, from_source=factories.source("of another study"))
    rows = {row.text: row for row in table(study).rows}
    assert list(rows) == ["hat", "kind", "poor", "shy", "sombrero"]
    found = rows["hat"]
    assert (found.visual, found.mean, found.ratings) == (True, pytest.approx(14 / 3), 3)
    # 4 of 6 with Mexican images, 0 of 6 with Nepali ones
    assert (found.groups, found.k, found.n, found.share) == (2, 4, 12, pytest.approx(1 / 3))
    assert found.most == pytest.approx(4 / 6)
    assert found.offensiveness == 1.5
    assert rows["kind"].visual is False
    assert (rows["shy"].groups, rows["shy"].share) == (0, None)
    assert (rows["poor"].visual, rows["poor"].mean) == (None, None)


def test_the_mean_score_stands_with_its_interval(study, client, lead):
    score(study)
    stored = Score.objects.get(name="mean_score", attribute=hat())
    row = next(row for row in table(study).rows if row.text == "hat")
    assert (row.mean_low, row.mean_high) == (stored.low, stored.high)
    assert stored.low < stored.value <= stored.high
    shown = page_of(client, lead, "attributes", "pictures")
    assert f'4.67 <span class="interval">[{stored.low:.2f}, {stored.high:.2f}] ' in shown
    Score.objects.filter(name="mean_score").update(low=None, high=None)
    assert '4.67 <span class="interval"><span class="count">n = 3' in page_of(
        client, lead, "attributes", "pictures"
    ), "a run without resamples has a mean and no interval"


def test_the_list_says_that_numbers_of_the_source_have_no_interval(study, client, lead):
    said = "of the stereotype source have no interval"
    score(study)
    for name, args in (("attributes", ["pictures"]), ("attribute", ["pictures", hat().pk])):
        assert page_of(client, lead, name, *args).count(said) == 1


def test_it_sorts_and_searches_and_keeps_undefined_last(study):
    score(study)
    assert [row.text for row in table(study, sort="mean", descending=True).rows][:2] == ["hat", "kind"]
    assert [row.text for row in table(study, sort="share", descending=False).rows][-1] == "shy"
    assert next(row.text for row in table(study, sort="text", descending=True).rows) == "sombrero"
    assert [row.text for row in table(study, search=" OMB").rows] == ["sombrero"]
    by_groups = ["hat", "kind", "poor", "sombrero", "shy"]
    assert [row.text for row in table(study, sort="groups", descending=True).rows] == by_groups
    assert table(study, search="shy").axes == table(study).axes
    shares = {name: axis.high for name, axis in table(study).axes.items()}
    assert shares == {"mean": 5, "share": 0.34, "most": 0.7}


def test_the_table_comes_a_page_at_a_time(study, monkeypatch, client, lead):
    monkeypatch.setattr(queries, "PER_PAGE", 2)
    score(study)
    last = table(study, page="3")
    assert [row.text for row in last.rows] == ["sombrero"]
    assert (last.number, last.pages, last.total) == (3, 3, 5)
    assert "?sort=text&amp;page=2" in page_of(client, lead, "attributes", "pictures", sort="text")


def test_without_scores_the_table_says_so(study, client, lead):
    assert "No scores yet" in page_of(client, lead, "attributes", "pictures")
    score(study)
    assert "No attribute contains “nothing”" in page_of(client, lead, "attributes", "pictures", q="nothing")


def test_scores_of_a_study_that_nobody_has_answered_are_not_said_to_be_on_their_way(client, lead):
    study = factories.rating_study(name="words", texts=["hat"], leads=[lead])
    assert "No scores yet" in page_of(client, lead, "attributes", "words")
    score_runs.request(study=study, metric="visual_nature", variant="corrected")
    score_runs.compute_pending()
    page = page_of(client, lead, "attributes", "words")
    assert "No attribute has been judged yet" in page
    assert "No scores yet" not in page


def test_a_study_that_asks_about_no_attribute_alone_waits_for_no_scores(client, lead):
    factories.task(factories.study("pairs", leads=[lead]), kind="prevalence")
    page = page_of(client, lead, "attributes", "pairs")
    assert "No task of this study asks whether attributes can be seen" in page
    assert "No scores yet" not in page


def test_one_attribute_has_its_labels_its_groups_and_where_it_was_seen(study, client, lead):
    score(study)
    one = Score.objects.get(name="likelihood", attribute=hat(), group__name="Nepali", part="")
    for other in ({"name": "another"}, {"part": "people: some"}):
        Score.objects.create(
            **{
                "run": one.run,
                "attribute": hat(),
                "group": one.group,
                "name": one.name,
                "value": 1.0,
                "n": 1,
                **other,
            }
        )
    page = queries.attribute_page(study, hat())
    assert page.labels == (
        ("Strongly agree", 2),
        ("Agree", 1),
        ("Disagree", 0),
        ("Strongly disagree", 0),
        ("Unsure", 0),
    )
    assert (page.visual.value, page.visual.k, page.visual.n) == (1, 3, 3)
    assert [(one.group.name, one.score.k, one.score.n, one.stereotypical) for one in page.groups] == [
        ("Mexican", 4, 6, True),
        ("Nepali", 0, 6, False),
    ]
    assert page.groups[0].votes.offensiveness_mean == 1.0
    assert page.groups[1].votes is None
    assert [one.image.index for one in page.pictures] == [1, 2]
    shown = page_of(client, lead, "attribute", "pictures", hat().pk)
    assert '0.67 <span class="interval">[' in shown
    assert f"?group={factories.group('Mexican').pk}&amp;attribute=hat" in shown
    assert "Selected in 2 images" in shown


def test_further_scores_of_an_attribute_are_shown_by_the_name_of_their_metric(study, client, lead):
    score(study)
    run = score_runs.request(study=study, metric="agreement", variant="corrected")
    type(run).objects.filter(pk=run.pk).update(state="done", finished_at="2026-01-01T00:00Z")
    Score.objects.create(run=run, attribute=hat(), name="alpha", part="task: depiction", value=0.31, n=4)
    Score.objects.create(run=run, attribute=hat(), name="of_no_kind", value=2.0, n=4)
    shown = page_of(client, lead, "attribute", "pictures", hat().pk)
    assert "Agreement between annotators" in shown
    assert '<td class="number">0.31 ' in shown
    others = shown.split("Other scores")[-1]
    # only the one whose axis is known, which has its scale below it: another row's is not the same
    assert (others.count('<svg class="mark"'), others.count('<svg class="mark mark-scale"')) == (1, 1)


def test_an_attribute_that_the_study_does_not_ask_about_is_not_found(client, study, lead):
    client.force_login(lead)
    elsewhere = factories.attribute_unit(factories.task(), "elsewhere").attribute
    for number in (elsewhere.pk, 10**9, "9" * 400):
        assert client.get(f"/studies/pictures/attributes/{number}/").status_code == 404


def test_the_scores_of_an_attribute_are_those_of_the_newest_usual_run(study):
    score(study)
    usual = ScoreRun.objects.get(metric="likelihood")

    def run_of(**changes) -> int:
        values = {field.attname: getattr(usual, field.attname) for field in ScoreRun._meta.concrete_fields}
        later = {"finished_at": usual.finished_at + timedelta(days=1), "digest": factories.recipe_hash()}
        return ScoreRun.objects.create(**{**values, "id": None, "confirmed_at": None, **later, **changes}).pk

    for other in (
        {"variant": "published"},
        {"state": "failed", "error": "why"},
        {"version": usual.version + 1},
        {"parameters": '{"by": "gender"}'},
        {"study_id": factories.study().pk},
        {"finished_at": usual.finished_at - timedelta(days=1)},
    ):
        run_of(**other)

    def newest() -> list[int]:
        return [pk for pk, run in queries._newest_runs(study).items() if run.metric == "likelihood"]

    assert newest() == [usual.pk]
    later = run_of()
    assert newest() == [later]
    ScoreRun.objects.filter(pk=usual.pk).update(confirmed_at=usual.finished_at + timedelta(days=2))
    assert newest() == [usual.pk]


def test_a_study_without_images_has_attribute_pages_too(client, lead):
    study = cast.visual_study({"hat": [5, 5]}, name="words", leads=[lead])
    score_runs.request(study=study, metric="visual_nature", variant="corrected")
    score_runs.compute_pending()
    shown = page_of(client, lead, "attribute", "words", hat().pk)
    assert "This attribute has no scores in images" in shown
    assert reverse("gallery", args=["words"]) not in shown


def test_queries_do_not_grow_with_attributes_and_groups(study, client, lead, django_assert_num_queries):
    client.force_login(lead)
    all_of_them = reverse("attributes", args=["pictures"])
    one = reverse("attribute", args=["pictures", hat().pk])
    task = study.tasks.get(kind="depiction")

    def add(count: int) -> None:
        for index in range(count):
            picture = factories.image(group_name=f"group {count} {index}")
            unit = factories.page_unit(task, picture=picture, texts=(f"new {count} {index}", "hat"))
            factories.response(unit, values=[1, 1, 0])

    for count in (1, 8):
        add(count)
        score(study)
        with django_assert_num_queries(11):
            client.get(all_of_them)
        with django_assert_num_queries(20):
            client.get(one)
