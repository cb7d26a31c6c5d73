"""The webhook pages of a study's lead."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from annotation import policies
from annotation.core.requests import LoggedIn
from annotation.events import EVENTS
from annotation.models import Study, Webhook
from annotation.webhooks import queries
from annotation.webhooks.forms import EventsForm, WebhookForm
from annotation.webhooks.services import deliveries, subscriptions

ACTIONS = ("ping", "rotate", "disable", "enable", "delete")


def webhook_study(request: LoggedIn, name: str) -> Study:
    """The study, if the account may manage its webhooks; 404 otherwise, as if it did not exist."""
    study = get_object_or_404(Study, name=name)
    if not policies.may_manage_webhooks(request.user, study):
        raise Http404
    return study


@login_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def webhook_list(request: LoggedIn, name: str) -> HttpResponse:
    """GET lists the webhooks; POST adds one and shows its secret once."""
    study = webhook_study(request, name)
    form = WebhookForm(request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        try:
            made = subscriptions.add(
                study=study, url=form.cleaned_data["url"], events=form.cleaned_data["events"], by=request.user
            )
        except subscriptions.WebhookRefused as refused:
            form.add_error("url", str(refused))
        else:
            messages.success(request, _("The webhook was added."))
            return _page(request, study, made, secret=made.secret)
    context = {
        "study": study,
        "form": form,
        "rows": queries.webhooks_of_study(study),
        "events": _event_choices(form["events"].value()),
        "most": subscriptions.MAX_WEBHOOKS,
    }
    return render(request, "annotation/webhooks/webhooks.html", context, status=422 if form.errors else 200)


@login_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def webhook(request: LoggedIn, name: str, pk: int) -> HttpResponse:
    """GET shows one webhook with its messages; POST changes its events."""
    study = webhook_study(request, name)
    found = _found(study, pk)
    if request.method != "POST":
        return _page(request, study, found)
    form = EventsForm(request.POST)
    if not form.is_valid():
        return _page(request, study, found, form=form)
    subscriptions.change_events(webhook=found, events=form.cleaned_data["events"], by=request.user)
    messages.success(request, _("The events were changed."))
    return redirect("webhook", name=name, pk=pk)


@login_required
@never_cache
@require_POST
def webhook_action(request: LoggedIn, name: str, pk: int, action: str) -> HttpResponse:
    """Send a test message, change the secret, disable, enable or delete."""
    study = webhook_study(request, name)
    if action not in ACTIONS:
        raise Http404
    found = _found(study, pk)
    if action == "rotate":
        secret = subscriptions.rotate_secret(webhook=found, by=request.user)
        messages.success(request, _("The secret was replaced. The old one is no longer valid."))
        return _page(request, study, found, secret=secret)
    if action == "delete":
        subscriptions.remove(webhook=found, by=request.user)
        messages.success(request, _("The webhook was deleted."))
        return redirect("webhooks", name=name)
    if action == "ping":
        try:
            subscriptions.ping(webhook=found)
        except subscriptions.WebhookRefused as refused:
            messages.warning(request, str(refused))
        else:
            messages.success(
                request, _("A test message is on its way. Reload the page to see whether it arrived.")
            )
    elif action == "disable" and subscriptions.disable(webhook=found, by=request.user):
        messages.success(request, _("The webhook is disabled. Nothing is sent until you enable it again."))
    elif action == "enable" and subscriptions.enable(webhook=found, by=request.user):
        messages.success(request, _("The webhook is enabled. Messages are sent again."))
    return redirect("webhook", name=name, pk=pk)


@login_required
@never_cache
@require_POST
def redeliver(request: LoggedIn, name: str, pk: int, delivery: int) -> HttpResponse:
    """Send one message again."""
    found = _found(webhook_study(request, name), pk)
    message = queries.message(found, pk=delivery)
    if message is None:
        raise Http404
    try:
        deliveries.redeliver(delivery=message)
    except subscriptions.WebhookRefused as refused:
        messages.warning(request, str(refused))
    else:
        messages.success(request, _("The message will be sent again, under the same key."))
    return redirect("webhook", name=name, pk=pk)


def _found(study: Study, pk: int) -> Webhook:
    found = queries.webhook(study, pk=pk)
    if found is None:
        raise Http404
    return found


def _event_choices(value: object) -> list[tuple[str, str, bool]]:
    """Each event with its description, and whether it is chosen."""
    chosen = value if isinstance(value, list) else []
    return [(event, description, event in chosen) for event, description in EVENTS.items()]


def _page(
    request: LoggedIn, study: Study, found: Webhook, *, secret: str = "", form: EventsForm | None = None
) -> HttpResponse:
    page = queries.message_page(found, page=request.GET.get("page", "1"))
    context = {
        "study": study,
        "webhook": found,
        "state": queries.state_of(found),
        "secret": secret,
        "form": form,
        "events": _event_choices(found.events),
        "page": page,
        "messages_sent": [(message, deliveries.body(message).decode()) for message in page.object_list],
        "tries": deliveries.MAX_ATTEMPTS,
        "kept": deliveries.RETENTION.days,
    }
    status = 422 if form is not None and form.errors else 200
    return render(request, "annotation/webhooks/webhook.html", context, status=status)
