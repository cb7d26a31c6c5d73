"""Runs and jobs, and what they made: images, captions, embeddings, answers (DESIGN §3, §6)."""

from generation.models.products import Answer, Caption, Embedding, Provenance, TextEmbedding
from generation.models.runs import ASKINGS, BatchSize, Job, Run, RunKind, RunState
from generation.models.workers import Worker
from generation.recipes.recipes import IMPORTED

__all__ = [
    "ASKINGS",
    "IMPORTED",
    "Answer",
    "BatchSize",
    "Caption",
    "Embedding",
    "Job",
    "Provenance",
    "Run",
    "RunKind",
    "RunState",
    "TextEmbedding",
    "Worker",
]
