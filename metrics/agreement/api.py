"""API of the agreement between annotators."""

from typing import Any

from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api.errors import refusals
from annotation.api.resource import Query, Resource
from metrics.agreement.queries import BY, DIFFERENCE, METRIC
from metrics.core.answers import has_simulated_answers
from metrics.core.serializers import NumberSerializer
from metrics.core.studies import get_study_or_404
from metrics.models import Variant
from metrics.score_runs import queries, registry
from metrics.score_runs.serializers import ScoreRunSerializer


class AgreementQuery(Query):
    by = serializers.ChoiceField(
        BY,
        default=BY[0],
        help_text="Also within and between these groups of annotators; admins only.",
    )


class AgreementRowSerializer(serializers.Serializer[Any]):
    part = serializers.CharField(help_text="The task, the level of its scale, and whose answers.")
    alpha = NumberSerializer(allow_null=True)
    fleiss_kappa = NumberSerializer(allow_null=True)
    percentage = NumberSerializer(allow_null=True)
    cross_kappa = NumberSerializer(allow_null=True)
    box_iou = NumberSerializer(allow_null=True)


class AgreementDifferenceSerializer(serializers.Serializer[Any]):
    part = serializers.CharField(help_text="The task, the level of its scale, and the two groups.")
    alpha_difference = NumberSerializer(
        allow_null=True, help_text="Alpha within the first group minus that within the second."
    )
    alpha_difference_p = NumberSerializer(allow_null=True)
    alpha_difference_q = NumberSerializer(
        allow_null=True,
        help_text="Adjusted over both measures and all pairs of groups of the task and level.",
    )
    percentage_difference = NumberSerializer(allow_null=True, help_text="The same for the percentage.")
    percentage_difference_p = NumberSerializer(allow_null=True)
    percentage_difference_q = NumberSerializer(allow_null=True)


class AgreementSerializer(serializers.Serializer[Any]):
    run = ScoreRunSerializer(allow_null=True)
    stale = serializers.BooleanField()
    simulated = serializers.BooleanField()
    results = AgreementRowSerializer(many=True)
    differences = AgreementDifferenceSerializer(
        many=True, help_text="Between groups of annotators; empty if `by` is none."
    )


class Agreement(Resource):
    """Agreement between annotators over the whole study, from the newest finished run. For single attributes
    or identity groups: GET scores with metric=agreement."""

    @extend_schema(
        operation_id="agreement_read",
        parameters=[AgreementQuery],
        responses={200: AgreementSerializer, 422: OpenApiResponse(description="`by` is for admins.")},
        tags=["scores"],
    )
    def get(self, request: Request, name: str) -> Response:
        study = get_study_or_404(request, name)
        query = self.query(AgreementQuery)
        with refusals(ValueError, status=422):
            parameters = registry.permitted_parameters(request.user, study, registry.get(METRIC), query)
        latest = queries.latest_run(study, METRIC, Variant.CORRECTED, parameters)
        parts: dict[str, dict[str, Any]] = {}
        if latest.run is not None:
            whole = latest.run.scores.filter(group__isnull=True, attribute__isnull=True)
            for score in whole.order_by("part", "pk"):
                parts.setdefault(score.part, {"part": score.part})[score.name] = score
        data = {
            "run": latest.run,
            "stale": latest.stale,
            "simulated": has_simulated_answers(study),
            "results": [row for part, row in parts.items() if DIFFERENCE not in part],
            "differences": [row for part, row in parts.items() if DIFFERENCE in part],
        }
        return Response(AgreementSerializer(data).data)
