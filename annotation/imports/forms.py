"""Forms of the pages that add pairs and import the released files."""

from typing import Any

from django import forms
from django.core.files.uploadedfile import UploadedFile
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from annotation.catalogue.source_form import SourceForm
from annotation.imports.files import MAX_BYTES
from annotation.imports.readers import pairs
from annotation.imports.services.jobs import AXES, Kind
from annotation.models import Axis


def _axes() -> list[tuple[str, str]]:
    return [(axis.value, gettext(axis.label)) for axis in Axis]


class PairsForm(SourceForm):
    """A new source of one's own pairs: from a file, typed in, or as checked before (`checked`, a CSV)."""

    name = forms.SlugField(
        label=_("Name"),
        max_length=80,
        help_text=_("Used in URLs and study files; cannot be changed later. Letters, digits, - and _."),
    )
    axis = forms.ChoiceField(label=_("The identities are"), choices=_axes, initial=Axis.NATIONALITY)
    file = forms.FileField(
        label=_("CSV file or spreadsheet"),
        required=False,
        widget=forms.ClearableFileInput(attrs={"accept": ".csv,.tsv,.txt,.xlsx,.xls,.ods"}),
        help_text=_("At most 2 MB. The columns are described below."),
    )
    typed = forms.CharField(
        label=_("Or pairs typed in, one per line"),
        required=False,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 8, "spellcheck": "false", "placeholder": "Mexican, sombrero"}),
    )
    create_groups = forms.BooleanField(
        label=_("Create identity groups that are not known yet"), required=False
    )
    checked = forms.CharField(required=False, strip=False, widget=forms.HiddenInput)

    field_order = ("name", "title", "licence", "origin", "citation", "axis", "file", "typed", "create_groups")

    def clean_file(self) -> UploadedFile | None:
        file: UploadedFile | None = self.cleaned_data["file"]
        if file is not None and (file.size or 0) > pairs.MAX_BYTES:
            raise forms.ValidationError(
                gettext("The file is larger than 2 MB. Use the command: %(command)s")
                % {"command": "manage.py import_pairs FILE --source NAME"}
            )
        return file

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        given = [name for name in ("file", "typed") if data.get(name) and str(data[name]).strip()]
        if not data.get("checked") and "file" not in self.errors and len(given) != 1:
            self.add_error(
                "typed",
                gettext("Choose a file or type pairs in, not both.")
                if given
                else gettext("Choose a file, or type pairs in."),
            )
        return data


class _ReleasedFile(forms.FileField):
    def __init__(self, accept: str, **options: Any) -> None:
        super().__init__(widget=forms.ClearableFileInput(attrs={"accept": accept}), **options)

    def clean(self, *args: Any, **kwargs: Any) -> Any:
        file = super().clean(*args, **kwargs)
        if file is not None and file.size > MAX_BYTES:
            raise forms.ValidationError(
                gettext("The file is larger than %(most)d MB.") % {"most": MAX_BYTES // 1_000_000}
            )
        return file


class SeegullForm(forms.Form):
    """One of SeeGULL's three files."""

    kind = Kind.SEEGULL
    use_required_attribute = False
    prefix = "seegull"
    associations = _ReleasedFile(".csv", label=_("CSV file"))
    axis = forms.ChoiceField(
        label=_("It is about"), choices=lambda: [(axis.value, gettext(axis.label)) for axis in AXES]
    )
    source = forms.SlugField(
        label=_("Name of the source"),
        max_length=80,
        required=False,
        help_text=_("Empty: the release’s name. Another one for other content."),
    )


class VisageForm(forms.Form):
    """ViSAGe's two files."""

    kind = Kind.VISAGE
    use_required_attribute = False
    prefix = "visage"
    attributes = _ReleasedFile(".xlsx", label=_("Visual Attributes_.xlsx"))
    annotations = _ReleasedFile(".xlsx", label=_("Image Annotations.xlsx"))
    study = forms.SlugField(
        label=_("Name of the study"), max_length=80, required=False, help_text=_("Empty: visage.")
    )
