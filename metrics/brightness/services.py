"""Plan a run that measures brightness of an image set (PROTOCOL §12). Only reads."""

from django.utils.text import slugify
from django.utils.translation import gettext as _

from annotation.models import Image, ImageSet
from generation.backends.brightness import CropRefused, parse_crop
from generation.plans.askings import AboutImages, Asking
from generation.plans.errors import PlanRefused
from generation.plans.plan import Plan
from generation.plans.queries.image_sets import images_with_files
from generation.plans.services import plan_askings
from generation.recipes.askings import DescriptionRecipe
from generation.recipes.recipes import digest
from metrics.brightness.data import BACKEND
from metrics.core.purposes import BRIGHTNESS

PROMPT = "brightness"
"""What the jobs ask; a measurement reads no prompt."""
_LONGEST_NAME = 80


def plan_brightness(*, image_set: ImageSet, crop: str, faces: bool, name: str = "") -> Plan:
    """Plan the measurement of each image of the set that has a file here. `crop`: a name of CROPS, or four
    shares. `name` "": from the set and the crop, the same for the same choice.

    Raises PlanRefused with the cure; writes nothing.
    """
    try:
        chosen = parse_crop(crop)
    except CropRefused as error:
        raise PlanRefused(str(error)) from error
    recipe = DescriptionRecipe(
        backend=BACKEND,
        temperature=0,
        options={"crop": chosen.name, "faces": faces},
        design={"purpose": BRIGHTNESS},
    )
    images = images_with_files(image_set)
    absent = Image.objects.filter(image_set=image_set, file="").count()
    note = _("Images without a file in this installation, which are left out: %(number)d.")
    return plan_askings(
        recipe=recipe,
        name=name or _default_name(image_set, recipe),
        askings=AboutImages([Asking(key=PROMPT, prompt=PROMPT)], images),
        image_set=image_set,
        notes=[note % {"number": absent}] if absent else [],
    )


def _default_name(image_set: ImageSet, recipe: DescriptionRecipe) -> str:
    ending = f"-brightness-{digest(recipe, image_set=image_set.name)[:8]}"
    return slugify(image_set.name)[: _LONGEST_NAME - len(ending)].rstrip("-_") + ending
