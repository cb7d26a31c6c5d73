"""The results of a file of tests with the vectors of one run, and what is missing for them. Reads."""

from dataclasses import dataclass

from annotation.models import ImageSet
from generation.models import Run
from metrics.core.stats import bootstrap  # noqa: F401
from metrics.embedding_tests.reference import Reference
from metrics.embedding_tests.stats.effects import Effect
from metrics.embedding_tests.stats.ranking import Comparison
from metrics.embedding_tests.test_file import EffectTest, TestFile


class TestsRefused(Exception):
    """Why a file cannot be tested with the vectors that there are. The message names what, and the cure."""


@dataclass(frozen=True)
class TestResult:
    """`q`: Benjamini and Hochberg over the file's tests, of `numbers.p_value`. `problem`: why there are no
    numbers, of a degenerate test."""

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


def image_set_of(file: TestFile) -> ImageSet:
    """The set that the file names. Raises TestsRefused."""
    raise NotImplementedError


def run_of(file: TestFile, *, encoder: str = "") -> Run:
    """The newest embedding run of the file's set by `encoder`, or by the file's: the id as
    generation/embeddings/queries.encoder_id gives it, its model alone, or the number of the run. Raises
    TestsRefused, naming those that there are."""
    raise NotImplementedError


def missing_texts(file: TestFile, run: Run, reference: Reference | None = None) -> list[str]:
    """The texts of the tests, and the ranking's prompts for the regions of `reference`, that the run has not
    embedded."""
    raise NotImplementedError


def results(file: TestFile, run: Run, *, variant: str, resamples: int, seed: int = 0) -> list[TestResult]:
    """One for each test, in the order of the file. Cached by what it depends on. Raises TestsRefused."""
    raise NotImplementedError


def ranking(file: TestFile, run: Run, reference: Reference) -> RankingResult:
    """The ranking of the file. Cached by what it depends on. Raises TestsRefused."""
    raise NotImplementedError
