"""Simulated annotators. They take slots and answer through the same services as people (DESIGN §4)."""

import random
from collections.abc import Sequence
from datetime import datetime, timedelta

from annotation.annotate.services.answer_rules import Answer
from annotation.annotate.services.responses import submit
from annotation.assignment.services.slots import lease_next
from annotation.demo.canvas import SIZE, Extent
from annotation.demo.pictures import Truth
from annotation.demo.scenario import Scenario
from annotation.models import (
    Annotator,
    Enrolment,
    EnrolmentStatus,
    OptionRole,
    ProfileAnswer,
    Study,
    TaskKind,
    Unit,
)

_PAUSE = timedelta(seconds=4)


def enrol_annotators(*, study: Study, scenario: Scenario) -> list[Enrolment]:
    """Create the simulated annotators with their profiles and enrol them in `study`."""
    enrolments = []
    for number, profile in enumerate(scenario.annotators, start=1):
        annotator, created = Annotator.objects.get_or_create(
            pseudonym=f"simulated-{number:02}", defaults={"simulated": True}
        )
        if created:
            ProfileAnswer.objects.bulk_create(
                ProfileAnswer(annotator=annotator, field=field, value=value, may_publish=True)
                for field, value in profile.items()
            )
        enrolments.append(
            Enrolment.objects.create(annotator=annotator, study=study, status=EnrolmentStatus.QUALIFIED)
        )
    return enrolments


def answer_all(
    *, enrolments: Sequence[Enrolment], scenario: Scenario, truth: Truth, since: datetime
) -> datetime:
    """Let the annotators answer in turn until none has an item left; return the time at which they finished.

    `since`: their start time on a simulated clock. The same scenario gives the same answers.
    """
    rng = random.Random(f"{scenario.seed}:answers")  # noqa: S311 - a simulation, not a secret
    study_id = enrolments[0].study_id
    units = {
        unit.pk: unit
        for unit in Unit.objects.filter(task__study=study_id)
        .select_related("task", "attribute", "image__group")
        .prefetch_related("options__attribute")
    }
    clock, active = since, list(enrolments)
    while active:
        for enrolment in list(active):
            slot = lease_next(enrolment=enrolment, now=clock)
            if slot is None:
                active.remove(enrolment)
                continue
            unit = units[slot.unit_id]
            rating = unit.task.kind == TaskKind.VISUAL_NATURE
            seconds = rng.uniform(4, 12) if rating else rng.uniform(12, 40)
            assert slot.lease_key is not None
            submit(
                enrolment=enrolment,
                unit_id=unit.pk,
                client_key=slot.lease_key,
                answers=_rate(unit, scenario, rng) if rating else _depict(unit, scenario, truth, rng),
                started_at=clock,
                active_ms=round(seconds * 1000),
                now=clock + timedelta(seconds=seconds),
            )
            # The annotators work in parallel, so the clock advances by a fraction of each one's time.
            clock += timedelta(seconds=seconds / len(enrolments)) + _PAUSE / len(enrolments)
    return clock + timedelta(minutes=1)


def _rate(unit: Unit, scenario: Scenario, rng: random.Random) -> list[Answer]:
    assert unit.attribute is not None
    weights = scenario.visual_weights[scenario.attributes[unit.attribute.text]]
    value = rng.choices((5, 4, 3, 2, 1), weights)[0]
    reason = rng.choice(scenario.reasons) if value == 3 else ""
    return [Answer(option_id=unit.options.all()[0].pk, value=value, position=1, justification=reason)]


def _depict(unit: Unit, scenario: Scenario, truth: Truth, rng: random.Random) -> list[Answer]:
    """Select a drawn attribute with probability `hit`, another one with the level's false probability."""
    assert unit.image is not None
    group = unit.image.group.name
    level = scenario.levels[next(item.level for item in scenario.groups if item.name == group)]
    boxes = truth[group, unit.image.index].boxes
    *attributes, none = unit.options.all()
    rng.shuffle(attributes)
    answers = []
    for position, option in enumerate(attributes, start=1):
        assert option.attribute is not None
        text = option.attribute.text
        false = level.false_stereotypical if option.role == OptionRole.STEREOTYPICAL else level.false_random
        selected = rng.random() < (scenario.hit if text in boxes else false)
        around = boxes.get(text) or _random_box(rng)
        answers.append(
            Answer(
                option_id=option.pk,
                value=int(selected),
                position=position,
                boxes=(_jittered(around, sd=scenario.jitter, rng=rng),) if selected else (),
            )
        )
    nothing = not any(answer.value for answer in answers)
    answers.append(Answer(option_id=none.pk, value=int(nothing), position=len(answers) + 1))
    return answers


def _random_box(rng: random.Random) -> Extent:
    """A random box for an attribute that is not drawn."""
    x, y = rng.uniform(60, SIZE - 180), rng.uniform(60, SIZE - 180)
    return x, y, x + rng.uniform(60, 120), y + rng.uniform(60, 120)


def _jittered(extent: Extent, *, sd: float, rng: random.Random) -> Extent:
    x0, y0, x1, y1 = (edge + rng.gauss(0, sd) for edge in extent)
    return x0, y0, max(x1, x0 + 8), max(y1, y0 + 8)
