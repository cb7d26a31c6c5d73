"""The form for uploading images."""

from typing import Any

from django import forms
from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from annotation.imports.readers import pairs
from annotation.models import Axis, ImageSet, Source


def _axes() -> list[tuple[str, str]]:
    return [(axis.value, gettext(axis.label)) for axis in Axis]


def check_size(file: UploadedFile) -> UploadedFile:
    """`file`, if it may be uploaded. Raises ValidationError."""
    most = settings.UPLOAD_MAX_MB
    if (file.size or 0) > most * 1_000_000:
        raise forms.ValidationError(
            gettext("The file is larger than %(most)d MB. Split it, or use the command: %(command)s")
            % {"most": most, "command": "manage.py import_images"}
        )
    return file


class UploadForm(forms.Form):
    """A ZIP with a CSV, and the image set to import into."""

    use_required_attribute = False

    file = forms.FileField(
        label=_("ZIP file"),
        widget=forms.ClearableFileInput(attrs={"accept": ".zip,application/zip"}),
    )
    name = forms.CharField(
        label=_("Image set"),
        max_length=80,
        help_text=_(
            "Short name: lower-case letters, digits, - and _. A new set is created; images are added to an "
            "existing one."
        ),
    )
    title = forms.CharField(label=_("Title of a new set"), required=False, max_length=200)
    licence = forms.CharField(label=_("Licence of a new set"), required=False, max_length=80)
    axis = forms.ChoiceField(label=_("The groups are"), choices=_axes, initial=Axis.NATIONALITY)
    new_groups = forms.BooleanField(label=_("Create groups that are not known yet"), required=False)

    def clean_file(self) -> UploadedFile:
        return check_size(self.cleaned_data["file"])


class StudyImagesForm(forms.Form):
    """Images and attributes of a study that is being set up. A file counts, whatever is chosen beside it."""

    use_required_attribute = False

    images = forms.FileField(
        label=_("ZIP of images"),
        required=False,
        widget=forms.ClearableFileInput(attrs={"accept": ".zip,application/zip"}),
        help_text=_("With one CSV in it: file, group."),
    )
    image_set = forms.ChoiceField(label=_("Or images that are here already"), required=False)
    licence = forms.CharField(
        label=_("Licence of the images"),
        required=False,
        max_length=80,
        help_text=_(
            "For example CC BY 4.0. A report shows no images without a licence; under CC BY, only if the CSV "
            "names their model."
        ),
    )
    attributes = forms.FileField(
        label=_("CSV of attributes"),
        required=False,
        widget=forms.ClearableFileInput(attrs={"accept": ".csv,.tsv,.txt,.xlsx,.xls,.ods"}),
        help_text=_("identity group, attribute and, if you like, stereotypical: yes or no."),
    )
    source = forms.ChoiceField(label=_("Or a resource that is here already"), required=False)
    axis = forms.ChoiceField(label=_("The groups are"), choices=_axes, initial=Axis.NATIONALITY)
    new_groups = forms.BooleanField(label=_("Create groups that are not known yet"), required=False)
    allow_fewer = forms.BooleanField(
        label=_("Allow fewer random attributes than stereotypes"), required=False
    )

    def __init__(self, data: Any, files: Any, *, initial: dict[str, Any]) -> None:
        super().__init__(data, files, initial=initial, label_suffix="")
        none = ("", gettext("– choose –"))
        sets = ImageSet.objects.order_by("title").values_list("name", "title")
        sources = Source.objects.order_by("title").values_list("name", "title")
        self.fields["image_set"].choices = [none, *sets]  # type: ignore[attr-defined]
        self.fields["source"].choices = [none, *sources]  # type: ignore[attr-defined]

    def clean_images(self) -> UploadedFile | None:
        file: UploadedFile | None = self.cleaned_data["images"]
        return check_size(file) if file else None

    def clean_attributes(self) -> UploadedFile | None:
        file: UploadedFile | None = self.cleaned_data["attributes"]
        if file and (file.size or 0) > pairs.MAX_BYTES:
            raise forms.ValidationError(gettext("The file is larger than 2 MB."))
        return file

    def clean(self) -> dict[str, Any]:
        data = self.cleaned_data
        for file, chosen, message in (
            ("images", "image_set", _("Choose a ZIP of images, or images that are here already.")),
            ("attributes", "source", _("Choose a CSV of attributes, or a resource that is here already.")),
        ):
            if not data.get(file) and not data.get(chosen) and not {file, chosen} & set(self.errors):
                self.add_error(file, message)
        return data
