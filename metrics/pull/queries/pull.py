"""Queries of the pull explorer: the scores of groups and regions, and the images of a group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil

from django.db.models import QuerySet, Window
from django.db.models.functions import RowNumber
from django.utils.translation import gettext_lazy as _

from annotation.models import IdentityGroup, Image, ImageSet, Study
from generation.models import Run, RunKind, RunState
from generation.recipes.prompts import PromptSet
from metrics.models import Score, ScoreRun
from metrics.pull.data import embedded_groups, pull_sets
from metrics.score_runs import queries

# The columns that can be sorted, with their headings.
COLUMNS = {
    "identity": _("Identity group"),
    "x": "x = S(d, s) − S(d, ns)",
    "pull": _("Pull"),
    "y": "y = S(s, ns)",
    "s_d_s": "S(d, s)",
    "s_d_ns": "S(d, ns)",
    "s_mean": _("Mean of the three"),
    "images": _("Images d / s / ns"),
    "region": _("Region"),
}
TEXT_COLUMNS = ("identity", "region")
IMAGES_PER_PAGE = 12
_REGION = "region: "
_SETS = (
    (PromptSet.DEFAULT, _("d: default"), "s_d_d"),
    (PromptSet.STEREOTYPICAL, _("s: stereotypical"), "s_s_s"),
    (PromptSet.NON_STEREOTYPICAL, _("ns: non-stereotypical"), "s_ns_ns"),
)


@dataclass(frozen=True)
class PullRow:
    """The scores of a group, of a region (`group` None), or of all groups (`region` is empty too)."""

    group: IdentityGroup | None
    region: str
    scores: Mapping[str, Score]

    @property
    def images(self) -> tuple[int, int, int]:
        """The group's numbers of images of d, s and ns."""
        d, s, ns = (self.scores[name].n if name in self.scores else 0 for _, _, name in _SETS)
        return d, s, ns

    @property
    def unsure(self) -> bool:
        """Whether the interval of x contains 0, so that the sign of x could be chance."""
        x = self.scores.get("x")
        return x is not None and x.low is not None and x.high is not None and x.low <= 0 <= x.high

    def number(self, column: str) -> float | None:
        """The sort value of a numeric column; None is undefined."""
        if column == "images":
            return float(sum(self.images))
        score = self.scores.get(column)
        return None if score is None else score.value


@dataclass(frozen=True)
class ShownImages:
    """One page of the `total` images of a prompt set. `within`: S within the set."""

    prompt_set: str
    title: str
    images: list[Image]
    total: int
    within: Score | None


@dataclass(frozen=True)
class GroupImages:
    """One page of the images of a group in each of the three sets."""

    sets: list[ShownImages]
    number: int
    pages: int


@dataclass(frozen=True)
class PullImageSet:
    """An image set of the study for pull, and the run that is embedding it, if any."""

    image_set: ImageSet
    embedding: Run | None


@dataclass(frozen=True)
class PullPage:
    """`overall`: the means over all groups. `unreported`: groups with images in the set, but not of all three
    kinds."""

    rows: list[PullRow]
    regions: list[PullRow]
    overall: PullRow | None
    unreported: list[IdentityGroup] = field(default_factory=list)


def pull_page(run: ScoreRun, embedded: Run, *, sort: str, descending: bool) -> PullPage:
    """The scores of a finished run of pull, its rows sorted by one of COLUMNS; ties by name.

    Undefined values come last in either direction. Three queries.
    """
    rows = [_group_row(scores) for scores in queries.scores_by_group(run).values()]
    parts: dict[str, dict[str, Score]] = {}
    for score in run.scores.filter(group__isnull=True, attribute__isnull=True):
        parts.setdefault(score.part, {})[score.name] = score
    regions = [
        PullRow(None, part.removeprefix(_REGION), parts[part])
        for part in sorted(parts)
        if part.startswith(_REGION)
    ]
    reported = {row.group.pk for row in rows if row.group is not None}
    return PullPage(
        rows=_sorted(rows, sort, descending=descending),
        regions=regions,
        overall=PullRow(None, "", parts[""]) if "" in parts else None,
        unreported=[
            group for group in embedded_groups(embedded).order_by("name") if group.pk not in reported
        ],
    )


def _group_row(scores: Mapping[str, Score]) -> PullRow:
    group = next(iter(scores.values())).group
    assert group is not None  # scores_by_group returns scores of groups only
    return PullRow(group, group.region, scores)


def _sorted(rows: list[PullRow], sort: str, *, descending: bool) -> list[PullRow]:
    rows = sorted(rows, key=lambda row: row.group.name.casefold() if row.group else "")
    if sort == "identity":
        return rows[::-1] if descending else rows
    if sort == "region":
        return sorted(rows, key=lambda row: row.region, reverse=descending)
    defined = [row for row in rows if row.number(sort) is not None]
    undefined = [row for row in rows if row.number(sort) is None]
    return sorted(defined, key=lambda row: row.number(sort) or 0.0, reverse=descending) + undefined


def group_images(embedded: Run, row: PullRow, *, page: int) -> GroupImages:
    """A page of the embedded images of a group. Prompts alternate, so that a page shows as many prompts as
    possible. A page number out of range gives the nearest page. Two queries per set."""
    pages, found = 1, []
    for prompt_set, title, within in _SETS:
        images = Image.objects.filter(
            image_set=embedded.image_set_id,
            group=row.group,
            provenance__prompt_set=prompt_set,
            embeddings__run=embedded,
        )
        total = images.count()
        pages = max(pages, ceil(total / IMAGES_PER_PAGE))
        found.append((prompt_set.value, str(title), images, total, row.scores.get(within)))
    number = min(max(page, 1), pages)
    start = (number - 1) * IMAGES_PER_PAGE
    return GroupImages(
        sets=[
            ShownImages(
                name,
                title,
                list(_alternating_prompts(images)[start : start + IMAGES_PER_PAGE]),
                total,
                within,
            )
            for name, title, images, total, within in found
        ],
        number=number,
        pages=pages,
    )


def _alternating_prompts(images: QuerySet[Image]) -> QuerySet[Image]:
    """The first image of each prompt, then the second of each ..."""
    turn = Window(RowNumber(), partition_by="prompt", order_by="index")
    return images.annotate(turn=turn).order_by("turn", "index")


def image_set_status(study: Study) -> Sequence[PullImageSet]:
    """The study's image sets for pull and whether they are being embedded, for a page without scores."""
    sets = list(pull_sets(study).order_by("name"))
    embedding_runs = Run.objects.filter(image_set__in=sets, kind=RunKind.EMBEDDINGS).exclude(
        state__in=(RunState.DONE, RunState.CANCELLED)
    )
    by_set = {run.image_set_id: run for run in embedding_runs.order_by("pk")}
    return [PullImageSet(each, by_set.get(each.pk)) for each in sets]
