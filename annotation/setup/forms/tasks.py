"""Wizard page for the wording and quotas of each task."""

import copy
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

from django import forms
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from annotation.models import TaskKind
from annotation.setup.forms.base import (
    Document,
    StepForm,
    clean_text,
    default_wording_of,
    in_language,
    languages,
    put,
    split_lines,
    split_task_key,
    tasks_by_kind,
)
from annotation.studies.errors import StudyRefused
from annotation.studies.services.study_plan import check_stratum
from annotation.studies.study_file.default_wordings import translated_wording
from annotation.studies.study_file.table import LARGEST_SEED
from annotation.studies.study_file.tasks import default_strata


class TasksForm(StepForm):
    """Quotas, wording, instructions and seed of each task."""

    ROWS = "tasks"

    def add_fields(self) -> None:
        for kind, task in tasks_by_kind(self.document).items():
            default = default_wording_of(task)
            self.fields[f"{kind}_strata"] = forms.CharField(
                label=_("Quotas, one line per answer"),
                widget=forms.Textarea(
                    attrs={"rows": max(4, len(task.get("strata", [])) + 1), "spellcheck": "false"}
                ),
                help_text=_("The number of lines is the number of answers per item. Write 'any' for anyone."),
            )
            self.fields[f"{kind}_people_share"] = forms.DecimalField(
                label=_("Share that people judge, in per cent"),
                required=False,
                min_value=Decimal("0.01"),
                max_value=Decimal("99.99"),
                decimal_places=2,
                help_text=_(
                    "Only if a machine judge is to answer everything: people judge this share of the images, "
                    "drawn at random. If empty, people judge all."
                )
                if kind == TaskKind.DEPICTION
                else _(
                    "Only if a machine judge is to answer everything: people judge this share of the items, "
                    "drawn at random. If empty, people judge all."
                ),
            )
            wording = self.fields[f"{kind}_wording"] = forms.CharField(
                label=_("Wording"),
                required=False,
                widget=forms.Textarea(
                    attrs={"rows": 2, "data-wording": f"{kind}-en", "data-default": default}
                ),
                help_text=_("If empty: %s") % default,
            )
            instructions = self.fields[f"{kind}_instructions"] = forms.CharField(
                label=_("Instructions"), required=False, widget=forms.Textarea(attrs={"rows": 4})
            )
            self.fields[f"{kind}_seed"] = forms.IntegerField(
                label=_("Seed"),
                min_value=0,
                max_value=LARGEST_SEED,
                help_text=_("Determines random draws and order. The same seed gives the same study."),
            )
            for code, name in languages():
                translated = in_language(wording, _("Wording in %(language)s"), code, name)
                translated.widget.attrs |= {
                    "data-wording": f"{kind}-{code}",
                    "data-default": translated_wording(default, code),
                }
                self.fields[f"{kind}_wording_{code}"] = translated
                self.fields[f"{kind}_instructions_{code}"] = in_language(
                    instructions, _("Instructions in %(language)s"), code, name
                )

    def initial_from(self, document: Document) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for kind, task in tasks_by_kind(document).items():
            found[f"{kind}_strata"] = "\n".join(_initial_strata(task))
            found[f"{kind}_seed"] = task.get("seed", 0)
            if (share := task.get("people_share")) is not None:
                found[f"{kind}_people_share"] = f"{100 * share:g}"
            for part in ("wording", "instructions"):
                found[f"{kind}_{part}"] = task.get(part, "")
                for code, texts in task.get("translations", {}).items():
                    found[f"{kind}_{part}_{code}"] = texts.get(part, "")
        return found

    def clean(self) -> dict[str, Any]:
        data = self.cleaned_data
        questions = [each["field"] for each in self.document.get("questions", []) if "field" in each]
        for kind, task in tasks_by_kind(self.document).items():
            names_group = kind == TaskKind.DEPICTION or "associations" in task
            for number, text in enumerate(split_lines(data.get(f"{kind}_strata", "")), 1):
                try:
                    check_stratum(text, questions=questions, names_group=names_group)
                except StudyRefused as error:
                    problem = gettext(error.page_message) % error.details
                    self.add_error(f"{kind}_strata", _("Line %(n)d: %(why)s") % {"n": number, "why": problem})
            for code, name in languages():
                if data.get(f"{kind}_instructions_{code}") and not data.get(f"{kind}_wording_{code}"):
                    self.add_error(f"{kind}_wording_{code}", _("Give the wording in %s as well.") % name)
        return data

    def updated_document(self) -> Document:
        data, changed = self.cleaned_data, copy.deepcopy(self.document)
        for kind, task in tasks_by_kind(changed).items():
            task.pop("overlap", None)
            task["strata"] = split_lines(data[f"{kind}_strata"])
            task["seed"] = data[f"{kind}_seed"]
            percent = data[f"{kind}_people_share"]
            put(task, "people_share", None if percent is None else float(percent / 100))
            put(task, "wording", clean_text(data[f"{kind}_wording"]))
            put(task, "instructions", clean_text(data[f"{kind}_instructions"]))
            translations = task.setdefault("translations", {})
            for code, _name in languages():
                texts = {
                    "wording": clean_text(data[f"{kind}_wording_{code}"]),
                    "instructions": clean_text(data[f"{kind}_instructions_{code}"]),
                }
                examples = translations.get(code, {}).get("examples") if texts["wording"] else None
                values = {**texts, "examples": examples}
                put(translations, code, {key: value for key, value in values.items() if value})
            put(task, "translations", translations)
        return changed

    def field_for(self, key: str) -> str | None:
        kind, rest = split_task_key(self.document, key)
        if not kind:
            return None
        if rest.startswith("translations."):
            code, _dot, part = rest[len("translations.") :].partition(".")
            rest = f"{part}_{code}"
        for part in ("strata", "overlap", "seed"):
            if rest.startswith(part):
                return f"{kind}_{'strata' if part == 'overlap' else part}"
        name = f"{kind}_{rest.split('[')[0]}"
        return name if name in self.fields else None


def _initial_strata(task: Document) -> Iterable[str]:
    overlap = task.get("overlap")
    return task.get("strata") or (("any",) * int(overlap) if overlap else default_strata(task["kind"]))
