"""What was shown and selected with images of each identity group, as arrays (PROTOCOL §6, §7)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
from django.db.models import Count, Exists, F, Func, OuterRef, Q, QuerySet, Subquery, TextField, Value
from django.db.models.functions import Coalesce

from annotation.models import Attribute, IdentityGroup, Judgement, Study, Task, Unit
from metrics.core import text_columns
from metrics.core.answers import counted_judgements, counted_responses, stereotypes
from metrics.core.fingerprints import fingerprint, offensiveness_fingerprint
from metrics.core.stats.checks import Bools, Ints
from metrics.core.text_columns import JoinedOfAll

_NONE_OF_ABOVE = 0  # stands for null in the text of an answer; no attribute has this key


@dataclass(frozen=True)
class GroupFrame:
    """What was shown and selected with images of one identity group.

    Many responses are equal, so each distinct answer is kept once. `k` and `n` have a row for each distinct
    answer and a column for each attribute, in the order of `attributes`; 'none of the above', if it was
    offered, is the last column, named None. The other arrays have an element for each response (or a single
    one, for sums): `answers` is the row of its answer, `images` and `annotators` are its clusters,
    `image_sets` is the set of its image, and `stratum_of` is the index in `strata` of what its slot was
    reserved for. Responses are in the order of image, page and slot, answers in that of their first response,
    so that a seeded draw is the same in every database.
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

    @property
    def is_attribute(self) -> Bools:
        """False for the column of 'none of the above', shape (attributes,)."""
        return np.array([pk is not None for pk in self.attribute_ids], dtype=np.bool_)

    def sums(self) -> tuple[Ints, Ints]:
        """k and n of each attribute over all responses."""
        times = np.bincount(self.answers, minlength=len(self.k))
        return times @ self.k, times @ self.n

    def only(self, chosen: Bools | Ints) -> GroupFrame:
        """The frame with only the responses `chosen`: (R,), or places, perhaps several times."""
        return replace(self, **{name: getattr(self, name)[chosen] for name in _RESPONSE_FIELDS})

    def without_none_of_above(self) -> GroupFrame:
        """The frame without the column of 'none of the above'."""
        kept = self.is_attribute
        return replace(
            self,
            attribute_ids=tuple(pk for pk in self.attribute_ids if pk is not None),
            attributes=tuple(text for text in self.attributes if text is not None),
            stereotypical=self.stereotypical[kept],
            k=self.k[:, kept],
            n=self.n[:, kept],
        )


def read_depiction(study: Study, *, by_response: bool, task: Task | None = None) -> Iterator[GroupFrame]:
    """One frame for each identity group that was judged, sorted by name (PROTOCOL §6), one at a time; of all
    versions of the task, or of `task` alone.

    With `by_response` False, SQL computes the sums, which is all that scores without intervals need.
    Otherwise each group is read by its own query, so that only one group is in memory.
    """
    texts = dict(Attribute.objects.values_list("pk", "text"))
    known_stereotypes = set(stereotypes(study).values_list("group_id", "attribute_id"))
    for group_id, name, region, read in (_by_response if by_response else _sums)(study, task):
        seen = {attribute for answer in read.answers for attribute, _, _ in answer}
        if not seen:
            continue
        ordered: list[int | None] = [*sorted(seen - {_NONE_OF_ABOVE}, key=texts.__getitem__)]
        if _NONE_OF_ABOVE in seen:
            ordered.append(None)
        column = {attribute or _NONE_OF_ABOVE: place for place, attribute in enumerate(ordered)}
        k = np.zeros((len(read.answers), len(ordered)), dtype=np.int64)
        n = np.zeros_like(k)
        for row, answer in enumerate(read.answers):
            for attribute, selected, shown in answer:
                k[row, column[attribute]] = selected
                n[row, column[attribute]] = shown
        yield GroupFrame(
            group_id=group_id,
            group=name,
            region=region,
            attribute_ids=tuple(ordered),
            attributes=tuple(None if pk is None else texts[pk] for pk in ordered),
            stereotypical=np.array([(group_id, pk) in known_stereotypes for pk in ordered], dtype=np.bool_),
            k=k,
            n=n,
            **dict(zip(_RESPONSE_FIELDS, read.responses.T, strict=True)),
            strata=read.strata,
        )


_Answer = tuple[tuple[int, int, int], ...]
"""(attribute, times selected, times shown) for each attribute of an answer or of a sum of answers."""


_RESPONSE_FIELDS = ("answers", "images", "annotators", "image_sets", "stratum_of")


@dataclass(frozen=True)
class _Responses:
    """The distinct `answers` and `strata`, and for each response a row of _RESPONSE_FIELDS."""

    answers: list[_Answer]
    responses: Ints
    strata: tuple[str, ...]


_Groups = Iterator[tuple[int, str, str, _Responses]]


def _of(task: Task | None, units: str = "") -> Q:
    """Rows about the units of one version of the task, if any; `units`: what leads to the unit."""
    return Q() if task is None else Q(**{f"{units}task": task})


def _sums(study: Study, task: Task | None) -> _Groups:
    sums = (
        counted_judgements(study, "depiction")
        .filter(_of(task, "response__unit__"))
        .order_by()
        .values_list("response__unit__image__group_id", "option__attribute_id")
        .annotate(k=Count("pk", filter=Q(value=1)), n=Count("pk"))
    )
    found: dict[int, list[tuple[int, int, int]]] = {}
    for group, attribute, k, n in sums:
        found.setdefault(group, []).append((attribute or _NONE_OF_ABOVE, k, n))
    for group, name, region in _names_and_regions(IdentityGroup.objects.filter(pk__in=found)):
        yield group, name, region, _Responses([tuple(found[group])], np.zeros((1, 5), dtype=np.int64), ("",))


def _by_response(study: Study, task: Task | None) -> _Groups:
    units = Unit.objects.filter(
        _of(task), task__study=study, task__kind="depiction", image__group=OuterRef("pk")
    )
    for group, name, region in _names_and_regions(IdentityGroup.objects.filter(Exists(units))):
        yield group, name, region, _read_responses(study, task, group)


def _names_and_regions(groups: QuerySet[IdentityGroup]) -> list[tuple[int, str, str]]:
    return sorted(groups.order_by().values_list("pk", "name", "region"), key=lambda row: (row[1], row[0]))


def _read_responses(study: Study, task: Task | None, group: int) -> _Responses:
    """The responses to images of `group`, in an order that does not depend on primary keys."""
    # the few versions of the task as a subquery, as in counted_responses
    versions = Task.objects.filter(study=study, kind="depiction")
    of_group = Unit.objects.filter(_of(task), task__in=versions, image__group=group).order_by()
    units = text_columns.read_integers(
        of_group, "pk", "image__index", "task__version", "position", "image_id", "image__image_set_id"
    )
    responses = counted_responses(study, "depiction").filter(_of(task, "unit__"))
    rows = responses.filter(unit__image__group_id=group).order_by()
    # 0: not identified
    numbers, texts_read = text_columns.read_integers_and_texts(
        rows.annotate(answer=_answer_text()),
        ("pk", "unit_id", "slot__index", Coalesce("annotator_id", Value(0))),
        ("slot__stratum", "answer"),
    )
    key, unit_of, slot, annotators = numbers
    reserved, answers_read = texts_read
    if not len(key):
        return _Responses([], np.empty((0, 5), dtype=np.int64), ())
    units = units[:, np.lexsort(units[3:0:-1])]
    by_key = np.argsort(units[0])
    place = by_key[np.searchsorted(units[0], unit_of, sorter=by_key)]
    order = np.lexsort((key, slot, place))
    image, image_set = units[4:, place]
    # not identified: the response is a cluster of its own (PROTOCOL §13)
    annotators = np.where(annotators == 0, -key, annotators)
    answer_of, texts_of_answers = answers_read.numbers, answers_read.texts
    # the same answer can have several texts, with the attributes in another order
    answers: dict[_Answer, int] = {}
    renumbered = np.empty(len(texts_of_answers), dtype=np.int64)
    _, first = np.unique(answer_of[order], return_index=True)
    for number in answer_of[order][np.sort(first)].tolist():
        renumbered[number] = answers.setdefault(_parse_answer(texts_of_answers[number]), len(answers))
    each = np.column_stack([renumbered[answer_of], image, annotators, image_set, reserved.numbers])
    return _Responses(list(answers), each[order], tuple(reserved.texts))


def _answer_text() -> Coalesce:
    """The answer of a response as text: for each attribute twice its key, plus 1 if it was selected. Equal
    texts are equal answers."""
    # numbers stand in the SQL, as separators do (text_columns.py)
    attribute = Func(F("option__attribute_id"), template=f"COALESCE(%(expressions)s, {_NONE_OF_ABOVE}) * 2")
    chosen = Func(F("value"), template="CASE WHEN %(expressions)s = 1 THEN 1 ELSE 0 END")
    judgements = Judgement.objects.filter(response_id=OuterRef("pk")).order_by()
    answer = judgements.annotate(answer=JoinedOfAll(attribute + chosen))
    return Coalesce(Subquery(answer.values("answer")), Value(""), output_field=TextField())


def _parse_answer(text: str) -> _Answer:
    numbers = sorted(int(number) for number in text.split(",") if number)
    return tuple((number // 2, number % 2, 1) for number in numbers)


def inputs_fingerprint(study: Study, parameters: Mapping[str, str]) -> list[object]:
    """Changes with what depiction metrics read besides the answers: which attributes are stereotypes."""
    return [fingerprint(stereotypes(study))]


def rated_inputs_fingerprint(study: Study, parameters: Mapping[str, str]) -> list[object]:
    """The same with the offensiveness ratings of the stereotypes."""
    return [*inputs_fingerprint(study, parameters), offensiveness_fingerprint(study)]
