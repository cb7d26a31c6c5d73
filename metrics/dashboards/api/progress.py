"""API of a study's progress."""

from __future__ import annotations

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api.resource import Resource
from metrics.core.answers import has_simulated_answers
from metrics.core.study_access import get_study_or_404
from metrics.dashboards.queries import progress
from metrics.dashboards.serializers import ProgressSerializer

TAGS = ["progress"]


class Progress(Resource):
    """Target and number of responses, pace, and alerts."""

    @extend_schema(operation_id="progress_read", responses=ProgressSerializer, tags=TAGS)
    def get(self, request: Request, name: str) -> Response:
        study = get_study_or_404(request, name)
        found = progress.recent_progress(study, now=timezone.now())
        data = {
            "study": study.name,
            "status": study.status,
            "simulated": has_simulated_answers(study),
            "counted_at": found.counted_at,
            "total": found.total,
            "tasks": found.tasks,
            "pace": {
                **vars(found.pace),
                "days": [{"day": day, "responses": number} for day, number in found.pace.days],
            },
            "alerts": found.alerts,
        }
        return Response(ProgressSerializer(data).data)
