"""API for setting up studies with the content of a study file, as JSON or TOML (docs/studies.md)."""

from functools import partial
from typing import Any, ClassVar

from django.db import transaction
from django.http import Http404, HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import exceptions, parsers, serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation import policies
from annotation.api.errors import Conflict, Refused, refusals
from annotation.api.pages import documents_list, filtered_page, list_query
from annotation.api.resource import (
    Body,
    JSONBody,
    RawRenderer,
    Resource,
    check_if_match,
    etag_of,
    read_body,
)
from annotation.api.study_access import study_for_lead
from annotation.models import Study, StudyStatus
from annotation.setup import services
from annotation.setup.services import Document
from annotation.studies.errors import StudyFileError, StudyRefused
from annotation.studies.serializers import StudySerializer
from annotation.studies.services import studies
from annotation.studies.study_file import safe_toml

operation = partial(extend_schema, tags=["studies"])
_DOCUMENT: dict[str, Any] = {
    "type": "object",
    "description": "The content of a study file, key by key (docs/studies.md).",
    "additionalProperties": True,
}


class TOMLBody(parsers.BaseParser):
    """Parser for a study file in TOML."""

    media_type = "application/toml"

    def parse(self, stream: Any, media_type: str | None = None, parser_context: Any = None) -> Document:
        try:
            return safe_toml.loads(read_body(stream, parser_context))
        except (ValueError, RecursionError) as error:
            raise exceptions.ParseError(f"The body is not TOML: {error}") from error


class TOMLFile(RawRenderer):
    media_type = "application/toml"
    format = "toml"


class MadeSerializer(serializers.Serializer):
    """The result of sending a study file."""

    study = StudySerializer()
    outcome = serializers.ChoiceField(
        choices=["made", "remade", "unchanged"],
        help_text="remade: a draft was updated from its changed file; unchanged: nothing differed.",
    )
    units = serializers.IntegerField(help_text="Number of units, the items that are judged.")
    slots = serializers.IntegerField(help_text="Target number of answers.")
    notes = serializers.ListField(child=serializers.CharField(), help_text="Remarks about the random draw.")


_REFUSED = {
    409: OpenApiResponse(description="Another study has this name, or the study has been open already."),
    422: OpenApiResponse(description="The study file cannot be used; detail names the key and what to do."),
}
_BODY = {"application/json": _DOCUMENT, "application/toml": {"type": "string"}}

StudiesQuery = list_query(
    "Studies",
    orders={"name": "name", "title": "title", "created_at": "created_at"},
    default="name",
    status=serializers.ChoiceField(
        choices=StudyStatus.choices, required=False, help_text="Only studies with this status."
    ),
)


class Studies(Resource):
    """The studies that the account leads; all studies for an admin. Sending a study file creates one."""

    parser_classes = (JSONBody, TOMLBody)

    @documents_list("studies_list", query=StudiesQuery, row=StudySerializer, tag="studies")
    def get(self, request: Request) -> Response:
        rows = policies.studies_led_by(request.user).prefetch_related("leads")
        return filtered_page(self, rows, kind=StudiesQuery, row=StudySerializer)

    @operation(
        operation_id="studies_create",
        request=_BODY,
        responses={201: MadeSerializer, 200: MadeSerializer, **_REFUSED},
    )
    def post(self, request: Request) -> Response:
        """Create a draft from a study file. The same file again changes nothing (200). Whoever creates a
        study leads it."""
        if not policies.may_create_studies(request.user):
            raise exceptions.PermissionDenied("This account may not set up studies. Ask an administrator.")
        document = _document(request)
        name = document.get("name")
        if not isinstance(name, str):
            raise Refused("name is missing: the study needs one, in lowercase letters, digits, '-' and '_'.")
        study = Study.objects.filter(name=name).first()
        if study is not None and not policies.leads(request.user, study):
            raise Conflict(f"Another study is named '{name}'. Choose another name.")
        made = _made(request, name, document)
        return Response(MadeSerializer(made).data, status=201 if made.outcome == "made" else 200)


class Setup(Resource):
    """The content of a study's file."""

    parser_classes = (JSONBody, TOMLBody)
    scopes: ClassVar = {}

    @operation(
        operation_id="studies_setup_read",
        responses={
            200: _DOCUMENT,
            409: OpenApiResponse(description="The study cannot be expressed as a study file."),
        },
    )
    def get(self, request: Request, name: str) -> Response:
        """The content of the file of this study. It lists what was drawn at random."""
        return Response(_content(study_for_lead(request, name)))

    @operation(
        operation_id="studies_setup_replace",
        request=_BODY,
        responses={
            200: MadeSerializer,
            412: OpenApiResponse(description="The draft has changed since it was read (If-Match)."),
            **_REFUSED,
        },
    )
    def put(self, request: Request, name: str) -> Response:
        """Update a draft from a changed file. With If-Match, only if nobody has changed it since."""
        study = study_for_lead(request, name)
        document = _document(request)
        if document.get("name", name) != name:
            raise Refused(f"name: this is the study '{name}', and a study keeps its name.")
        if not policies.may_set_up(request.user, study) and study.status == StudyStatus.DRAFT:
            raise exceptions.PermissionDenied("This account may not set up studies. Ask an administrator.")
        with transaction.atomic():
            # Another change at the same time waits here, and then sees this one.
            locked = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
            check_if_match(request, _content(locked))
            made = _made(request, name, document)
        response = Response(MadeSerializer(made).data)
        response["ETag"] = etag_of(_content(made.study))
        return response

    @operation(
        operation_id="studies_setup_discard",
        responses={
            204: OpenApiResponse(description="The entries are discarded; a draft created from them is kept.")
        },
    )
    def delete(self, request: Request, name: str) -> Response:
        """Discard what this account filled in on the setup pages of a study."""
        documents = services.documents(user=request.user)
        if not policies.may_create_studies(request.user) or name not in documents:
            raise Http404
        services.discard(user=request.user, name=name)
        return Response(status=204)


class SetupFile(Resource):
    """The study's file."""

    renderer_classes = (TOMLFile,)

    @operation(
        operation_id="studies_setup_file",
        responses={
            (200, "application/toml"): OpenApiTypes.STR,
            409: OpenApiResponse(description="The study cannot be expressed as a study file."),
        },
    )
    def get(self, request: Request, name: str) -> HttpResponse:
        """The study file as TOML, for `manage.py open_study` or for another installation."""
        study = study_for_lead(request, name)
        with refusals(StudyRefused, StudyFileError):
            text = services.to_toml(services.document_from_study(study))
        return Response(
            text.encode(), headers={"Content-Disposition": f'attachment; filename="{study.name}.toml"'}
        )


def _content(study: Study) -> Document:
    with refusals(StudyRefused, StudyFileError):
        return services.document_from_study(study)


def _document(request: Request) -> Document:
    if not isinstance(request.data, dict) or not request.data:
        raise Refused("The body must be the content of a study file: one object with its keys.")
    return dict(request.data)


def _made(request: Request, name: str, document: Document) -> studies.AppliedFile:
    before = Study.objects.filter(name=name).values_list("status", flat=True).first()
    opened = before not in (None, StudyStatus.DRAFT)
    try:
        return services.save_draft(
            user=request.user,
            name=name,
            document=document,
            may_name_leads=policies.is_admin(request.user),
        )
    except StudyRefused as refused:
        raise (Conflict if opened else Refused)(str(refused)) from refused
    except services.SetupRefused as refused:
        raise Conflict(str(refused)) from refused
    except (StudyFileError, TypeError, ValueError) as refused:
        # values that TOML does not have, such as null, are refused by the TOML writer
        raise Refused(str(refused)) from refused


class StatusBody(Body):
    """The new status of a study."""

    status = serializers.ChoiceField(
        choices=sorted(studies.TRANSITIONS),
        help_text="open (from draft or paused), paused, or closed, for good.",
    )
    texts_checked = serializers.BooleanField(
        default=False,
        help_text="true: consent, warning and support texts that are still word for word those of a template "
        "were adapted or checked. Without it, such a draft is not opened.",
    )


class StudyState(Resource):
    """Opening, pausing and closing a study."""

    @operation(
        operation_id="studies_status",
        request=StatusBody,
        responses={
            200: StudySerializer,
            409: OpenApiResponse(description="The change is not allowed, or the study is not ready to open."),
            412: OpenApiResponse(description="The study has changed since it was read (If-Match)."),
        },
    )
    def post(self, request: Request, name: str) -> Response:
        """Change the status of a study; it is no error if the study has that status already. Opening a draft
        freezes its questions."""
        study = study_for_lead(request, name)
        body = self.body(StatusBody)
        check_if_match(request, StudySerializer(study).data)
        draft = study.status == StudyStatus.DRAFT
        if draft and not policies.may_set_up(request.user, study):
            raise exceptions.PermissionDenied("This account may not open studies. Ask an administrator.")
        with refusals(StudyRefused):
            studies.change_status(
                study=study,
                to=body["status"],
                by=request.user,
                texts_checked=body["texts_checked"],
            )
        if draft:
            services.discard(user=request.user, name=study.name)
        return Response(StudySerializer(Study.objects.get(pk=study.pk)).data)
