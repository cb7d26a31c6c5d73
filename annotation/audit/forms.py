"""The filters of the audit log: reading what a browser sent."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from annotation.audit.queries.events import Choices, Filters


def _day() -> forms.DateInput:
    return forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d")


class AuditForm(forms.Form):
    """Everything is optional."""

    what = forms.ChoiceField(label=_("What"), required=False)
    study = forms.ChoiceField(label=_("Study"), required=False)
    who = forms.ChoiceField(label=_("Who"), required=False)
    since = forms.DateField(
        label=_("From (UTC)"),
        required=False,
        widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d"),
    )
    until = forms.DateField(
        label=_("To (UTC)"), required=False, widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d")
    )

    def __init__(self, *args: Any, offered: Choices, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        every = ("", _("all"))
        self.fields["what"].choices = [every, *((what, what) for what in offered.whats)]  # type: ignore[attr-defined]
        self.fields["study"].choices = [every, *offered.studies]  # type: ignore[attr-defined]
        self.fields["who"].choices = [every, *((who, who) for who in offered.people)]  # type: ignore[attr-defined]

    def filters(self) -> Filters:
        return Filters(**self.cleaned_data)
