"""A stored file of tests with the run whose vectors it is tested with, for pages and API. Reads."""

from dataclasses import dataclass, replace

from generation.embeddings.queries import encoder_id
from generation.models import Run
from metrics.embedding_tests import queries
from metrics.embedding_tests.queries import RankingResult, TestResult, TestsRefused, VariableCorrelations
from metrics.embedding_tests.reference import Reference, Variables, read_reference, read_variables
from metrics.embedding_tests.stored import is_simulated, newest_runs
from metrics.embedding_tests.test_file import TestFile, parse
from metrics.models import EmbeddingTestFile


@dataclass(frozen=True)
class Tested:
    """`reference`: of a file that ranks images, else None. `variables`: of one that correlates shares with
    them."""

    stored: EmbeddingTestFile
    file: TestFile
    run: Run
    reference: Reference | None
    variables: Variables | None = None

    @property
    def encoder(self) -> str:
        return encoder_id(self.run)

    @property
    def simulated(self) -> bool:
        return is_simulated(self.run)

    def missing_of_tests(self) -> list[str]:
        """The texts of the tests that the run has not embedded."""
        return queries.missing_texts(self.file, self.run)

    def missing(self) -> list[str]:
        """The texts of the tests and of the ranking that the run has not embedded."""
        return queries.missing_texts(self.file, self.run, self.reference)

    def missing_of_ranking(self) -> list[str]:
        return queries.missing_texts(replace(self.file, tests=()), self.run, self.reference)

    def results(self, variant: str) -> list[TestResult]:
        """Raises TestsRefused."""
        return queries.results(self.file, self.run, variant=variant)

    def ranking(self) -> RankingResult:
        """Of a file with a ranking. Raises TestsRefused."""
        assert self.reference is not None
        return queries.ranking(self.file, self.run, self.reference)

    def variable_correlations(self, found: RankingResult) -> list[VariableCorrelations]:
        """`found`: the ranking."""
        return [] if self.variables is None else queries.correlate_variables(found, self.variables)


@dataclass(frozen=True)
class EncoderResults:
    """The tests of a file with the vectors of one encoder; `problem`: why there are none."""

    run: Run
    encoder: str
    simulated: bool
    results: tuple[TestResult, ...]
    problem: str = ""
    missing: int = 0


@dataclass(frozen=True)
class EncoderRanking:
    """The ranking of a file with the vectors of one encoder; without `found`, prompts are `missing`, or
    `problem` says why."""

    run: Run
    encoder: str
    simulated: bool
    found: RankingResult | None = None
    problem: str = ""
    missing: int = 0


def with_vectors(stored: EmbeddingTestFile, *, encoder: str = "") -> Tested:
    """`encoder`: another than the file's, as in queries.run_of. Raises TestsRefused."""
    file = _file(stored)
    return _with_run(stored, file, queries.run_of(file, encoder=encoder))


def by_encoder(stored: EmbeddingTestFile, *, variant: str) -> list[EncoderResults]:
    """The file's tests with the newest run of each encoder of its set."""
    file = _file(stored)
    return [_encoder_results(_with_run(stored, file, run), variant) for run in newest_runs(stored.image_set)]


def rankings_by_encoder(stored: EmbeddingTestFile) -> list[EncoderRanking]:
    """The file's ranking with the newest run of each encoder of its set; none of a file without a ranking."""
    file = _file(stored)
    if file.ranking is None:
        return []
    return [_encoder_ranking(_with_run(stored, file, run)) for run in newest_runs(stored.image_set)]


def _file(stored: EmbeddingTestFile) -> TestFile:
    # about the row's set, by which access is decided, whatever the text names
    return replace(parse(stored.text), image_set=stored.image_set.name)


def _with_run(stored: EmbeddingTestFile, file: TestFile, run: Run) -> Tested:
    if file.ranking is None:
        return Tested(stored, file, run, None)
    reference = read_reference(stored.reference)
    variables = read_variables(stored.variables, reference) if file.ranking.variables else None
    return Tested(stored, file, run, reference, variables)


def _encoder_results(one: Tested, variant: str) -> EncoderResults:
    known = EncoderResults(one.run, one.encoder, one.simulated, results=())
    if missing := len(one.missing_of_tests()):
        return replace(known, missing=missing)
    try:
        return replace(known, results=tuple(one.results(variant)))
    except TestsRefused as refused:
        return replace(known, problem=str(refused))


def _encoder_ranking(one: Tested) -> EncoderRanking:
    known = EncoderRanking(one.run, one.encoder, one.simulated)
    if missing := len(one.missing_of_ranking()):
        return replace(known, missing=missing)
    try:
        return replace(known, found=one.ranking())
    except TestsRefused as refused:
        return replace(known, problem=str(refused))
