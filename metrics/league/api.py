"""API of leagues."""

from collections.abc import Sequence
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api.resource import Resource
from annotation.models import Study
from metrics.core.answers import has_simulated_answers
from metrics.core.studies import get_study_or_404
from metrics.league import protocols, queries
from metrics.league.access import kind_of, led_studies
from metrics.league.kinds import Kind
from metrics.league.queries import League
from metrics.league.serializers import LeagueQuery, LeagueSerializer
from metrics.models import Score, Variant
from metrics.score_runs import queries as score_runs


class OneLeague(Resource):
    """This study and others side by side by their answers to a kind of task, those about images by image set:
    means, places, groups or attributes that differ, and what differs between the protocols."""

    @extend_schema(
        operation_id="league_read", parameters=[LeagueQuery], responses=LeagueSerializer, tags=["scores"]
    )
    def get(self, request: Request, name: str) -> Response:
        query = self.query(LeagueQuery)
        names = {each.strip() for each in query.get("studies", "").split(",")} - {""}
        studies = led_studies(request.user, {get_study_or_404(request, name).name, *names})
        kind = kind_of(studies, query.get("of", ""))
        parameters = queries.parameters(studies)
        latest = score_runs.latest_run(queries.anchor(studies), kind.metric, Variant.CORRECTED, parameters)
        found = queries.stored_league(kind, latest.run, studies) if latest.run is not None else None
        data = {
            "of": kind.task,
            "run_study": queries.anchor(studies).name,
            "metric": kind.metric,
            "parameters": parameters,
            "run": latest.run,
            "stale": latest.stale,
            "simulated": has_simulated_answers(*studies),
            **_results(found),
            "protocol": _protocol(studies, kind),
        }
        return Response(LeagueSerializer(data).data)


def _results(found: League | None) -> dict[str, Any]:
    if found is None:
        return {"rows": [], "tests": [], "units": [], "left_out": []}
    return {
        "rows": [
            {
                "study": row.study.name,
                "image_set": row.set_name,
                "model": row.model_name,
                "images": row.images if found.kind.of_models else None,
                "people": row.people,
                "answers": row.answers,
                "scores": _named(row.scores.values()),
            }
            for row in found.rows
        ],
        "tests": _named(found.equal.values()),
        "units": [
            {
                "group": row.group,
                "attribute": row.attribute,
                "scores": [score for cell in row.cells for score in cell if score is not None],
                "spread": row.apart,
                "spread_q": row.q,
            }
            for row in found.units
        ],
        "left_out": found.left_out,
    }


def _named(scores: Any) -> list[Score]:
    return sorted(scores, key=lambda score: score.name)


def _protocol(studies: Sequence[Study], kind: Kind) -> list[dict[str, Any]]:
    return [
        {
            "name": one.name,
            "matters": one.matters,
            "values": [
                {"value": text, "studies": [each.name for each in having]} for text, having in one.values
            ],
        }
        for one in protocols.differences(studies, kind.task)
    ]
