"""Score runs and their scores; candidates and associations that models give; files of tests."""

from metrics.models.associations import AssociationList, ModelAssociation
from metrics.models.candidates import Candidate, CandidateList, StruckCandidate
from metrics.models.embedding_tests import EmbeddingTestFile
from metrics.models.score_runs import RunIntervals, Score, ScoreRun, Variant

__all__ = [
    "AssociationList",
    "Candidate",
    "CandidateList",
    "EmbeddingTestFile",
    "ModelAssociation",
    "RunIntervals",
    "Score",
    "ScoreRun",
    "StruckCandidate",
    "Variant",
]
