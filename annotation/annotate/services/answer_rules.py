"""What an answer may be: the rules of the four kinds of task (PROTOCOL §2-§5). Reads, never writes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from django.utils.translation import gettext as _

from annotation.core import scales
from annotation.models import Image, Option, OptionRole, Purpose, TaskKind, Unit

Corners = tuple[float, float, float, float]


@dataclass(frozen=True)
class Answer:
    """What is said of one option. `position` is where it was shown, from 1; boxes are
    (x0, y0, x1, y1) in pixels of the natural image, in any order of corners; `whole_image` says that the
    attribute is visible in the image as a whole."""

    option_id: int
    value: int
    position: int
    justification: str = ""
    boxes: Sequence[Corners] = field(default_factory=tuple)
    whole_image: bool = False


@dataclass(frozen=True)
class Judged:
    """An answer that passed, with its boxes clipped to the image."""

    answer: Answer
    boxes: Sequence[Corners]


class AnswerRefused(ValueError):
    """An answer that cannot be taken. The message says why and what to do, in words for the annotator."""


def checked(*, unit: Unit, options: Sequence[Option], answers: Sequence[Answer]) -> list[Judged]:
    """The answers with their boxes clipped; raises AnswerRefused if they cannot be an answer to `unit`."""
    by_id = {option.pk: option for option in options}
    if sorted(answer.option_id for answer in answers) != sorted(by_id):
        raise AnswerRefused(
            _("The answer does not match the item shown. Please reload the page and answer again.")
        )
    if sorted(answer.position for answer in answers) != list(range(1, len(options) + 1)):
        raise AnswerRefused(
            _("The order in which the options were shown is missing. Please reload the page.")
        )
    kind = unit.task.kind
    for answer in answers:
        try:
            label = scales.label_of(kind, answer.value)
        except ValueError as error:
            raise AnswerRefused(str(error)) from error
        if label.needs_justification and not answer.justification.strip():
            words = _("You chose '{label}'. Please write in a few words why.")
            raise AnswerRefused(words.format(label=_(label.name)))
    judged = [Judged(answer, _boxes(answer, image=unit.image)) for answer in answers]
    if kind == TaskKind.DEPICTION:
        _check_selection(by_id, judged)
    return judged


def correct(*, unit: Unit, options: Sequence[Option], answers: Sequence[Answer]) -> bool | None:
    """Whether a training, gold or attention item was answered as expected; None for data, and where
    nothing is expected. Options without an expectation may be answered either way."""
    expected = {option.pk: option.expected for option in options if option.expected is not None}
    if unit.purpose == Purpose.DATA or not expected:
        return None
    return all(answer.value in expected.get(answer.option_id, [answer.value]) for answer in answers)


def clip(corners: Corners, *, width: int, height: int) -> Corners | None:
    """A box with its corners in order and inside the image; None if no area is left (PROTOCOL §5)."""
    x0, x1 = sorted((corners[0], corners[2]))
    y0, y1 = sorted((corners[1], corners[3]))
    inside = (max(0.0, x0), max(0.0, y0), min(float(width), x1), min(float(height), y1))
    return inside if inside[0] < inside[2] and inside[1] < inside[3] else None


def _check_selection(by_id: Mapping[int, Option], judged: Sequence[Judged]) -> None:
    """PROTOCOL §5: none of the above excludes the rest, and what is selected is shown where."""
    chosen = [one for one in judged if one.answer.value == 1]
    nothing = [one for one in chosen if by_id[one.answer.option_id].role == OptionRole.NONE_OF_ABOVE]
    if not chosen:
        raise AnswerRefused(_("Nothing is chosen. If nothing applies, choose 'None of the above'."))
    if nothing and len(chosen) > 1:
        raise AnswerRefused(_("'None of the above' cannot be chosen together with something else."))
    for one in chosen:
        option = by_id[one.answer.option_id]
        if option.role == OptionRole.NONE_OF_ABOVE:
            continue
        if not one.boxes and not one.answer.whole_image:
            text = option.attribute.text if option.attribute else ""
            words = _(
                "'{attribute}': draw a box around what shows it, "
                "or say that it is visible in the image as a whole."
            )
            raise AnswerRefused(words.format(attribute=text))


def _boxes(answer: Answer, *, image: Image | None) -> list[Corners]:
    if not answer.boxes and not answer.whole_image:
        return []
    if image is None or answer.value != 1:
        raise AnswerRefused(_("A box belongs to a selected attribute of an image."))
    boxes = [clip(corners, width=image.width, height=image.height) for corners in answer.boxes]
    inside = [box for box in boxes if box is not None]
    if len(inside) < len(boxes):
        raise AnswerRefused(_("A box lies outside the image. Please draw it again."))
    return inside
