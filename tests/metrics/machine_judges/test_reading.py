"""Planning a judge, and reading what it answered."""

from __future__ import annotations

import hashlib
from io import BytesIO

import pytest
from django.core.files.base import ContentFile
from PIL import Image as Picture

from annotation.models import Image, TaskKind
from generation.backends.base import FILTERED
from generation.jobs.services.work import work
from generation.models import Answer
from generation.runs.services import start
from metrics.machine_judges.answers_csv import stream_answers
from metrics.machine_judges.data import answers_stamp, read_items, read_judge
from metrics.machine_judges.parsing import Problem
from metrics.machine_judges.readings import PROBLEMS, Judged, ReadingsBuilder, counted_problems, verdicts
from tests.metrics import cast
from tests.metrics.machine_judges.judged import answer, judge, planned

pytestmark = pytest.mark.django_db


def hats(option, variant, sample):
    if option.attribute is None:
        return 0
    return int(option.attribute.text == "hat")


def test_what_a_judge_chose_is_read_in_every_order():
    study = cast.depiction_study()
    run = judge(study, TaskKind.DEPICTION, hats, again=2)
    found = read_judge(run, study)
    assert found.design.variants == ("base", "order")
    assert found.readings.asked == {"base": 4, "order": 2}
    assert not found.readings.problems
    texts = dict(study.tasks.get().units.values_list("options__pk", "options__attribute__text"))
    for variant, units in (("base", 4), ("order", 2)):
        verdicts = found.verdicts(variant)
        chosen = {found.items.options[place] for place in verdicts.options[verdicts.values == 1]}
        assert [texts[pk] for pk in chosen] == ["hat"] * units


def test_ratings_are_read_in_both_orders_of_the_scale():
    study = cast.visual_study({"hat": [5, 5, 5], "kind": [1, 1, 1]})
    wanted = {"hat": 5, "kind": 2}
    run = judge(study, TaskKind.VISUAL_NATURE, lambda option, *_: wanted[option.attribute.text], again=2)
    found = read_judge(run, study)
    for variant in ("base", "order"):
        verdicts = found.verdicts(variant)
        assert sorted(verdicts.values.tolist()) == [2, 5]
    prompts = dict(run.jobs.values_list("key", "prompt"))
    position = found.items.positions[0]
    assert "A. Strongly agree" in prompts[f"{position}.base"]
    assert "A. Unsure" in prompts[f"{position}.order"]


def test_the_most_frequent_answer_is_the_verdict_and_of_equals_the_first():
    study = cast.visual_study({"hat": [5, 5, 5]})
    said = {1: 4, 2: 2, 3: 2, 4: 4}
    run = judge(
        study, TaskKind.VISUAL_NATURE, lambda option, variant, sample: said[sample], times=4, temperature=1.0
    )
    verdicts = read_judge(run, study).verdicts()
    assert (verdicts.values.tolist(), verdicts.samples.tolist(), verdicts.alike.tolist()) == ([4], [4], [2])


def test_what_cannot_be_read_is_counted():
    study = cast.visual_study({"hat": [5, 5, 5], "kind": [1, 1, 1]})
    run = planned(study, TaskKind.VISUAL_NATURE)
    texts = iter(["I think it is A", '{"answer": "Z"}'])
    found = read_judge(answer(run, lambda job: next(texts)), study)
    assert counted_problems(found.readings) == {Problem.UNREADABLE: 1, Problem.OUTSIDE: 1}
    assert not len(found.verdicts().options)


def test_answers_to_what_was_not_asked_are_left_out_and_withheld_ones_are_not_read():
    study = cast.visual_study({"hat": [5, 5, 5], "kind": [1, 1, 1]})
    run = judge(study, TaskKind.VISUAL_NATURE, lambda *_: 5)
    first, second = run.jobs.order_by("key")
    text = first.answer.text
    for key in ("odd", "99.base", "1.order"):
        first.pk, first.key = None, key
        first.save()
        Answer.objects.create(job=first, run=run, text=text)
    Answer.objects.filter(job=second).update(ended=FILTERED)
    found = read_judge(run, study).readings
    assert found.asked == {"base": 2}
    assert counted_problems(found) == {Problem.WITHHELD: 1}
    stamp = answers_stamp(run)
    run.answers.order_by("job").first().delete()
    first.pk, first.key = None, "odd.2"
    first.save()
    Answer.objects.create(job=first, run=run, text=text)
    assert answers_stamp(run) != stamp
    unanswered = [planned(study, TaskKind.VISUAL_NATURE, name=name) for name in ("one", "two")]
    assert answers_stamp(unanswered[0]) != answers_stamp(unanswered[1])


def test_items_are_in_the_order_of_the_task_and_a_box_beside_the_image_is_none():
    study = cast.depiction_study()
    run = judge(study, TaskKind.DEPICTION, hats, boxes=lambda _: [[600, 600, 700, 700]])
    assert counted_problems(read_judge(run, study).readings) == {Problem.BOX: 4}
    study.tasks.get().units.filter(position=1).update(position=9)
    positions = read_items(study.tasks.get()).positions.tolist()
    assert positions == sorted(positions)


def test_each_unusable_answer_keeps_its_unit_variant_and_sample():
    study = cast.visual_study({"hat": [5, 5, 5], "kind": [1, 1, 1]})
    run = planned(study, TaskKind.VISUAL_NATURE, times=2, temperature=1.0, again=1)
    bad = run.jobs.filter(key__endswith=".order", number=2).get()
    found = read_judge(answer(run, lambda job: "" if job.pk == bad.pk else "A"), study).readings
    position, _, variant = bad.key.partition(".")
    unit = study.tasks.get().units.get(position=position)
    assert found.unusable_units.tolist() == [unit.pk]
    assert found.names[found.unusable_variants[0]] == variant
    assert found.unusable_samples.tolist() == [2]
    assert PROBLEMS[found.unusable_problems[0]] == Problem.EMPTY
    assert found.problems == {("order", Problem.EMPTY): 1}
    assert found.asked == {"base": 4, "order": 2}
    assert len(found.units) == 5


@pytest.mark.parametrize("task", [TaskKind.DEPICTION, TaskKind.VISUAL_NATURE])
def test_the_same_judge_asked_twice_gives_the_same_rows(task, tmp_path, settings):
    settings.MEDIA_ROOT = tmp_path
    study = cast.depiction_study() if task == TaskKind.DEPICTION else cast.visual_study({"hat": [5, 4, 5]})
    for image in Image.objects.all():
        content = BytesIO()
        Picture.new("RGB", (64, 64), "white").save(content, "PNG")
        image.sha256 = hashlib.sha256(content.getvalue()).hexdigest()
        image.file.save(f"{image.pk}.png", ContentFile(content.getvalue()))
    rows = []
    for name in ("once", "again"):
        run = planned(study, task, name=name, times=2, temperature=1.0, again=2)
        start(run=run, by=None)
        while work(run_id=run.pk):
            pass
        rows.append([line.replace(name, "") for line in "".join(stream_answers(run, study)).splitlines()])
    assert len(rows[0]) > 4
    assert rows[0] == rows[1]


def test_of_equally_frequent_values_the_first_sample_counts_however_answers_were_read():
    built = ReadingsBuilder(("base",))
    for sample, value in ((4, 1), (3, 5), (2, 1), (1, 5), (5, 2)):
        built.add(7, "base", sample, [Judged(0, value)])
    found = verdicts(built.result())
    assert (found.values.tolist(), found.samples.tolist(), found.alike.tolist()) == ([5], [5], [2])
    assert not len(verdicts(built.result(), "order").values)


def test_the_boxes_of_a_verdict_are_those_of_the_first_sample_with_its_value():
    built = ReadingsBuilder(("base",))
    for sample, right in ((1, None), (2, 20), (3, 30)):
        boxes = [] if right is None else [(0, 0, right, 10)]
        built.add(7, "base", sample, [Judged(0, len(boxes), boxes=boxes), Judged(1, 0)])
    found = verdicts(built.result())
    assert (found.values.tolist(), found.alike.tolist()) == ([1, 0], [2, 3])
    assert (found.boxes.tolist(), found.corners.tolist()) == ([0], [[0, 0, 20, 10]])
