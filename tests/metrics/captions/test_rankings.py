"""Figures of the foremost attributes: what they show, of whom, and what they say of it."""

import csv
import io

import pytest
from django.urls import reverse

from annotation.models import IdentityGroup, Response, Study
from generation.models import Run
from metrics.captions.charts import Panel, RankedBar, RankingTexts, ranking_chart
from metrics.captions.figures import _bars
from metrics.core.charts.figure import render_figure
from metrics.core.figure_sources import NothingToDraw
from metrics.dashboards.figures import draw_figure
from metrics.score_runs import services as score_runs
from metrics.score_runs.rows import ScoreRow
from tests import factories
from tests.metrics import captioned, cast


def table(figure) -> list[dict]:
    return list(csv.DictReader(io.StringIO(render_figure(figure, "csv").decode())))


def bars(figure) -> dict[tuple[str, str], list[str]]:
    """{(panel, measure): attributes in their order}."""
    found: dict[tuple[str, str], list[str]] = {}
    for row in table(figure):
        of = row.get("identity") or row["region"]
        found.setdefault((of, row["measure"]), []).append(row["attribute"])
    return found


def data(figure) -> list[dict]:
    """The data of every bar, wherever in the specification they stand."""

    def within(part) -> list[dict]:
        if isinstance(part, list):
            return [datum for one in part for datum in within(one)]
        if not isinstance(part, dict):
            return []
        return [part] if "attribute" in part else within(list(part.values()))

    return within(figure.spec)


LIKELY, SALIENT = "likelihood L(attr, id)", "salience in captions"


@pytest.mark.django_db
class TestTopAttributes:
    def test_the_most_likely_beside_the_most_salient(self):
        figure = draw_figure(captioned.captioned_study(), "top-attributes")
        assert bars(figure) == {
            ("Mexican", LIKELY): ["hat", "poor", "sombrero"],
            ("Mexican", SALIENT): ["hat", "sombrero"],
            ("Nepali", LIKELY): ["kind"],
            ("Nepali", SALIENT): ["kind", "hat"],
        }
        assert list(bars(figure)) == sorted(bars(figure)), "groups by name"

    def test_every_bar_tells_k_and_n_and_whether_it_is_a_stereotype_and_leads_to_its_group(self):
        study = captioned.captioned_study(name="told")
        figure = draw_figure(study, "top-attributes")
        row = table(figure)[0]
        assert (row["attribute"], row["k"], row["n"]) == ("hat", "4", "6")
        assert (row["stereotype_of_the_group"], row["answers"]) == ("yes", "given by people")
        poor = next(one for one in data(figure) if one["attribute"] == "poor")
        mexican = IdentityGroup.objects.get(name="Mexican")
        assert poor["known"] == "no"
        assert poor["n"] == 6
        assert poor["link"] == reverse("identity", args=["told", mexican.pk])

    def test_intervals_come_from_a_stored_run_of_the_same_inputs(self):
        study = captioned.captioned_study()
        before = draw_figure(study, "top-attributes")
        assert {row["low"] for row in table(before)} == {""}
        for metric in ("likelihood", "salience"):
            run = score_runs.request(study=study, metric=metric, variant="corrected", resamples=100)
            score_runs.compute(run_id=run.pk)
        after = draw_figure(study, "top-attributes")
        assert bars(after) == bars(before)
        assert all(float(row["low"]) <= float(row["value"]) <= float(row["high"]) for row in table(after))
        assert all(one["low"] <= one["value"] <= one["high"] for one in data(after))
        assert all(one["low"] is None for one in data(before))
        Response.objects.filter(pk=Response.objects.filter(unit__task__kind="depiction")[:1]).update(
            current=False
        )
        newer = table(draw_figure(study, "top-attributes"))
        assert {row["low"] for row in newer if row["measure"] == LIKELY} == {""}

    def test_without_captions_it_shows_likelihood_alone_and_says_so(self):
        figure = draw_figure(cast.depiction_study(), "top-attributes")
        assert {measure for _, measure in bars(figure)} == {LIKELY}
        assert figure.notes[-1] == "Only likelihood, no captions: nothing was captioned yet."
        assert figure.notes[-1] in figure.spec["title"]["subtitle"]

    def test_without_answers_it_shows_salience_alone_and_says_so(self):
        study = factories.study()
        task = factories.task(study, kind="depiction")
        factories.page_unit(task, picture=factories.image())
        captioned.of_study(study, {("Mexican", 1): ["a hat"]})
        figure = draw_figure(study, "top-attributes")
        assert bars(figure) == {("Mexican", SALIENT): ["hat"]}
        assert "Only salience: nobody has judged images yet." in figure.notes
        assert "link" not in data(figure)[0]

    def test_without_either_there_is_nothing_to_draw(self):
        with pytest.raises(NothingToDraw, match="neither answers about what images depict nor captions"):
            draw_figure(factories.study(), "top-attributes")

    def test_a_group_in_whose_captions_nothing_was_found_has_a_panel_that_says_so(self):
        study = cast.depiction_study()
        captioned.of_study(study, {("Mexican", 1): ["a hat"]})
        figure = draw_figure(study, "top-attributes")
        assert "Nepali, salience in captions: none found" in figure.alt
        assert render_figure(figure, "svg").count(b"none found") >= 1

    def test_options(self):
        study = captioned.captioned_study()
        one = draw_figure(study, "top-attributes", {"group": "nepali", "top": "1"})
        assert bars(one) == {("Nepali", LIKELY): ["kind"], ("Nepali", SALIENT): ["kind"]}
        visual = draw_figure(study, "top-attributes", {"attributes": "visual"})
        assert bars(visual)["Nepali", SALIENT] == ["hat"]
        assert any("searched for visual attributes" in note for note in visual.notes)
        run = captioned.of_study(study, {("Mexican", 1): ["poor"]})
        older = Run.objects.exclude(pk=run.pk).get()
        named = draw_figure(study, "top-attributes", {"run": str(older.pk)})
        assert bars(named)["Mexican", SALIENT] == ["hat", "sombrero"]

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"group": "Mexicam"}, "group=Mexicam: there is no such group here. Did you mean 'Mexican'"),
            ({"top": "0"}, "top=0: choose a number from 1 to 20"),
            ({"top": "many"}, "top=many: choose a number"),
            ({"attributes": "some"}, "attributes is 'some': choose all or visual"),
            ({"run": "0"}, "'0' is no finished captioning run"),
            ({"colour": "red"}, "has no option 'colour'"),
        ],
    )
    def test_an_option_that_cannot_be_is_refused_with_the_cure(self, options, message):
        with pytest.raises(ValueError, match=message):
            draw_figure(captioned.captioned_study(), "top-attributes", options)

    def test_the_first_six_groups_are_shown_and_it_says_of_how_many(self):
        study = cast.depiction_study()
        task = study.tasks.get()
        for name in "ABCDEF":
            unit = factories.page_unit(task, picture=factories.image(group_name=name))
            factories.response(unit, values=[1, 0, 0, 0, 0])
        figure = draw_figure(study, "top-attributes")
        assert {group for group, _ in bars(figure)} == set("ABCDEF")
        assert "6 of 8 groups" in figure.spec["title"]["subtitle"][0]

    def test_simulated_answers_are_named_in_the_picture_and_in_every_row(self):
        study = captioned.captioned_study()
        Study.objects.update(simulated=True)
        study.refresh_from_db()
        figure = draw_figure(study, "top-attributes")
        assert "simulated answers" in figure.spec["title"]["subtitle"][0]
        assert {row["answers"] for row in table(figure)} == {"simulated"}


@pytest.mark.django_db
class TestSalientStereotypes:
    @pytest.fixture
    def study(self):
        source = factories.source("votes")
        for group, region, text, votes in (
            ("Mexican", "Latin America", "sombrero", 3),
            ("Mexican", "Latin America", "poor", 2),
            ("Peruvian", "Latin America", "poor", 3),
            ("Indian", "South Asia", "poor", 2),
            ("Indian", "South Asia", "sari", 2),
        ):
            factories.group(group, region=region)
            factories.association(
                group_name=group, text=text, out_votes=(votes, 0, 0), in_votes=(0, 3, 0), from_source=source
            )
        return factories.study("votes", title="Votes", stereotype_source=source)

    def test_of_each_country_of_the_first_region_there_is(self, study):
        """In the order in which regions are listed everywhere."""
        figure = draw_figure(study, "salient")
        assert bars(figure) == {("Indian", "salience in its region"): ["poor", "sari"]}
        assert figure.spec["title"]["text"] == "Most salient stereotypes in South Asia"

    def test_of_a_region_that_is_named(self, study):
        figure = draw_figure(study, "salient", {"region": "Latin America"})
        assert bars(figure) == {
            ("Mexican", "salience in its region"): ["sombrero", "poor"],
            ("Peruvian", "salience in its region"): ["poor"],
        }
        assert figure.title == "Most salient stereotypes in Latin America"
        assert "those with the most votes" not in figure.alt
        assert "link" not in data(figure)[0]
        row = table(figure)[0]
        assert (row["attribute"], row["k"], row["n"]) == ("sombrero", "3", "5")
        assert row["answers"] == "votes of the stereotype source"
        assert figure.notes[0].startswith("Stereotypical: at least 2 stereotypical out-region votes")

    def test_a_group_of_which_images_were_judged_leads_to_its_page(self):
        study = cast.depiction_study(name="judged")
        mexican = IdentityGroup.objects.get(name="Mexican")
        IdentityGroup.objects.filter(pk=mexican.pk).update(region="Latin America")
        links = {bar["link"] for bar in data(draw_figure(study, "salient", {"group": "Mexican"}))}
        assert links == {reverse("identity", args=["judged", mexican.pk])}

    def test_of_a_group_that_is_named(self, study):
        figure = draw_figure(study, "salient", {"group": "indian", "top": "1"})
        assert bars(figure) == {("Indian", "salience in its region"): ["poor"]}
        assert figure.title == "Most salient stereotypes in South Asia"

    def test_of_many_groups_those_with_the_most_votes(self, study):
        for number in range(14):
            factories.group(f"G{number:02}", region="Latin America")
            factories.association(
                group_name=f"G{number:02}",
                text="loud",
                out_votes=(2 + (number > 1), 0, 0),
                from_source=study.stereotype_source,
            )
        figure = draw_figure(study, "salient", {"region": "Latin America"})
        shown = {group for group, _ in bars(figure)}
        assert len(shown) == 12
        assert "Mexican" in shown
        assert not {"G00", "G01"} & shown
        assert [group for group, _ in bars(figure)] == sorted(shown)
        assert "12 of the 16 groups with a stereotype, those with the most votes" in figure.alt

    def test_of_each_region_among_regions(self, study):
        figure = draw_figure(study, "salience-regions")
        assert bars(figure) == {
            ("Latin America", "salience among regions"): ["poor", "sombrero"],
            ("South Asia", "salience among regions"): ["sari", "poor"],
        }
        assert [region for region, _ in bars(figure)] == ["South Asia", "Latin America"]
        assert (table(figure)[0]["k"], table(figure)[0]["n"]) == ("2", "4")

    @pytest.mark.parametrize(
        ("name", "options", "message"),
        [
            ("salient", {"region": "Atlantis"}, "region=Atlantis: choose one of Sub-Saharan Africa"),
            ("salient", {"region": "Europe"}, "No group of Europe has a stereotype"),
            ("salient", {"group": "Indiam"}, "Did you mean 'Indian'"),
            ("salience-regions", {"top": "21"}, "top=21: choose a number from 1 to 20"),
        ],
    )
    def test_an_option_that_cannot_be_is_refused_with_the_cure(self, study, name, options, message):
        with pytest.raises(ValueError, match=message):
            draw_figure(study, name, options)

    def test_of_fewer_than_two_regions_none_stands_out(self, study):
        study.stereotype_source.associations.filter(group__name="Indian").delete()
        with pytest.raises(NothingToDraw, match="fewer than two regions"):
            draw_figure(study, "salience-regions")

    @pytest.mark.parametrize("name", ["salient", "salience-regions"])
    def test_attributes_that_the_source_prints_as_lemmas_stay_so_and_the_figure_says_whose_they_are(
        self, study, name
    ):
        factories.association(
            group_name="Indian",
            text="poorly educate",
            out_votes=(3, 0, 0),
            from_source=study.stereotype_source,
        )
        figure = draw_figure(study, name)
        assert "poorly educate" in [row["attribute"] for row in table(figure)]
        assert figure.notes[-1] == "Attributes as the source prints them."

    @pytest.mark.parametrize("name", ["salient", "salience-regions"])
    def test_a_study_without_a_source_says_what_is_missing(self, name):
        with pytest.raises(NothingToDraw, match="no stereotype source is set"):
            draw_figure(factories.study("bare"), name)


def ranked(value, **fields) -> RankedBar:
    return RankedBar(fields.pop("attribute", "hat"), value, 1, 2, **fields)


def drawn(*panels):
    return ranking_chart(panels, RankingTexts("x", "Title", ("study; n",), "identity", "given by people"))


class TestDrawing:
    def test_of_equal_bars_that_of_more_comes_first_then_that_of_the_first_letter(self):
        rows = [
            ScoreRow("likelihood", value, n, group_id=1, attribute_id=n, attribute=attribute)
            for value, n, attribute in ((0.5, 4, "a"), (0.5, 6, "c"), (0.5, 6, "b"), (0.0, 9, "d"))
        ]
        assert [bar.attribute for bar in _bars(rows, 9, None, "")] == ["b", "c", "a"]
        assert [bar.known for bar in _bars(rows, 2, {(1, 4)}, "")] == [False, False]
        assert _bars(rows[:1], 2, {(1, 4)}, "")[0].known

    def test_panels_of_one_measure_share_their_scale_and_others_do_not(self):
        figure = drawn(
            Panel("A", "likelihood", "k of n", (ranked(0.2),)),
            Panel("B", "likelihood", "k of n", (ranked(0.8, high=0.9, low=0.1),)),
            Panel("A", "salience", "k of n", (ranked(0.01),)),
        )
        wide = {(one["group"], one["measure"]): one["share"] / one["value"] for one in data(figure)}
        assert wide["A", "likelihood"] == pytest.approx(wide["B", "likelihood"])
        assert wide["A", "salience"] > 50 * wide["A", "likelihood"]
        assert all(one["end_share"] < 0.7 for one in data(figure)), "no room for the numbers"

    def test_the_order_is_that_of_the_bars(self):
        figure = drawn(Panel("A", "m", "k of n", (ranked(0.1, attribute="z"), ranked(0.9, attribute="a"))))
        svg = render_figure(figure, "svg").decode()
        assert svg.index(">z<") < svg.index(">a<")
        assert [(one["rank"], one["attribute"]) for one in data(figure)] == [(1, "z"), (2, "a")]

    def test_an_interval_is_drawn_where_there_is_one(self):
        without, with_one = (
            drawn(Panel("A", "m", "k of n", (ranked(0.3, low=low, high=high),)))
            for low, high in ((None, None), (0.1, 0.5))
        )
        rules = [
            sum(layer["mark"]["type"] == "rule" for layer in figure.spec["concat"][0]["layer"])
            for figure in (without, with_one)
        ]
        assert rules == [0, 2]
        assert data(with_one)[0]["shown"] == "0.300, 95 % 0.100 to 0.500"

    @pytest.mark.parametrize("file_format", ["svg", "png", "pdf"])
    def test_it_is_drawn_in_every_format_with_no_bar_at_all_too(self, file_format):
        figure = drawn(Panel("A", "m", "k of n", ()), Panel("B", "m", "k of n", (ranked(0.5, known=False),)))
        assert len(render_figure(figure, file_format)) > 1000
