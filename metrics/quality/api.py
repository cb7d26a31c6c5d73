"""API of annotator quality."""

from __future__ import annotations

from typing import Any

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api.resource import Resource
from metrics.core.study_access import get_study_or_404
from metrics.quality.queries import annotators, work
from metrics.quality.serializers import QualityQuery, QualitySerializer

TAGS = ["progress"]


class Quality(Resource):
    """The work quality of each annotator, by pseudonym, without those who withdrew."""

    @extend_schema(
        operation_id="quality_list", parameters=[QualityQuery], responses=QualitySerializer, tags=TAGS
    )
    def get(self, request: Request, name: str) -> Response:
        study = get_study_or_404(request, name)
        order = self.query(QualityQuery)["order"]
        sort = "who" if order.endswith("annotator") else "flags"
        counted = work.recent_count(study, now=timezone.now())
        rows = annotators.quality_rows(study, counted, sort=sort, descending=order.startswith("-"))
        results = [_row_data(cells) for cells in annotators.csv_rows(rows)]
        data = {"counted_at": counted.counted_at, "unknown": counted.unknown, "results": results}
        return Response(QualitySerializer(data).data)


def _row_data(cells: tuple[str | int | float | None, ...]) -> dict[str, Any]:
    row: dict[str, Any] = dict(zip(annotators.CSV_COLUMNS, cells, strict=True))
    return {**row, "simulated": row["simulated"] == "yes", "flags": row["flags"].split()}
