"""The prompts of machine judges: an item as annotators see it, and the form of the answer (PROTOCOL §16).

A prompt is in the reader's language. A change of these texts is a new PROMPT_VERSION (design.py).
"""

from collections.abc import Mapping, Sequence
from typing import Any

from django.utils.translation import gettext as _

from annotation.annotate import texts
from annotation.participation.queries.enrolments import Guide
from metrics.machine_judges.design import Boxes, label_order
from metrics.machine_judges.parsing import LETTERS

CHOICE_FORM = '{"answer": "LETTER"}'
SELECTION_FORM = '{"chosen": ["LETTER", ...]}'
BOXES_FORM = '{"chosen": [{"option": "LETTER", "boxes": [[x0, y0, x1, y1], ...]}, ...]}'
WHOLE_FORM = '{"option": "LETTER", "whole_image": true}'


def rating_prompt(guides: Sequence[Guide], *, kind: str, statement: str, variant: str) -> str:
    """The prompt about one attribute or association."""
    labels = texts.labels()[kind]
    shown = [labels[place] for place in label_order(len(labels), variant)]
    lines = [
        f"{label['name']} ({label['explanation']})" if _is_explained(label) else label["name"]
        for label in shown
    ]
    return _joined(
        *_guides(guides),
        statement,
        str(texts.NOTES.get(kind, "")),
        _listed(_("Choose one answer:"), lines),
        _("Answer with JSON only, in this form: %(form)s") % {"form": CHOICE_FORM},
    )


def image_prompt(
    guides: Sequence[Guide], *, statement: str, options: Sequence[str], boxes: str, width: int, height: int
) -> str:
    """The prompt about one page of an image. `options`: in the order shown; "" is none of the above."""
    names = [text or _("None of the above") for text in options]
    return _joined(
        *_guides(guides),
        statement,
        _listed(_("What the image may depict:"), names),
        _("Choose everything that the image depicts, or none of the above if it depicts nothing of this."),
        *_form(boxes, width, height),
    )


def _form(boxes: str, width: int, height: int) -> list[str]:
    if boxes == Boxes.NONE:
        # the study's own wording may ask people for boxes
        return [
            _("Give no boxes."),
            _("Answer with JSON only, in this form: %(form)s") % {"form": SELECTION_FORM},
        ]
    units = (
        _("x and y are pixels; the image is %(width)d wide and %(height)d high.")
        % {"width": width, "height": height}
        if boxes == Boxes.PIXELS
        else _("x and y are thousandths of the width and of the height of the image, from 0 to 1000.")
    )
    return [
        _("Answer with JSON only, in this form: %(form)s") % {"form": BOXES_FORM},
        _(
            "Give a box around what shows each chosen option: left, top, right, bottom. %(units)s If the "
            "image as a whole shows it, write %(whole)s instead. None of the above has no box."
        )
        % {"units": units, "whole": WHOLE_FORM},
    ]


def _is_explained(label: Mapping[str, Any]) -> bool:
    # people must say why they are unsure; a model's reason would be read by nobody
    return bool(label["explanation"]) and not label["needs_reason"]


def _guides(guides: Sequence[Guide]) -> list[str]:
    """What annotators read before they begin."""
    found = []
    for guide in guides:
        found.append(guide.instructions)
        found += [
            _("Example: %(text)s Answer: %(answer)s. %(why)s")
            % {"text": each["text"], "answer": each["answer"], "why": each.get("why", "")}
            for each in guide.examples
        ]
    return found


def _listed(title: str, lines: Sequence[str]) -> str:
    return "\n".join([title, *(f"{LETTERS[place]}. {line}" for place, line in enumerate(lines))])


def _joined(*paragraphs: str) -> str:
    return "\n\n".join(text.strip() for text in paragraphs if text.strip())
