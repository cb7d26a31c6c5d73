"""Which studies are in a league, by which rules they are read, and when they have changed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from annotation.models import Pool, Study
from metrics.core.answers import counted_responses, describe_stereotype_rule, stereotypes
from metrics.core.fingerprints import fingerprint, offensiveness_fingerprint
from metrics.league.kinds import DEPICTION, LEVELS, OFFENSIVENESS, PREVALENCE, VISUAL_NATURE, Kind
from metrics.votes.data import own_answers

STUDIES = "studies"
"""The parameter that names the other studies."""
MAX_NAMES = 1900
"""Characters of the names of the other studies, with the commas between them."""


def join_names(names: Iterable[str]) -> str:
    """The value of the parameter for these studies, without the one that the run belongs to."""
    return ",".join(sorted(set(names)))


def parse_names(study: Study, parameters: Mapping[str, str]) -> list[str]:
    """The names of the other studies. Raises ValueError unless they are sorted, each is there once, the study
    itself is not, and they are not too many; the message says what to give."""
    text = parameters.get(STUDIES, "")
    names = [name.strip() for name in text.split(",") if name.strip()]
    if study.name in names:
        raise ValueError(f"{STUDIES}: name the other studies only, without '{study.name}'.")
    if text != join_names(names):
        raise ValueError(f"{STUDIES}: give each name once, sorted: {STUDIES}={join_names(names)}")
    if len(text) > MAX_NAMES:
        raise ValueError(
            f"{STUDIES}: the names have {len(text)} characters together; at most {MAX_NAMES} fit in one "
            "league."
        )
    return names


def read_studies(study: Study, parameters: Mapping[str, str]) -> list[Study]:
    """`study` and the others, by name. Raises ValueError as `parse_names`, and for a name without a study."""
    names = parse_names(study, parameters)
    found = {
        one.name: one for one in Study.objects.filter(name__in=names).select_related("stereotype_source")
    }
    missing = [name for name in names if name not in found]
    if missing:
        raise ValueError(f"{STUDIES}: there is no study {', '.join(map(repr, missing))}.")
    return sorted([study, *found.values()], key=lambda one: one.name)


def check_inputs(study: Study, parameters: Mapping[str, str]) -> None:
    """Raise ValueError unless the studies of the league exist."""
    read_studies(study, parameters)


def describe_rules(kind: Kind, study: Study, parameters: Mapping[str, str]) -> str:
    """The rule of all studies, or that of each."""
    studies = read_studies(study, parameters)
    rules = {one.name: _RULES[kind](one) for one in studies}
    if len(set(rules.values())) == 1:
        return rules[study.name]
    return "; ".join(f"{name}: {rule}" for name, rule in rules.items())


def inputs_fingerprint(kind: Kind, study: Study, parameters: Mapping[str, str]) -> list[object]:
    """Changes with the answers, the rule and the other inputs of every study of the league."""
    parts = [*_INPUTS[kind](study)]
    for name in parse_names(study, parameters):
        other = Study.objects.filter(name=name).select_related("stereotype_source").first()
        if other is not None:
            answers = fingerprint(counted_responses(other, kind.task))
            parts += [other.pk, _RULES[kind](other), answers, *_INPUTS[kind](other)]
    return parts


def _prevalence_rule(study: Study) -> str:
    pool = Pool(study.stereotype_pool).label
    return f"stereotype: at least {study.stereotype_threshold} {pool} annotators said Stereotypical"


_RULES: dict[Kind, Callable[[Study], str]] = {
    DEPICTION: describe_stereotype_rule,
    PREVALENCE: _prevalence_rule,
    OFFENSIVENESS: lambda study: "every rating counts; Unsure is 0",
    LEVELS: lambda study: "every answer counts; Unsure is no level",
    VISUAL_NATURE: lambda study: "every rating counts; Unsure is 3",
}
_INPUTS: dict[Kind, Callable[[Study], list[object]]] = {
    DEPICTION: lambda study: [fingerprint(stereotypes(study)), offensiveness_fingerprint(study)],
    PREVALENCE: lambda study: own_answers.prevalence_fingerprint(study, {}),
    OFFENSIVENESS: lambda study: own_answers.offensiveness_fingerprint(study, {}),
    LEVELS: lambda study: own_answers.bias_levels_fingerprint(study, {}),
    VISUAL_NATURE: lambda study: [],
}
