"""Queries of the pull explorer: scores of groups and regions, images of a group, runs to compare with."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import ceil

from django.contrib.auth.models import User
from django.db.models import Window
from django.db.models.functions import RowNumber
from django.utils.translation import gettext_lazy as _

from annotation import policies
from annotation.models import IdentityGroup, Image, ImageSet, Study
from generation.models import Run, RunKind, RunState
from generation.recipes.prompts import PromptSet
from metrics.core.marks import Axis, Numbers, scaled_axis
from metrics.core.tables import Order
from metrics.models import Score, ScoreRun
from metrics.pull.data import NEWEST, embedded_groups, embedding_runs, encoder_of, finished_runs, pull_sets
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
_SIMILARITIES = ("y", "s_d_s", "s_d_ns", "s_mean")
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

    def sort_key(self, column: str) -> str | float | None:
        """The value in one of COLUMNS; None is undefined."""
        if column == "identity":
            return self.group.name.casefold() if self.group else ""
        if column == "region":
            return self.region
        if column == "images":
            return sum(self.images)
        return self.scores[column].value if column in self.scores else None


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
class PullPage:
    """`overall`: the means over all groups. `unreported`: groups with images in the set, but not of all three
    kinds."""

    rows: list[PullRow]
    regions: list[PullRow]
    overall: PullRow | None
    unreported: list[IdentityGroup]

    @cached_property
    def axes(self) -> dict[str, Axis | None]:
        """By score, the axis for all groups and regions; the similarities, except x, share one."""
        rows = [*self.rows, *self.regions, *([self.overall] if self.overall else [])]
        similarities = scaled_axis("number", _numbers(rows, *_SIMILARITIES))
        return {"x": scaled_axis("difference", _numbers(rows, "x"))} | dict.fromkeys(
            _SIMILARITIES, similarities
        )


def _numbers(rows: Iterable[PullRow], *names: str) -> Iterator[Numbers]:
    for row in rows:
        for score in (row.scores.get(name) for name in names):
            if score is not None:
                yield score.value, score.low, score.high


def pull_page(run: ScoreRun, embedded: Run, order: Order) -> PullPage:
    """The scores of a finished run of pull, with its rows in `order`; ties by name. Three queries."""
    rows = []
    for scores in queries.scores_by_group(run).values():
        group = next(iter(scores.values())).group
        assert group is not None  # scores_by_group returns scores of groups only
        rows.append(PullRow(group, group.region, scores))
    by_name = Order("identity", descending=False).sorted(rows, PullRow.sort_key)
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
        rows=order.sorted(by_name, PullRow.sort_key),
        regions=regions,
        overall=PullRow(None, "", parts[""]) if "" in parts else None,
        unreported=[
            group for group in embedded_groups(embedded).order_by("name") if group.pk not in reported
        ],
    )


def group_images(embedded: Run, row: PullRow, *, page: int) -> GroupImages:
    """A page of the embedded images of a group. Prompts alternate, so that a page shows as many prompts as
    possible. A page number out of range gives the nearest page. Two queries per set."""
    of_group = Image.objects.filter(
        image_set=embedded.image_set_id, group=row.group, embeddings__run=embedded
    )
    images = [of_group.filter(provenance__prompt_set=prompt_set) for prompt_set, _, _ in _SETS]
    totals = [of_set.count() for of_set in images]
    pages = max(1, ceil(max(totals) / IMAGES_PER_PAGE))
    number = min(max(page, 1), pages)
    shown = slice((number - 1) * IMAGES_PER_PAGE, number * IMAGES_PER_PAGE)
    # the first image of each prompt, then the second of each ...
    turn = Window(RowNumber(), partition_by="prompt", order_by="index")
    sets = []
    for (prompt_set, title, within), of_set, total in zip(_SETS, images, totals, strict=True):
        ordered = of_set.annotate(turn=turn).order_by("turn", "index")
        scores = row.scores.get(within)
        sets.append(ShownImages(prompt_set.value, str(title), list(ordered[shown]), total, scores))
    return GroupImages(sets, number, pages)


def image_set_status(study: Study) -> list[tuple[ImageSet, Run | None]]:
    """The study's image sets for pull, each with the run that is embedding it, if any."""
    sets = list(pull_sets(study).order_by("name"))
    embedding_runs = Run.objects.filter(image_set__in=sets, kind=RunKind.EMBEDDINGS).exclude(
        state__in=(RunState.DONE, RunState.CANCELLED)
    )
    by_set = {run.image_set_id: run for run in embedding_runs.order_by("pk")}
    return [(each, by_set.get(each.pk)) for each in sets]


def visible_runs(user: User, study: Study) -> list[Run]:
    """The embedding runs that the user may compare with those of `study`, newest first: those of the studies
    that they lead, or every one, if they may generate images. At most four queries."""
    if policies.may_make_images(user):
        return list(finished_runs())
    return list(embedding_runs(study, *policies.studies_led_by(user)))


def comparable_runs(run: Run, others: list[Run]) -> list[Run]:
    """The other runs with the same encoder: similarities of different encoders are on different scales."""
    return [one for one in others if one != run and encoder_of(one) == encoder_of(run)]


def check_offered(user: User, study: Study, parameters: Mapping[str, str]) -> None:
    """Raise ValueError unless the user leads the studies of both sides or may generate images. Incomplete
    parameters pass: they get their own error message."""
    runs = visible_runs(user, study)
    if parameters["against"]:
        allowed = policies.studies_led_by(user).filter(name=parameters["against"]).exists()
    else:
        known = {str(run.pk) for run in runs} | {NEWEST, ""}
        if parameters["by"] == "image_set":
            known = {run.image_set.name for run in runs if run.image_set} | {""}
        allowed = {parameters["first"], parameters["second"]} <= known
    if not allowed:
        run_ids = ", ".join(str(run.pk) for run in runs) or "none"
        raise ValueError(
            f"You can compare pull between your own studies, image sets and runs. Your runs: {run_ids}."
        )
