"""The workers, and when each last reported."""

from typing import ClassVar

from django.db import models
from django.db.models import F, Q

from generation.models.runs import Run


class Worker(models.Model):
    """A worker process, which reports as long as it runs (jobs/services/workers.py), with or without work.

    `device`, with its memory in bytes, is the GPU that holds the process's model; empty without one.
    `memory_used` counts all processes. `run` is what it works on; `loading_since` is set while it loads that
    run's model. `ill_at` is set when its device failed: then it ends, and `error` says why.
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
    run = models.ForeignKey(Run, on_delete=models.SET_NULL, null=True, related_name="workers", db_index=False)
    loading_since = models.DateTimeField(null=True)
    ill_at = models.DateTimeField(null=True)
    error = models.TextField(blank=True, db_default="", default="")

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
