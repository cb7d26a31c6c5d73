"""API of the results of one machine judge."""

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api.resource import Resource
from metrics.core.studies import get_study_or_404
from metrics.machine_judges import sentences
from metrics.machine_judges.queries import requests as asked
from metrics.machine_judges.queries.judges import judge_rows
from metrics.machine_judges.queries.results import results
from metrics.machine_judges.results_serializers import (
    JudgeResultsQuery,
    JudgeResultsSerializer,
    results_data,
)


class JudgeResults(Resource):
    """What a machine judge is, and its stored scores beside people's, from the newest finished runs. Ask for
    missing ones with POST score-runs and the parameter `judge`."""

    @extend_schema(
        operation_id="judges_read",
        parameters=[JudgeResultsQuery],
        responses=JudgeResultsSerializer,
        tags=["machine judges"],
    )
    def get(self, request: Request, name: str, number: int) -> Response:
        study = get_study_or_404(request, name)
        run = asked.judge_or_404(study, number)
        by = self.query(JudgeResultsQuery)["by"]
        found, wanted = results(study, run, by), asked.wanted_scores(study, run, by)
        [row] = judge_rows([run])
        data = {
            "run": row,
            "simulated": row.is_simulated,
            "design": row.design,
            "spent": row.spent,
            "seconds": row.seconds,
            "refused": asked.refusals(study, wanted, found.runs),
            "finding": sentences.finding(found, asked.parameters_of(asked.ALTERNATIVE, run)),
            "warnings": sentences.warnings(),
            **results_data(found),
        }
        return Response(JudgeResultsSerializer(data).data)
