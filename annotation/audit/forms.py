"""The filter form of the audit log."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from annotation.audit.queries.events import Choices, Filters


def _day() -> forms.DateInput:
    return forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d")


class AuditForm(forms.Form):
    """All fields are optional."""

    what = forms.ChoiceField(label=_("What"), required=False)
    study = forms.ChoiceField(label=_("Study"), required=False)
    who = forms.ChoiceField(label=_("Who"), required=False)
    since = forms.DateField(label=_("From (UTC)"), required=False, widget=_day())
    until = forms.DateField(label=_("To (UTC)"), required=False, widget=_day())

    def __init__(self, *args: Any, choices: Choices, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        every = ("", _("all"))
        self.fields["what"].choices = [every, *((kind, kind) for kind in choices.kinds)]  # type: ignore[attr-defined]
        self.fields["study"].choices = [every, *choices.studies]  # type: ignore[attr-defined]
        self.fields["who"].choices = [every, *((name, name) for name in choices.accounts)]  # type: ignore[attr-defined]

    def filters(self) -> Filters:
        return Filters(**self.cleaned_data)
