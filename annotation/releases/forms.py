"""The form of the release page. The rules are in the services."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from annotation.models import Study
from annotation.participation import profile_fields
from annotation.releases.request import MAX_K, MIN_K, ReleaseOptions


class ReleaseForm(forms.Form):
    """The options of a release."""

    k = forms.IntegerField(
        label=_("Minimum group size (k)"),
        min_value=MIN_K,
        max_value=MAX_K,
        initial=5,
        help_text=_(
            "Profile fields are coarsened until at least this many people share each combination of values."
        ),
    )
    withhold = forms.MultipleChoiceField(
        label=_("Profile fields to withhold"), required=False, widget=forms.CheckboxSelectMultiple
    )
    with_text = forms.BooleanField(
        label=_("Include what annotators wrote"),
        required=False,
        help_text=_(
            "E-mail addresses, links, telephone numbers and account names are removed. Still read the texts "
            "before you publish them."
        ),
    )
    images = forms.BooleanField(label=_("Include the image files"), required=False)
    without_pseudonyms = forms.BooleanField(
        label=_("Without pseudonyms"),
        required=False,
        help_text=_(
            "Nobody can tell which answers are by the same person, and no profiles are published. Readers "
            "then cannot compute intervals that resample annotators, or agreement by groups of annotators."
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
        self.fields["withhold"].choices = list(labels.items())  # type: ignore[attr-defined]

    def options(self) -> ReleaseOptions:
        """The chosen options; the form must be valid."""
        return ReleaseOptions(**{**self.cleaned_data, "withhold": tuple(self.cleaned_data["withhold"])})
