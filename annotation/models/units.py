"""Units (what an annotator sees at once), their options and slots (DESIGN §3, §4)."""

from django.db import models
from django.db.models import CheckConstraint, Index, Q, UniqueConstraint

from annotation.models.catalogue import Association, Attribute, Image
from annotation.models.people import Annotator
from annotation.models.studies import Study, Task


class Purpose(models.TextChoices):
    """The purpose of a unit. Only data counts in scores. The others have no slots and are shown to all."""

    DATA = "data"
    TRAINING = "training"
    GOLD = "gold", "gold item"
    ATTENTION = "attention", "attention check"


class Unit(models.Model):
    """An attribute, an association, or an image with one page of options.

    `repeat` distinguishes units with the same stimulus: the ViSAGe release rates 'handsome' twice.
    """

    task = models.ForeignKey(Task, on_delete=models.CASCADE, related_name="units")
    position = models.PositiveIntegerField(help_text="Order within the task, from 1.")
    attribute = models.ForeignKey(Attribute, on_delete=models.PROTECT, null=True, related_name="units")
    association = models.ForeignKey(Association, on_delete=models.PROTECT, null=True, related_name="units")
    image = models.ForeignKey(Image, on_delete=models.PROTECT, null=True, related_name="units")
    page = models.PositiveIntegerField(default=1)
    repeat = models.PositiveSmallIntegerField(default=0)
    purpose = models.CharField(max_length=9, choices=Purpose, default=Purpose.DATA)
    feedback = models.TextField(blank=True, help_text="What a training item says after it was answered.")
    source_name = models.CharField(
        max_length=80, blank=True, help_text="What its source calls it, if imported."
    )

    class Meta:
        ordering = ["task", "position"]
        constraints = [
            UniqueConstraint(fields=["task", "position"], name="unit_unique_position"),
            UniqueConstraint(fields=["task", "attribute", "repeat"], name="unit_unique_attribute"),
            UniqueConstraint(fields=["task", "association", "repeat"], name="unit_unique_association"),
            UniqueConstraint(fields=["task", "image", "page"], name="unit_unique_page"),
            CheckConstraint(
                condition=Q(attribute__isnull=False, association__isnull=True, image__isnull=True)
                | Q(attribute__isnull=True, association__isnull=False, image__isnull=True)
                | Q(attribute__isnull=True, association__isnull=True, image__isnull=False),
                name="unit_exactly_one_stimulus",
            ),
            CheckConstraint(condition=Q(page__gte=1), name="unit_page_from_one"),
            CheckConstraint(condition=Q(purpose__in=Purpose.values), name="unit_purpose_known"),
        ]
        indexes = [
            # For the few units that are not data.
            Index(
                fields=["task", "purpose", "position"], condition=~Q(purpose=Purpose.DATA), name="unit_checks"
            ),
        ]

    def __str__(self) -> str:
        return f"unit {self.position} of {self.task_id}"


class OptionRole(models.TextChoices):
    """The role of an option. `unassigned`: unknown, since an imported release does not say."""

    STIMULUS = "stimulus", "the stimulus itself"
    STEREOTYPICAL = "stereotypical"
    RANDOM = "random"
    NONE_OF_ABOVE = "none_of_above", "none of the above"
    UNASSIGNED = "unassigned"


class Option(models.Model):
    """One option of a unit. `position` is the canonical order; the judgement has the position at which it was
    shown."""

    unit = models.ForeignKey(Unit, on_delete=models.CASCADE, related_name="options")
    attribute = models.ForeignKey(Attribute, on_delete=models.PROTECT, null=True, related_name="options")
    role = models.CharField(max_length=13, choices=OptionRole, default=OptionRole.STIMULUS)
    position = models.PositiveSmallIntegerField(help_text="From 1.")
    expected = models.JSONField(
        null=True, help_text="Values that are right, on training, gold and attention items."
    )

    class Meta:
        ordering = ["unit", "position"]
        constraints = [
            UniqueConstraint(fields=["unit", "position"], name="option_unique_position"),
            UniqueConstraint(fields=["unit", "attribute"], name="option_unique_attribute"),
            UniqueConstraint(
                fields=["unit"], condition=Q(role=OptionRole.NONE_OF_ABOVE), name="option_one_none_of_above"
            ),
            CheckConstraint(
                condition=Q(role=OptionRole.NONE_OF_ABOVE, attribute__isnull=True)
                | (~Q(role=OptionRole.NONE_OF_ABOVE) & Q(attribute__isnull=False)),
                name="option_attribute_unless_none_of_above",
            ),
            CheckConstraint(condition=Q(role__in=OptionRole.values), name="option_role_known"),
            CheckConstraint(condition=Q(position__gte=1), name="option_position_from_one"),
        ]

    def __str__(self) -> str:
        return f"option {self.position} of unit {self.unit_id}"


class SlotState(models.TextChoices):
    OPEN = "open"
    LEASED = "leased"
    FILLED = "filled"


class Slot(models.Model):
    """One wanted response of a unit, reserved for a stratum of annotators (DESIGN §4).

    `annotator` is set while the slot is leased and after it is filled; null on a filled slot means that the
    annotator is not identified (the ViSAGe release names pages, not people). `queue` orders the open slots of
    a study: a returned slot goes to the end, so that every annotator's position passes it again.
    """

    # Each foreign key is the first column of an index below; its own index would only cost writes.
    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="slots", db_index=False)
    unit = models.ForeignKey(Unit, on_delete=models.CASCADE, related_name="slots", db_index=False)
    index = models.PositiveSmallIntegerField(help_text="0 .. overlap-1")
    stratum = models.CharField(max_length=120, default="any")
    queue = models.BigIntegerField()
    state = models.CharField(max_length=6, choices=SlotState, default=SlotState.OPEN)
    annotator = models.ForeignKey(
        Annotator, on_delete=models.SET_NULL, null=True, related_name="slots", db_index=False
    )
    lease_key = models.UUIDField(null=True, help_text="The idempotency key of the answer this lease expects.")
    leased_at = models.DateTimeField(null=True)
    lease_expires_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["study", "queue"]
        constraints = [
            UniqueConstraint(fields=["unit", "index"], name="slot_unique_index"),
            UniqueConstraint(fields=["study", "queue"], name="slot_unique_queue"),
            UniqueConstraint(
                fields=["unit", "annotator"],
                condition=Q(annotator__isnull=False),
                name="slot_one_per_annotator_and_unit",
            ),
            CheckConstraint(
                condition=Q(
                    state=SlotState.OPEN,
                    annotator__isnull=True,
                    lease_key__isnull=True,
                    leased_at__isnull=True,
                    lease_expires_at__isnull=True,
                )
                | Q(
                    state=SlotState.LEASED,
                    annotator__isnull=False,
                    lease_key__isnull=False,
                    leased_at__isnull=False,
                    lease_expires_at__isnull=False,
                )
                | Q(
                    state=SlotState.FILLED,
                    lease_key__isnull=True,
                    leased_at__isnull=True,
                    lease_expires_at__isnull=True,
                ),
                name="slot_state_consistent",
            ),
        ]
        indexes = [
            # For *next*: the first open slot of a stratum after a position
            # (assignment/queries.py). No other index begins with the stratum, so the planner
            # cannot choose another.
            Index(
                fields=["stratum", "study", "queue"],
                condition=Q(state=SlotState.OPEN),
                name="slot_open_in_queue",
            ),
            # For returning expired leases.
            Index(
                fields=["lease_expires_at"], condition=Q(state=SlotState.LEASED), name="slot_leased_by_expiry"
            ),
            # For the slots that an annotator holds or has filled. Without the condition, SQLite would not use
            # the index after an ANALYZE of a new study, when no slot had an annotator.
            Index(
                fields=["annotator", "study", "state"],
                condition=Q(annotator__isnull=False),
                name="slot_by_annotator",
            ),
        ]

    def __str__(self) -> str:
        return f"slot {self.index} of unit {self.unit_id}"
