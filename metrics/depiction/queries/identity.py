"""One identity group: its attributes with k, n and L, and who selected what in each image.

The attributes come from a stored score run; images are read a page at a time. The number of queries does
not depend on the numbers of images, attributes and annotators.
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
from metrics.depiction.queries.pictures import AnnotatorName, ImageAttribute, JudgedImage, boxes_by_judgement
from metrics.models import Score, ScoreRun

NONE_OF_ABOVE = "none of the above"
PER_PAGE = 15


@dataclass
class AttributeRow:
    """L = k / n of one attribute over all images of the group; `votes` is None if the source has none."""

    text: str
    stereotypical: bool
    k: int = 0
    n: int = 0
    votes: Association | None = None
    score: Score | None = None
    images: list[JudgedImage] = field(default_factory=list)
    attribute_id: int | None = None

    @property
    def likelihood(self) -> float:
        return self.k / self.n


@dataclass(frozen=True)
class IdentityPage:
    """`attributes`: those of the score run or, without one, those shown with the images of this page.
    `none_of_above` is also None if the group has more images than this page shows."""

    group: IdentityGroup
    attributes: list[AttributeRow]
    none_of_above: AttributeRow | None
    images: list[JudgedImage]
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
class _JudgementRow:
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
    """Page `page` of `group`, or the nearest existing one. `run`: a finished likelihood run."""
    of_group = judged_images(study).filter(group=group)
    found = Paginator(of_group.order_by("image_set", "index", "pk"), PER_PAGE).get_page(page)
    pages = {image.pk: JudgedImage(image) for image in found}
    judgements = counted_judgements(study, TaskKind.DEPICTION).filter(response__unit__image__in=list(pages))
    ordered = judgements.order_by("response__unit__page", "position", "response__slot__index")
    judged = [_JudgementRow(*row) for row in ordered.values_list(*_FIELDS)]
    rects = boxes_by_judgement(judgements)
    stereotypical = set(stereotypes(study).filter(group=group).values_list("attribute", flat=True))
    rows: dict[int | None, AttributeRow] = {}
    in_image: dict[tuple[int, int | None], ImageAttribute] = {}
    for judgement in judged:
        shown = pages[judgement.image]
        row = rows.get(judgement.attribute)
        if row is None:
            row = rows[judgement.attribute] = AttributeRow(
                text=judgement.text or NONE_OF_ABOVE,
                stereotypical=judgement.attribute in stereotypical,
                attribute_id=judgement.attribute,
            )
        row.n += 1
        row.k += judgement.value
        if judgement.role == OptionRole.NONE_OF_ABOVE:
            shown.none_n += 1
            shown.none_k += judgement.value
            continue
        attribute = in_image.get((judgement.image, judgement.attribute))
        if attribute is None:
            attribute = in_image[judgement.image, judgement.attribute] = ImageAttribute(
                0, row.text, row.stereotypical
            )
        attribute.n += 1
        attribute.k += judgement.value
        if judgement.value:
            attribute.rects += rects.get(judgement.pk, [])
            name = judgement.pseudonym or _unidentified(judgement.slot + 1)
            simulated = bool(judgement.simulated or study.simulated)
            attribute.annotators.setdefault(judgement.page, []).append(AnnotatorName(name, simulated))
    _add_attributes_to_images(pages, rows, in_image)
    none_of_above = rows.pop(None, None)
    if run is not None:
        rows = _rows_of_run(run, group, rows, stereotypical)
    _add_votes(study, group, rows)
    return IdentityPage(
        group=group,
        attributes=sorted(rows.values(), key=lambda row: (not row.stereotypical, -row.likelihood, row.text)),
        none_of_above=none_of_above if found.paginator.num_pages == 1 else None,
        images=list(pages.values()),
        identified=all(judgement.pseudonym for judgement in judged),
        responses=len({judgement.response for judgement in judged}),
        total=found.paginator.count,
        number=found.number,
        pages=found.paginator.num_pages,
    )


def _add_attributes_to_images(
    pages: dict[int, JudgedImage],
    rows: dict[int | None, AttributeRow],
    in_image: dict[tuple[int, int | None], ImageAttribute],
) -> None:
    """List and number the selected attributes of each image, most often selected first."""
    by_image: dict[int, list[tuple[int | None, ImageAttribute]]] = defaultdict(list)
    for (image, attribute_id), attribute in in_image.items():
        by_image[image].append((attribute_id, attribute))
    for image, page in pages.items():
        found = sorted(by_image[image], key=lambda pair: (-pair[1].k, pair[1].text))
        for attribute_id, attribute in found:
            if not attribute.k:
                page.unselected.append(attribute.text)
                continue
            attribute.number = len(page.selected) + 1
            page.selected.append(attribute)
            rows[attribute_id].images.append(page)


def _add_votes(study: Study, group: IdentityGroup, rows: dict[int | None, AttributeRow]) -> None:
    if study.stereotype_source_id is None:
        return
    for votes in Association.objects.filter(source=study.stereotype_source_id, group=group):
        row = rows.get(votes.attribute_id)
        if row is not None:
            row.votes = votes


def _rows_of_run(
    run: ScoreRun,
    group: IdentityGroup,
    rows_of_page: dict[int | None, AttributeRow],
    stereotypical: set[int],
) -> dict[int | None, AttributeRow]:
    """The attributes as counted by the run, each with the images of this page in which it was selected."""
    rows: dict[int | None, AttributeRow] = {}
    scores = Score.objects.filter(run=run, group=group, name="likelihood", part="", n__gt=0)
    for score in scores.select_related("attribute"):
        here = rows_of_page.get(score.attribute_id)
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
