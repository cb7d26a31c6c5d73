"""What comparisons of depictions read besides the answers of the study."""

from __future__ import annotations

from collections.abc import Mapping

from annotation.models import IdentityGroup, Study, TaskKind
from metrics.core.answers import counted_responses, describe_stereotype_rule, stereotypes
from metrics.core.fingerprints import fingerprint, offensiveness_fingerprint, profiles_fingerprint
from metrics.depiction import data


def inputs_fingerprint(study: Study, parameters: Mapping[str, str]) -> list[object]:
    """What changes when one of the two sides, or a group or region of them, does."""
    return [*data.inputs_fingerprint(study, parameters), *_comparison_inputs(study, parameters, rated=False)]


def rated_inputs_fingerprint(study: Study, parameters: Mapping[str, str]) -> list[object]:
    """The same with how offensive the stereotypes of both sides were rated."""
    return [
        *data.rated_inputs_fingerprint(study, parameters),
        *_comparison_inputs(study, parameters, rated=True),
    ]


def _comparison_inputs(study: Study, parameters: Mapping[str, str], *, rated: bool) -> list[object]:
    """The other study and its rule, the regions of the groups, and what annotators say of themselves."""
    found: list[object] = [sorted(map(list, IdentityGroup.objects.values_list("pk", "region")))]
    other = Study.objects.filter(name=parameters.get("against", "")).first()
    if other is not None:
        answers = counted_responses(other, TaskKind.DEPICTION)
        found += [
            other.pk,
            describe_stereotype_rule(other),
            fingerprint(answers),
            fingerprint(stereotypes(other)),
        ]
        if rated:
            found.append(offensiveness_fingerprint(other))
    if parameters.get("by"):
        found.append(profiles_fingerprint(study))
    return found
