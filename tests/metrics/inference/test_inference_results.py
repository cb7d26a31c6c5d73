"""The results of a run, against a plain computation from the file that it was made of."""

from __future__ import annotations

import csv
import io
import json

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from generation.models import Answer
from metrics.inference import queries
from metrics.inference.figures import inference_figure
from metrics.inference.labels import LabelsRefused
from tests.metrics.inference import answered

pytestmark = pytest.mark.django_db
HEADER = (
    "source,region,n_groups,n_pairs,entailed_share,entailed_low,entailed_high,"
    "mean_entailment_of_entailed,mean_entailment_of_all"
)


@pytest.fixture
def run(tmp_path):
    answered.groups()
    return answered.imported(tmp_path)


def shown(*arguments: str) -> str:
    out = io.StringIO()
    call_command("inference", *arguments, stdout=out)
    return out.getvalue()


def expected(source: str, region: str) -> dict[str, float]:
    """From the rows of the file, one by one."""
    rows = [row for row in answered.rows() if row[0] == source and region in ("", answered.REGIONS[row[1]])]
    entailed = [row[5] for row in rows if row[5] >= max(row[6:])]
    return {
        "n_groups": len({row[1] for row in rows}),
        "n_pairs": len(rows),
        "entailed_share": len(entailed) / len(rows),
        "mean_entailment_of_entailed": sum(entailed) / len(entailed),
        "mean_entailment_of_all": sum(row[5] for row in rows) / len(rows),
    }


def test_the_command_prints_what_a_plain_computation_finds(run):
    text = shown("--show", "elsewhere", "--format", "csv", "--resamples", "200")
    assert text.splitlines()[0] == HEADER
    rows = list(csv.DictReader(io.StringIO(text)))
    places = [
        (source, region)
        for source in ("seegull-v2", "random")
        for region in ("", "Latin America", "South Asia")
    ]
    assert [(row["source"], row["region"]) for row in rows] == places
    for row in rows:
        for name, value in expected(row["source"], row["region"]).items():
            assert float(row[name]) == pytest.approx(value, abs=1e-9), (row, name)
        assert float(row["entailed_low"]) <= float(row["entailed_share"]) <= float(row["entailed_high"])


def test_a_run_by_number_and_the_other_formats(run):
    assert shown("--show", str(run.pk), "--format", "csv") == shown("--show", "elsewhere", "--format", "csv")
    found = json.loads(shown("--show", "elsewhere", "--format", "json", "--resamples", "0"))
    assert (found["model"], found["simulated"], len(found["rows"])) == ("roberta-large-mnli", False, 6)
    assert found["rows"][0]["entailed_low"] is None
    assert "Latin America" in shown("--show", "elsewhere")


def test_an_interval_depends_on_its_own_groups_alone(tmp_path, run):
    """Whatever other sources are in the run: the same seed draws the same."""
    alone = [row for row in answered.rows() if row[0] == "random"]
    other = answered.imported(tmp_path, alone, name="alone")
    both = [row for row in queries.results(run, resamples=200).rows if row.source == "random"]
    assert [row.numbers for row in queries.results(other, resamples=200).rows] == [
        row.numbers for row in both
    ]


def test_two_attributes_of_a_group_are_one_group(tmp_path):
    answered.groups()
    content = [("own", "Mexican", attribute, "sold", "a car", 0.9, 0.1, 0) for attribute in ("lazy", "poor")]
    found = queries.results(answered.imported(tmp_path, content), resamples=50)
    numbers = found.rows[0].numbers
    assert (numbers.n_groups, numbers.n_pairs) == (1, 2)
    assert queries.number(numbers.share, "low") is None
    assert [(row.group, row.attribute, row.entailed) for row in found.groups] == [
        ("Mexican", "lazy", 1),
        ("Mexican", "poor", 1),
    ]


def test_most_entailed_pairs_come_first_and_can_be_narrowed(run):
    pairs = queries.most_entailed(run, limit=100)
    entailed = [row for row in answered.rows() if row[5] >= max(row[6:])]
    assert [pair.probability for pair in pairs] == sorted((row[5] for row in entailed), reverse=True)
    narrowed = queries.most_entailed(run, source="random", region="South Asia", limit=2)
    wanted = [row[5] for row in entailed if row[0] == "random" and answered.REGIONS[row[1]] == "South Asia"]
    assert [pair.probability for pair in narrowed] == sorted(wanted, reverse=True)[:2]
    assert queries.most_entailed(run, source="nobody's", limit=2) == []


def test_groups_are_listed_by_what_is_entailed_then_by_how_surely_then_by_name(tmp_path):
    answered.groups()
    content = [
        ("own", group, attribute, "sold", "a car", p, 1 - p, 0)
        for group, attribute, p in (
            ("Indian", "rude", 0.4),
            ("Indian", "kind", 0.6),
            ("Mexican", "lazy", 0.8),
            ("Indian", "calm", 0.8),
            ("Indian", "able", 0.8),
        )
    ]
    found = queries.results(answered.imported(tmp_path, content), resamples=0).groups
    listed = [(row.group, row.attribute) for row in found]
    assert listed == [
        ("Indian", "able"),
        ("Indian", "calm"),
        ("Mexican", "lazy"),
        ("Indian", "kind"),
        ("Indian", "rude"),
    ]


def test_figures_say_that_answers_are_simulated(run):
    found = queries.results(run, resamples=0)
    for simulated in (True, False):
        figure = inference_figure(run, found, shown="share", simulated=simulated)
        assert ("simulated" in str(figure.spec["title"])) is simulated


def test_a_run_that_has_gone_on_is_counted_again(run):
    before = queries.results(run, resamples=0).rows[0].numbers.n_entailed
    run.answers.update(text="entailment")
    assert queries.results(run, resamples=0).rows[0].numbers.n_entailed == before
    run.finished_at = timezone.now()
    assert queries.results(run, resamples=0).rows[0].numbers.n_entailed == run.answers.count() / 2


def test_labels_in_another_order_and_in_capitals(run):
    """As models have them: places say nothing."""
    before = queries.results(run, resamples=0)
    for answer in run.answers.all():
        answer.probabilities = {
            name.upper(): answer.probabilities[name] for name in ("contradiction", "neutral", "entailment")
        }
        answer.text = answer.text.upper()
        answer.save()
    run.finished_at = None  # another state of the run than the one that was counted
    run.save()
    assert repr(queries.results(run, resamples=0)) == repr(before)


def test_labels_without_entailment_are_a_clear_error(run):
    Answer.objects.filter(run=run).update(probabilities={"POSITIVE": 0.9, "NEGATIVE": 0.1}, text="POSITIVE")
    with pytest.raises(LabelsRefused, match=r"POSITIVE, NEGATIVE|NEGATIVE, POSITIVE"):
        queries.results(run, resamples=0)
    with pytest.raises(CommandError, match=r"'elsewhere': None of the model's labels is entailment"):
        shown("--show", "elsewhere")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--show", "elsewher"), "Did you mean 'elsewhere'"),
        (("--show", "99999"), "There is no run '99999'"),
        (("--show", "elsewhere", "--resamples", "-1"), "resamples"),
        (("--show", "elsewhere", "--seed", "-1"), "seed"),
        (("seegull-v2", "--show", "elsewhere"), "one of the two"),
        ((), "one of the two"),
        (("seegul",), "There is no source 'seegul'"),
    ],
)
def test_what_the_command_refuses(run, arguments, said):
    with pytest.raises(CommandError, match=said):
        shown(*arguments)


def test_three_queries_whatever_the_number_of_groups(run, django_assert_num_queries):
    with django_assert_num_queries(4):
        queries.results(run, resamples=0)
