"""Images of groups: made from prompts, or from prompts and initial images."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import OuterRef, Subquery
from django.utils import timezone

from annotation.core.code_version import code_version
from annotation.images import files as image_files
from annotation.models import Image
from generation.backends.base import About, GeneratedImage, ImageRequest
from generation.core.initial_images import fitted
from generation.jobs import png
from generation.jobs.services.handlers import JobHandler, JobRefused, JobResult, open_picture
from generation.models import Job, Provenance, Run
from generation.recipes.recipes import Recipe
from generation.recipes.series import series_place


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
        self._initials: dict[tuple[int | None, int], tuple[str, str]] = {}

    def claimed(self, jobs: Sequence[Job]) -> None:
        """Look up the initial images of `jobs`: (group, index) -> file and hash."""
        if not self._recipe.initial:
            return
        wanted = {self._initial_of(job) for job in jobs}
        images = Image.objects.filter(
            image_set__name=self._recipe.initial,
            group__in={group for group, _ in wanted},
            index__in={index for _, index in wanted},
        ).exclude(file="")
        rows = images.values_list("group", "index", "file", "sha256")
        self._initials.update({(group, index): (name, sha) for group, index, name, sha in rows})

    def read(self, job: Job) -> ImageRequest:
        assert job.seed is not None, "a database constraint"
        if not self._recipe.initial:
            return ImageRequest(job.prompt, job.seed)
        name, _ = self._file_of_initial(job)
        size = {"width": self._recipe.width, "height": self._recipe.height}
        initial = open_picture(name, lambda picture: fitted(picture, **size))
        place = series_place(self._recipe, job.number)
        return ImageRequest(job.prompt, job.seed, initial, place.strength)

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

    def _initial_of(self, job: Job) -> tuple[int | None, int]:
        """Group and index of the image that the job begins with."""
        return job.group_id, series_place(self._recipe, job.number).initial_index

    def _file_of_initial(self, job: Job) -> tuple[str, str]:
        """Its file and hash. Raises JobRefused."""
        group, index = self._initial_of(job)
        if (group, index) not in self._initials:
            raise JobRefused(
                f"The initial image, number {index} of its group in the set '{self._recipe.initial}', has no "
                "file in this installation. Import its file, and try the job again; or cancel the run."
            )
        return self._initials[group, index]

    def _origin(self, job: Job, about: About) -> png.Origin:
        """How the image was made; for a lost file, how it was made the first time."""
        assert job.seed is not None, "a database constraint"
        first: Provenance | None = getattr(job.image, "provenance", None)
        made_by = first or about
        series = self._recipe.initial
        return png.Origin(
            prompt=job.prompt,
            seed=job.seed,
            recipe=self._run.recipe_hash,
            model=made_by.model,
            revision=made_by.revision,
            libraries=made_by.libraries,
            device=made_by.device,
            code=first.code_revision if first else self._code,
            initial=self._file_of_initial(job)[1] if series else "",
            strength=series_place(self._recipe, job.number).strength if series else None,
        )
