"""The form of the export page. The rules are in the services."""

from typing import Any
from urllib.parse import urlencode

from django import forms
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from annotation.exports.formats.registry import FORMATS
from annotation.exports.selection import COUNTED, SURPLUS, Filters
from annotation.models import IdentityGroup, Pool, Study, TaskKind

_POOLS = [
    (Pool.IN_REGION.value, _("live in the region of the group they judge")),
    (Pool.OUT_REGION.value, _("identify with that region and live in North America")),
]
_STATUSES = [
    (COUNTED, _("counted: used by scores")),
    (SURPLUS, _("surplus: came after the target was reached")),
]


class ExportForm(forms.Form):
    """A format and filters. Days are UTC, as everywhere. `formats`: those for tasks that the study has."""

    format = forms.ChoiceField(label=_("Format"), widget=forms.RadioSelect)
    task = forms.ChoiceField(label=_("Task"), required=False)
    since = forms.DateField(
        label=_("From (UTC)"), required=False, widget=forms.DateInput(attrs={"type": "date"})
    )
    until = forms.DateField(
        label=_("Until (UTC)"), required=False, widget=forms.DateInput(attrs={"type": "date"})
    )
    group = forms.ChoiceField(label=_("Identity group"), required=False)
    pool = forms.ChoiceField(label=_("Annotators who"), required=False)
    stratum = forms.ChoiceField(label=_("Stratum"), required=False)
    status = forms.ChoiceField(label=_("Answers"), required=False)

    def __init__(self, study: Study, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"label_suffix": "", **kwargs})
        tasks = list(study.tasks.all())
        kinds = {task.kind for task in tasks}
        self.formats = [one for one in FORMATS.values() if not one.kinds or kinds.intersection(one.kinds)]
        strata = sorted({text for task in tasks for text in (*task.slot_strata, *task.strata)})
        shown = IdentityGroup.objects.filter(images__units__task__study=study)
        judged = IdentityGroup.objects.filter(associations__units__task__study=study)
        groups = sorted({*shown.values_list("name", flat=True), *judged.values_list("name", flat=True)})
        every = [("", pgettext_lazy("a filter that is left out", "all"))]
        for name, choices in (
            ("format", [(one.name, one.title) for one in FORMATS.values()]),
            ("task", every + [(kind, _(label)) for kind, label in TaskKind.choices if kind in kinds]),
            ("group", every + [(group, group) for group in groups]),
            ("stratum", every + [(text, text) for text in strata]),
            ("pool", every + _POOLS),
            ("status", every + _STATUSES),
        ):
            self.fields[name].choices = choices  # type: ignore[attr-defined]

    def filters(self) -> Filters:
        """The chosen filters; the form must be valid."""
        return Filters(**{name: value for name, value in self.cleaned_data.items() if name != "format"})

    def query_string(self) -> str:
        """Format and filters as the query string of a URL; the form must be valid."""
        return urlencode({"format": self.cleaned_data["format"], **self.filters().as_dict()})
