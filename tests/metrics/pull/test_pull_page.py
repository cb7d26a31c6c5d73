"""The pull explorer: its numbers, order, images, and what it says where there is nothing; and its figure."""

import re
from dataclasses import replace

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from annotation.core.leases import JobState
from annotation.models import IdentityGroup, Image, TaskKind
from generation.models import Run, RunKind, RunState
from generation.recipes.prompts import PromptSet
from metrics.core.charts.figure import render_figure
from metrics.dashboards.figures import draw_figure
from metrics.models import Score, ScoreRun
from metrics.pull.charts import (
    Estimate,
    PullPoint,
    _count_label,
    _datum,
    _domain,
    _links_to_own,
    pull_chart,
)
from metrics.pull.queries import PullPage, PullRow, image_set_status
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


def get(client, study, user, **query):
    client.force_login(user)
    return client.get(reverse("pull", args=[study.name]), query)


def text_of(answer) -> str:
    return re.sub(r"\s+", " ", answer.content.decode())


def names_in(answer) -> list[str]:
    table = text_of(answer).split('id="groups"')[1].split("</table>")[0]
    return re.findall(r'<th scope="row"><a [^>]*>([^<]+)</a></th>', table)


def computed(study, **parameters) -> ScoreRun:
    run = score_runs.request(study=study, metric="pull", variant="corrected", parameters=parameters)
    score_runs.compute(run_id=run.pk)
    run.refresh_from_db()
    return run


def test_only_the_lead_and_admins_see_it(client, study, lead):
    url = reverse("pull", args=["pulls"])
    assert client.get(url).status_code == 302
    for user, expected in ((lead, 200), (factories.user(admin=True), 200), (factories.user(), 404)):
        client.force_login(user)
        assert client.get(url).status_code == expected


def test_the_first_visit_asks_for_the_scores_and_the_next_shows_them(client, study, lead, monkeypatch):
    sent = []
    monkeypatch.setattr("metrics.pull.views.enqueue", sent.append)
    first = text_of(get(client, study, lead))
    assert "being computed" in first
    assert "They are computed in the background" in first
    assert {run.metric for run in sent} == {"pull", "pull_contrast"}
    assert {*sent} == {*ScoreRun.objects.all()}
    for run in ScoreRun.objects.order_by("-metric"):  # pull last
        assert (run.state, run.parameters) == (JobState.PENDING, '{"run": "newest"}')
    run = ScoreRun.objects.get(metric="pull")
    score_runs.compute_pending()
    answer = get(client, study, lead)
    page = text_of(answer)
    assert "being computed" not in page
    assert names_in(answer) == ["Mexican", "Peruvian", "Nepali"]
    assert "95 % intervals from clustered standard errors of prompts" in page
    assert "embeddings by planted" in page
    assert "4 / 12 / 12" in page
    run.refresh_from_db()
    x = run.scores.get(name="x", group__name="Mexican")
    assert f'{x.value:.3f} <span class="interval">[{x.low:.3f}, {x.high:.3f}]</span>' in page
    assert ScoreRun.objects.count() == 2
    study.intervals = "bootstrap"
    study.save()
    assert "being computed" in text_of(get(client, study, lead)), "with the intervals that were chosen since"


def test_regions_and_the_whole_stand_above_and_choose_groups(client, study, lead):
    run = computed(study)
    page = text_of(get(client, study, lead))
    latin = page.split(">Latin America</a></th>")[1]
    assert latin.startswith('<td class="number">2</td><td class="number">2</td>')
    assert page.split("<strong>All groups</strong></th>")[1].startswith('<td class="number">3</td>')
    run.scores.create(name="x", part="region: Africa", value=0.1, n=1)
    run.scores.create(name="s_d_s", group=factories.group("Nepali"), part="region: Odd", value=0.1, n=1)
    found = get(client, study, lead).context["page"]
    assert [one.region for one in found.regions] == ["Africa", "Latin America", "South Asia"]
    chosen = get(client, study, lead, region="Latin America")
    assert names_in(chosen) == ["Mexican", "Peruvian"]
    assert chosen.context["kept"] == "region=Latin+America"
    assert "Groups of Latin America" in text_of(chosen)
    assert "No group of this region is reported." in text_of(get(client, study, lead, region="Europe"))


def test_it_sorts_by_every_column(client, study, lead):
    run = computed(study)
    run.scores.filter(group__name="Peruvian", name="y").update(value=None, low=None, high=None)
    assert names_in(get(client, study, lead, sort="x", dir="asc")) == ["Nepali", "Peruvian", "Mexican"]
    assert names_in(get(client, study, lead, sort="identity")) == ["Mexican", "Nepali", "Peruvian"]
    assert names_in(get(client, study, lead, sort="identity", dir="desc")) == [
        "Peruvian",
        "Nepali",
        "Mexican",
    ]
    assert names_in(get(client, study, lead, sort="region")) == ["Mexican", "Peruvian", "Nepali"]
    assert names_in(get(client, study, lead, sort="pull", dir="asc"))[0] == "Nepali"
    assert names_in(get(client, study, lead, sort="y"))[-1] == "Peruvian"  # undefined
    assert names_in(get(client, study, lead, sort="images")) == ["Mexican", "Nepali", "Peruvian"]
    assert names_in(get(client, study, lead, sort="nonsense", dir="desc")) == [
        "Mexican",
        "Peruvian",
        "Nepali",
    ]
    assert 'aria-sort="ascending"><a href="?sort=x&amp;dir=desc">' in text_of(
        get(client, study, lead, sort="x", dir="asc")
    )


def test_an_interval_that_contains_0_is_called_unsure(client, study, lead):
    run = computed(study)
    assert "(unsure)" not in text_of(get(client, study, lead))
    run.scores.filter(group__name="Mexican", name="x").update(low=-0.1)
    assert text_of(get(client, study, lead)).count("(unsure)") == 1


def test_equals_are_sorted_by_name_whatever_its_case(client, study, lead):
    computed(study)
    IdentityGroup.objects.filter(name="Peruvian").update(name="bolivian")
    assert names_in(get(client, study, lead, sort="region")) == ["bolivian", "Mexican", "Nepali"]


def test_all_rows_are_drawn_on_one_axis():
    def row(x, y, mean):
        scores = {"x": x, "y": y, "s_mean": mean}
        return PullRow(None, "", {name: Score(name=name, value=value) for name, value in scores.items()})

    axes = PullPage([row(1.5, 0.5, 0.6)], [row(0.9, 0.2, 0.6)], row(-0.5, 0.5, 0.8), []).axes
    assert axes["x"].low <= -0.5 < 1.5 <= axes["x"].high
    assert axes["s_d_s"].low <= 0.2 < 0.8 <= axes["s_d_s"].high


def test_an_interval_that_only_touches_0_is_unsure_too():
    ends = [(-1.0, 0.0), (0.0, 1.0), (0.1, 1.0), (-1.0, -0.1), (None, None)]
    rows = [PullRow(None, "", {"x": Score(name="x", value=0.5, low=low, high=high)}) for low, high in ends]
    assert [row.unsure for row in rows] == [True, True, False, False, False]


def test_a_group_shows_its_images_set_beside_set_with_their_prompts(client, study, lead):
    computed(study)
    group = IdentityGroup.objects.get(name="Mexican")
    Image.objects.filter(group=group, index=1).update(file="images/a.png", reference="", sha256="0" * 64)
    page = text_of(get(client, study, lead, group=group.pk))
    assert "Images of Mexican" in page
    for prompt in ("a Mexican person", "a photo of a Mexican person described as mexican word 1"):
        assert f'<figcaption lang="en" dir="auto">{prompt}</figcaption>' in page
    first = Image.objects.get(group=group, index=1)
    copy = reverse("thumbnail_file", args=[first.pk, 320])
    assert re.search(rf'<img src="{copy}\?0+" alt="Mexican, image 1"', page)
    assert page.count('loading="lazy"') == 1
    assert page.count("not here") == 4 + 12 + 12 - 1
    assert 'class="is-chosen"' in page
    # nobody blurs here
    assert "is-blurred" not in page


def test_different_prompts_come_first_and_pages_go_on(client, study, lead, monkeypatch):
    computed(study)
    monkeypatch.setattr("metrics.pull.queries.IMAGES_PER_PAGE", 6)
    group = IdentityGroup.objects.get(name="Mexican")
    first = get(client, study, lead, group=group.pk).context["behind"]
    assert (first.number, first.pages) == (1, 2)
    assert [len(one.images) for one in first.sets] == [4, 6, 6]
    assert len({image.prompt for image in first.sets[1].images}) == 6
    assert [one.within.name for one in first.sets] == ["s_d_d", "s_s_s", "s_ns_ns"]
    second = get(client, study, lead, group=group.pk, page=2)
    assert [len(one.images) for one in second.context["behind"].sets] == [0, 6, 6]
    assert "Page 2 of 2" in text_of(second)
    for page, nearest in (("0", 1), ("99", 2), ("x", 1)):
        assert get(client, study, lead, group=group.pk, page=page).context["behind"].number == nearest
    first.sets[0].images[0].embeddings.all().delete()  # as if the run had not come to it
    again = get(client, study, lead, group=group.pk).context["behind"]
    assert [one.total for one in again.sets] == [3, 12, 12]
    Image.objects.filter(group=group).delete()
    assert get(client, study, lead, group=group.pk).context["behind"].pages == 1


def test_images_are_blurred_where_the_study_says_so(client, study, lead):
    computed(study)
    study.blur_images = True
    study.save()
    page = text_of(get(client, study, lead, group=IdentityGroup.objects.get(name="Nepali").pk))
    assert 'class="stack is-blurred"' in page
    assert "Show these images without blur" in page


def test_a_lead_who_may_not_see_the_set_sees_prompts_and_numbers_only(client, study, lead):
    computed(study)
    study.tasks.update(image_set=None)
    page = text_of(get(client, study, lead, group=IdentityGroup.objects.get(name="Nepali").pk))
    assert "only people who may generate images can see them" in page
    assert "a photo of a Nepali person described as nepali word 1" in page
    assert "/images/" not in page
    assert "not here" not in page


def test_a_group_without_scores_has_no_images_here(client, study, lead):
    computed(study)
    for group in (factories.group("Welsh").pk, "x", "9" * 30):
        assert get(client, study, lead, group=group).status_code == 404


def test_groups_without_all_three_sets_are_named_apart(client, study, lead):
    run = Run.objects.get()
    for name in ("Welsh", "Basque"):
        pulled.group_images(run, name, sets=(PromptSet.DEFAULT,), attributes=1, each=1, default_each=1)
    computed(study)
    answer = get(client, study, lead)
    assert "Welsh" not in names_in(answer)
    assert "2 groups have no results: they lack" in text_of(answer)
    assert [group.name for group in answer.context["page"].unreported] == ["Basque", "Welsh"]


def test_another_run_can_be_chosen_by_who_may_look_at_it(client, study, lead):
    other = pulled.embedding_run(image_set="other")
    pulled.group_images(other, "Welsh", towards=0.9, region="Europe")
    assert get(client, study, lead, run=other.pk).status_code == 404
    admin = factories.user(admin=True)
    get(client, study, admin, run=other.pk)
    score_runs.compute_pending()
    answer = get(client, study, admin, run=other.pk)
    assert names_in(answer) == ["Welsh"]
    assert f"?by=region&amp;run={other.pk}" in text_of(answer)
    # without a choice it is the study's own
    get(client, study, admin)
    score_runs.compute_pending()
    answer = get(client, study, admin)
    assert names_in(answer) == ["Mexican", "Peruvian", "Nepali"]
    assert len(answer.context["runs"]) == 2
    assert get(client, study, admin, run="x").status_code == 404
    without_own = factories.study("without")
    assert get(client, without_own, admin, run=other.pk).context["embedded"] == other


def test_unknown_choices_are_those_of_the_page_without_any(client, study, lead):
    wrong = {"by": "odd", "points": "odd", "number": "odd", "group": IdentityGroup.objects.first().pk}
    found = get(client, study, lead, **wrong).context  # no scores yet, so no group has any
    assert (found["by"], found["points"], found["number"], found["row"]) == ("region", "own", "x", None)


def test_a_failed_run_says_why(client, study, lead):
    get(client, study, lead)
    ScoreRun.objects.update(state=JobState.FAILED, error="ValueError: odd", finished_at="2026-01-01T00:00Z")
    page = text_of(get(client, study, lead))
    assert "could not be computed" in page
    assert "ValueError: odd" in page


def test_without_pictures_the_page_says_what_to_do_in_the_browser_and_then_which_commands(client, lead):
    study = factories.study("fresh", leads=[lead])
    page = text_of(get(client, study, lead))
    closed = "<details> <summary>The same as commands"
    assert page.index("mean cosine similarity") < page.index(closed) < page.index("manage.py")
    shown = text_of(get(client, study, factories.user(admin=True)))
    for link in ("images/?study=fresh", "embeddings/"):
        assert f'href="/generation/new/{link}"' in shown[: shown.index(closed)]
    assert "manage.py generate fresh --prompts pull" in page
    assert "manage.py embed SET" in page
    assert not ScoreRun.objects.exists()
    run = pulled.embedding_run(study, state=RunState.RUNNING)
    pulled.group_images(run, "Mexican")
    page = text_of(get(client, study, lead))
    assert "drawn-pull" in page
    assert f"manage.py runs show {run.pk}" in page
    run.delete()
    Run.objects.all().delete()
    factories.task(study, kind=TaskKind.DEPICTION, image_set=factories.image_set("drawn-pull"))
    assert "manage.py embed set:drawn-pull" in text_of(get(client, study, lead))


def test_each_set_is_listed_with_the_newest_run_that_embeds_it():
    study = factories.study()
    states = (RunState.PAUSED, RunState.RUNNING, RunState.RUNNING, RunState.CANCELLED, RunState.DONE)
    runs = [pulled.embedding_run(study, image_set="second", state=state) for state in states]
    Run.objects.filter(pk=runs[2].pk).update(kind=RunKind.CAPTIONS)
    first = pulled.embedding_run(study, image_set="first", state=RunState.PAUSED)
    for run in (runs[0], first):
        pulled.group_images(run, "Mexican", sets=(PromptSet.DEFAULT,), default_each=1)
    other = pulled.embedding_run(study, image_set="without default prompts")
    pulled.group_images(other, "Mexican", sets=(PromptSet.STEREOTYPICAL,), attributes=1, each=1)
    assert image_set_status(study) == [(first.image_set, first), (runs[1].image_set, runs[1])]


def test_where_no_group_has_all_three_sets_the_page_says_what_is_missing(client, lead):
    study = factories.study("half", leads=[lead])
    pulled.group_images(pulled.embedding_run(study), "Mexican", sets=(PromptSet.DEFAULT,))
    get(client, study, lead)
    score_runs.compute_pending()
    page = text_of(get(client, study, lead))
    assert "No group has images of all three kinds" in page


def test_queries_grow_neither_with_the_groups_nor_with_their_images(
    client, study, lead, django_assert_max_num_queries
):
    get(client, study, lead)
    score_runs.compute_pending()
    url = reverse("pull", args=["pulls"])
    chosen = {"group": IdentityGroup.objects.get(name="Mexican").pk}

    def queries(**query) -> int:
        client.get(url, query)  # what is asked once only
        with django_assert_max_num_queries(60) as asked:
            assert client.get(url, query).status_code == 200
        return len(asked)

    few, few_images = queries(), queries(**chosen)
    assert few < few_images <= 36
    run = Run.objects.get()
    for number in range(12):
        pulled.group_images(run, f"group {number}", region="Europe", attributes=1, each=1, default_each=1)
    pulled.group_images(run, "Mexican", attributes=3)
    get(client, study, lead)
    score_runs.compute_pending()
    assert queries() == few
    assert queries(**chosen) == few_images


def test_the_figure_is_drawn_from_the_stored_run_with_its_intervals_and_links(study):
    run = computed(study)
    drawing = draw_figure(study, "pull")
    assert [row[:3] for row in drawing.rows] == [("Latin America", 2, 2), ("South Asia", 1, 0)]
    x = run.scores.get(name="x", part="region: Latin America")
    assert drawing.rows[0][3:6] == (x.value, x.low, x.high)
    assert "2 regions of 3 groups: 1 of 2 points lie right of 0" in drawing.alt
    assert "95 % intervals from clustered standard errors of prompts" in drawing.notes[0]
    groups = draw_figure(study, "pull", {"by": "group"})
    assert [row[0] for row in groups.rows] == ["Mexican", "Nepali", "Peruvian"]
    assert render_figure(groups, "csv").startswith(b"identity,region,images,x,x_low,x_high,y,")
    said = str(groups.spec)
    pk = IdentityGroup.objects.get(name="Mexican").pk
    assert f"/studies/pulls/pull/?group={pk}#images" in said
    assert "/studies/pulls/pull/?region=Latin+America#groups-of" in str(drawing.spec)
    run.scores.filter(name="x", part="region: South Asia").update(value=None, low=None, high=None)
    assert [row[0] for row in draw_figure(study, "pull").rows] == ["Latin America"]
    named = {"run": str(Run.objects.get().pk)}
    computed(study, **named)
    assert f"region=South+Asia&run={named['run']}#groups-of" in str(draw_figure(study, "pull", named).spec)
    assert f"group={pk}&run={named['run']}#images" in str(
        draw_figure(study, "pull", {**named, "by": "group"}).spec
    )


def test_the_figure_has_tooltips_with_interval_and_n(study):
    computed(study)
    (points,) = [
        layer for layer in draw_figure(study, "pull").spec["layer"] if "tooltip" in layer.get("encoding", {})
    ]
    fields = [one["field"] for one in points["encoding"]["tooltip"]]
    assert fields == ["name", "x_shown", "y_shown", "n_shown"]


def test_a_figure_of_embeddings_that_have_changed_says_so(study):
    computed(study)
    pulled.group_images(Run.objects.get(), "Welsh", region="Europe")
    assert "STALE" in draw_figure(study, "pull").notes[1]


def test_without_a_stored_run_the_figure_has_no_intervals_and_says_so(study):
    drawing = draw_figure(study, "pull")
    assert drawing.rows[0][4:6] == (None, None)
    assert "no intervals yet" in drawing.notes[0]


def test_published_points_of_regions_are_the_means_of_all_their_groups_in_the_paper(study):
    computed(study)
    drawing = draw_figure(study, "pull", {"points": "with-published"})
    own = [row for row in drawing.rows if row[-1] == "this study"]
    published = {row[0]: row for row in drawing.rows if row[-1] == "ViSAGe, published"}
    assert [row[0] for row in own] == ["Latin America", "South Asia"]
    assert len(published) == 8
    assert sum(row[1] for row in published.values()) == 135
    assert sum(row[2] for row in published.values()) == 121
    # Canadian and United States: (0.1315 + 0.0394) / 2 and (0.8355 + 0.8004) / 2
    x, y = published["North America"][3], published["North America"][6]
    assert published["North America"][1:] == (2, 2, x, None, None, y, None, None, "ViSAGe, published")
    assert (x, y) == pytest.approx((0.08545, 0.81795))


def test_published_points_of_groups_are_those_that_the_study_has_too(study):
    run = Run.objects.get()
    for name in ("Atlantean", "United KingdomUK"):
        pulled.group_images(run, name, region="Europe", attributes=1, each=1, default_each=1)
    computed(study)
    drawing = draw_figure(study, "pull", {"by": "group", "points": "with-published"})
    published = {row[0]: row[1:] for row in drawing.rows if row[-1] == "ViSAGe, published"}
    assert published == {
        "Mexican": ("Latin America", None, 0.0095, None, None, 0.8558, None, None, "ViSAGe, published"),
        "Nepali": ("South Asia", None, 0.0223, None, None, 0.937, None, None, "ViSAGe, published"),
        "Peruvian": ("Latin America", None, -0.0045, None, None, 0.8919, None, None, "ViSAGe, published"),
        "United KingdomUK": ("Europe", None, 0.0418, None, None, 0.778, None, None, "ViSAGe, published"),
    }
    assert len([row for row in drawing.rows if row[-1] == "this study"]) == 5
    joined = [layer for layer in drawing.spec["layer"] if "x_own" in str(layer["encoding"])]
    assert len(joined) == 1


@pytest.mark.parametrize("by", ["region", "group"])
def test_published_points_are_labelled_with_their_citation_in_every_export(study, by):
    computed(study)
    drawing = draw_figure(study, "pull", {"by": by, "points": "with-published"})
    assert drawing.notes[-2].startswith("Filled: this study. Outlined: as published, ")
    assert "tables 3 to 5 of Jha et al. (2024), ViSAGe, ACL 2024, doi:" in drawing.notes[-1]
    assert "ViSAGe, published: " in drawing.alt
    drawn = render_figure(drawing, "svg").decode()
    for words in ("Outlined: as published, ", "doi:10.18653/v1/2024.acl-long.667", "Filled: this study. "):
        assert words in drawn
    lines = render_figure(drawing, "csv").decode().splitlines()
    assert lines[0].endswith(",source")
    assert lines[-1].endswith(',"ViSAGe, published"')


def test_the_page_offers_published_points_and_keeps_the_choice(client, study, lead):
    computed(study)
    assert "with ViSAGe’s published points" in text_of(get(client, study, lead))
    page = text_of(get(client, study, lead, by="group", points="with-published"))
    assert "/studies/pulls/figures/pull/?by=group&amp;points=with-published" in page
    assert "by=region&amp;points=with-published" in page
    assert '<input type="hidden" name="points" value="with-published">' in page


def test_a_study_of_other_groups_is_not_offered_published_points(client, study, lead):
    IdentityGroup.objects.update(axis="other")
    computed(study)
    page = text_of(get(client, study, lead, points="with-published"))
    assert "published points" not in page
    assert 'hx-get="/studies/pulls/figures/pull/?by=region"' in page
    with pytest.raises(ValueError, match=r"hold no group of 'pulls'\. Choose points=own"):
        draw_figure(study, "pull", {"points": "with-published"})


@pytest.mark.parametrize("ending", ["svg", "png", "pdf", "csv"])
def test_the_command_writes_the_figure(study, tmp_path, ending):
    computed(study)
    out = tmp_path / f"pull.{ending}"
    call_command("figure", "pulls", "pull", out=out, set=["by=group"])
    assert out.stat().st_size > 200


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        ({"by": "colour"}, "by=colour: choose one of region, group"),
        ({"points": "all"}, "points=all: choose one of own, with-published"),
        ({"run": "999999"}, "Embedding run 999999 has no scores in 'pulls' yet"),
        ({"odd": "1"}, "has no option 'odd'. It has: by, run"),
    ],
)
def test_a_wrong_option_is_one_clear_error(study, chosen, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        draw_figure(study, "pull", chosen)


def test_a_study_without_embeddings_has_no_figure(tmp_path):
    factories.study("empty")
    with pytest.raises(CommandError, match=r"manage\.py generate empty --prompts pull"):
        call_command("figure", "empty", "pull", out=tmp_path / "x.png")


def test_a_study_without_whole_groups_has_no_figure(tmp_path):
    study = factories.study("half")
    pulled.group_images(pulled.embedding_run(study), "Mexican", sets=(PromptSet.DEFAULT,))
    with pytest.raises(CommandError, match="No region of 'half' has images of all three sets"):
        call_command("figure", "half", "pull", out=tmp_path / "x.png")


def test_the_axes_hold_every_interval_and_one_value_alone_has_room():
    assert _domain([Estimate(0.5)]) == [0.49, 0.51]
    assert _domain([Estimate(0.5, 0.4, 0.9), Estimate(1.4)]) == pytest.approx([0.32, 1.48])
    assert _domain([Estimate(0.5, 0.4, 1.0)], zero=True) == pytest.approx([-0.08, 1.08])
    assert _domain([Estimate(-1.0)], zero=True) == pytest.approx([-1.08, 0.08])


def test_a_point_says_what_it_is_of_and_its_numbers():
    x, y = Estimate(-0.1234, -0.2, 0.05), Estimate(0.5)
    region = PullPoint("", "", x, y, 1, 0)
    found = _datum(region, "region")
    assert (found["name"], found["region"], found["n_shown"]) == (
        "no region",
        "no region",
        "1 group, 0 pulled",
    )
    assert (found["x_shown"], found["y_shown"]) == ("−0.123 [−0.200, 0.050]", "0.500")
    assert "link" not in found
    assert _datum(PullPoint("a", "a", x, y, 2, 1), "region")["n_shown"] == "2 groups, 1 pulled"
    group = PullPoint("Irish", "Europe", x, y, 28, link="/x")
    assert (_datum(group, "group")["n_shown"], _datum(group, "group")["link"]) == ("28 images", "/x")
    assert _datum(replace(group, n=None), "group")["n_shown"] == "not published"
    assert _count_label([region], "region") == "1 region of 1 groups"
    assert _count_label([group, group], "group") == "2 groups"
    published = [replace(group, x=Estimate(0.3)), replace(group, region="Asia"), replace(group, name="Manx")]
    (line,) = _links_to_own([group, region], published)
    assert line == {"region": "Europe", "x": 0.3, "y": 0.5, "x_own": -0.1234, "y_own": 0.5}


def test_colours_and_shapes_serve_more_regions_than_there_are():
    points = [PullPoint(f"r{n}", f"r{n}", Estimate(0.1 * n), Estimate(0.5), 3, 2) for n in range(9)]
    assert render_figure(pull_chart(points, by="region", study="x"), "svg").startswith(b"<svg")
