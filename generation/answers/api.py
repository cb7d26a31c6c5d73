"""The API of a run's answers: a list by cursor, and one answer, whole."""

from functools import partial
from typing import Any
from urllib.parse import urlencode

from django.core import signing
from django.http import Http404
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation import policies
from annotation.api.errors import BadCursor
from annotation.api.pages import DEFAULT_LIMIT, MAX_LIMIT, documents_list
from annotation.api.resource import Query, Resource
from generation.answers import queries
from generation.answers.queries import SEARCHED, Filters
from generation.answers.serializers import AnswerSerializer, OneAnswerSerializer
from generation.models import ASKINGS, Run
from generation.plans.queries.runs import visible_runs

operation = partial(extend_schema, tags=["runs"])
LISTED = 10_000
"""Characters of a text in the list."""


class AnswersQuery(Query):
    ended = serializers.CharField(
        required=False,
        allow_blank=True,
        max_length=40,
        help_text="Why the answer ended: stop, length, filter ...; empty: not known.",
    )
    contains = serializers.CharField(
        required=False,
        max_length=200,
        help_text=f"A text in the answer, whatever the case. A page goes through {SEARCHED:,} answers at "
        "most, so it may be empty although there is a next one.",
    )
    key = serializers.CharField(
        required=False, max_length=200, help_text="How the key of the asking begins. As for `contains`."
    )
    order = serializers.ChoiceField(
        ["job", "-job"], default="job", help_text="The order of the list; '-' reverses it."
    )
    limit = serializers.IntegerField(
        min_value=1, max_value=MAX_LIMIT, default=DEFAULT_LIMIT, help_text=f"At most {MAX_LIMIT}."
    )
    cursor = serializers.CharField(
        required=False, max_length=1000, help_text="Start of the page, taken from next or previous."
    )


class Answers(Resource):
    """What a run asked a model, and what came back, in the order of the askings."""

    @documents_list("run_answers_list", query=AnswersQuery, row=AnswerSerializer, tag="runs")
    def get(self, request: Request, number: int) -> Response:
        run = _visible_run(request, number)
        query = self.query(AnswersQuery)
        filters = Filters(
            ended=query.get("ended"), contains=query.get("contains", ""), key=query.get("key", "")
        )
        position = _position(request, query.get("cursor"))
        found = queries.find(
            run,
            filters,
            limit=query["limit"],
            newest_first=query["order"] == "-job",
            characters=LISTED,
            **position,
        )
        return Response(
            {
                "next": _link(request, "after", found.next),
                "previous": _link(request, "before", found.previous),
                "results": AnswerSerializer(found.rows, many=True).data,
            }
        )


class OneAnswer(Resource):
    """One answer, whole, with everything that was sent."""

    @operation(operation_id="run_answers_read", responses=OneAnswerSerializer)
    def get(self, request: Request, number: int, job: int) -> Response:
        run = _visible_run(request, number)
        found = queries.one(run, job)
        if found is None:
            raise Http404
        return Response(OneAnswerSerializer({"run": run, "row": found.row, "found": found}).data)


def _visible_run(request: Request, number: int) -> Run:
    """A run that asks a model, for accounts that may plan such runs; Http404 for others."""
    if not policies.may_make_images(request.user):
        raise Http404
    return get_object_or_404(visible_runs(request.user), pk=number, kind__in=ASKINGS)


def _position(request: Request, cursor: str | None) -> dict[str, Any]:
    if cursor is None:
        return {}
    try:
        direction, position = signing.loads(cursor, salt=request.path)
    except signing.BadSignature as error:
        message = "This is not a cursor of this list. Take it from next or previous, or leave it out."
        raise BadCursor({"cursor": [message]}) from error
    return {direction: position}


def _link(request: Request, direction: str, position: int | None) -> str | None:
    if position is None:
        return None
    cursor = signing.dumps([direction, position], salt=request.path)
    params = {**request.query_params.dict(), "cursor": cursor}
    return request.build_absolute_uri(f"{request.path}?{urlencode(params)}")
