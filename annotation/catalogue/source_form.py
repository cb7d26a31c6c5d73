"""The form of a source's details, for the pages that edit one and that add one (annotation/imports)."""

from django import forms
from django.utils.translation import gettext_lazy as _

from annotation.catalogue.services import SourceDetails


class SourceForm(forms.Form):
    """What describes a source."""

    use_required_attribute = False
    title = forms.CharField(label=_("Title"), max_length=200)
    licence = forms.CharField(
        label=_("Licence"), max_length=80, required=False, help_text=_("For example CC BY 4.0.")
    )
    origin = forms.CharField(
        label=_("Origin"),
        max_length=500,
        required=False,
        help_text=_("Where it comes from: a URL or a text."),
    )
    citation = forms.CharField(
        label=_("Citation"), max_length=4000, required=False, widget=forms.Textarea(attrs={"rows": 2})
    )

    def details(self) -> SourceDetails:
        """The form must be valid."""
        return SourceDetails(**{name: self.cleaned_data[name] for name in SourceForm.base_fields})
