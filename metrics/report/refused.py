"""Why there is no report."""

NO_SCORES, FEW, OUTDATED, FOLDER = "no scores", "few", "outdated", "folder"
"""Reasons: no stored scores; fewer than MIN_GROUP_SIZE people answered; the scores are not those of the
present answers; the folder holds something else."""


class ReportRefused(ValueError):
    """No report can be made, or not there. The message says why and what to do; `reason` is one of those
    above, for pages."""

    def __init__(self, message: str, *, reason: str) -> None:
        super().__init__(message)
        self.reason = reason
