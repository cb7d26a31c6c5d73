"""Filters of the catalogue's lists, and the details of a source."""

from typing import Any

from django import forms
from django.utils.translation import gettext as _now
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from annotation.models import Axis, Region, Source

_ALL = pgettext_lazy("a filter that is left out", "all")
MOST_VOTES = 32_767
"""What the column of a count holds."""


def _axes() -> list[tuple[str, Any]]:
    return [("", _ALL), *((axis.value, _now(axis.label)) for axis in Axis)]


def _regions() -> list[tuple[str, Any]]:
    return [("", _ALL), *((region.value, _now(region.value)) for region in Region)]


def _sources() -> list[tuple[str, Any]]:
    return [("", _ALL), *Source.objects.order_by("title").values_list("name", "title")]


class _Filters(forms.Form):
    """All fields are optional. `after` and `before`: ids of rows, for the next and the previous page."""

    use_required_attribute = False
    after = forms.IntegerField(required=False, min_value=0, max_value=2**63 - 1, widget=forms.HiddenInput)
    before = forms.IntegerField(required=False, min_value=0, max_value=2**63 - 1, widget=forms.HiddenInput)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"label_suffix": "", **kwargs})


class GroupFilters(_Filters):
    name_contains = forms.CharField(label=_("Name contains"), required=False, max_length=120)
    axis = forms.ChoiceField(label=_("Axis"), required=False, choices=_axes)
    region = forms.ChoiceField(label=_("Region"), required=False, choices=_regions)
    source = forms.ChoiceField(label=_("Source"), required=False, choices=_sources)


class AttributeFilters(_Filters):
    contains = forms.CharField(label=_("Text contains"), required=False, max_length=200)
    source = forms.ChoiceField(label=_("Source"), required=False, choices=_sources)


class AssociationFilters(_Filters):
    contains = forms.CharField(label=_("Attribute contains"), required=False, max_length=200)
    group_contains = forms.CharField(label=_("Identity group contains"), required=False, max_length=120)
    source = forms.ChoiceField(label=_("Source"), required=False, choices=_sources)
    axis = forms.ChoiceField(label=_("Axis"), required=False, choices=_axes)
    region = forms.ChoiceField(label=_("Region"), required=False, choices=_regions)
    in_min = forms.IntegerField(
        label=_("In-region votes Stereotypical, at least"), required=False, min_value=0, max_value=MOST_VOTES
    )
    out_min = forms.IntegerField(
        label=_("Out-region votes Stereotypical, at least"), required=False, min_value=0, max_value=MOST_VOTES
    )
    offensiveness_min = forms.FloatField(
        label=_("Offensiveness from"), required=False, min_value=-1, max_value=4, step_size=0.1
    )
    offensiveness_max = forms.FloatField(
        label=_("Offensiveness to"), required=False, min_value=-1, max_value=4, step_size=0.1
    )


class SuccessorForm(forms.Form):
    """The source that replaces another."""

    successor = forms.ChoiceField(label=_("Superseded by"), required=False)

    def __init__(self, source: Source, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"label_suffix": "", **kwargs})
        others = Source.objects.exclude(pk=source.pk).order_by("title").values_list("name", "title")
        field = self.fields["successor"]
        assert isinstance(field, forms.ChoiceField)
        field.choices = [("", _("– none –")), *others]
        self.initial.setdefault("successor", source.superseded_by.name if source.superseded_by else "")
