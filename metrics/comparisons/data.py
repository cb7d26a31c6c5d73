"""Fingerprints of the inputs of comparisons of depictions, other than the study's answers."""

from collections.abc import Mapping

from annotation.models import IdentityGroup, Study, TaskKind
from metrics.core.answers import counted_responses, describe_stereotype_rule, stereotypes
from metrics.core.fingerprints import fingerprint, offensiveness_fingerprint, profiles_fingerprint
from metrics.depiction import data


def inputs_fingerprint(study: Study, parameters: Mapping[str, str]) -> list[object]:
    """Changes when a side of the comparison, or a group or region of it, changes."""
    return [*data.inputs_fingerprint(study, parameters), *_comparison_inputs(study, parameters, rated=False)]


def rated_inputs_fingerprint(study: Study, parameters: Mapping[str, str]) -> list[object]:
    """As `inputs_fingerprint`, with the offensiveness ratings of the stereotypes of both sides."""
    return [
        *data.rated_inputs_fingerprint(study, parameters),
        *_comparison_inputs(study, parameters, rated=True),
    ]


def _comparison_inputs(study: Study, parameters: Mapping[str, str], *, rated: bool) -> list[object]:
    """The regions of the groups, the other study and its rule, and the profiles of the annotators."""
    parts: list[object] = [sorted(map(list, IdentityGroup.objects.values_list("pk", "region")))]
    other = Study.objects.filter(name=parameters.get("against", "")).first()
    if other is not None:
        answers = counted_responses(other, TaskKind.DEPICTION)
        parts += [
            other.pk,
            describe_stereotype_rule(other),
            fingerprint(answers),
            fingerprint(stereotypes(other)),
        ]
        if rated:
            parts.append(offensiveness_fingerprint(other))
    if parameters.get("by"):
        parts.append(profiles_fingerprint(study))
    return parts
