"""The forms of the annotation page without JavaScript."""

from datetime import datetime
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from annotation.annotate.limits import DAY_MS, MAX_ID, plausible_start


class MultilineField(forms.CharField):
    """A text of several lines. Browsers send line ends as CR LF but count them as one character, so they are
    converted before the length is checked."""

    def to_python(self, value: Any) -> str:
        return super().to_python(value.replace("\r\n", "\n") if isinstance(value, str) else value) or ""


class RatingForm(forms.Form):
    """One rated attribute. Invalid times are ignored: they must not cost an answer."""

    unit = forms.IntegerField(min_value=1, max_value=MAX_ID)
    client_key = forms.UUIDField()
    value = forms.IntegerField(
        error_messages={
            "required": _("Please choose one of the answers."),
            "invalid": _("Please choose one of the answers."),
        }
    )
    justification = MultilineField(required=False, max_length=2000)
    # Plain fields: a text field would refuse a long text or a NUL, and with it the answer.
    started_at = forms.Field(required=False)
    active_ms = forms.Field(required=False)

    def clean_started_at(self) -> datetime | None:
        return plausible_start(self.cleaned_data["started_at"])

    def clean_active_ms(self) -> int | None:
        text = self.cleaned_data["active_ms"] or ""
        # Python refuses to convert thousands of digits; the slice avoids that and still exceeds a day.
        return min(int(text[:20]), DAY_MS) if text.isascii() and text.isdigit() else None
