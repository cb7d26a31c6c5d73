"""Base of the wizard's forms: each edits one part of a document (setup/services.py). Keys without a field are
left alone."""

import copy
import json
from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import Any

from django import forms
from django.conf import settings
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from annotation.core.translation import LANGUAGE
from annotation.models import TaskKind
from annotation.studies.study_file.default_wordings import default_wording

Document = dict[str, Any]

KINDS = tuple(TaskKind.values)


class UploadForm(forms.Form):
    """Upload of a study file."""

    file = forms.FileField(
        label=_("Study file (TOML)"),
        allow_empty_file=False,
        widget=forms.ClearableFileInput(attrs={"accept": ".toml"}),
    )


def _digests(values: Mapping[str, Any]) -> dict[str, str]:
    texts = {name: json.dumps(value, sort_keys=True) for name, value in values.items()}
    return {name: sha256(text.encode()).hexdigest()[:8] for name, text in texts.items()}


def _changed_to(value: Any) -> str:
    if value and isinstance(value, str | int) and value is not True:
        return gettext("In another window this was changed to: %(value)s") % {"value": value}
    return gettext("This was changed in another window.")


class StepForm(forms.Form):
    """A form for one part of the document."""

    PATHS: dict[str, str] = {}
    """Key of the file -> name of the field."""
    TRANSLATED: dict[str, tuple[str, Any]] = {}
    """Name of a field that is repeated for each language -> its key, with {code}, and its label."""
    ROWS = ""
    """Key of a list of tables whose translations the form edits."""
    has_marks = True
    """Whether [[ ]] in a text is a place to adapt; elsewhere it may be a table of a file."""

    def __init__(self, document: Document, data: Any = None) -> None:
        self.document = document
        super().__init__(data, initial=self.initial_from(document), label_suffix="")
        for part, (_path, label) in self.TRANSLATED.items():
            for code, name in languages():
                self.fields[f"{part}_{code}"] = in_language(self.fields[part], label, code, name)
        self.add_fields()

    def paths(self) -> dict[str, str]:
        """`PATHS` with the keys and fields in each language."""
        return self.PATHS | {
            path.format(code=code): f"{part}_{code}"
            for part, (path, _label) in self.TRANSLATED.items()
            for code, _name in languages()
        }

    def add_fields(self) -> None:
        """Add fields that depend on the document."""

    def shown_values(self) -> dict[str, Any]:
        """The values of the document that this page shows, by field. Rows that are empty do not count."""
        initial = {name: self.get_initial_for_field(field, name) for name, field in self.fields.items()}
        return {name: value for name, value in initial.items() if value}

    def shown(self) -> str:
        """A digest of each of these values, which the page sends back."""
        return json.dumps(_digests(self.shown_values()))

    def check_shown(self) -> None:
        """Add errors if these values changed since the page was shown, and saving would replace them."""
        values, before = self.shown_values(), self._sent_digests()
        if before is None:
            return
        now = _digests(values)
        changed = [name for name in {**now, **before} if now.get(name) != before.get(name)]
        if not changed or (self.is_valid() and self.updated_document() == self.document):
            return
        self.add_error(
            None,
            gettext(
                "This page was changed in another window since you opened it. Below is what you entered: "
                "save again to replace the other change."
            ),
        )
        for name in changed:
            if name in self.fields:
                self.add_error(name, _changed_to(values.get(name)))

    def _sent_digests(self) -> dict[str, str] | None:
        """What the page was shown with; None if it does not say, as those of the previous version."""
        try:
            sent = json.loads(self.data.get("shown", ""))
        except ValueError:
            return None
        return sent if isinstance(sent, dict) else None

    def initial_from(self, document: Document) -> dict[str, Any]:
        found = {name: get_at(document, key) for key, name in self.paths().items()}
        return {name: value for name, value in found.items() if value is not None}

    def updated_document(self) -> Document:
        """The document with the cleaned data. Call `is_valid` first."""
        changed = copy.deepcopy(self.document)
        for key, name in self.paths().items():
            value = self.cleaned_data[name]
            put_at(changed, key, clean_text(value) if isinstance(value, str) else value)
        return changed

    def kept_languages(self) -> list[str]:
        """Languages in the file that the pages have no fields for; their texts are left alone."""
        tables = [row.get("translations", {}) for row in self.document.get(self.ROWS, [])]
        for part, (path, _label) in self.TRANSLATED.items():
            table = get_at(self.document, path.partition(".")[0])
            by_language = table if isinstance(table, dict) else {}
            tables += [
                {code: texts}
                for code, texts in by_language.items()
                if isinstance(texts, dict) and part in texts
            ]
        return unsupported_languages(tables)

    def by_language(self) -> list[dict[str, Any]]:
        return [
            {"code": code, "name": name, "fields": [self[f"{part}_{code}"] for part in self.TRANSLATED]}
            for code, name in languages()
        ]

    def field_for(self, key: str) -> str | None:
        """The name of the field for `key`, e.g. 'consent.text'; None if it is on another page."""
        for path, name in self.paths().items():
            if key == path or key.startswith((f"{path}.", f"{path}[")):
                return name if name in self.fields else None
        return None

    def anchor_and_label(self, key: str) -> tuple[str, str]:
        """The HTML id and the label of the field for `key`; both empty if there is none."""
        field = self.field_for(key)
        if field is None:
            return "", ""
        return self[field].id_for_label or self[field].auto_id, str(self[field].label)


def in_language(field: forms.Field, label: Any, code: str, name: str) -> forms.Field:
    """A copy of a text field for a language besides English. `label` names the %(language)s."""
    translated = copy.deepcopy(field)
    translated.label, translated.help_text, translated.required = label % {"language": name}, "", False
    translated.widget.is_required = False
    translated.widget.attrs |= {"lang": code, "dir": "auto"}
    return translated


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


def put(table: Document, key: str, value: Any) -> None:
    """Set a key of a table, or remove it if the value is empty, because TOML has no null."""
    if value in (None, "", [], {}):
        table.pop(key, None)
    else:
        table[key] = value


def get_at(table: Any, path: str) -> Any:
    """The value at a path such as 'care.break_after'; None if there is none."""
    for part in path.split("."):
        table = table.get(part) if isinstance(table, dict) else None
    return table


def put_at(table: Document, path: str, value: Any) -> None:
    """Like `put`, for a path such as 'care.break_after'. Tables left empty are removed."""
    first, _dot, rest = path.partition(".")
    if rest:
        inner = table.get(first, {})
        put_at(inner, rest, value)
        value = inner
    put(table, first, value)


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
