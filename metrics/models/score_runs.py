"""Score runs and their scores (DESIGN §3, §7)."""

from typing import ClassVar

from django.db import models
from django.db.models import F, Q

from annotation.core.leases import JobState, LeasedJob
from annotation.models import Attribute, IdentityGroup, Study


class Variant(models.TextChoices):
    """How a published formula is interpreted (PROTOCOL §6). Both variants are offered and always labelled."""

    CORRECTED = "corrected"
    PUBLISHED = "published"


class RunIntervals(models.TextChoices):
    """How a run's 95 % intervals were computed. The names are those of `annotation.models.Intervals`."""

    NONE = "none"
    CLUSTERED = "clustered"
    BOOTSTRAP = "bootstrap"


class ScoreRun(LeasedJob):
    """One computation of a metric for a study, with everything needed to repeat it.

    `digest` identifies the inputs (metrics/score_runs/evaluation.py), `rule` describes which associations
    counted as stereotypes. `resamples` and `seed` belong to the bootstrap: with other `intervals`,
    `resamples` is 0. A worker claims the row by a conditional update with a lease.
    """

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="score_runs")
    metric = models.CharField(max_length=40)
    version = models.PositiveIntegerField()
    variant = models.CharField(max_length=10, choices=Variant)
    digest = models.CharField(max_length=64)
    seed = models.PositiveBigIntegerField(default=0)
    intervals = models.CharField(
        max_length=10,
        choices=RunIntervals,
        # For the previous version, which still runs during a deployment and has bootstrap intervals only
        db_default=RunIntervals.BOOTSTRAP.value,
        help_text="How its 95 % intervals are computed.",
    )
    resamples = models.PositiveIntegerField(help_text="Bootstrap resamples; 0 without a bootstrap.")
    parameters = models.CharField(
        max_length=2000, default="{}", help_text="What was chosen, as JSON with its keys sorted."
    )
    rule = models.TextField(blank=True)
    code_version = models.CharField(max_length=80, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    confirmed_at = models.DateTimeField(
        null=True, help_text="When a finished run was last asked for again: its inputs were today's."
    )

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=[
                    *("study", "metric", "version", "variant"),
                    *("parameters", "digest", "intervals", "seed", "resamples"),
                ],
                name="scorerun_unique_inputs",
            ),
            models.CheckConstraint(condition=Q(state__in=JobState.values), name="scorerun_state_known"),
            models.CheckConstraint(condition=Q(variant__in=Variant.values), name="scorerun_variant_known"),
            models.CheckConstraint(
                condition=Q(intervals__in=RunIntervals.values), name="scorerun_intervals_known"
            ),
            models.CheckConstraint(
                condition=Q(intervals=RunIntervals.BOOTSTRAP) | Q(resamples=0),
                name="scorerun_resamples_of_bootstrap",
            ),
            models.CheckConstraint(condition=Q(version__gte=1), name="scorerun_version_from_one"),
            models.CheckConstraint(
                condition=Q(digest__regex=r"^[0-9a-f]{64}$"), name="scorerun_digest_is_sha256"
            ),
            models.CheckConstraint(
                condition=Q(state=JobState.CLAIMED, lease_expires_at__isnull=False)
                | (~Q(state=JobState.CLAIMED) & Q(lease_expires_at__isnull=True)),
                name="scorerun_lease_iff_claimed",
            ),
            models.CheckConstraint(
                condition=Q(state__in=[JobState.DONE, JobState.FAILED], finished_at__isnull=False)
                | (~Q(state__in=[JobState.DONE, JobState.FAILED]) & Q(finished_at__isnull=True)),
                name="scorerun_finished_iff_done_or_failed",
            ),
            models.CheckConstraint(
                condition=~Q(state=JobState.FAILED) | ~Q(error=""), name="scorerun_failed_says_why"
            ),
        ]
        indexes: ClassVar = [
            # for workers: runs that are waiting, or whose claim has expired
            models.Index(
                fields=["created_at"],
                condition=Q(state__in=[JobState.PENDING, JobState.CLAIMED]),
                name="scorerun_waiting",
            ),
            # for pages: the latest finished run of a metric
            models.Index(fields=["study", "metric", "variant", "finished_at"], name="scorerun_latest"),
        ]

    def __str__(self) -> str:
        return f"{self.metric} v{self.version} ({self.variant}) of {self.study_id}"


class Score(models.Model):
    """One number of a run: of a group, of an attribute, of both, or (both null) of the whole study.

    `part`, if not empty, narrows this to a region, a pool or a threshold, as listed in the registry.

    `value` null means undefined; infinity is a value. `low` and `high` are the 95 % interval, both null if
    there is none. low <= value <= high always holds: a percentile interval that does not contain the estimate
    is widened (metrics/core/stats/percentiles.py). `n` is the sample size and `k`
    how many of it were positive. `infinite` and `undefined` count the resamples with an infinite or no value
    (PROTOCOL §10); null without a bootstrap.
    """

    run = models.ForeignKey(ScoreRun, on_delete=models.CASCADE, related_name="scores")
    group = models.ForeignKey(IdentityGroup, on_delete=models.CASCADE, null=True, related_name="scores")
    attribute = models.ForeignKey(Attribute, on_delete=models.CASCADE, null=True, related_name="scores")
    name = models.CharField(max_length=40)
    part = models.CharField(max_length=200, blank=True)
    value = models.FloatField(null=True)
    low = models.FloatField(null=True)
    high = models.FloatField(null=True)
    n = models.PositiveIntegerField()
    k = models.PositiveIntegerField(null=True)
    infinite = models.PositiveIntegerField(null=True)
    undefined = models.PositiveIntegerField(null=True)

    class Meta:
        constraints: ClassVar = [
            # Four constraints, because in SQL two nulls are different.
            models.UniqueConstraint(
                fields=["run", "name", "part", "group", "attribute"], name="score_unique_group_and_attribute"
            ),
            models.UniqueConstraint(
                fields=["run", "name", "part", "group"],
                condition=Q(attribute__isnull=True, group__isnull=False),
                name="score_unique_group",
            ),
            models.UniqueConstraint(
                fields=["run", "name", "part", "attribute"],
                condition=Q(attribute__isnull=False, group__isnull=True),
                name="score_unique_attribute",
            ),
            models.UniqueConstraint(
                fields=["run", "name", "part"],
                condition=Q(attribute__isnull=True, group__isnull=True),
                name="score_unique_whole",
            ),
            models.CheckConstraint(
                condition=Q(low__isnull=True, high__isnull=True)
                | Q(
                    value__isnull=False,
                    low__isnull=False,
                    high__isnull=False,
                    low__lte=F("value"),
                    high__gte=F("value"),
                ),
                name="score_low_value_high",
            ),
            models.CheckConstraint(condition=Q(k__isnull=True) | Q(k__lte=F("n")), name="score_k_at_most_n"),
            models.CheckConstraint(condition=~Q(name=""), name="score_has_name"),
        ]

    def __str__(self) -> str:
        return f"{self.name} = {self.value}"
