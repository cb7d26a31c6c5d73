"""A run is one recipe for one image set or one list of prompts; a job is one image, one set of captions, one
embedding or one asking of a model."""

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q

from annotation.core.leases import CLAIM_IFF_CLAIMED, JobState, LeasedJob
from annotation.models import Attribute, IdentityGroup, Image, ImageSet
from generation.recipes.prompts import PromptSet

PROMPT_SET_CHOICES = [(one.value, one.value.replace("_", " ")) for one in PromptSet]


class RunKind(models.TextChoices):
    IMAGES = "images"
    CAPTIONS = "captions"
    EMBEDDINGS = "embeddings"
    COMPLETIONS = "completions"
    DESCRIPTIONS = "descriptions"
    CLASSIFICATIONS = "classifications"


ASKINGS = (RunKind.COMPLETIONS, RunKind.DESCRIPTIONS, RunKind.CLASSIFICATIONS)
"""The kinds of runs that ask models. They have a name, and their jobs have answers."""


class RunState(models.TextChoices):
    """planned -> running <-> paused -> done | cancelled. The transitions are in runs/services.py.

    A run that is done runs again when jobs are added to it or retried.
    """

    PLANNED = "planned"
    RUNNING = "running"
    PAUSED = "paused"
    DONE = "done"
    CANCELLED = "cancelled"


class Run(models.Model):
    """One recipe for one image set, or for the prompts of a named run. The same recipe gives the same run
    (`recipe_hash`, recipes/recipes.py).

    `name`: of a run that asks a model. `image_set`: what it fills or reads; null if it needs no images.
    `limits` (recipes/limits.py) are not part of the recipe: they may change while it runs. `backend` names a
    module of generation/backends. `failures_accepted`: somebody resumed it although most of its jobs fail, so
    it does not pause for that again.
    """

    kind = models.CharField(max_length=16, choices=RunKind)
    name = models.CharField(max_length=80, blank=True, default="", db_default="")
    state = models.CharField(max_length=10, choices=RunState, default=RunState.PLANNED)
    image_set = models.ForeignKey(ImageSet, on_delete=models.PROTECT, null=True, related_name="runs")
    backend = models.CharField(max_length=40)
    recipe = models.JSONField(help_text="Everything that decides what comes out, but for the jobs.")
    recipe_hash = models.CharField(max_length=64, unique=True, help_text="SHA-256 of the canonical recipe.")
    error = models.TextField(blank=True, help_text="Why it paused by itself; empty once it runs again.")
    failures_accepted = models.BooleanField(default=False, db_default=False)
    limits = models.JSONField(
        default=dict,
        db_default=models.Value({}, models.JSONField()),
        blank=True,
        help_text="How much a server may be asked, and its prices.",
    )
    tokens_in = models.PositiveBigIntegerField(default=0, db_default=0)
    tokens_out = models.PositiveBigIntegerField(default=0, db_default=0)
    made_with = models.JSONField(
        default=list,
        db_default=models.Value(
            [], models.JSONField()
        ),  # for the previous version, which still runs during an upgrade
        blank=True,
        help_text="Each way it was made, once: model, revision, device, libraries, code.",
    )
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-created_at", "-pk"]
        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(kind__in=RunKind.values), name="run_kind_known"),
            models.CheckConstraint(condition=Q(state__in=RunState.values), name="run_state_known"),
            models.CheckConstraint(
                condition=Q(recipe_hash__regex=r"^[0-9a-f]{64}$"), name="run_recipe_hash_is_sha256"
            ),
            models.CheckConstraint(
                condition=~Q(state=RunState.RUNNING) | Q(started_at__isnull=False),
                name="run_started_at_once_running",
            ),
            models.UniqueConstraint(fields=["name"], condition=~Q(name=""), name="run_unique_name"),
            models.CheckConstraint(
                condition=Q(kind__in=ASKINGS) & ~Q(name="") | ~Q(kind__in=ASKINGS) & Q(name=""),
                name="run_name_iff_asking",
            ),
            models.CheckConstraint(
                condition=Q(kind__in=(RunKind.COMPLETIONS, RunKind.CLASSIFICATIONS), image_set__isnull=True)
                | Q(kind=RunKind.DESCRIPTIONS)
                | ~Q(kind__in=ASKINGS) & Q(image_set__isnull=False),
                name="run_image_set_of_its_kind",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.get_kind_display()} of {self.title} ({self.recipe_hash[:8]})"

    @property
    def title(self) -> str:
        """The name of a run that asks a model, else the title of its image set."""
        return self.name or str(self.image_set)

    @property
    def about(self) -> str:
        """The name of a run that asks a model, else the name of its image set."""
        return self.name or (self.image_set.name if self.image_set else "")

    @property
    def model(self) -> str:
        """The model in the recipe, or the backend if it names none."""
        return str(self.recipe.get("model") or self.backend)


class BatchSize(models.Model):
    """The batch of a run that fits into one kind of device; there is no row until a worker ran out of
    memory."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="batch_sizes", db_index=False)
    device = models.CharField(max_length=120)
    size = models.PositiveIntegerField()

    class Meta:
        ordering = ["device"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["run", "device"], name="batchsize_unique_device"),
            models.CheckConstraint(condition=Q(size__gte=1), name="batchsize_from_one"),
        ]

    def __str__(self) -> str:
        return f"{self.size} on {self.device}"


class Job(LeasedJob):
    """One image to generate (with its group, prompt and seed), one image to caption or to embed, one text to
    embed, or one asking.

    An asking has a `key`, which says what it is for within its run, a `prompt`, with `text_pair` for the
    second of two texts to classify, and perhaps an `image`. `number`: of the sample, from 1. A text to embed
    is the `prompt` of a job with a `key`.

    `claim` protects against late workers: one whose lease has expired finds another key and writes nothing.
    `attempts` counts attempts that began, so that a job which kills its worker ends as failed.
    `image` is the generated image, or the image to read.
    """

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="jobs")
    group = models.ForeignKey(IdentityGroup, on_delete=models.PROTECT, null=True, related_name="+")
    attribute = models.ForeignKey(
        Attribute, on_delete=models.PROTECT, null=True, related_name="+", help_text="'described as ...'"
    )
    prompt_set = models.CharField(max_length=20, choices=PROMPT_SET_CHOICES, blank=True)
    key = models.CharField(max_length=200, blank=True, default="", db_default="")
    prompt = models.TextField(blank=True)
    text_pair = models.TextField(blank=True, default="", db_default="")
    number = models.PositiveIntegerField(
        default=0, help_text="Number among the samples of one prompt, from 1."
    )
    index = models.PositiveIntegerField(
        default=0, help_text="The picture's number within its set and group, from 1."
    )
    seed = models.PositiveBigIntegerField(null=True)
    image = models.ForeignKey(Image, on_delete=models.CASCADE, null=True, related_name="jobs")
    worker = models.CharField(max_length=200, blank=True, help_text="Host and process that took it last.")
    seconds = models.FloatField(null=True, help_text="Model time, its share of the batch.")

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["run", "group", "prompt", "number"],
                condition=Q(group__isnull=False, key=""),
                name="job_unique_picture",
            ),
            models.UniqueConstraint(
                fields=["run", "group", "index"],
                condition=Q(group__isnull=False, key=""),
                name="job_unique_index",
            ),
            models.UniqueConstraint(
                fields=["run", "image"],
                condition=Q(group__isnull=True, key=""),
                name="job_unique_image",
            ),
            models.UniqueConstraint(
                fields=["run", "key", "number"], condition=~Q(key=""), name="job_unique_asking"
            ),
            models.CheckConstraint(condition=Q(state__in=JobState.values), name="job_state_known"),
            models.CheckConstraint(
                condition=Q(group__isnull=False, seed__isnull=False, number__gte=1, index__gte=1, key="")
                & ~Q(prompt="")
                & Q(prompt_set__in=[name for name, _ in PROMPT_SET_CHOICES])
                | Q(group__isnull=True, seed__isnull=True, image__isnull=False, prompt="", key="")
                | ~Q(key="") & Q(number__gte=1, prompt_set=""),
                name="job_picture_image_or_asking",
            ),
            models.CheckConstraint(condition=CLAIM_IFF_CLAIMED, name="job_claim_iff_claimed"),
            models.CheckConstraint(
                condition=~Q(state=JobState.DONE)
                | Q(finished_at__isnull=False) & (Q(image__isnull=False) | ~Q(key="")),
                name="job_done_has_image_or_key",
            ),
            models.CheckConstraint(
                condition=~Q(state=JobState.FAILED) | ~Q(error=""), name="job_failed_says_why"
            ),
        ]
        indexes: ClassVar = [
            # For claiming (jobs/services/claims.py): pending jobs of a run, and those whose lease has
            # expired.
            models.Index(fields=["run", "id"], condition=Q(state=JobState.PENDING), name="job_pending"),
            models.Index(
                fields=["run", "lease_expires_at"], condition=Q(state=JobState.CLAIMED), name="job_claimed"
            ),
            models.Index(fields=["run", "state"], name="job_by_state"),
            # For monitoring (visage_app/observability/queries/queues.py): recently finished and failed jobs.
            models.Index(fields=["finished_at"], condition=Q(finished_at__isnull=False), name="job_finished"),
            models.Index(fields=["run"], condition=Q(state=JobState.FAILED), name="job_failed"),
        ]

    def __str__(self) -> str:
        return self.prompt[:200] or f"image {self.image_id}"
