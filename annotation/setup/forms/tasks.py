"""Setting a study up: how each task is asked, by how many, and of whom. See setup/forms/base.py."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from annotation.core import strata
from annotation.models import ProfileField, Region, TaskKind
from annotation.setup.forms.base import (
    Document,
    StepForm,
    default_wording,
    languages,
    lines,
    paragraphs,
    put,
    task_at,
    tasks_of,
    unasked_languages,
)
from annotation.studies.study_file.default_wordings import usual_wording
from annotation.studies.study_file.table import LARGEST_SEED


class TasksForm(StepForm):
    """How each kind is asked, by how many, and of whom."""

    def add_fields(self) -> None:
        for kind, task in tasks_of(self.document).items():
            self.fields[f"{kind}_strata"] = forms.CharField(
                label=_("Whose answers each item gets, one a line"),
                widget=forms.Textarea(
                    attrs={"rows": max(4, len(task.get("strata", [])) + 1), "spellcheck": "false"}
                ),
                help_text=_("So many lines, so many answers an item. Write 'any' for anybody."),
            )
            self.fields[f"{kind}_wording"] = forms.CharField(
                label=_("Wording"),
                required=False,
                widget=forms.Textarea(
                    attrs={"rows": 2, "data-wording": f"{kind}-en", "data-default": default_wording(task)}
                ),
                help_text=_("Empty: %s") % default_wording(task),
            )
            self.fields[f"{kind}_instructions"] = forms.CharField(
                label=_("Instructions"), required=False, widget=forms.Textarea(attrs={"rows": 4})
            )
            self.fields[f"{kind}_seed"] = forms.IntegerField(
                label=_("Seed"),
                min_value=0,
                max_value=LARGEST_SEED,
                help_text=_("Decides draws and order; the same seed gives the same study."),
            )
            for code, name in languages():
                self.fields[f"{kind}_wording_{code}"] = forms.CharField(
                    label=_("Wording in %(language)s") % {"language": name},
                    required=False,
                    widget=forms.Textarea(
                        attrs={
                            "rows": 2,
                            "lang": code,
                            "dir": "auto",
                            "data-wording": f"{kind}-{code}",
                            "data-default": usual_wording(default_wording(task), code),
                        }
                    ),
                )
                self.fields[f"{kind}_instructions_{code}"] = forms.CharField(
                    label=_("Instructions in %(language)s") % {"language": name},
                    required=False,
                    widget=forms.Textarea(attrs={"rows": 3, "lang": code, "dir": "auto"}),
                )

    def initial_from(self, document: Document) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for kind, task in tasks_of(document).items():
            found[f"{kind}_strata"] = "\n".join(task.get("strata") or _usual_strata(task))
            found[f"{kind}_wording"] = task.get("wording", "")
            found[f"{kind}_instructions"] = task.get("instructions", "")
            found[f"{kind}_seed"] = task.get("seed", 0)
            for code, said in task.get("translations", {}).items():
                found[f"{kind}_wording_{code}"] = said.get("wording", "")
                found[f"{kind}_instructions_{code}"] = said.get("instructions", "")
        return found

    def clean(self) -> dict[str, Any]:
        said = self.cleaned_data
        for kind, task in tasks_of(self.document).items():
            for number, text in enumerate(lines(said.get(f"{kind}_strata", "")), 1):
                problem = _problem(text, task=task, questions=self.document.get("questions", []))
                if problem:
                    self.add_error(f"{kind}_strata", _("Line %(n)d: %(why)s") % {"n": number, "why": problem})
            for code, name in languages():
                if said.get(f"{kind}_instructions_{code}") and not said.get(f"{kind}_wording_{code}"):
                    self.add_error(f"{kind}_wording_{code}", _("Give the wording in %s as well.") % name)
        return said

    def applied(self) -> Document:
        said, changed = self.cleaned_data, copy.deepcopy(self.document)
        for kind, task in tasks_of(changed).items():
            task.pop("overlap", None)
            task["strata"] = lines(said[f"{kind}_strata"])
            task["seed"] = said[f"{kind}_seed"]
            put(task, "wording", paragraphs(said[f"{kind}_wording"]))
            put(task, "instructions", paragraphs(said[f"{kind}_instructions"]))
            translations = task.setdefault("translations", {})
            for code, _name in languages():
                texts = {
                    "wording": paragraphs(said[f"{kind}_wording_{code}"]),
                    "instructions": paragraphs(said[f"{kind}_instructions_{code}"]),
                }
                kept = translations.get(code, {}).get("examples") if texts["wording"] else None
                said_here = {**texts, "examples": kept}
                put(translations, code, {key: value for key, value in said_here.items() if value})
            put(task, "translations", translations)
        return changed

    def kept_languages(self) -> list[str]:
        return unasked_languages(task.get("translations", {}) for task in self.document.get("tasks", []))

    def field_at(self, key: str) -> str | None:
        kind, rest = task_at(self.document, key)
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


def _usual_strata(task: Document) -> Iterable[str]:
    """What the protocol asks for, where nothing was said (PROTOCOL §2-§5)."""
    if task["kind"] == TaskKind.PREVALENCE:
        return (strata.IN_REGION,) * 3 + (strata.OUT_REGION,) * 3
    if task["kind"] == TaskKind.DEPICTION:
        return ("any", "any", "gender: not male")
    return ("any",) * int(task.get("overlap") or 3)


def _problem(text: str, *, task: Document, questions: list[Document]) -> str:
    """Why `text` is no stratum of this task; empty if it is one."""
    if len(strata.resolve(text, region=max(Region.values, key=len))) > strata.MAX_LENGTH:
        return str(_("'%(text)s…' is over 120 characters.") % {"text": text[:40]})
    names_group = task["kind"] == TaskKind.DEPICTION or "associations" in task
    if strata.depends_on_group(text) and not names_group:
        return str(_("'%(text)s' needs identity groups, and this task names none.") % {"text": text})
    fields = [*ProfileField.values, *(each.get("field", "") for each in questions)]
    try:
        strata.parse(text, fields=fields, unresolved=True)
    except ValueError:
        words = _(
            "'%(text)s' is not understood. Write 'any', 'origin: Asia' or 'gender: not male', "
            "with one of: %(fields)s."
        )
        return str(words % {"text": text, "fields": ", ".join(fields)})
    return ""
