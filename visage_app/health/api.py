"""Health of storage and jobs, for admins. Load balancers use `/readyz`."""

from typing import Any

from django.http import Http404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation import policies
from annotation.api.resource import Resource
from visage_app.health import queries


class FailedJobSerializer(serializers.Serializer[Any]):
    """A job that failed for good."""

    number = serializers.IntegerField()
    what = serializers.CharField()
    error = serializers.CharField()
    at = serializers.DateTimeField(allow_null=True)
    study = serializers.CharField(help_text="The study it belongs to; empty if none.")
    run = serializers.IntegerField(allow_null=True, help_text="The run of a generation job.")


class QueueSerializer(serializers.Serializer[Any]):
    """One queue of jobs."""

    kind = serializers.ChoiceField(
        choices=["generation", "scores", "candidates", "associations", "exports", "imports", "deliveries"]
    )
    waiting = serializers.IntegerField()
    claimed = serializers.IntegerField(help_text="A worker is processing it.")
    failed = serializers.IntegerField()
    oldest = serializers.DateTimeField(allow_null=True, help_text="When the oldest started to wait.")
    heard = serializers.DateTimeField(allow_null=True, help_text="The last sign of a worker.")
    failures = FailedJobSerializer(many=True, help_text="The most recent ones.")


class FilesSerializer(serializers.Serializer[Any]):
    """Image files, counted every five minutes."""

    images = serializers.IntegerField(help_text="Images that have a file.")
    count = serializers.IntegerField(allow_null=True, help_text="null: stored outside this machine.")
    size = serializers.IntegerField(allow_null=True, help_text="bytes")
    whole = serializers.BooleanField(help_text="false: counting was stopped early, and there are more.")
    at = serializers.DateTimeField()


class StorageSerializer(serializers.Serializer[Any]):
    """Database and file storage."""

    database = serializers.CharField(help_text="Name and version.")
    database_size = serializers.IntegerField(help_text="bytes")
    free = serializers.IntegerField(help_text="free bytes for files")
    little_space = serializers.BooleanField()
    files = FilesSerializer()


class HealthSerializer(serializers.Serializer[Any]):
    """Health of the installation."""

    at = serializers.DateTimeField()
    well = serializers.BooleanField(help_text="Nothing needs attention.")
    stuck = serializers.ListField(
        child=serializers.CharField(), help_text="Queues with waiting jobs and no sign of a worker."
    )
    overdue = serializers.IntegerField(
        help_text="Items whose lease has expired but that were not returned to the queue."
    )
    broker = serializers.BooleanField(allow_null=True, help_text="Whether it answers; null: no broker.")
    unapplied = serializers.ListField(child=serializers.CharField(), help_text="Unapplied migrations.")
    versions = serializers.DictField(child=serializers.CharField())
    storage = StorageSerializer()
    queues = QueueSerializer(many=True)


class HealthView(Resource):
    """Storage and job health."""

    @extend_schema(operation_id="health_read", responses=HealthSerializer, tags=["health"])
    def get(self, request: Request) -> Response:
        if not policies.is_admin(request.user):
            raise Http404
        return Response(HealthSerializer(queries.health()).data)
