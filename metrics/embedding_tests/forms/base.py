"""What both forms share: the name, the tables of a ranking, and files that are uploaded instead of pasted."""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.core.files.uploadedfile import UploadedFile
from django.http import QueryDict
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from metrics.models import EmbeddingTestFile

LARGEST = 2_000_000
"""Bytes of an uploaded file, and characters of a pasted one."""


def file_text(file: "UploadedFile[Any]") -> str:
    """The text of an uploaded file. Raises ValidationError."""
    if (file.size or 0) > LARGEST:
        raise forms.ValidationError(gettext("The file is larger than 2 MB. Divide it."))
    try:
        return str(file.read().decode("utf-8-sig").replace("\r\n", "\n"))
    except UnicodeDecodeError as error:
        raise forms.ValidationError(gettext("The file is not UTF-8. Save it as UTF-8.")) from error


def text_area(rows: int) -> forms.Textarea:
    return forms.Textarea(attrs={"rows": rows, "spellcheck": "false"})


def table_field(label: Any, help_text: Any) -> forms.CharField:
    """A table, pasted as CSV."""
    return forms.CharField(
        required=False,
        max_length=LARGEST,
        label=label,
        help_text=help_text,
        widget=text_area(4),
        strip=False,
    )


class NamedForm(forms.Form):
    """A name that no other file has. An uploaded file becomes the text of its field, so that the page that
    shows errors has it too."""

    name = forms.SlugField(
        max_length=80, label=_("Name"), help_text=_("Short, for links: letters, digits, - and _.")
    )
    reference = table_field(
        _("Reference table, as CSV"),
        _("The first column is the region, each other column a group with its share."),
    )
    reference_file = forms.FileField(required=False, label=_("or upload it"))
    variables = table_field(
        _("Table of other variables, as CSV"),
        _("The first column is the region, each other column a variable with its numbers."),
    )
    variables_file = forms.FileField(required=False, label=_("or upload it"))
    uploads: Mapping[str, str] = {"reference_file": "reference", "variables_file": "variables"}
    """Field of a file -> field of its text."""

    def __init__(self, *args: Any, stored: EmbeddingTestFile | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.stored = stored

    def clean_name(self) -> str:
        name: str = self.cleaned_data["name"]
        others = EmbeddingTestFile.objects.filter(name=name)
        if self.stored is not None:
            others = others.exclude(pk=self.stored.pk)
        if others.exists():
            raise forms.ValidationError(
                gettext("There is a file “%(name)s” already. Choose another name.") % {"name": name}
            )
        return name

    def read_uploads(self) -> None:
        data = QueryDict(mutable=True)
        data.update(self.data)
        for upload, field in self.uploads.items():
            file = self.cleaned_data.get(upload)
            if not file:
                continue
            try:
                self.cleaned_data[field] = data[field] = file_text(file)
            except forms.ValidationError as error:
                self.add_error(upload, error)
        self.data = data


def lines_of(text: str) -> tuple[str, ...]:
    """The lines that are not empty, without the spaces around them."""
    return tuple(filter(None, map(str.strip, text.splitlines())))
