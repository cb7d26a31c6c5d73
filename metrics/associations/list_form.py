"""What the forms share that plan associations: the wording of prompts, and a list of descriptors."""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.contrib.auth.models import User
from django.http import QueryDict
from django.utils.datastructures import MultiValueDict
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from annotation.imports.readers.oddities import FileRefused
from annotation.models import DIMENSIONS, Axis
from generation.runs.planning_forms.base import RunForm
from metrics.associations.descriptors import DescriptorList, read_descriptors, starter_list
from metrics.associations.groups import catalogue_list
from metrics.associations.prompts import (
    PromptsRefused,
    PromptText,
    changes_of_text,
    read_prompts,
    shown_as_tables,
)

STARTER, CATALOGUE, OWN = "starter", "catalogue", "own"
_LARGEST = 2_000_000
_SOURCES = [
    (STARTER, _("the list that ships: nine dimensions, named with respect")),
    (CATALOGUE, _("the identity groups of the catalogue")),
    (OWN, _("my own list, below")),
]


class WordingForm(RunForm):
    """A form whose prompts can be changed: `cleaned_data["wording"]` holds all of them by name."""

    MODALITY: str
    wording = forms.CharField(
        label=_("Your own wording"),
        required=False,
        max_length=200_000,
        widget=forms.Textarea(attrs={"rows": 8, "spellcheck": "false"}),
        help_text=_(
            "Empty: the prompts below. To change one, copy it here with the line of its name, such as "
            "[t2t-noun], and give it a new version."
        ),
    )

    def clean_wording(self) -> dict[str, PromptText]:
        try:
            return read_prompts(changes_of_text(self.cleaned_data["wording"]))
        except PromptsRefused as refused:
            raise forms.ValidationError(str(refused)) from refused

    def listed(self) -> DescriptorList | None:
        """The descriptors that the plan is about, after `plan`; None if it is about images."""
        return None

    def prompt_names(self) -> list[str]:
        raise NotImplementedError

    def shipped(self) -> str:
        """The prompts that are used unless they are changed, as they can be pasted."""
        return shown_as_tables(self.prompt_names())

    def main_fields(self) -> list[forms.BoundField]:
        return [field for field in super().main_fields() if field.name != "wording"]


class ListForm(WordingForm):
    """A form with a list of descriptors. An uploaded file becomes the text of the field `descriptors`, so
    that the preview's second submission has it too."""

    source = forms.ChoiceField(label=_("Descriptors"), choices=_SOURCES)
    descriptors = forms.CharField(
        label=_("Own list"),
        required=False,
        max_length=_LARGEST,
        widget=forms.Textarea(attrs={"rows": 4, "spellcheck": "false"}),
        help_text=_("A first line “dimension,singular,plural,article”, then one descriptor in each line."),
    )
    file = forms.FileField(label=_("or a CSV file"), required=False)
    dimensions = forms.MultipleChoiceField(
        label=_("Only these dimensions"),
        required=False,
        choices=Axis.choices,
        widget=forms.CheckboxSelectMultiple,
        help_text=_("None: all nine."),
    )

    def __init__(
        self,
        data: Any = None,
        files: MultiValueDict[str, Any] | None = None,
        *,
        user: User,
        initial: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(data, user=user, initial={"source": STARTER, "dimensions": [], **(initial or {})})
        self.files = MultiValueDict() if files is None else files
        chosen = [(axis.value, axis.label) for axis in DIMENSIONS]
        others = [choice for choice in Axis.choices if choice not in chosen]
        dimensions = self.fields["dimensions"]
        assert isinstance(dimensions, forms.MultipleChoiceField)
        dimensions.choices = [(name, gettext(label)) for name, label in [*chosen, *others]]
        self._listed: DescriptorList | None = None

    def clean(self) -> dict[str, Any]:
        data: dict[str, Any] = super().clean() or self.cleaned_data
        if file := data.get("file"):
            self._read(file)
        given = bool(data.get("descriptors", "").strip())
        if self.errors:
            return data
        if data["source"] == OWN and not given:
            self.add_error("descriptors", gettext("Paste a list or choose a file, or choose another list."))
        elif data["source"] != OWN and given:
            self.add_error("source", gettext("You gave a list of your own: choose it, or empty its field."))
        else:
            try:
                self._listed = self._find(data).on(data["dimensions"])
            except FileRefused as refused:
                self.add_error("descriptors", str(refused))
        return data

    def _read(self, file: Any) -> None:
        if file.size > _LARGEST:
            self.add_error("file", gettext("The file is larger than 2 MB. Choose fewer descriptors."))
            return
        try:
            text = file.read().decode("utf-8-sig").replace("\r\n", "\n")
        except UnicodeDecodeError:
            self.add_error("file", gettext("The file is not UTF-8. Save it as “CSV UTF-8”."))
            return
        self.cleaned_data |= {"descriptors": text, "source": OWN}
        data = QueryDict(mutable=True)
        data.update(self.data)
        for name in ("descriptors", "source"):
            data[name] = self.cleaned_data[name]
        self.data = data

    def _find(self, data: Mapping[str, Any]) -> DescriptorList:
        if data["source"] == CATALOGUE:
            return catalogue_list(data["dimensions"])
        return starter_list() if data["source"] == STARTER else read_descriptors(data["descriptors"], "list")

    def listed(self) -> DescriptorList | None:
        return self._listed

    def list_or_refuse(self) -> DescriptorList:
        assert self._listed is not None
        return self._listed
