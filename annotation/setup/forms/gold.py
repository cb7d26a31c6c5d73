"""Gold items made by looking at images: the lead ticks what each one shows."""

import copy
import re
from collections.abc import Mapping, Sequence
from typing import Any

from django import forms
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from annotation.models import Image, Purpose, TaskKind
from annotation.setup.forms.base import Document, StepForm, put, tasks_by_kind

_PARTS = ("shown", "doubt", "none", "practice")
_PURPOSES = (Purpose.GOLD.value, Purpose.TRAINING.value)
_SEEN = re.compile(r"image_\d+_seen")
USUAL_RATE = 0.05
"""Gold items per item answered, where a study says nothing: as in the templates."""


class GoldForm(StepForm):
    """What some images show. `images`: with the attributes that the study shows with each.

    An image for which nothing is ticked is no item. What is in doubt is left out of the item. The other items
    of the document are kept, and so is that of an image which was not on the page that was sent.
    """

    def __init__(
        self, document: Document, data: Any = None, *, images: Sequence[tuple[Image, Sequence[str]]]
    ) -> None:
        task = tasks_by_kind(document)[TaskKind.DEPICTION]
        found = {image: _find(task, image) for image, _texts in images}
        most = task.get("page_size", 5) - 1
        self.texts = {image: _with_own(texts, found[image])[:most] for image, texts in images}
        super().__init__(document, data)

    def add_fields(self) -> None:
        for image, texts in self.texts.items():
            called = gettext("%(group)s, image %(number)s") % {
                "group": image.group.name,
                "number": image.index,
            }
            for part in ("shown", "doubt"):
                self.fields[_name(image, part)] = forms.MultipleChoiceField(
                    label=called,
                    required=False,
                    choices=[(text, text) for text in texts],
                    widget=forms.CheckboxSelectMultiple,
                )
            self.fields[_name(image, "none")] = forms.BooleanField(
                label=_("None of the above"), required=False
            )
            # what the lead looked at: the study may have been changed elsewhere since
            self.fields[_name(image, "seen")] = forms.CharField(required=False)
            self.fields[_name(image, "practice")] = forms.BooleanField(
                label=_("Practice: comes first, and says what is right"), required=False
            )

    def initial_from(self, document: Document) -> dict[str, Any]:
        initial: dict[str, Any] = {}
        for image, texts in self.texts.items():
            purpose, item = _find(tasks_by_kind(document)[TaskKind.DEPICTION], image)
            if item is not None:
                initial |= {
                    _name(image, "shown"): item["expected"],
                    _name(image, "doubt"): [text for text in texts if text not in item["shown"]],
                    _name(image, "none"): not item["expected"],
                    _name(image, "practice"): purpose == Purpose.TRAINING,
                }
        return initial

    def clean(self) -> dict[str, Any]:
        for image, texts in self.texts.items():
            seen = self._seen(image)
            if seen and seen != _joined(texts):
                problem = gettext("The attributes beside this image have changed. Look at it again.")
            else:
                problem = _problem(texts, **self._ticked(image))
            if problem:
                self.add_error(_name(image, "shown"), problem)
        here = {_name(image, "seen") for image in self.texts}
        if any(_SEEN.fullmatch(name) and name not in here for name in self.data):
            self.add_error(None, gettext("The images of this study have changed. Look at those below."))
        return self.cleaned_data

    def updated_document(self) -> Document:
        changed = copy.deepcopy(self.document)
        task = tasks_by_kind(changed)[TaskKind.DEPICTION]
        for image, texts in self.texts.items():
            if not self._seen(image):
                continue
            before, item = _find(task, image)
            purpose, new = self._item(image, texts)
            if (purpose, _answer(new)) == (before, _answer(item)):
                continue  # with its own feedback
            at = len(task.get(before, []))
            if item is not None:
                at = next(place for place, each in enumerate(task[before]) if each is item)
                del task[before][at]
            if new is not None:
                rows = [each for each in task.get(purpose, []) if not _is_about(each, image)]
                rows.insert(at if purpose == before else len(rows), new)
                task[purpose] = rows
        for purpose in _PURPOSES:
            put(task, purpose, task.get(purpose))
        quality = changed.setdefault("quality", {})
        if task.get("gold") and not quality.get("gold_rate"):
            quality["gold_rate"] = USUAL_RATE  # without a rate nobody would see one
        return changed

    def has_items(self) -> bool:
        """Whether the ticks make an item of any image. The form must be valid."""
        return any(self._item(image, texts)[1] is not None for image, texts in self.texts.items())

    def cards(self) -> list[dict[str, Any]]:
        """For each image: its fields, with the two boxes of each attribute side by side."""
        return [
            {
                "image": image,
                "seen": (_name(image, "seen"), _joined(self.texts[image])),
                "words": list(zip(self[_name(image, "shown")], self[_name(image, "doubt")], strict=True)),
                **{part: self[_name(image, part)] for part in ("shown", "none", "practice")},
            }
            for image in self.texts
        ]

    def _seen(self, image: Image) -> str:
        return str(self.cleaned_data.get(_name(image, "seen")) or "")

    def _ticked(self, image: Image) -> dict[str, Any]:
        return {part: self.cleaned_data.get(_name(image, part)) or () for part in _PARTS}

    def _item(self, image: Image, texts: Sequence[str]) -> tuple[str, Document | None]:
        """The item that was ticked and its purpose; '' and None if there is none."""
        ticked = self._ticked(image)
        if not ticked["shown"] and not ticked["none"]:
            return "", None
        item: Document = {
            "group": image.group.name,
            "image": image.index,
            "shown": [text for text in texts if text not in ticked["doubt"]],
            "expected": [text for text in texts if text in ticked["shown"]],
        }
        if not ticked["practice"]:
            return Purpose.GOLD.value, item
        # A study file has no translations of feedback, nor of attributes.
        seen = ", ".join(item["expected"])
        feedback = f"The image shows: {seen}." if seen else "The image shows none of these."
        return Purpose.TRAINING.value, {**item, "feedback": feedback}


def _problem(texts: Sequence[str], *, shown: Any, doubt: Any, none: Any, practice: Any) -> str:
    """What is unclear in the ticks at an image with `texts`, and what to do; empty if nothing is."""
    if shown and none:
        return gettext("Choose either what the image shows, or none of the above.")
    if both := [text for text in texts if text in shown and text in doubt]:
        return gettext("This is ticked twice, choose one: %(attributes)s.") % {"attributes": ", ".join(both)}
    if none and len(doubt) == len(texts):
        return gettext("Leave at least one attribute that is not in doubt.")
    if (practice or doubt) and not (shown or none):
        return gettext("Tick what the image shows, or none of the above, or remove the other ticks.")
    return ""


def _name(image: Image, part: str) -> str:
    return f"image_{image.pk}_{part}"


def _find(task: Document, image: Image) -> tuple[str, Document | None]:
    """The purpose of the first gold or training item on `image`, and the item; '' and None if there is
    none."""
    for purpose in _PURPOSES:
        for item in task.get(purpose, []):
            if _is_about(item, image):
                return purpose, item
    return "", None


def _is_about(item: Mapping[str, Any], image: Image) -> bool:
    return (item.get("group"), item.get("image")) == (image.group.name, image.index)


def _joined(texts: Sequence[str]) -> str:
    return " | ".join(texts)


def _with_own(texts: Sequence[str], found: tuple[str, Document | None]) -> list[str]:
    """`texts`, or those of the item that there is, and then the others."""
    own = found[1]["shown"] if found[1] is not None else []
    return list(texts) if {*own} <= {*texts} else [*own, *(text for text in texts if text not in own)]


def _answer(item: Mapping[str, Any] | None) -> tuple[set[str], set[str]] | None:
    return None if item is None else ({*item["shown"]}, {*item["expected"]})
