"""Strata: the annotators for whom a slot is reserved. A small language, parsed only here (DESIGN §4).

    any                                   everybody
    origin: Asia                          profiles with this value
    origin: Asia or Europe                one of several values
    gender: not male                      any other answer; profiles without an answer do not match
    residence: Europe and gender: female  all of several clauses
    in-region, out-region                 by the identity group of each unit (PROTOCOL §3): `resolve`
    in-region and gender: not male        both

A profile is a mapping from field to value, e.g. {"origin": "Asia", "gender": "woman"}. Comparison
ignores case. Pure: no Django.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

ANY = "any"
IN_REGION = "in-region"
OUT_REGION = "out-region"
_REGIONAL = frozenset({IN_REGION, OUT_REGION})  # clauses that need an identity group
MAX_LENGTH = 120
"""Maximum number of characters of a resolved stratum."""

# Words people write for the same gender; 'not male' must not let 'man' through.
_SYNONYMS = {"man": "male", "men": "male", "woman": "female", "women": "female"}
_AND = re.compile(r" and ", re.IGNORECASE)
_FIELD = re.compile(r"\w+ ?:")


@dataclass(frozen=True)
class Clause:
    field: str
    values: frozenset[str]
    negated: bool = False

    def matches(self, profile: Mapping[str, str]) -> bool:
        # A study's own question is named by its field in strata, too.
        answer = profile.get(self.field) or profile.get(f"question:{self.field}")
        if not answer:
            return False
        return (_canonical(answer) in self.values) != self.negated


@dataclass(frozen=True)
class Stratum:
    """All clauses must match; no clause means everybody."""

    clauses: tuple[Clause, ...] = ()

    def matches(self, profile: Mapping[str, str]) -> bool:
        return all(clause.matches(profile) for clause in self.clauses)


def depends_on_group(text: str) -> bool:
    """Whether the stratum depends on a unit's identity group."""
    return any(part.lower() in _REGIONAL for part in _parts(text))


def resolve(text: str, *, region: str) -> str:
    """The stratum for a unit about a group of `region`: in-region annotators reside in the group's region;
    out-region annotators identify with it and reside in North America (PROTOCOL §3).

    Raises ValueError if the region is needed and unknown.
    """
    if not depends_on_group(text):
        return text
    if not region:
        raise ValueError(f"'{text}' needs the region of the identity group, which is not known.")
    meant = {
        IN_REGION: f"residence: {region}",
        OUT_REGION: f"identity_region: {region} and residence: North America",
    }
    return " and ".join(meant.get(part.lower(), part) for part in _parts(text))


def parse(text: str, *, fields: Iterable[str] | None = None, unresolved: bool = False) -> Stratum:
    """Parse one stratum; raises ValueError, which names it and what is allowed.

    `fields`: the known profile fields; None accepts any. In-region and out-region must be resolved already;
    with `unresolved` they are left out instead, which returns the other clauses.
    """
    if depends_on_group(text) and not unresolved:
        raise ValueError(f"'{text}' is for units about an identity group; here there is none.")
    known = None if fields is None else sorted(fields)
    others = [part for part in _parts(text) if part.lower() not in _REGIONAL]
    return Stratum(tuple(_clause(part, whole=text, known=known) for part in others))


def single_value(text: str, field: str) -> str:
    """The only value, as written, that a stratum allows for `field`; empty if there is none or a choice."""
    for part in _parts(text):
        if part.lower() not in _REGIONAL:
            clause = _clause(part, whole=text, known=None)
            if clause.field == field and not clause.negated and len(clause.values) == 1:
                return part.partition(":")[2].strip()
    return ""


def written_clauses(text: str) -> list[tuple[str, str, bool]]:
    """The clauses of a stratum for a text about it: the field, its values as written, and whether they are
    excluded. In-region and out-region are fields without values; 'any' has no clause."""
    found = []
    for part in _parts(text):
        field, _colon, values = (each.strip() for each in part.partition(":"))
        negated = values.lower().startswith("not ")
        found.append((field.lower(), values[4:].strip() if negated else values, negated))
    return found


def _parts(text: str) -> list[str]:
    """The clauses of a stratum, as written; 'any' has none. ' and ' separates them only before 'field:' and
    next to in-region and out-region, since a value may contain the word: 'origin: Trinidad and Tobago'."""
    text = " ".join(text.split())
    parts: list[str] = []
    for piece in _AND.split(text) if text.lower() != ANY else ():
        begins = _FIELD.match(piece) or piece.lower() in _REGIONAL
        if begins or not parts or parts[-1].lower() in _REGIONAL:
            parts.append(piece)
        else:
            parts[-1] += f" and {piece}"
    return parts


def _clause(part: str, *, whole: str, known: list[str] | None) -> Clause:
    field, _colon, rest = part.partition(":")
    field, rest = field.strip().lower(), rest.strip()
    if not field or not rest:
        raise ValueError(f"'{whole}' is not a stratum. Write 'any', 'origin: Asia' or 'gender: not male'.")
    if known is not None and field not in known:
        raise ValueError(f"'{whole}': there is no profile field '{field}'. There are: {', '.join(known)}.")
    negated = rest.lower().startswith("not ")
    if negated:
        rest = rest[4:]
    values = frozenset(_canonical(value) for value in rest.split(" or ") if value.strip())
    return Clause(field=field, values=values, negated=negated)


def _canonical(value: str) -> str:
    value = value.strip().lower()
    return _SYNONYMS.get(value, value)
