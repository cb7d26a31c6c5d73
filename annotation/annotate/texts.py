"""Texts of the annotation page, in the reader's language."""

from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.core import scales
from annotation.models import SkipReason, TaskKind
from annotation.studies.study_file.default_wordings import OFFENSIVENESS_OF_AN_ATTRIBUTE, WORDINGS

NOTES: dict[str, str | Promise] = {
    # PROTOCOL §3: said with every item
    TaskKind.PREVALENCE: gettext_lazy(
        "The question is whether you know of such an opinion in society, not whether you hold it."
    ),
    TaskKind.OFFENSIVENESS: gettext_lazy("Think of it as a generalisation about a whole group of people."),
    TaskKind.DEPICTION: gettext_lazy(
        "Choose everything that the image depicts. Draw a box around what shows it, "
        "or say that it is visible in the image as a whole."
    ),
    TaskKind.ASSOCIATION: gettext_lazy(
        "The question is about the association itself, not whether you hold it."
    ),
}
"""Kind of task -> the note under each statement, but for default wordings that say the same."""
_SAID_BY_WORDINGS = frozenset(
    {
        WORDINGS[TaskKind.PREVALENCE],
        WORDINGS[TaskKind.OFFENSIVENESS],
        OFFENSIVENESS_OF_AN_ATTRIBUTE,
        WORDINGS[TaskKind.DEPICTION],
    }
)


def note(kind: str, wording: str) -> str:
    """The note under the statements of a task with this wording; empty if the wording says it. A default
    wording is given in English."""
    return "" if wording in _SAID_BY_WORDINGS else str(NOTES.get(kind, ""))


def labels() -> dict[str, list[dict[str, Any]]]:
    """Kind of rating task -> its labels, in the order of their keys."""
    return {
        kind: [
            {
                "value": label.value,
                "name": _(label.name),
                "explanation": _(label.explanation) if label.explanation else "",
                "needs_reason": label.needs_justification,
            }
            for label in scale
        ]
        for kind, scale in scales.SCALES.items()
        if kind != TaskKind.DEPICTION
    }


def reasons() -> dict[str, str]:
    """Reasons to skip an item."""
    return {
        SkipReason.UPSETTING: _("It is upsetting"),
        SkipReason.UNCLEAR: _("I do not understand it"),
        SkipReason.BROKEN: _("The image is missing or broken"),
        SkipReason.OTHER: _("Something else"),
    }


def messages() -> dict[str, str]:
    """Texts that scripts put on the page; {n} and the like are filled in there."""
    return {
        "saved": _("All answers saved"),
        "sending": _("Sending…"),
        "offline": _("No connection. Answers not sent yet: {n}"),
        "login": _("You were logged out. Answers not sent yet: {n}"),
        "other_user": _("Somebody else is logged in. Your answers not sent yet: {n}"),
        "log_in": _("Log in again"),
        "memory": _(
            "This browser cannot store answers. "
            "Do not close this page before it says that all answers are saved."
        ),
        "back_online": _("Connected again."),
        "send": _("Submit and continue"),
        "save_correction": _("Save the correction"),
        "go_on": _("Continue"),
        "progress": _("{answered} of {total} rated"),
        "why_unsure": _("Why are you unsure?"),
        "why_hint": _("A few words are enough. Needed when you choose Unsure."),
        "choose": _("Please choose one of the answers."),
        "choose_option": _("Please choose what the image depicts, or 'None of the above'."),
        "reason": _("You chose '{label}'. Please write in a few words why."),
        "needs_box": _(
            "'{attribute}': draw a box around what shows it, "
            "or say that it is visible in the image as a whole."
        ),
        "none": _("None of the above"),
        "image": _("The image to be judged"),
        "image_missing": _("The image cannot be shown. You can skip this item."),
        "image_blurred": _("Please reveal the image before you answer, or skip it."),
        "image_coming": _("The image is still loading. Please wait for it, or skip it."),
        "page": _("Page {page} of {pages} for this image"),
        "options": _("What the image depicts"),
        "draw": _("Draw a box"),
        "boxes": _("Boxes: {n}"),
        "remove_box": _("Remove box {n} of '{attribute}'"),
        "remove": _("Remove box {n}"),
        "chosen_now": _("Chosen: {names}."),
        "nothing_chosen": _("Nothing is chosen."),
        "whole_image": _("Visible in the image as a whole"),
        "active": _("Boxes are drawn for '{attribute}' now."),
        "editor_missing": _("The drawing tool could not be loaded. Please reload the page."),
        "waiting": _("Loading the next item…"),
        "waiting_offline": _(
            "There is no connection. Your answers are kept until it is back, "
            "and then the next item will load."
        ),
        "repeat": _("You already answered that item in another window. The first answer counts."),
        "elsewhere": _("That item was answered in another window. Here is the next one."),
        "surplus": _("Thank you. That item has enough answers by now; yours is saved as an extra answer."),
        "refused": _("An answer was not accepted: {error}"),
        "not_yours": _("An answer could not be saved: {error}"),
        "practice": _("Practice item"),
        "right": _("As expected."),
        "wrong": _("We expected another answer."),
        "skipped": _("Skipped."),
        "corrected": _("The correction is saved."),
        "correcting": _("You are correcting an earlier answer."),
        "leave_it": _("Discard the correction"),
        "change": _("Change"),
        "no_answers": _("You have not answered anything yet."),
        "last_offline": _("Your last answers can be shown when the connection is back."),
        "choose_reason": _("Please choose a reason."),
    }


def box_editor() -> dict[str, str]:
    """Texts of the box editor (static/annotation/boxes.js). Names in braces are replaced by values."""
    return {
        "editor": _("Image with boxes"),
        "help": _(
            "R draws, V selects. To draw by keyboard: arrow keys move the cross by 10 pixels (Shift "
            "1, Ctrl 50), Enter sets a corner, arrow keys size the box, Enter finishes it. Right and "
            "left square brackets go through the boxes, arrow keys move the selected box, Alt with "
            "arrow keys changes its size, Delete removes it. Ctrl+Z undoes, Ctrl+Shift+Z redoes, "
            "Escape cancels. Plus, minus and F zoom, holding the space bar moves the view."
        ),
        "tools": _("Box tools"),
        "draw": _("Draw"),
        "select": _("Select"),
        "pan": _("Move view"),
        "zoomIn": _("Zoom in"),
        "zoomOut": _("Zoom out"),
        "zoomFit": _("Fit to window"),
        "undo": _("Undo"),
        "redo": _("Redo"),
        "remove": _("Delete box"),
        "reveal": _("Reveal image"),
        "conceal": _("Blur image"),
        "retry": _("Load the image again"),
        "box": _(
            "Box {n} of {label}: left {left}, top {top}, width {width}, height {height} "
            "of {imageWidth} by {imageHeight}"
        ),
        "armed": _("Drawing boxes for {label}."),
        "selecting": _("Selecting boxes."),
        "panning": _("Moving the view."),
        "noOption": _("Choose what you want to draw a box for first."),
        "cross": _("Cross at {x}, {y} of {imageWidth} by {imageHeight}"),
        "corner": _("First corner at {x}, {y}. Set the opposite corner."),
        "sizing": _("Left {left}, top {top}, width {width}, height {height}"),
        "tooSmall": _("Too small: no box was made."),
        "cancelled": _("Cancelled."),
        "noBoxes": _("There are no boxes here."),
        "deselected": _("Nothing selected."),
        "removed": _("Deleted. {count} left."),
        "assigned": _("Assigned to {label}."),
        "undone": _("Undone. Boxes: {count}."),
        "redone": _("Redone. Boxes: {count}."),
        "nothingToUndo": _("There is nothing to undo."),
        "nothingToRedo": _("There is nothing to redo."),
        "zoom": _("Zoom {percent} %"),
        "whole": _("The whole image is shown."),
        "wide": _("The image is as wide as it can be."),
        "revealed": _("The image is shown."),
        "concealed": _("The image is blurred."),
        "stillBlurred": _("Reveal the image first."),
        "failed": _("The image could not be loaded."),
    }
