"""Agreement of a study's annotators, task by task (PROTOCOL §10). Computes and returns; stores nothing."""

from metrics.agreement.comparisons import evaluate
from metrics.agreement.rows import MEASURES, AgreementRow
from metrics.agreement.subjects import PER

__all__ = ["MEASURES", "PER", "AgreementRow", "evaluate"]
