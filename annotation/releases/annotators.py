"""Who is in a release: pseudonyms that are valid only there, and the coarsened profiles."""

import hmac
import secrets
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from django.db.models import Exists, OuterRef

from annotation.core import strata
from annotation.models import Annotator, ProfileAnswer, Slot, Study
from annotation.participation import profile_fields
from annotation.releases.coarsening import Coarsened, Field, Person, coarsen, make_field
from annotation.releases.linkage import Linkage, linkage
from annotation.releases.request import ReleaseOptions, ReleaseRefused, responses

MAX_UNITS = 20_000
"""Units per task that are examined; more of them could only reveal more."""

Profiles = Mapping[int, Mapping[str, str]]
"""Annotator -> field -> value as the annotator entered it."""
_PREFIX = "question:"  # of the stored name of a study's own question, in some cases


class PseudonymKey:
    """A random key for one release that is never stored: nobody can recreate its pseudonyms."""

    def __init__(self) -> None:
        self._secret = secrets.token_bytes(32)

    def pseudonym(self, annotator: int) -> str:
        return f"A{self._mac('annotator', annotator)[:20]}"

    def order(self, response: int) -> str:
        """A sort key that puts the responses of a unit in random order."""
        return self._mac("response", response)

    def _mac(self, what: str, number: int) -> str:
        return hmac.digest(self._secret, f"{what}/{number}".encode(), "sha256").hex()


@dataclass(frozen=True)
class People:
    """The annotators of a release.

    `keys` are their database ids, in the order of `coarsened.values`. `strata_published`: whether strata can
    be published without disclosing what is withheld; `linkage`: what readers can infer about withheld strata.
    `unpermitted`: field -> number of people who do not permit its publication.
    """

    keys: tuple[int, ...]
    simulated: tuple[bool, ...]
    has_pseudonyms: bool
    coarsened: Coarsened
    strata_published: bool
    linkage: Linkage
    unpermitted: Mapping[str, int]

    def __len__(self) -> int:
        return len(self.keys)

    def smallest_group(self) -> int | None:
        """The size of the smallest group that shares a combination of values, counting blanks as values; None
        if nothing is published."""
        cells = Counter(zip(self.simulated, self.coarsened.values, strict=True))
        published = {simulated for simulated, values in cells if any(values)}
        return min((number for cell, number in cells.items() if cell[0] in published), default=None)


def people(study: Study, options: ReleaseOptions) -> People:
    """Raises ReleaseRefused if the study has no answers, and for an unknown field in `withhold`."""
    answered = responses(study).filter(annotator=OuterRef("pk")).order_by()
    rows = list(Annotator.objects.filter(Exists(answered)).order_by("pk").values_list("pk", "simulated"))
    if not rows and not responses(study).exists():
        raise ReleaseRefused(f"The study '{study.name}' holds no answers, so there is nothing to release.")
    fields = _fields(study)
    unknown = set(options.withhold) - {field.name for field in fields}
    if unknown:
        known = ", ".join(field.name for field in fields)
        raise ReleaseRefused(f"There is no profile field '{min(unknown)}' to withhold. Choose from: {known}.")
    profiles: dict[int, dict[str, str]] = defaultdict(dict)
    permitted: dict[int, dict[str, str]] = defaultdict(dict)
    unpermitted: Counter[str] = Counter()
    names = {field.name for field in fields}
    answers = ProfileAnswer.objects.filter(annotator__in=[key for key, _ in rows])
    for key, name, value, own_words, may_publish in answers.values_list(
        "annotator_id", "field", "value", "self_described", "may_publish"
    ):
        profiles[key][name] = value
        name = name.removeprefix(_PREFIX)
        if name not in names or name in options.withhold or options.without_pseudonyms:
            continue
        if not may_publish:
            unpermitted[name] += 1
            continue
        # Free text that happens to equal a choice is still the person's own words
        permitted[key][name] = f"{value}\0" if own_words else value
    everybody = [Person(simulated=simulated, answers=permitted[key]) for key, simulated in rows]
    answered_fields = {name for person in everybody for name in person.answers}
    coarsened = coarsen(everybody, [field for field in fields if field.name in answered_fields], k=options.k)
    keys = tuple(key for key, _ in rows)
    published = {key: coarsened.exact_values(index) for index, key in enumerate(keys)}
    strata_published = may_publish_strata(study, published)
    withheld = not (strata_published or options.without_pseudonyms)
    return People(
        keys=keys,
        simulated=tuple(simulated for _, simulated in rows),
        has_pseudonyms=not options.without_pseudonyms,
        coarsened=coarsened,
        strata_published=strata_published,
        linkage=find_linkage(study, profiles, published) if withheld else Linkage(),
        unpermitted=unpermitted,
    )


def may_publish_strata(study: Study, published: Profiles) -> bool:
    """Whether every stratum discloses only what the published profiles say of the annotators who filled its
    slots.

    All or none: each unit has one slot of each stratum, so published ones would give away the others. If no
    annotator is known, a stratum describes an answer and not a person.
    """
    filled = responses(study).filter(slot__isnull=False).order_by()
    if not filled.filter(annotator__isnull=False).exists():
        return True
    pairs = filled.values_list("slot__stratum", "annotator_id").distinct()
    return all(
        strata.parse(text).matches(published.get(annotator, {})) for text, annotator in pairs.iterator()
    )


def find_linkage(study: Study, profiles: Profiles, published: Profiles) -> Linkage:
    """What readers can infer from who judged the same unit if strata are withheld.

    `profiles`: the full profiles, since these decided which slots annotators were given.
    """
    tasks = [task.pk for task in study.tasks.all() if any(text != strata.ANY for text in task.strata)]
    within = {"unit__task__in": tasks, "unit__position__lte": MAX_UNITS}
    slots: dict[int, list[str]] = defaultdict(list)
    for unit, text in Slot.objects.filter(**within).order_by().values_list("unit_id", "stratum"):
        slots[unit].append(text)
    annotators_of: dict[int, list[int]] = defaultdict(list)
    filled: dict[int, set[str]] = defaultdict(set)
    of_slots = responses(study).filter(**within, slot__isnull=False, annotator__isnull=False).order_by()
    for unit, annotator, text in of_slots.values_list("unit_id", "annotator_id", "slot__stratum"):
        annotators_of[unit].append(annotator)
        filled[annotator].add(text)
    texts = {text for each in slots.values() for text in each}
    # Profiles may have changed since, so the slots that annotators were given count as well
    matched = {
        one: frozenset({text for text in texts if strata.parse(text).matches(profiles.get(one, {}))} | own)
        for one, own in filled.items()
    }
    fields = {text: {clause.field for clause in strata.parse(text).clauses} for text in texts}
    known = {
        one: frozenset(text for text in texts if fields[text] <= published.get(one, {}).keys())
        for one in matched
    }
    units = ((tuple(annotators_of[unit]), tuple(slots[unit])) for unit in annotators_of)
    return linkage(units, matched, known)


def _fields(study: Study) -> list[Field]:
    """The profile fields of this study's annotators, with the choices of their forms."""
    own = [
        make_field(
            str(each["field"]), [str(choice) for choice in each.get("choices") or ()], own_question=True
        )
        for each in study.questions
        if str(each["field"]) not in profile_fields.CHOICES
    ]
    known = [
        make_field(name, [value for value, _ in choices]) for name, choices in profile_fields.CHOICES.items()
    ]
    return known + own
