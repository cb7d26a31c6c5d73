"""API of the scores of identity groups."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api.resource import Resource
from annotation.models import IdentityGroup
from metrics.core.answers import has_simulated_answers
from metrics.core.study_access import get_depiction_study_or_404
from metrics.depiction.queries.identities import IdentityRow, identity_rows, unreported
from metrics.depiction.serializers import IdentitiesSerializer
from metrics.score_runs import queries
from metrics.score_runs.serializers.requests import VariantQuery


class Identities(Resource):
    """The scores of each identity group, from the newest finished runs."""

    @extend_schema(
        operation_id="identities_list",
        parameters=[VariantQuery],
        responses=IdentitiesSerializer,
        tags=["scores"],
    )
    def get(self, request: Request, name: str) -> Response:
        study = get_depiction_study_or_404(request, name)
        variant = self.query(VariantQuery)["variant"]
        latest = queries.latest_run(study, "tendency", variant)
        offensive = queries.latest_run(study, "offensiveness", variant)
        rows: list[IdentityRow] = []
        not_reported: list[IdentityGroup] = []
        if latest.run is not None:
            rows = identity_rows(latest.run, sort="identity", descending=False, offensiveness=offensive.run)
            not_reported = unreported(study, rows)
        data = {
            "run": latest.run,
            "offensiveness_run": offensive.run,
            "stale": latest.stale or offensive.stale,
            "simulated": has_simulated_answers(study),
            "results": rows,
            "unreported": not_reported,
        }
        return Response(IdentitiesSerializer(data).data)
