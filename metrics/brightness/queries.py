"""Brightness of a run's images by group, and its change against the images they were made from (PROTOCOL
§12). Reads."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from django.db.models import QuerySet

from annotation.models import ImageSet
from generation.models import Run
from metrics.brightness.data import (
    Measured,
    Origin,
    crop_of,
    image_set_of,
    newest_runs,
    origins,
    read_measurements,
    sets_of,
)
from metrics.brightness.stats import UNDEFINED, Estimate, change, mean
from metrics.core.stats import bootstrap


@dataclass(frozen=True)
class Row:
    """The images of one group, and of one `strength` if they were made from images, else None.

    `rgb`: mean brightness, 0 to 255. `lightness`: mean L*. `ita`: the mean angle, None if no image has one;
    `with_ita` have one. `faces`: images whose L* and ITA are of the skin in a face. `change`: in per cent,
    against the initial images of the `compared` images.
    """

    group_id: int
    group: str
    strength: float | None
    n: int
    rgb: Estimate
    lightness: float
    ita: float | None
    with_ita: int
    faces: int
    change: Estimate
    compared: int

    @property
    def crops(self) -> int:
        """Images whose L* and ITA are of the crop."""
        return self.n - self.faces

    @property
    def is_compared(self) -> bool:
        return self.change.value == self.change.value


@dataclass(frozen=True)
class Summary:
    """What the page says in a sentence. Of brightness: `high` and `low` are the rows with the most and the
    least, and `is_clear` if their intervals do not overlap. If `of_change`: the rows whose change is most
    clearly upwards and downwards, None if no interval excludes 0 on that side; `is_clear` if one does."""

    of_change: bool
    high: Row | None
    low: Row | None
    is_clear: bool


@dataclass(frozen=True)
class Results:
    """`rows`: by group, then strength. `notes`: why L* and ITA are of the crop -> number of images.

    `made`: images that were made from images. `not_compared`: those of them whose initial image is not
    measured. `initial_runs`: the runs that they are compared with; `missing`: image sets without such a run.
    """

    rows: tuple[Row, ...]
    notes: tuple[tuple[str, int], ...]
    made: int
    not_compared: int
    initial_runs: tuple[Run, ...]
    missing: tuple[ImageSet, ...]
    summary: Summary | None

    @property
    def images(self) -> int:
        return sum(row.n for row in self.rows)

    @property
    def faces(self) -> int:
        return sum(row.faces for row in self.rows)

    @property
    def is_compared(self) -> bool:
        return any(row.is_compared for row in self.rows)


def results(run: Run, *, resamples: int | None = None, seed: int = 0) -> Results:
    """The numbers of what is measured so far, with intervals over images, clustered or from `resamples`.
    Raises MeasurementsRefused."""
    measured = read_measurements(run)
    made_from = origins(image_set_of(run)) if measured else {}
    of = {one.image: made_from[one.image] for one in measured if one.image in made_from}
    brightness, runs, missing = _initial_brightness(run, of)
    cells: dict[tuple[str, int, float], list[Measured]] = defaultdict(list)
    for one in measured:
        origin = of.get(one.image)
        cells[one.group, one.group_id, -1.0 if origin is None else origin.strength].append(one)
    rows = tuple(_row(cells[key], of, brightness, resamples=resamples, seed=seed) for key in sorted(cells))
    return Results(
        rows=rows,
        notes=tuple(Counter(one.note for one in measured if one.note).most_common()),
        made=len(of),
        not_compared=sum(origin.initial not in brightness for origin in of.values()),
        initial_runs=runs,
        missing=missing,
        summary=_summary(rows),
    )


def of_sets(found: Results, image_sets: QuerySet[ImageSet]) -> Results:
    """`found`, naming no initial set but these, nor a run over another. One query if it names any."""
    of_runs = {run.pk: image_set_of(run).pk for run in found.initial_runs}
    named = {*of_runs.values(), *(each.pk for each in found.missing)}
    if not named:
        return found
    shown = set(image_sets.filter(pk__in=named).values_list("pk", flat=True))
    return replace(
        found,
        initial_runs=tuple(run for run in found.initial_runs if of_runs[run.pk] in shown),
        missing=tuple(each for each in found.missing if each.pk in shown),
    )


def _initial_brightness(
    run: Run, of: Mapping[int, Origin]
) -> tuple[dict[int, float], tuple[Run, ...], tuple[ImageSet, ...]]:
    """The brightness of each initial image that is measured with the run's crop; the runs that measured
    them; and the sets without such a run."""
    if not of:
        return {}, (), ()
    sets = sets_of(sorted({origin.initial for origin in of.values()}))
    runs = newest_runs(sets, crop_of(run))
    found = {one.image: one.rgb for each in runs.values() for one in read_measurements(each)}
    return found, tuple(runs.values()), tuple(each for each in sets if each.pk not in runs)


def _row(
    cell: Sequence[Measured],
    of: Mapping[int, Origin],
    brightness: Mapping[int, float],
    *,
    resamples: int | None,
    seed: int,
) -> Row:
    first = of.get(cell[0].image)
    strength = None if first is None else first.strength
    rng = bootstrap.generator(seed, f"{cell[0].group}\n{strength}")
    # What was made of one image several times is drawn together. An initial image has its own cluster.
    clusters = [of[one.image].initial if one.image in of else one.image for one in cell]
    pairs = [
        (one.rgb, brightness[of[one.image].initial], of[one.image].initial)
        for one in cell
        if one.image in of and of[one.image].initial in brightness
    ]
    angles = [one.ita for one in cell if one.ita is not None]
    return Row(
        group_id=cell[0].group_id,
        group=cell[0].group,
        strength=strength,
        n=len(cell),
        rgb=mean([one.rgb for one in cell], clusters, resamples=resamples, rng=rng),
        lightness=fmean(one.lightness for one in cell),
        ita=fmean(angles) if angles else None,
        with_ita=len(angles),
        faces=sum(one.on_face for one in cell),
        change=change(*zip(*pairs, strict=True), resamples=resamples, rng=rng) if pairs else UNDEFINED,
        compared=len(pairs),
    )


def _summary(rows: Sequence[Row]) -> Summary | None:
    compared = [row for row in rows if row.is_compared]
    if compared:
        # The clearest is that whose interval is farthest from 0: a large change may have a wide one.
        known = [row for row in compared if row.change.has_interval]
        brighter = max(known, key=lambda row: row.change.low, default=None)
        darker = min(known, key=lambda row: row.change.high, default=None)
        brighter = brighter if brighter and brighter.change.low > 0 else None
        darker = darker if darker and darker.change.high < 0 else None
        return Summary(True, brighter, darker, brighter is not None or darker is not None)
    groups = [row for row in rows if row.strength is None]
    if not groups or len(groups) < len(rows):
        return None
    high, low = (chosen(groups, key=lambda row: row.rgb.value) for chosen in (max, min))
    # false without an interval: its bounds are NaN
    return Summary(False, high, low, low.rgb.high < high.rgb.low)
