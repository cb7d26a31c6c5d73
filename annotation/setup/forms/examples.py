"""Rows of worked examples in a wizard form, in every language of the task's wording."""

from collections import defaultdict
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from annotation.setup.forms.base import Document, StepForm, clean_text, languages, put

_EXAMPLE = ("text", "answer", "why")


class ExamplesForm(StepForm):
    """A form with rows of examples. `row_names`: key of the study file -> pattern of the row's field names,
    with '*' for the field; after `updated_document`, for the keys of the changed file."""

    row_names: dict[str, str] = {}

    def rows(self, kind: str, what: str) -> range:
        raise NotImplementedError

    def examples_initial(self, kind: str, task: Document) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for number, example in enumerate(task.get("examples", [])):
            found |= {f"{kind}_example_{number}_{part}": text for part, text in example.items()}
        for code, texts in task.get("translations", {}).items():
            for number, example in enumerate(texts.get("examples", [])):
                found |= {f"{kind}_example_{number}_{part}_{code}": text for part, text in example.items()}
        return found

    def clean_examples(self, kind: str, task: Document) -> None:
        data = self.cleaned_data
        for number in self.rows(kind, "example"):
            name = f"{kind}_example_{number}"
            if any(data.get(f"{name}_{part}{end}") for part in _EXAMPLE for end in self.suffixes(task)):
                for part, message in (("text", _("Write the example.")), ("answer", _("Write the answer."))):
                    if not data.get(f"{name}_{part}"):
                        self.add_error(f"{name}_{part}", message)

    @staticmethod
    def suffixes(task: Document) -> list[str]:
        """Suffixes of an example's field names: empty for English, and one per language of the wording."""
        return ["", *(f"_{code}" for code, _name in languages() if code in task.get("translations", {}))]

    def add_example(self, name: str, task: Document) -> None:
        labels = {"text": _("Example"), "answer": _("Answer"), "why": _("Why")}
        for end in self.suffixes(task):
            attrs = {"lang": end[1:], "dir": "auto"} if end else {}
            for part, label in labels.items():
                self.fields[f"{name}_{part}{end}"] = forms.CharField(
                    label=label, required=False, widget=forms.Textarea(attrs={"rows": 1, **attrs})
                )

    def example_row(self, name: str, task: Document) -> dict[str, Any]:
        return {
            "fields": [self[f"{name}_{part}"] for part in _EXAMPLE],
            "languages": [
                {
                    "name": language,
                    "fields": [self[f"{name}_{part}_{code}"] for part in _EXAMPLE],
                    "open": any(self[f"{name}_{part}_{code}"].errors for part in _EXAMPLE),
                }
                for code, language in languages()
                if f"_{code}" in self.suffixes(task)
            ],
        }

    def example_row_names(self, task: Document, *, key: str) -> dict[str, str]:
        """`row_names` of the examples in the document."""
        found = {}
        for end in self.suffixes(task):
            texts, where = (
                (task["translations"][end[1:]], f"{key}.translations.{end[1:]}") if end else (task, key)
            )
            for number in range(len(texts.get("examples", []))):
                found[f"{where}.examples[{number + 1}]"] = f"{task['kind']}_example_{number}_*{end}"
        return found

    def apply_examples(self, task: Document, *, key: str) -> None:
        kind = task["kind"]
        by_end: dict[str, list[Document]] = defaultdict(list)
        for end in self.suffixes(task):
            where = f"{key}.translations.{end[1:]}" if end else key
            for number in self.rows(kind, "example"):
                name = f"{kind}_example_{number}"
                texts = {part: clean_text(self.cleaned_data[f"{name}_{part}{end}"]) for part in _EXAMPLE}
                if any(texts.values()):
                    by_end[end].append({part: text for part, text in texts.items() if text})
                    self.row_names[f"{where}.examples[{len(by_end[end])}]"] = f"{name}_*{end}"
            put(task["translations"][end[1:]] if end else task, "examples", by_end[end])
