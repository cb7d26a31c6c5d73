"""Reads of associations for pages, the API and the command."""

from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet

from annotation.models import Association, Axis, IdentityGroup, Study
from generation.models import ASKINGS, Answer, Run
from generation.runs import named
from metrics.associations.askings import Modality, Setting
from metrics.associations.evaluation import AssociationsRefused, design_of, names_of
from metrics.associations.words import completed_word, corrected_words, own_words, published_words, valid_word
from metrics.core.purposes import ASSOCIATIONS
from metrics.core.suggestions import did_you_mean
from metrics.models import AssociationList, ModelAssociation, Variant

MOST_ASKINGS = 50
"""Most askings shown of an association."""


def association_runs() -> QuerySet[Run]:
    """The runs whose answers hold associations, newest first."""
    return Run.objects.filter(kind__in=ASKINGS, recipe__design__purpose=ASSOCIATIONS).order_by("-pk")


def find_run(name: str) -> Run:
    """The run with this name or number. Raises AssociationsRefused."""
    found = named.find_run(Run.objects.all(), name)
    if found is None:
        known = list(association_runs().values_list("name", flat=True)[:20])
        raise AssociationsRefused(
            f"There is no run '{name}'.{did_you_mean(name, known)} Runs with associations: "
            f"{', '.join(known) or 'none yet'}."
        )
    return found


@dataclass(frozen=True, kw_only=True)
class Choice:
    """Which associations of a list are shown. Empty fields choose all of them. `new`: only those that are
    (True) not in the catalogue, or (False) in it."""

    variant: Variant = Variant.CORRECTED
    significant: bool = True
    setting: str = ""
    modality: str = ""
    dimension: str = ""
    group: int | None = None
    descriptor: str = ""
    word: str = ""
    new: bool | None = None


def chosen(found: AssociationList, choice: Choice) -> QuerySet[ModelAssociation]:
    """The associations of a list, each with `known`: whether the catalogue has it."""
    corrected = choice.variant == Variant.CORRECTED
    rows = found.associations.select_related("group").annotate(known=is_known())
    if choice.significant:
        rows = rows.filter(**{"significant_corrected" if corrected else "significant": True})
    else:
        rows = rows.filter(**{"corrected_tf__isnull" if corrected else "tf__isnull": False})
    equal = {"setting": choice.setting, "group__axis": choice.dimension, "group": choice.group}
    rows = rows.filter(**{field: value for field, value in equal.items() if value})
    if choice.modality:
        rows = rows.filter(setting__startswith=f"{choice.modality}-")
    if choice.descriptor:
        rows = rows.filter(group__name__icontains=choice.descriptor)
    if choice.word:
        rows = rows.filter(word__icontains=choice.word)
    if choice.new is not None:
        rows = rows.filter(known=not choice.new)
    return rows


def is_known() -> Exists:
    """Whether the catalogue has the association, from a source that was not made of a model's answers."""
    from_models = Study.objects.filter(association_lists__isnull=False).values("name")
    there = Association.objects.filter(group=OuterRef("group"), attribute__text=OuterRef("word"))
    return Exists(there.exclude(source__name__in=from_models))


@dataclass(frozen=True)
class DimensionRow:
    """A dimension of a list: its descriptors, its associations, and how many are significant."""

    dimension: str
    descriptors: int
    associations: int
    significant: int
    significant_corrected: int

    @property
    def label(self) -> str:
        return str(Axis(self.dimension).label)


def dimension_rows(found: AssociationList) -> list[DimensionRow]:
    """One query."""
    rows = (
        found.associations.order_by()
        .values(dimension=F("group__axis"))
        .annotate(
            descriptors=Count("group", distinct=True),
            associations=Count("pk"),
            significant=Count("pk", filter=Q(significant=True)),
            significant_corrected=Count("pk", filter=Q(significant_corrected=True)),
        )
    )
    return sorted((DimensionRow(**row) for row in rows), key=lambda row: row.dimension)


def answers_with(one: ModelAssociation) -> list[Answer]:
    """Up to MOST_ASKINGS answers that hold the word of an association, in the order of their askings: those
    about every group of the descriptor's name, because they are pooled."""
    run = one.association_list.run
    groups = groups_of_name(run, one.group)
    own = own_words(name for each in groups for name in names_of(each))
    needs_brackets = design_of(run).get("answers") != "words"
    rows = (
        Answer.objects.filter(run=run, job__group__in=groups, job__key__startswith=f"{one.setting}/")
        .select_related("job", "job__image")
        .order_by("job")
    )
    found = []
    for answer in rows.iterator(chunk_size=1000):
        if one.word in _words_of(answer, Setting(one.setting), own, needs_brackets):
            found.append(answer)
            if len(found) == MOST_ASKINGS:
                break
    return found


def groups_of_name(run: Run, group: IdentityGroup) -> list[IdentityGroup]:
    """The groups of a run with the name of `group`, one in each of its dimensions."""
    same = IdentityGroup.objects.filter(name__iexact=group.name)
    return [one for one in same if one.name.casefold() == group.name.casefold()] or [group]


def _words_of(answer: Answer, setting: Setting, own: frozenset[str], needs_brackets: bool) -> set[str | None]:
    if setting.modality == Modality.T2T:
        letter = answer.job.key.rpartition("/")[2]
        valid = valid_word(answer.text, letter, needs_brackets=needs_brackets)
        return {completed_word(answer.text), valid}
    return {*published_words(answer.text), *corrected_words(answer.text, own)}


def settings_of(found: AssociationList) -> list[tuple[Setting, dict[str, Any]]]:
    """The settings of a list with what was read in each."""
    return [
        (setting, found.settings[setting.value]) for setting in Setting if setting.value in found.settings
    ]
