"""Scores of people about a random part, combined with a judge's of everything."""

from __future__ import annotations

import numpy as np
import pytest

from annotation.models import Option, Response, Slot, TaskKind, Unit
from metrics.core.stats import clustered
from metrics.core.stats.scales import SHARE, Scale
from metrics.depiction.data import read_depiction
from metrics.depiction.scores.measures import measured, tendency_of
from metrics.machine_judges.stats.prediction_powered import Estimate, combine
from metrics.machine_judges.stats.weighted_means import equal_weights, weighted_mean
from metrics.score_runs.evaluation import evaluate
from tests import factories
from tests.metrics import cast
from tests.metrics.machine_judges.judged import ask_people_about, judge

pytestmark = pytest.mark.django_db
IMAGES, PART = 16, 8


def evaluated(study, metric="judge_combined"):
    return evaluate(study=study, metric=metric, variant="corrected", parameters={"judge": "j"})


def rows_of(study, metric="judge_combined"):
    found = evaluated(study, metric)
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
    given = []
    for index in range(1, IMAGES + 1):
        picture = factories.image(group_name="Mexican", index=100 + index)
        for page in range(1, pages + 1):
            unit = factories.page_unit(task, picture=picture, page=page, texts=cast.TEXTS)
            for number, who in enumerate(people):
                values = [said(index, place, number) for place in range(4)]
                given.append((unit, [*values, int(not any(values))], who))
    factories.responses(given)
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
        unit = _unit(task, number, f"attribute {number}", ("Mexican", "Nepali")[number % 2])
        units.append(unit)
        model.append(values[(number * 5 + 1) % len(values)])
        own = [values[(number * 5 + (number + who) % 3) % len(values)] for who in range(3)]
        answers.append(own)
    factories.responses(
        (unit, [value], who)
        for unit, own in zip(units, answers, strict=True)
        for value, who in zip(own, people, strict=True)
    )
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
        values, about, who = np.array(kept, dtype=np.float64).T
        weights = (
            equal_weights(about, np.ones(len(about))) if kind == TaskKind.ASSOCIATION else np.ones(len(about))
        )
        for rest in (0, 1):  # the groups have as many items as each other
            weights[about % 2 == rest] /= weights[about % 2 == rest].sum()
        if kind == TaskKind.VISUAL_NATURE:
            weights = np.ones(len(about))
        return Estimate(*weighted_mean(values, weights, about, who, scale))

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


def _unit(task, number: int, text: str, group: str):
    if task.kind == TaskKind.VISUAL_NATURE:
        return factories.attribute_unit(task, text)
    source = factories.source(f"source {number % 2}")
    about = factories.association(group_name=group, text=text, from_source=source)
    unit = Unit.objects.create(task=task, position=number + 1, association=about)
    Option.objects.create(unit=unit, attribute=about.attribute, role="stimulus", position=1)
    factories.open_slots(unit)
    return unit


@pytest.mark.parametrize("kind", ["visual_nature", "prevalence", "offensiveness", "association"])
def test_people_have_the_scores_that_judge_scores_has_of_the_same_items(kind):
    study = factories.study()
    task = factories.task(study, kind=kind)
    people = [factories.annotator() for _ in range(3)]
    units, answers = [], []
    for number in range(16):
        # of both groups, each twice, from two sources; in the part of one group, and in the rest of the other
        rated = (number if number < 8 else 15 - number) // 2
        text = f"attribute {number if kind == TaskKind.VISUAL_NATURE else rated}"
        unit = _unit(task, number, text, ("Mexican", "Nepali")[number // 8])
        units.append(unit)
        for place in range(1 + number % 3):
            values = {"prevalence": [1, 0, -1], "offensiveness": [0, 3, 1]}.get(kind, [1, 5, 3])
            answers.append((unit, [values[(number // 3 + place) % 3]], people[place]))
    factories.responses(answers)
    asked = [unit.pk for number, unit in enumerate(units) if number % 8 < 4]
    ask_people_about(study, kind, asked)
    judge(study, kind, lambda option, *_: option.unit.position % 2 + (kind != "prevalence"), name="j")
    combined, own = rows_of(study), rows_of(study, "judge_scores")
    name = {"visual_nature": "visual_mean", "prevalence": "stereotypical", "offensiveness": "offence"}
    groups = [""] if kind == TaskKind.VISUAL_NATURE else ["Mexican", "Nepali"]
    for group in groups:
        mine, other = (rows[name.get(kind, "level"), group, "of: people"] for rows in (combined, own))
        assert (mine.value, mine.low, mine.high) == pytest.approx((other.value, other.low, other.high))


def test_a_score_of_all_groups_weighs_each_by_its_items():
    """One of two items of a small group is in the part, and 4 of 12 of a large one."""
    study = factories.study()
    task = factories.task(study, kind=TaskKind.OFFENSIVENESS)
    who = factories.annotator()
    sizes = {"Mexican": (12, 4), "Nepali": (2, 1), "Thai": (1, 1)}
    levels = {"Mexican": 0, "Nepali": 4, "Thai": 2}
    asked, answers, number = [], [], 0
    for group, (size, part) in sizes.items():
        for place in range(size):
            unit = _unit(task, number, f"attribute {number}", group)
            answers.append((unit, [levels[group]], who))
            asked += [unit.pk] if place < part else []
            number += 1
    factories.responses(answers)
    ask_people_about(study, task.kind, asked)
    judge(study, task.kind, lambda option, *_: 1, name="j")
    found = rows_of(study)
    for part in ("of: combined", "of: people"):
        assert found["offence", "", part].value == pytest.approx((12 * 0 + 2 * 4 + 1 * 2) / 15)
    assert (found["offence", "", "of: people"].n, found["offence", "", "of: judge"].n) == (6, 15)


def test_its_rule_names_the_judge_and_which_attributes_are_stereotypes():
    study = depiction()
    judges(study)
    rule = evaluated(study).rule
    assert "machine judge j: fake-judge" in rule
    assert "prompt version" in rule
    assert rule == evaluated(study, "judge_scores").rule
