"""Wizard page for the description of a study and what is judged in it."""

from typing import Any

from django import forms
from django.utils.text import capfirst
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from annotation.models import ImageSet, Intervals, Pool, Source, Study, TaskKind
from annotation.setup.forms import stimuli
from annotation.setup.forms.base import (
    KINDS,
    Document,
    StepForm,
    default_wording_of,
    put,
    split_lines,
    split_task_key,
    tasks_by_kind,
)
from annotation.studies.study_file.table import HIGHEST_COUNT
from annotation.studies.study_file.tasks import ALWAYS_PAIRS
from annotation.studies.study_file.texts import LONGEST_TITLE

_DEFAULT_RULE = {"pool": Pool.OUT_REGION.value, "threshold": 2}
"""As in a study file."""


class SourceForm(StepForm):
    """Description, stimuli, and the rules of which associations count as stereotypes (PROTOCOL §3) and which
    attributes as visual (§2). `indexed_document`: the document that keys such as 'tasks[2]' refer to;
    after `updated_document`, the changed one."""

    PATHS = {
        "title": "title",
        "contact": "contact",
        "description": "description",
        "visual_rule": "visual_rule",
        "visual_mean": "visual_mean",
        "intervals": "intervals",
        "stereotypes.source": "rule_source",
        "stereotypes.pool": "pool",
        "stereotypes.threshold": "threshold",
    }
    TRANSLATED = {
        "title": ("translations.{code}.title", _("Title in %(language)s")),
        "description": ("translations.{code}.description", _("Description in %(language)s")),
    }
    # rest of the key of a task, suffix of the field's name
    _PARTS = (
        ("kind", "on"),
        ("attributes.source", "source"),
        ("attributes.limit", "limit"),
        ("attributes.visual", "visual_words"),
        ("attributes.groups", "groups"),
        ("attributes.allow_fewer", "allow_fewer"),
        ("attributes", "words"),
        ("attributes", "visual"),
        ("associations.source", "source"),
        ("associations.limit", "limit"),
        ("associations.groups", "groups"),
        ("associations.pairs", "pairs"),
        ("associations", "source"),
        ("image_set", "image_set"),
        ("page_size", "page_size"),
    )
    title = forms.CharField(label=_("Title"), max_length=LONGEST_TITLE, help_text=_("Shown to annotators."))
    contact = forms.CharField(
        label=_("Contact"), max_length=200, help_text=_("Whom annotators can write to; shown on every page.")
    )
    description = forms.CharField(
        label=_("Description"), required=False, widget=forms.Textarea(attrs={"rows": 3})
    )
    leads = forms.CharField(
        label=_("Leads"), required=False, help_text=_("User names of the leads, separated by commas.")
    )

    rule_source = forms.ChoiceField(label=_("Source of the stereotypes"), required=False)
    pool = forms.ChoiceField(
        label=_("Whose votes count"),
        initial=_DEFAULT_RULE["pool"],
        choices=[(Pool.IN_REGION, _("in-region")), (Pool.OUT_REGION, _("out-region"))],
    )
    threshold = forms.IntegerField(
        label=_("Minimum number of votes"),
        initial=_DEFAULT_RULE["threshold"],
        min_value=1,
        max_value=HIGHEST_COUNT,
    )
    visual_rule = forms.IntegerField(
        label=_("An attribute is visual if at least this many agree"),
        required=False,
        min_value=1,
        max_value=HIGHEST_COUNT,
        help_text=_("If both are empty, everyone who rated it must agree."),
    )
    visual_mean = forms.FloatField(
        label=_("Or if its mean score is at least"),
        required=False,
        min_value=1,
        max_value=5,
        step_size=0.01,
        help_text=_("From 1, Strongly disagree, to 5, Strongly agree. Fill in one of the two, or neither."),
    )

    intervals = forms.ChoiceField(
        label=_("How intervals are computed"),
        required=False,  # pages of the previous version do not send it
        initial=Intervals.CLUSTERED.value,
        choices=[
            (Intervals.CLUSTERED, _("clustered standard errors")),
            (Intervals.BOOTSTRAP, _("bootstrap")),
        ],
        help_text=_("The bootstrap is slower, and its intervals are usually wider."),
    )

    def __init__(self, document: Document, data: Any = None, *, may_name_leads: bool = False) -> None:
        self.may_name_leads = may_name_leads
        self.indexed_document = document
        super().__init__(document, data)

    def add_fields(self) -> None:
        if not self.may_name_leads:
            del self.fields["leads"]
        sources = [
            (source.name, _source_label(source))
            for source in Source.objects.select_related("superseded_by").order_by("title")
        ]
        sets = [(each.name, each.title) for each in ImageSet.objects.order_by("title")]
        studies = Study.objects.filter(tasks__kind=TaskKind.VISUAL_NATURE).order_by("title").distinct()
        rated = [(study.name, study.title) for study in studies]
        rule_source = self.fields["rule_source"]
        assert isinstance(rule_source, forms.ChoiceField)
        rule_source.choices = [("", _("– none –")), *sources]
        for kind, label in TaskKind.choices:
            self.fields[f"{kind}_on"] = forms.BooleanField(label=capfirst(_(label)), required=False)
            parts = stimuli.task_fields(kind, sources=sources, sets=sets, rated=rated)
            for part, field in parts.items():
                if part not in stimuli.CHOSEN_ON_PAGE or not self.kept(kind):
                    self.fields[f"{kind}_{part}"] = field

    def initial_from(self, document: Document) -> dict[str, Any]:
        found = {**super().initial_from(document), "leads": ", ".join(document.get("leads", []))}
        for kind, task in tasks_by_kind(document).items():
            found |= {f"{kind}_{part}": value for part, value in stimuli.task_initial(task).items()}
        return found

    def clean(self) -> dict[str, Any]:
        data = self.cleaned_data
        chosen = [kind for kind in KINDS if data.get(f"{kind}_on")]
        for name in list(self.errors):
            # ignore the fields of kinds that are switched off
            if any(name.startswith(f"{kind}_") for kind in set(KINDS) - set(chosen)):
                del self.errors[name]
        if data.get("visual_rule") is not None and data.get("visual_mean") is not None:
            self.add_error(
                "visual_mean", _("Choose one rule: how many agree, or the mean score. Leave the other empty.")
            )
        if not chosen:
            raise forms.ValidationError(_("Choose at least one kind of judgement."))
        for kind in chosen:
            if kind == TaskKind.DEPICTION:
                self._check_images(kind)
            elif not self.kept(kind):
                self._check_resource(kind)
        return data

    def _check_images(self, kind: str) -> None:
        """The images and their source may be missing: the next page makes both of files."""
        data = self.cleaned_data
        if self.kept(kind):
            return
        visual, words = data.get(f"{kind}_visual"), split_lines(data.get(f"{kind}_visual_words") or "")
        if visual and words:
            self.add_error(
                f"{kind}_visual_words",
                _("Choose how visual attributes are found, or list them here, but not both."),
            )
        elif not visual and not words and f"{kind}_visual" not in self.errors:
            self.add_error(f"{kind}_visual_words", _("List the visual attributes."))

    def _check_resource(self, kind: str) -> None:
        data = self.cleaned_data
        source, words = data.get(f"{kind}_source"), split_lines(data.get(f"{kind}_words") or "")
        by_group = kind in ALWAYS_PAIRS or data.get(f"{kind}_of") == "associations"
        if source and words:
            self.add_error(f"{kind}_words", _("Choose a resource or list attributes, not both."))
        elif by_group and words:
            self.add_error(
                f"{kind}_words", _("Attributes of identity groups come from a resource. Leave this empty.")
            )
        elif not source and not words:
            self.add_error(f"{kind}_source", _("Choose a resource, or list what is to be judged."))
        self._check_pairs(kind, by_group=by_group)

    def _check_pairs(self, kind: str, *, by_group: bool) -> None:
        data = self.cleaned_data
        try:
            pairs = stimuli.parse_pairs(data.get(f"{kind}_pairs") or "")
        except forms.ValidationError as error:
            self.add_error(f"{kind}_pairs", error)
            return
        if pairs and not by_group:
            self.add_error(f"{kind}_pairs", _("Pairs can only be used with attributes of identity groups."))
        elif pairs and (data.get(f"{kind}_limit") or split_lines(data.get(f"{kind}_groups") or "")):
            self.add_error(
                f"{kind}_pairs", _("List the pairs, or choose by groups and number, but not both.")
            )

    def kept(self, kind: str) -> bool:
        """Whether the file lists the stimuli of this task in full; that list is left alone."""
        return stimuli.is_listed_in_file(tasks_by_kind(self.document).get(kind, {}))

    def updated_document(self) -> Document:
        data, changed = self.cleaned_data, super().updated_document()
        if changed["stereotypes"] == _DEFAULT_RULE:
            del changed["stereotypes"]
        if changed.get("intervals") == Intervals.CLUSTERED:
            del changed["intervals"]
        if self.may_name_leads:
            put(changed, "leads", [name for part in data["leads"].split(",") if (name := part.strip())])
        # in the order of the file, in which annotators work on the tasks
        kinds = dict.fromkeys([*(task.get("kind") for task in changed.get("tasks", [])), *KINDS])
        before = tasks_by_kind(changed)
        changed["tasks"] = [
            self._task(kind, before.get(kind, {"kind": kind})) for kind in kinds if data.get(f"{kind}_on")
        ]
        self.indexed_document = changed
        return changed

    def _task(self, kind: str, task: Document) -> Document:
        def of(part: str) -> Any:
            return self.cleaned_data.get(f"{kind}_{part}")

        had_default = task.get("wording") == default_wording_of(task)
        stimuli.apply_to_task(task, of, kept=self.kept(kind))
        if had_default:
            task.pop("wording")
        return task

    def cards(self) -> list[dict[str, Any]]:
        """For each kind: its checkbox and its fields."""
        return [
            {
                "kind": kind,
                "on": self[f"{kind}_on"],
                "kept": stimuli.listed_message(tasks_by_kind(self.document).get(kind, {})),
                "fields": [
                    self[name] for name in self.fields if name.startswith(f"{kind}_") and name != f"{kind}_on"
                ],
            }
            for kind in KINDS
        ]

    def field_for(self, key: str) -> str | None:
        if key == "leads":
            return key if self.may_name_leads else None
        kind, rest = split_task_key(self.indexed_document, key)
        if not kind:
            return super().field_for(key)
        for start, part in self._PARTS:
            if rest.startswith(start) and f"{kind}_{part}" in self.fields:
                return f"{kind}_{part}"
        return None

    def anchor_and_label(self, key: str) -> tuple[str, str]:
        return ("judged", "") if key == "tasks" else super().anchor_and_label(key)


def _source_label(source: Source) -> str:
    if source.superseded_by is None:
        return source.title
    return gettext("%(title)s (superseded by %(other)s)") % {
        "title": source.title,
        "other": source.superseded_by.title,
    }
