"""Scores of people about a random part, combined with a judge's of everything."""

from __future__ import annotations

import numpy as np
import pytest

from annotation.models import Option, Response, Slot, TaskKind, Unit
from generation.models import Answer
from metrics.core.stats import clustered
from metrics.core.stats.scales import SHARE, Scale
from metrics.depiction.data import read_depiction
from metrics.depiction.scores.measures import measured, tendency_of
from metrics.machine_judges.stats.prediction_powered import combine, mean_estimate
from metrics.score_runs.evaluation import evaluate
from metrics.score_runs.metric import NothingToCompute
from tests import factories
from tests.metrics import cast
from tests.metrics.machine_judges.judged import ask_people_about, judge

pytestmark = pytest.mark.django_db
IMAGES, PART = 16, 8


def rows_of(study):
    found = evaluate(study=study, metric="judge_combined", variant="corrected", parameters={"judge": "j"})
    return {(row.name, row.group, row.part): row for row in found.rows}


def said(image: int, place: int, who: int = 0) -> int:
    """A made-up answer about an attribute of an image."""
    return int((image * 7 + place * 3 + (image + who) % 2 * place) % 5 < 2)


def depiction(*, pages: int = 1):
    """A study with 16 images of Mexicans; people answered the first 8 of them."""
    study = cast.depiction_study()
    task = study.tasks.get()
    Response.objects.filter(unit__task=task).delete()
    Slot.objects.filter(unit__task=task).delete()
    Unit.objects.filter(task=task).delete()
    people = [factories.annotator() for _ in range(3)]
    for index in range(1, IMAGES + 1):
        picture = factories.image(group_name="Mexican", index=100 + index)
        for page in range(1, pages + 1):
            unit = factories.page_unit(task, picture=picture, page=page, texts=cast.TEXTS)
            for number, who in enumerate(people):
                values = [said(index, place, number) for place in range(4)]
                factories.response(unit, values=[*values, int(not any(values))], who=who)
    ask_people_about(
        study, task.kind, task.units.filter(image__index__lte=100 + PART).values_list("pk", flat=True)
    )
    return study


def judges(study):
    """Answers as the first annotator, but 'hat' about every image."""

    def value(option, *_):
        index = option.unit.image.index - 100
        own = [said(index, place) for place in range(4)]
        own[0] = 1
        return own[option.position - 1] if option.attribute_id else 0

    return judge(study, TaskKind.DEPICTION, value, name="j")


def test_a_group_has_its_tendency_combined_of_people_and_of_the_judge():
    study = depiction()
    judges(study)
    found = rows_of(study)
    assert {group for _, group, _ in found} == {"Mexican"}
    (frame,) = read_depiction(study, by_response=True)
    alone = tendency_of(measured(frame))
    for place, name in enumerate(("l_stereo", "l_random", "theta")):
        people = found[name, "Mexican", "of: people"]
        own = alone.intervals()[place]
        assert (people.value, people.low, people.high) == (alone.values[place], own.low, own.high)
        assert people.n == PART
        row, of_judge = found[name, "Mexican", "of: combined"], found[name, "Mexican", "of: judge"]
        assert (row.n, of_judge.n) == (IMAGES, IMAGES)
        assert row.low < row.value < row.high
        assert 0 <= found["tuning", "Mexican", f"of: {name}"].value <= 1
    shares = {}
    for name, places in (("l_stereo", (0, 1)), ("l_random", (2, 3))):
        model = np.array(
            [[1 if at == 0 else said(index, at) for at in places] for index in range(1, IMAGES + 1)]
        ).mean(axis=1)
        shares[name] = model[:PART].mean(), model[PART:].mean(), model.mean()
        part, rest, whole = shares[name]
        tuning = found["tuning", "Mexican", f"of: {name}"].value
        assert tuning > 0
        people = found[name, "Mexican", "of: people"].value
        assert found[name, "Mexican", "of: combined"].value == pytest.approx(people + tuning * (rest - part))
        assert found[name, "Mexican", "of: judge"].value == pytest.approx(whole)
    theta, tuning = (
        found["theta", "Mexican", "of: people"].value,
        found["tuning", "Mexican", "of: theta"].value,
    )
    part, rest = (shares["l_stereo"][at] / shares["l_random"][at] for at in (0, 1))
    assert found["theta", "Mexican", "of: combined"].value == pytest.approx(theta * (rest / part) ** tuning)


@pytest.mark.parametrize(
    ("kind", "name", "scale", "skipped"),
    [
        (TaskKind.VISUAL_NATURE, "visual_mean", Scale(1.0, 5.0), None),
        (TaskKind.PREVALENCE, "stereotypical", SHARE, None),
        (TaskKind.OFFENSIVENESS, "offence", Scale(-1.0, 4.0), None),
        (TaskKind.ASSOCIATION, "level", Scale(1.0, 5.0), 0),
    ],
)
def test_ratings_have_means(kind, name, scale, skipped):
    values = {
        TaskKind.VISUAL_NATURE: [1, 2, 3, 4, 5],
        TaskKind.PREVALENCE: [1, 0, -1],
        TaskKind.OFFENSIVENESS: [-1, 0, 1, 2, 3, 4],
        TaskKind.ASSOCIATION: [0, 1, 2, 3, 4, 5],
    }[kind]
    study = factories.study()
    task = factories.task(study, kind=kind)
    people = [factories.annotator() for _ in range(3)]
    units, answers, model = [], [], []
    for number in range(12):
        text = f"attribute {number}"
        if kind == TaskKind.VISUAL_NATURE:
            unit = factories.attribute_unit(task, text)
        else:
            about = factories.association(group_name=("Mexican", "Nepali")[number % 2], text=text)
            unit = Unit.objects.create(task=task, position=number + 1, association=about)
            Option.objects.create(unit=unit, attribute=about.attribute, role="stimulus", position=1)
            factories.open_slots(unit)
        units.append(unit)
        model.append(values[(number * 5 + 1) % len(values)])
        own = [values[(number * 5 + (number + who) % 3) % len(values)] for who in range(3)]
        answers.append(own)
        for value, who in zip(own, people, strict=True):
            factories.response(unit, values=[value], who=who)
    ask_people_about(study, kind, [unit.pk for unit in units[:6]])
    by_unit = dict(zip([unit.pk for unit in units], model, strict=True))
    judge(study, kind, lambda option, *_: by_unit[option.unit_id], name="j")
    found = rows_of(study)

    def estimate(numbers, given):
        kept = [
            (float(value == 1) if kind == TaskKind.PREVALENCE else value, number, person.pk if person else -1)
            for number in numbers
            for value, person in given(number)
            if value != skipped
        ]
        return mean_estimate(*np.array(kept, dtype=np.float64).T, scale)

    groups = [""] if kind == TaskKind.VISUAL_NATURE else ["", "Mexican", "Nepali"]
    assert {group for _, group, _ in found} == set(groups)
    for group in groups:
        chosen = [n for n in range(12) if not group or ("Mexican", "Nepali")[n % 2] == group]
        first, last = [n for n in chosen if n < 6], [n for n in chosen if n >= 6]
        own = estimate(first, lambda n: zip(answers[n], people, strict=True))
        part, rest, whole = (estimate(each, lambda n: [(model[n], None)]) for each in (first, last, chosen))
        expected = combine(own, part, rest, scale)
        row = found[name, group, "of: combined"]
        assert (row.value, row.low, row.high) == pytest.approx(
            (expected.value, expected.interval.low, expected.interval.high)
        )
        assert found["tuning", group, f"of: {name}"].value == pytest.approx(expected.tuning)
        (alone,) = clustered.intervals([own.value], own.influences, scale)
        row = found[name, group, "of: people"]
        assert (row.value, row.low, row.high) == pytest.approx((own.value, alone.low, alone.high))
        assert found[name, group, "of: judge"].value == pytest.approx(whole.value)


def refusal(study) -> str:
    with pytest.raises(NothingToCompute) as refused:
        rows_of(study)
    return str(refused.value)


def test_it_is_refused_where_people_were_not_asked_about_a_random_part():
    study = depiction()
    judges(study)
    study.tasks.update(people_share=None)
    assert "Set people_share" in refusal(study)


def test_it_is_refused_while_a_part_is_not_answered():
    study = depiction()
    judges(study)
    first = Response.objects.order_by("pk").first().unit_id
    one, *rest = Response.objects.filter(unit=first)
    one.current = False
    one.save()
    rows_of(study)  # two others have answered
    Response.objects.filter(pk__in=[each.pk for each in rest]).update(current=False)
    assert "without an answer that counts: 1." in refusal(study)


def test_it_is_refused_where_an_image_is_in_the_part_by_half():
    study = depiction(pages=2)
    judges(study)
    rows_of(study)
    page = Unit.objects.filter(task__study=study, image__index=101, page=2)
    Response.objects.filter(unit__in=page).delete()
    Slot.objects.filter(unit__in=page).delete()
    assert "only of 1 images" in refusal(study)


def test_it_is_refused_where_nothing_or_everything_is_in_the_part():
    study = depiction()
    judges(study)
    Response.objects.all().delete()
    Slot.objects.all().delete()
    assert "all items or none" in refusal(study)


def test_it_is_refused_where_a_judge_lacks_more_than_a_few_answers():
    study = depiction(pages=3)
    run = judges(study)
    answers = list(Answer.objects.filter(run=run).order_by("-pk"))
    assert len(answers) == 3 * IMAGES
    Answer.objects.filter(pk__in=[each.pk for each in answers[:2]]).update(text="I cannot see it.")
    rows_of(study)  # 2 of 48
    Answer.objects.filter(pk=answers[2].pk).delete()
    assert "no readable answer about 3 of 48 items" in refusal(study)
