"""The results of jobs: how an image was made, captions, embeddings of images and texts, answers of models."""

from typing import ClassVar

from django.db import models
from django.db.models import Q

from annotation.models import Attribute, Image
from generation.models.runs import PROMPT_SET_CHOICES, Job, Run
from generation.recipes.checks import LONGEST_TEXT
from generation.recipes.recipes import WITHOUT_SEED


class Provenance(models.Model):
    """How an image was made: what is needed to repeat it, or what is known of an uploaded image.

    For images generated here `run` and `seed` are set. For uploaded images (models behind an API, other
    people's files) `run` is null and the other fields come from their CSV.
    """

    image = models.OneToOneField(Image, on_delete=models.CASCADE, related_name="provenance")
    run = models.ForeignKey(Run, on_delete=models.PROTECT, null=True, related_name="provenances")
    prompt_set = models.CharField(max_length=20, choices=PROMPT_SET_CHOICES, blank=True)
    attribute = models.ForeignKey(Attribute, on_delete=models.PROTECT, null=True, related_name="+")
    seed = models.PositiveBigIntegerField(null=True)
    recipe_hash = models.CharField(max_length=64, blank=True)
    model = models.CharField(max_length=200, blank=True)
    revision = models.CharField(max_length=80, blank=True)
    libraries = models.JSONField(default=dict, blank=True, help_text="Name -> version.")
    device = models.CharField(max_length=120, blank=True)
    code_revision = models.CharField(max_length=80, blank=True)
    flagged = models.BooleanField(
        null=True, help_text="The safety checker's verdict; null: it was not asked."
    )
    seconds = models.FloatField(null=True, help_text="Model time, its share of the batch.")
    made_at = models.DateTimeField(null=True)
    note = models.TextField(blank=True)

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=Q(prompt_set="") | Q(prompt_set__in=[name for name, _ in PROMPT_SET_CHOICES]),
                name="provenance_prompt_set_known",
            ),
            models.CheckConstraint(
                condition=Q(run__isnull=True) | Q(seed__isnull=False, recipe_hash__regex=r"^[0-9a-f]{64}$"),
                name="provenance_of_a_run_is_whole",
            ),
        ]
        indexes: ClassVar = [models.Index(fields=["prompt_set", "attribute"], name="provenance_by_prompts")]

    def __str__(self) -> str:
        return f"{self.model} {self.seed}"

    @property
    def seed_was_sent(self) -> bool:
        """Whether the seed had a part in the image. A server that takes none was asked without it."""
        return self.run is None or self.run.backend not in WITHOUT_SEED


class Caption(models.Model):
    """A caption of an image, best first (PROTOCOL §8)."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="captions")
    image = models.ForeignKey(Image, on_delete=models.CASCADE, related_name="captions")
    rank = models.PositiveSmallIntegerField(help_text="From 1, the captioner's best.")
    text = models.TextField()
    score = models.FloatField(null=True, help_text="The captioner's own, higher is better.")

    class Meta:
        ordering = ["image", "rank"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["run", "image", "rank"], name="caption_unique_rank"),
            models.CheckConstraint(condition=Q(rank__gte=1), name="caption_rank_from_one"),
            models.CheckConstraint(condition=~Q(text=""), name="caption_has_text"),
        ]

    def __str__(self) -> str:
        return self.text


class Embedding(models.Model):
    """The unit vector of an image: `dim` little-endian float32, 4 * dim bytes (core/vectors.py)."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="embeddings")
    image = models.ForeignKey(Image, on_delete=models.CASCADE, related_name="embeddings")
    dim = models.PositiveIntegerField()
    vector = models.BinaryField()

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["run", "image"], name="embedding_unique_image"),
            models.CheckConstraint(condition=Q(dim__gte=1), name="embedding_dim_from_one"),
        ]

    def __str__(self) -> str:
        return f"{self.image_id} ({self.dim})"


class TextEmbedding(models.Model):
    """The unit vector of a text, by the encoder of the run's images; stored as that of an image."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="text_embeddings", db_index=False)
    text = models.CharField(max_length=LONGEST_TEXT)
    dim = models.PositiveIntegerField()
    vector = models.BinaryField()

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["run", "text"], name="textembedding_unique_text"),
            models.CheckConstraint(condition=Q(dim__gte=1), name="textembedding_dim_from_one"),
            models.CheckConstraint(condition=~Q(text=""), name="textembedding_has_text"),
        ]

    def __str__(self) -> str:
        return f"{self.text} ({self.dim})"


class Answer(models.Model):
    """What a model answered to one asking. What was asked stands in its job.

    For a classification `text` is the likeliest label and `probabilities` maps each label to its probability.
    `extra` also holds the `reason` that a server gives when its filter withholds an answer.
    Nothing here is a person's judgement (PROTOCOL §16).
    """

    job = models.OneToOneField(Job, on_delete=models.CASCADE, primary_key=True, related_name="answer")
    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="answers", db_index=False)
    text = models.TextField(blank=True)
    ended = models.CharField(max_length=40, blank=True, help_text="Why it ended: stop, length, filter ...")
    tokens_in = models.PositiveIntegerField(null=True)
    tokens_out = models.PositiveIntegerField(null=True)
    seconds = models.FloatField(
        null=True, help_text="Model time: its share of a batch, or until a server answered."
    )
    probabilities = models.JSONField(null=True, help_text="Label -> probability, of a classification.")
    extra = models.JSONField(
        default=dict, blank=True, help_text="Further fields of an answer that was made elsewhere."
    )

    class Meta:
        ordering = ["job"]
        indexes: ClassVar = [
            models.Index(fields=["run", "job"], name="answer_of_run"),
            models.Index(fields=["run", "ended", "job"], name="answer_by_ending"),
        ]

    def __str__(self) -> str:
        return self.text[:200]
