"""The figures of embedding tests: effect sizes of one encoder or of several, shares by region, and maps."""

from collections.abc import Sequence

from metrics.core.charts.figure import Figure
from metrics.core.numbers import finite
from metrics.embedding_tests.charts.effects import EffectDot, EffectTexts, effect_chart
from metrics.embedding_tests.charts.regions import RegionPoint, RegionTexts, map_chart, points_chart
from metrics.embedding_tests.queries import RankingResult, TestResult
from metrics.embedding_tests.tested import EncoderResults, Tested, by_encoder, with_vectors
from metrics.models import EmbeddingTestFile

EFFECTS, ENCODERS, POINTS = "effects", "encoders", "points"
MAP = "map-"
"""Followed by the number of a group, from 1: its two maps."""
_SIMULATED = " – simulated"
_COLUMNS = ("n_x", "n_y", "p_one_sided", "p_two_sided", "p_permutation", "q")
_MEANING = "A similarity says where an encoder places images and texts, and nothing about people."


def figure_of(stored: EmbeddingTestFile, name: str, *, variant: str, encoder: str = "") -> Figure | None:
    """The figure called `name`, as pages and API call it; None if there is none. Raises TestsRefused."""
    if name == ENCODERS:
        return encoders_figure(stored.name, by_encoder(stored, variant=variant), variant=variant)
    number = name.removeprefix(MAP) if name.startswith(MAP) else ""
    if name not in (EFFECTS, POINTS) and not (number.isdecimal() and len(number) < 6):
        return None
    one = with_vectors(stored, encoder=encoder)
    if name == EFFECTS:
        return effects_figure(one, one.results(variant), variant=variant)
    if one.reference is None:
        return None
    found = one.ranking()
    return points_figure(one, found) if name == POINTS else map_figure(one, found, int(number))


def effects_figure(tested: Tested, results: Sequence[TestResult], *, variant: str) -> Figure | None:
    """One dot for each test; None if no test has a number."""
    name = f"{tested.encoder}{_SIMULATED if tested.simulated else ''}"
    dots = _dots(results, "")
    if not dots:
        return None
    return effect_chart(
        dots,
        EffectTexts(
            name=f"embedding-tests-{tested.stored.name}",
            title=f"Effect sizes of {tested.stored.name}",
            subtitle=(f"{name}; images: {tested.stored.image_set.title}", f"variant {variant}"),
            columns=_COLUMNS,
            notes=("95 % intervals over images, clustered.", _MEANING),
        ),
    )


def encoders_figure(name: str, found: Sequence[EncoderResults], *, variant: str) -> Figure | None:
    """One dot for each test and encoder; None if there is no number. `name`: of the file."""
    labels = {each.run.pk: f"{each.encoder}{_SIMULATED if each.simulated else ''}" for each in found}
    dots = [dot for each in found for dot in _dots(each.results, labels[each.run.pk])]
    if not dots:
        return None
    return effect_chart(
        dots,
        EffectTexts(
            name=f"embedding-tests-{name}-encoders",
            title=f"Effect sizes of {name}, by encoder",
            subtitle=(f"variant {variant}",),
            columns=_COLUMNS,
            notes=("95 % intervals over images, clustered.", _MEANING),
        ),
    )


def region_points(found: RankingResult) -> list[RegionPoint]:
    """Of each group in turn, in the order of the groups."""
    return [
        RegionPoint(row.region, row.group, row.share, row.reference)
        for group in found.groups
        for row in found.rows
        if row.group == group
    ]


def points_figure(tested: Tested, found: RankingResult) -> Figure:
    return points_chart(
        region_points(found),
        RegionTexts(
            name=f"{tested.stored.name}-points",
            title="Shares of the images found, against the reference",
            subtitle=_ranked(tested),
            notes=("Each point is a region. Dashed: the share is that of the reference.",),
        ),
    )


def map_figure(tested: Tested, found: RankingResult, number: int) -> Figure | None:
    """The maps of the group `number`, from 1; None if there is no such group, or no map of the regions."""
    if not 1 <= number <= len(found.groups):
        return None
    group = found.groups[number - 1]
    return map_chart(
        [point for point in region_points(found) if point.group == group],
        RegionTexts(
            name=f"{tested.stored.name}-{MAP}{number}",
            title=group,
            subtitle=_ranked(tested),
            notes=(),
        ),
    )


def _ranked(tested: Tested) -> tuple[str, ...]:
    ranking = tested.file.ranking
    marked = _SIMULATED if tested.simulated else ""
    prompt = f"“{ranking.prompt}”" if ranking is not None else ""
    return (f"{tested.encoder}{marked}; images: {tested.stored.image_set.title}", prompt)


def _dots(results: Sequence[TestResult], series: str) -> list[EffectDot]:
    dots = []
    for each in results:
        numbers = each.numbers
        if numbers is None or finite(numbers.effect_size) is None:
            continue
        dots.append(
            EffectDot(
                row=each.test.name,
                series=series or each.encoder,
                value=numbers.effect_size,
                low=finite(numbers.effect_low),
                high=finite(numbers.effect_high),
                cells=(
                    numbers.n_x,
                    numbers.n_y,
                    numbers.p_value,
                    numbers.p_two_sided,
                    numbers.p_permutation,
                    each.q,
                ),
            )
        )
    return dots
