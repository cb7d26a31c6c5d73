"""The form for uploading images."""

from django import forms
from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from annotation.models import Axis


def _axes() -> list[tuple[str, str]]:
    return [(axis.value, gettext(axis.label)) for axis in Axis]


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
        file: UploadedFile = self.cleaned_data["file"]
        most = settings.UPLOAD_MAX_MB
        if (file.size or 0) > most * 1_000_000:
            raise forms.ValidationError(
                gettext("The file is larger than %(most)d MB. Split it, or use the command: %(command)s")
                % {"most": most, "command": "manage.py import_images"}
            )
        return file
