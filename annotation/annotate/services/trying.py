"""What an annotator would get of a study, and be told, for those who lead it. Reads, never writes: the key of
an item says at which place of the order it is, so nothing has to be remembered (docs/annotating.md)."""

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal
from uuid import UUID

from django.db.models import Exists, OuterRef, QuerySet
from django.utils.crypto import constant_time_compare, salted_hmac
from django.utils.translation import gettext as _

from annotation.annotate.services import answer_rules as rules
from annotation.annotate.services.answer_rules import Answer, AnswerRefused
from annotation.annotate.services.items import Item, NextItems
from annotation.annotate.services.responses import NotAssigned
from annotation.models import Option, Purpose, SkipReason, Slot, Study, Unit

_HALF = 8
_LAST_PLACE = 2**31


@dataclass(frozen=True)
class Trial:
    """A study as the account `user_id` tries it; `kind`: items of this kind of task only, empty for all."""

    study: Study
    user_id: int
    kind: str = ""


@dataclass(frozen=True)
class Checked:
    """The reply to a valid answer. `correct` and `feedback` are for practice items only."""

    correct: bool | None = None
    feedback: str = ""
    public_outcome: Literal["kept"] = "kept"


def next_items(trial: Trial, *, have: Collection[UUID] = (), after: UUID | None, wanted: int) -> NextItems:
    """The items that follow the one with key `after`, or the first ones: so many that the page, which has
    those with the keys `have`, has `wanted`. Practice first, then data with checks mixed in, as
    `items.next_items` gives them to somebody who skips nothing."""
    first = 0 if after is None else place_of(after) + 1
    found = [
        Item(unit_id=unit.pk, client_key=_key(trial, unit.pk, place=place), purpose=unit.purpose)
        for place, unit in _units_from(trial, first=first, wanted=max(0, wanted - len(have)))
    ]
    keys = [*sorted(have, key=place_of), *(item.client_key for item in found)]
    return NextItems(state="items" if keys else "done", items=found, assigned_keys=keys)


def place_of(key: UUID) -> int:
    """The place in the order, from 0, of the item with this key."""
    return min(int.from_bytes(key.bytes[:_HALF]), _LAST_PLACE)


def was_issued(trial: Trial, *, key: UUID, unit_id: int) -> bool:
    """Whether the item with this key is `unit_id`, and was given to this account."""
    return constant_time_compare(_key(trial, unit_id, place=place_of(key)).hex, key.hex)


def check_answer(
    trial: Trial, *, unit_id: int, client_key: UUID, answers: Sequence[Answer], **_times_and_language: object
) -> Checked:
    """Check an answer or a correction by the rules for annotators. Raises NotAssigned if the item was never
    given under this key, and AnswerRefused if the answer breaks a rule."""
    unit, options = _load_unit(trial, unit_id=unit_id, client_key=client_key)
    rules.validate(unit=unit, options=options, answers=answers)
    if unit.purpose != Purpose.TRAINING:
        return Checked()
    return Checked(correct=rules.is_correct(options=options, answers=answers), feedback=unit.feedback)


def check_skip(trial: Trial, *, unit_id: int, client_key: UUID, reason: str) -> None:
    """Check a skip. Raises as `check_answer`."""
    _load_unit(trial, unit_id=unit_id, client_key=client_key)
    if reason not in SkipReason.values:
        raise AnswerRefused(f"'{reason}' is not a reason. Choose one of: {', '.join(SkipReason.values)}.")


def _key(trial: Trial, unit_id: int, *, place: int) -> UUID:
    """The key of an item: its place, and a proof. No lease of anybody has such a key: the salt differs."""
    message = f"{place}:{trial.study.pk}:{trial.user_id}:{unit_id}"
    proof = salted_hmac("annotation.try", message, algorithm="sha256").digest()[:_HALF]
    return UUID(bytes=place.to_bytes(_HALF) + proof)


def _units_from(trial: Trial, *, first: int, wanted: int) -> Iterator[tuple[int, Unit]]:
    """Up to `wanted` units with their places, from place `first`."""
    units = Unit.objects.filter(task__study=trial.study.pk).only("purpose")
    if trial.kind:
        units = units.filter(task__kind=trial.kind)
    # The second condition lets SQLite use the partial index of the few checks.
    few = units.exclude(purpose=Purpose.DATA).order_by("task", "position")
    practice = list(few.filter(purpose=Purpose.TRAINING))
    checks = list(few.filter(purpose__in=[Purpose.GOLD, Purpose.ATTENTION])) if trial.study.gold_rate else []
    # Gold items are in a different order for everybody.
    checks.sort(key=lambda unit: _key(trial, unit.pk, place=0).int & (2 ** (8 * _HALF) - 1))
    due = [_answers_before(number, rate=trial.study.gold_rate) for number in range(1, len(checks) + 1)]
    before = sum(answers + number < first - len(practice) for number, answers in enumerate(due))
    offset = max(0, first - len(practice) - before)
    data = list(_data(units)[offset : offset + wanted])
    for place in range(first, first + wanted):
        if place < len(practice):
            yield place, practice[place]
            continue
        number = place - len(practice) - before  # of the data unit, unless a check comes first
        if before < len(checks) and number == due[before]:
            yield place, checks[before]
            before += 1
        elif number - offset < len(data):
            yield place, data[number - offset]
        else:
            return


def _data(units: QuerySet[Unit]) -> QuerySet[Unit]:
    """The units that people judge, in the order in which their slots were queued."""
    judged = Exists(Slot.objects.filter(unit=OuterRef("pk")))
    return units.filter(judged, purpose=Purpose.DATA).order_by("task_id", "position")


def _answers_before(number: int, *, rate: float) -> int:
    """How many answers come before check `number`, from 1 (annotate/services/items.py)."""
    answers = math.ceil(number / rate)
    while answers * rate < number:
        answers += 1
    while (answers - 1) * rate >= number:
        answers -= 1
    return answers


def _load_unit(trial: Trial, *, unit_id: int, client_key: UUID) -> tuple[Unit, Sequence[Option]]:
    if not was_issued(trial, key=client_key, unit_id=unit_id):
        raise NotAssigned(_("This item was not given to you. Please begin the try again."))
    options = list(
        Option.objects.filter(unit=unit_id, unit__task__study=trial.study.pk)
        .select_related("attribute", "unit__task", "unit__image")
        .order_by("position")
    )
    if not options:
        raise NotAssigned(_("This item belongs to another study. Please open that one again."))
    return options[0].unit, options
