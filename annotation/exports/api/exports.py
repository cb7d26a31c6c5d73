"""Annotator-level data, for admins: whole exports, and judgements page by page. All access is recorded in the
audit trail."""

from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar

from django.http import StreamingHttpResponse
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api.errors import Busy, refusals
from annotation.api.pages import list_query, page, page_serializer
from annotation.api.resource import ExportResource, FileResource, Query, Resource, file_of
from annotation.api.study_access import study_for_export
from annotation.exports.formats.registry import FORMATS
from annotation.exports.packing import zip_response
from annotation.exports.selection import STATUSES, ExportRefused, Filters
from annotation.exports.services import judgements, writing
from annotation.models import Judgement, OptionRole, Pool, Purpose, TaskKind

operation = partial(extend_schema, tags=["exports"])
_FORMAT = serializers.ChoiceField(
    choices=sorted(FORMATS), help_text="The format of the files (docs/exports.md)."
)
_FILTERS: dict[str, serializers.Field] = {
    "task": serializers.ChoiceField(
        choices=TaskKind.choices, required=False, help_text="Only answers to tasks of this kind."
    ),
    "since": serializers.DateField(required=False, help_text="Only answers from this day (UTC) on."),
    "until": serializers.DateField(required=False, help_text="Only answers up to this day (UTC)."),
    "group": serializers.CharField(
        required=False, max_length=120, help_text="Only answers about the identity group of this name."
    ),
    "pool": serializers.ChoiceField(
        choices=Pool.choices,
        required=False,
        help_text="in: residents of the region judged; out: North Americans who identify with it.",
    ),
    "stratum": serializers.CharField(
        required=False, max_length=120, help_text="Only answers reserved for this stratum."
    ),
    "status": serializers.ChoiceField(
        choices=STATUSES,
        required=False,
        help_text="counted: used by scores; surplus: came after the target was reached.",
    ),
}
EXPORT_FIELDS = {"format": _FORMAT, **_FILTERS}
"""A format, and filters: a filter that is left out takes everything."""
ExportQuery: type[Query] = type("ExportQuery", (Query,), dict(EXPORT_FIELDS))
JudgementsQuery = list_query("Judgements", orders={"id": "pk"}, default="id", **_FILTERS)


class FormatSerializer(serializers.Serializer):
    """An export format."""

    name = serializers.CharField()
    title = serializers.CharField()
    use = serializers.CharField(help_text="What it is for.")
    media_type = serializers.CharField()


class FormatsSerializer(serializers.Serializer):
    """All export formats."""

    formats = FormatSerializer(many=True)


class JudgementSerializer(serializers.Serializer):
    """One annotator's judgement of one option: a row of the long table (docs/exports.md)."""

    task = serializers.ChoiceField(choices=TaskKind.choices)
    task_version = serializers.IntegerField()
    unit = serializers.IntegerField(help_text="Position of the unit within its task, from 1.")
    unit_name = serializers.CharField(help_text="What the source calls the unit.")
    stimulus = serializers.CharField(help_text="What was judged.")
    purpose = serializers.ChoiceField(choices=Purpose.choices)
    page = serializers.IntegerField(allow_null=True, help_text="Page of options of an image, from 1.")
    image = serializers.CharField(help_text="Name of the image.")
    image_set = serializers.CharField(help_text="Set that the image belongs to.")
    image_index = serializers.IntegerField(
        allow_null=True, help_text="Number of the image within its set and identity group, from 1."
    )
    axis = serializers.CharField(help_text="Kind of the identity group.")
    identity = serializers.CharField(help_text="Identity group of the image or association.")
    attribute = serializers.CharField(help_text="Of the option; empty for none of the above.")
    role = serializers.ChoiceField(choices=OptionRole.choices, help_text="Why the option was shown.")
    response = serializers.IntegerField(help_text="Rows with the same number were submitted together.")
    annotator = serializers.CharField(help_text="Pseudonym.")
    simulated = serializers.BooleanField(help_text="A program made the answer.")
    stratum = serializers.CharField(help_text="Stratum that the slot was reserved for; empty for a surplus.")
    value = serializers.IntegerField(help_text="On the task's scale.")
    label = serializers.CharField(help_text="The value in words.")
    shown_position = serializers.IntegerField(help_text="Position of the option as shown, from 1.")
    justification = serializers.CharField(help_text="What the annotator wrote.")
    boxes = serializers.ListField(
        child=serializers.ListField(child=serializers.FloatField()), help_text="x0, y0, x1, y1 in pixels."
    )
    whole_image = serializers.BooleanField()
    started_at = serializers.DateTimeField(allow_null=True)
    submitted_at = serializers.DateTimeField(allow_null=True)
    active_ms = serializers.IntegerField(allow_null=True, help_text="Milliseconds of activity.")
    idle_ms = serializers.IntegerField(allow_null=True, help_text="Milliseconds without.")
    language = serializers.CharField(help_text="In which the wording was shown.")
    revision = serializers.IntegerField(help_text="1 for a first answer.")
    current = serializers.BooleanField(help_text="false: a later revision replaced it.")
    surplus = serializers.BooleanField(help_text="Came after the target was reached.")


class Formats(Resource):
    """The formats of exports."""

    scopes: ClassVar = {"GET": None}

    @operation(operation_id="export_formats", responses=FormatsSerializer)
    def get(self, request: Request) -> Response:
        return Response(FormatsSerializer({"formats": list(FORMATS.values())}).data)


class Download(ExportResource, FileResource):
    """An immediate export."""

    @operation(operation_id="export_download", parameters=[ExportQuery], responses=file_of("application/zip"))
    def get(self, request: Request, name: str) -> StreamingHttpResponse:
        """A zip archive with the data and a description of its columns, streamed as it is made. For large
        studies, create a background export."""
        study = study_for_export(request, name)
        params = self.query(ExportQuery)
        fmt = params.pop("format")
        with refusals(ExportRefused, status=422):
            archive = writing.stream_zip(study=study, fmt=fmt, by=request.user, filters=Filters(**params))
        return zip_response(archive, f"{study.name}-{fmt}.zip")


class Judgements(ExportResource):
    """Each annotator's judgement of each option, with superseded and surplus answers marked."""

    @operation(
        operation_id="judgements_list",
        parameters=[JudgementsQuery],
        responses={
            200: page_serializer(JudgementSerializer),
            503: OpenApiResponse(description="A long transaction is writing answers. Try again."),
        },
    )
    def get(self, request: Request, name: str) -> Response:
        """Every page is recorded in the audit trail. While answers come in, pages show different moments; an
        export shows one. No answer is skipped, however late it is committed."""
        study = study_for_export(request, name)
        query = self.query(JudgementsQuery)
        filters = Filters(
            **{key: value for key, value in query.items() if key not in ("order", "limit", "cursor")}
        )
        try:
            with refusals(ExportRefused, status=422):
                rows = judgements.readable_judgements(study=study, filters=filters)
        except judgements.WritesInProgress as busy:
            raise Busy(str(busy)) from busy

        def shown(found: Sequence[Judgement]) -> list[dict[str, Any]]:
            return judgements.read_rows(study=study, filters=filters, found=found, by=request.user)

        return page(request, rows, query=query, kind=JudgementsQuery, row=JudgementSerializer, prepare=shown)
