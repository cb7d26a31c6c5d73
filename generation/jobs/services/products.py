"""What the three kinds of run do with a batch: read what it needs, make, keep files, write the rows.

`read` and `keep` run in threads and touch no database; `make` runs where the model is; `complete` writes
all rows of a batch in one transaction, and only for jobs that are still under the claim's key.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol, cast

import numpy as np
import numpy.typing as npt
from django.core.files.storage import default_storage
from django.db import transaction
from django.db.models import BigIntegerField, F, Max, OuterRef, QuerySet, Subquery
from django.db.models.functions import Cast
from django.utils import timezone
from PIL import Image as PillowImage

from annotation.core.code_version import code_version
from annotation.images import files as image_files
from annotation.models import Image
from generation.backends.base import About, Captioner, Encoder, Picture, TextToImage, Wanted, Written
from generation.core import vectors
from generation.jobs import png
from generation.jobs.services.claims import Claimed
from generation.jobs.services.loaded_model import Model
from generation.models import Caption, Embedding, Job, JobState, Provenance, Run, RunKind
from generation.recipes.recipes import CaptionRecipe, Recipe

Vector = npt.NDArray[np.float32]
_DECODED_BYTES = 2**30  # of one claim's images in memory; there are two claims at a time
_BYTES_A_PIXEL = 3


class JobRefused(Exception):
    """Why one job cannot be done, in words for people."""


@dataclass(frozen=True)
class Made:
    """What a job made. `seconds`: model time, the job's share of its batch."""

    job: Job
    product: Any
    seconds: float


class Kind(Protocol):
    most: int
    """Jobs in one claim, at most, whatever the device holds."""

    def read(self, job: Job) -> Any:
        """What the model needs to do the job. Raises JobRefused, OSError."""

    def make(self, inputs: Sequence[Any]) -> Sequence[Any]:
        """One product for each input, in order. Raises OutOfMemory, BackendError."""

    def keep(self, job: Job, product: Any) -> Any:
        """Store the product's file, if it has one; what `complete` needs. Raises JobRefused, OSError."""

    def complete(self, claimed: Claimed, made: Sequence[Made]) -> int:
        """Write the rows of what was kept and end the jobs; returns how many were still the claim's."""


@dataclass(frozen=True)
class Drawn:
    """A picture, and what the model said of itself as it made it: the batch that runs out of memory while
    this one's files are being kept says something else already."""

    picture: Picture
    about: About


@dataclass(frozen=True)
class Kept:
    """A picture's file, and what made it."""

    name: str
    sha256: str
    width: int
    height: int
    flagged: bool | None
    about: About


class Pictures:
    """Pictures of groups. A job that has its image already makes a lost file again, byte for byte."""

    most = sys.maxsize  # what a prompt takes is nothing

    def __init__(self, run: Run, model: TextToImage) -> None:
        self._run, self._model = run, model
        # asked once, here, where there may be a database connection
        self._code = code_version()

    def read(self, job: Job) -> Wanted:
        assert job.seed is not None, "a database constraint"
        return Wanted(job.prompt, job.seed)

    def make(self, inputs: Sequence[Wanted]) -> Sequence[Drawn]:
        pictures = self._model.generate(inputs)
        return [Drawn(picture, self._model.about) for picture in pictures]

    def keep(self, job: Job, product: Drawn) -> Kept:
        pixels = product.picture.pixels
        data = png.encode(pixels, self._origin(job, product.about))
        if job.image is not None and job.image.sha256 and image_files.digest(data) != job.image.sha256:
            raise JobRefused(
                "The picture came out differently from the one that was judged, which stays as it is. Make "
                "it again on the device and with the library versions that its history names."
            )
        name, sha256 = image_files.store(data)
        return Kept(name, sha256, pixels.width, pixels.height, product.picture.flagged, product.about)

    def complete(self, claimed: Claimed, made: Sequence[Made]) -> int:
        now = timezone.now()
        with transaction.atomic():
            mine = _mine(claimed, made)
            fresh = [one for one in mine if one.job.image_id is None]
            images = Image.objects.bulk_create([self._image(one.job, one.product) for one in fresh])
            Provenance.objects.bulk_create(
                Provenance(
                    image=image,
                    run=self._run,
                    prompt_set=one.job.prompt_set,
                    attribute_id=one.job.attribute_id,
                    seed=one.job.seed,
                    recipe_hash=self._run.recipe_hash,
                    model=one.product.about.model,
                    revision=one.product.about.revision,
                    libraries=dict(one.product.about.libraries),
                    device=one.product.about.device,
                    code_revision=self._code,
                    flagged=one.product.flagged,
                    seconds=one.seconds,
                    made_at=now,
                )
                for one, image in zip(fresh, images, strict=True)
            )
            there = Image.objects.filter(
                image_set_id=self._run.image_set_id, group=OuterRef("group"), index=OuterRef("index")
            )
            _end(claimed, fresh, now, image=Subquery(there.values("pk")[:1]))
            again = [one for one in mine if one.job.image_id is not None]
            _end(claimed, again, now)
        return len(mine)

    def _image(self, job: Job, kept: Kept) -> Image:
        assert job.group_id is not None, "a database constraint"
        return Image(
            image_set_id=self._run.image_set_id,
            group_id=job.group_id,
            prompt=job.prompt,
            index=job.index,
            width=kept.width,
            height=kept.height,
            file=kept.name,
            sha256=kept.sha256,
        )

    def _origin(self, job: Job, made_by: About) -> png.Origin:
        """What is known of a picture's making: today's, or, for a lost file, what stood in it."""
        about: Mapping[str, Any] = {
            "model": made_by.model,
            "revision": made_by.revision,
            "libraries": made_by.libraries,
            "device": made_by.device,
            "code": self._code,
        }
        first: Provenance | None = getattr(job.image, "provenance", None)
        if first is not None:
            about = {
                "model": first.model,
                "revision": first.revision,
                "libraries": first.libraries,
                "device": first.device,
                "code": first.code_revision,
            }
        assert job.seed is not None, "a database constraint"
        return png.Origin(prompt=job.prompt, seed=job.seed, recipe=self._run.recipe_hash, **about)


class _OfImages:
    """What captions and embeddings share: both look at an image that is there.

    A graphics card may take 1,024 images at once, each made small; the machine holds two claims of them in
    memory as they were brought, which may be fifty megabytes each.
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        pixels = Cast("width", BigIntegerField()) * F("height")
        largest = Image.objects.filter(jobs__run=run).aggregate(pixels=Max(pixels))
        self.most = max(1, _DECODED_BYTES // (_BYTES_A_PIXEL * (largest["pixels"] or 1)))

    def read(self, job: Job) -> PillowImage.Image:
        image = job.image
        assert image is not None, "a database constraint"
        if not image.file.name:
            raise JobRefused("Only a reference to this image is kept here, not its file.")
        try:
            with default_storage.open(image.file.name) as file, PillowImage.open(file) as picture:
                return picture.convert("RGB")
        except FileNotFoundError as error:
            raise JobRefused(
                f"The file {image.file.name} is missing. `manage.py verify` finds it and can make it again."
            ) from error
        except (PillowImage.UnidentifiedImageError, SyntaxError) as error:
            raise JobRefused(
                f"The file {image.file.name} is no picture that can be read. `manage.py verify` says more."
            ) from error


class Captions(_OfImages):
    def __init__(self, run: Run, model: Captioner, recipe: CaptionRecipe) -> None:
        super().__init__(run)
        self._model, self._recipe = model, recipe

    def make(self, inputs: Sequence[PillowImage.Image]) -> Sequence[list[Written]]:
        return self._model.caption(inputs, count=self._recipe.count, seed=self._recipe.seed)

    def keep(self, job: Job, product: list[Written]) -> list[Written]:
        return product

    def complete(self, claimed: Claimed, made: Sequence[Made]) -> int:
        with transaction.atomic():
            mine = _mine(claimed, made)
            _clear(Caption.objects.filter(run=self._run), mine)
            Caption.objects.bulk_create(
                Caption(run=self._run, image_id=_seen(one), rank=rank, text=said.text, score=said.score)
                for one in mine
                for rank, said in enumerate(one.product, start=1)
            )
            _end(claimed, mine, timezone.now())
        return len(mine)


class Embeddings(_OfImages):
    def __init__(self, run: Run, model: Encoder) -> None:
        super().__init__(run)
        self._model = model

    def make(self, inputs: Sequence[PillowImage.Image]) -> Sequence[Vector]:
        return list(self._model.encode_images(inputs))

    def keep(self, job: Job, product: Vector) -> bytes:
        return vectors.pack(product)

    def complete(self, claimed: Claimed, made: Sequence[Made]) -> int:
        with transaction.atomic():
            mine = _mine(claimed, made)
            _clear(Embedding.objects.filter(run=self._run), mine)
            Embedding.objects.bulk_create(
                Embedding(run=self._run, image_id=_seen(one), dim=self._model.dim, vector=one.product)
                for one in mine
            )
            _end(claimed, mine, timezone.now())
        return len(mine)


def kind_of(run: Run, recipe: Recipe, model: Model) -> Kind:
    """What a run does with its batches."""
    if run.kind == RunKind.IMAGES:
        return Pictures(run, cast(TextToImage, model))
    if run.kind == RunKind.CAPTIONS:
        return Captions(run, cast(Captioner, model), cast(CaptionRecipe, recipe))
    return Embeddings(run, cast(Encoder, model))


def _mine(claimed: Claimed, made: Sequence[Made]) -> list[Made]:
    """What is still the claim's to finish, locked: the fence."""
    rows = claimed.rows([one.job.pk for one in made]).select_for_update().order_by("pk")
    ids = set(rows.values_list("pk", flat=True))
    return [one for one in made if one.job.pk in ids]


def _end(claimed: Claimed, made: Sequence[Made], now: datetime, **values: Any) -> None:
    shares: dict[float, list[int]] = {}
    for one in made:
        shares.setdefault(one.seconds, []).append(one.job.pk)
    for seconds, ids in shares.items():
        claimed.rows(ids).update(
            state=JobState.DONE,
            claim=None,
            lease_expires_at=None,
            error="",
            seconds=seconds,
            finished_at=now,
            **values,
        )


def _clear(rows: QuerySet[Any], made: Sequence[Made]) -> None:
    """Remove what an earlier time left of these images: a job that is done again leaves its last product."""
    rows.filter(image_id__in=[_seen(one) for one in made]).delete()


def _seen(one: Made) -> int:
    """The image that a caption or embedding job looked at."""
    assert one.job.image_id is not None, "a database constraint"
    return one.job.image_id


__all__ = ["JobRefused", "Kind", "Made", "kind_of"]
