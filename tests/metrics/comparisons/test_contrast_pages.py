"""Each identity group and region against the others, where a lead looks for it."""

import re
from html import unescape

import pytest
from django.urls import reverse

from annotation.models import IdentityGroup
from metrics.models import Score, ScoreRun
from metrics.score_runs import services as score_runs
from tests import factories
from tests.metrics import cast

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("few_resamples")]
Q = "q is adjusted for the number of comparisons"


@pytest.fixture
def study(lead):
    """Two groups that are reported, of two regions.

    Mexican: hat 4/6 and sombrero 1/6, so L(stereo) is 5/12, and O 5/24; Nepali: neither was ever seen, so
    there is no O. Welsh: one stereotype, which everybody saw and which is rated 2, so there is no tendency.
    """
    made = cast.depiction_study(name="pictures", leads=[lead])
    for text in ("hat", "sombrero"):
        factories.association(
            group_name="Nepali", text=text, out_votes=(3, 0, 0), from_source=made.stereotype_source
        )
    factories.association(
        group_name="Welsh",
        text="poor",
        out_votes=(3, 0, 0),
        ratings=[2, 2, 2],
        from_source=made.stereotype_source,
    )
    pictures = factories.images((1, 2), group_name="Welsh")
    units = factories.page_units(made.tasks.get(), [(picture, ("poor",)) for picture in pictures])
    factories.responses((unit, [1, 0], factories.annotator()) for unit in units for _ in range(3))
    for name, region in (
        ("Mexican", "Latin America"),
        ("Nepali", "South Asia"),
        ("Welsh", "Europe"),
    ):
        IdentityGroup.objects.filter(name=name).update(region=region)
    return made


def page(client, name="compare", *more) -> str:
    answer = client.get(reverse(name, args=["pictures", *more]))
    return " ".join(unescape(answer.text).split())


def rows_of(shown: str) -> list[list[str]]:
    """The rows of the tables of the section, without their tags."""
    section = shown[shown.index('id="others"') :]
    rows = re.findall(r"<tr>(<th scope=\"row\">.*?)</tr>", section)
    cells = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in rows]
    return [[" ".join(re.sub("<[^>]+>", "", cell).split()) for cell in row] for row in cells]


def score(study) -> ScoreRun:
    """Both contrasts computed; the run of the tendency."""
    run, _ = (
        score_runs.request(study=study, metric=metric, variant="corrected")
        for metric in ("tendency_contrast", "offensiveness_contrast")
    )
    score_runs.compute_pending()
    return run


def test_it_is_asked_for_in_the_background_and_its_absence_is_said(client, study):
    shown = page(client)
    assert "Each group and region compared with the others" in shown
    assert "No scores yet" in shown
    question = re.search(r'hx-get="([^"]+fresh[^"]+)"', shown).group(1)
    assert "of=tendency_contrast%3Acorrected" in question
    assert "being computed" in client.get(question).text
    assert {run.metric for run in ScoreRun.objects.all()} == {
        "tendency_contrast",
        "offensiveness_contrast",
        "tendency_ranking",
    }


def test_regions_and_groups_stand_with_interval_and_q_the_largest_first(client, study):
    score(study)
    shown = page(client)
    assert Q in shown
    assert "does not certify a model" in shown
    rows = rows_of(shown)
    assert [row[0] for row in rows] == ["Latin America", "South Asia", "Europe", "Mexican", "Nepali", "Welsh"]
    of_tendency, of_offensiveness = ("0.42", "−0.42", None) * 2, ("−1.79", None, "1.79") * 2
    for place, values in ((1, of_tendency), (3, of_offensiveness)):
        for row, value, n in zip(rows, values, (1, 1, 1, 2, 2, 2), strict=True):
            difference, q = row[place : place + 2]
            if value is None:
                assert (difference, q) == ("–", "–")
                continue
            assert re.fullmatch(rf"{value} \[−?\d\.\d\d, −?\d\.\d\d\] n = {n}", difference)
            assert 0 < float(q) <= 1
    assert f'href="{reverse("identity", args=["pictures", factories.group("Mexican").pk])}"' in shown


def test_a_group_is_told_on_its_own_page_how_it_stands_against_the_others(client, study):
    mexican = factories.group("Mexican").pk
    assert "Against the other groups" not in page(client, "identity", mexican)
    run = score(study)
    shown = page(client, "identity", mexican)
    q = run.scores.get(group=mexican, name="l_stereo_q").value
    assert re.search(rf"<strong>0\.42</strong> <span[^>]*>\[[^\]]+\] n = 2</span>, q = {q:.3f}\.", shown)
    assert Q in shown
    assert f'href="{reverse("compare", args=["pictures"])}#others"' in shown
    assert "Offensiveness of its depiction minus the mean of all others: <strong>−1.79</strong>" in shown
    nepali = page(client, "identity", factories.group("Nepali").pk)
    assert "<strong>−0.42</strong>" in nepali
    assert "Offensiveness of its depiction less" not in nepali
    welsh = page(client, "identity", factories.group("Welsh").pk)
    assert "<strong>1.79</strong>" in welsh
    assert "L(stereo) of this group less" not in welsh


def test_a_single_group_has_no_others(client, lead):
    score(cast.depiction_study(name="pictures", leads=[lead]))
    assert "This needs results of at least two groups" in page(client)
    assert "Against the other groups" not in page(client, "identity", factories.group("Mexican").pk)


def test_queries_do_not_grow_with_the_groups(client, study, django_assert_num_queries):
    run = score(study)
    for count in (1, 20):
        for number in range(count):
            group = factories.group(f"group {count} {number}")
            Score.objects.create(run=run, group=group, name="l_stereo", value=number, n=2)
        with django_assert_num_queries(11):
            page(client)
