"""Who is in a release: pseudonyms that mean nothing elsewhere, and what may be told of each."""

from __future__ import annotations

import hmac
import secrets
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from django.db.models import Exists, OuterRef

from annotation.models import Annotator, ProfileAnswer, Study
from annotation.participation import profile_fields
from annotation.releases.coarsening import Coarsened, Field, Person, coarsen, field_of
from annotation.releases.linkage import Linkage
from annotation.releases.request import ReleaseRefused, Wanted, responses
from annotation.releases.strata_disclosure import linkage_of, strata_told

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
    `named`: whether they have pseudonyms; `strata_told`: whether it can be told for whom a place was reserved
    without telling what is withheld; `linkage`: what follows nevertheless from who judged the same unit."""

    keys: tuple[int, ...]
    simulated: tuple[bool, ...]
    named: bool
    coarsened: Coarsened
    strata_told: bool
    linkage: Linkage
    unpermitted: Mapping[str, int]

    def __len__(self) -> int:
        return len(self.keys)

    def smallest(self) -> int | None:
        """How few people share a combination of values, blanks among them; None where nothing is told."""
        cells = Counter(zip(self.simulated, self.coarsened.values, strict=True))
        told_of = {simulated for simulated, values in cells if any(values)}
        return min((number for cell, number in cells.items() if cell[0] in told_of), default=None)


def people(study: Study, wanted: Wanted) -> People:
    """Raises ReleaseRefused where nobody answered, and for a field to withhold that there is not."""
    answered = responses(study).filter(annotator=OuterRef("pk")).order_by()
    rows = list(Annotator.objects.filter(Exists(answered)).order_by("pk").values_list("pk", "simulated"))
    if not rows and not responses(study).exists():
        raise ReleaseRefused(f"The study '{study.name}' holds no answers, so there is nothing to release.")
    fields = _fields(study)
    unknown = set(wanted.withhold) - {field.name for field in fields} - set(profile_fields.CHOICES)
    if unknown:
        there = ", ".join(field.name for field in fields)
        raise ReleaseRefused(f"There is no profile field '{min(unknown)}' to withhold. There is: {there}.")
    profiles_of: dict[int, dict[str, str]] = defaultdict(dict)
    permitted: dict[int, dict[str, str]] = defaultdict(dict)
    unpermitted: Counter[str] = Counter()
    names = {field.name for field in fields}
    said = ProfileAnswer.objects.filter(annotator__in=[key for key, _ in rows])
    for key, name, value, own, may in said.values_list(
        "annotator_id", "field", "value", "self_described", "may_publish"
    ):
        profiles_of[key][name] = value
        name = name.removeprefix(_MARK)
        if name not in names or name in wanted.withhold or wanted.without_pseudonyms:
            continue
        if not may:
            unpermitted[name] += 1
            continue
        # a free text that happens to spell a choice is still somebody's own words
        permitted[key][name] = f"{value}\0" if own else value
    everybody = [Person(simulated=simulated, said=permitted[key]) for key, simulated in rows]
    stated = {name for person in everybody for name in person.said}
    coarsened = coarsen(everybody, [field for field in fields if field.name in stated], k=wanted.k)
    keys = tuple(key for key, _ in rows)
    told = {key: coarsened.exactly(place) for place, key in enumerate(keys)}
    is_told = strata_told(study, told)
    hidden = not (is_told or wanted.without_pseudonyms)
    return People(
        keys=keys,
        simulated=tuple(simulated for _, simulated in rows),
        named=not wanted.without_pseudonyms,
        coarsened=coarsened,
        strata_told=is_told,
        linkage=linkage_of(study, profiles_of, told) if hidden else Linkage(),
        unpermitted=unpermitted,
    )


def _fields(study: Study) -> list[Field]:
    """What a profile of this study's annotators can hold, and the values that its forms offer."""
    own = [
        field_of(str(each["field"]), [str(choice) for choice in each.get("choices") or ()], own_question=True)
        for each in study.questions
        if str(each["field"]) not in profile_fields.CHOICES
    ]
    known = [
        field_of(name, [value for value, _ in offered]) for name, offered in profile_fields.CHOICES.items()
    ]
    return known + own


__all__ = ["Key", "People", "people"]
