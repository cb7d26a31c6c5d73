"""How each kind of run handles a batch: read the inputs, run the model, store the files, write the rows."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from django.core.files.storage import default_storage
from django.db import transaction
from django.db.models import BigIntegerField, F, Max, OuterRef, QuerySet, Subquery
from django.db.models.functions import Cast
from django.utils import timezone
from PIL import Image as PillowImage

from annotation.core.code_version import code_version
from annotation.core.leases import Claim
from annotation.images import files as image_files
from annotation.models import Image
from generation.backends.base import About, GeneratedImage, ImageRequest, Pixels, ScoredCaption
from generation.core import vectors
from generation.jobs import png
from generation.models import Caption, Embedding, Job, Provenance, Run, RunState, TextEmbedding
from generation.recipes.recipes import Recipe

_DECODED_BYTES = 2**30  # for the images of one claim; two claims are in memory at a time
_BYTES_A_PIXEL = 3


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
    job_values: Mapping[str, Any] = {}
    """What a job that is done gets besides its state."""

    def __init__(self, run: Run, recipe: Recipe, model: Any) -> None:
        self._run, self._model = run, model
        self._recipe: Any = recipe

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


@dataclass(frozen=True)
class StoredImage:
    """The file of an image, and what made it."""

    name: str
    sha256: str
    width: int
    height: int
    flagged: bool | None
    about: About


class ImageHandler(JobHandler):
    """Images of groups. A job that already has its image makes a lost file again, byte for byte."""

    def __init__(self, run: Run, recipe: Recipe, model: Any) -> None:
        super().__init__(run, recipe, model)
        # Read here, because the threads must not use the database.
        self._code = code_version()
        created = Image.objects.filter(
            image_set_id=run.image_set_id, group=OuterRef("group"), index=OuterRef("index")
        )
        self.job_values = {"image": Subquery(created.values("pk")[:1])}

    def read(self, job: Job) -> ImageRequest:
        assert job.seed is not None, "a database constraint"
        return ImageRequest(job.prompt, job.seed)

    def run(self, inputs: Sequence[ImageRequest]) -> Sequence[tuple[GeneratedImage, About]]:
        images = self._model.generate(inputs)
        # The description may change while these files are being stored, if the next batch runs out of memory.
        return [(image, self._model.about) for image in images]

    async def ask(self, model_input: ImageRequest) -> tuple[GeneratedImage, About]:
        return await self._model.generate(model_input), self._model.about

    def store(self, job: Job, output: tuple[GeneratedImage, About]) -> StoredImage:
        image, about = output
        data = png.encode(image.pixels, self._origin(job, about))
        if job.image is not None and job.image.sha256 and image_files.digest(data) != job.image.sha256:
            raise JobRefused(
                "The image differs from the one that was judged, so nothing was replaced. Make it again on "
                "the device and with the library versions named in its history."
                + (
                    ""
                    if self._recipe.repeatable
                    else " Its recipe is not repeatable: on a graphics card an image that is made again may "
                    "differ even so."
                )
            )
        name, sha256 = image_files.store(data)
        return StoredImage(name, sha256, image.pixels.width, image.pixels.height, image.flagged, about)

    def create_rows(self, results: Sequence[JobResult]) -> None:
        fresh = [one for one in results if one.job.image_id is None]
        images = Image.objects.bulk_create([self._image(one.job, one.output) for one in fresh])
        now = timezone.now()
        Provenance.objects.bulk_create(
            Provenance(
                image=image,
                run=self._run,
                prompt_set=one.job.prompt_set,
                attribute_id=one.job.attribute_id,
                seed=one.job.seed,
                recipe_hash=self._run.recipe_hash,
                model=one.output.about.model,
                revision=one.output.about.revision,
                libraries=dict(one.output.about.libraries),
                device=one.output.about.device,
                code_revision=self._code,
                flagged=one.output.flagged,
                seconds=one.seconds,
                made_at=now,
            )
            for one, image in zip(fresh, images, strict=True)
        )

    def _image(self, job: Job, stored: StoredImage) -> Image:
        assert job.group_id is not None, "a database constraint"
        assert self._run.image_set_id is not None, "a database constraint"
        return Image(
            image_set_id=self._run.image_set_id,
            group_id=job.group_id,
            prompt=job.prompt,
            index=job.index,
            width=stored.width,
            height=stored.height,
            file=stored.name,
            sha256=stored.sha256,
        )

    def _origin(self, job: Job, about: About) -> png.Origin:
        """How the image was made; for a lost file, how it was made the first time."""
        assert job.seed is not None, "a database constraint"
        first: Provenance | None = getattr(job.image, "provenance", None)
        made_by = first or about
        return png.Origin(
            prompt=job.prompt,
            seed=job.seed,
            recipe=self._run.recipe_hash,
            model=made_by.model,
            revision=made_by.revision,
            libraries=made_by.libraries,
            device=made_by.device,
            code=first.code_revision if first else self._code,
        )


class ImageReader(JobHandler):
    """Reads an existing image."""

    def read(self, job: Job) -> Any:
        image = job.image
        assert image is not None, "a database constraint"
        if not image.file.name:
            raise JobRefused("This installation has only a reference to this image, not its file.")
        try:
            with default_storage.open(image.file.name) as file, PillowImage.open(file) as picture:
                return self.prepare(picture)
        except FileNotFoundError as error:
            raise JobRefused(
                f"The file {image.file.name} is missing. `manage.py verify` can make it again."
            ) from error
        except (PillowImage.UnidentifiedImageError, SyntaxError) as error:
            raise JobRefused(
                f"The file {image.file.name} is not a readable image. Check it with `manage.py verify`."
            ) from error

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
