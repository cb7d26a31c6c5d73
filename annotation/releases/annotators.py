"""Who is in a release: pseudonyms that are valid only there, and the coarsened profiles."""

from __future__ import annotations

import hmac
import secrets
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from django.db.models import Exists, OuterRef

from annotation.models import Annotator, ProfileAnswer, Study
from annotation.participation import profile_fields
from annotation.releases.coarsening import Coarsened, Field, Person, coarsen, make_field
from annotation.releases.linkage import Linkage
from annotation.releases.request import ReleaseOptions, ReleaseRefused, responses
from annotation.releases.strata_disclosure import find_linkage, may_publish_strata

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
    unknown = set(options.withhold) - {field.name for field in fields} - set(profile_fields.CHOICES)
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
