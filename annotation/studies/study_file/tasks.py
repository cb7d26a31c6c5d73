"""The [[tasks]] of a study file: questions, stimuli and strata (docs/studies.md). Pure: no Django."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from annotation.studies.errors import StudyFileError
from annotation.studies.errors import gettext_noop as _
from annotation.studies.study_file.checks import CheckItem, read_checks
from annotation.studies.study_file.default_wordings import WORDINGS, default_wording
from annotation.studies.study_file.stimuli import (
    Associations,
    GroupDraw,
    PageDraw,
    SourceDraw,
    read_associations,
    read_attributes,
    read_pages,
)
from annotation.studies.study_file.table import LARGEST_SEED, Table

_DEFAULT_STRATA = {
    "prevalence": ("in-region",) * 3 + ("out-region",) * 3,
    "depiction": ("any", "any", "gender: not male"),
}
"""Kind of task -> the strata of PROTOCOL §3 and §5, if a file has neither strata nor overlap."""
DEFAULT_OVERLAP = 3
ALWAYS_PAIRS = frozenset({"prevalence", "association"})
"""The kinds of task that are only ever about associations, never about attributes alone."""
_PLACEHOLDERS = {
    "visual_nature": ("[attr]",),
    "offensiveness": ("[attr]",),
    **dict.fromkeys(ALWAYS_PAIRS, ("[id]", "[attr]")),
}
"""Kind of task -> what its wording must contain."""


@dataclass(frozen=True)
class TaskFile:
    """One [[tasks]] table. Attributes are normalised (trimmed, lower case). `strata` has one entry per
    answer of a unit.

    Exactly one of `attributes` (visual_nature, offensiveness), `associations` (prevalence, offensiveness,
    association) and `pages` (depiction) is given. `translations`: language -> {"wording": ...,
    "instructions": ...} and, if translated, "examples", like `examples`: [{"text": ..., "answer": ...,
    "why": ...}, ...]. `people_share`: of each group, the share that people judge; None: all.
    """

    kind: str
    wording: str
    instructions: str
    strata: tuple[str, ...]
    seed: int
    attributes: SourceDraw | tuple[str, ...] | None = None
    associations: Associations | None = None
    pages: PageDraw | dict[str, GroupDraw] | None = None
    image_set: str = ""
    page_size: int = 5
    translations: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    examples: Sequence[dict[str, str]] = ()
    checks: tuple[CheckItem, ...] = ()
    people_share: float | None = None


def read_task(table: Table, *, folder: Path | None) -> TaskFile:
    """Read one [[tasks]] table. `folder`: where the files it refers to are; None refuses such files."""
    kind = table.text("kind", required=True)
    if kind not in WORDINGS:
        raise table.error(
            "kind",
            kind,
            f"%(it)s is none of: {', '.join(WORDINGS)}.",
            page_message=_("'%(kind)s' is not a kind of judgement."),
            kind=kind,
        )
    attributes = associations = pages = None
    image_set, page_size = "", 5
    if kind == "depiction":
        image_set = table.text("image_set", required=True, longest=80)
        page_size = table.integer("page_size", default=5, least=2, most=20)
        pages = read_pages(table)
    elif kind in ALWAYS_PAIRS or (kind == "offensiveness" and "associations" in table):
        associations = read_associations(table)
    else:
        attributes = read_attributes(table, folder=folder)
    names_group = associations is not None
    wording = table.text("wording", default=default_wording(kind, names_group=names_group))
    examples = [_read_example(each) for each in table.tables("examples")]
    _check_wording(table, wording, kind=kind, names_group=names_group)
    return TaskFile(
        kind=kind,
        wording=wording,
        instructions=table.prose("instructions"),
        strata=_read_strata(table, kind=kind),
        seed=table.integer("seed", default=0, least=0, most=LARGEST_SEED),
        attributes=attributes,
        associations=associations,
        pages=pages,
        image_set=image_set,
        page_size=page_size,
        translations=_read_translations(
            table.table("translations"), kind=kind, names_group=names_group, examples=examples
        ),
        examples=examples,
        checks=read_checks(table, kind=kind, names_group=names_group, page_size=page_size),
        people_share=_read_people_share(table),
    )


def _check_wording(table: Table, wording: str, *, kind: str, names_group: bool) -> None:
    """Refuse a wording with missing placeholders, or with ones that the task cannot fill in."""
    for place in _PLACEHOLDERS.get(kind, ()):
        if place not in wording:
            raise table.error(
                "wording",
                wording,
                "%(it)s does not contain '%(part)s'.",
                page_message=_("Include '%(part)s' in the wording."),
                part=place,
            )
    if "[id]" in wording and not names_group:
        raise table.error(
            "wording",
            wording,
            _("%(it)s contains '[id]', but this task has no identity groups. Remove it."),
        )
    if "[attr]" in wording and kind == "depiction":
        raise table.error(
            "wording",
            wording,
            _("%(it)s contains '[attr]', but a page shows several attributes. Remove it."),
        )


def default_strata(kind: str) -> tuple[str, ...]:
    """The strata of a task that gives neither strata nor overlap (PROTOCOL §2-§5, §11)."""
    return _DEFAULT_STRATA.get(kind, ("any",) * DEFAULT_OVERLAP)


def _read_strata(table: Table, *, kind: str) -> tuple[str, ...]:
    strata = table.text_list("strata")
    if "overlap" not in table:
        return strata or default_strata(kind)
    overlap = table.integer("overlap", default=DEFAULT_OVERLAP, least=1, most=100)
    if strata and overlap != len(strata):
        raise table.error(
            "overlap",
            overlap,
            f"%(it)s differs from the {len(strata)} strata. Leave one of them out.",
            page_message=_(
                "%(overlap)s answers are required, but there are %(lines)s lines. Write one line per answer."
            ),
            overlap=overlap,
            lines=len(strata),
        )
    return strata or ("any",) * overlap


def _read_people_share(table: Table) -> float | None:
    share = table.raw("people_share")
    if share is None:
        return None
    if not isinstance(share, int | float) or isinstance(share, bool) or not 0 < share < 1:
        raise table.error(
            "people_share",
            share,
            "%(it)s is not a number above 0 and below 1. Leave it out if people judge everything.",
            page_message=_("Write a number above 0 and below 100, or leave this empty."),
        )
    if round(share, 4) != share:
        # so that the pages can show it in full, in per cent
        raise table.error(
            "people_share",
            share,
            "%(it)s has more than four decimal places. Round it.",
            page_message=_("Write a number with at most two decimal places."),
        )
    return share


def _read_translations(
    table: Table, *, kind: str, names_group: bool, examples: Sequence[dict[str, str]]
) -> dict[str, dict[str, Any]]:
    translations: dict[str, dict[str, Any]] = {}
    for language, each in table.by_language():
        wording = each.text("wording", required=True)
        _check_wording(each, wording, kind=kind, names_group=names_group)
        translations[language] = {"wording": wording, "instructions": each.prose("instructions")}
        translated = [_read_example(one) for one in each.tables("examples")]
        if translated and len(translated) != len(examples):
            # people of different languages must not be shown different examples
            raise StudyFileError(
                _("%(there)s of the %(wanted)s examples are translated. Translate all of them, or none."),
                key=each.path_of("examples"),
                there=len(translated),
                wanted=len(examples),
            )
        if translated:
            translations[language]["examples"] = translated
    return translations


def _read_example(table: Table) -> dict[str, str]:
    return {key: table.text(key, required=key != "why") for key in ("text", "answer", "why")}
