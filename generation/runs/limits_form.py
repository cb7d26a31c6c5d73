"""The form for the limits of a run."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from generation.models import Run
from generation.recipes.checks import RecipeRefused
from generation.recipes.limits import MOST_IN_FLIGHT, Limits

MOST = 10**12


def _price(label: Any) -> forms.FloatField:
    return forms.FloatField(label=label, required=False, min_value=0, max_value=MOST)


class LimitsForm(forms.Form):
    """Empty fields: no limit. Call `limits` after `is_valid`; it adds its errors to the form."""

    tokens = forms.IntegerField(
        label=_("Tokens at most"),
        required=False,
        min_value=1,
        max_value=MOST,
        help_text=_("Of prompts and answers together. The run pauses before it would need more."),
    )
    cost = forms.FloatField(
        label=_("Cost at most"),
        required=False,
        min_value=0,
        max_value=MOST,
        help_text=_("In the currency of the prices. It needs both prices."),
    )
    price_in = _price(_("Price of a million tokens in prompts"))
    price_out = _price(_("Price of a million tokens in answers"))
    in_flight = forms.IntegerField(
        label=_("Askings at once"),
        required=False,
        min_value=1,
        max_value=MOST_IN_FLIGHT,
        help_text=_("By each worker. Empty: the backend’s own number."),
    )

    def __init__(self, data: Any = None, *, run: Run) -> None:
        super().__init__(data, initial=run.limits, label_suffix="")

    def limits(self) -> Limits | None:
        """The limits; None if an error was added to the form."""
        try:
            return Limits(**self.cleaned_data)
        except RecipeRefused as refused:
            self.add_error("cost", str(refused).rpartition(": ")[2].capitalize())
        return None
