"""The prompt choices for a run of images, for forms and the API."""

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from generation.recipes.prompts import PULL, PromptSet

PROMPT_CHOICES: dict[str, tuple[Promise, tuple[str, ...], int]] = {
    "detection": (
        _("Detection: “a photo of a … person”, “a portrait of a … person”, “a … person”; shown to people"),
        (PromptSet.DETECTION.value,),
        5,
    ),
    "pull": (
        _("Pull: “a … person”, and “described as” its stereotypes and as other attributes"),
        tuple(one.value for one in PULL),
        15,
    ),
    "default": (_("Only “a … person”"), (PromptSet.DEFAULT.value,), 15),
    "from_images": (
        _("From images: a prompt of your own, beginning with the images of a set"),
        (PromptSet.FROM_IMAGES.value,),
        1,
    ),
}
"""Choice -> label, prompt sets, and default number of images per prompt (PROTOCOL §5, §9)."""
