"""How askings are handled: read the question, ask the model, write the answers (handlers.py)."""

import math
from collections.abc import Mapping, Sequence
from threading import Lock
from typing import Any
from weakref import WeakValueDictionary

from django.db.models import F
from PIL import Image as PillowImage

from annotation.core.leases import Claim
from generation.backends.base import Question, Reply, TextPair
from generation.core.texts import storable
from generation.jobs.services.handlers import (
    CaptionHandler,
    EmbeddingHandler,
    ImageReader,
    JobHandler,
    JobResult,
)
from generation.jobs.services.image_handler import ImageHandler
from generation.models import Answer, Job, Run, RunKind
from generation.recipes.recipes import Recipe

_CHARACTERS_A_TOKEN = 4
_LOCKS = 64
"""More than there are reading threads, so that they seldom wait for a picture that is not theirs."""


class _AnswerWriter(JobHandler):
    """Writes answers. All jobs of a batch are marked as done in one query."""

    def finish(self, claim: Claim[Job], results: Sequence[JobResult]) -> None:
        claim.finish([one.job.pk for one in results])


class CompletionHandler(_AnswerWriter):
    """Questions in text."""

    opens_files = False

    def read(self, job: Job) -> Question:
        return Question(job.prompt, _seed(job))

    def run(self, inputs: Sequence[Question]) -> Sequence[Reply]:
        replies: Sequence[Reply] = self._model.answer(inputs)
        return replies

    async def ask(self, model_input: Question) -> Reply:
        reply: Reply = await self._model.answer(model_input)
        return reply

    def create_rows(self, results: Sequence[JobResult]) -> None:
        Answer.objects.bulk_create(
            Answer(
                job=one.job,
                run=self._run,
                text=storable(one.output.text),
                ended=storable(one.output.ended)[:40],
                tokens_in=one.output.tokens_in,
                tokens_out=one.output.tokens_out,
                seconds=one.seconds,
                extra={"reason": storable(one.output.reason)} if one.output.reason else {},
            )
            for one in results
        )
        used_in = sum(_tokens(one.output.tokens_in, one.job.prompt) for one in results)
        used_out = sum(_tokens(one.output.tokens_out, one.output.text) for one in results)
        Run.objects.filter(pk=self._run.pk).update(
            tokens_in=F("tokens_in") + used_in, tokens_out=F("tokens_out") + used_out
        )


class DescriptionHandler(CompletionHandler, ImageReader):
    """Questions about images. Those about one image follow each other: it is decoded once for all that are in
    memory at a time."""

    opens_files = True

    def __init__(self, run: Run, recipe: Recipe, model: Any) -> None:
        super().__init__(run, recipe, model)
        self._pictures: WeakValueDictionary[int, PillowImage.Image] = WeakValueDictionary()
        self._decoding = [Lock() for _ in range(_LOCKS)]

    def read(self, job: Job) -> Question:
        assert job.image_id is not None, "a database constraint"
        with self._decoding[job.image_id % _LOCKS]:
            picture = self._pictures.get(job.image_id)
            if picture is None:
                self._pictures[job.image_id] = picture = ImageReader.read(self, job)
        return Question(job.prompt, _seed(job), picture)

    def prepare(self, picture: PillowImage.Image) -> PillowImage.Image:
        return picture.convert("RGB")


class ClassificationHandler(_AnswerWriter):
    """Texts and pairs of texts to classify."""

    def read(self, job: Job) -> TextPair:
        return TextPair(job.prompt, job.text_pair)

    def run(self, inputs: Sequence[TextPair]) -> Sequence[Mapping[str, float]]:
        labels = self._model.labels
        return [dict(zip(labels, one, strict=True)) for one in self._model.classify(inputs)]

    def create_rows(self, results: Sequence[JobResult]) -> None:
        Answer.objects.bulk_create(
            Answer(
                job=one.job,
                run=self._run,
                text=storable(max(one.output, key=one.output.__getitem__)),
                probabilities={storable(label): number for label, number in one.output.items()},
                seconds=one.seconds,
            )
            for one in results
        )


HANDLERS: dict[str, type[JobHandler]] = {
    RunKind.IMAGES: ImageHandler,
    RunKind.CAPTIONS: CaptionHandler,
    RunKind.EMBEDDINGS: EmbeddingHandler,
    RunKind.COMPLETIONS: CompletionHandler,
    RunKind.DESCRIPTIONS: DescriptionHandler,
    RunKind.CLASSIFICATIONS: ClassificationHandler,
}


def _seed(job: Job) -> int:
    assert job.seed is not None, "planning gives every asking one"
    return job.seed


def _tokens(counted: int | None, text: str) -> int:
    """As the server counts; else about so many, so that a limit holds there too."""
    return math.ceil(len(text) / _CHARACTERS_A_TOKEN) if counted is None else counted
