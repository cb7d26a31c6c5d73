"""Candidates for stereotypes that language models give (PROTOCOL §14)."""

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q

from annotation.core.leases import CLAIM_IFF_CLAIMED, JobState, LeasedJob
from annotation.models import Axis, IdentityGroup
from generation.models import Run


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
