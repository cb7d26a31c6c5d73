"""Webhooks by the API (docs/webhooks.md)."""

from functools import partial
from typing import Any

from django.db import transaction
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api.errors import refusals
from annotation.api.pages import documents_list, filtered_page, list_query
from annotation.api.resource import Body, Resource
from annotation.api.study_access import study_for_lead
from annotation.core.leases import JobState
from annotation.events import EVENTS
from annotation.models import Delivery, Webhook
from annotation.webhooks import queries
from annotation.webhooks.services import deliveries, subscriptions

operation = partial(extend_schema, tags=["webhooks"])


class WebhookSerializer(serializers.Serializer):
    """A URL that receives messages about events."""

    id = serializers.IntegerField()
    url = serializers.CharField(help_text="URL that is called.")
    events = serializers.ListField(child=serializers.CharField(), help_text="Events that are sent.")
    state = serializers.CharField(
        read_only=True,
        help_text="on; failing: the last attempt failed; given up: disabled after failing; off: disabled.",
    )
    created_at = serializers.DateTimeField()
    disabled_at = serializers.DateTimeField(allow_null=True)


class MadeWebhookSerializer(WebhookSerializer):
    """A webhook with the secret that signs its messages, shown only once."""

    secret = serializers.CharField(help_text="Keep it: it is not shown again.")


class DeliverySerializer(serializers.Serializer):
    """A message to a webhook."""

    id = serializers.IntegerField()
    key = serializers.UUIDField(help_text="The same at every attempt.")
    event = serializers.CharField()
    state = serializers.ChoiceField(choices=JobState.choices)
    attempts = serializers.IntegerField(help_text="Number of attempts.")
    status = serializers.IntegerField(allow_null=True, help_text="HTTP status of the last response.")
    error = serializers.CharField(help_text="Error of the last attempt.")
    created_at = serializers.DateTimeField()
    finished_at = serializers.DateTimeField(allow_null=True)
    payload = serializers.JSONField(help_text="Ids, counts and times.")


def _events(**options: Any) -> serializers.ListField:
    child = serializers.ChoiceField(choices=sorted(EVENTS))
    return serializers.ListField(child=child, min_length=1, max_length=50, **options)


class WebhookBody(Body):
    """A new webhook."""

    url = serializers.CharField(
        max_length=500, help_text="Begins with https:// and is reachable from the public internet."
    )
    events = _events(help_text="See the docs.")


class WebhookChange(Body):
    """Changes of a webhook; fields that are left out stay as they are."""

    events = _events(required=False, help_text="The events to send from now on.")
    enabled = serializers.BooleanField(
        required=False, help_text="false: send nothing until it is enabled again; pending messages are kept."
    )


WebhooksQuery = list_query("Webhooks", orders={"id": "pk", "created_at": "created_at"}, default="-id")
DeliveriesQuery = list_query(
    "Deliveries",
    orders={"id": "pk"},
    default="-id",
    state=serializers.ChoiceField(
        choices=JobState.choices, required=False, help_text="Only messages in this state."
    ),
)
_REFUSED = {422: OpenApiResponse(description="The URL may not be called, or the study has enough webhooks.")}


class Webhooks(Resource):
    """The webhooks of a study."""

    @documents_list("webhooks_list", query=WebhooksQuery, row=WebhookSerializer, tag="webhooks")
    def get(self, request: Request, name: str) -> Response:
        rows = Webhook.objects.filter(study=study_for_lead(request, name))
        return filtered_page(self, rows, kind=WebhooksQuery, row=WebhookSerializer)

    @operation(
        operation_id="webhooks_create",
        request=WebhookBody,
        responses={201: MadeWebhookSerializer, **_REFUSED},
    )
    def post(self, request: Request, name: str) -> Response:
        """Send events to a URL from now on."""
        study = study_for_lead(request, name)
        body = self.body(WebhookBody)
        with refusals(subscriptions.WebhookRefused, status=422):
            made = subscriptions.add(study=study, url=body["url"], events=body["events"], by=request.user)
        return Response(MadeWebhookSerializer(made).data, status=201)


class OneWebhook(Resource):
    """A webhook of a study."""

    @operation(operation_id="webhooks_read", responses=WebhookSerializer)
    def get(self, request: Request, name: str, number: int) -> Response:
        return Response(WebhookSerializer(_webhook(request, name, number)).data)

    @operation(operation_id="webhooks_change", request=WebhookChange, responses=WebhookSerializer)
    def patch(self, request: Request, name: str, number: int) -> Response:
        """Change its events, disable it or enable it."""
        found = _webhook(request, name, number)
        body = self.body(WebhookChange)
        with transaction.atomic():
            if "events" in body:
                subscriptions.change_events(webhook=found, events=body["events"], by=request.user)
            if "enabled" in body:
                subscriptions.switch(webhook=found, on=body["enabled"], by=request.user)
        return Response(WebhookSerializer(Webhook.objects.get(pk=found.pk)).data)

    @operation(
        operation_id="webhooks_delete",
        responses={204: OpenApiResponse(description="The webhook and its messages are deleted.")},
    )
    def delete(self, request: Request, name: str, number: int) -> Response:
        subscriptions.remove(webhook=_webhook(request, name, number), by=request.user)
        return Response(status=204)


class Secret(Resource):
    """A new secret."""

    @operation(operation_id="webhooks_rotate", request=None, responses=MadeWebhookSerializer)
    def post(self, request: Request, name: str, number: int) -> Response:
        """Make a new secret, shown only once. The old one is invalid at once."""
        found = _webhook(request, name, number)
        subscriptions.rotate_secret(webhook=found, by=request.user)
        return Response(MadeWebhookSerializer(found).data)


class Ping(Resource):
    """A test message."""

    @operation(
        operation_id="webhooks_ping",
        request=None,
        responses={202: DeliverySerializer, 409: OpenApiResponse(description="It is disabled.")},
    )
    def post(self, request: Request, name: str, number: int) -> Response:
        """Queue a test message."""
        found = _webhook(request, name, number)
        with refusals(subscriptions.WebhookRefused):
            delivery = subscriptions.ping(webhook=found)
        return Response(DeliverySerializer(delivery).data, status=202)


class Deliveries(Resource):
    """The messages of a webhook, sent or pending."""

    @documents_list("deliveries_list", query=DeliveriesQuery, row=DeliverySerializer, tag="webhooks")
    def get(self, request: Request, name: str, number: int) -> Response:
        rows = queries.messages(_webhook(request, name, number))
        return filtered_page(self, rows, kind=DeliveriesQuery, row=DeliverySerializer)


class Redelivery(Resource):
    """Sending a message again."""

    @operation(
        operation_id="deliveries_redeliver",
        request=None,
        responses={
            200: DeliverySerializer,
            409: OpenApiResponse(description="It is about to be sent, or the webhook is disabled."),
        },
    )
    def post(self, request: Request, name: str, number: int, delivery: int) -> Response:
        """Send it again, under the same key."""
        found = get_object_or_404(queries.messages(_webhook(request, name, number)), pk=delivery)
        with refusals(subscriptions.WebhookRefused):
            deliveries.redeliver(delivery=found)
        return Response(DeliverySerializer(Delivery.objects.get(pk=found.pk)).data)


def _webhook(request: Request, name: str, number: int) -> Webhook:
    return get_object_or_404(Webhook, study=study_for_lead(request, name), pk=number)
