"""The table of identity groups: its numbers, order, search, variants, and where they come from."""

import math
import re

import pytest
from django.urls import reverse

from annotation.models import IdentityGroup
from metrics.core.marks import Axis
from metrics.depiction.queries.identities import IdentityRow, score_rows
from metrics.depiction.queries.standings import column_axes
from metrics.models import Score, ScoreRun
from metrics.score_runs import services as score_runs
from metrics.templatetags import scores
from tests import factories
from tests.metrics import cast

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("few_resamples")]


@pytest.fixture
def lead():
    return factories.user()


@pytest.fixture
def study(lead):
    return cast.depiction_study(name="pictures", leads=[lead])


def get(client, study, user, **query):
    client.force_login(user)
    return client.get(reverse("identities", args=[study.name]), query)


def score(study, *variants) -> None:
    """Compute what the page shows."""
    for variant in variants or ("corrected",):
        for metric in ("tendency", "offensiveness"):
            score_runs.request(study=study, metric=metric, variant=variant)
    score_runs.compute_pending()


def text_of(answer) -> str:
    return re.sub(r"\s+", " ", answer.content.decode())


def names_in(answer) -> list[str]:
    return re.findall(r'<th scope="row"><a [^>]*>([^<]+)</a></th>', answer.content.decode())


def finished_run(study, values: dict[str, tuple[float | None, float | None]], regions=None) -> ScoreRun:
    """A finished run for today's answers whose groups have the given l_stereo and theta."""
    run = score_runs.request(study=study, metric="tendency", variant="corrected")
    score_runs.compute(run_id=run.pk)
    run.refresh_from_db()
    run.scores.all().delete()
    for name, (stereo, theta) in values.items():
        group = factories.group(name, region=(regions or {}).get(name, ""))
        for score, value in (("l_stereo", stereo), ("l_random", 0.5), ("theta", theta)):
            Score.objects.create(run=run, group=group, name=score, value=value, n=3)
    return run


def test_only_the_lead_and_admins_see_it(client, study, lead):
    url = reverse("identities", args=["pictures"])
    assert client.get(url).status_code == 302
    for user, expected in ((lead, 200), (factories.user(admin=True), 200), (factories.user(), 404)):
        client.force_login(user)
        assert client.get(url).status_code == expected


def test_a_study_without_images_has_no_such_page(client, lead):
    study = factories.study(leads=[lead])
    factories.task(study)
    assert get(client, study, lead).status_code == 404


def test_the_first_paint_reads_no_answers_and_asks_for_nothing(client, study, lead, monkeypatch):
    def refused(*args, **kwargs):
        raise AssertionError("a digest reads the answers")

    for module in ("queries", "services"):
        monkeypatch.setattr(f"metrics.score_runs.{module}.inputs_digest", refused)
    page = text_of(get(client, study, lead))
    assert "No scores yet" in page
    question = reverse("fresh_scores", args=["pictures"])
    assert f'hx-get="{question}?of=tendency%3Acorrected&amp;of=offensiveness%3Acorrected"' in page
    assert not ScoreRun.objects.exists()


def test_finished_scores_are_shown_with_interval_and_provenance(client, study, lead):
    score(study)
    page = text_of(get(client, study, lead))
    run = ScoreRun.objects.get(metric="tendency")
    # Mexican: hat 4/6 and sombrero 1/6 stereotypical; poor 1/6 and kind 0/6 random (tests/metrics/cast.py)
    assert '<td class="number">0.42 <span class="interval">[' in page
    assert '<td class="number">0.08 <span class="interval">[' in page
    assert '<td class="number">5.00 <span class="interval">[' in page
    assert "95 % intervals from clustered standard errors of images and annotators" in page
    assert run.digest[:12] in page
    assert "at least 2 stereotypical out-region votes in votes" in page


def test_groups_with_too_few_stereotypes_are_named_apart(client, study, lead):
    score(study)
    answer = get(client, study, lead)
    assert names_in(answer) == ["Mexican"]
    assert "1 group is not reported: fewer than two stereotypical attributes" in text_of(answer)
    assert "Nepali" in text_of(answer)


def test_both_variants_are_offered_and_explained(client, study, lead):
    score(study, "corrected", "published")
    corrected, published = (
        text_of(get(client, study, lead, variant=variant)) for variant in ("corrected", "published")
    )
    assert "only real attributes count" in corrected
    assert "counts as one more random attribute" in published
    assert "5.00" in corrected
    assert "5.00" not in published
    assert 'aria-current="true">published' in published
    # anything else is the default
    assert "only real attributes count" in text_of(get(client, study, lead, variant="nonsense"))


def test_offensiveness_stands_beside_the_tendency(client, study, lead):
    score(study)
    # hat: (1/n) · L(stereo) · ΣO over hat (1) and sombrero (0), both present: 0.5 · 5/12 · 1
    row = re.search(r"Mexican</a></th>(.*?)</tr>", text_of(get(client, study, lead)))
    assert '<td class="number">0.21 <span class="interval">[' in row.group(1)
    assert "Offensiveness" in text_of(get(client, study, lead, sort="o"))


def test_it_can_be_narrowed_to_a_region(client, study, lead):
    finished_run(study, {"Thai": (1, 1), "French": (1, 1)}, regions={"Thai": "East Asia", "French": "Europe"})
    answer = get(client, study, lead, region="Europe")
    assert names_in(answer) == ["French"]
    assert "<option selected>Europe</option>" in text_of(answer)
    assert "<option>East Asia</option>" in text_of(answer), "the other regions can still be chosen"
    assert "No group of this region is reported." in text_of(get(client, study, lead, region="Mars"))


def test_it_sorts_by_every_column_and_keeps_undefined_last(client, study, lead):
    finished_run(
        study,
        {"b": (0.1, 3.0), "a": (0.2, None), "d": (0.3, float("inf")), "c": (0.3, 0.5)},
        regions={"a": "Europe", "b": "Europe", "c": "Australia", "d": "South Asia"},
    )
    assert names_in(get(client, study, lead)) == ["d", "b", "c", "a"]
    assert names_in(get(client, study, lead, sort="theta", dir="asc")) == ["c", "b", "d", "a"]
    assert names_in(get(client, study, lead, sort="identity")) == ["a", "b", "c", "d"]
    assert names_in(get(client, study, lead, sort="identity", dir="desc")) == ["d", "c", "b", "a"]
    assert names_in(get(client, study, lead, sort="l_stereo")) == ["c", "d", "a", "b"]
    assert names_in(get(client, study, lead, sort="region")) == ["c", "a", "b", "d"]
    assert names_in(get(client, study, lead, sort="n_random")) == ["a", "b", "c", "d"]
    assert names_in(get(client, study, lead, sort="nonsense", dir="desc")) == ["d", "b", "c", "a"]


def test_the_sorted_column_says_so_and_its_link_turns_it_round(client, study, lead):
    finished_run(study, {"a": (0.1, 1.0)})
    page = text_of(get(client, study, lead, sort="theta", variant="corrected"))
    assert 'aria-sort="descending"><a href="?sort=theta&amp;variant=corrected&amp;dir=asc">' in page
    assert page.count("aria-sort") == 1


def test_it_searches_names_and_regions_ignoring_case(client, study, lead):
    finished_run(study, {"Thai": (1, 1), "French": (1, 1)}, regions={"Thai": "East Asia", "French": "Europe"})
    assert names_in(get(client, study, lead, q="thAI")) == ["Thai"]
    assert names_in(get(client, study, lead, q=" europe ")) == ["French"]
    nothing = get(client, study, lead, q="<b>")
    assert "No group or region contains “&lt;b&gt;”" in text_of(nothing)


def test_a_search_finds_a_group_by_any_of_its_names():
    row = IdentityRow(
        IdentityGroup(name="Finns", demonym="Finnish", country="Suomi", region="Europe"), *[None] * 3
    )
    assert all(row.matches(text) for text in ("FINNS", "finnish", " suomi", "rope", ""))
    assert not row.matches("Dane")
    assert (row.n_stereotypical, row.n_random) == (0, 0)


def test_infinite_and_undefined_are_written_and_explained(client, study, lead):
    finished_run(study, {"a": (0.2, None), "d": (0.3, float("inf"))})
    page = text_of(get(client, study, lead))
    assert '<td class="number">∞ ' in page
    assert '<td class="number">– ' in page
    assert "“∞”: stereotypical attributes were seen, random ones never" in page


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.125, "0.12"),
        (None, "–"),
        (float("nan"), "–"),
        (float("inf"), "∞"),
        (-0.5, "−0.50"),
        (1234.5, "1,234.50"),
    ],
)
def test_numbers_are_written_alike_everywhere(value, shown):
    assert scores.plain(value) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0.004, "about 1 minute"), (0.5, "about 30 minutes"), (5.4, "about 5 hours"), (72, "about 3 days")],
)
def test_the_time_left_claims_no_more_than_it_knows(value, shown):
    assert scores.hours(value) == shown


def test_simulated_answers_are_marked(client, study, lead):
    assert "badge-simulated" not in text_of(get(client, study, lead))
    unit = factories.page_unit(study.tasks.get(), picture=factories.image(index=9))
    factories.response(unit, who=factories.annotator(simulated=True))
    assert "badge-simulated" in text_of(get(client, study, lead))


def test_queries_do_not_grow_with_the_groups(client, study, lead, django_assert_num_queries):
    finished_run(study, {"a": (0.1, 1.0)})
    client.force_login(lead)
    url = reverse("identities", args=["pictures"])
    with django_assert_num_queries(11):
        client.get(url)
    run = ScoreRun.objects.get()
    for number in range(20):
        group = factories.group(f"group {number}")
        for name in ("l_stereo", "l_random", "theta"):
            Score.objects.create(run=run, group=group, name=name, value=1, n=3)
    with django_assert_num_queries(11):
        assert len(names_in(client.get(url))) == 21


def test_each_score_is_drawn_beside_its_number_on_the_axis_of_all_groups(client, study, lead):
    values = {"Mexican": (0.4, 4.0), "Welsh": (0.8, 0.25), "Thai": (0.0, math.inf)}
    run = finished_run(study, values)
    run.scores.filter(group__name="Mexican", name="theta").update(low=1.0, high=4.0)

    def cells(**query) -> dict[str, list[str]]:
        rows = re.findall(r"<tr data-text.*?</tr>", get(client, study, lead, **query).content.decode(), re.S)
        return {
            re.search(r">([^<]+)</a></th>", row)[1]: re.findall(r"<td.*?</td>", row, re.S) for row in rows
        }

    found = cells()
    axes = column_axes(score_rows(run, None))
    assert axes["theta"] == Axis(0.2, 4.0, log=True, reference=1.0)
    assert axes["l_stereo"] == axes["l_random"] == Axis(0.0, 0.8)
    for name, (stereo, theta) in values.items():
        row = found[name]
        assert f">{stereo:.2f} <span" in row[0]
        assert f'cx="{scores.coordinate(6 + 116 * stereo / 0.8)}"' in row[0]
        assert ("<circle" in row[2]) == (theta < math.inf)
    ends = [scores.coordinate(6 + 116 * axes["theta"].place(value)) for value in (1.0, 4.0)]
    assert f'class="mark-interval" x1="{ends[0]}" y1="8" x2="{ends[1]}"' in found["Mexican"][2]
    # what is searched for is drawn where it was
    assert cells(q="mexican") == {"Mexican": found["Mexican"]}
