"""Values that assignment and the rooms above it share."""

from datetime import timedelta

from annotation.models import EnrolmentStatus

SESSION_LENGTH = timedelta(hours=12)
"""Items judged within this time count as one session (Study.session_cap)."""

LEFT_STATUSES = frozenset({EnrolmentStatus.WITHDRAWN, EnrolmentStatus.SCREENED_OUT})
"""The annotator has left the study and cannot come back."""

ENDED_STATUSES = LEFT_STATUSES | {EnrolmentStatus.BLOCKED, EnrolmentStatus.FINISHED}
"""The annotator gets no more items."""
