"""How each kind of run handles a batch: read the inputs, run the model, store the files, write the rows.
Images are made in image_handler.py, and models asked in asking_handlers.py."""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from django.core.files.storage import default_storage
from django.db import transaction
from django.db.models import BigIntegerField, F, Max, QuerySet
from django.db.models.functions import Cast
from PIL import Image as PillowImage

from annotation.core.leases import Claim
from annotation.models import Image
from generation.backends.base import Pixels, ScoredCaption
from generation.core import vectors
from generation.models import Caption, Embedding, Job, Run, RunState, TextEmbedding
from generation.recipes.recipes import Recipe

_DECODED_BYTES = 2**30  # for the images of one claim; two claims are in memory at a time
_BYTES_A_PIXEL = 3
T = TypeVar("T")


class JobRefused(Exception):
    """Why one job cannot be done. People see the message."""


@dataclass(frozen=True)
class JobResult:
    """What a job made. `seconds`: model time, the job's share of its batch."""

    job: Job
    output: Any
    seconds: float


class JobHandler:
    """`read` and `store` run in threads and do not use the database; `run` runs in the model's thread;
    `complete` writes all rows of a batch in one transaction, only for jobs that still carry the claim's key.
    """

    max_jobs = sys.maxsize
    """Jobs in one claim, at most, whatever the device holds."""
    opens_files = True
    """Whether `read` and `store` wait for files, so that requests to a server must not wait for them."""
    job_values: Mapping[str, Any] = {}
    """What a job that is done gets besides its state."""

    def __init__(self, run: Run, recipe: Recipe, model: Any) -> None:
        self._run, self._model = run, model
        self._recipe: Any = recipe

    def claimed(self, jobs: Sequence[Job]) -> None:
        """Read from the database what `read` needs. Called before `read`, in the thread that may use it."""

    def read(self, job: Job) -> Any:
        """The job's input for the model. Raises JobRefused, OSError."""
        raise NotImplementedError

    def run(self, inputs: Sequence[Any]) -> Sequence[Any]:
        """One output for each input, in order. Raises OutOfMemory, BackendError."""
        raise NotImplementedError

    async def ask(self, model_input: Any) -> Any:
        """The output for one input, of a model on a server. Raises Refused, ServerAway, BackendError."""
        raise NotImplementedError

    def store(self, job: Job, output: Any) -> Any:
        """Store the output's file, if it has one; returns what `create_rows` needs. Raises JobRefused,
        OSError."""
        return output

    def create_rows(self, results: Sequence[JobResult]) -> None:
        """Write what the jobs made."""
        raise NotImplementedError

    def finish(self, claim: Claim[Job], results: Sequence[JobResult]) -> None:
        """Mark the jobs as done."""
        shares: dict[float, list[int]] = {}
        for one in results:
            shares.setdefault(one.seconds, []).append(one.job.pk)
        for seconds, ids in shares.items():
            claim.finish(ids, seconds=seconds, **self.job_values)

    def complete(self, claim: Claim[Job], results: Sequence[JobResult]) -> int:
        """Write the rows and mark the jobs as done; returns how many the claim still held."""
        with transaction.atomic():
            rows = claim.held([one.job.pk for one in results]).select_for_update().order_by("pk")
            held = set(rows.values_list("pk", flat=True))
            mine = [one for one in results if one.job.pk in held]
            self.create_rows(mine)
            self.finish(claim, mine)
        if mine and self._run.error:  # it was resumed after this error, which is mended now
            Run.objects.filter(pk=self._run.pk, state=RunState.RUNNING).update(error="")
            self._run.error = ""
        return len(mine)


def open_picture(name: str, prepare: Callable[[PillowImage.Image], T]) -> T:
    """What `prepare` takes of an image's open file. Raises JobRefused, OSError."""
    try:
        with default_storage.open(name) as file, PillowImage.open(file) as picture:
            return prepare(picture)
    except FileNotFoundError as error:
        raise JobRefused(f"The file {name} is missing. `manage.py verify` can make it again.") from error
    except (PillowImage.UnidentifiedImageError, SyntaxError) as error:
        raise JobRefused(
            f"The file {name} is not a readable image. Check it with `manage.py verify`."
        ) from error


class ImageReader(JobHandler):
    """Reads an existing image."""

    def read(self, job: Job) -> Any:
        image = job.image
        assert image is not None, "a database constraint"
        if not image.file.name:
            raise JobRefused("This installation has only a reference to this image, not its file.")
        return open_picture(image.file.name, self.prepare)

    def prepare(self, picture: PillowImage.Image) -> Any:
        """What the model takes of an open file, decoded."""
        raise NotImplementedError


class CaptionHandler(ImageReader):
    """The machine holds two claims of images in memory at their full size, which may be fifty megabytes
    each."""

    def __init__(self, run: Run, recipe: Recipe, model: Any) -> None:
        super().__init__(run, recipe, model)
        pixels = Cast("width", BigIntegerField()) * F("height")
        largest = Image.objects.filter(jobs__run=run).aggregate(pixels=Max(pixels))
        self.max_jobs = max(1, _DECODED_BYTES // (_BYTES_A_PIXEL * (largest["pixels"] or 1)))

    def prepare(self, picture: PillowImage.Image) -> PillowImage.Image:
        return picture.convert("RGB")

    def run(self, inputs: Sequence[PillowImage.Image]) -> Sequence[list[ScoredCaption]]:
        captions: list[list[ScoredCaption]] = self._model.caption(
            inputs, count=self._recipe.count, seed=self._recipe.seed
        )
        return captions

    def create_rows(self, results: Sequence[JobResult]) -> None:
        _delete_previous(Caption.objects.filter(run=self._run), results)
        Caption.objects.bulk_create(
            Caption(run=self._run, image_id=_image_id(one), rank=rank, text=caption.text, score=caption.score)
            for one in results
            for rank, caption in enumerate(one.output, start=1)
        )


class EmbeddingHandler(ImageReader):
    """Images and texts. Only small images are kept. At its full size, each reading thread holds one at a
    time."""

    def read(self, job: Job) -> Pixels | str:
        """The text of a job with a key, else the prepared image."""
        if job.key:
            return job.prompt
        pixels: Pixels = super().read(job)
        return pixels

    def prepare(self, picture: PillowImage.Image) -> Pixels:
        pixels: Pixels = self._model.prepare(picture)
        return pixels

    def run(self, inputs: Sequence[Pixels | str]) -> Sequence[npt.NDArray[np.float32]]:
        texts = [one for one in inputs if isinstance(one, str)]
        images = [one for one in inputs if not isinstance(one, str)]
        of_texts = iter(self._model.encode_texts(texts) if texts else ())
        of_images = iter(self._model.encode_images(images) if images else ())
        return [next(of_texts if isinstance(one, str) else of_images) for one in inputs]

    def store(self, job: Job, output: npt.NDArray[np.float32]) -> bytes:
        return vectors.pack(output)

    def create_rows(self, results: Sequence[JobResult]) -> None:
        images = [one for one in results if not one.job.key]
        texts = [one for one in results if one.job.key]
        _delete_previous(Embedding.objects.filter(run=self._run), images)
        Embedding.objects.bulk_create(
            Embedding(run=self._run, image_id=_image_id(one), dim=self._model.dim, vector=one.output)
            for one in images
        )
        previous = TextEmbedding.objects.filter(run=self._run, text__in=[one.job.prompt for one in texts])
        if texts:
            previous.delete()
        TextEmbedding.objects.bulk_create(
            TextEmbedding(run=self._run, text=one.job.prompt, dim=self._model.dim, vector=one.output)
            for one in texts
        )


def _delete_previous(rows: QuerySet[Any], results: Sequence[JobResult]) -> None:
    """Delete the results of an earlier time, for jobs that are done again."""
    rows.filter(image_id__in=[_image_id(one) for one in results]).delete()


def _image_id(result: JobResult) -> int:
    """The image of a caption or embedding job."""
    assert result.job.image_id is not None, "a database constraint"
    return result.job.image_id
