"""Who is in a release: pseudonyms that mean nothing elsewhere, and what may be told of each."""

from __future__ import annotations

import hmac
import secrets
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from django.db.models import Exists, OuterRef

from annotation import profiles, strata
from annotation.models import Annotator, ProfileAnswer, Study
from annotation.services.releases.asked import ReleaseRefused, Wanted, responses
from annotation.services.releases.coarsening import (
    Coarsened,
    Field,
    Person,
    coarsen,
    field_of,
)

_MARK = "question:"  # how a study's own question may be stored


class Key:
    """A random key that is made for one release and dies with it: nobody can make its pseudonyms again."""

    def __init__(self) -> None:
        self._secret = secrets.token_bytes(32)

    def pseudonym(self, annotator: int) -> str:
        return f"A{self._mac('annotator', annotator)[:20]}"

    def order(self, response: int) -> str:
        """Where a response stands among those of its unit: nothing but chance decides it."""
        return self._mac("response", response)

    def _mac(self, what: str, number: int) -> str:
        return hmac.digest(self._secret, f"{what}/{number}".encode(), "sha256").hex()


@dataclass(frozen=True)
class People:
    """The annotators of a release. `keys` are their rows in the database, in the order of `coarsened.values`;
    `strata_told`: whether it can be told for whom a place was reserved without telling what is withheld."""

    keys: tuple[int, ...]
    simulated: tuple[bool, ...]
    coarsened: Coarsened
    strata_told: bool
    unpermitted: Mapping[str, int]

    def __len__(self) -> int:
        return len(self.keys)

    def cells(self) -> list[int]:
        """How many people each combination of values is told of, the smallest first."""
        told = zip(self.simulated, self.coarsened.values, strict=True)
        return sorted(Counter(cell for cell in told if any(cell[1])).values())


def people(study: Study, wanted: Wanted) -> People:
    """Raises ReleaseRefused where nobody answered, and for a field to withhold that there is not."""
    answered = responses(study).filter(annotator=OuterRef("pk")).order_by()
    rows = list(Annotator.objects.filter(Exists(answered)).order_by("pk").values_list("pk", "simulated"))
    if not rows and not responses(study).exists():
        raise ReleaseRefused(f"The study '{study.name}' holds no answers, so there is nothing to release.")
    fields = _fields(study)
    unknown = set(wanted.withhold) - {field.name for field in fields} - set(profiles.CHOICES)
    if unknown:
        there = ", ".join(field.name for field in fields)
        raise ReleaseRefused(f"There is no profile field '{min(unknown)}' to withhold. There is: {there}.")
    permitted: dict[int, dict[str, str]] = {}
    unpermitted: Counter[str] = Counter()
    names = {field.name for field in fields}
    said = ProfileAnswer.objects.filter(annotator__in=[key for key, _ in rows])
    for key, name, value, own, may in said.values_list(
        "annotator_id", "field", "value", "self_described", "may_publish"
    ):
        name = name.removeprefix(_MARK)
        if name not in names or name in wanted.withhold:
            continue
        if not may:
            unpermitted[name] += 1
            continue
        # a free text that happens to spell a choice is still somebody's own words
        permitted.setdefault(key, {})[name] = f"{value}\0" if own else value
    everybody = [Person(simulated=simulated, said=permitted.get(key, {})) for key, simulated in rows]
    stated = {name for person in everybody for name in person.said}
    coarsened = coarsen(everybody, [field for field in fields if field.name in stated], k=wanted.k)
    return People(
        keys=tuple(key for key, _ in rows),
        simulated=tuple(simulated for _, simulated in rows),
        coarsened=coarsened,
        strata_told=_strata_told(study, [key for key, _ in rows], everybody, coarsened),
        unpermitted=unpermitted,
    )


def _fields(study: Study) -> list[Field]:
    """What a profile of this study's annotators can hold, and the values that its forms offer."""
    own = [
        field_of(str(each["field"]), [str(choice) for choice in each.get("choices") or ()], own_question=True)
        for each in study.questions
        if str(each["field"]) not in profiles.CHOICES
    ]
    known = [field_of(name, [value for value, _ in offered]) for name, offered in profiles.CHOICES.items()]
    return known + own


def _strata_told(study: Study, keys: Iterable[int], people: list[Person], coarsened: Coarsened) -> bool:
    """Whether every stratum says of whoever filled its slots only what is told of them anyway.

    All or none: a unit has one slot of each, so that those which are told would give away the others. Where
    nobody is known, a stratum is of an answer and not of a person.
    """
    places = {key: place for place, key in enumerate(keys)}
    reserved = (
        responses(study)
        .filter(slot__isnull=False)
        .order_by()
        .values_list("slot__stratum", "annotator_id")
        .distinct()
    )
    if not places:
        return True
    for text, annotator in reserved.iterator():
        for clause in strata.parse(text).clauses:
            if annotator is None:
                return False
            if not coarsened.told_in_full(places[annotator], people, clause.field.removeprefix(_MARK)):
                return False
    return True


__all__ = ["Key", "People", "people"]
