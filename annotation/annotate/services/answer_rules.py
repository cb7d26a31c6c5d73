"""Validates answers by the rules of the five kinds of task (PROTOCOL §2-§5, §11). Reads, never writes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from django.utils.translation import gettext as _

from annotation.core import scales
from annotation.models import Image, Option, OptionRole, TaskKind, Unit

Corners = tuple[float, float, float, float]


@dataclass(frozen=True)
class Answer:
    """The answer to one option, shown at `position` from 1. Boxes are (x0, y0, x1, y1) in pixels of the
    natural image, corners in any order; `whole_image`: the attribute is visible in the image as a whole."""

    option_id: int
    value: int
    position: int
    justification: str = ""
    boxes: Sequence[Corners] = ()
    whole_image: bool = False


class AnswerRefused(ValueError):
    """The answer breaks a rule. The message tells the annotator why and what to do."""


def validate(*, unit: Unit, options: Sequence[Option], answers: Sequence[Answer]) -> list[Answer]:
    """The answers with their boxes clipped; raises AnswerRefused if they break a rule of the unit's task."""
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
            message = _("You chose '{label}'. Please write in a few words why.")
            raise AnswerRefused(message.format(label=_(label.name)))
    valid = [_clipped(answer, image=unit.image) for answer in answers]
    if kind == TaskKind.DEPICTION:
        _check_selection(by_id, valid)
    return valid


def is_correct(*, options: Sequence[Option], answers: Sequence[Answer]) -> bool | None:
    """Whether a check was answered as expected; None without an expected answer. Options without one may be
    answered either way."""
    expected = {option.pk: option.expected for option in options if option.expected is not None}
    if not expected:
        return None
    return all(answer.value in expected.get(answer.option_id, [answer.value]) for answer in answers)


def clip(corners: Corners, *, width: int, height: int) -> Corners | None:
    """A box with its corners in order and inside the image; None if no area is left (PROTOCOL §5)."""
    x0, x1 = sorted((corners[0], corners[2]))
    y0, y1 = sorted((corners[1], corners[3]))
    inside = (max(0.0, x0), max(0.0, y0), min(float(width), x1), min(float(height), y1))
    return inside if inside[0] < inside[2] and inside[1] < inside[3] else None


def _check_selection(by_id: Mapping[int, Option], answers: Sequence[Answer]) -> None:
    """PROTOCOL §5: none of the above excludes the rest, and each selected attribute needs a box or
    `whole_image`."""
    selected = [answer for answer in answers if answer.value == 1]
    none = [answer for answer in selected if by_id[answer.option_id].role == OptionRole.NONE_OF_ABOVE]
    if not selected:
        raise AnswerRefused(_("Nothing is chosen. If nothing applies, choose 'None of the above'."))
    if none and len(selected) > 1:
        raise AnswerRefused(_("'None of the above' cannot be chosen together with something else."))
    for answer in selected:
        option = by_id[answer.option_id]
        if answer not in none and not answer.boxes and not answer.whole_image:
            text = option.attribute.text if option.attribute else ""
            message = _(
                "'{attribute}': draw a box around what shows it, "
                "or say that it is visible in the image as a whole."
            )
            raise AnswerRefused(message.format(attribute=text))


def _clipped(answer: Answer, *, image: Image | None) -> Answer:
    if not answer.boxes and not answer.whole_image:
        return answer
    if image is None or answer.value != 1:
        raise AnswerRefused(_("A box belongs to a selected attribute of an image."))
    boxes = [clip(corners, width=image.width, height=image.height) for corners in answer.boxes]
    inside = [box for box in boxes if box is not None]
    if len(inside) < len(boxes):
        raise AnswerRefused(_("A box lies outside the image. Please draw it again."))
    return replace(answer, boxes=inside)
