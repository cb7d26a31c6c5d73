"""Associations that models make by themselves (PROTOCOL §11)."""

from typing import ClassVar

from django.db import models
from django.db.models import Q

from annotation.core.leases import CLAIM_IFF_CLAIMED, JobState, LeasedJob
from annotation.models import IdentityGroup, Study
from generation.models import Run


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
