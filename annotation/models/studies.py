"""Studies and their tasks (DESIGN §3)."""

from django.conf import settings
from django.db import models
from django.db.models import CheckConstraint, Q, UniqueConstraint
from django.utils.translation import gettext_noop

from annotation.models.catalogue import ImageSet, Source

DEMO_CONTACT = "nobody (this is a demonstration)"
"""The contact of the demonstration's studies. Copies come without it, and without their other texts."""


class StudyStatus(models.TextChoices):
    """draft -> open <-> paused -> closed. studies/services/studies.py has the allowed transitions."""

    DRAFT = "draft"
    OPEN = "open"
    PAUSED = "paused"
    CLOSED = "closed"


class Pool(models.TextChoices):
    """The annotators whose votes make an association a stereotype (PROTOCOL §3)."""

    IN_REGION = "in", "in-region"
    OUT_REGION = "out", "out-region"


class Intervals(models.TextChoices):
    """How the 95 % intervals of the scores are computed (PROTOCOL §10)."""

    CLUSTERED = "clustered", gettext_noop("clustered standard errors")
    BOOTSTRAP = "bootstrap", gettext_noop("bootstrap")


class TaskKind(models.TextChoices):
    VISUAL_NATURE = "visual_nature", gettext_noop("visual nature of an attribute")
    PREVALENCE = "prevalence", gettext_noop("stereotype prevalence")
    OFFENSIVENESS = "offensiveness", gettext_noop("offensiveness of an attribute")
    DEPICTION = "depiction", gettext_noop("what an image depicts")
    ASSOCIATION = "association", gettext_noop("bias of an association")


def default_crowd_parameters() -> dict[str, str]:
    """The parameter names of Prolific."""
    return {"participant": "PROLIFIC_PID", "study": "STUDY_ID", "session": "SESSION_ID"}


class Study(models.Model):
    """A study, with its leads and the rules of its scores.

    An association of `stereotype_source` is a stereotype if at least `stereotype_threshold` annotators of
    `stereotype_pool` chose Stereotypical (PROTOCOL §3). An attribute is visual if at least `visual_rule`
    annotators chose Agree or Strongly agree, or if its mean score (1 to 5, Unsure 3) is at least
    `visual_mean`. A study has one rule at most; both null, the default, asks all of its annotators to agree
    (PROTOCOL §2). The intervals of the scores are computed as `intervals` says.

    `translations` holds the study's texts in other languages: language -> title, description and
    support_text, each only if translated. Each of `questions` may have its own "translations": language ->
    label and choices, the same number in the same order.
    """

    name = models.SlugField(max_length=80, unique=True)
    title = models.CharField(max_length=200)
    description = models.TextField(blank=True)
    status = models.CharField(max_length=10, choices=StudyStatus, default=StudyStatus.DRAFT)
    leads = models.ManyToManyField(settings.AUTH_USER_MODEL, related_name="led_studies", blank=True)
    simulated = models.BooleanField(
        default=False, help_text="Its answers were made by a program, not by people."
    )
    contact = models.CharField(max_length=200, blank=True, help_text="Who annotators can turn to.")
    stereotype_source = models.ForeignKey(Source, on_delete=models.PROTECT, null=True, blank=True)
    stereotype_pool = models.CharField(max_length=3, choices=Pool, default=Pool.OUT_REGION)
    stereotype_threshold = models.PositiveSmallIntegerField(default=2)
    visual_rule = models.PositiveSmallIntegerField(null=True, blank=True)
    visual_mean = models.FloatField(null=True, blank=True)
    intervals = models.CharField(
        max_length=10,
        choices=Intervals,
        default=Intervals.CLUSTERED,
        # For the previous version, which still runs during a deployment
        db_default=Intervals.CLUSTERED.value,
        help_text="How the 95 % intervals of its scores are computed.",
    )
    # Recruiting
    self_enrol = models.BooleanField(default=True, help_text="Any account may take part, invited or not.")
    questions = models.JSONField(
        default=list,
        blank=True,
        help_text="Questions to annotators besides the profile: field, label, choices.",
    )
    crowd_parameters = models.JSONField(
        default=default_crowd_parameters, blank=True, help_text="URL parameters of a crowd platform."
    )
    completion_code = models.CharField(max_length=80, blank=True)
    completion_url = models.URLField(max_length=300, blank=True)
    # Quality
    training_pass = models.FloatField(
        null=True, blank=True, help_text="Share of training items to get right."
    )
    gold_rate = models.FloatField(
        default=0, help_text="Gold items and attention checks for each item answered."
    )
    # Care of annotators
    blur_images = models.BooleanField(default=False, help_text="Images stay blurred until they are revealed.")
    break_after = models.PositiveSmallIntegerField(
        default=30, help_text="Minutes of work after which a break is offered; 0 never."
    )
    session_cap = models.PositiveIntegerField(
        null=True, blank=True, help_text="Items somebody may judge in one session; empty: no limit."
    )
    support_text = models.TextField(blank=True, help_text="Where people who are upset find help.")
    translations = models.JSONField(
        default=dict,
        # For the previous version, which still runs during a deployment
        db_default=models.Value({}, models.JSONField()),
        blank=True,
        help_text="Language -> title, description and support_text in it.",
    )
    created_at = models.DateTimeField(auto_now_add=True)
    opened_at = models.DateTimeField(null=True, blank=True)
    closed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["title"]
        verbose_name_plural = "studies"
        constraints = [
            CheckConstraint(condition=Q(status__in=StudyStatus.values), name="study_status_known"),
            CheckConstraint(
                condition=Q(status=StudyStatus.DRAFT) | Q(opened_at__isnull=False),
                name="study_opened_at_once_open",
            ),
            CheckConstraint(
                condition=Q(status=StudyStatus.CLOSED, closed_at__isnull=False)
                | (~Q(status=StudyStatus.CLOSED) & Q(closed_at__isnull=True)),
                name="study_closed_at_iff_closed",
            ),
            CheckConstraint(condition=Q(stereotype_pool__in=Pool.values), name="study_pool_known"),
            CheckConstraint(condition=Q(stereotype_threshold__gte=1), name="study_threshold_from_one"),
            CheckConstraint(condition=Q(gold_rate__range=(0, 0.5)), name="study_gold_rate_at_most_half"),
            CheckConstraint(
                condition=Q(training_pass__isnull=True) | Q(training_pass__range=(0, 1)),
                name="study_training_pass_is_a_share",
            ),
            CheckConstraint(
                condition=Q(session_cap__isnull=True) | Q(session_cap__gte=1),
                name="study_session_cap_from_one",
            ),
            CheckConstraint(
                condition=Q(visual_rule__isnull=True) | Q(visual_rule__gte=1),
                name="study_visual_rule_from_one",
            ),
            CheckConstraint(
                condition=Q(visual_mean__isnull=True) | Q(visual_mean__range=(1, 5)),
                name="study_visual_mean_on_the_scale",
            ),
            CheckConstraint(
                condition=Q(visual_rule__isnull=True) | Q(visual_mean__isnull=True),
                name="study_one_visual_rule",
            ),
            CheckConstraint(condition=Q(intervals__in=Intervals.values), name="study_intervals_known"),
        ]

    def __str__(self) -> str:
        return self.title


class ConsentText(models.Model):
    """One version of a consent text, with the content warning shown before it."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="consent_texts")
    version = models.PositiveIntegerField(default=1)
    language = models.CharField(max_length=10, default="en")
    text = models.TextField()
    content_warning = models.TextField(blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["study", "version"]
        constraints = [
            UniqueConstraint(fields=["study", "version", "language"], name="consenttext_unique_version"),
            CheckConstraint(condition=~Q(text=""), name="consenttext_has_text"),
        ]

    def __str__(self) -> str:
        return f"{self.study} v{self.version}"


class Task(models.Model):
    """One kind of judgement in a study. Frozen once the study is open (`frozen_at`).

    `strata` has one stratum for each response wanted for a unit (core/strata.py), so its length is the
    overlap. `page_size` is the number of options on a depiction page, including none of the above. With a
    `people_share`, only the units of a random part have slots; the others are for machine judges (PROTOCOL
    §16). `people_units` counts those of the part, because pages cannot count a million rows.
    """

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="tasks")
    kind = models.CharField(max_length=20, choices=TaskKind)
    version = models.PositiveIntegerField(default=1)
    wording = models.TextField(help_text="The statement or question, with [attr] and [id] where they belong.")
    instructions = models.TextField(blank=True)
    overlap = models.PositiveSmallIntegerField(default=3)
    strata = models.JSONField(default=list)
    slot_strata = models.JSONField(
        default=list, blank=True, help_text="The different strata of its slots, in- and out-region resolved."
    )
    translations = models.JSONField(
        default=dict, blank=True, help_text="Language -> wording, instructions and examples in it."
    )
    examples = models.JSONField(default=list, blank=True)
    page_size = models.PositiveSmallIntegerField(default=5)
    image_set = models.ForeignKey(ImageSet, on_delete=models.PROTECT, null=True, blank=True)
    seed = models.PositiveBigIntegerField(default=0, help_text="Seed of the draw of its units.")
    people_share = models.FloatField(
        null=True,
        blank=True,
        help_text="Share of the images, or of what is judged else, that people judge, drawn at random; "
        "empty: all.",
    )
    people_units = models.PositiveIntegerField(
        null=True, blank=True, help_text="Number of units that people judge, with a share of people."
    )
    frozen_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["study", "kind"]
        constraints = [
            UniqueConstraint(fields=["study", "kind", "version"], name="task_unique_kind_version"),
            CheckConstraint(condition=Q(kind__in=TaskKind.values), name="task_kind_known"),
            CheckConstraint(condition=Q(overlap__gte=1), name="task_overlap_from_one"),
            CheckConstraint(condition=Q(page_size__gte=1), name="task_page_size_from_one"),
            CheckConstraint(condition=~Q(wording=""), name="task_has_wording"),
            CheckConstraint(
                condition=Q(people_share__isnull=True) | Q(people_share__gt=0, people_share__lt=1),
                name="task_people_share_is_a_part",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.study}: {self.get_kind_display()}"
