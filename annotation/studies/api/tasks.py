"""API of tasks and of units, the items that annotators see."""

from __future__ import annotations

from collections.abc import Sequence

from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api.pages import list_query, page, page_serializer
from annotation.api.resource import Resource
from annotation.api.study_access import study_for_lead
from annotation.models import OptionRole, Purpose, Task, TaskKind, Unit
from annotation.studies.queries import units


class TaskSerializer(serializers.Serializer):
    """One kind of judgement in a study."""

    id = serializers.IntegerField()
    kind = serializers.ChoiceField(choices=TaskKind.choices, help_text="What is judged.")
    version = serializers.IntegerField()
    wording = serializers.CharField(
        help_text="The statement or question, with the placeholders [attr] and [id]."
    )
    instructions = serializers.CharField(help_text="Shown to annotators before they judge.")
    overlap = serializers.IntegerField(help_text="Target number of answers per unit.")
    strata = serializers.ListField(
        child=serializers.CharField(), help_text="Whom each of these answers is reserved for."
    )
    page_size = serializers.IntegerField(
        help_text="Options per page of an image, including none of the above."
    )
    image_set = serializers.CharField(
        source="image_set.name", allow_null=True, default=None, help_text="The set whose images it shows."
    )
    seed = serializers.IntegerField(help_text="Seed of the random draw of its units.")
    frozen_at = serializers.DateTimeField(
        allow_null=True, help_text="When the task was frozen: since then its questions have not changed."
    )


class OptionSerializer(serializers.Serializer):
    """An option that is judged on a unit."""

    id = serializers.IntegerField()
    attribute = serializers.CharField(
        source="attribute.text", allow_null=True, default=None, help_text="null: none of the above."
    )
    role = serializers.ChoiceField(
        choices=OptionRole.choices, help_text="Its role: stereotypical, random and so on."
    )
    position = serializers.IntegerField(help_text="Its canonical position, from 1.")


class UnitSerializer(serializers.Serializer):
    """A unit, and how many of its answers are given."""

    id = serializers.IntegerField(source="unit.pk")
    task = serializers.CharField(source="unit.task.kind", help_text="Kind of its task.")
    position = serializers.IntegerField(source="unit.position", help_text="Order within the task, from 1.")
    purpose = serializers.ChoiceField(
        choices=Purpose.choices, source="unit.purpose", help_text="Only data count in scores."
    )
    stimulus = serializers.CharField(help_text="The attribute, identity: attribute, or the image.")
    image = serializers.IntegerField(
        source="unit.image_id", allow_null=True, help_text="ID of the image, if the unit shows one."
    )
    page = serializers.IntegerField(source="unit.page", help_text="Page of options of an image, from 1.")
    options = OptionSerializer(many=True)
    wanted = serializers.IntegerField(
        help_text="Target number of answers; 0 for check items, which everybody sees."
    )
    filled = serializers.IntegerField(help_text="Answers given.")
    leased = serializers.IntegerField(help_text="Answers in progress.")


TasksQuery = list_query("Tasks", orders={"kind": "kind", "id": "pk"}, default="kind")
UnitsQuery = list_query(
    "Units",
    orders={"id": "pk", "position": "position"},
    default="id",
    task=serializers.ChoiceField(
        choices=TaskKind.choices, required=False, help_text="Only units of tasks of this kind."
    ),
    purpose=serializers.ChoiceField(
        choices=Purpose.choices, required=False, help_text="Only units with this purpose."
    ),
)


class Tasks(Resource):
    """The tasks of a study."""

    @extend_schema(
        operation_id="tasks_list",
        parameters=[TasksQuery],
        responses=page_serializer(TaskSerializer),
        tags=["tasks"],
    )
    def get(self, request: Request, name: str) -> Response:
        query = self.query(TasksQuery)
        rows = Task.objects.filter(study=study_for_lead(request, name)).select_related("image_set")
        return page(request, rows, query=query, kind=TasksQuery, row=TaskSerializer)


class OneTask(Resource):
    """A task of a study."""

    @extend_schema(operation_id="tasks_read", responses=TaskSerializer, tags=["tasks"])
    def get(self, request: Request, name: str, number: int) -> Response:
        rows = Task.objects.filter(study=study_for_lead(request, name)).select_related("image_set")
        return Response(TaskSerializer(get_object_or_404(rows, pk=number)).data)


class Units(Resource):
    """The units of a study, including check and training items."""

    @extend_schema(
        operation_id="units_list",
        parameters=[UnitsQuery],
        responses=page_serializer(UnitSerializer),
        tags=["tasks"],
    )
    def get(self, request: Request, name: str) -> Response:
        study = study_for_lead(request, name)
        query = self.query(UnitsQuery)
        rows = Unit.objects.filter(task__study=study)
        if "task" in query:
            rows = rows.filter(task__kind=query["task"])
        if "purpose" in query:
            rows = rows.filter(purpose=query["purpose"])
        return page(request, rows, query=query, kind=UnitsQuery, row=UnitSerializer, prepare=_with_options)


class OneUnit(Resource):
    """A unit of a study."""

    @extend_schema(operation_id="units_read", responses=UnitSerializer, tags=["tasks"])
    def get(self, request: Request, name: str, number: int) -> Response:
        unit = get_object_or_404(Unit, task__study=study_for_lead(request, name), pk=number)
        return Response(UnitSerializer(_with_options([unit])[0]).data)


def _with_options(found: Sequence[Unit]) -> list[units.UnitRow]:
    return units.rows(units=[unit.pk for unit in found])
