"""Fingerprints of what metrics of votes and ratings read besides the answers of the study."""

from __future__ import annotations

from collections.abc import Mapping

from annotation.models import ProfileAnswer, ProfileField, Study, TaskKind
from metrics.core.answers import counted_responses
from metrics.votes.data.source import votes_fingerprint


def of_votes(study: Study, parameters: Mapping[str, str]) -> list[object]:
    """The votes of the stereotype source."""
    return [votes_fingerprint(study, ratings=False)]


def of_source_ratings(study: Study, parameters: Mapping[str, str]) -> list[object]:
    """The votes and the offensiveness ratings of the stereotype source."""
    return [votes_fingerprint(study, ratings=True)]


def of_rated_offensiveness(study: Study, parameters: Mapping[str, str]) -> list[object]:
    """The votes and the regions of the rated groups."""
    return [*of_votes(study, parameters), _regions_fingerprint(study, TaskKind.OFFENSIVENESS)]


def of_prevalence(study: Study, parameters: Mapping[str, str]) -> list[object]:
    """The regions of the judged groups, and the pools of the annotators who judged them."""
    return [_regions_fingerprint(study, TaskKind.PREVALENCE), _pools_fingerprint(study)]


def _regions_fingerprint(study: Study, task: str) -> list[list[object]]:
    """Changes when a judged group moves to another region."""
    answers = counted_responses(study, task).filter(unit__association__isnull=False).order_by()
    regions = answers.values_list(
        "unit__association__group_id", "unit__association__group__region"
    ).distinct()
    return sorted(map(list, regions))


def _pools_fingerprint(study: Study) -> list[list[object]]:
    """Changes when an annotator changes their residence or identity region, which decide the pools of
    PROTOCOL §3."""
    answers = counted_responses(study, TaskKind.PREVALENCE).order_by()
    profile_answers = ProfileAnswer.objects.filter(
        annotator__in=answers.values("annotator"),
        field__in=(ProfileField.RESIDENCE, ProfileField.IDENTITY_REGION),
    ).values_list("annotator_id", "field", "value")
    return sorted(map(list, profile_answers.order_by()))
