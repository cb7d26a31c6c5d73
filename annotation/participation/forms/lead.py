"""Forms of the lead's pages. The rules are in the services."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from annotation.participation.services import invitations


class InvitationForm(forms.Form):
    """A new invitation link. Times are in UTC."""

    label = forms.CharField(
        label=_("Label"),
        required=False,
        max_length=120,
        help_text=_("Only for this list, e.g. 'pilot group'. People who follow the link do not see it."),
    )
    max_uses = forms.IntegerField(
        label=_("Maximum number of people"),
        required=False,
        min_value=1,
        max_value=invitations.MOST_USES,
        help_text=_("Empty: no limit."),
    )
    expires_at = forms.DateTimeField(
        label=_("Until (UTC)"),
        required=False,
        widget=forms.DateTimeInput(attrs={"type": "datetime-local"}, format="%Y-%m-%dT%H:%M"),
        help_text=_("Empty: no end."),
    )

    def clean_expires_at(self) -> Any:
        end = self.cleaned_data["expires_at"]
        if end is not None and end <= timezone.now():
            raise forms.ValidationError(_("This time has passed. Choose a later one, or none."))
        return end
