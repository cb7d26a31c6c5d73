"""Groups of annotators by their profile answers (PROTOCOL §3, §10). Small groups could identify people."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

from annotation.core import strata
from annotation.models import ProfileAnswer, ProfileField, Region, Study

GROUPINGS = ("gender", "origin", "pool")
NOT_STATED = "not stated"
# The smallest group that is offered as a filter: in a smaller one, people could be identified.
MIN_GROUP_SIZE = 3
_FIELDS = (ProfileField.GENDER, ProfileField.ORIGIN, ProfileField.RESIDENCE, ProfileField.IDENTITY_REGION)
_POOLS = (strata.IN_REGION, strata.OUT_REGION)


def group_labeller(study: Study, by: str | None) -> Callable[[list[object]], str]:
    """Return the function from (annotator, stratum[, region]) to the name of the annotator's group."""
    if by is None:
        return lambda key: ""
    answered = ProfileAnswer.objects.filter(annotator__responses__unit__task__study=study).distinct()
    profiles: dict[object, dict[str, str]] = {}
    for annotator, field, value in answered.values_list("annotator_id", "field", "value"):
        profiles.setdefault(annotator, {})[field] = value.strip()
    if by == "pool":
        return lambda key: _pool(profiles.get(key[0], {}), str(key[1]), str(key[2]))
    spelling: dict[str, str] = {}

    def stated_group(key: list[object]) -> str:
        # The slot's stratum records what was true when they answered; a profile can change later.
        value = strata.single_value(str(key[1]), by) or profiles.get(key[0], {}).get(by, "")
        # 'woman' and 'Woman' are one group, in the spelling seen first
        return spelling.setdefault(value.lower(), value) or NOT_STATED

    return stated_group


def _pool(profile: Mapping[str, str], stratum: str, region: str) -> str:
    def answer(field: str) -> str:
        return (strata.single_value(stratum, field) or profile.get(field, "")).lower()

    residence = answer(ProfileField.RESIDENCE)
    if not residence or not region:
        return NOT_STATED
    if residence == region.lower():
        return "in-region"
    if answer(ProfileField.IDENTITY_REGION) == region.lower() and residence == Region.NORTH_AMERICA.lower():
        return "out-region"
    return "neither pool"


def annotator_profiles(study: Study) -> dict[int, dict[str, str]]:
    """The profile answers of the enrolled annotators in the fields that can be filtered by. One query."""
    answers = ProfileAnswer.objects.filter(annotator__enrolments__study=study, field__in=_FIELDS)
    profiles: dict[int, dict[str, str]] = defaultdict(dict)
    for annotator, name, value in answers.values_list("annotator", "field", "value"):
        profiles[annotator][name] = value
    return profiles


def selectable_groups(profiles: Mapping[int, Mapping[str, str]], *, region: str) -> dict[str, Sequence[int]]:
    """{stratum: its annotators} for strata of at least MIN_GROUP_SIZE; pools only if a region is given."""
    by_stratum: dict[str, list[int]] = defaultdict(list)
    for annotator, profile in profiles.items():
        for name, value in profile.items():
            by_stratum[f"{name}: {value}"].append(annotator)
    offered: dict[str, Sequence[int]] = {}
    for pool in _POOLS if region else ():
        stratum = strata.parse(strata.resolve(pool, region=region))
        offered[pool] = [pk for pk, profile in profiles.items() if stratum.matches(profile)]
    offered |= {text: by_stratum[text] for text in sorted(by_stratum)}
    return {text: people for text, people in offered.items() if len(people) >= MIN_GROUP_SIZE}
