"""API of annotator quality."""

from typing import Any

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api.resource import Query, Resource
from metrics.core.studies import get_study_or_404
from metrics.quality.queries import annotators, work
from metrics.quality.queries.annotators import FLAGS


class QualityQuery(Query):
    order = serializers.ChoiceField(["flags", "-flags", "annotator", "-annotator"], default="-flags")


class QualityRowSerializer(serializers.Serializer[Any]):
    """One annotator, by pseudonym. Flags are reasons to look closer, not verdicts."""

    annotator = serializers.CharField()
    simulated = serializers.BooleanField()
    status = serializers.CharField(allow_blank=True, help_text="Status of the enrolment; empty without one.")
    answers = serializers.IntegerField()
    median_active_s = serializers.FloatField(allow_null=True)
    usual_active_s = serializers.FloatField(allow_null=True)
    median_idle_s = serializers.FloatField(allow_null=True)
    agreement = serializers.FloatField(allow_null=True)
    agreement_by_chance = serializers.FloatField(allow_null=True)
    pairs = serializers.IntegerField()
    checks_right = serializers.IntegerField()
    checks = serializers.IntegerField()
    none_of_above = serializers.IntegerField()
    none_of_above_offered = serializers.IntegerField()
    most_frequent = serializers.IntegerField()
    rated = serializers.IntegerField()
    flags = serializers.ListField(child=serializers.ChoiceField(list(FLAGS)))


class QualitySerializer(serializers.Serializer[Any]):
    counted_at = serializers.DateTimeField()
    unknown = serializers.IntegerField(help_text="Responses without an annotator.")
    results = QualityRowSerializer(many=True)


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
