"""Images: published, uploaded or generated (DESIGN §2, §3)."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import Q

from annotation.models.catalogue import IdentityGroup


class ImageSet(models.Model):
    """Images that were made or published together, e.g. "ViSAGe release"."""

    name = models.SlugField(max_length=80, unique=True)
    title = models.CharField(max_length=200)
    model_name = models.CharField(
        max_length=200, blank=True, help_text="The text-to-image model, where known."
    )
    licence = models.CharField(max_length=80, blank=True)
    drawn = models.BooleanField(default=False, help_text="Drawn sample pictures, not a model's output.")

    def __str__(self) -> str:
        return self.title


class Image(models.Model):
    """One image of an identity group. It has a file here or a reference to an external one."""

    image_set = models.ForeignKey(ImageSet, on_delete=models.CASCADE, related_name="images")
    group = models.ForeignKey(IdentityGroup, on_delete=models.PROTECT, related_name="images")
    prompt = models.CharField(max_length=500, blank=True)
    index = models.PositiveIntegerField(help_text="Number of the image within its set and group, from 1.")
    width = models.PositiveIntegerField(help_text="pixels")
    height = models.PositiveIntegerField(help_text="pixels")
    file = models.FileField(upload_to="images/", max_length=200, blank=True)
    sha256 = models.CharField(max_length=64, blank=True)
    reference = models.CharField(max_length=500, blank=True, help_text="Where the image is kept outside.")

    class Meta:
        ordering = ["group__name", "index"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["image_set", "group", "index"], name="image_unique_in_set"),
            models.CheckConstraint(condition=~Q(file="") | ~Q(reference=""), name="image_file_or_reference"),
            models.CheckConstraint(
                condition=Q(file="") | Q(sha256__regex=r"^[0-9a-f]{64}$"), name="image_file_has_sha256"
            ),
            models.CheckConstraint(condition=Q(width__gt=0, height__gt=0), name="image_has_size"),
            models.CheckConstraint(condition=Q(index__gt=0), name="image_index_from_one"),
        ]

    def __str__(self) -> str:
        return f"{self.group} {self.index}"
