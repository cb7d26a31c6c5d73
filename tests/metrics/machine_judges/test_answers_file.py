"""The answers of a machine judge as a file."""

from __future__ import annotations

import csv
import io
import json

import pytest
from django.urls import reverse

from annotation.core.csv_text import text_of_cell
from annotation.models import Annotator, Image, TaskKind
from generation.models import Answer, Run
from metrics.machine_judges.answers_csv import COLUMNS
from tests import factories
from tests.annotation.api.calls import Program
from tests.metrics import cast
from tests.metrics.machine_judges.judged import answer, judge, planned

pytestmark = pytest.mark.django_db


def hats(option, *_):
    return int(option.attribute is not None and option.attribute.text == "hat")


@pytest.fixture
def lead():
    return factories.user("lead")


def file_of(client, study, run, user) -> str:
    client.force_login(user)
    found = client.get(reverse("judge_answers", args=[study.name, run.pk]))
    assert (found.status_code, found["Content-Type"]) == (200, "text/csv; charset=utf-8")
    return b"".join(found.streaming_content).decode()


def rows_of(client, study, run, user) -> list[dict[str, str]]:
    rows = list(csv.DictReader(io.StringIO(file_of(client, study, run, user), newline="")))
    return [{name: text_of_cell(cell) for name, cell in row.items()} for row in rows]


def test_each_judgement_is_a_row_that_says_whose_it_is(client, lead):
    study = cast.depiction_study(leads=[lead])
    run = judge(
        study,
        TaskKind.DEPICTION,
        hats,
        boxes=lambda _: [(1, 2, 30, 40.5)],
        name="eye",
        times=2,
        temperature=1.0,
    )
    rows = rows_of(client, study, run, lead)
    assert tuple(rows[0]) == COLUMNS
    assert COLUMNS[0] == "judge"
    assert len(rows) == 4 * 5 * 2
    assert {(row["judge"], row["study"], row["task"], row["variant"]) for row in rows} == {
        ("eye", study.name, "depiction", "base")
    }
    assert {(row["model"], row["prompt_version"]) for row in rows} == {("fake-judge", "1")}
    first = [row for row in rows if (row["unit"], row["sample"]) == ("1", "2")]
    assert [row["position"] for row in first] == list("12345")
    assert first[-1]["role"] == "none_of_above"
    assert {row["attribute"] for row in first} == {"", *cast.TEXTS}
    (hat,) = (row for row in first if row["attribute"] == "hat")
    assert (hat["value"], hat["label"], hat["whole_image"], hat["problem"]) == ("1", "Depicted", "no", "")
    assert json.loads(hat["boxes"]) == [[1, 2, 30, 40.5]]
    image = Image.objects.get(units__position=1)
    assert (hat["image_set"], hat["image_number"], hat["group"]) == (
        image.image_set.name,
        str(image.index),
        image.group.name,
    )
    assert sum(int(row["value"]) for row in rows) == 4 * 2


def test_unusable_answers_are_rows_without_a_value(client, lead):
    study = cast.visual_study({"hat": [5, 5, 5], "=1+1": [1, 1, 1]}, leads=[lead])
    run = planned(study, TaskKind.VISUAL_NATURE)
    texts = iter(['{"answer": "A"}', "=HYPERLINK()"])
    rows = rows_of(client, study, answer(run, lambda job: next(texts)), lead)
    assert [(row["unit"], row["attribute"], row["value"], row["label"], row["problem"]) for row in rows] == [
        ("1", "hat", "5", "Strongly agree", ""),
        ("2", "=1+1", "", "", "unreadable"),
    ]
    assert {(row["boxes"], row["whole_image"], row["image_set"]) for row in rows} == {("", "", "")}
    assert ",'=1+1," in file_of(client, study, run, lead), "no spreadsheet runs it"


def test_an_unusable_answer_about_an_image_is_about_no_option(client, lead):
    study = cast.depiction_study(leads=[lead])
    run = judge(study, TaskKind.DEPICTION, hats)
    Answer.objects.filter(pk=run.answers.earliest("job").pk).update(text='{"chosen": []}')
    first, *others = rows_of(client, study, run, lead)
    assert (first["unit"], first["group"], first["problem"]) == ("1", "Mexican", "nothing")
    assert not any(first[name] for name in ("attribute", "role", "position", "value", "label", "boxes"))
    assert len(others) == 15


def test_nothing_of_people_is_in_the_file(client, lead):
    study = cast.depiction_study(leads=[lead])
    for number, who in enumerate(Annotator.objects.order_by("pk")):
        Annotator.objects.filter(pk=who.pk).update(pseudonym=f"heron-{number}")
    run = judge(study, TaskKind.DEPICTION, hats)
    before = file_of(client, study, run, lead)
    assert "heron-" not in before
    study.tasks.get().units.first().responses.all().delete()
    assert file_of(client, study, run, lead) == before


def test_the_api_sends_the_same_file_and_others_find_nothing(client, lead):
    study = cast.depiction_study(leads=[lead])
    run = judge(study, TaskKind.DEPICTION, hats, again=2)
    found = Program(lead).get(f"studies/{study.name}/judges/{run.pk}/answers", Accept="text/csv")
    assert b"".join(found.streaming_content).decode() == file_of(client, study, run, lead)
    elsewhere = cast.visual_study({"hat": [5]}, leads=[lead])
    assert Program(lead).get(f"studies/{elsewhere.name}/judges/{run.pk}/answers").status_code == 404
    Run.objects.filter(pk=run.pk).update(recipe={})
    assert Program(lead).get(f"studies/{study.name}/judges/{run.pk}/answers").status_code == 404


def test_the_file_is_made_a_piece_at_a_time(lead, monkeypatch):
    from metrics.machine_judges import answers_csv

    study = cast.depiction_study(leads=[lead])
    run = judge(study, TaskKind.DEPICTION, hats)
    whole = "".join(answers_csv.stream_answers(run, study))
    monkeypatch.setattr(answers_csv, "CHUNK", 3)
    pieces = list(answers_csv.stream_answers(run, study))
    assert len(pieces) == 3
    assert "".join(pieces) == whole
