"""A Celery worker whose card fails after its first batch: `celery -A tests.processes.sick worker`."""

from __future__ import annotations

from typing import Any

from celery.signals import worker_init

from visage_app.celery import app

__all__ = ["app"]


@worker_init.connect
def _fail(**_: Any) -> None:
    from generation.backends.image_fake import FakeTextToImage

    generate, batches = FakeTextToImage.generate, []

    def failing(self: FakeTextToImage, requests: Any) -> Any:
        batches.append(len(requests))
        if len(batches) > 1:
            raise RuntimeError("CUDA error: an illegal memory access was encountered")
        return generate(self, requests)

    FakeTextToImage.generate = failing  # type: ignore[method-assign]
