"""API of studies: details, whether quotas can be filled, tasks, and the units that annotators see."""

from collections.abc import Sequence

from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api.pages import documents_list, filtered_page, list_query
from annotation.api.resource import Resource
from annotation.api.study_access import study_for_lead
from annotation.models import OptionRole, Purpose, Task, TaskKind, Unit
from annotation.studies.queries import units
from annotation.studies.serializers import StudySerializer
from annotation.studies.services import feasibility


class FillRateSerializer(serializers.Serializer):
    """Responses and target of one quota (stratum) of a task."""

    task = serializers.CharField(source="task.kind", help_text="Kind of the task.")
    stratum = serializers.CharField(help_text="Whom the answers are reserved for.")
    wanted = serializers.IntegerField(help_text="Target number of answers.")
    filled = serializers.IntegerField(help_text="Answers given.")
    leased = serializers.IntegerField(help_text="Answers in progress.")
    open = serializers.IntegerField(help_text="Answers neither given nor in progress.")
    people = serializers.IntegerField(help_text="Number of enrolled people who match the stratum.")


class FeasibilitySerializer(serializers.Serializer):
    """Whether the enrolled people can fill the quotas of a study."""

    people = serializers.IntegerField(help_text="Number of people who are enrolled and may answer.")
    needed = serializers.ListField(
        child=serializers.CharField(), help_text="Which people each task needs, in words."
    )
    feasible = serializers.BooleanField(help_text="Whether they can fill every unit.")
    shortages = serializers.ListField(
        child=serializers.CharField(), help_text="Messages about quotas that cannot be filled."
    )
    warnings = serializers.ListField(
        child=serializers.CharField(), help_text="Other messages, e.g. about too few gold items."
    )
    rates = FillRateSerializer(many=True, help_text="One entry per task and stratum.")


class OneStudy(Resource):
    """A study that the account leads."""

    @extend_schema(operation_id="studies_read", responses=StudySerializer, tags=["studies"])
    def get(self, request: Request, name: str) -> Response:
        return Response(StudySerializer(study_for_lead(request, name)).data)


class Feasibility(Resource):
    """How far each quota is filled, and whether the enrolled people can fill the rest."""

    @extend_schema(operation_id="studies_feasibility", responses=FeasibilitySerializer, tags=["studies"])
    def get(self, request: Request, name: str) -> Response:
        report = feasibility.report(study=study_for_lead(request, name))
        return Response(FeasibilitySerializer(report).data)


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
    people_share = serializers.FloatField(
        allow_null=True,
        help_text="Share of the images, associations or attributes of each identity group that people judge, "
        "drawn at random; null: all. The others are for machine judges.",
    )
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
        help_text="Target number of answers; 0 for check items, which everybody sees, and for units that "
        "people do not judge (people_share)."
    )
    filled = serializers.IntegerField(help_text="Answers given.")
    leased = serializers.IntegerField(help_text="Answers in progress.")


TasksQuery = list_query("Tasks", orders={"kind": "kind", "id": "pk"}, default="kind")
UnitsQuery = list_query(
    "Units",
    orders={"id": "pk", "position": "position"},
    default="id",
    task=serializers.ChoiceField(
        choices=TaskKind.choices,
        required=False,
        source="task__kind",
        help_text="Only units of tasks of this kind.",
    ),
    purpose=serializers.ChoiceField(
        choices=Purpose.choices, required=False, help_text="Only units with this purpose."
    ),
)


class Tasks(Resource):
    """The tasks of a study."""

    @documents_list("tasks_list", query=TasksQuery, row=TaskSerializer, tag="tasks")
    def get(self, request: Request, name: str) -> Response:
        return filtered_page(self, _tasks(request, name), kind=TasksQuery, row=TaskSerializer)


class OneTask(Resource):
    """A task of a study."""

    @extend_schema(operation_id="tasks_read", responses=TaskSerializer, tags=["tasks"])
    def get(self, request: Request, name: str, number: int) -> Response:
        return Response(TaskSerializer(get_object_or_404(_tasks(request, name), pk=number)).data)


def _tasks(request: Request, name: str) -> QuerySet[Task]:
    return Task.objects.filter(study=study_for_lead(request, name)).select_related("image_set")


class Units(Resource):
    """The units of a study, including check and training items."""

    @documents_list("units_list", query=UnitsQuery, row=UnitSerializer, tag="tasks")
    def get(self, request: Request, name: str) -> Response:
        rows = Unit.objects.filter(task__study=study_for_lead(request, name))
        return filtered_page(self, rows, kind=UnitsQuery, row=UnitSerializer, prepare=_with_options)


class OneUnit(Resource):
    """A unit of a study."""

    @extend_schema(operation_id="units_read", responses=UnitSerializer, tags=["tasks"])
    def get(self, request: Request, name: str, number: int) -> Response:
        unit = get_object_or_404(Unit, task__study=study_for_lead(request, name), pk=number)
        return Response(UnitSerializer(_with_options([unit])[0]).data)


def _with_options(found: Sequence[Unit]) -> list[units.UnitRow]:
    return units.rows(units=[unit.pk for unit in found])
