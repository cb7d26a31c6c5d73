"""The form that plans a measurement of brightness."""

from typing import Any

from django import forms
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from annotation.models import ImageSet
from generation.backends.brightness import CROPS, PUBLISHED, CropRefused, parse_crop
from generation.plans.errors import PlanRefused
from generation.plans.plan import Plan
from metrics.brightness.services import plan_brightness

OWN = "own"
_CROP_NAMES = {
    PUBLISHED: _("as published: a part of the forehead in a portrait"),
    "centre": _("centre: the middle half of width and height"),
    "whole": _("the whole image"),
}


class BrightnessForm(forms.Form):
    """`plan` is None if the form has errors."""

    image_set = forms.ModelChoiceField(
        ImageSet.objects.order_by("title", "pk"), to_field_name="name", label=_("Image set")
    )
    crop = forms.ChoiceField(
        choices=[*((name, _CROP_NAMES[name]) for name in CROPS), (OWN, _("another, written beside"))],
        initial=PUBLISHED,
        label=_("Crop"),
        help_text=_("RGB brightness is measured in it. The published one is for portraits of one format."),
    )
    own_crop = forms.CharField(
        required=False,
        max_length=80,
        label=_("Another crop"),
        help_text=_("Left, top, right and bottom as shares of the image, such as 0.4, 0.3, 0.6, 0.4."),
    )
    faces = forms.BooleanField(
        required=False,
        initial=True,
        label=_("Look for faces"),
        help_text=_(
            "L* and ITA are of the skin in the largest face. Without a face, or without OpenCV on the "
            "worker, they are of the crop."
        ),
    )
    name = forms.SlugField(
        required=False,
        max_length=80,
        label=_("Name of the run"),
        help_text=_("Empty: from image set and crop."),
    )

    def clean(self) -> dict[str, Any]:
        data = self.cleaned_data
        if data.get("crop") == OWN and "own_crop" in data:
            try:
                data["own_crop"] = parse_crop(data["own_crop"]).name
            except CropRefused as refused:
                self.add_error("own_crop", str(refused))
        elif data.get("own_crop"):
            message = gettext("Choose “another, written beside” as the crop, or leave this empty.")
            self.add_error("own_crop", message)
        return data

    def plan(self) -> Plan | None:
        """The plan; None, with an error added to the form, if it is refused."""
        data = self.cleaned_data
        try:
            return plan_brightness(
                image_set=data["image_set"],
                crop=data["own_crop"] if data["crop"] == OWN else data["crop"],
                faces=data["faces"],
                name=data["name"],
            )
        except PlanRefused as refused:
            self.add_error(None, str(refused))
            return None


def crop_fields(crop: str) -> dict[str, str]:
    """A crop, by name or in shares, as the form's fields."""
    return {"crop": crop} if crop in CROPS else {"crop": OWN, "own_crop": crop}
