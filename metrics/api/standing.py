"""How a study stands: progress, identity groups, and how each annotator works."""

from __future__ import annotations

from typing import Any

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api.resource import Resource
from annotation.models import IdentityGroup
from metrics import frames, queries, queries_pages
from metrics.api.asked import QualityQuery, VariantQuery
from metrics.api.serializers import IdentitiesSerializer, ProgressSerializer, QualitySerializer
from metrics.led import led_depiction_study, led_study
from metrics.queries_pages import progress, quality, work
from metrics.queries_pages.identities import unreported

TAGS = ["progress"]


class Progress(Resource):
    """Wanted and given answers, pace, and what to look at."""

    @extend_schema(operation_id="progress_read", responses=ProgressSerializer, tags=TAGS)
    def get(self, request: Request, name: str) -> Response:
        study = led_study(request, name)
        found = progress.at_most_old(study, now=timezone.now())
        said = {
            "study": study.name,
            "status": study.status,
            "simulated": frames.holds_simulated(study),
            "counted_at": found.counted_at,
            "total": found.total,
            "tasks": found.tasks,
            "pace": {
                **vars(found.pace),
                "days": [{"day": day, "responses": number} for day, number in found.pace.days],
            },
            "alerts": found.alerts,
        }
        return Response(ProgressSerializer(said).data)


class Identities(Resource):
    """The scores of each identity group, from the newest finished runs."""

    @extend_schema(
        operation_id="identities_list",
        parameters=[VariantQuery],
        responses=IdentitiesSerializer,
        tags=["scores"],
    )
    def get(self, request: Request, name: str) -> Response:
        study = led_depiction_study(request, name)
        variant = self.query(VariantQuery)["variant"]
        latest = queries.latest_run(study, "tendency", variant)
        offensive = queries.latest_run(study, "offensiveness", variant)
        rows: list[queries_pages.IdentityRow] = []
        apart: list[IdentityGroup] = []
        if latest.run is not None:
            rows = queries_pages.identities(
                latest.run, sort="identity", descending=False, offensiveness=offensive.run
            )
            apart = unreported(study, rows)
        said = {
            "run": latest.run,
            "offensiveness_run": offensive.run,
            "stale": latest.stale or offensive.stale,
            "simulated": frames.holds_simulated(study),
            "results": rows,
            "unreported": apart,
        }
        return Response(IdentitiesSerializer(said).data)


class Quality(Resource):
    """How each annotator works, by pseudonym. Who withdrew is not among them."""

    @extend_schema(
        operation_id="quality_list", parameters=[QualityQuery], responses=QualitySerializer, tags=TAGS
    )
    def get(self, request: Request, name: str) -> Response:
        study = led_study(request, name)
        order = self.query(QualityQuery)["order"]
        sort = "who" if order.endswith("annotator") else "flags"
        counted = work.at_most_old(study, now=timezone.now())
        rows = quality.as_rows(study, counted, sort=sort, descending=order.startswith("-"))
        found = [_as_row(cells) for cells in quality.as_cells(rows)]
        said = {"counted_at": counted.counted_at, "unknown": counted.unknown, "results": found}
        return Response(QualitySerializer(said).data)


def _as_row(cells: tuple[str | int | float | None, ...]) -> dict[str, Any]:
    row: dict[str, Any] = dict(zip(quality.CSV_COLUMNS, cells, strict=True))
    return {**row, "simulated": row["simulated"] == "yes", "flags": row["flags"].split()}
