"""Answers: responses, judgements and boxes. Append-only (DESIGN §3)."""

from django.db import models
from django.db.models import CheckConstraint, F, Index, Q, UniqueConstraint

from annotation.models.people import Annotator
from annotation.models.units import Option, Slot, Unit


class Response(models.Model):
    """One annotator's answer to one unit.

    `slot` is null for a surplus answer, which arrived after its slot had been given to another annotator. A
    correction is a new revision; the older one stays, with `current` false. `withdrawn_at` removes a response
    from every score and export. `client_key` makes sending an answer idempotent.
    """

    unit = models.ForeignKey(Unit, on_delete=models.PROTECT, related_name="responses")
    # Keeps its own index although others begin with it: removing it on PostgreSQL, Django would also drop
    # response_one_current_per_slot, the other index of this single column.
    slot = models.ForeignKey(Slot, on_delete=models.PROTECT, null=True, related_name="responses")
    # First column of an index below.
    annotator = models.ForeignKey(
        Annotator, on_delete=models.PROTECT, null=True, related_name="responses", db_index=False
    )
    client_key = models.UUIDField(unique=True)
    task_version = models.PositiveIntegerField()
    revision = models.PositiveIntegerField(default=1)
    current = models.BooleanField(default=True)
    started_at = models.DateTimeField(null=True)
    submitted_at = models.DateTimeField(null=True)
    active_ms = models.PositiveIntegerField(null=True)
    idle_ms = models.PositiveIntegerField(null=True)
    language = models.CharField(max_length=10, blank=True, help_text="In which the wording was shown.")
    withdrawn_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            UniqueConstraint(
                fields=["slot"],
                condition=Q(current=True, slot__isnull=False),
                name="response_one_current_per_slot",
            ),
            UniqueConstraint(
                fields=["slot", "revision"], condition=Q(slot__isnull=False), name="response_unique_revision"
            ),
            CheckConstraint(condition=Q(revision__gte=1), name="response_revision_from_one"),
            CheckConstraint(
                condition=Q(started_at__isnull=True)
                | Q(submitted_at__isnull=True)
                | Q(submitted_at__gte=F("started_at")),
                name="response_submitted_after_started",
            ),
        ]
        indexes = [
            Index(fields=["annotator", "submitted_at"], name="response_by_annotator"),
        ]

    def __str__(self) -> str:
        return f"response {self.pk} to unit {self.unit_id}"


class SkipReason(models.TextChoices):
    UPSETTING = "upsetting", "upsetting"
    UNCLEAR = "unclear", "I do not understand it"
    BROKEN = "broken", "the image is missing or broken"
    OTHER = "other", "something else"


class Skip(models.Model):
    """A skipped unit and the reason. It has no cost for the annotator; the slot goes to someone else."""

    unit = models.ForeignKey(Unit, on_delete=models.CASCADE, related_name="skips")
    annotator = models.ForeignKey(Annotator, on_delete=models.CASCADE, related_name="skips")
    client_key = models.UUIDField(unique=True)
    reason = models.CharField(max_length=10, choices=SkipReason)
    note = models.TextField(blank=True)
    at = models.DateTimeField()

    class Meta:
        constraints = [
            UniqueConstraint(fields=["unit", "annotator"], name="skip_unique"),
            CheckConstraint(condition=Q(reason__in=SkipReason.values), name="skip_reason_known"),
        ]

    def __str__(self) -> str:
        return f"{self.reason} by {self.annotator_id}"


class Judgement(models.Model):
    """The judgement of one option in a response: a value on the task's scale (annotation/core/scales.py)."""

    # First column of an index below.
    response = models.ForeignKey(
        Response, on_delete=models.CASCADE, related_name="judgements", db_index=False
    )
    option = models.ForeignKey(Option, on_delete=models.PROTECT, related_name="judgements")
    value = models.SmallIntegerField()
    position = models.PositiveSmallIntegerField(
        help_text="Where the option was shown to this annotator, from 1."
    )
    justification = models.TextField(blank=True)
    whole_image = models.BooleanField(default=False, help_text="Seen in the image as a whole, not in a box.")

    class Meta:
        constraints = [
            UniqueConstraint(fields=["response", "option"], name="judgement_unique_option"),
            UniqueConstraint(fields=["response", "position"], name="judgement_unique_position"),
            CheckConstraint(condition=Q(position__gte=1), name="judgement_position_from_one"),
            CheckConstraint(condition=Q(value__range=(-1, 5)), name="judgement_value_in_scale"),
        ]

    def __str__(self) -> str:
        return f"{self.value} for option {self.option_id}"


class Box(models.Model):
    """Where a selected attribute is visible: pixels of the natural image, clipped to it."""

    judgement = models.ForeignKey(Judgement, on_delete=models.CASCADE, related_name="boxes")
    x0 = models.FloatField()
    y0 = models.FloatField()
    x1 = models.FloatField()
    y1 = models.FloatField()
    # The size of the image: stored here so that a database constraint can check boxes against it, and so that
    # a box can be read without its image.
    image_width = models.PositiveIntegerField()
    image_height = models.PositiveIntegerField()

    class Meta:
        verbose_name_plural = "boxes"
        constraints = [
            CheckConstraint(condition=Q(x0__lt=F("x1"), y0__lt=F("y1")), name="box_corners_ordered"),
            CheckConstraint(
                condition=Q(x0__gte=0, y0__gte=0, x1__lte=F("image_width"), y1__lte=F("image_height")),
                name="box_inside_image",
            ),
        ]

    def __str__(self) -> str:
        return f"({self.x0:.0f}, {self.y0:.0f})-({self.x1:.0f}, {self.y1:.0f})"
