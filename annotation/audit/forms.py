"""The filter form of the audit log."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from annotation.audit import queries


class DayField(forms.DateField):
    widget = forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d")


class AuditForm(forms.Form):
    """All fields are optional."""

    what = forms.ChoiceField(label=_("What"), required=False)
    study = forms.ChoiceField(label=_("Study"), required=False)
    who = forms.ChoiceField(label=_("Who"), required=False)
    since = DayField(label=_("From (UTC)"), required=False)
    until = DayField(label=_("To (UTC)"), required=False)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name, choices in queries.choices().items():
            self.fields[name].choices = [("", _("all")), *choices]  # type: ignore[attr-defined]
