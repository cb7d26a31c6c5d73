"""The form of the export page. The rules are in the services."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django import forms
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from annotation.exports.formats.registry import FORMATS
from annotation.exports.selection import COUNTED, SURPLUS, Filters
from annotation.models import IdentityGroup, Pool, Study, TaskKind

_POOLS = {
    Pool.IN_REGION.value: _("live in the region of the group they judge"),
    Pool.OUT_REGION.value: _("identify with that region and live in North America"),
}
_STATUSES = {
    COUNTED: _("counted: used by scores"),
    SURPLUS: _("surplus: came after the target was reached"),
}


class ExportForm(forms.Form):
    """A format and filters. Days are UTC, as everywhere."""

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
        strata = sorted({text for task in tasks for text in (*task.slot_strata, *task.strata)})
        shown = IdentityGroup.objects.filter(images__units__task__study=study)
        judged = IdentityGroup.objects.filter(associations__units__task__study=study)
        groups = sorted({*shown.values_list("name", flat=True), *judged.values_list("name", flat=True)})
        self._set_choices("format", [(one.name, one.title) for one in FORMATS.values()])
        every = [("", pgettext_lazy("a filter that is left out", "all"))]
        self._set_choices(
            "task", every + [(kind, _(label)) for kind, label in TaskKind.choices if kind in kinds]
        )
        self._set_choices("group", every + [(name, name) for name in groups])
        self._set_choices("pool", every + list(_POOLS.items()))
        self._set_choices("stratum", every + [(text, text) for text in strata])
        self._set_choices("status", every + list(_STATUSES.items()))

    def _set_choices(self, name: str, choices: list[tuple[str, Any]]) -> None:
        field = self.fields[name]
        assert isinstance(field, forms.ChoiceField)
        field.choices = choices

    def filters(self) -> Filters:
        """The chosen filters; the form must be valid."""
        names = ("task", "since", "until", "group", "pool", "stratum", "status")
        return Filters(**{name: self.cleaned_data[name] for name in names})

    def query_string(self) -> str:
        """Format and filters as the query string of a URL; the form must be valid."""
        return urlencode({"format": self.cleaned_data["format"], **self.filters().as_dict()})
