"""The form that stores a file as it is written."""

import dataclasses
from typing import Any

import tomli_w
from django import forms
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from annotation.models import ImageSet
from metrics.embedding_tests.forms.base import LARGEST, NamedForm, text_area
from metrics.embedding_tests.published_files import published_files
from metrics.embedding_tests.services import FileRefused, check
from metrics.embedding_tests.test_file import LONGEST_TEXT, TestFileRefused, as_toml_data, parse


class TestFileForm(NamedForm):
    """A file that is pasted, uploaded, or one of the published ones."""

    __test__ = False  # for pytest

    published = forms.ChoiceField(
        required=False, label=_("A published file"), help_text=_("Or paste or upload one of your own.")
    )
    image_set = forms.ModelChoiceField(
        ImageSet.objects.order_by("title"),
        required=False,
        to_field_name="name",
        label=_("Image set"),
        empty_label=_("the one that the file names"),
    )
    encoder = forms.CharField(
        required=False,
        max_length=LONGEST_TEXT,
        label=_("Encoder"),
        help_text=_("Empty: the one that the file names."),
    )
    text = forms.CharField(
        required=False, max_length=LARGEST, label=_("The file, in TOML"), widget=text_area(14), strip=False
    )
    file = forms.FileField(required=False, label=_("or upload it"))
    uploads = {"file": "text", **NamedForm.uploads}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        published = self.fields["published"]
        assert isinstance(published, forms.ChoiceField)
        published.choices = [("", gettext("none")), *((name, name) for name in published_files())]

    def clean(self) -> dict[str, Any]:
        super().clean()
        self.read_uploads()
        data = self.cleaned_data
        if self.errors:
            return data
        if data["published"]:
            self._take_published(data["published"])
        elif not data["text"].strip():
            self.add_error("text", gettext("Paste or upload a file, or choose a published one."))
        if not self.errors and (data["image_set"] or data["encoder"]):
            self._replace(data["image_set"], data["encoder"])
        if not self.errors:
            try:
                check(text=data["text"], reference=data["reference"], variables=data["variables"])
            except FileRefused as refused:
                self.add_error(refused.field, str(refused))
        return data

    def _take_published(self, name: str) -> None:
        if self.cleaned_data["text"].strip():
            self.add_error(
                "published", gettext("You gave a file of your own. Choose none here, or empty its field.")
            )
            return
        self.cleaned_data["text"] = published_files()[name].text

    def _replace(self, image_set: ImageSet | None, encoder: str) -> None:
        """The file with another set or encoder. Its comments are lost, nothing else."""
        try:
            file = parse(self.cleaned_data["text"])
        except TestFileRefused as refused:
            self.add_error("text", str(refused))
            return
        file = dataclasses.replace(
            file,
            image_set=image_set.name if image_set else file.image_set,
            encoder=encoder or file.encoder,
        )
        self.cleaned_data["text"] = tomli_w.dumps(as_toml_data(file))
