"""Figures: what they show, as which files, and that they are drawn once."""

import csv
import io
import re
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from annotation.models import Study
from metrics.core.charts import figure as figure_files
from metrics.core.charts.figure import Figure, render_figure
from metrics.dashboards.figures import FIGURES, draw_figure
from metrics.score_runs import services as score_runs
from metrics.visual_nature.charts import Bar, consensus_chart
from tests import factories
from tests.metrics import cast

LEADING = Path(__file__).parents[3] / "docs" / "leading.md"
RATINGS = {"hat": [5, 5, 4], "cap": [5, 5, 5], "poor": [4, 4, 2], "kind": [1, 3, 2]}
STARTS = {"svg": b"<svg", "png": b"\x89PNG", "pdf": b"%PDF", "csv": b"label,"}


@pytest.fixture
def lead(db):
    return factories.user()


@pytest.fixture
def study(lead):
    return cast.visual_study(RATINGS, name="live", title="Live study", leads=[lead])


def bars(*percents: float) -> list[Bar]:
    return [Bar(f"label {n}", percent, 1, 4) for n, percent in enumerate(percents)]


def test_the_numbers_are_those_of_the_protocol(study):
    drawing = draw_figure(study, "consensus")
    by_people = "given by people"
    assert drawing.rows == (
        ("Strongly agree", 50.0, None, None, 2, 4, by_people),
        ("Agree", 25.0, None, None, 1, 4, by_people),
        ("Disagree", 0.0, None, None, 0, 4, by_people),
        ("Strongly disagree", 0.0, None, None, 0, 4, by_people),
        ("Unsure", 0.0, None, None, 0, 4, by_people),
    )
    assert drawing.columns == (
        "label",
        "percent",
        "low",
        "high",
        "attributes_with_consensus",
        "attributes",
        "answers",
    )


def test_the_intervals_are_those_of_a_stored_run_of_the_same_answers(study):
    run = score_runs.request(study=study, metric="consensus", variant="corrected")
    assert {row[2] for row in draw_figure(study, "consensus").rows} == {None}
    score_runs.compute(run_id=run.pk)
    drawing = draw_figure(study, "consensus")
    stored = run.scores.get(name="strongly_agree")
    assert drawing.rows[0][1:4] == (50.0, stored.low, stored.high)
    assert stored.low < 50 < stored.high
    data = drawing.spec["layer"][0].get("data", drawing.spec.get("data"))["values"][0]
    assert data["interval"] == f"{stored.low:.1f} to {stored.high:.1f} %"
    assert data["interval"] in drawing.alt
    assert "lines: 95 % intervals" in drawing.spec["title"]["subtitle"]
    factories.response(factories.attribute_unit(study.tasks.get()), values=[5])
    assert {row[2] for row in draw_figure(study, "consensus").rows} == {None}


def test_the_numbers_of_simulated_answers_say_so_in_every_row(study):
    Study.objects.update(simulated=True)
    study.refresh_from_db()
    drawing = draw_figure(study, "consensus")
    assert {row[-1] for row in drawing.rows} == {"simulated"}


def test_the_picture_says_n_and_what_its_axis_means_and_stands_on_white(study):
    spec = draw_figure(study, "consensus").spec
    assert spec["title"]["subtitle"] == "Live study; n = 4 attributes"
    assert spec["background"] == "white"
    titles = [layer["encoding"]["x"]["title"] for layer in spec["layer"]]
    assert set(titles) == {"attributes for which at least 2 annotators chose the label (%)"}


def test_pointing_at_a_bar_says_its_number_and_its_n(study):
    spec = draw_figure(study, "consensus").spec
    counted = [data["counted"] for data in spec["layer"][0].get("data", spec.get("data"))["values"]]
    assert counted[0] == "2 of 4 attributes"
    assert [field["field"] for field in spec["layer"][0]["encoding"]["tooltip"]] == [
        "label",
        "percent",
        "interval",
        "counted",
    ]


def test_the_words_for_those_who_do_not_see_it_hold_every_number(study):
    alt = draw_figure(study, "consensus").alt
    assert "of 4 attributes" in alt
    assert "Strongly agree 50.0 % (2)" in alt
    assert "Unsure 0.0 % (0)" in alt


def test_a_picture_of_simulated_answers_says_so_itself():
    real, simulated = (
        consensus_chart(bars(10), study="Live", simulated=flag).spec["title"]["subtitle"]
        for flag in (False, True)
    )
    assert real == "Live; n = 4 attributes"
    assert simulated == "Live – simulated answers; n = 4 attributes"


@pytest.mark.parametrize("highest", [0.0, 0.2, 20.41, 75.0, 100.0])
def test_no_tick_lies_beyond_a_hundred_and_the_longest_bar_fits(highest):
    spec = consensus_chart(bars(highest), study="x", simulated=False).spec
    axis = spec["layer"][0]["encoding"]["x"]
    assert axis["scale"]["domain"][1] >= highest
    assert 2 < len(axis["axis"]["values"]) < 12
    assert max(axis["axis"]["values"]) <= min(100, axis["scale"]["domain"][1])


@pytest.mark.parametrize("file_format", STARTS)
def test_it_comes_in_every_format(study, file_format):
    content = render_figure(draw_figure(study, "consensus"), file_format)
    assert content.startswith(STARTS[file_format])


def test_it_is_drawn_once_for_the_same_numbers(study, monkeypatch):
    drawn = []
    monkeypatch.setattr(figure_files, "_draw", lambda spec, fmt: drawn.append(fmt) or b"picture")
    for _ in range(3):
        render_figure(draw_figure(study, "consensus"), "svg")
    assert drawn == ["svg"]


def test_the_view_answers_not_modified_until_an_answer_comes_in(client, study, lead):
    client.force_login(lead)
    url = reverse("figure", args=["live", "consensus", "csv"])
    first = client.get(url)
    assert first["Content-Type"] == "text/csv; charset=utf-8"
    assert "private" in first["Cache-Control"]
    assert client.get(url, headers={"If-None-Match": first["ETag"]}).status_code == 304
    factories.response(factories.attribute_unit(study.tasks.get()), values=[5])
    changed = client.get(url, headers={"If-None-Match": first["ETag"]})
    assert changed.status_code == 200
    assert next(csv.DictReader(io.StringIO(changed.content.decode())))["attributes"] == "5"


def test_a_download_has_a_name(client, study, lead):
    client.force_login(lead)
    answer = client.get(reverse("figure", args=["live", "consensus", "pdf"]), {"download": ""})
    assert 'filename="live-consensus.pdf"' in answer["Content-Disposition"]


def test_the_view_keeps_strangers_out_and_knows_no_other_figure_or_format(client, study, lead):
    url = reverse("figure", args=["live", "consensus", "svg"])
    assert client.get(url).status_code == 302
    client.force_login(factories.user())
    assert client.get(url).status_code == 404
    client.force_login(lead)
    assert client.get(reverse("figure", args=["live", "nothing", "svg"])).status_code == 404
    assert client.get(reverse("figure", args=["live", "consensus", "bmp"])).status_code == 404


def test_a_study_without_ratings_has_no_figure(client, lead):
    empty = factories.study("empty", leads=[lead])
    factories.attribute_unit(factories.task(empty))
    client.force_login(lead)
    assert client.get(reverse("figure", args=["empty", "consensus", "svg"])).status_code == 404


@pytest.mark.parametrize("file_format", STARTS)
def test_the_command_writes_the_file(study, tmp_path, capsys, file_format):
    out = tmp_path / f"figure.{file_format}"
    call_command("figure", "live", "consensus", out=out)
    assert out.read_bytes().startswith(STARTS[file_format])
    assert "of 4 attributes" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("study_name", "figure", "file", "message"),
    [
        ("live", "consensus", "x.bmp", "There is no figure format 'bmp'. There are: svg, png, pdf, csv."),
        ("live", "consensus", "x.bmp", r"Use one of the extensions \.svg, \.png, \.pdf, \.csv\."),
        ("live", "consensus", "x", "There is no figure format ''"),
        ("live", "consensu", "x.png", r"no figure 'consensu'\. Did you mean 'consensus'\?"),
        ("live", None, "x.png", "Name a figure. See: manage.py figure live --list"),
        ("live", "consensus", None, "Name the file with --out; its extension determines the format: "),
        (
            "liv",
            "consensus",
            "x.png",
            r"There is no study 'liv'\. Did you mean 'live'\? There are: empty, live",
        ),
        ("empty", "consensus", "x.png", "Study 'empty' has no ratings"),
        ("live", "consensus", "no/folder/x.png", "No such file or directory"),
    ],
)
def test_a_wrong_argument_is_one_clear_error(study, tmp_path, study_name, figure, file, message):
    factories.study("empty")
    with pytest.raises(CommandError, match=message):
        call_command("figure", *filter(None, (study_name, figure)), out=file and tmp_path / file)
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_cannot_be_written_whole_is_left_as_it_was(study, tmp_path, monkeypatch):
    out = tmp_path / "figure.csv"
    out.write_text("from before")
    monkeypatch.setattr(
        "pathlib.Path.replace", lambda self, target: (_ for _ in ()).throw(OSError("disk full"))
    )
    with pytest.raises(CommandError, match="disk full"):
        call_command("figure", "live", "consensus", out=out)
    assert [path.name for path in tmp_path.iterdir()] == ["figure.csv"]
    assert out.read_text() == "from before"


def test_the_list_says_what_the_study_can_show_and_why_not(study, capsys):
    call_command("figure", "live", list=True)
    lines = {line.split()[0]: line for line in capsys.readouterr().out.splitlines()}
    assert lines.keys() >= set(FIGURES)
    assert lines["consensus"].endswith("yes")
    assert "ViSAGe, figure 6" in lines["consensus"]
    assert "no: Study 'live' has no group with an offensiveness score" in lines["map-offensiveness"]


def published(figure: str) -> set[tuple[str, int]]:
    """The published figures that one of ours names as its counterpart."""
    named = FIGURES[figure].counterpart
    paper = re.fullmatch(r"(?:after )?(ViSAGe|SeeGULL), figures? [\d, and]+", named)
    return {(paper[1], int(number)) for number in re.findall(r"\d+", named)} if paper else set()


def test_together_the_figures_are_counterparts_of_all_those_of_the_two_papers():
    """SeeGULL's 4 and 9 are one kind: twelve kinds in all. What each rule selects is a figure of our own."""
    named = {figure: published(figure) for figure in FIGURES}
    assert set().union(*named.values()) == {
        *(("ViSAGe", number) for number in (2, 3, 5, 6, 7, 8)),
        *(("SeeGULL", number) for number in (3, 4, 5, 8, 9, 10, 11)),
    }
    assert [figure for figure, numbers in named.items() if not numbers] == ["visual-rules"]


def test_a_figure_s_page_and_the_list_name_its_counterpart(client, lead, study):
    client.force_login(lead)

    def page(name, *args):
        return client.get(reverse(name, args=[study.name, *args])).content.decode()

    assert page("figure_page", "consensus").count("ViSAGe, figure 6") == 1
    assert page("figures").count("Published counterpart:") == len(FIGURES) - 1
    assert "Published counterpart:" not in page("figure_page", "visual-rules")


def test_the_documentation_says_the_same_of_each_figure():
    rows = re.findall(r"^\| `([a-z-]+)` \| (.+?) \| (.+?) \|$", LEADING.read_text(), re.MULTILINE)
    assert [(name, counterpart) for name, _, counterpart in rows] == [
        (name, source.counterpart or "none") for name, source in FIGURES.items()
    ]


def test_a_cell_that_a_spreadsheet_would_run_is_defused():
    figure = Figure("f", "F", "", ("name",), (("=1+1",), (-1.5,)), {})
    assert render_figure(figure, "csv") == b"name\r\n'=1+1\r\n-1.5\r\n"
