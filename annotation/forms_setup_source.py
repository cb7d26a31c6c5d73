"""Setting a study up: what it is about, and what is judged in it. See forms_setup.py."""

from __future__ import annotations

import copy
from typing import Any

from django import forms
from django.utils.text import capfirst
from django.utils.translation import gettext_lazy as _

from annotation.forms_setup import KINDS, Document, StepForm, default_wording, lines, put, task_at, tasks_of
from annotation.models import ImageSet, Pool, Source, Study, TaskKind

_EVERY = "none"  # in a study file: take every attribute for visual


class SourceForm(StepForm):
    """What the study is about, and what is judged in it."""

    KEYS = {
        r"title": "title",
        r"description": "description",
        r"contact": "contact",
        r"leads": "leads",
        r"stereotypes\.source": "rule_source",
        r"stereotypes\.threshold": "threshold",
        r"visual_rule": "visual_rule",
    }
    # rest of a task's key -> end of the field's name
    _PARTS = {
        "attributes.source": "source",
        "attributes.limit": "limit",
        "attributes.visual": "visual",
        "attributes.groups": "groups",
        "attributes": "words",
        "associations.source": "source",
        "associations.limit": "limit",
        "associations.groups": "groups",
        "associations": "source",
        "image_set": "image_set",
        "page_size": "page_size",
    }
    title = forms.CharField(label=_("Title"), max_length=200, help_text=_("What annotators read."))
    contact = forms.CharField(
        label=_("Contact"), max_length=200, help_text=_("Whom annotators can write to; shown on every page.")
    )
    description = forms.CharField(
        label=_("What it is about"), required=False, widget=forms.Textarea(attrs={"rows": 3})
    )
    leads = forms.CharField(
        label=_("Leads"), required=False, help_text=_("User names of who leads it, parted by commas.")
    )
    rule_source = forms.ChoiceField(
        label=_("Associations that count as stereotypes come from"), required=False
    )
    pool = forms.ChoiceField(
        label=_("Whose votes count"),
        choices=[(Pool.IN_REGION, _("in-region")), (Pool.OUT_REGION, _("out-region"))],
    )
    threshold = forms.IntegerField(label=_("At least so many votes"), min_value=1, max_value=100)
    visual_rule = forms.IntegerField(
        label=_("An attribute is visual if so many agree"),
        required=False,
        min_value=1,
        max_value=100,
        help_text=_("Empty: all who rated it have to."),
    )

    def __init__(self, document: Document, data: Any = None, *, may_name_leads: bool = False) -> None:
        self.may_name_leads = may_name_leads
        super().__init__(document, data)

    def add_fields(self) -> None:
        if not self.may_name_leads:
            del self.fields["leads"]
        sources = [(source.name, source.title) for source in Source.objects.order_by("title")]
        sets = [(each.name, each.title) for each in ImageSet.objects.order_by("title")]
        rated = Study.objects.filter(tasks__kind=TaskKind.VISUAL_NATURE).order_by("title").distinct()
        _offer(self, "rule_source", [("", _("– none –")), *sources])
        for kind, label in TaskKind.choices:
            self.fields[f"{kind}_on"] = forms.BooleanField(label=capfirst(_(label)), required=False)
            if kind == TaskKind.DEPICTION:
                self._add(kind, "image_set", forms.ChoiceField(label=_("Image set"), required=False))
                _offer(self, f"{kind}_image_set", [("", _("– choose –")), *sets])
                self._add(kind, "visual", forms.ChoiceField(label=_("Visual attributes"), required=False))
                _offer(
                    self,
                    f"{kind}_visual",
                    [
                        (_EVERY, _("take every attribute for visual")),
                        *((each.name, _("as rated in: %s") % each.title) for each in rated),
                    ],
                )
                self._add(
                    kind,
                    "page_size",
                    forms.IntegerField(
                        label=_("Options on a page"),
                        min_value=2,
                        max_value=20,
                        required=False,
                        help_text=_("None of the above included."),
                    ),
                )
                self._add(
                    kind,
                    "allow_fewer",
                    forms.BooleanField(
                        label=_("Make do with fewer random attributes than stereotypes"), required=False
                    ),
                )
            else:
                self._add(kind, "source", forms.ChoiceField(label=_("Resource"), required=False))
                _offer(self, f"{kind}_source", [("", _("– choose –")), *sources])
                self._add(
                    kind,
                    "limit",
                    forms.IntegerField(
                        label=_("How many, drawn at random"),
                        required=False,
                        min_value=1,
                        max_value=10_000_000,
                        help_text=_("Empty: all there are."),
                    ),
                )
            if kind in (TaskKind.VISUAL_NATURE, TaskKind.OFFENSIVENESS):
                words = forms.CharField(
                    label=_("Or these attributes, one a line"),
                    required=False,
                    widget=forms.Textarea(attrs={"rows": 4}),
                )
                self._add(kind, "words", words)
            if kind == TaskKind.OFFENSIVENESS:
                self._add(
                    kind,
                    "of",
                    forms.ChoiceField(
                        label=_("About"),
                        required=False,
                        choices=[
                            ("attributes", _("attributes by themselves")),
                            ("associations", _("attributes of identity groups")),
                        ],
                    ),
                )
            if kind != TaskKind.VISUAL_NATURE:
                groups = forms.CharField(
                    label=_("Only these identity groups, one a line"),
                    required=False,
                    widget=forms.Textarea(attrs={"rows": 2}),
                    help_text=_("Empty: all there are."),
                )
                self._add(kind, "groups", groups)

    def _add(self, kind: str, part: str, field: forms.Field) -> None:
        self.fields[f"{kind}_{part}"] = field

    def initial_from(self, document: Document) -> dict[str, Any]:
        rule = document.get("stereotypes", {})
        found: dict[str, Any] = {
            **{key: document.get(key, "") for key in ("title", "contact", "description")},
            "leads": ", ".join(document.get("leads", [])),
            "rule_source": rule.get("source", ""),
            "pool": rule.get("pool", Pool.OUT_REGION),
            "threshold": rule.get("threshold", 2),
            "visual_rule": document.get("visual_rule"),
        }
        for kind, task in tasks_of(document).items():
            what = task.get("associations") or task.get("attributes") or {}
            listed = isinstance(what, list)
            said = {
                "on": True,
                "words": "\n".join(what) if listed else "",
                "of": "associations" if "associations" in task else "attributes",
                "image_set": task.get("image_set", ""),
                "page_size": task.get("page_size", 5),
            }
            if not listed:
                said |= {key: what.get(key) for key in ("source", "limit", "allow_fewer")}
                said["groups"] = "\n".join(what.get("groups", []))
                visual = what.get("visual", _EVERY)
                said["visual"] = visual if isinstance(visual, str) else _EVERY
            found |= {f"{kind}_{part}": value for part, value in said.items()}
        return found

    def clean(self) -> dict[str, Any]:
        said = self.cleaned_data
        chosen = [kind for kind in KINDS if said.get(f"{kind}_on")]
        for name in list(self.errors):
            # what stands in a part that is switched off is not meant
            if any(name.startswith(f"{kind}_") for kind in set(KINDS) - set(chosen)):
                del self.errors[name]
        if not chosen:
            raise forms.ValidationError(_("Choose at least one kind of judgement."))
        for kind in chosen:
            if kind == TaskKind.DEPICTION:
                if not said.get(f"{kind}_image_set"):
                    self.add_error(f"{kind}_image_set", _("Choose the images to be judged."))
                if not said.get("rule_source") and not self.kept(kind):
                    self.add_error("rule_source", _("Images are judged for stereotypes: say whose."))
                continue
            source, words = said.get(f"{kind}_source"), lines(said.get(f"{kind}_words") or "")
            by_group = kind == TaskKind.PREVALENCE or said.get(f"{kind}_of") == "associations"
            if source and words:
                self.add_error(f"{kind}_words", _("Choose a resource or list attributes, not both."))
            elif by_group and words:
                self.add_error(
                    f"{kind}_words", _("Attributes of identity groups come from a resource; list none here.")
                )
            elif not source and not words:
                self.add_error(f"{kind}_source", _("Choose a resource, or list what is to be judged."))
        return said

    def kept(self, kind: str) -> bool:
        """Whether a file lists one by one what is shown in this task; that stays as it is."""
        task = tasks_of(self.document).get(kind, {})
        return "shown" in task or bool(task.get("associations", {}).get("pairs"))

    def applied(self) -> Document:
        said, changed = self.cleaned_data, copy.deepcopy(self.document)
        for key in ("title", "contact", "description"):
            put(changed, key, said[key].replace("\r\n", "\n").strip())
        put(changed, "visual_rule", said["visual_rule"])
        if self.may_name_leads:
            put(changed, "leads", [name for part in said["leads"].split(",") if (name := part.strip())])
        if said["rule_source"]:
            changed["stereotypes"] = {
                "source": said["rule_source"],
                "pool": said["pool"],
                "threshold": said["threshold"],
            }
        else:
            changed.pop("stereotypes", None)
        before = tasks_of(self.document)
        changed["tasks"] = [
            self._task(kind, copy.deepcopy(before.get(kind, {"kind": kind})))
            for kind in KINDS
            if said[f"{kind}_on"]
        ]
        return changed

    def _task(self, kind: str, task: Document) -> Document:
        def of(part: str) -> Any:
            return self.cleaned_data.get(f"{kind}_{part}")

        put(task, "page_size", of("page_size"))
        put(task, "image_set", of("image_set"))
        if self.kept(kind):
            return task
        had_default = task.get("wording") == default_wording(task)
        task.pop("attributes", None)
        task.pop("associations", None)
        if kind == TaskKind.DEPICTION:
            task["attributes"] = {"visual": of("visual") or _EVERY}
            put(task["attributes"], "groups", lines(of("groups") or ""))
            put(task["attributes"], "allow_fewer", of("allow_fewer") or None)
        elif kind == TaskKind.PREVALENCE or of("of") == "associations":
            task["associations"] = {"source": of("source")}
            put(task["associations"], "limit", of("limit"))
            put(task["associations"], "groups", lines(of("groups") or ""))
        elif words := lines(of("words") or ""):
            task["attributes"] = words
        else:
            task["attributes"] = {"source": of("source")}
            put(task["attributes"], "limit", of("limit"))
        if had_default:
            task.pop("wording")
        return task

    def cards(self) -> list[dict[str, Any]]:
        """For each kind: its switch and its fields."""
        return [
            {
                "kind": kind,
                "on": self[f"{kind}_on"],
                "kept": self.kept(kind),
                "fields": [
                    self[name] for name in self.fields if name.startswith(f"{kind}_") and name != f"{kind}_on"
                ],
            }
            for kind in KINDS
        ]

    def field_at(self, key: str) -> str | None:
        kind, rest = task_at(self.document, key)
        if not kind:
            return super().field_at(key)
        for start, part in self._PARTS.items():
            if rest.startswith(start) and f"{kind}_{part}" in self.fields:
                return f"{kind}_{part}"
        return None


def _offer(form: forms.Form, name: str, choices: list[tuple[Any, Any]]) -> None:
    field = form.fields[name]
    assert isinstance(field, forms.ChoiceField)
    field.choices = choices
