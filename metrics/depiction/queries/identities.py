"""The table of identity groups; and one group with its attributes and who selected what in each image.

The attributes of a group come from a stored score run; its images are read a page at a time. The number of
queries does not depend on the numbers of images, attributes and annotators.
"""

from collections import defaultdict
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

from django.core.paginator import Paginator
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from annotation.models import Association, IdentityGroup, OptionRole, Study, TaskKind
from metrics.core.answers import counted_judgements, stereotypes
from metrics.core.marks import Axis, Numbers, scaled_axis
from metrics.core.tables import Order
from metrics.depiction.queries.pictures import (
    AnnotatorName,
    ImageAttribute,
    JudgedImage,
    boxes_by_judgement,
    judged_groups,
    judged_images,
)
from metrics.models import Score, ScoreRun
from metrics.score_runs import queries

# The columns that can be sorted, with their headings.
COLUMNS = {
    "identity": _("Identity group"),
    "l_stereo": "L(stereo)",
    "l_random": "L(random)",
    "theta": "θ",
    "o": _("Offensiveness"),
    "n_stereotypical": _("Stereotypical attributes"),
    "n_random": _("Random attributes"),
    "region": _("Region"),
}
TEXT_COLUMNS = ("identity", "region")
NAME_ORDER = Order("identity", descending=False)
TENDENCY = ("l_stereo", "l_random", "theta")
NONE_OF_ABOVE = "none of the above"
PER_PAGE = 48


@dataclass(frozen=True)
class IdentityRow:
    """One group's scores; None if the run has no such score. `o` comes from another run and exists only for
    groups with a stereotype that was seen and rated."""

    group: IdentityGroup
    l_stereo: Score | None
    l_random: Score | None
    theta: Score | None
    o: Score | None = None

    @property
    def n_stereotypical(self) -> int:
        return self.l_stereo.n if self.l_stereo else 0

    @property
    def n_random(self) -> int:
        return self.l_random.n if self.l_random else 0

    def matches(self, search: str) -> bool:
        """Whether the group's name, demonym, country or region contains `search`, ignoring case."""
        texts = (self.group.name, self.group.demonym, self.group.country, self.group.region)
        return search.strip().casefold() in "\n".join(texts).casefold()

    def sort_key(self, column: str) -> str | float | None:
        """The value in one of COLUMNS; None is undefined."""
        if column == "identity":
            return self.group.name.casefold()
        value = self.group.region if column == "region" else getattr(self, column)
        return value.value if isinstance(value, Score) else value


def identity_table(
    study: Study, run: ScoreRun | None, offensiveness: ScoreRun | None, order: Order
) -> tuple[list[IdentityRow], list[IdentityGroup]]:
    """`score_rows` in `order`, ties by name; and the groups that were judged but have at most one
    stereotypical attribute (PROTOCOL §6). Both are empty without a run. One more query, for the groups."""
    if run is None:
        return [], []
    rows = score_rows(run, offensiveness)
    by_name = NAME_ORDER.sorted(rows, IdentityRow.sort_key)
    reported = {row.group.pk for row in rows}
    unreported = [group for group in judged_groups(study) if group.pk not in reported]
    return order.sorted(by_name, IdentityRow.sort_key), unreported


def score_rows(run: ScoreRun | None, offensiveness: ScoreRun | None) -> list[IdentityRow]:
    """The rows of finished runs of tendency and of offensiveness, if any. One query for each run."""
    if run is None:
        return []
    offensive = queries.scores_by_group(offensiveness) if offensiveness is not None else {}
    rows = []
    for pk, scores in queries.scores_by_group(run).items():
        group = next(iter(scores.values())).group
        assert group is not None  # scores_by_group only has scores of groups
        l_stereo, l_random, theta = (scores.get(name) for name in TENDENCY)
        rows.append(IdentityRow(group, l_stereo, l_random, theta, offensive.get(pk, {}).get("o")))
    return rows


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

    @property
    def numbers(self) -> Numbers:
        """L with its interval, if it has one."""
        score = self.score
        return (self.likelihood, score.low, score.high) if score else (self.likelihood, None, None)


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

    @cached_property
    def axis(self) -> Axis | None:
        """On which every L of the table is drawn."""
        rows = [*self.attributes, *([self.none_of_above] if self.none_of_above else [])]
        return scaled_axis("share", (row.numbers for row in rows))

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
    rects = boxes_by_judgement(judgements)
    stereotypical = set(stereotypes(study).filter(group=group).values_list("attribute", flat=True))
    rows: dict[int | None, AttributeRow] = {}
    in_image: dict[int, dict[int | None, ImageAttribute]] = defaultdict(dict)
    identified, responses = True, set()
    for (
        pk,
        image,
        page_number,
        slot,
        pseudonym,
        simulated,
        key,
        text,
        role,
        value,
        response,
    ) in ordered.values_list(*_FIELDS):
        identified &= bool(pseudonym)
        responses.add(response)
        row = rows.setdefault(
            key, AttributeRow(text or NONE_OF_ABOVE, key in stereotypical, attribute_id=key)
        )
        row.n += 1
        row.k += value
        if role == OptionRole.NONE_OF_ABOVE:
            pages[image].none_n += 1
            pages[image].none_k += value
            continue
        attribute = in_image[image].setdefault(key, ImageAttribute(row.text, row.stereotypical))
        attribute.n += 1
        attribute.k += value
        if value:
            attribute.rects += rects.get(pk, [])
            name = pseudonym or (gettext("no. %(number)d") % {"number": slot + 1}).replace(
                " ", "\N{NO-BREAK SPACE}"
            )
            annotator = AnnotatorName(name, bool(simulated or study.simulated))
            attribute.annotators.setdefault(page_number, []).append(annotator)
    for image, shown in pages.items():
        _add_attributes(shown, rows, in_image[image])
    for before, after in pairwise(pages.values()):
        before.next, after.previous = after.image.pk, before.image.pk
    none_of_above = rows.pop(None, None)
    if run is not None:
        rows = _rows_of_run(run, group, rows, stereotypical)
    if study.stereotype_source_id is not None:
        for votes in Association.objects.filter(source=study.stereotype_source_id, group=group):
            if votes.attribute_id in rows:
                rows[votes.attribute_id].votes = votes
    return IdentityPage(
        group=group,
        attributes=sorted(rows.values(), key=lambda row: (not row.stereotypical, -row.likelihood, row.text)),
        none_of_above=none_of_above if found.paginator.num_pages == 1 else None,
        images=list(pages.values()),
        identified=identified,
        responses=len(responses),
        total=found.paginator.count,
        number=found.number,
        pages=found.paginator.num_pages,
    )


def _add_attributes(
    image: JudgedImage, rows: dict[int | None, AttributeRow], attributes: dict[int | None, ImageAttribute]
) -> None:
    """List and number the selected attributes of an image, most often selected first."""
    for key, attribute in sorted(attributes.items(), key=lambda pair: (-pair[1].k, pair[1].text)):
        if not attribute.k:
            image.unselected.append(attribute.text)
            continue
        attribute.number = len(image.selected) + 1
        image.selected.append(attribute)
        rows[key].images.append(image)


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
