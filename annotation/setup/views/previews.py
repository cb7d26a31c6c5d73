"""Previews of a task as annotators will see it, in each language."""

import re
from typing import Any

from django.utils.translation import get_language_bidi, override
from django.utils.translation import gettext as _

from annotation.annotate import texts
from annotation.core.translation import LANGUAGE
from annotation.models import TaskKind
from annotation.setup import queries
from annotation.setup.forms.base import Document, StepForm, default_wording_of, languages, tasks_by_kind
from annotation.studies.study_file.default_wordings import translated_wording

_PARTS = ("strata", "people_share", "wording", "instructions", "seed")
_PLACEHOLDERS = re.compile(r"(\[attr\]|\[id\])")


def previews(document: Document, form: StepForm) -> list[dict[str, Any]]:
    """For each task: its fields, and previews with the current values of the form."""
    found = []
    for kind, task in tasks_by_kind(document).items():
        sample = queries.sample(task, document=document)
        own = str(form[f"{kind}_wording"].value() or "").strip()
        english = own or default_wording_of(task)
        # whether the default wording makes the note a repetition
        sample["repeats"] = not texts.note(kind, default_wording_of(task))
        shown = [_preview(kind, LANGUAGE, "English", english, sample, own=own, asked=english)]
        for code, name in languages():
            own = str(form[f"{kind}_wording_{code}"].value() or "").strip()
            wording = own or translated_wording(english, code)
            shown.append(_preview(kind, code, name, wording, sample, own=own, asked=own or english))
        found.append(
            {
                "kind": kind,
                "label": _(TaskKind(kind).label),
                "main": [form[f"{kind}_{part}"] for part in _PARTS],
                "languages": [
                    {
                        "code": code,
                        "name": name,
                        "fields": [form[f"{kind}_wording_{code}"], form[f"{kind}_instructions_{code}"]],
                        "preview": preview,
                    }
                    for (code, name), preview in zip(languages(), shown[1:], strict=True)
                ],
                "preview": shown[0],
            }
        )
    return found


def _preview(
    kind: str, code: str, name: str, wording: str, sample: dict[str, Any], *, own: str, asked: str
) -> dict[str, Any]:
    """`wording`: that of the language; `own`: what the study wrote in it; `asked`: the study's own wording or
    the English one, which a note may repeat."""
    named = {"[attr]": ("attribute", sample["attribute"]), "[id]": ("identity", sample["identity"])}
    with override(code):
        labels = texts.labels().get(kind, [])
        note = str(texts.NOTES.get(kind, ""))
        direction = "rtl" if get_language_bidi() else "ltr"
    return {
        "id": f"{kind}-{code}",
        "code": code,
        "name": name,
        "dir": direction,
        "statement": [named.get(part, ("text", part)) for part in _PLACEHOLDERS.split(wording) if part],
        "note": note,
        "labels": labels,
        **sample,
        "noted": bool(texts.note(kind, asked)),
        "seen": "own" if own else "usual" if wording else "english",
    }
