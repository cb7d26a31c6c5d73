"""Base of the wizard's forms: each form edits one part of a study file (docs/studies.md).

A form is created from a *document* (setup/services.py), and `updated_document` returns the changed document.
Keys without a field, such as long lists in an uploaded file, are left alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from django import forms
from django.conf import settings
from django.utils.translation import gettext_lazy as _

from annotation.core.translation import LANGUAGE
from annotation.models import TaskKind
from annotation.studies.study_file.default_wordings import default_wording
from annotation.studies.study_file.reading import NAME_PATTERN

Document = dict[str, Any]

KINDS = tuple(TaskKind.values)


class NewStudyForm(forms.Form):
    """Title and name of a new study."""

    title = forms.CharField(
        label=_("Title"), max_length=200, help_text=_("Shown to annotators, e.g. 'What can a picture show?'")
    )
    name = forms.CharField(
        label=_("Short name"),
        max_length=80,
        help_text=_(
            "Used in URLs and commands; cannot be changed later. Lowercase letters, digits, - and _ only."
        ),
    )

    def clean_name(self) -> str:
        name: str = self.cleaned_data["name"].strip()
        if not re.fullmatch(NAME_PATTERN, name):
            raise forms.ValidationError(
                _("Use only lowercase letters, digits, '-' and '_', e.g. 'visual-2026'.")
            )
        return name


class UploadForm(forms.Form):
    """Upload of a study file."""

    file = forms.FileField(
        label=_("Study file (TOML)"),
        allow_empty_file=False,
        widget=forms.ClearableFileInput(attrs={"accept": ".toml"}),
    )


class StepForm(forms.Form):
    """A form for one part of the document."""

    KEYS: dict[str, str] = {}
    """Pattern of a key of the file -> name of the field; named groups of the pattern in braces."""

    def __init__(self, document: Document, data: Any = None) -> None:
        self.document = document
        super().__init__(data, initial=self.initial_from(document), label_suffix="")
        self.add_fields()

    def add_fields(self) -> None:
        """Add fields that depend on the document or on the available languages."""

    def initial_from(self, document: Document) -> dict[str, Any]:
        raise NotImplementedError

    def updated_document(self) -> Document:
        """The document with the cleaned data. Call `is_valid` first."""
        raise NotImplementedError

    def kept_languages(self) -> list[str]:
        """Languages in the file that the pages have no fields for; their texts are left alone."""
        return []

    def field_for(self, key: str) -> str | None:
        """The name of the field for `key`, e.g. 'consent.text'; None if it is on another page."""
        for pattern, name in self.KEYS.items():
            if found := re.match(pattern, key):
                field = name.format(**found.groupdict())
                return field if field in self.fields else None
        return None

    def anchor_and_label(self, key: str) -> tuple[str, str]:
        """The HTML id and the label of the field for `key`; both empty if there is none."""
        field = self.field_for(key)
        if field is None:
            return "", ""
        return self[field].id_for_label or self[field].auto_id, str(self[field].label)


def languages() -> list[tuple[str, str]]:
    """Code and native name of the languages besides English that texts can be given in."""
    offered = settings.LANGUAGES if len(settings.LANGUAGES) < 20 else ()
    return [(code, str(name)) for code, name in offered if code != LANGUAGE]


def unsupported_languages(tables: Iterable[Document]) -> list[str]:
    """Languages in `tables` of texts by language that the pages do not offer."""
    offered = {code for code, _name in languages()}
    used = {key for table in tables for key, value in table.items() if isinstance(value, dict)}
    return sorted(used - offered)


def split_lines(text: str) -> list[str]:
    return [" ".join(line.split()) for line in text.splitlines() if line.strip()]


def translations_with(document: Document, *parts: str) -> Document:
    """The study's translations that have one of these texts."""
    return {
        code: texts
        for code, texts in document.get("translations", {}).items()
        if any(part in texts for part in parts)
    }


def set_translations(document: Document, texts: Mapping[str, Mapping[str, str]]) -> None:
    """Set `texts` (language -> key -> text) in the study's translations; the others are left alone."""
    translations = document.setdefault("translations", {})
    for code, new in texts.items():
        current = translations.get(code, {})
        for key, text in new.items():
            put(current, key, text)
        put(translations, code, current)
    put(document, "translations", translations)


def put(table: Document, key: str, value: Any) -> None:
    """Set a key of a table, or remove it if the value is empty, because TOML has no null."""
    if value in (None, "", [], {}):
        table.pop(key, None)
    else:
        table[key] = value


def tasks_by_kind(document: Document) -> dict[str, Document]:
    """Kind -> task, in the order of KINDS."""
    found = {task.get("kind", ""): task for task in document.get("tasks", [])}
    return {kind: found[kind] for kind in KINDS if kind in found}


def split_task_key(document: Document, key: str) -> tuple[str, str]:
    """The kind of the task in a key such as 'tasks[2].strata[1]', and the rest of the key."""
    if not key.startswith("tasks["):
        return "", key
    number, _bracket, rest = key[len("tasks[") :].partition("]")
    tasks = document.get("tasks", [])
    known = number.isdigit() and 0 < int(number) <= len(tasks)
    return (tasks[int(number) - 1].get("kind", "") if known else ""), rest.lstrip(".")


def default_wording_of(task: Document) -> str:
    return default_wording(task["kind"], names_group="associations" in task)


def clean_text(text: str) -> str:
    return text.replace("\r\n", "\n").strip()
