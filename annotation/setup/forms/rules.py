"""Rules for the scores of a study; part of the page of setup/forms/source.py."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from annotation.models import Pool
from annotation.setup.forms.base import Document, StepForm, put
from annotation.studies.study_file.table import HIGHEST_COUNT

_DEFAULTS = {"pool": Pool.OUT_REGION.value, "threshold": 2}  # defaults of a study file


class RulesForm(StepForm):
    """Which associations count as stereotypes (PROTOCOL §3), and which attributes as visual (§2)."""

    KEYS = {
        r"stereotypes\.source": "rule_source",
        r"stereotypes\.pool": "pool",
        r"stereotypes\.threshold": "threshold",
        r"visual_rule": "visual_rule",
        r"visual_mean": "visual_mean",
    }
    rule_source = forms.ChoiceField(label=_("Source of the stereotypes"), required=False)
    pool = forms.ChoiceField(
        label=_("Whose votes count"),
        choices=[(Pool.IN_REGION, _("in-region")), (Pool.OUT_REGION, _("out-region"))],
    )
    threshold = forms.IntegerField(label=_("Minimum number of votes"), min_value=1, max_value=HIGHEST_COUNT)
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

    def initial_from(self, document: Document) -> dict[str, Any]:
        rule = document.get("stereotypes", {})
        return {
            "rule_source": rule.get("source", ""),
            **{key: rule.get(key, default) for key, default in _DEFAULTS.items()},
            "visual_rule": document.get("visual_rule"),
            "visual_mean": document.get("visual_mean"),
        }

    def check_rules(self) -> None:
        """Check that there is at most one rule of visual nature."""
        data = self.cleaned_data
        if data.get("visual_rule") is not None and data.get("visual_mean") is not None:
            self.add_error(
                "visual_mean", _("Choose one rule: how many agree, or the mean score. Leave the other empty.")
            )

    def apply_rules(self, changed: Document) -> None:
        """Write the rules into `changed`."""
        data = self.cleaned_data
        put(changed, "visual_rule", data["visual_rule"])
        put(changed, "visual_mean", data["visual_mean"])
        rule = {key: data[key] for key in ("pool", "threshold")}
        put(rule, "source", data["rule_source"])
        put(changed, "stereotypes", rule if rule != _DEFAULTS else {})
