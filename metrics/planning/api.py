"""API of planning: what a study of a given size can be expected to give."""

from functools import partial

from django.http import Http404
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api.errors import refused_form
from annotation.api.resource import FileResource, Resource, file_of
from annotation.core.code_version import code_version
from metrics.core.charts.figure import CONTENT_TYPES
from metrics.core.figure_files import api_figure
from metrics.planning import plan_form, queries, sentences
from metrics.planning.curves import PlanResult
from metrics.planning.figures import plan_figure
from metrics.planning.plan_form import PlanForm
from metrics.planning.queries import Planned
from metrics.planning.serializers import PlanQuery, PlanSerializer

_REFUSED = {422: OpenApiResponse(description="No such study is possible, or the pilot is too small.")}
operation = partial(extend_schema, tags=["progress"], parameters=[PlanQuery])


class Plan(Resource):
    """Expected half-widths of 95 % intervals and power, from simulated studies. Parameters that are missing
    have the defaults of the page."""

    @operation(operation_id="plan_read", responses={200: PlanSerializer, **_REFUSED})
    def get(self, request: Request, name: str) -> Response:
        planned = queries.planned_or_404(request.user, name)
        form, result = _planned(self, planned)
        pilot = form.pilot_found
        data = {
            "study": planned.name,
            "studies": result.studies[0],
            "seed": result.seed,
            "pilot": pilot and pilot.estimates,
            "rows": sentences.rows(result),
            "paragraph": sentences.paragraph(result, version=code_version(), pilot=pilot),
        }
        return Response(PlanSerializer(data).data)


class PlanFigure(FileResource):
    """The curves of a plan as a file for a paper, or its numbers as CSV."""

    @operation(
        operation_id="plan_figure",
        parameters=[
            PlanQuery,
            OpenApiParameter("file_format", str, OpenApiParameter.PATH, enum=tuple(CONTENT_TYPES)),
        ],
        responses={
            **file_of(*(kind.partition(";")[0] for kind in CONTENT_TYPES.values())),
            **_REFUSED,
        },
    )
    def get(self, request: Request, name: str, file_format: str) -> Response:
        planned = queries.planned_or_404(request.user, name)
        if file_format not in CONTENT_TYPES:
            raise Http404
        _, result = _planned(self, planned)
        return api_figure(plan_figure(result, planned.title), file_format, filename=f"{name}-plan")


def _planned(resource: Resource, planned: Planned) -> tuple[PlanForm, PlanResult]:
    data = {**plan_form.initial(planned), **resource.query(PlanQuery)}
    if "measures" in data:
        data["measures"] = [each.strip() for each in data["measures"].split(",")]
    form = PlanForm(data, pilots=queries.pilots(resource.request.user))
    if not form.is_valid() or form.result is None:
        raise refused_form(form)
    return form, form.result
