"""A webhook and who delivers to it, each a process of its own: python -m tests.processes.messengers ..."""

import json
import os
import sys
from datetime import timedelta

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "visage_app.settings")
django.setup()

from django.utils import timezone  # noqa: E402

from annotation.models import Delivery  # noqa: E402
from annotation.studies.services import studies  # noqa: E402
from annotation.webhooks.services import deliveries, subscriptions  # noqa: E402
from tests import factories  # noqa: E402


def make(url: str) -> None:
    """A study that has just been paused, and an address that is to be told."""
    study = factories.rating_study(name="told")
    subscriptions.add(study=study, url=url, events=["study.paused"], by=factories.user())
    studies.change_status(study=study, to="paused", by=None)


def deliver(seconds: str) -> None:
    """Send what waits, as if it were so many seconds later; how many were tried."""
    print(json.dumps(deliveries.deliver_pending(now=timezone.now() + timedelta(seconds=float(seconds)))))


def show() -> None:
    message = Delivery.objects.get()
    print(json.dumps({"state": message.state, "attempts": message.attempts, "key": str(message.key)}))


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
