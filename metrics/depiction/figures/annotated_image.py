"""The figure of one image with the boxes of all annotators (ViSAGe, figure 7)."""

import base64
import io
from collections import defaultdict
from collections.abc import Mapping

from django.db.models import Count, Exists, OuterRef, Q
from PIL import Image as Pillow
from PIL import UnidentifiedImageError

from annotation.models import Box, Image, OptionRole, Study, Task, TaskKind, Unit
from metrics.core.answers import counted_judgements, has_simulated_answers, stereotypes
from metrics.core.charts.figure import Figure
from metrics.core.figure_sources import FigureSource, NothingToDraw, group_link
from metrics.depiction.charts.annotated_image import AnnotatedAttribute, annotated_image_chart
from metrics.depiction.queries.pictures import MAX_READABLE_BOXES

_IMAGES_LOOKED_AT = 60
_SIDE = 1024  # pixels; sharp in print at the size of the figure


def _annotated_image(study: Study, options: Mapping[str, str]) -> Figure:
    image = _choose_image(study, options.get("image"))
    stereotypical = set(stereotypes(study).filter(group=image.group_id).values_list("attribute", flat=True))
    judged = counted_judgements(study, TaskKind.DEPICTION).filter(
        response__unit__image=image, option__role__in=_ATTRIBUTES
    )
    counts = judged.order_by().values_list("option__attribute", "option__attribute__text")
    boxes: dict[int, list[tuple[str, float, float, float, float]]] = defaultdict(list)
    drawn = Box.objects.filter(judgement__in=judged.filter(value=1).order_by()).order_by("pk")
    for attribute, pseudonym, slot, x0, y0, x1, y1, width, height in drawn.values_list(
        "judgement__option__attribute",
        "judgement__response__annotator__pseudonym",
        "judgement__response__slot__index",
        *("x0", "y0", "x1", "y1", "image_width", "image_height"),
    ):
        # boxes are in pixels of the image as shown, which can differ in size from the file
        across, down = image.width / width, image.height / height
        who = pseudonym or f"response {slot + 1}"
        boxes[attribute].append((who, x0 * across, y0 * down, x1 * across, y1 * down))
    attributes = [
        AnnotatedAttribute(text, attribute in stereotypical, k, n, tuple(boxes[attribute]))
        for attribute, text, k, n in counts.annotate(k=Count("pk", filter=Q(value=1)), n=Count("pk"))
        if k
    ]
    if not attributes:
        raise NothingToDraw(f"Nobody has selected an attribute in image {image.pk} ({image}) yet.")
    attributes.sort(key=lambda attribute: (-attribute.k / attribute.n, attribute.text))
    return annotated_image_chart(
        attributes,
        name=str(image),
        picture=_data_url(image),
        size=(image.width, image.height),
        study=study.title,
        simulated=has_simulated_answers(study),
        link=group_link(study, image.group_id),
    )


def _choose_image(study: Study, number: str | None) -> Image:
    """The image with this number, of those that `study` judges and shows and whose file is stored here: those
    its leads may see. Without a number, one of the first images with as many boxes as are readable; counting
    the boxes of all images would take too long in a large study."""
    judged = Unit.objects.filter(image=OuterRef("pk"), task__study=study, task__kind=TaskKind.DEPICTION)
    shown = Task.objects.filter(image_set=OuterRef("image_set"), study=study)
    images = Image.objects.filter(Exists(judged), Exists(shown)).exclude(file="").select_related("group")
    if number is None:
        boxed = Count("units__responses__judgements__boxes", distinct=True)
        first = list(images.order_by("pk").values_list("pk", flat=True)[:_IMAGES_LOOKED_AT])
        most = images.filter(pk__in=first).annotate(boxed=boxed).order_by("-boxed", "pk")
        found = most.filter(boxed__lte=MAX_READABLE_BOXES).first() or most.first()
        if found is None:
            raise NothingToDraw(
                f"No image of study '{study.name}' has its file here. Import the files: "
                "manage.py import_images --help"
            )
        return found
    if not number.isdecimal() or len(number) > 18:
        raise ValueError(f"image={number}: give the number of an image, as in its address.")
    image = images.filter(pk=int(number)).first()
    if image is None:
        raise ValueError(
            f"image={number}: study '{study.name}' has no image of that number with its file here."
        )
    return image


def _data_url(image: Image) -> str:
    """The image as a data URL, so that the figure contains it."""
    try:
        with image.file.open("rb") as file, Pillow.open(file) as picture:
            small = picture.convert("RGB")
    except (FileNotFoundError, UnidentifiedImageError) as error:
        raise NothingToDraw(f"The file of image {image.pk} ({image}) cannot be read.") from error
    small.thumbnail((_SIDE, _SIDE))
    written = io.BytesIO()
    small.save(written, "JPEG", quality=92)
    return f"data:image/jpeg;base64,{base64.b64encode(written.getvalue()).decode()}"


_ATTRIBUTES = tuple(role for role in OptionRole.values if role != OptionRole.NONE_OF_ABOVE)

FIGURES = {
    "annotated-image": FigureSource(
        "An image with the boxes of its annotators",
        _annotated_image,
        {"image": "the number of an image whose file is stored here (default: one with many boxes)"},
        counterpart="ViSAGe, figure 7",
    )
}
