"""Share of texts that name the group, by run and group (PROTOCOL §12). Reads."""

from collections.abc import Sequence
from dataclasses import dataclass

from annotation.models import IdentityGroup, ImageSet
from generation.models import Run
from metrics.core.group_labels import group_labels
from metrics.core.stats import bootstrap
from metrics.core.stats.image_shares import Share
from metrics.marking.data import Choice, counted_texts, groups_of_set, runs_of_set, series_key, top_p_of
from metrics.marking.sentences import in_words
from metrics.marking.stats import share_of_counts
from metrics.marking.words import default_words


@dataclass(frozen=True)
class MarkingRow:
    """The texts of one run about images of one group. Runs of one `series` differ only in top-p."""

    run: Run
    top_p: float | None
    group: IdentityGroup
    images: int
    share: Share
    series: str

    @property
    def label(self) -> str:
        """The run, as figures and tables call it."""
        return self.run.name or f"run {self.run.pk}"


def words_of_set(groups: Sequence[IdentityGroup]) -> dict[str, tuple[str, ...]]:
    """The default words of each group, by its name."""
    return {group.name: default_words(group.name, group.demonym, group.singular) for group in groups}


def results(
    image_set: ImageSet, choice: Choice, *, resamples: int | None = None, seed: int = 0
) -> list[MarkingRow]:
    """A row for each run and group that has a text. A query for the runs, one for the groups, and one for
    each run that is not done or was not counted yet. Intervals are clustered by image, or from
    `resamples`."""
    groups = {group.pk: group for group in groups_of_set(image_set)}
    rows = []
    for run in runs_of_set(image_set):
        found = counted_texts(run, choice)
        for pk, group in groups.items():
            if pk in found:
                rng = bootstrap.generator(seed, f"{run.recipe_hash}\n{group.axis}\n{group.name}")
                share = share_of_counts(found[pk], resamples=resamples, rng=rng)
                images = len(found[pk].texts)
                rows.append(MarkingRow(run, top_p_of(run), group, images, share, series_key(run)))
    return rows


def labels_of(rows: Sequence[MarkingRow]) -> dict[int, str]:
    """What figures and sentences call the groups, by id."""
    return group_labels((row.group.pk, row.group.name, row.group.axis) for row in rows)


def sentences(rows: Sequence[MarkingRow]) -> list[str]:
    """What the rows say in words: one for each run of which a text names a group."""
    labels = labels_of(rows)
    runs: dict[int, list[MarkingRow]] = {}
    for row in rows:
        runs.setdefault(row.run.pk, []).append(row)
    found = []
    for own in runs.values():
        ordered = sorted(own, key=lambda row: (-row.share.value, labels[row.group.pk]))
        high, low = ((labels[row.group.pk], row.share) for row in (ordered[0], ordered[-1]))
        if ordered[0].share.k:
            called = f"{own[0].label}, {own[0].run.model}"
            found.append(in_words(called, high, low if len(own) > 1 else None))
    return found


def lines(rows: Sequence[MarkingRow]) -> dict[str, list[MarkingRow]]:
    """The rows of series with several values of top-p, by what each is called: model, and the first run's
    number where two series have one model."""
    series: dict[str, list[MarkingRow]] = {}
    for row in rows:
        if row.top_p is not None:
            series.setdefault(row.series, []).append(row)
    several = [each for each in series.values() if len({row.top_p for row in each}) > 1]
    models = [each[0].run.model for each in several]
    return {
        model if models.count(model) == 1 else f"{model} (from {each[0].label})": each
        for model, each in zip(models, several, strict=True)
    }
