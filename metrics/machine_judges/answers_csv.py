"""The answers of a machine judge as a file: one judgement a row, and its unusable answers (PROTOCOL §16).

The first column says whose they are. Nothing of people is in the file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from django.http import Http404, StreamingHttpResponse
from django.shortcuts import get_object_or_404

from annotation.core.csv_text import csv_lines
from annotation.core.scales import label_of
from annotation.models import Option, Study, Task
from generation.models import Run
from metrics.machine_judges.data import Items, ReadAnswer, judge_runs, judged_task, read_answers, read_items
from metrics.machine_judges.design import Design
from metrics.machine_judges.parsing import Problem
from metrics.machine_judges.readings import Judged

OF_THE_ITEM = ("unit", "image_set", "image_number", "group")
OF_THE_JUDGEMENT = ("attribute", "role", "variant", "sample", "position", "value", "label")
COLUMNS = (
    *("judge", "study", "task", *OF_THE_ITEM, *OF_THE_JUDGEMENT, "whole_image", "boxes", "problem"),
    *("model", "revision", "prompt_version"),
)
"""`unit`: its position in the task. `position`: of the option, as shown, from 1. `boxes`: JSON, a list of
[x0, y0, x1, y1] in pixels of the image. `problem`: why the answer is unusable; such a row has no value."""
CHUNK = 1_000
"""Answers whose items are looked up at once."""

Row = dict[str, Any]


def answers_response(study: Study, number: int) -> StreamingHttpResponse:
    """The file of the judge of `study` whose run has that number; Http404 if there is none, or its task is
    gone."""
    run = get_object_or_404(judge_runs(study), pk=number)
    try:
        lines = stream_answers(run, study)
    except Task.DoesNotExist as gone:
        raise Http404("The task that this judge was asked about no longer exists.") from gone
    return StreamingHttpResponse(
        lines,
        content_type="text/csv; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="{run.name}-answers.csv"'},
    )


def stream_answers(run: Run, study: Study) -> Iterator[str]:
    """The file, whole lines at a time, with the columns COLUMNS. The items and CHUNK answers are in memory.
    Raises Task.DoesNotExist if the judge's task is gone."""
    design = Design.from_json(run.recipe["design"])
    items = read_items(judged_task(design, study))
    return _lines(run, design, items)


def _lines(run: Run, design: Design, items: Items) -> Iterator[str]:
    yield csv_lines([COLUMNS])
    whose = {
        "judge": run.name,
        "study": design.study,
        "task": design.task,
        "model": run.model,
        "revision": run.recipe.get("revision", ""),
        "prompt_version": design.prompt_version,
    }
    answers = read_answers(run, design, items)
    while found := list(islice(answers, CHUNK)):
        options = _options({each.unit for each in found})
        rows = (row for each in found for row in _rows(each, design, items, options))
        yield csv_lines([({**whose, **row}).get(name) for name in COLUMNS] for row in rows)


def _options(units: set[int]) -> dict[int, dict[int, Row]]:
    """Unit -> option -> what is said of the item and the option. One query."""
    rows = (
        Option.objects.filter(unit__in=units)
        .order_by("unit", "position")
        .values_list(
            *("unit", "pk", "unit__position", "unit__image__image_set__name", "unit__image__index"),
            *("unit__image__group__name", "unit__association__group__name", "attribute__text", "role"),
        )
    )
    found: dict[int, dict[int, Row]] = {}
    for unit, pk, position, image_set, number, shown, associated, attribute, role in rows:
        found.setdefault(unit, {})[pk] = {
            "unit": position,
            "image_set": image_set,
            "image_number": number,
            "group": shown or associated,
            "attribute": attribute,
            "role": role,
        }
    return found


def _rows(
    answer: ReadAnswer, design: Design, items: Items, options: Mapping[int, Mapping[int, Row]]
) -> Iterator[Row]:
    asked = {"variant": answer.variant, "sample": answer.sample}
    of_unit = options[answer.unit]
    if isinstance(answer.found, Problem):
        # of an image with several options, no option is meant
        first = next(iter(of_unit.values()))
        item = first if design.is_rating else {name: first[name] for name in OF_THE_ITEM}
        yield {**asked, **item, "problem": answer.found.value}
        return
    for position, judged in enumerate(answer.found, 1):
        yield {
            **asked,
            **of_unit[int(items.options[judged.place])],
            "position": position,
            "value": judged.value,
            "label": label_of(design.task, judged.value).name,
            **({} if design.is_rating else _places(judged)),
        }


def _places(judged: Judged) -> Row:
    boxes: Sequence[Sequence[float]] = judged.boxes
    return {"whole_image": judged.whole, "boxes": [list(corners) for corners in boxes]}
