"""Attributes with the scores of stored runs, over all identity groups and in each of them."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from django.core.paginator import Paginator
from django.db.models import Avg, Count, Max, Sum
from django.db.models.functions import Coalesce
from django.utils.translation import gettext_lazy as _

from annotation.core import scales
from annotation.core.leases import JobState
from annotation.models import Association, Attribute, IdentityGroup, Study, TaskKind
from metrics.core.answers import counted_judgements, stereotypes
from metrics.core.marks import KIND_OF, Axis, Numbers, scaled_axis
from metrics.core.tables import Order
from metrics.depiction.queries.gallery import Filters, GalleryImage, gallery_page
from metrics.models import Score, ScoreRun, Variant
from metrics.score_runs import queries, registry
from metrics.visual_nature import visual_rule
from metrics.visual_nature.visual_rule import VisualRule

PER_PAGE = 100
_IMAGES_SHOWN = 6
_RUNS = 200
# The columns that can be sorted, with their headings.
COLUMNS = {
    "text": _("Attribute"),
    "mean": _("Mean score (1 to 5)"),
    "groups": _("Groups"),
    "share": _("Selected, of times shown"),
    "most": _("Largest L"),
    "offensiveness": _("Offensiveness"),
}


@dataclass(frozen=True)
class AttributeRow:
    """One attribute. None means that a score was not asked for or not computed yet. `mean_low`, `mean_high`:
    the interval of the mean."""

    pk: int
    text: str
    visual: bool | None = None
    mean: float | None = None
    mean_low: float | None = None
    mean_high: float | None = None
    ratings: int = 0
    groups: int = 0
    k: int = 0
    n: int = 0
    most: float | None = None
    offensiveness: float | None = None

    @property
    def mean_score(self) -> Numbers:
        """The mean with its interval, for a mark."""
        return self.mean, self.mean_low, self.mean_high

    @property
    def selected(self) -> Numbers:
        """The share, for a mark."""
        return self.share, None, None

    @property
    def largest(self) -> Numbers:
        """The largest L, for a mark."""
        return self.most, None, None

    @property
    def share(self) -> float | None:
        return self.k / self.n if self.n else None

    def sort_key(self, column: str) -> str | float | None:
        """The value in one of COLUMNS; None is undefined."""
        found: str | float | None = getattr(self, column)
        return found


@dataclass(frozen=True)
class AttributeTable:
    """`axes`: by column, for all attributes, whatever page or search is shown."""

    rows: tuple[AttributeRow, ...]
    total: int
    number: int
    pages: int
    runs: tuple[ScoreRun, ...]
    axes: Mapping[str, Axis | None]


def attribute_table(study: Study, *, search: str, order: Order, page: str) -> AttributeTable:
    """One page of the attributes with scores in the newest runs. Five queries."""
    visual = queries.newest_run(study, "visual_nature", Variant.CORRECTED)
    likelihood = queries.newest_run(study, "likelihood", Variant.CORRECTED)
    found: dict[int, AttributeRow] = {}
    if likelihood is not None:
        seen = Score.objects.filter(run=likelihood, name="likelihood", attribute__isnull=False, part="")
        for pk, text, groups, k, n, most in (
            seen.order_by()
            .values_list("attribute", "attribute__text")
            .annotate(Count("group"), Sum("k"), Sum("n"), Max("value"))
        ):
            found[pk] = AttributeRow(pk, text, groups=groups, k=k, n=n, most=most)
    if visual is not None:
        rated = Score.objects.filter(run=visual, attribute__isnull=False, part="")
        for pk, text, name, value, low, high, n in rated.values_list(
            "attribute", "attribute__text", "name", "value", "low", "high", "n"
        ):
            row = found.get(pk, AttributeRow(pk, text))
            if name == "visual":
                found[pk] = replace(row, visual=value == 1, ratings=n)
            elif name == "mean_score":
                found[pk] = replace(row, mean=value, mean_low=low, mean_high=high)
    if study.stereotype_source_id is not None:
        source = Association.objects.filter(
            source=study.stereotype_source_id, offensiveness_mean__isnull=False
        )
        # the mean over the groups that an attribute was rated with
        for pk, mean in source.order_by().values_list("attribute").annotate(Avg("offensiveness_mean")):
            if pk in found:
                found[pk] = replace(found[pk], offensiveness=mean)
    term = search.strip().casefold()
    by_text = sorted((row for row in found.values() if term in row.text), key=lambda row: row.text)
    rows = order.sorted(by_text, AttributeRow.sort_key)
    here = Paginator(rows, PER_PAGE).get_page(page)
    return AttributeTable(
        rows=tuple(here),
        total=len(rows),
        number=here.number,
        pages=here.paginator.num_pages,
        runs=tuple(run for run in (visual, likelihood) if run is not None),
        axes={
            "mean": scaled_axis("rating", (row.mean_score for row in found.values())),
            "share": scaled_axis("share", (row.selected for row in found.values())),
            "most": scaled_axis("share", (row.largest for row in found.values())),
        },
    )


@dataclass(frozen=True)
class GroupLikelihood:
    """The attribute in the images of one group, with their association in the stereotype source."""

    group: IdentityGroup
    score: Score
    stereotypical: bool
    votes: Association | None


@dataclass(frozen=True)
class OtherScore:
    """A score of another metric over all groups: the metric's title, and the axis that it shares with scores
    of its name; None if its name does not say how it is drawn."""

    title: str
    score: Score
    axis: Axis | None


@dataclass(frozen=True)
class AttributePage:
    """`labels`: how often each label of the visual-nature scale was chosen."""

    attribute: Attribute
    visual: Score | None
    mean: Score | None
    labels: tuple[tuple[str, int], ...]
    groups: tuple[GroupLikelihood, ...]
    other_scores: tuple[OtherScore, ...]
    pictures: tuple[GalleryImage, ...]
    n_images: int


def attribute_page(study: Study, attribute: Attribute) -> AttributePage:
    """All scores of one attribute, in a fixed number of queries."""
    runs = _newest_runs(study)
    scores = list(
        Score.objects.filter(run__in=list(runs), attribute=attribute).select_related("group").order_by("pk")
    )
    of_metric = {pk: run.metric for pk, run in runs.items()}
    visual = {score.name: score for score in scores if of_metric[score.run_id] == "visual_nature"}
    votes = {
        one.group_id: one
        for one in Association.objects.filter(source=study.stereotype_source_id, attribute=attribute)
    }
    stereotypical_in = set(stereotypes(study).filter(attribute=attribute).values_list("group", flat=True))
    groups = [
        GroupLikelihood(
            score.group, score, score.group_id in stereotypical_in, votes.get(score.group_id or 0)
        )
        for score in scores
        if score.group is not None and score.name == "likelihood" and not score.part
    ]
    seen = gallery_page(study, Filters(attribute=attribute.text), per_page=_IMAGES_SHOWN) if groups else None
    return AttributePage(
        attribute=attribute,
        visual=visual.get("visual"),
        mean=visual.get("mean_score"),
        labels=_labels(study, attribute),
        groups=tuple(sorted(groups, key=lambda one: (-(one.score.value or 0), one.group.name))),
        other_scores=_other_scores(
            {
                score: of_metric[score.run_id]
                for score in scores
                if score.group is None and of_metric[score.run_id] != "visual_nature"
            }
        ),
        pictures=seen.pictures if seen else (),
        n_images=seen.total if seen else 0,
    )


def _other_scores(metrics: Mapping[Score, str]) -> tuple[OtherScore, ...]:
    """`metrics`: {score: its metric}."""
    numbers: dict[str, list[Numbers]] = defaultdict(list)
    for score in metrics:
        numbers[score.name].append((score.value, score.low, score.high))
    axes = {name: scaled_axis(KIND_OF[name], found) for name, found in numbers.items() if name in KIND_OF}
    return tuple(
        OtherScore(registry.get(metric).title, score, axes.get(score.name))
        for score, metric in metrics.items()
    )


def _newest_runs(study: Study) -> dict[int, ScoreRun]:
    """The newest finished run of each metric: corrected, current version, default parameters."""
    usual = {
        metric.name: (metric.version, queries.serialize_parameters(registry.parameters(metric)))
        for metric in registry.metrics()
    }
    finished = ScoreRun.objects.filter(study=study, variant=Variant.CORRECTED, state=JobState.DONE)
    newest: dict[str, ScoreRun] = {}
    for run in finished.order_by(Coalesce("confirmed_at", "finished_at").desc(), "-pk")[:_RUNS]:
        if usual.get(run.metric) == (run.version, run.parameters):
            newest.setdefault(run.metric, run)
    return {run.pk: run for run in newest.values()}


def _labels(study: Study, attribute: Attribute) -> tuple[tuple[str, int], ...]:
    judgements = counted_judgements(study, TaskKind.VISUAL_NATURE).filter(response__unit__attribute=attribute)
    counts = dict(judgements.order_by().values_list("value").annotate(Count("pk")))
    if not counts:
        return ()
    return tuple((label.name, counts.get(label.value, 0)) for label in scales.VISUAL_NATURE)


def rules_of(scores: Iterable[Score]) -> tuple[tuple[VisualRule, ...], int]:
    """What each rule would select, and the number of attributes rated so far, from the scores of a run of
    `visual_rules` in the order in which they were stored."""
    used, shares = set[str](), list[Score]()
    for score in scores:
        if score.name == "share":
            shares.append(score)
        elif score.name == "in_use" and score.value:
            used.add(score.part)
    read = [visual_rule.parse_part(score.part) for score in shares]
    most = max((least for least, _ in read if least is not None), default=0)
    rules = tuple(
        VisualRule(
            least=least,
            of=most,
            mean=mean,
            selected=score.k or 0,
            percent=100 * (score.value or 0),
            low=None if score.low is None else 100 * score.low,
            high=None if score.high is None else 100 * score.high,
            in_use=score.part in used,
        )
        for score, (least, mean) in zip(shares, read, strict=True)
    )
    return rules, shares[0].n if shares else 0
