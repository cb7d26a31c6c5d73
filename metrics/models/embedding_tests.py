"""Files of embedding association tests (PROTOCOL §12)."""

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q

from annotation.models import ImageSet


class EmbeddingTestFile(models.Model):
    """A file of tests on the embeddings of an image set.

    `text`: the file, as TOML (metrics/embedding_tests/test_file.py). `reference`: the table that it ranks
    images against, as CSV; empty without a ranking. `variables`: a table of other variables by region, as
    CSV, that the ranking is correlated with; empty without one.
    """

    name = models.SlugField(max_length=80, unique=True)
    image_set = models.ForeignKey(ImageSet, on_delete=models.CASCADE, related_name="embedding_test_files")
    text = models.TextField()
    reference = models.TextField(blank=True)
    variables = models.TextField(blank=True, default="", db_default="")
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    changed_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["name"]
        constraints: ClassVar = [
            models.CheckConstraint(condition=~Q(text=""), name="embeddingtestfile_has_text"),
        ]

    def __str__(self) -> str:
        return self.name
