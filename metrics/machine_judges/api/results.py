"""API of the results of one machine judge."""

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api.resource import Resource
from generation.recipes.recipes import FAKE
from generation.runs.queries import run_rows
from metrics.core.studies import get_study_or_404
from metrics.machine_judges import sentences
from metrics.machine_judges.design import Design
from metrics.machine_judges.queries import requests as asked
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
        missing = [one for one in wanted.due if one[0] not in found.runs]
        [row] = run_rows([run])
        used = asked.usage(run)
        data = {
            "run": row,
            "simulated": run.backend == FAKE,
            "design": Design.from_json(run.recipe["design"]),
            "spent": used.spent,
            "seconds": used.seconds,
            "refused": {**wanted.refused, **asked.failures(study, missing)},
            "finding": sentences.finding(found, asked.parameters_of(asked.ALTERNATIVE, run)),
            "warnings": sentences.warnings(),
            **results_data(found),
        }
        return Response(JudgeResultsSerializer(data).data)
