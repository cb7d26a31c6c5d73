"""How the installation is: storage, and work that waits. For admins; a load balancer asks `/readyz`."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from django.http import Http404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation import policies
from annotation.api.resource import Resource
from visage_app.health import queries


class GivenUpSerializer(serializers.Serializer[Any]):
    """A piece of work that was given up."""

    number = serializers.IntegerField()
    what = serializers.CharField()
    error = serializers.CharField()
    at = serializers.DateTimeField(allow_null=True)
    study = serializers.CharField(help_text="Where it belongs; empty if to none.")
    run = serializers.IntegerField(allow_null=True, help_text="Of a generation job.")


class QueueSerializer(serializers.Serializer[Any]):
    """One kind of work."""

    kind = serializers.ChoiceField(choices=["generation", "scores", "exports", "deliveries"])
    waiting = serializers.IntegerField()
    claimed = serializers.IntegerField(help_text="A worker is at it.")
    failed = serializers.IntegerField()
    oldest = serializers.DateTimeField(allow_null=True, help_text="Since when the oldest waits.")
    heard = serializers.DateTimeField(allow_null=True, help_text="The last sign of somebody doing it.")
    failures = GivenUpSerializer(many=True, help_text="The last ones.")


class FilesSerializer(serializers.Serializer[Any]):
    """Files of images, counted every five minutes."""

    images = serializers.IntegerField(help_text="Images that have a file.")
    count = serializers.IntegerField(allow_null=True, help_text="null: kept outside this machine.")
    size = serializers.IntegerField(allow_null=True, help_text="bytes")
    whole = serializers.BooleanField(help_text="false: there are more; counting was cut short.")
    at = serializers.DateTimeField()


class StorageSerializer(serializers.Serializer[Any]):
    """Where the data are."""

    database = serializers.CharField(help_text="Which, with its version.")
    database_size = serializers.IntegerField(help_text="bytes")
    free = serializers.IntegerField(help_text="bytes that are free for files")
    little_space = serializers.BooleanField()
    files = FilesSerializer()


class HealthSerializer(serializers.Serializer[Any]):
    """How the installation is."""

    at = serializers.DateTimeField()
    well = serializers.BooleanField(help_text="Nothing needs attention.")
    stuck = serializers.ListField(
        child=serializers.CharField(), help_text="Kinds of work that wait, with no worker heard of."
    )
    overdue = serializers.IntegerField(help_text="Items that should have gone back to the queue.")
    broker = serializers.BooleanField(allow_null=True, help_text="Whether it answers; null: there is none.")
    unapplied = serializers.ListField(
        child=serializers.CharField(), help_text="Migrations that were not applied."
    )
    versions = serializers.DictField(child=serializers.CharField())
    storage = StorageSerializer()
    queues = QueueSerializer(many=True)


class HealthView(Resource):
    """Storage and job health."""

    @extend_schema(operation_id="health_read", responses=HealthSerializer, tags=["health"])
    def get(self, request: Request) -> Response:
        if not policies.is_admin(request.user):
            raise Http404
        found = queries.health()
        told = {each.name: getattr(found, each.name) for each in fields(found)}
        told |= {"well": found.well, "versions": dict(found.versions)}
        return Response(HealthSerializer(told).data)
