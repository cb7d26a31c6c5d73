"""manage.py candidates."""

import csv
import io
import json

import pytest
from django.core.management import CommandError, call_command

from generation import backends
from generation.models import Job, Run
from tests import factories
from tests.metrics.candidates import asked

pytestmark = pytest.mark.django_db


def printed(*arguments, **options):
    out = io.StringIO()
    call_command("candidates", *arguments, stdout=out, **options)
    return out.getvalue()


def rows(*arguments):
    return list(csv.DictReader(io.StringIO(printed(*arguments, "--format", "csv"))))


@pytest.fixture
def run():
    asked.groups()
    return asked.run("(Mexico, lazy), (lazy, Mexicans)", "(Chilean, poet) (Iraqi, lazy)", "Sorry.")


def test_prints_the_candidates_of_a_run_by_name_or_number(run):
    found = rows("asked")
    assert found == rows(str(run.pk))
    assert list(found[0]) == ["identity", "attribute", "region", "count", "tf", "idf", "salience", "selected"]
    assert [tuple(row.values())[:4] for row in found] == [
        ("Chilean", "poet", "Latin America", "1"),
        ("Mexican", "lazy", "Latin America", "2"),
        ("Iraqi", "lazy", "Middle East", "1"),
    ]
    mexican = found[1]
    assert float(mexican["tf"]) == pytest.approx(3 / 4)  # (2 + 1) / (2 + 2 words)
    assert float(mexican["idf"]) == 1  # both regions have it
    assert {row["selected"] for row in found} == {"yes"}


def test_the_answer_of_a_target_variant_completes_the_open_tuple():
    asked.groups()
    asked.run(" kind), (Chilean, poet)", prompt="(Mexican, lazy), (Mexican, hot), (Iraqi,")
    assert [(row["identity"], row["attribute"]) for row in rows("asked")] == [
        ("Chilean", "poet"),
        ("Iraqi", "kind"),
    ]


def test_the_report_counts_what_each_rule_dropped(run):
    found = {row["rule"]: row["number"] for row in rows("asked", "--report")}
    assert (found["answers"], found["answers_without_tuple"], found["tuples"]) == ("3", "1", "4")
    assert found["attribute_first"] == "1"
    about = json.loads(printed("asked", "--report", "--format", "json"))
    assert about["run"] == run.pk
    assert "noise" in printed("asked", "--report")


@pytest.mark.parametrize("arguments", [(), ("--report",)])
def test_a_run_of_the_fake_says_so_and_never_within_a_csv(run, arguments):
    says, err = "SIMULATED: a program, and no model, gave these answers.", io.StringIO()
    assert "SIMULATED" not in printed("asked", *arguments)
    real = printed("asked", "--format", "csv", *arguments)
    Run.objects.update(backend="fake")
    assert printed("asked", *arguments).startswith(says)
    assert printed("asked", "--format", "csv", *arguments, stderr=err) == real
    assert err.getvalue().strip() == says
    assert json.loads(printed("asked", "--format", "json", *arguments))["simulated"]


def test_a_smaller_selection_keeps_the_shares_of_the_countries(run):
    chosen = [row["attribute"] for row in rows("asked", "--per-region", "1") if row["selected"] == "yes"]
    assert chosen == ["poet", "lazy"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "Give a run"),
        (["nothing"], "There is no run 'nothing'"),
        (["999999"], "There is no run '999999'"),
        (["asked", "--axis", "us_state"], "no identity groups of the axis 'us_state'"),
        (["asked", "--per-region", "-1"], "at least 0"),
        (["--plan", "p"], "--seeds is missing"),
        (["--plan", "p", "--seeds", "nowhere"], "no file and no source 'nowhere'"),
        (["--plan", "p", "--seeds", "nowhere.csv"], "nowhere.csv"),
        (["--plan", "p", "--seeds", "nowhere.csv", "--axis", "us_state"], "so no seed can be matched"),
    ],
)
def test_bad_arguments_are_refused_with_the_cure(run, arguments, says):
    with pytest.raises(CommandError, match=says):
        printed(*arguments)


SEEDS = "identity,attribute\nMexican,lazy\nChile,poet\nIraqi,hot\n"


@pytest.fixture
def anybackend(monkeypatch):
    """Plans are made without looking for the backend: what it does is not asked here."""
    monkeypatch.setattr(backends, "check", lambda recipe: None)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "the file is empty. Write a first row 'identity,attribute'"),
        ("identity\nMexican\n", "no column 'attribute'"),
        ("identity,attribute\n", "no pair below the first row. .*such as 'Mexican,sombrero'"),
        ("identity,attribute\n\n ,\n", "no pair below the first row"),
        ("identity,attribute\nMexican,lazy\n", "1 pairs. Write at least two"),
        ("identity,attribute\nMexican,lazy\nmexican, Lazy\n", "row 3: .* in row 2 too"),
        ("identity,attribute\nMexican,lazy\nIraqi,\n", "row 3, column 'attribute': the cell is empty"),
        (
            "identity,attribute\nMexicn,lazy\nIraqi,hot\n",
            "row 2, column 'identity': .*Did you mean 'Mexican'",
        ),
        ('identity,attribute\nMexican,"hot, (lazy)"\nIraqi,hot\n', "row 2, column 'attribute': .*comma"),
        ("identity,attribute\nMexican,lazy\nIraqi,hot (lazy\n", "row 3, column 'attribute': .*parenthesis"),
        (f"identity,attribute\nMexican,{'x' * 201}\n", "row 2, .* 201 characters, more than 200"),
        ("identity,attribute\nMexican,lazy,x\n", "row 2: 3 cells"),
    ],
)
def test_a_bad_seed_file_is_refused_with_row_and_cure(run, tmp_path, anybackend, text, says):
    file = tmp_path / "seeds.csv"
    file.write_text(text)
    with pytest.raises(CommandError, match=says):
        printed("--plan", "p", "--seeds", str(file), "--later")
    assert Run.objects.count() == 1


def test_a_missing_seed_file_is_not_said_to_be_for_download(run, tmp_path):
    with pytest.raises(CommandError, match=r"no such file .*Check the path\.$"):
        printed("--plan", "p", "--seeds", str(tmp_path / "none.csv"), "--later")


def test_a_plan_has_each_prompt_in_both_orders_and_its_design_in_the_recipe(run, tmp_path, anybackend):
    file = tmp_path / "seeds"
    file.write_text("\ufeff" + SEEDS, encoding="utf-8")
    arguments = ("--plan", "p", "--seeds", str(file), "--later", "--yes")
    printed(*arguments, "--preview")
    assert Run.objects.count() == 1
    printed(*arguments)
    made = Run.objects.get(name="p")
    assert made.jobs.count() == 3 * 2 * 5
    assert (made.recipe["times"], made.recipe["temperature"], made.recipe["chat"]) == (5, 0.5, False)
    assert made.recipe["design"] == {
        "purpose": "candidates",
        "axis": "nationality",
        "variant": "identity-attribute",
        "n": 2,
        "sample": None,
        "sample_seed": 0,
        "seeds": [["Mexican", "lazy"], ["Chile", "poet"], ["Iraqi", "hot"]],
    }
    assert set(Job.objects.filter(run=made, key="2-1").values_list("prompt", flat=True)) == {
        "(Chile, poet), (Mexican, lazy)"
    }
    printed(*arguments)  # the same plan again adds nothing
    assert Job.objects.filter(run=made).count() == 30


def test_seeds_of_a_source_are_its_known_pairs(run, anybackend):
    source = factories.source("known")
    for group, text, votes in (("Mexican", "lazy", 2), ("Chilean", "poet", 3), ("Iraqi", "hot", 1)):
        factories.association(group_name=group, text=text, in_votes=(votes, 0, 0), from_source=source)
    arguments = ("--plan", "p", "--seeds", "known", "--later", "--yes", "--times", "1")
    printed(*arguments)
    assert Run.objects.get(name="p").recipe["design"]["seeds"] == [["Chilean", "poet"], ["Mexican", "lazy"]]
    with pytest.raises(CommandError, match=r"1 pairs .* at least 3 votes"):
        printed(*arguments, "--threshold", "3")
    for number in ("1", "3"):
        with pytest.raises(CommandError, match="choose 2 to 2"):
            printed(*arguments, "--seed-number", number)
