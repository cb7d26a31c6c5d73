"""The form of the release page: reading what is wanted. Rules stand in the services."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from annotation.models import Study
from annotation.participation import profile_fields
from annotation.releases.request import Wanted


class ReleaseForm(forms.Form):
    """What a release is to hold."""

    k = forms.IntegerField(
        label=_("Least people of each combination (k)"),
        min_value=2,
        max_value=10_000,
        initial=5,
        help_text=_("Profile fields are made coarser until nobody stands in a smaller group."),
    )
    withhold = forms.MultipleChoiceField(
        label=_("Tell of nobody"), required=False, widget=forms.CheckboxSelectMultiple
    )
    with_text = forms.BooleanField(
        label=_("With what people wrote"),
        required=False,
        help_text=_("Addresses, links, numbers and account names are removed. Read the texts all the same."),
    )
    images = forms.BooleanField(label=_("With the files of the images"), required=False)
    without_pseudonyms = forms.BooleanField(
        label=_("Without pseudonyms"),
        required=False,
        help_text=_(
            "Nobody can tell which answers are of one person, and nothing is told of people. Then nobody can "
            "compute intervals that draw annotators, or agreement by groups of annotators."
        ),
    )
    licence = forms.CharField(
        label=_("Licence"), required=False, max_length=200, help_text=_("For example CC-BY-4.0.")
    )
    citation = forms.CharField(label=_("How to cite"), required=False, max_length=500)

    def __init__(self, study: Study, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"label_suffix": "", **kwargs})
        labels = {question.name: question.label for question in profile_fields.FIELDS}
        labels |= {str(each["field"]): str(each["label"]) for each in study.questions}
        withhold = self.fields["withhold"]
        assert isinstance(withhold, forms.MultipleChoiceField)
        withhold.choices = list(labels.items())

    def wanted(self) -> Wanted:
        """What was asked for; the form must be valid."""
        names = ("k", "with_text", "images", "without_pseudonyms", "licence", "citation")
        return Wanted(
            **{name: self.cleaned_data[name] for name in names},
            withhold=tuple(self.cleaned_data["withhold"]),
        )


__all__ = ["ReleaseForm"]
