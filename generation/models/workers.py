"""Who works, and when they were last heard of."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import F, Q


class Worker(models.Model):
    """A worker process that reports while it lives (jobs/services/workers.py), whether or not there is work.

    `device`, with its memory in bytes, is the accelerator that a model of this process is on; empty without
    one. `memory_used` is what all processes use of it.
    """

    name = models.CharField(max_length=200, unique=True, help_text="Host, process and queue.")
    host = models.CharField(max_length=120)
    queue = models.CharField(max_length=20)
    version = models.CharField(max_length=80, blank=True)
    started_at = models.DateTimeField()
    seen_at = models.DateTimeField()
    device = models.CharField(max_length=80, blank=True)
    memory_used = models.PositiveBigIntegerField(null=True)
    memory_total = models.PositiveBigIntegerField(null=True)

    class Meta:
        ordering = ["queue", "name"]
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=Q(device="", memory_used__isnull=True, memory_total__isnull=True)
                | (
                    ~Q(device="")
                    & Q(memory_used__isnull=False, memory_total__isnull=False)
                    & Q(memory_used__lte=F("memory_total"))
                ),
                name="worker_memory_of_a_device",
            ),
        ]

    def __str__(self) -> str:
        return self.name


__all__ = ["Worker"]
