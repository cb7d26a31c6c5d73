"""The webhook pages of a study's lead."""

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from annotation.api.study_access import study_for_lead
from annotation.core.requests import LoggedIn
from annotation.models import Study, Webhook
from annotation.webhooks import queries
from annotation.webhooks.forms import EventsForm, WebhookForm
from annotation.webhooks.services import deliveries, subscriptions


@require_http_methods(["GET", "HEAD", "POST"])
def webhook_list(request: LoggedIn, name: str) -> HttpResponse:
    """GET lists the webhooks; POST adds one and shows its secret once."""
    study = study_for_lead(request, name)
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
        "most": subscriptions.MAX_WEBHOOKS,
    }
    return render(request, "annotation/webhooks/webhooks.html", context, status=422 if form.errors else 200)


@require_http_methods(["GET", "HEAD", "POST"])
def webhook(request: LoggedIn, name: str, pk: int) -> HttpResponse:
    """GET shows one webhook with its messages; POST changes its events."""
    study = study_for_lead(request, name)
    found = get_object_or_404(Webhook, study=study, pk=pk)
    if request.method != "POST":
        return _page(request, study, found)
    form = EventsForm(request.POST)
    if not form.is_valid():
        return _page(request, study, found, form=form)
    subscriptions.change_events(webhook=found, events=form.cleaned_data["events"], by=request.user)
    messages.success(request, _("The events were changed."))
    return redirect("webhook", name=name, pk=pk)


@require_POST
def webhook_action(request: LoggedIn, name: str, pk: int, action: str) -> HttpResponse:
    """Send a test message, change the secret, disable, enable or delete."""
    study = study_for_lead(request, name)
    found = get_object_or_404(Webhook, study=study, pk=pk)
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
    elif action == "disable":
        if subscriptions.switch(webhook=found, on=False, by=request.user):
            messages.success(
                request, _("The webhook is disabled. Nothing is sent until you enable it again.")
            )
    elif action == "enable":
        if subscriptions.switch(webhook=found, on=True, by=request.user):
            messages.success(request, _("The webhook is enabled. Messages are sent again."))
    else:
        raise Http404
    return redirect("webhook", name=name, pk=pk)


@require_POST
def redeliver(request: LoggedIn, name: str, pk: int, delivery: int) -> HttpResponse:
    """Send one message again."""
    found = get_object_or_404(Webhook, study=study_for_lead(request, name), pk=pk)
    message = get_object_or_404(queries.messages(found), pk=delivery)
    try:
        deliveries.redeliver(delivery=message)
    except subscriptions.WebhookRefused as refused:
        messages.warning(request, str(refused))
    else:
        messages.success(request, _("The message will be sent again, under the same key."))
    return redirect("webhook", name=name, pk=pk)


def _page(
    request: LoggedIn, study: Study, found: Webhook, *, secret: str = "", form: EventsForm | None = None
) -> HttpResponse:
    form = form or EventsForm(initial={"events": found.events})
    page = Paginator(queries.messages(found), 50).get_page(request.GET.get("page", "1"))
    context = {
        "study": study,
        "webhook": found,
        "secret": secret,
        "form": form,
        "page": page,
        "messages_sent": [(message, deliveries.body(message).decode()) for message in page.object_list],
        "tries": deliveries.MAX_ATTEMPTS,
        "kept": deliveries.RETENTION.days,
    }
    return render(request, "annotation/webhooks/webhook.html", context, status=422 if form.errors else 200)
