"""The forms of the annotation page without JavaScript."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django import forms
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

_LARGEST_ID = 2**63 - 1
_DAY_MS = 24 * 60 * 60 * 1000


class Prose(forms.CharField):
    """A text of several lines. Browsers send their ends as CR LF and count them as one character, so they
    are put right before the length is looked at."""

    def to_python(self, value: Any) -> str:
        return super().to_python(value.replace("\r\n", "\n") if isinstance(value, str) else value) or ""


class RatingForm(forms.Form):
    """One rated attribute. What is about time is a help, not a condition: nonsense there loses no answer."""

    unit = forms.IntegerField(min_value=1, max_value=_LARGEST_ID)
    client_key = forms.UUIDField()
    value = forms.IntegerField(
        error_messages={
            "required": _("Please choose one of the answers."),
            "invalid": _("Please choose one of the answers."),
        }
    )
    justification = Prose(required=False, max_length=2000)
    # Plain fields: a text field would refuse what is too long or holds a NUL, and with it the answer.
    started_at = forms.Field(required=False)
    active_ms = forms.Field(required=False)

    def clean_started_at(self) -> datetime | None:
        try:
            started = datetime.fromisoformat(self.cleaned_data["started_at"] or "")
        except ValueError:
            return None
        plausible = timezone.is_aware(started) and started > timezone.now() - timedelta(days=30)
        return started if plausible else None

    def clean_active_ms(self) -> int | None:
        text = self.cleaned_data["active_ms"] or ""
        # The slice keeps what Python refuses to read as a number (thousands of digits) beyond any day.
        return min(int(text[:20]), _DAY_MS) if text.isascii() and text.isdigit() else None
