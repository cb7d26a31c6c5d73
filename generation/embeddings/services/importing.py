"""Bring in embeddings that were made elsewhere, as a finished run of an image set (docs/generation.md).

Everything is checked before anything is stored; then all of it is stored in one transaction.
"""

import logging
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import Max
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.core.code_version import code_version
from annotation.core.leases import JobState
from annotation.imports.services.catalogue import Progress, ensure_groups
from annotation.models import AuditEvent, Axis, Image, ImageSet
from generation.core import vectors
from generation.core.file_errors import MOST_SHOWN, FileUnusable
from generation.embeddings import vector_files
from generation.embeddings.services.matching import matched_images, unknown_groups
from generation.embeddings.vector_files import VectorFile
from generation.models import (
    IMPORTED,
    Embedding,
    Job,
    Run,
    RunKind,
    RunState,
    TextEmbedding,
)
from generation.plans.askings import shortened
from generation.plans.queries.image_sets import check_name
from generation.recipes.checks import LONGEST_TEXT, require
from generation.recipes.recipes import VERSION, digest_of

logger = logging.getLogger(__name__)

_CHUNK = 2000
_LONGEST = {"names": 500, "groups": 120, "texts": LONGEST_TEXT}
"""Characters, as the database stores them."""


@dataclass(frozen=True)
class TargetSet:
    """The image set. `title` and `licence` are for a new one; `axis` and `new_groups` for its groups."""

    name: str
    title: str = ""
    licence: str = ""
    axis: str = Axis.NATIONALITY
    new_groups: bool = False


@dataclass(frozen=True)
class ImportedEmbeddings:
    """`added`: whether the run is new. `images`, `texts`: of the file; `created`: images that the set did not
    have. `others`: earlier imported runs of the set by this encoder. `ignored`: arrays that were not read."""

    run: Run
    encoder: str
    images: int = 0
    texts: int = 0
    created: int = 0
    added: bool = False
    others: tuple[int, ...] = ()
    ignored: tuple[str, ...] = ()

    def summary(self) -> list[str]:
        """The result, in sentences."""
        words = {
            "run": self.run.pk,
            "set": self.run.about,
            "encoder": self.encoder,
            "images": f"{self.images:,}",
            "texts": f"{self.texts:,}",
            "created": f"{self.created:,}",
            "others": ", ".join(map(str, self.others)),
            "arrays": ", ".join(self.ignored),
        }
        if not self.added:
            said = _("Nothing to do: run %(run)s has the embeddings of this file, by '%(encoder)s'.") % words
            return [said]
        lines = [_("Run %(run)s: embeddings of %(images)s images and %(texts)s texts, by '%(encoder)s'.")]
        if self.created:
            lines.append(
                _("Added to the set '%(set)s': %(created)s images, without files and of unknown size.")
            )
        if self.others:
            lines.append(
                _(
                    "The set has other imported embeddings by this encoder: run %(others)s. They stay; the "
                    "newest run is used unless another is named."
                )
            )
        if self.ignored:
            lines.append(_("Arrays that were not read: %(arrays)s."))
        return [line % words for line in lines]


def import_embeddings(
    *,
    path: Path,
    target: TargetSet,
    encoder: str,
    by: User | None = None,
    progress: Progress = lambda step, done, total: None,
) -> ImportedEmbeddings:
    """Store the embeddings of an NPZ file as a finished run of `target` by `encoder`.

    Names of images are those of a set that has files; in a new set, or one that an earlier import made, an
    image is created for each new name. The same file again changes nothing.

    Raises FileUnusable for a file with errors, PlanRefused for the set's name, RecipeRefused for the
    encoder's; nothing is stored then.
    """
    encoder = encoder.strip()
    require(bool(encoder) and len(encoder) <= 200, "model", "name the encoder, in 200 characters")
    check_name(target.name)
    recipe = {
        "kind": RunKind.EMBEDDINGS.value,
        "version": VERSION,
        "backend": IMPORTED,
        "model": encoder,
        "file": vector_files.digest(path),
    }
    recipe_hash = digest_of(recipe, image_set=target.name)
    if (run := _existing(recipe_hash)) is not None:
        return ImportedEmbeddings(run, encoder)
    content = vector_files.read(path, longest=_LONGEST)
    write = _Import(path, content, target, recipe, recipe_hash, by, progress)
    try:
        return write.store()
    except IntegrityError:
        # Somebody has imported the same file since we looked, or created the same group.
        run = _existing(recipe_hash)
        return write.store() if run is None else ImportedEmbeddings(run, encoder)


def _existing(recipe_hash: str) -> Run | None:
    return Run.objects.select_related("image_set").filter(recipe_hash=recipe_hash).first()


@dataclass(frozen=True)
class _Import:
    """What is stored: the content of the file, for which set, as which run."""

    path: Path
    content: VectorFile
    target: TargetSet
    recipe: Mapping[str, Any]
    recipe_hash: str
    by: User | None
    progress: Progress

    @transaction.atomic
    def store(self) -> ImportedEmbeddings:
        """Raises FileUnusable if the names or groups do not fit the set, and IntegrityError."""
        encoder, content = self.recipe["model"], self.content
        image_set = self._lock_image_set()
        known = self._known_images(image_set)
        others = Run.objects.filter(image_set=image_set, kind=RunKind.EMBEDDINGS, backend=IMPORTED)
        earlier = others.filter(recipe__model=encoder).order_by("pk").values_list("pk", flat=True)
        result = ImportedEmbeddings(
            run=self._run(image_set),
            encoder=encoder,
            images=len(content.names),
            texts=len(content.texts),
            created=known.count(None),
            added=True,
            others=tuple(earlier),
            ignored=content.ignored,
        )
        images = self._with_created(image_set, known)
        result.run.save(force_insert=True)
        _write_images(result.run, images, content, self.progress)
        _write_texts(result.run, content)
        numbers = {"images": result.images, "texts": result.texts, "created": result.created}
        AuditEvent.objects.create(
            what="embeddings imported",
            by=self.by,
            details={"run": result.run.pk, "set": image_set.name, "model": encoder, **numbers},
        )
        logger.info("%s embeddings imported into run %s", result.images, result.run.pk)
        return result

    def _lock_image_set(self) -> ImageSet:
        """The set; a second import at the same time waits here, and then finds the images of the first."""
        title = self.target.title or self.target.name
        defaults = {"title": title, "licence": self.target.licence}
        ImageSet.objects.get_or_create(name=self.target.name, defaults=defaults)
        return ImageSet.objects.select_for_update(no_key=True).get(name=self.target.name)

    def _known_images(self, image_set: ImageSet) -> list[int | None]:
        """The id of each image of the file; None for those to be created."""
        found, errors = matched_images(image_set, self.content)
        if None in found and not errors and not self.target.new_groups:
            missing = [row for row, pk in enumerate(found) if pk is None]
            errors = unknown_groups(self.content, missing, axis=self.target.axis)
        if errors:
            raise FileUnusable(self.path, errors[:MOST_SHOWN], len(errors))
        return found

    def _with_created(self, image_set: ImageSet, known: Sequence[int | None]) -> list[int]:
        """The images' ids, in the order of the file, after those that were missing are created."""
        new = [row for row, pk in enumerate(known) if pk is None]
        if not new:
            return [pk for pk in known if pk is not None]
        rows = {self.content.groups[row]: row for row in reversed(new)}
        groups = ensure_groups(first_rows=rows, axis=Axis(self.target.axis), file=self.path.name).keys
        last: dict[int, int] = defaultdict(int)
        last.update(image_set.images.order_by().values_list("group").annotate(Max("index")))
        created: dict[int, Image] = {}
        for row in new:
            group = groups[self.content.groups[row]]
            last[group] += 1
            created[row] = Image(
                image_set=image_set,
                group_id=group,
                index=last[group],
                width=0,
                height=0,
                reference=self.content.names[row],
            )
        Image.objects.bulk_create(created.values(), batch_size=_CHUNK)
        return [created[row].pk if pk is None else pk for row, pk in enumerate(known)]

    def _run(self, image_set: ImageSet) -> Run:
        now = timezone.now()
        made_with = {
            "model": self.recipe["model"],
            "revision": "",
            "device": "",
            "libraries": {},
            "code": code_version(),
            "file": self.path.name,
            "since": now.isoformat(timespec="seconds"),
        }
        return Run(
            kind=RunKind.EMBEDDINGS,
            state=RunState.DONE,
            image_set=image_set,
            backend=IMPORTED,
            recipe=dict(self.recipe),
            recipe_hash=self.recipe_hash,
            made_with=[made_with],
            created_by=self.by,
            started_at=now,
            finished_at=now,
        )


def _write_images(run: Run, images: Sequence[int], content: VectorFile, progress: Progress) -> None:
    dim, now = content.vectors.shape[1], timezone.now()
    for start in range(0, len(images), _CHUNK):
        part = images[start : start + _CHUNK]
        Job.objects.bulk_create(
            Job(run=run, image_id=image, state=JobState.DONE, finished_at=now) for image in part
        )
        Embedding.objects.bulk_create(
            Embedding(run=run, image_id=image, dim=dim, vector=vectors.pack(vector))
            for image, vector in zip(part, content.vectors[start : start + _CHUNK], strict=True)
        )
        progress(_("images"), start + len(part), len(images))


def _write_texts(run: Run, content: VectorFile) -> None:
    dim, now = content.text_vectors.shape[1], timezone.now()
    Job.objects.bulk_create(
        (
            Job(run=run, key=shortened(text), prompt=text, number=1, state=JobState.DONE, finished_at=now)
            for text in content.texts
        ),
        batch_size=_CHUNK,
    )
    TextEmbedding.objects.bulk_create(
        (
            TextEmbedding(run=run, text=text, dim=dim, vector=vectors.pack(vector))
            for text, vector in zip(content.texts, content.text_vectors, strict=True)
        ),
        batch_size=_CHUNK,
    )
