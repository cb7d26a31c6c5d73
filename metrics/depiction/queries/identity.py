"""One identity group: its attributes with k, n and L, and who selected what in each image.

The attributes come from a stored score run, the images a page at a time. As many queries however many
images, attributes and annotators there are.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from django.core.paginator import Paginator
from django.utils.translation import gettext as _

from annotation.models import (
    Association,
    IdentityGroup,
    OptionRole,
    Study,
    TaskKind,
)
from metrics.core.answers import counted_judgements, stereotypes
from metrics.depiction.queries.judged_images import judged_images
from metrics.depiction.queries.pictures import ImagePage, Selected, Who, boxes_of
from metrics.models import Score, ScoreRun

NONE_OF_ABOVE = "none of the above"
PER_PAGE = 15


@dataclass
class AttributeRow:
    """L = k / n of one attribute over all images of the group; `votes` is None outside the source."""

    text: str
    stereotypical: bool
    k: int = 0
    n: int = 0
    votes: Association | None = None
    score: Score | None = None
    images: list[ImagePage] = field(default_factory=list)
    attribute_id: int | None = None

    @property
    def likelihood(self) -> float:
        return self.k / self.n


@dataclass(frozen=True)
class IdentityPage:
    """`attributes` are those of the score run or, without one, those shown with the images of this page.
    `none_of_above` is None too if the group has more images than this page shows."""

    group: IdentityGroup
    attributes: list[AttributeRow]
    none_of_above: AttributeRow | None
    images: list[ImagePage]
    identified: bool
    responses: int
    total: int
    number: int
    pages: int

    @property
    def whole(self) -> bool:
        """Whether every image of the group is on this page."""
        return self.pages <= 1

    @property
    def n_stereotypical(self) -> int:
        return sum(row.stereotypical for row in self.attributes)

    @property
    def n_random(self) -> int:
        return len(self.attributes) - self.n_stereotypical


@dataclass(frozen=True)
class _Judged:
    """One row of the answers: an option judged by one annotator."""

    pk: int
    image: int
    page: int
    slot: int
    pseudonym: str | None
    simulated: bool | None
    attribute: int | None
    text: str | None
    role: str
    value: int
    response: int


_FIELDS = (
    "pk",
    "response__unit__image",
    "response__unit__page",
    "response__slot__index",
    "response__annotator__pseudonym",
    "response__annotator__simulated",
    "option__attribute",
    "option__attribute__text",
    "option__role",
    "value",
    "response",
)


def identity_page(
    study: Study, group: IdentityGroup, *, run: ScoreRun | None, page: str = "1"
) -> IdentityPage:
    """Page `page` of `group`; the nearest there is. `run`: a finished likelihood run, for the attributes."""
    of_group = judged_images(study).filter(group=group)
    found = Paginator(of_group.order_by("image_set", "index", "pk"), PER_PAGE).get_page(page)
    pages = {image.pk: ImagePage(image) for image in found}
    said = counted_judgements(study, TaskKind.DEPICTION).filter(response__unit__image__in=list(pages))
    ordered = said.order_by("response__unit__page", "position", "response__slot__index")
    judged = [_Judged(*row) for row in ordered.values_list(*_FIELDS)]
    rects = boxes_of(said)
    stereotypical = set(stereotypes(study).filter(group=group).values_list("attribute", flat=True))
    rows: dict[int | None, AttributeRow] = {}
    in_image: dict[tuple[int, int | None], Selected] = {}
    for one in judged:
        shown = pages[one.image]
        row = rows.get(one.attribute)
        if row is None:
            row = rows[one.attribute] = AttributeRow(
                text=one.text or NONE_OF_ABOVE,
                stereotypical=one.attribute in stereotypical,
                attribute_id=one.attribute,
            )
        row.n += 1
        row.k += one.value
        if one.role == OptionRole.NONE_OF_ABOVE:
            shown.none_n += 1
            shown.none_k += one.value
            continue
        seen = in_image.get((one.image, one.attribute))
        if seen is None:
            seen = in_image[one.image, one.attribute] = Selected(0, row.text, row.stereotypical)
        seen.n += 1
        seen.k += one.value
        if one.value:
            seen.rects += rects.get(one.pk, [])
            name = one.pseudonym or _unidentified(one.slot + 1)
            simulated = bool(one.simulated or study.simulated)
            seen.who.setdefault(one.page, []).append(Who(name, simulated))
    _share_out(pages, rows, in_image)
    none_of_above = rows.pop(None, None)
    if run is not None:
        rows = _stored(run, group, rows, stereotypical)
    _add_votes(study, group, rows)
    return IdentityPage(
        group=group,
        attributes=sorted(rows.values(), key=lambda row: (not row.stereotypical, -row.likelihood, row.text)),
        none_of_above=none_of_above if found.paginator.num_pages == 1 else None,
        images=list(pages.values()),
        identified=all(one.pseudonym for one in judged),
        responses=len({one.response for one in judged}),
        total=found.paginator.count,
        number=found.number,
        pages=found.paginator.num_pages,
    )


def _share_out(
    pages: dict[int, ImagePage],
    rows: dict[int | None, AttributeRow],
    in_image: dict[tuple[int, int | None], Selected],
) -> None:
    """Put what was seen in an image on that image's list, most often selected first, and number it."""
    by_image: dict[int, list[tuple[int | None, Selected]]] = defaultdict(list)
    for (image, attribute), seen in in_image.items():
        by_image[image].append((attribute, seen))
    for image, page in pages.items():
        found = sorted(by_image[image], key=lambda pair: (-pair[1].k, pair[1].text))
        for attribute, seen in found:
            if not seen.k:
                page.unselected.append(seen.text)
                continue
            seen.number = len(page.selected) + 1
            page.selected.append(seen)
            rows[attribute].images.append(page)


def _add_votes(study: Study, group: IdentityGroup, rows: dict[int | None, AttributeRow]) -> None:
    if study.stereotype_source_id is None:
        return
    for votes in Association.objects.filter(source=study.stereotype_source_id, group=group):
        row = rows.get(votes.attribute_id)
        if row is not None:
            row.votes = votes


def _stored(
    run: ScoreRun,
    group: IdentityGroup,
    seen: dict[int | None, AttributeRow],
    stereotypical: set[int],
) -> dict[int | None, AttributeRow]:
    """The attributes as the run counted them, each with the images of this page that it was seen in."""
    rows: dict[int | None, AttributeRow] = {}
    scores = Score.objects.filter(run=run, group=group, name="likelihood", part="", n__gt=0)
    for score in scores.select_related("attribute"):
        here = seen.get(score.attribute_id)
        rows[score.attribute_id] = AttributeRow(
            text=score.attribute.text if score.attribute else NONE_OF_ABOVE,
            stereotypical=score.attribute_id in stereotypical,
            k=score.k or 0,
            n=score.n,
            score=score,
            images=here.images if here else [],
            attribute_id=score.attribute_id,
        )
    return rows


def _unidentified(number: int) -> str:
    return (_("no. %(number)d") % {"number": number}).replace(" ", "\N{NO-BREAK SPACE}")
