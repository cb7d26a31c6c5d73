"""The images of a report: those of sets whose licence allows them to be passed on, with counts of answers."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Count, F, Q, Window
from django.db.models.functions import RowNumber

from annotation.models import Image, ImageSet, OptionRole, Study, TaskKind
from metrics.core.annotator_groups import MIN_GROUP_SIZE
from metrics.core.answers import counted_judgements
from metrics.depiction.queries.pictures import judged_images
from metrics.report.licences import Licence, open_licence

MAX_IMAGES = 200
"""In a report: as many of each group as there is room for, at least one."""
MAX_ATTRIBUTES = 12
"""Below an image."""


@dataclass(frozen=True)
class Selected:
    """`k` of the `n` annotators who were asked selected the attribute."""

    attribute: str
    k: int
    n: int


@dataclass(frozen=True)
class Picture:
    image: Image
    selected: tuple[Selected, ...]


@dataclass(frozen=True)
class PictureSet:
    """An image set of the study. `licence` None: its images may not be passed on, so there are none."""

    image_set: ImageSet
    licence: Licence | None
    pictures: tuple[Picture, ...]

    @property
    def lacks_credit(self) -> bool:
        """Whether its images are left out because the licence asks for a creator, and none is recorded."""
        return self.licence is not None and _lacks_credit(self.image_set, self.licence)


def picture_sets(study: Study, *, few_groups: frozenset[int] = frozenset()) -> list[PictureSet]:
    """The image sets that the study's images come from, by name. `few_groups`: identity groups that too few
    people judged, without their images. Five queries."""
    sets = list(
        ImageSet.objects.filter(images__in=judged_images(study).order_by()).distinct().order_by("name")
    )
    licences = {one.pk: open_licence(one.licence) for one in sets}
    free = [
        one.pk
        for one in sets
        if (licence := licences[one.pk]) is not None and not _lacks_credit(one, licence)
    ]
    images = judged_images(study).filter(image_set__in=free).exclude(file="").exclude(group__in=few_groups)
    groups = images.order_by().values("group").distinct().count()
    each = max(1, MAX_IMAGES // groups) if groups else 0
    first = Window(RowNumber(), partition_by=F("group"), order_by=[F("index"), F("pk")])
    chosen = list(
        images.order_by()
        .annotate(place=first)
        .filter(place__lte=each)
        .select_related("group")
        .order_by("group__name", "index", "pk")
    )
    selected = _selected(study, chosen)
    return [
        PictureSet(
            one,
            licences[one.pk],
            tuple(
                Picture(image, selected.get(image.pk, ())) for image in chosen if image.image_set_id == one.pk
            ),
        )
        for one in sets
    ]


def _lacks_credit(image_set: ImageSet, licence: Licence) -> bool:
    """Whether nobody can be named although the licence asks for it: neither a model nor this program, which
    drew its own samples, is known to have made the images."""
    return licence.credit and not image_set.model_name.strip() and not image_set.drawn


def _selected(study: Study, images: Sequence[Image]) -> dict[int, tuple[Selected, ...]]:
    """{image: the attributes that somebody selected, the most frequent first}, of those that at least
    MIN_GROUP_SIZE people were asked about. Each answer of somebody who is not known counts as one person."""
    about, text, who = "response__unit__image", "option__attribute__text", "response__annotator"
    unknown, chosen = Q(**{f"{who}__isnull": True}), Q(value=1)
    judged = counted_judgements(study, TaskKind.DEPICTION).filter(response__unit__image__in=images)
    rows = (
        judged.exclude(option__role=OptionRole.NONE_OF_ABOVE)
        .order_by()
        .values(about, text)
        .annotate(
            k=Count(who, distinct=True, filter=chosen) + Count("pk", filter=chosen & unknown),
            n=Count(who, distinct=True) + Count("pk", filter=unknown),
        )
        .filter(k__gt=0, n__gte=MIN_GROUP_SIZE)
    )
    found: dict[int, list[Selected]] = defaultdict(list)
    for row in rows:
        found[row[about]].append(Selected(row[text], row["k"], row["n"]))
    return {
        image: tuple(sorted(of_image, key=lambda one: (-one.k / one.n, one.attribute))[:MAX_ATTRIBUTES])
        for image, of_image in found.items()
    }
