"""What was shown and selected with the images of each identity group (PROTOCOL §6, §7)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
from django.db.models import (
    Case,
    Count,
    Exists,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    TextField,
    Value,
    When,
)
from django.db.models.functions import Coalesce

from annotation.models import Attribute, IdentityGroup, Judgement, Study, Unit
from metrics.core import text_columns
from metrics.core.answers import counted_judgements, counted_responses, stereotypes
from metrics.core.fingerprints import fingerprint, offensiveness_fingerprint
from metrics.core.stats.checks import Bools, Ints
from metrics.core.text_columns import JoinedText

_NONE_OF_ABOVE = 0  # stands for its null where attributes are written out; no attribute has this key


@dataclass(frozen=True)
class GroupFrame:
    """What was shown and selected with images of one identity group.

    Many responses say the same of the same options, so each different answer is kept once: `k` and `n` have
    a row for each of them and a column for each attribute, in the order of `attributes`; where 'none of
    the above' was offered it is the last column, named None. `answers`, `images` and `annotators` have an
    element for each response (or a single one, for sums): which of the answers it is, and its clusters.
    Responses stand in the order of image, page and slot and answers in that of their first response, so that
    a seeded draw gives the same in every database. `image_sets` and `stratum_of` say of each response the set
    of its image and, by its place in `strata`, what its slot was reserved for.
    """

    group_id: int
    group: str
    region: str
    attribute_ids: tuple[int | None, ...]
    attributes: tuple[str | None, ...]
    stereotypical: Bools
    k: Ints
    n: Ints
    answers: Ints
    images: Ints
    annotators: Ints
    image_sets: Ints
    stratum_of: Ints
    strata: tuple[str, ...]

    @property
    def selected(self) -> Ints:
        """What each response selected, shape (responses, attributes)."""
        return self.k[self.answers]

    @property
    def shown(self) -> Ints:
        """What each response was shown, shape (responses, attributes)."""
        return self.n[self.answers]

    def sums(self) -> tuple[Ints, Ints]:
        """k and n of each attribute over all responses."""
        times = np.bincount(self.answers, minlength=len(self.k))
        return times @ self.k, times @ self.n

    def only(self, chosen: Bools) -> GroupFrame:
        """The same of the responses `chosen` (R,)."""
        each = ("answers", "images", "annotators", "image_sets", "stratum_of")
        return replace(self, **{name: getattr(self, name)[chosen] for name in each})

    def without_none_of_above(self) -> GroupFrame:
        """The same without the column of 'none of the above'."""
        kept = np.array([pk is not None for pk in self.attribute_ids], dtype=np.bool_)
        return replace(
            self,
            attribute_ids=tuple(pk for pk in self.attribute_ids if pk is not None),
            attributes=tuple(text for text in self.attributes if text is not None),
            stereotypical=self.stereotypical[kept],
            k=self.k[:, kept],
            n=self.n[:, kept],
        )


def read_depiction(study: Study, *, by_response: bool) -> Iterator[GroupFrame]:
    """One frame for each identity group that was judged, sorted by name (PROTOCOL §6), one at a time.

    `by_response` False lets SQL make the sums, which is all that scores without intervals need. Otherwise
    each group is a query of its own, so that no more than one group is ever held.
    """
    texts = dict(Attribute.objects.values_list("pk", "text"))
    known = set(stereotypes(study).values_list("group_id", "attribute_id"))
    groups = _by_response(study) if by_response else _sums(study)
    for group_id, name, region, read in groups:
        seen = {attribute for said in read.answers for attribute, _, _ in said}
        if not seen:
            continue
        ordered: list[int | None] = [*sorted(seen - {_NONE_OF_ABOVE}, key=texts.__getitem__)]
        if _NONE_OF_ABOVE in seen:
            ordered.append(None)
        column = {attribute or _NONE_OF_ABOVE: place for place, attribute in enumerate(ordered)}
        k = np.zeros((len(read.answers), len(ordered)), dtype=np.int64)
        n = np.zeros_like(k)
        for row, said in enumerate(read.answers):
            for attribute, selected, shown in said:
                k[row, column[attribute]] = selected
                n[row, column[attribute]] = shown
        yield GroupFrame(
            group_id=group_id,
            group=name,
            region=region,
            attribute_ids=tuple(ordered),
            attributes=tuple(None if pk is None else texts[pk] for pk in ordered),
            stereotypical=np.array([(group_id, pk) in known for pk in ordered], dtype=np.bool_),
            k=k,
            n=n,
            **dict(zip(_EACH, read.responses.T, strict=True)),
            strata=read.strata,
        )


_Said = tuple[tuple[int, int, int], ...]
"""What an answer, or a sum of answers, says: (attribute, times selected, times shown) in that order."""


_EACH = ("answers", "images", "annotators", "image_sets", "stratum_of")


@dataclass(frozen=True)
class _Read:
    """The different `answers` and `strata`, and a row of `_EACH` for each response."""

    answers: list[_Said]
    responses: Ints
    strata: tuple[str, ...]


_Groups = Iterator[tuple[int, str, str, _Read]]


def _sums(study: Study) -> _Groups:
    sums = (
        counted_judgements(study, "depiction")
        .order_by()
        .values_list("response__unit__image__group_id", "option__attribute_id")
        .annotate(k=Count("pk", filter=Q(value=1)), n=Count("pk"))
    )
    found: dict[int, list[tuple[int, int, int]]] = {}
    for group, attribute, k, n in sums:
        found.setdefault(group, []).append((attribute or _NONE_OF_ABOVE, k, n))
    for group, name, region in _named(IdentityGroup.objects.filter(pk__in=found)):
        yield group, name, region, _Read([tuple(found[group])], np.zeros((1, 5), dtype=np.int64), ("",))


def _by_response(study: Study) -> _Groups:
    asked = Unit.objects.filter(task__study=study, task__kind="depiction", image__group=OuterRef("pk"))
    for group, name, region in _named(IdentityGroup.objects.filter(Exists(asked))):
        yield group, name, region, _read(study, group)


def _named(groups: QuerySet[IdentityGroup]) -> list[tuple[int, str, str]]:
    return sorted(groups.order_by().values_list("pk", "name", "region"), key=lambda row: (row[1], row[0]))


def _read(study: Study, group: int) -> _Read:
    """The responses to images of `group`, in an order that does not depend on primary keys."""
    of_group = Unit.objects.filter(task__study=study, task__kind="depiction", image__group=group).order_by()
    units = text_columns.read_integers(
        of_group, "pk", "image__index", "task__version", "position", "image_id", "image__image_set_id"
    )
    rows = counted_responses(study, "depiction").filter(unit__image__group_id=group).order_by()
    # 0 is nobody known
    answered = text_columns.read_integers_and_texts(
        rows.annotate(said=_said()),
        ("pk", "unit_id", "slot__index", Coalesce("annotator_id", Value(0))),
        ("slot__stratum", "said"),
    )
    (key, unit_of, slot, annotators), (reserved, texts) = answered
    if not len(key):
        return _Read([], np.empty((0, 5), dtype=np.int64), ())
    units = units[:, np.lexsort(units[3:0:-1])]
    by_key = np.argsort(units[0])
    place = by_key[np.searchsorted(units[0], unit_of, sorter=by_key)]
    order = np.lexsort((key, slot, place))
    image, image_set = units[4:, place]
    # Nobody known: the response is a cluster of its own (PROTOCOL §13).
    annotators = np.where(annotators == 0, -key, annotators)
    stratum, strata = text_columns.factorize(reserved)
    said_of, written = text_columns.factorize(texts)
    # The same answer may be written in several ways, the attributes in another order.
    answers: dict[_Said, int] = {}
    renumbered = np.empty(len(written), dtype=np.int64)
    _, first = np.unique(said_of[order], return_index=True)
    for number in said_of[order][np.sort(first)].tolist():
        renumbered[number] = answers.setdefault(_parsed(written[number]), len(answers))
    each = np.column_stack([renumbered[said_of], image, annotators, image_set, stratum])
    return _Read(list(answers), each[order], tuple(strata))


def _said() -> Coalesce:
    """All that a response says in one text: twice the key of each attribute, and 1 more if it was selected.
    The same text is the same answer."""
    chosen = Case(When(value=1, then=Value(1)), default=Value(0))
    attribute = Coalesce("option__attribute_id", Value(_NONE_OF_ABOVE))
    said = (
        Judgement.objects.filter(response_id=OuterRef("pk"))
        .order_by()
        .values("response_id")
        .annotate(said=JoinedText(attribute * 2 + chosen))
    )
    return Coalesce(Subquery(said.values("said")), Value(""), output_field=TextField())


def _parsed(text: str) -> _Said:
    numbers = sorted(int(number) for number in text.split(",") if number)
    return tuple((number // 2, number % 2, 1) for number in numbers)


def read_offensiveness_ratings(study: Study) -> dict[tuple[int, int], tuple[float | None, list[float]]]:
    """{(group, attribute): (mean as its source prints it, single ratings)} of the stereotypes."""
    rows = stereotypes(study).values_list("group_id", "attribute_id", "offensiveness_mean", "offensiveness")
    return {(group, attribute): (mean, ratings) for group, attribute, mean, ratings in rows}


def inputs_fingerprint(study: Study, parameters: Mapping[str, str]) -> list[object]:
    """What metrics of depictions read besides the answers: which attributes are stereotypes."""
    return [fingerprint(stereotypes(study))]


def rated_inputs_fingerprint(study: Study, parameters: Mapping[str, str]) -> list[object]:
    """The same with how offensive the stereotypes were rated."""
    return [*inputs_fingerprint(study, parameters), offensiveness_fingerprint(study)]
