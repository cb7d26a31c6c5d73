"""The world maps: what they colour, what they leave out, and what they say."""

import pytest
from django.urls import reverse

from annotation.models import Annotator, IdentityGroup, Region
from metrics.core.charts.figure import Figure, render_figure
from metrics.core.figure_sources import NothingToDraw
from metrics.dashboards.figures import draw_figure
from metrics.depiction.charts.maps import MapGroup, MapTexts, world_map
from metrics.depiction.figures import maps
from metrics.score_runs import services as score_runs
from tests import factories
from tests.metrics import cast

WORDS = MapTexts("m", "A map", "things", "Things", "More", ("things",))


@pytest.fixture
def study(db):
    made = cast.depiction_study(name="pictures", title="Pictures")
    for name, country in (("Mexican", "Mexico"), ("Nepali", "Nepal")):
        IdentityGroup.objects.filter(name=name).update(country=country, region=Region.LATIN_AMERICA)
    return made


def placed(group: str, country: str, value: float | None, **fields) -> MapGroup:
    return MapGroup(group, country, value, shown=str(value), cells=(value,), **fields)


def drawn_map(groups: list[MapGroup]) -> Figure:
    return world_map(groups, WORDS, subtitle="of this", alt_text="Things of groups.")


def marks(figure: Figure) -> dict[str, dict]:
    """{country: what its mark says} of the countries that have one."""
    found = figure.spec["datasets"]
    return {one["country"]: one for one in (*found["areas"], *found["dots"]) if one["state"]}


def test_a_country_has_the_number_of_its_group_and_leads_to_it():
    drawn = marks(drawn_map([placed("Mexican", "Mexico", 3, link="/there/")]))
    assert drawn.keys() == {"Mexico (Mexican)"}
    assert drawn["Mexico (Mexican)"]["value"] == 3
    assert drawn["Mexico (Mexican)"]["link"] == "/there/"


def test_two_groups_of_one_country_are_averaged_and_both_named():
    groups = [placed("Nepali", "Nepal", 2.0), placed("Nepalese", "Nepal", 5.0), placed("X", "Nepal", None)]
    drawn = marks(drawn_map(groups))["Nepal (Nepali, Nepalese, X)"]
    assert drawn["value"] == 3.5
    assert drawn["shown"] == "Nepali: 2.0; Nepalese: 5.0; X: None"


def test_no_score_is_not_zero_and_not_absent():
    figure = drawn_map([placed("Indian", "India", 0.0), placed("Thai", "Thailand", None)])
    states = {name: (mark["state"], mark["value"]) for name, mark in marks(figure).items()}
    assert states == {"India (Indian)": ("scored", 0.0), "Thailand (Thai)": ("judged, no score", None)}
    assert [row[-1] for row in figure.rows] == [0.0, None]


def test_who_is_on_no_map_stands_beneath_it_and_in_the_table():
    figure = drawn_map([placed("Welsh", "United Kingdom", 4), placed("Thai", "Thailand", 1)])
    assert figure.notes[-1] == "Not on the map: Welsh (4)."
    assert figure.notes[-1] in figure.alt
    assert ("Welsh", "United Kingdom", "", 4) in figure.rows
    assert ("Thai", "Thailand", "THA", 1) in figure.rows
    assert b"Not on the map: Welsh" in render_figure(figure, "svg")


def test_a_small_country_is_a_dot():
    dots = drawn_map([placed("Maltese", "Malta", 1)]).spec["datasets"]["dots"]
    assert [dot["country"] for dot in dots] == ["Malta (Maltese)"]


def test_the_map_has_equal_areas():
    layers = drawn_map([placed("Thai", "Thailand", 1)]).spec["vconcat"][0]["layer"]
    assert {layer["projection"]["type"] for layer in layers} == {"equalEarth"}


def test_stereotypes_are_counted_with_the_likeliest_first(study, monkeypatch):
    figure = draw_figure(study, "map-stereotypes")
    assert figure.alt.endswith(
        "of the group: n = 2 visual stereotypes. Highest: Mexican 2; Nepali 0. White: not in this study."
    )
    mexican = next(row for row in figure.rows if row[0] == "Mexican")
    # hat 4 of 6 times, sombrero 1 of 6
    assert mexican[1:] == ("Mexico", "MEX", 2, 4 / 6, "hat 0.67; sombrero 0.17", "given by people")
    assert next(row for row in figure.rows if row[0] == "Nepali")[3] == 0
    mark = marks(figure)["Mexico (Mexican)"]
    assert mark["detail"] == "hat 0.67, sombrero 0.17"
    assert mark["link"] == reverse("identity", args=["pictures", factories.group("Mexican").pk])
    monkeypatch.setattr(maps, "_NAMED", 1)
    mark = marks(draw_figure(study, "map-stereotypes"))["Mexico (Mexican)"]
    assert mark["detail"] == "hat 0.67 …"


def test_only_visual_attributes_count_where_the_study_asks_which_are(study):
    task = factories.task(study)
    for text, value in (("hat", 5), ("sombrero", 1)):
        unit = factories.attribute_unit(task, text)
        for _ in range(3):
            factories.response(unit, values=[value])
    figure = draw_figure(study, "map-stereotypes")
    assert next(row for row in figure.rows if row[0] == "Mexican")[3:6] == (1, 4 / 6, "hat 0.67")


def test_groups_with_images_lead_to_their_page_and_others_nowhere(study):
    unit = factories.attribute_unit(factories.task(study), "hat")
    for _ in range(3):
        factories.response(unit, values=[5])
    factories.association(
        group_name="Cuban", text="hat", out_votes=(2, 0, 0), from_source=study.stereotype_source
    )
    IdentityGroup.objects.filter(name="Cuban").update(country="Cuba")
    drawn = marks(draw_figure(study, "map-stereotypes"))
    assert "link" not in drawn["Cuba (Cuban)"]
    nepali = factories.group("Nepali")
    assert drawn["Nepal (Nepali)"]["link"] == reverse("identity", args=["pictures", nepali.pk])


def test_simulated_answers_are_named_where_the_map_is_read_out(study):
    assert "simulated" not in draw_figure(study, "map-offensiveness").alt
    Annotator.objects.update(simulated=True)
    assert "(simulated answers): " in draw_figure(study, "map-offensiveness").alt


def test_the_other_map_shows_l_stereo_and_no_score_for_one_stereotype(study):
    figure = draw_figure(study, "map-stereotypes", {"show": "likely"})
    assert "1 groups with more than one stereotype judged" in figure.alt
    scores = {row[0]: row[3] for row in figure.rows}
    assert scores == {"Mexican": pytest.approx((4 / 6 + 1 / 6) / 2), "Nepali": None}


def test_a_stored_run_of_the_same_answers_gives_the_intervals(study, settings):
    settings.BOOTSTRAP_RESAMPLES = 100
    without = draw_figure(study, "map-stereotypes", {"show": "likely"}).rows[0]
    score_runs.request(study=study, metric="tendency", variant="corrected")
    score_runs.compute_pending()
    row = draw_figure(study, "map-stereotypes", {"show": "likely"}).rows[0]
    assert without[4:6] == (None, None)
    assert row[4] <= row[3] <= row[5]
    factories.response(
        factories.page_unit(study.tasks.get(), picture=factories.image(index=3)), values=[1, 0, 0, 0, 0]
    )
    assert draw_figure(study, "map-stereotypes", {"show": "likely"}).rows[0][4] is None


def test_offensiveness_is_shown_scaled_and_raw(study):
    figure = draw_figure(study, "map-offensiveness")
    mexican, nepali = figure.rows
    # L(stereo) 5/12, mean ratings 1 and 0 of the two stereotypes seen, n = 2
    assert mexican[4] == pytest.approx(5 / 12 * (1 + 0) / 2)
    assert "raw O = 0.208, the same for all" in marks(figure)["Mexico (Mexican)"]["shown"]
    assert nepali[3:5] == (None, None)
    assert "1 of 2 groups have a score. Highest: Mexican raw O" in figure.alt
    assert marks(figure)["Mexico (Mexican)"]["detail"] == "2 rated attributes"
    assert marks(figure)["Nepal (Nepali)"]["state"] == "judged, no score"


@pytest.mark.parametrize("name", ["map-stereotypes", "map-offensiveness"])
def test_a_study_that_cannot_be_on_a_map_says_why(db, name):
    with pytest.raises(NothingToDraw, match="Study 'empty' "):
        draw_figure(factories.study("empty"), name)


def test_states_are_on_no_map_of_countries(study):
    IdentityGroup.objects.update(axis="us_state")
    with pytest.raises(NothingToDraw, match="not about nationalities"):
        draw_figure(study, "map-stereotypes")


def test_an_option_that_cannot_be_is_named(study):
    with pytest.raises(ValueError, match="show=x: choose one of number, likely"):
        draw_figure(study, "map-stereotypes", {"show": "x"})
