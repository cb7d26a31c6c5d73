"""Score runs and their scores; candidates and associations that models give (DESIGN §3, §7)."""

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import F, Q

from annotation.core.leases import CLAIM_IFF_CLAIMED, JobState, LeasedJob
from annotation.models import Attribute, Axis, IdentityGroup, Study
from generation.models import Run


class Variant(models.TextChoices):
    """How a published formula is interpreted (PROTOCOL §6). Both variants are offered and always labelled."""

    CORRECTED = "corrected"
    PUBLISHED = "published"


class ScoreRun(LeasedJob):
    """One computation of a metric for a study, with everything needed to repeat it.

    `digest` identifies the inputs (metrics/score_runs/evaluation.py), `rule` describes which associations
    counted as stereotypes. A worker claims the row by a conditional update with a lease.
    """

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="score_runs")
    metric = models.CharField(max_length=40)
    version = models.PositiveIntegerField()
    variant = models.CharField(max_length=10, choices=Variant)
    digest = models.CharField(max_length=64)
    seed = models.PositiveBigIntegerField(default=0)
    resamples = models.PositiveIntegerField(help_text="Bootstrap resamples; 0 means no intervals.")
    parameters = models.CharField(
        max_length=500, default="{}", help_text="What was chosen, as JSON with its keys sorted."
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
                    *("parameters", "digest", "seed", "resamples"),
                ],
                name="scorerun_unique_inputs",
            ),
            models.CheckConstraint(condition=Q(state__in=JobState.values), name="scorerun_state_known"),
            models.CheckConstraint(condition=Q(variant__in=Variant.values), name="scorerun_variant_known"),
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
    there is none. A percentile interval that does not contain the estimate is widened
    (metrics/core/stats/percentiles.py), so low <= value <= high always holds. `n` is the sample size and `k`
    how many of it were positive. `infinite` and `undefined` count the resamples with an infinite or no value
    (PROTOCOL §10); null without resampling.
    """

    run = models.ForeignKey(ScoreRun, on_delete=models.CASCADE, related_name="scores")
    group = models.ForeignKey(IdentityGroup, on_delete=models.CASCADE, null=True, related_name="scores")
    attribute = models.ForeignKey(Attribute, on_delete=models.CASCADE, null=True, related_name="scores")
    name = models.CharField(max_length=40)
    part = models.CharField(max_length=160, blank=True)
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


class CandidateList(LeasedJob):
    """The candidates for stereotypes in the answers of a run (PROTOCOL §14), and how to find them again.

    `digest` identifies the answers and groups that a worker is to read, or has read
    (metrics/candidates/evaluation.py). `rules`: what each rule of extraction found.
    """

    run = models.OneToOneField(Run, on_delete=models.CASCADE, related_name="candidate_list")
    axis = models.CharField(max_length=20, choices=Axis)
    per_region = models.PositiveIntegerField(help_text="How many candidates of a region are selected.")
    digest = models.CharField(max_length=64)
    rules = models.JSONField(default=dict)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(state__in=JobState.values), name="candidatelist_state_known"),
            models.CheckConstraint(condition=Q(axis__in=Axis.values), name="candidatelist_axis_known"),
            models.CheckConstraint(condition=CLAIM_IFF_CLAIMED, name="candidatelist_claim_iff_claimed"),
            models.CheckConstraint(
                condition=~Q(state=JobState.FAILED) | ~Q(error=""), name="candidatelist_failed_says_why"
            ),
        ]

    def __str__(self) -> str:
        return f"candidates of run {self.run_id}"


class Candidate(models.Model):
    """An attribute that a model gave for a group, `count` times over all answers (PROTOCOL §14).

    `also`: plurals and forms in -ing of the attribute that count for it.
    """

    candidate_list = models.ForeignKey(CandidateList, on_delete=models.CASCADE, related_name="candidates")
    group = models.ForeignKey(IdentityGroup, on_delete=models.CASCADE, related_name="+")
    attribute = models.CharField(max_length=200)
    also = models.JSONField(default=list)
    count = models.PositiveIntegerField()
    tf = models.FloatField()
    idf = models.FloatField()
    salience = models.FloatField()
    selected = models.BooleanField(default=False)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["candidate_list", "group", "attribute"], name="candidate_unique"),
            models.CheckConstraint(condition=~Q(attribute=""), name="candidate_has_attribute"),
            models.CheckConstraint(condition=Q(count__gte=1), name="candidate_was_given"),
        ]
        indexes: ClassVar = [
            # for pages: the most salient of a group
            models.Index(fields=["candidate_list", "group", "salience"], name="candidate_of_group"),
        ]

    def __str__(self) -> str:
        return f"{self.group_id}: {self.attribute}"


class StruckCandidate(models.Model):
    """A candidate that a lead struck out, by its text: finding the candidates again leaves it struck out."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="struck_candidates")
    group = models.ForeignKey(IdentityGroup, on_delete=models.CASCADE, related_name="+")
    attribute = models.CharField(max_length=200)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["run", "group", "attribute"], name="struckcandidate_unique"),
        ]

    def __str__(self) -> str:
        return f"{self.group_id}: {self.attribute}"


class AssociationList(LeasedJob):
    """The associations in the answers of a run (PROTOCOL §11), and how to find them again.

    `digest` identifies the answers that a worker is to read, or has read
    (metrics/associations/evaluation.py). `settings`: setting -> its counts. `studies`: those that ask people
    about some of them.
    """

    run = models.OneToOneField(Run, on_delete=models.CASCADE, related_name="association_list")
    digest = models.CharField(max_length=64)
    settings = models.JSONField(default=dict)
    studies = models.ManyToManyField(Study, related_name="association_lists", blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=Q(state__in=JobState.values), name="associationlist_state_known"
            ),
            models.CheckConstraint(condition=CLAIM_IFF_CLAIMED, name="associationlist_claim_iff_claimed"),
            models.CheckConstraint(
                condition=~Q(state=JobState.FAILED) | ~Q(error=""), name="associationlist_failed_says_why"
            ),
        ]

    def __str__(self) -> str:
        return f"associations of run {self.run_id}"


class ModelAssociation(models.Model):
    """A word that a model gave in answers about a descriptor, in one setting (PROTOCOL §11).

    The two variants side by side: `tf`, `df`, `score`, `p_value` are *published*, null if that variant does
    not count the word; `corrected_tf`, `corrected_df`, `corrected_score`, `z`, `q` are *corrected*, null in
    the same way. A descriptor of several dimensions has a row in each, with the same numbers, because its
    answers are pooled. `negative`, `toxic`: what classifiers said of the sentence; `model_level`: the mean
    level, 1 to 5, that a model gave; null if none was asked.
    """

    association_list = models.ForeignKey(
        AssociationList, on_delete=models.CASCADE, related_name="associations", db_index=False
    )
    setting = models.CharField(max_length=20)
    group = models.ForeignKey(IdentityGroup, on_delete=models.CASCADE, related_name="+")
    word = models.CharField(max_length=200)
    tf = models.PositiveIntegerField(null=True)
    df = models.PositiveIntegerField(null=True)
    score = models.FloatField(null=True)
    p_value = models.FloatField(null=True)
    significant = models.BooleanField(default=False)
    corrected_tf = models.PositiveIntegerField(null=True)
    corrected_df = models.PositiveIntegerField(null=True)
    corrected_score = models.FloatField(null=True)
    z = models.FloatField(null=True)
    q = models.FloatField(null=True)
    significant_corrected = models.BooleanField(default=False)
    negative = models.BooleanField(null=True)
    toxic = models.BooleanField(null=True)
    model_level = models.FloatField(null=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["association_list", "setting", "group", "word"], name="modelassociation_unique"
            ),
            models.CheckConstraint(condition=~Q(word=""), name="modelassociation_has_word"),
            models.CheckConstraint(
                condition=Q(tf__gte=1) | Q(corrected_tf__gte=1), name="modelassociation_was_given"
            ),
            models.CheckConstraint(
                condition=Q(model_level__isnull=True) | Q(model_level__range=(1, 5)),
                name="modelassociation_level_in_scale",
            ),
        ]
        indexes: ClassVar = [
            # for pages: the strongest of a list, and of a descriptor
            models.Index(fields=["association_list", "z"], name="modelassociation_by_z"),
            models.Index(fields=["association_list", "score"], name="modelassociation_by_score"),
        ]

    def __str__(self) -> str:
        return f"{self.group_id}: {self.word}"
