"""The commands scores, agreement and reproduce: their columns, formats and refusals."""

import csv
import io
import json
import re
from dataclasses import replace

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from annotation.models import Response, Study, TaskKind
from metrics.core import published_tables
from metrics.management import output
from metrics.management.commands import scores
from metrics.reproduction.comparison import DIFFERS, EQUAL, TRUNCATED, compare
from metrics.score_runs.evaluation import Evaluation
from metrics.score_runs.rows import ScoreRow
from tests import factories
from tests.metrics.cast import depiction_study, visual_study

pytestmark = pytest.mark.django_db
COLUMNS = (
    "identity,n_stereotypical,n_random,l_stereo,l_stereo_low,l_stereo_high,l_random,l_random_low,l_random_high,"
    "theta,theta_low,theta_high"
)


def run(*arguments, errors=None):
    out = io.StringIO()
    call_command(*arguments, stdout=out, stderr=errors or io.StringIO())
    return out.getvalue()


def test_tendency_as_csv_has_exactly_the_agreed_columns_and_nothing_but_data():
    depiction_study(name="small")
    lines = run("scores", "small", "--format", "csv", "--resamples", "100").splitlines()
    assert lines[0] == COLUMNS
    assert len(lines) == 2
    assert lines[1].startswith("Mexican,2,2,")


def test_without_resamples_the_bounds_are_empty():
    depiction_study(name="small")
    (row,) = csv.DictReader(io.StringIO(run("scores", "small", "--format", "csv", "--resamples", "0")))
    assert float(row["theta"]) == pytest.approx(5)
    assert row["theta_low"] == row["theta_high"] == row["l_stereo_low"] == ""


def test_infinite_is_inf_and_undefined_is_empty_in_csv():
    depiction_study(name="small")
    poor = Response.objects.filter(judgements__option__attribute__text="poor", judgements__value=1)
    poor.update(withdrawn_at="2024-01-01T00:00Z")
    (row,) = csv.DictReader(io.StringIO(run("scores", "small", "--format", "csv")))
    assert (row["theta"], row["theta_high"]) == ("inf", "inf")
    Response.objects.filter(judgements__option__attribute__text="hat", judgements__value=1).update(
        withdrawn_at="2024-01-01T00:00Z"
    )
    (row,) = csv.DictReader(io.StringIO(run("scores", "small", "--format", "csv")))
    assert (row["l_stereo"], row["theta"], row["theta_low"]) == ("0.0", "", "")


def test_csv_holds_nothing_that_a_spreadsheet_would_run_and_leaves_numbers_alone():
    cells = ["=cmd()", "+1", "-1", "@x", "＝1", "plain", -0.5, -1, True, None]
    columns = [str(number) for number in range(len(cells))]
    table = output.as_csv(columns, [dict(zip(columns, cells, strict=True))])
    assert table.splitlines()[1] == "'=cmd(),'+1,'-1,'@x,'＝1,plain,-0.5,-1,yes,"


def test_a_table_is_as_wide_as_its_cells_with_numbers_to_the_right():
    rows = [
        {"name": "ab", "n": 5, "p": 0.25, "ok": True},
        {"name": None, "n": None, "p": float("inf"), "ok": False},
    ]
    assert output.as_table(["name", "n", "p", "ok"], rows).splitlines() == [
        "name  n       p   ok",
        "ab    5  0.2500  yes",
        "–     –       ∞   no",
    ]
    assert output.as_csv(["p", "ok"], rows).splitlines() == ["p,ok", "0.25,yes", "inf,no"]


def test_a_setting_is_a_name_and_all_that_follows_the_first_sign():
    assert output.parse_settings(["a=b=c", "d="]) == {"a": "b=c", "d": ""}
    for wrong in ("a", "=b"):
        with pytest.raises(ValueError, match=f"--set {wrong}: write --set NAME=VALUE"):
            output.parse_settings([wrong])


@pytest.mark.parametrize(
    ("intervals", "resamples", "found", "name"),
    [
        (None, None, None, "clustered"),
        ("clustered", None, None, "clustered"),
        ("bootstrap", None, 1000, "bootstrap"),
        ("bootstrap", 200, 200, "bootstrap"),
        (None, 200, 200, "bootstrap"),
        (None, 0, 0, ""),
    ],
)
def test_resamples_are_those_given_or_of_the_method(settings, intervals, resamples, found, name):
    settings.BOOTSTRAP_RESAMPLES = 1000
    assert output.resamples_of({"intervals": intervals, "resamples": resamples}) == found
    assert output.method_name(found) == name
    with pytest.raises(ValueError, match="option of --intervals bootstrap"):
        output.resamples_of({"intervals": "clustered", "resamples": 0})


def test_every_digit_is_kept_in_csv():
    depiction_study(name="small")
    (row,) = csv.DictReader(io.StringIO(run("scores", "small", "--format", "csv")))
    assert float(row["l_random"]) == 1 / 12


def test_json_says_where_the_numbers_come_from():
    depiction_study(name="small")
    found = json.loads(run("scores", "small", "--format", "json", "--resamples", "100", "--seed", "4"))
    assert found["interval"]["resamples"] == 100
    assert found["interval"]["seed"] == 4
    assert {"infinite", "undefined", "method"} <= set(found["interval"])
    assert (found["metric"], found["version"], found["variant"]) == ("tendency", 2, "corrected")
    assert len(found["digest"]) == 64
    assert "at least 2" in found["rule"]
    assert found["rows"][0]["identity"] == "Mexican"
    assert found["simulated"] is False


def test_the_table_ends_with_its_provenance():
    depiction_study(name="small")
    last = run("scores", "small", "--resamples", "100").splitlines()[-1]
    for part in ("1 rows", "version 2, corrected", "at least 2", "100 resamples, seed 0", "inputs "):
        assert part in last


@pytest.mark.parametrize(
    ("metric", "header"),
    [
        ("likelihood", "identity,attribute,stereotypical,k,n,likelihood,low,high"),
        ("offensiveness", "identity,n,o,o_low,o_high,o_scaled,unrated"),
        ("visual_nature", "attribute,n,k,visual,mean_score,mean_low,mean_high"),
        ("consensus", "label,n,k,percent,low,high"),
    ],
)
def test_every_metric_has_its_columns_in_every_format(metric, header):
    study = depiction_study(name="small")
    unit = factories.attribute_unit(factories.task(study), "hat")
    for score in (5, 4, 4):
        factories.response(unit, values=[score])
    lines = run("scores", "small", "--metric", metric, "--format", "csv", "--resamples", "100").splitlines()
    assert lines[0] == header
    assert len(lines) > 1
    assert (
        len(json.loads(run("scores", "small", "--metric", metric, "--format", "json"))["rows"])
        == len(lines) - 1
    )
    assert metric in run("scores", "small", "--metric", metric)


def test_scores_of_a_group_or_an_attribute_stand_in_one_row():
    def row(name, value, n, group, **given):
        return ScoreRow(name, value, n, group_id=len(group), group=group, **given)

    assert scores.tendency_rows(
        (
            row("l_stereo", 0.5, 2, "Irish", low=0.1, high=0.9),
            row("l_random", 0.25, 3, "Irish"),
            row("theta", 2.0, 5, "Irish"),
        )
    ) == [
        {
            "identity": "Irish",
            "l_stereo": 0.5,
            "l_stereo_low": 0.1,
            "l_stereo_high": 0.9,
            "n_stereotypical": 2,
            "l_random": 0.25,
            "l_random_low": None,
            "l_random_high": None,
            "n_random": 3,
            "theta": 2.0,
            "theta_low": None,
            "theta_high": None,
        }
    ]
    assert scores.offensiveness_rows(
        (
            row("o", 0.5, 3, "Irish", low=0.1, high=0.9),
            row("o_scaled", 0.6, 3, "Irish", low=0.2, high=0.8),
            row("unrated", 2.0, 4, "Irish"),
            row("unrated", None, 4, "Manx"),
        )
    ) == [
        {"identity": "Irish", "n": 3, "o": 0.5, "o_low": 0.1, "o_high": 0.9, "o_scaled": 0.6, "unrated": 2},
        {
            "identity": "Manx",
            "n": 0,
            "o": None,
            "o_low": None,
            "o_high": None,
            "o_scaled": None,
            "unrated": 0,
        },
    ]
    hat = {"attribute_id": 1, "attribute": "hat"}
    assert scores.visual_rows(
        (ScoreRow("visual", 1.0, 3, k=2, **hat), ScoreRow("mean_score", 4.5, 3, low=4.0, high=5.0, **hat))
    ) == [
        {
            "attribute": "hat",
            "n": 3,
            "visual": True,
            "k": 2,
            "mean_score": 4.5,
            "mean_low": 4.0,
            "mean_high": 5.0,
        }
    ]
    [none] = scores.plain_rows("likelihood", (ScoreRow("likelihood", 0.5, 4),))
    assert (none["attribute"], none["likelihood"]) == ("none of the above", 0.5)


def test_json_names_the_scores_whose_resamples_were_infinite_or_undefined():
    rows = (
        ScoreRow("theta", 2.0, 5, infinite=3, undefined=0),
        ScoreRow("l_stereo", 0.5, 2, infinite=0, undefined=4),
        ScoreRow("l_random", 0.5, 3, infinite=0, undefined=0),
    )
    drawn = Evaluation("tendency", 2, "corrected", "", "bootstrap", 0, 100, "", {}, rows)
    interval = scores._about("small", False, drawn)["interval"]
    assert (interval["infinite"], interval["undefined"]) == (3, 4)
    assert [one["score"] for one in interval["of_each_score"]] == ["theta", "l_stereo"]
    clustered = replace(drawn, intervals="clustered", resamples=0)
    assert "infinite" not in scores._about("small", False, clustered)["interval"]


def test_a_comparison_with_simulated_answers_says_so():
    depiction_study(name="small")
    factories.task(factories.study("other", simulated=True), kind=TaskKind.DEPICTION)
    given = ("--metric", "tendency_difference", "--set", "against=other", "--resamples", "0")
    assert json.loads(run("scores", "small", *given, "--format", "json"))["simulated"] is True


@pytest.mark.parametrize("asked", [[], ["--metric", "tendency"], ["--metric", "offensiveness"]])
def test_a_study_of_ratings_says_what_there_is_and_how_to_ask_for_it(asked):
    visual_study({"hat": [5, 4, 5]}, name="words")
    with pytest.raises(CommandError, match="the study 'words' has tasks of kind visual_nature") as refused:
        run("scores", "words", *asked)
    lines = [line.strip() for line in str(refused.value).splitlines()]
    assert lines[1:] == [
        "manage.py scores words --metric visual_nature",
        "manage.py scores words --metric consensus",
        "manage.py scores words --metric visual_rules",
        "manage.py agreement words",
        "manage.py export words --format csv --out FILE.csv",
    ]
    assert all(run(*line.split()[1:]) for line in lines[1:5]), "each can be asked for just so"


@pytest.mark.parametrize(
    ("kind", "metric"),
    [(TaskKind.PREVALENCE, "prevalence"), (TaskKind.OFFENSIVENESS, "rated_offensiveness")],
)
def test_every_kind_of_task_has_a_metric_to_ask_for(kind, metric):
    factories.task(factories.study("words"), kind=kind)
    with pytest.raises(CommandError, match=f"manage.py scores words --metric {metric}"):
        run("scores", "words")
    assert "nothing to score yet" in run("scores", "words", "--metric", metric)


def test_a_study_without_any_metric_still_names_the_other_ways():
    factories.study("words")
    with pytest.raises(CommandError, match=r"manage\.py agreement words") as refused:
        run("scores", "words")
    assert "--metric" not in str(refused.value)


def test_where_nobody_has_answered_the_table_says_so():
    factories.rating_study(name="words")
    shown = run("scores", "words", "--metric", "consensus")
    assert "There is nothing to score yet" in shown or "strongly_agree" in shown
    factories.task(factories.study("pictures"), kind=TaskKind.DEPICTION)
    assert "There is nothing to score yet" in run("scores", "pictures")
    assert json.loads(run("scores", "pictures", "--format", "json"))["rows"] == []


def test_simulated_answers_are_named_beside_the_numbers_and_never_among_the_data():
    depiction_study(name="small", simulated=True)
    errors = io.StringIO()
    assert run("scores", "small", "--format", "csv", errors=errors).splitlines()[0] == COLUMNS
    assert "SIMULATED" in errors.getvalue()
    assert "SIMULATED" in run("scores", "small")
    assert "SIMULATED" in run("agreement", "small")
    assert json.loads(run("scores", "small", "--format", "json"))["simulated"] is True


def test_one_simulated_annotator_is_enough_to_say_so():
    depiction_study(name="small")
    Response.objects.first().annotator.__class__.objects.update(simulated=True)
    assert "SIMULATED" in run("scores", "small")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["smal"], "Did you mean 'small'\\? There are: small"),
        (["small", "--metric", "tendencies"], "Did you mean 'tendency'\\? There are: tendency, likelihood"),
        (["small", "--variant", "correct"], "Did you mean 'corrected'"),
        (["small", "--resamples", "3"], "at least 100, or 0"),
        (["small", "--seed", "-3"], "A seed is"),
        ([], "Name a study"),
    ],
)
def test_what_is_not_there_is_refused_with_the_nearest_name(arguments, message):
    depiction_study(name="small")
    with pytest.raises(CommandError, match=message):
        run("scores", *arguments)


def test_without_any_study_the_error_says_how_to_get_one():
    with pytest.raises(CommandError, match="import_visage"):
        run("scores", "visage")


def agreement(*arguments):
    rows = csv.DictReader(io.StringIO(run("agreement", *arguments, "--format", "csv")))
    return {
        (row["task"], row["labels"], row["scope"], row["group"], row["other"]): row
        for row in rows
        if row["level"] != "interval"
    }


def test_agreement_reads_unsure_as_missing_on_the_ordinal_scale_and_as_a_label_on_the_nominal_one():
    visual_study({"hat": [5, 5, 3], "kind": [1, 1, 2], "poor": [4, 5, 4]}, name="small")
    found = agreement("small")
    ordinal = found["visual_nature", "Unsure as missing", "all", "", ""]
    nominal = found["visual_nature", "all labels", "all", "", ""]
    assert (ordinal["ratings"], nominal["ratings"]) == ("8", "9")
    assert (ordinal["level"], nominal["level"]) == ("ordinal", "nominal")
    assert ordinal["fleiss_kappa"] == ""
    assert nominal["fleiss_kappa"] != ""
    # 3 pairs in each of 3 units; one agreeing pair in each
    assert float(nominal["percentage"]) == pytest.approx(100 / 3)


def test_agreement_on_images_is_per_image_and_attribute_with_the_boxes_beside_it():
    study = depiction_study(name="small")
    selected = Response.objects.filter(unit__image__group__name="Mexican", unit__image__index=1)
    for response in selected:
        judgement = response.judgements.get(option__attribute__text="hat")
        if judgement.value:
            judgement.boxes.create(x0=0, y0=0, x1=10, y1=10, image_width=512, image_height=512)
    row = agreement("small")["depiction", "all labels", "all", "", ""]
    # 4 images of 4 attributes; none of the above is not among them
    assert (row["units"], row["ratings"]) == ("16", "48")
    assert (float(row["box_iou"]), row["box_pairs"]) == (1, "1")
    assert study.tasks.count() == 1


def test_people_are_compared_within_and_between_what_they_say_of_themselves():
    people = [
        factories.annotator(profile={"gender": said} if said else None) for said in ("Woman", "woman", "")
    ]
    people.append(factories.annotator(profile={"gender": "man"}))
    visual_study({"hat": [5, 5, 1, 5], "kind": [1, 1, 5, 2]}, name="small", people=people, strata=["any"] * 4)
    found = agreement("small", "--by", "gender")
    women = found["visual_nature", "all labels", "within", "Woman", ""]
    assert (float(women["percentage"]), float(women["alpha"])) == (100, 1)
    assert found["visual_nature", "all labels", "within", "not stated", ""]["ratings"] == "2"
    across = found["visual_nature", "all labels", "between", "Woman", "man"]
    assert (across["pairs"], float(across["percentage"])) == ("4", 50)
    assert not [key for key in found if "not stated" in key and key[2] == "between"]
    text = run("agreement", "small", "--by", "gender")
    assert "are not compared with others" in text
    assert "no pools" not in text
    assert "alpha_undefined" not in text, "a column without a value"
    assert "alpha_p" not in run("agreement", "small", "--by", "gender", "--resamples", "0", "--format", "csv")


def test_an_unidentified_annotator_is_of_the_origin_that_the_slot_was_reserved_for():
    strata = ("origin: Asia", "origin: EMEA", "origin: North America")
    visual_study({"hat": [5, 5, 1], "kind": [1, 1, 5]}, name="small", strata=strata)
    found = agreement("small", "--by", "origin")
    assert float(found["visual_nature", "all labels", "between", "Asia", "EMEA"]["cross_kappa"]) == 1
    assert (
        float(found["visual_nature", "all labels", "between", "Asia", "North America"]["cross_kappa"]) == -1
    )
    assert found["visual_nature", "all labels", "within", "Asia", ""]["alpha"] == ""


def test_pools_follow_from_residence_and_the_region_of_the_judged_group():
    study = factories.study("small")
    group = factories.group("Mexican", region="Latin America")
    task = factories.task(study, kind=TaskKind.DEPICTION)
    unit = factories.page_unit(task, picture=factories.image(group_name=group.name))
    for profile in (
        {"residence": "Latin America"},
        {"residence": "North America", "identity_region": "latin america"},
        {"residence": "Europe"},
    ):
        factories.response(unit, who=factories.annotator(profile=profile))
    factories.response(factories.attribute_unit(factories.task(study), "hat"))
    groups = {key[3] for key in agreement("small", "--by", "pool") if key[2] == "within"}
    assert groups == {"in-region", "out-region", "neither pool"}
    assert "no pools" in run("agreement", "small", "--by", "pool")


def test_a_study_without_answers_has_nothing_to_compare():
    factories.study("small")
    with pytest.raises(CommandError, match="no answers yet"):
        run("agreement", "small")


@pytest.mark.parametrize(
    ("printed", "computed", "expected"),
    [
        ("22.16", 22.1665, ("22.17", TRUNCATED)),
        ("0.2", 0.2006, ("0.2", EQUAL)),
        ("40057", 120170 / 3, ("40057", EQUAL)),
        ("0.35", 0.3449, ("0.34", DIFFERS)),
        ("0.13", 0.125, ("0.13", EQUAL)),
        ("N/A", float("inf"), ("N/A", EQUAL)),
        ("N/A", 2.0, ("2.00", DIFFERS)),
        ("75.00", float("inf"), ("N/A", DIFFERS)),
        ("0.00", None, ("undefined", DIFFERS)),
    ],
)
def test_a_number_is_compared_in_the_form_in_which_it_was_printed(printed, computed, expected):
    assert compare(printed, computed) == expected


PULL = {"identity": "United Kingdom", "s_d_s": "0.3", "s_d_ns": "0.2", "s_s_ns": "0.1000", "s_mean": "0.2"}


def small_visage(monkeypatch, printed, *, visual="1", **pull):
    study = depiction_study(name="visage")
    unit = factories.attribute_unit(factories.task(study), "hat")
    for score in (5, 5, 4):
        factories.response(unit, values=[score])
    tables = {
        "visage_tables_1_2.csv": printed,
        "visage_facts.csv": [
            {"quantity": "strongly_agree", "printed": "100.0", "where": "text"},
            {"quantity": "times as likely", "printed": "3", "where": "abstract"},
        ],
        "visage_tables_3_5.csv": [PULL | pull],
        "visage_visual_stereotypes.csv": [{"identity": "Mexican", "visual_stereotypes": visual}],
    }
    monkeypatch.setattr(published_tables, "published_rows", tables.__getitem__)


ROW = {"identity": "Mexican", "l_stereo": "0.42", "l_random": "0.06", "theta": "7.50"}


def test_reproduce_puts_published_and_computed_side_by_side(monkeypatch):
    small_visage(monkeypatch, [ROW])
    text = run("reproduce", "visage")
    assert "1 groups computed; 1 published, 1 of them equal to every printed digit." in text
    assert re.search(
        r"^Mexican +0\.42 {4}0\.06 {4}7\.50 {12,}0\.42 {4}0\.06 {4}7\.50  equal$", text, re.MULTILINE
    )
    assert re.search(
        r"^United KingdomUK     0\.3     0\.2  0\.1000     0\.2 +0\.2000 +equal$", text, re.MULTILINE
    )
    assert "Not reproducible from the release" in text
    found = json.loads(run("reproduce", "visage", "--format", "json"))
    assert (found["compared"], found["equal"]) == (1, 1)
    lines = run("reproduce", "visage", "--format", "csv").splitlines()
    assert lines[:2] == [
        "section,item,quantity,published,computed,result",
        "tables 1-2,Mexican,l_stereo,0.42,0.42,equal",
    ]


def test_what_was_not_published_is_never_filled_in_and_differs(monkeypatch):
    small_visage(monkeypatch, [])
    with pytest.raises(CommandError, match=r"Mexican, theta: published nothing, computed 7\.50"):
        run("reproduce", "visage")


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"visual": "2"}, "Mexican, visual stereotypes: published 2, computed 1"),
        ({"s_mean": "0.2002"}, "United KingdomUK, s_mean: published 0.2002, computed 0.2000"),
    ],
)
def test_reproduce_compares_visual_stereotypes_and_the_means_of_pull(monkeypatch, wrong, message):
    small_visage(monkeypatch, [ROW], **wrong)
    with pytest.raises(CommandError, match=f"1 published numbers are not reproduced: {message}"):
        run("reproduce", "visage")


def test_a_mean_of_rounded_numbers_may_be_off_by_their_rounding(monkeypatch):
    small_visage(monkeypatch, [ROW], s_mean="0.2001")
    rows = json.loads(run("reproduce", "visage", "--format", "json"))["rows"]
    assert [row["result"] for row in rows if row["section"] == "tables 3-5"] == [
        *["not in the release: it has no embeddings"] * 3,
        "equal within the rounding of the three",
    ]


@pytest.mark.parametrize("wrong", [{"theta": "2.51"}, {"identity": "Atlantean"}])
def test_reproduce_fails_and_names_what_does_not_come_out(monkeypatch, wrong):
    small_visage(monkeypatch, [ROW | wrong])
    with pytest.raises(CommandError, match=f"are not reproduced.*{wrong.get('identity', 'Mexican')}"):
        run("reproduce", "visage")


def test_only_a_published_study_can_be_reproduced():
    with pytest.raises(CommandError, match="Did you mean 'visage'"):
        run("reproduce", "visag")
    with pytest.raises(CommandError, match="import_visage"):
        run("reproduce", "visage")
    factories.study("visage")
    with pytest.raises(CommandError, match="no answers of kind depiction, visual_nature"):
        run("reproduce", "visage")
    assert Study.objects.count() == 1
