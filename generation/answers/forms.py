"""The filters of a run's answers."""

from collections.abc import Sequence
from typing import Any

from django import forms
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from generation.answers.queries import Filters

NOT_SAID = "-"
"""The choice of answers for which no reason is known."""
LARGEST = 2**63 - 1


class FilterForm(forms.Form):
    """`endings`: the reasons there are, with their numbers."""

    ended = forms.ChoiceField(label=_("Ended because of"), required=False)
    text = forms.CharField(label=_("Answer contains"), required=False, max_length=200)
    key = forms.CharField(label=_("Key begins with"), required=False, max_length=200)
    after = forms.IntegerField(required=False, min_value=0, max_value=LARGEST, widget=forms.HiddenInput)
    before = forms.IntegerField(required=False, min_value=1, max_value=LARGEST, widget=forms.HiddenInput)

    def __init__(self, data: Any = None, *, endings: Sequence[tuple[str, int]]) -> None:
        super().__init__(data, label_suffix="")
        named = [(reason or NOT_SAID, f"{reason or gettext('not known')} ({n:,})") for reason, n in endings]
        field = self.fields["ended"]
        assert isinstance(field, forms.ChoiceField)
        field.choices = [("", _("any reason")), *named]

    def shown(self) -> list[forms.BoundField]:
        return [self[name] for name in ("ended", "text", "key")]

    def filters(self) -> Filters:
        """The filters of a valid form; none of an invalid one."""
        if not self.is_valid():
            return Filters()
        ended = self.cleaned_data["ended"]
        return Filters(
            ended={"": None, NOT_SAID: ""}.get(ended, ended),
            contains=self.cleaned_data["text"],
            key=self.cleaned_data["key"],
        )
