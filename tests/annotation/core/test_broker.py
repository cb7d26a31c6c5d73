"""What Celery's workers are told."""

import threading

from celery.signals import worker_shutting_down

from annotation.core import broker


def test_a_worker_that_shuts_down_says_so_to_what_takes_long(monkeypatch):
    monkeypatch.setattr(broker, "worker_stops", threading.Event())
    worker_shutting_down.send(sender=None)
    assert broker.worker_stops.is_set()
