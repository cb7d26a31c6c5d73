"""Score runs and their scores; candidates and associations that models give."""

from metrics.models.associations import AssociationList, ModelAssociation
from metrics.models.candidates import Candidate, CandidateList, StruckCandidate
from metrics.models.score_runs import Score, ScoreRun, Variant

__all__ = [
    "AssociationList",
    "Candidate",
    "CandidateList",
    "ModelAssociation",
    "Score",
    "ScoreRun",
    "StruckCandidate",
    "Variant",
]
