"""The results of a file of tests with the vectors of one run, and what is missing for them. Reads."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from django.core.cache import cache

from annotation.models import ImageSet
from generation.embeddings.queries import encoder_id, runs_of_set
from generation.models import Run
from generation.recipes.checks import LONGEST_TEXT
from metrics.core.stats import bootstrap
from metrics.core.stats.differences import false_discovery
from metrics.core.suggestions import did_you_mean
from metrics.embedding_tests.data import Cosines, SetGroups, missing, read_cosines, version_of
from metrics.embedding_tests.data import TestsRefused as TestsRefused
from metrics.embedding_tests.reference import Reference, Variables
from metrics.embedding_tests.stats.effects import (
    GREATER,
    LESS,
    PERMUTATIONS,
    DegenerateTest,
    Effect,
    effect,
)
from metrics.embedding_tests.stats.ranking import Comparison, Correlation, compare, correlate, shares
from metrics.embedding_tests.test_file import EAT, EffectTest, Ranking, TestFile

_CACHE_SECONDS = 24 * 3600
_SHOWN = 10
"""Names, at most, that a message lists."""
_Outcome = tuple[Effect | None, str]
"""The numbers of a test, or its problem."""


@dataclass(frozen=True)
class TestResult:
    """`q`: Benjamini and Hochberg over the file's tests, of `numbers.p_value`. `problem`: why there are no
    numbers, of a degenerate test."""

    __test__ = False  # for pytest

    test: EffectTest
    encoder: str
    numbers: Effect | None
    q: float | None
    problem: str = ""


@dataclass(frozen=True)
class RegionShare:
    region: str
    group: str
    share: float
    reference: float


@dataclass(frozen=True)
class RankingResult:
    """`groups`: in the order of the reference's columns, as those of `comparison`. `top`: images taken in
    each drawing, of `drawn` of each group."""

    encoder: str
    groups: tuple[str, ...]
    rows: tuple[RegionShare, ...]
    comparison: Comparison
    top: int
    drawn: int


@dataclass(frozen=True)
class VariableCorrelations:
    """Of a variable with each group's shares, in the order of RankingResult.groups, over the variable's
    regions."""

    variable: str
    groups: tuple[Correlation, ...]


def image_set_of(file: TestFile) -> ImageSet:
    """The set that the file names. Raises TestsRefused."""
    found = ImageSet.objects.filter(name=file.image_set).first()
    if found is None:
        known = list(ImageSet.objects.order_by("name").values_list("name", flat=True))
        more = f" and {len(known) - _SHOWN} more" if len(known) > _SHOWN else ""
        raise TestsRefused(
            f"There is no image set '{file.image_set}'.{did_you_mean(file.image_set, known)} There are: "
            f"{', '.join(known[:_SHOWN]) or 'none; import images first (docs/importing.md)'}{more}."
        )
    return found


def run_of(file: TestFile, *, encoder: str = "") -> Run:
    """The newest embedding run of the file's set by `encoder`, or by the file's: the id as
    generation/embeddings/queries.encoder_id gives it, its model alone, or the number of the run. A run that
    has embedded nothing yet comes last. Raises TestsRefused, naming those that there are."""
    image_set = image_set_of(file)
    wanted = encoder or file.encoder
    runs = list(runs_of_set(image_set))
    listed = ", ".join(f"'{encoder_id(run)}' (run {run.pk})" for run in runs[:_SHOWN])
    if not runs:
        raise TestsRefused(
            f"No image of the set '{image_set.name}' has an embedding. Run: manage.py embed {image_set.name}"
        )
    if found := next((run for run in runs if encoder_id(run) == wanted), None):
        return found
    by_model = [run for run in runs if run.recipe.get("model") == wanted]
    ids = list(dict.fromkeys(encoder_id(run) for run in by_model))
    if len(ids) > 1:
        named = " or ".join(f"'{each}'" for each in ids)
        raise TestsRefused(f"The model '{wanted}' has several weights in '{image_set.name}'. Name {named}.")
    by_number = [run for run in runs if str(run.pk) == wanted]
    if not by_model and not by_number:
        raise TestsRefused(
            f"The set '{image_set.name}' has no embeddings by '{wanted}'. There are: {listed}. Name one of "
            f"them, or run: manage.py embed {image_set.name}"
        )
    return (by_model or by_number)[0]


def missing_texts(file: TestFile, run: Run, reference: Reference | None = None) -> list[str]:
    """The texts of the tests, and the ranking's prompts for the regions of `reference`, that the run has not
    embedded. Raises TestsRefused."""
    prompts = _prompts(file.ranking, reference) if file.ranking and reference else []
    return missing(run, [*file.texts, *prompts])


def results(
    file: TestFile,
    run: Run,
    *,
    variant: str,
    resamples: int | None = None,
    seed: int = 0,
    permutations: int = PERMUTATIONS,
) -> list[TestResult]:
    """One for each test, in the order of the file, with intervals over images, clustered or from
    `resamples`. Cached by what it depends on. Raises TestsRefused."""
    if not file.tests:
        return []
    groups = SetGroups(_image_set(run))
    sides = [_sides(groups, test) for test in file.tests]
    key = _key("effects", run, file.tests, sides, variant, resamples, seed, permutations)
    found: list[_Outcome] | None = cache.get(key)
    if found is None:
        cosines = read_cosines(run, {group for side in sides for each in side for group in each}, file.texts)
        found = []
        for test, (x, y) in zip(file.tests, sides, strict=True):
            _check_embedded(run, cosines, (*test.x, *test.y), (*x, *y))
            try:
                numbers = effect(
                    _associations(test, cosines, x),
                    _associations(test, cosines, y),
                    variant=variant,
                    alternative=GREATER if test.kind == EAT else LESS,
                    permutations=permutations,
                    resamples=resamples,
                    rng=bootstrap.generator(seed, test.name),
                )
                found.append((numbers, ""))
            except DegenerateTest as error:
                found.append((None, _problem(test, error)))
        cache.set(key, found, _CACHE_SECONDS)
    values = [numbers.p_value for numbers, _ in found if numbers is not None]
    adjusted = iter(false_discovery(values).tolist())
    return [
        TestResult(test, encoder_id(run), numbers, None if numbers is None else next(adjusted), problem)
        for test, (numbers, problem) in zip(file.tests, found, strict=True)
    ]


def ranking(file: TestFile, run: Run, reference: Reference) -> RankingResult:
    """The ranking of the file. Cached by what it depends on. Raises TestsRefused."""
    asked = file.ranking
    if asked is None:
        raise TestsRefused("The file has no [ranking]. Add one.")
    prompts = _prompts(asked, reference)
    by_name = SetGroups(_image_set(run))
    groups = [by_name.find(name, column=True) for name in reference.groups]
    if len(set(groups)) < len(groups):
        raise TestsRefused("Two columns of the reference name the same group. Remove one.")
    key = _key(
        "ranking", run, sorted(asked.prompts.items()), asked.prompt, groups, reference, _drawing(asked)
    )
    known: RankingResult | None = cache.get(key)
    if known is not None:
        return known
    cosines = read_cosines(run, groups, prompts)
    _check_embedded(run, cosines, reference.groups, groups)
    numbers = np.argmax(cosines.groups[:, None] == np.array(groups), axis=1)
    smallest = int(np.bincount(numbers).min())
    if asked.top > smallest * len(groups):
        raise TestsRefused(
            f"ranking: top is {asked.top}, but only {smallest * len(groups)} images are drawn: the smallest "
            f"group has {smallest}. Lower top, or leave it out."
        )
    found = shares(
        cosines.of(prompts).T,
        numbers,
        drawings=asked.drawings,
        top=asked.top,
        rng=bootstrap.generator(asked.seed, "ranking"),
    )
    result = RankingResult(
        encoder=encoder_id(run),
        groups=reference.groups,
        rows=tuple(
            RegionShare(region, group, float(found[row, column]), reference.shares[row][column])
            for row, region in enumerate(reference.regions)
            for column, group in enumerate(reference.groups)
        ),
        comparison=compare(found, np.array(reference.shares)),
        top=asked.top or smallest,
        drawn=smallest,
    )
    cache.set(key, result, _CACHE_SECONDS)
    return result


def correlate_variables(found: RankingResult, variables: Variables) -> list[VariableCorrelations]:
    """In the order of the variables."""
    share = {(row.region, row.group): row.share for row in found.rows}
    columns = [np.array([share[region, group] for region in variables.regions]) for group in found.groups]
    return [
        VariableCorrelations(name, tuple(correlate(column, np.array(values)) for column in columns))
        for name, values in zip(variables.names, zip(*variables.values, strict=True), strict=True)
    ]


def _image_set(run: Run) -> ImageSet:
    if run.image_set is None:
        raise TestsRefused(f"Run {run.pk} embedded no image set. Choose an embedding run.")
    return run.image_set


def _sides(groups: SetGroups, test: EffectTest) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The ids of the groups on both sides."""
    x, y = (tuple(groups.find(name) for name in side) for side in (test.x, test.y))
    if len({*x, *y}) < len(x) + len(y):
        raise TestsRefused(f"{test.name}: one group is named twice. Remove one of its names.")
    return x, y


def _associations(test: EffectTest, cosines: Cosines, groups: Sequence[int]) -> np.ndarray:
    """s(w, A, B) of the groups' images, or their cosine with the target."""
    images = np.isin(cosines.groups, groups)
    if test.kind == EAT:
        found = cosines.of(test.a).mean(axis=1) - cosines.of(test.b).mean(axis=1)
    else:
        found = cosines.of([test.target])[:, 0]
    return np.asarray(found[images])


def _check_embedded(run: Run, cosines: Cosines, names: Sequence[str], groups: Sequence[int]) -> None:
    there = set(cosines.groups.tolist())
    for name, group in zip(names, groups, strict=True):
        if group not in there:
            raise TestsRefused(
                f"Run {run.pk} ({encoder_id(run)}) has embedded no image of the group '{name}'. Let it "
                f"finish, or run: manage.py embed {_image_set(run).name}"
            )


def _problem(test: EffectTest, error: DegenerateTest) -> str:
    names = {"x": test.x, "y": test.y}.get(error.side)
    return f"{' + '.join(names)}: {error.why}" if names else error.why


def _prompts(asked: Ranking, reference: Reference) -> list[str]:
    """The prompt of each region of the reference."""
    if unknown := sorted(set(asked.prompts) - set(reference.regions)):
        raise TestsRefused(
            f"ranking, prompts: the reference has no region '{unknown[0]}'."
            f"{did_you_mean(unknown[0], list(reference.regions))} Correct the name, or remove its prompt."
        )
    found = [asked.prompt_of(region) for region in reference.regions]
    if long := next((text for text in found if len(text) > LONGEST_TEXT), ""):
        raise TestsRefused(
            f"ranking: the prompt '{long[:60]}…' has {len(long)} characters; at most {LONGEST_TEXT}. "
            "Shorten it."
        )
    return found


def _drawing(asked: Ranking) -> tuple[int, int, int]:
    return asked.drawings, asked.seed, asked.top


def _key(what: str, run: Run, *parts: object) -> str:
    digest = hashlib.sha256(repr(parts).encode()).hexdigest()
    return f"embedding-tests-3:{what}:{version_of(run)}:{digest}"
