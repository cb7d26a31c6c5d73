"""Runs and jobs, and the images, captions and embeddings they made (DESIGN §3, §6)."""

from generation.models.products import Caption, Embedding, Provenance
from generation.models.runs import BatchSize, Job, Run, RunKind, RunState
from generation.models.workers import Worker

__all__ = ["BatchSize", "Caption", "Embedding", "Job", "Provenance", "Run", "RunKind", "RunState", "Worker"]
