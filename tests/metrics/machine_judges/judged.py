"""Machine judges with answers, for tests."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence

from django.utils import timezone

from annotation.annotate.queries import shown_order
from annotation.core.leases import JobState
from annotation.core.scales import SCALES
from annotation.models import Image, Option, OptionRole, Response, Slot, Study, Unit
from generation.models import Answer, Run, RunState
from generation.recipes.limits import Limits
from generation.runs import services as runs
from metrics.machine_judges.design import Design, label_order, order_key, read_key
from metrics.machine_judges.parsing import LETTERS
from metrics.machine_judges.planning import Choice, plan_judge, recipe_kind

Value = Callable[[Option, str, int], int]
"""From an option, the variant and the number of the sample to a value."""
Boxes = Callable[[Option], Sequence[Sequence[float]]]


def name_files(study: Study) -> list[int]:
    """Let the images of the study that have no file have the name of one, since judges are not shown others;
    which these are."""
    nameless = list(Image.objects.filter(units__task__study=study, file="").values_list("pk", flat=True))
    Image.objects.filter(pk__in=nameless).update(file="made-up.png", sha256="0" * 64)
    return nameless


def planned(
    study: Study, task: str, *, times: int = 1, temperature: float = 0.0, name: str = "", **choice
) -> Run:
    """A planned run of a judge, without answers. Images need no file."""
    named = name_files(study)
    recipe = recipe_kind(task)(
        backend="fake", model="fake-judge", temperature=temperature, times=times, max_tokens=400
    )
    plan = plan_judge(
        recipe=recipe, choice=Choice(study=study, task=task, **choice), name=name, limits=Limits()
    )
    run = runs.ensure(plan=plan, by=None).run
    Image.objects.filter(pk__in=named).update(file="", sha256="")
    return run


def judge(study: Study, task: str, value: Value, *, boxes: Boxes | None = None, **planning) -> Run:
    """A run of a judge that answered everything with `value`, in the form that is asked for. `boxes`: of a
    selected option, in pixels; without any it is seen in the image as a whole."""
    if boxes is not None:
        planning["boxes"] = "pixels"
    run = planned(study, task, **planning)
    design = Design.from_json(run.recipe["design"])
    options: dict[int, list[Option]] = {}
    for option in Option.objects.filter(unit__task__study=study, unit__task__kind=task).select_related(
        "attribute", "unit__image__group", "unit__association__group"
    ):
        options.setdefault(option.unit.position, []).append(option)

    def text(job) -> str:
        position, variant = read_key(job.key)
        of_unit = sorted(options[position], key=lambda option: option.position)
        if design.is_rating:
            scale = SCALES[design.task]
            shown = [scale[place].value for place in label_order(len(scale), variant)]
            return json.dumps({"answer": LETTERS[shown.index(value(of_unit[0], variant, job.number))]})
        rows = [{"option": one, "role": one.role} for one in of_unit]
        attributes = sum(one.attribute_id is not None for one in of_unit)
        shown_options = shown_order(rows, key=order_key(design, position, variant, attributes=attributes))
        chosen = [
            _chosen(LETTERS[at], row["option"], design, boxes)
            for at, row in enumerate(shown_options)
            if value(row["option"], variant, job.number)
        ]
        return json.dumps({"chosen": chosen})

    return answer(run, text)


def _chosen(letter: str, option: Option, design: Design, boxes: Boxes | None) -> object:
    if design.boxes == "none" or option.role == OptionRole.NONE_OF_ABOVE:
        return letter
    found = [list(each) for each in boxes(option)] if boxes is not None else []
    return {"option": letter, "boxes": found} if found else {"option": letter, "whole_image": True}


def answer(run: Run, text: Callable[[object], str], *, ended: str = "stop") -> Run:
    """The run with `text` of each job as its answer; done."""
    jobs = list(run.jobs.order_by("pk"))
    Answer.objects.bulk_create(
        Answer(job=job, run=run, text=text(job), ended=ended, tokens_in=100, tokens_out=10, seconds=0.5)
        for job in jobs
    )
    now = timezone.now()
    run.jobs.update(state=JobState.DONE, finished_at=now)
    Run.objects.filter(pk=run.pk).update(
        state=RunState.DONE,
        started_at=now,
        finished_at=now,
        tokens_in=100 * len(jobs),
        tokens_out=10 * len(jobs),
    )
    run.refresh_from_db()
    return run


def ask_people_about(study: Study, task: str, units: Iterable[int]) -> None:
    """Only `units` of the task have slots and answers: the random part of a `people_share`."""
    asked = set(units)
    others = Unit.objects.filter(task__study=study, task__kind=task).exclude(pk__in=asked)
    Response.objects.filter(unit__in=others).delete()
    Slot.objects.filter(unit__in=others).delete()
    study.tasks.filter(kind=task).update(people_share=0.5, people_units=len(asked))
