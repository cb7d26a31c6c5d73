"""Wizard page for worked examples and check items."""

import copy
import re
from collections import Counter
from typing import Any

from django import forms
from django.utils.translation import gettext as _now
from django.utils.translation import gettext_lazy as _

from annotation.core import scales
from annotation.models import TaskKind
from annotation.setup.forms.base import (
    Document,
    clean_text,
    get_at,
    languages,
    put,
    put_at,
    split_lines,
    split_task_key,
    tasks_by_kind,
)
from annotation.setup.forms.examples import ExamplesForm
from annotation.setup.queries import suggestions
from annotation.studies.study_file.checks import PURPOSES
from annotation.studies.study_file.table import LARGEST_NUMBER

_PURPOSES = (
    ("training", _("Training: comes first and tells annotators whether they were right")),
    ("gold", _("Gold item: mixed in, looks like any other")),
    ("attention", _("Attention check: mixed in, looks like any other")),
)


class ChecksForm(ExamplesForm):
    """Examples and check items of each task in rows, and the study's rules for check items."""

    ROWS = "tasks"
    SPARE = 2
    MOST_FIELDS = 900  # a form may send a thousand (DATA_UPLOAD_MAX_NUMBER_FIELDS)
    _FIELDS_PER_CHECK = 11  # with every label of the longest scale chosen
    PATHS = {"quality.training_pass": "training_pass", "quality.gold_rate": "gold_rate"}
    training_pass = forms.FloatField(
        label=_("Training items to answer correctly, in per cent"),
        required=False,
        min_value=0,
        max_value=100,
        help_text=_(
            "Annotators below this share are thanked and cannot continue. If empty, everyone continues."
        ),
    )
    gold_rate = forms.FloatField(
        label=_("Gold items and attention checks per hundred items"),
        required=False,
        min_value=0,
        max_value=50,
        help_text=_("At most 50. If empty, none are mixed in."),
    )

    def add_fields(self) -> None:
        self.row_counts = {
            kind: self._row_counts(kind, task) for kind, task in tasks_by_kind(self.document).items()
        }
        fields = sum(
            3 * (1 + len(languages())) * examples + self._FIELDS_PER_CHECK * checks
            for examples, checks in self.row_counts.values()
        )
        self.too_many = fields > self.MOST_FIELDS
        if self.too_many:
            return
        self.row_names = self._document_row_names()
        for kind, task in tasks_by_kind(self.document).items():
            examples, checks = self.row_counts[kind]
            for number in range(examples):
                self.add_example(f"{kind}_example_{number}", task)
            for number in range(checks):
                self._add_check(f"{kind}_check_{number}", task)

    def initial_from(self, document: Document) -> dict[str, Any]:
        found = {name: round(share * 100, 4) for name, share in super().initial_from(document).items()}
        for kind, task in tasks_by_kind(document).items():
            found |= self.examples_initial(kind, task)
            for number, check in enumerate(_checks_of(task)):
                typed = _check_initial(check, kind=kind)
                found |= {f"{kind}_check_{number}_{part}": value for part, value in typed.items()}
        return found

    def clean(self) -> dict[str, Any]:
        data = self.cleaned_data
        for kind, task in tasks_by_kind(self.document).items():
            for number in self.rows(kind, "check"):
                name = f"{kind}_check_{number}"
                if _is_empty_row(data, name):
                    continue
                required = {
                    "group": _("Write the identity group."),
                    "attribute": _("Write the attribute."),
                    "image": _("Write the number of the image."),
                    "shown": _("List the attributes shown."),
                    "expected": _("Choose at least one correct answer."),
                }
                if kind == TaskKind.DEPICTION:
                    del required["expected"]  # empty means none of the above
                for part, message in required.items():
                    field = f"{name}_{part}"
                    if field in self.fields and field not in self.errors and not data.get(field):
                        self.add_error(field, message)
                if data.get(f"{name}_feedback") and data.get(f"{name}_purpose") in ("gold", "attention"):
                    self.add_error(
                        f"{name}_feedback",
                        _(
                            "Only training items give feedback, so that annotators cannot "
                            "recognise the others."
                        ),
                    )
            self.clean_examples(kind, task)
        return data

    def updated_document(self) -> Document:
        data, changed = self.cleaned_data, copy.deepcopy(self.document)
        for key, name in self.PATHS.items():
            if name in self.changed_data:  # others keep their unrounded value
                put_at(changed, key, None if data[name] is None else round(data[name] / 100, 6))
        if not get_at(changed, "quality.gold_rate"):
            put_at(changed, "quality.gold_rate", None)
        if self.too_many:
            return changed
        self.row_names = {}
        for number, task in enumerate(changed.get("tasks", []), 1):
            self.apply_examples(task, key=f"tasks[{number}]")
            self._apply_checks(task, key=f"tasks[{number}]")
        return changed

    def field_for(self, key: str) -> str | None:
        found = re.match(r"(.*?(?:training|gold|attention|examples)\[\d+\])(?:\.(\w+))?", key)
        if found and found.group(1) in self.row_names:
            place = self.row_names[found.group(1)]
            start, _dot, end = place.partition("*")
            kind, _rest = split_task_key(self.document, key)
            usual = "text" if "_example_" in start else "group" if kind == TaskKind.DEPICTION else "attribute"
            names = (f"{start}{found.group(2)}{end}", f"{start}{usual}{end}")
            return next((name for name in names if name in self.fields), None)
        translation = re.match(r"(.*)\.translations\.([\w-]+)\.examples", key)
        if translation:
            kind, _rest = split_task_key(self.document, key)
            name = f"{kind}_example_0_text_{translation.group(2)}"
            return name if name in self.fields else None
        return super().field_for(key)

    def cards(self) -> list[dict[str, Any]]:
        """For each task: the rows of its examples and check items, and suggestions for their fields."""
        found = []
        for kind, task in tasks_by_kind(self.document).items():
            found.append(
                {
                    "kind": kind,
                    "label": _now(TaskKind(kind).label),
                    "examples": [
                        self.example_row(f"{kind}_example_{number}", task)
                        for number in self.rows(kind, "example")
                    ],
                    "checks": [
                        self._check_row(f"{kind}_check_{number}") for number in self.rows(kind, "check")
                    ],
                    "suggestions": suggestions(task, document=self.document),
                }
            )
        return found

    def rows(self, kind: str, what: str) -> range:
        return range(0 if self.too_many else self.row_counts[kind][what == "check"])

    def _document_row_names(self) -> dict[str, str]:
        found: dict[str, str] = {}
        for number, task in enumerate(self.document.get("tasks", []), 1):
            found |= self.example_row_names(task, key=f"tasks[{number}]")
            counted: Counter[str] = Counter()
            for row, check in enumerate(_checks_of(task)):
                counted[check["purpose"]] += 1
                place = f"tasks[{number}].{check['purpose']}[{counted[check['purpose']]}]"
                found[place] = f"{task['kind']}_check_{row}_*"
        return found

    def _row_counts(self, kind: str, task: Document) -> tuple[int, int]:
        """Number of rows of examples and of check items: those of the document plus empty ones, and at least
        as many as were sent."""
        sent = [
            max(
                (int(found[1]) + 1 for name in self.data if (found := re.fullmatch(pattern, name))), default=0
            )
            for pattern in (rf"{kind}_example_(\d{{1,3}})_text", rf"{kind}_check_(\d{{1,3}})_purpose")
        ]
        examples = len(task.get("examples", [])) + self.SPARE
        return max(examples, sent[0]), max(len(_checks_of(task)) + self.SPARE, sent[1])

    def _add_check(self, name: str, task: Document) -> None:
        kind = task["kind"]
        self.fields[f"{name}_purpose"] = forms.ChoiceField(
            label=_("Purpose"), choices=_PURPOSES, required=False
        )
        if kind == TaskKind.DEPICTION or "associations" in task:
            self.fields[f"{name}_group"] = _text_with_suggestions(_("Identity group"), 120, f"{kind}-groups")
        if kind == TaskKind.DEPICTION:
            self.fields[f"{name}_image"] = forms.IntegerField(
                label=_("Image number"), required=False, min_value=1, max_value=LARGEST_NUMBER
            )
            for part, label, hint in (
                ("shown", _("Attributes shown, one per line"), ""),
                ("expected", _("Correct attributes, one per line"), _("If empty: none of the above.")),
            ):
                self.fields[f"{name}_{part}"] = forms.CharField(
                    label=label, required=False, widget=forms.Textarea(attrs={"rows": 3}), help_text=hint
                )
        else:
            self.fields[f"{name}_attribute"] = _text_with_suggestions(
                _("Attribute"), 200, f"{kind}-attributes"
            )
            self.fields[f"{name}_expected"] = forms.MultipleChoiceField(
                label=_("Correct answers"),
                required=False,
                choices=[(label.name, _now(label.name)) for label in scales.SCALES[kind]],
                widget=forms.CheckboxSelectMultiple,
            )
        self.fields[f"{name}_feedback"] = forms.CharField(
            label=_("Feedback after the answer (training only)"),
            required=False,
            widget=forms.Textarea(attrs={"rows": 2}),
        )
        self.fields[f"{name}_out"] = forms.BooleanField(label=_("Remove this item"), required=False)

    def _check_row(self, name: str) -> dict[str, Any]:
        parts = ("purpose", "group", "image", "attribute", "shown")
        row = {part: self[f"{name}_{part}"] for part in ("expected", "feedback", "out")}
        kept = any(self.initial.get(f"{name}_{part}") for part in ("attribute", "group"))
        fields = [self[f"{name}_{part}"] for part in parts if f"{name}_{part}" in self.fields]
        return {"fields": fields, "kept": kept, **row}

    def _apply_checks(self, task: Document, *, key: str) -> None:
        kind, data = task["kind"], self.cleaned_data
        found: dict[str, list[Document]] = {purpose: [] for purpose in PURPOSES}
        kept = _checks_of(task)
        for number in self.rows(kind, "check"):
            name = f"{kind}_check_{number}"
            if _is_empty_row(data, name):
                continue
            purpose = data[f"{name}_purpose"] or "training"
            row: Document = {}
            for part in ("attribute", "group", "image"):
                put(row, part, data.get(f"{name}_{part}"))
            if kind == TaskKind.DEPICTION:
                row["shown"] = split_lines(data[f"{name}_shown"])
                row["expected"] = split_lines(data[f"{name}_expected"])
            else:
                chosen = data[f"{name}_expected"]
                by_value = sorted(scales.SCALES[kind], key=lambda label: label.value)
                row["expected"] = [label.name for label in by_value if label.name in chosen]
                before = kept[number].get("expected") if number < len(kept) else None
                shown = self.initial.get(f"{name}_expected", [])
                if isinstance(before, list) and len(before) == len(chosen) and set(chosen) == set(shown):
                    row["expected"] = before  # keep the spelling of the file: values or labels
            put(row, "feedback", clean_text(data[f"{name}_feedback"]))
            found[purpose].append(row)
            self.row_names[f"{key}.{purpose}[{len(found[purpose])}]"] = f"{name}_*"
        for purpose, rows in found.items():
            put(task, purpose, rows)


def _text_with_suggestions(label: Any, longest: int, listed: str) -> forms.CharField:
    """A text field with suggestions from the study. `listed`: id of the datalist."""
    return forms.CharField(
        label=label, required=False, max_length=longest, widget=forms.TextInput(attrs={"list": listed})
    )


def _checks_of(task: Document) -> list[Document]:
    return [{"purpose": purpose, **check} for purpose in PURPOSES for check in task.get(purpose, [])]


def _check_initial(check: Document, *, kind: str) -> Document:
    """Initial values of the fields for a check item."""
    typed = {**check}
    expected = check.get("expected", [])
    if kind == TaskKind.DEPICTION:
        typed["shown"], typed["expected"] = "\n".join(check.get("shown", [])), "\n".join(expected)
        return typed
    answers = {str(one).strip().lower() for one in (expected if isinstance(expected, list) else [expected])}
    typed["expected"] = [
        label.name
        for label in scales.SCALES[kind]
        if label.name.lower() in answers or str(label.value) in answers
    ]
    return typed


def _is_empty_row(data: Document, name: str) -> bool:
    parts = ("attribute", "group", "image", "shown", "expected", "feedback")
    return bool(data.get(f"{name}_out")) or not any(data.get(f"{name}_{part}") for part in parts)
