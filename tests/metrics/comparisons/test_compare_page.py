"""Two groups of annotators side by side."""

import re
from html import unescape

import pytest
from django.urls import reverse

from annotation.core.leases import JobState
from annotation.models import IdentityGroup, Judgement, ProfileAnswer, Response, Study, TaskKind
from metrics.comparisons import queries
from metrics.models import Score, ScoreRun
from metrics.score_runs import services as score_runs
from tests import factories
from tests.metrics import cast

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("few_resamples")]


KEY = "gender:man|woman"
SIDES = {"by": "gender", "first": "man", "second": "woman"}


def empty_study(name: str, leads, *, people: int = 3) -> Study:
    """Without answers; so many women and men take part."""
    study = factories.study(name, leads=leads)
    factories.task(study, kind=TaskKind.DEPICTION)
    for gender in ("man", "woman"):
        for _ in range(people):
            factories.enrolment(study, who=factories.annotator(profile={"gender": gender}))
    return study


def scored(study: Study, *, groups: dict[str, tuple[float, float]]) -> None:
    """Finished runs of the comparison of women and men, with theta and O of both sides of each group."""
    for metric, of_side, of_both in (
        ("tendency_difference", "theta", "log_theta"),
        ("offensiveness_difference", "o", "o"),
    ):
        run = score_runs.request(study=study, metric=metric, variant="corrected", parameters=SIDES)
        score_runs.compute(run_id=run.pk)
        for name, sides in groups.items():
            group = factories.group(name)
            Score.objects.create(run=run, group=group, name=of_both, value=0.125, n=4)
            for part, value in zip(("side: first", "side: second"), sides, strict=True):
                Score.objects.create(
                    run=run, group=group, part=part, name=of_side, value=value, low=value, high=value, n=4
                )


def page(client, name="one", **query) -> str:
    return re.sub(r"\s+", " ", client.get(reverse("compare", args=[name]), query).text)


def row_of(shown: str, group: str | None, *, table: int = 0) -> list[str]:
    """The cells of a group, or of the mean, without their tags: of tendencies, or of offensiveness (1)."""
    name = f"{group}</a>" if group else "Mean over the groups"
    cells = re.findall(rf">{name}</th>(.*?)</tr>", shown)[table]
    found = re.findall(r"<td[^>]*>(.*?)</td>", cells)
    return [" ".join(unescape(re.sub("<[^>]+>", "", cell)).split()) for cell in found]


def test_both_sides_and_their_difference_stand_in_one_row(client, lead):
    scored(empty_study("one", [lead]), groups={"Thai": (0.5, 2.0)})
    shown = page(client, **{"with": KEY})
    l_stereo = ["–", "–", "–", "–"]
    theta = ["0.50 [0.50, 0.50] n = 4", "2.00 [2.00, 2.00] n = 4", "0.12", "–"]
    assert row_of(shown, "Thai") == [*l_stereo, *theta]
    assert row_of(shown, "Thai", table=1) == theta
    assert "Overlapping intervals are not a test" in shown
    assert "does not certify a model" in shown


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
    choice = queries.choices(study)[0]
    assert (choice.key, choice.parameters) == (KEY, SIDES)
    asked = client.get(reverse("fresh_scores", args=["one"]), {"with": choice.key})
    assert "being computed" in asked.text
    runs = ScoreRun.objects.order_by("metric")
    assert [run.metric for run in runs] == ["offensiveness_difference", "tendency_difference"]
    for run in runs:
        assert (run.study, run.state) == (study, JobState.PENDING)
        assert '"by": "gender"' in run.parameters
    score_runs.compute_pending()
    shown = page(client, **{"with": choice.key})
    assert re.search(r">man<.*?</th>.*?>woman<.*?</th>.*?>Difference<.*?</th>.*?>q</th>", shown)
    cells = row_of(shown, "Mexican")
    for place, gender in enumerate(("man", "woman")):
        stereo, random = (mean_likelihood(gender, *texts) for texts in (cast.TEXTS[:2], cast.TEXTS[2:]))
        theta = f"{stereo / random:.2f}" if random else "∞"
        for cell, value, n in zip(cells[place::4], (f"{stereo:.2f}", theta), (2, 4), strict=True):
            bounds = "" if gender == "woman" else r" \[.+, .+\]"  # one woman says nothing of others
            assert re.fullmatch(rf"{value}{bounds} n = {n}", cell), (gender, cell)
    assert row_of(shown, None)[0] == re.sub("n = 2", "n = 1", cells[0]), "the mean is of one group"
    q = row_of(shown, "Mexican", table=1)[3]
    assert q == "–" or 0 <= float(q) <= 1


def mean_likelihood(gender: str, *texts: str) -> float:
    """The mean over attributes of the share of those of a gender who selected them, counted one by one."""
    people = ProfileAnswer.objects.filter(field="gender", value=gender).values("annotator")
    said = Judgement.objects.filter(
        response__annotator__in=people, response__unit__image__group__name="Mexican"
    )
    shares = []
    for text in texts:
        values = [one.value for one in said.filter(option__attribute__text=text)]
        shares.append(sum(values) / len(values))
    return sum(shares) / len(shares)


def test_only_groups_of_annotators_that_are_large_enough_are_offered(client, lead):
    empty_study("one", [lead], people=2)
    empty_study("two", [lead])
    assert "There are no groups of annotators to compare" in page(client)
    for name in ("compare", "fresh_scores"):
        for other in (KEY, "gender:man|nobody", "x"):
            assert client.get(reverse(name, args=["one"]), {"with": other}).status_code == 404
    # models are compared in a league
    assert client.get(reverse("fresh_scores", args=["one"]), {"with": "study:two"}).status_code == 404
    assert not ScoreRun.objects.exists()


def test_what_is_missing_is_said(client, lead):
    one = empty_study("one", [lead])
    assert "Choose what to compare" in page(client)
    shown = page(client, **{"with": KEY})
    assert "No scores yet" in shown
    [question] = re.findall(r'hx-get="([^"]+)"', shown)
    assert "with=gender%3Aman%7Cwoman" in question
    scored(one, groups={})
    shown = page(client, **{"with": KEY})
    assert "No group has results on both sides" in shown
    assert "No group has an offensiveness score on both sides" in shown


def test_the_mean_comes_first_then_regions_then_groups():
    about = (
        (None, ""),
        (None, "Europe"),
        (IdentityGroup(pk=2, name="A"), ""),
        (IdentityGroup(pk=1, name="B"), ""),
    )
    rows = [queries.ComparisonRow(group, region, ()) for group, region in about]
    assert sorted([rows[2], rows[3], rows[1], rows[0]], key=queries._sort_key) == rows


def test_queries_do_not_grow_with_the_groups(client, lead, django_assert_num_queries):
    one = empty_study("one", [lead])
    for count in (1, 20):
        scored(one, groups={f"group {count} {number}": (1.0, 1.0) for number in range(count)})
        with django_assert_num_queries(14):
            page(client, **{"with": KEY})


@pytest.mark.parametrize(("missing", "values", "offered"), [(0, 6, 16), (1, 6, 15), (0, 7, 1)])
def test_pools_need_two_groups_of_people_and_a_field_is_offered_up_to_six_values(
    monkeypatch, missing, values, offered
):
    people = range(2 * queries.MIN_GROUP_SIZE - missing)
    monkeypatch.setattr(
        queries, "annotator_profiles", lambda study: {who: {"residence": "x"} for who in people}
    )
    monkeypatch.setattr(
        queries, "selectable_groups", lambda profiles, region: [f"gender: {n}" for n in range(values)]
    )
    assert len(queries.choices(factories.study())) == offered


def test_offered_are_other_studies_of_images_and_pairs_of_image_sets_each_once(lead):
    one, two = (empty_study(name, [lead], people=0) for name in ("one", "two"))
    for study, names in ((one, "abb"), (two, "bc")):
        for version, name in enumerate(names, 2):
            images = factories.image_set(name)
            factories.task(study, kind=TaskKind.DEPICTION, version=version, image_set=images)
    factories.task(one, kind=TaskKind.VISUAL_NATURE, image_set=factories.image_set("z"))
    factories.rating_study(name="words", leads=[lead])
    with pytest.raises(ValueError, match=r"Available: against=two; by=image_set, first=a, second=b\.$"):
        queries.check_offered(lead, one, {"against": "words"})
    queries.check_offered(lead, one, {"against": "two", "by": ""})
    for given in ({}, {"against": "two"}):
        queries.check_readable(lead, given)
    other = factories.user()
    factories.study(leads=[other])
    with pytest.raises(ValueError, match="You lead no study 'two'"):
        queries.check_readable(other, {"against": "two"})
