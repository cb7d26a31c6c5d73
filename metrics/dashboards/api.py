"""API of figures and of a study's progress."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from django.http import Http404
from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api.errors import Conflict, Refused
from annotation.api.resource import FileResource, Query, Resource, file_of
from annotation.models import StudyStatus, TaskKind
from metrics.core.answers import has_simulated_answers
from metrics.core.charts.figure import CONTENT_TYPES, Figure
from metrics.core.figure_files import api_figure
from metrics.core.figure_sources import NothingToDraw, UnknownFigure
from metrics.core.serializers import MeaningSerializer, json_safe, text_choice
from metrics.core.studies import get_study_or_404
from metrics.dashboards.figures import FIGURES, draw_figure
from metrics.dashboards.queries import progress

FILE_FORMATS = list(CONTENT_TYPES)


class FigureOptionSerializer(MeaningSerializer):
    choices = serializers.ListField(
        child=serializers.CharField(allow_blank=True),
        help_text="Empty: any text. Otherwise the allowed values; the first is the default.",
    )


class FigureSourceSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    title = serializers.CharField()
    options = FigureOptionSerializer(many=True)
    formats = serializers.ListField(child=serializers.ChoiceField(FILE_FORMATS))


class FigureSerializer(serializers.Serializer[Any]):
    """A figure with the numbers it shows: `rows` in the order of `columns`."""

    name = serializers.CharField()
    title = serializers.CharField()
    alt = serializers.CharField(help_text="A text alternative to the picture.")
    notes = serializers.ListField(child=serializers.CharField())
    columns = serializers.ListField(child=serializers.CharField())
    rows = serializers.ListField(child=serializers.ListField(child=serializers.JSONField()))
    digest = serializers.RegexField("^[0-9a-f]{64}$")
    specification = serializers.DictField(help_text="Vega-Lite.")


class CountsSerializer(serializers.Serializer[Any]):
    """Responses by state; `wanted` is their sum, the target."""

    wanted = serializers.IntegerField()
    filled = serializers.IntegerField()
    leased = serializers.IntegerField()
    open = serializers.IntegerField()


class StratumCountsSerializer(CountsSerializer):
    stratum = serializers.CharField(source="name")


class TaskProgressSerializer(serializers.Serializer[Any]):
    kind = serializers.ChoiceField(TaskKind.choices, source="task.kind")
    version = serializers.IntegerField(source="task.version")
    total = CountsSerializer()
    strata = StratumCountsSerializer(many=True)


class RateSerializer(serializers.Serializer[Any]):
    hours = serializers.IntegerField(help_text="The length of the period.")
    an_hour = serializers.FloatField(help_text="Responses an hour.")
    hours_left = serializers.FloatField(allow_null=True)


class DaySerializer(serializers.Serializer[Any]):
    day = serializers.DateField()
    responses = serializers.IntegerField()


class PaceSerializer(serializers.Serializer[Any]):
    timed = serializers.IntegerField(help_text="Responses whose time is known.")
    last_hour = serializers.IntegerField()
    at_work = serializers.IntegerField(help_text="Annotators who answered in the last 15 minutes.")
    enrolled = serializers.IntegerField(help_text="Number of people who are enrolled and may answer.")
    surplus = serializers.IntegerField()
    withdrawn = serializers.IntegerField()
    rates = RateSerializer(
        many=True,
        help_text="Of the last hour, and of the last day and week if there were answers before them.",
    )
    days = DaySerializer(many=True)


class AlertSerializer(serializers.Serializer[Any]):
    """An alert for leads. unsure: `k` of `n` answers about attribute `name` are Unsure. fast: annotator
    `name` takes `seconds` over `n` answers, where `usual` is usual. stratum: `n` slots of the stratum `name`
    are open, each item needs `needed` such people, and `k` are enrolled."""

    kind = serializers.ChoiceField(["unsure", "fast", "stratum"])
    name = serializers.CharField()
    k = serializers.IntegerField()
    n = serializers.IntegerField()
    needed = serializers.IntegerField()
    seconds = serializers.FloatField()
    usual = serializers.FloatField()


class ProgressSerializer(serializers.Serializer[Any]):
    """Counted at `counted_at`; for a large study this can be an earlier count."""

    study = serializers.CharField()
    status = serializers.ChoiceField(StudyStatus.choices)
    simulated = serializers.BooleanField()
    counted_at = serializers.DateTimeField()
    total = CountsSerializer()
    tasks = TaskProgressSerializer(many=True)
    pace = PaceSerializer()
    alerts = AlertSerializer(many=True)


def figure_query() -> type[Query]:
    """The options of all figures."""
    options: dict[str, list[str]] = {}
    for name, source in FIGURES.items():
        for option in source.options:
            options.setdefault(option, []).append(name)
    fields = {name: text_choice(f"Option of {', '.join(of)}.") for name, of in options.items()}
    return type("FigureQuery", (Query,), {**fields, "__doc__": "Options of figures, as listed."})


FigureQuery = figure_query()


operation = partial(extend_schema, tags=["figures"])
_NAME = OpenApiParameter(
    "figure", str, OpenApiParameter.PATH, enum=list(FIGURES), description="Name of the figure."
)
_FORMAT = OpenApiParameter(
    "file_format", str, OpenApiParameter.PATH, enum=FILE_FORMATS, description="Kind of file."
)
_REFUSED = {
    409: OpenApiResponse(description="The study has no answers for this figure yet."),
    422: OpenApiResponse(description="The figure has no such option, or the option no such value."),
}


class FigureSourcesSerializer(serializers.Serializer[Any]):
    results = FigureSourceSerializer(many=True)


class Figures(Resource):
    """All figures, with their options."""

    @operation(operation_id="figures_list", responses=FigureSourcesSerializer)
    def get(self, request: Request, name: str) -> Response:
        get_study_or_404(request, name)
        results = [
            {
                "name": figure,
                "title": source.title,
                "options": [
                    {"name": option, "meaning": meaning, "choices": source.choices.get(option, ())}
                    for option, meaning in source.options.items()
                ],
                "formats": FILE_FORMATS,
            }
            for figure, source in FIGURES.items()
        ]
        return Response(FigureSourcesSerializer({"results": results}).data)


class OneFigure(Resource):
    """A figure as a Vega-Lite specification, with the numbers that it shows."""

    @operation(
        operation_id="figures_read",
        parameters=[_NAME, FigureQuery],
        responses={200: FigureSerializer, **_REFUSED},
    )
    def get(self, request: Request, name: str, figure: str) -> Response:
        drawing = draw_or_problem(request, name, figure, self.query(FigureQuery))
        data = {
            **vars(drawing),
            "digest": drawing.digest,
            "rows": json_safe(drawing.rows),
            "specification": json_safe(drawing.spec),
        }
        return Response(FigureSerializer(data).data)


class FigureFile(FileResource):
    """A figure as a file for a paper, or its numbers as CSV."""

    @operation(
        operation_id="figures_file",
        parameters=[_NAME, _FORMAT, FigureQuery],
        responses={
            **file_of(*(kind.partition(";")[0] for kind in CONTENT_TYPES.values())),
            **_REFUSED,
        },
    )
    def get(self, request: Request, name: str, figure: str, file_format: str) -> Response:
        if file_format not in CONTENT_TYPES:
            raise Http404
        drawing = draw_or_problem(request, name, figure, self.query(FigureQuery))
        return api_figure(drawing, file_format, filename=f"{name}-{figure}")


def draw_or_problem(request: Request, name: str, figure: str, options: Mapping[str, str]) -> Figure:
    """Draw the figure, or raise the API error that says why not."""
    study = get_study_or_404(request, name)
    try:
        # an empty option is ignored, as in the page's form
        return draw_figure(study, figure, {key: value for key, value in options.items() if value})
    except UnknownFigure as error:
        raise Http404 from error
    except NothingToDraw as error:
        raise Conflict(str(error)) from error
    except ValueError as error:
        raise Refused(str(error)) from error


class Progress(Resource):
    """Target and number of responses, pace, and alerts."""

    @extend_schema(operation_id="progress_read", responses=ProgressSerializer, tags=["progress"])
    def get(self, request: Request, name: str) -> Response:
        study = get_study_or_404(request, name)
        found = progress.recent_progress(study, now=timezone.now())
        data = {
            **vars(found),
            "study": study.name,
            "status": study.status,
            "simulated": has_simulated_answers(study),
            "pace": {
                **vars(found.pace),
                "days": [{"day": day, "responses": number} for day, number in found.pace.days],
            },
        }
        return Response(ProgressSerializer(data).data)
