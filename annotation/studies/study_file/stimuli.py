"""What a task of a study file shows: attributes, associations or pages, drawn or listed (docs/studies.md).
Pure: no Django."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from annotation.studies.errors import Place, shortened
from annotation.studies.errors import gettext_noop as _
from annotation.studies.study_file.table import LARGEST_NUMBER, StudyFileError, Table

_LONGEST_ATTRIBUTE = 200
_LONGEST_GROUP = 120


@dataclass(frozen=True)
class FromSource:
    """Attributes drawn from those of an imported source; `limit` None takes all of them."""

    source: str
    limit: int | None


@dataclass(frozen=True)
class Associations:
    """Associations of a source: all of them, those of some groups, `limit` of them drawn, or listed
    `pairs` (group, attribute)."""

    source: str
    limit: int | None = None
    groups: tuple[str, ...] = ()
    pairs: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class PageDraw:
    """Attributes drawn for the images of each group (PROTOCOL §5): its visual stereotypes and as many
    random visual attributes.

    `visual`: the name of a study that rated them, the visual attributes themselves, or None to take every
    attribute for visual. `groups` empty: all that the image set shows. `allow_fewer`: make do with fewer
    random attributes than stereotypes.
    """

    visual: str | tuple[str, ...] | None
    groups: tuple[str, ...] = ()
    allow_fewer: bool = False


@dataclass(frozen=True)
class Shown:
    """The attributes shown with every image of one group, listed instead of drawn."""

    group: str
    stereotypical: tuple[str, ...]
    random: tuple[str, ...]


def read_attributes(table: Table, *, folder: Path | None) -> FromSource | tuple[str, ...]:
    where = table.name_of("attributes")
    value = table.raw("attributes")
    if isinstance(value, list):
        return _normalised(enumerate(table.texts("attributes"), 1), where=where)
    if not isinstance(value, dict):
        raise table.missing(
            "attributes",
            cure='Write attributes = ["sombrero", ...], attributes = { source = "seegull-v2", limit = 200 } '
            'or attributes = { file = "list.txt" }.',
            on_page=_("Choose a resource, or list what is to be judged."),
        )
    inner = Table(value, where=where)
    if "file" in inner:
        name = inner.text("file", required=True)
        inner.done()
        if folder is None:
            raise inner.error(
                "file", name, _("%(it)s lies beside no file here. List the attributes themselves.")
            )
        listed = folder / name
        try:
            lines = listed.read_text(encoding="utf-8-sig").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise inner.error(
                "file",
                str(listed),
                "%(it)s cannot be read as UTF-8 text (%(why)s).",
                on_page=_("%(it)s cannot be read. List the attributes themselves."),
                why=error,
            ) from error
        numbered = ((number, line) for number, line in enumerate(lines, 1) if line.strip())
        return _normalised(numbered, where=where, noun="line", listed=f" from {listed}")
    drawn = FromSource(
        source=inner.text("source", required=True, longest=80),
        limit=inner.whole_or_none("limit", least=1, most=LARGEST_NUMBER),
    )
    inner.done()
    return drawn


def read_associations(table: Table) -> Associations:
    inner = table.table("associations", required=True)
    pairs = inner.raw("pairs", [])
    if not isinstance(pairs, list) or not all(
        isinstance(pair, list) and len(pair) == 2 and all(isinstance(item, str) for item in pair)
        for pair in pairs
    ):
        raise inner.error(
            "pairs",
            pairs,
            "%(it)s is not a list of pairs.",
            cure='Write [["Mexican", "sombrero"], ...].',
            on_page=_("Write an identity group, a colon and an attribute on each line."),
        )
    chosen = Associations(
        source=inner.text("source", required=True, longest=80),
        limit=inner.whole_or_none("limit", least=1, most=LARGEST_NUMBER),
        groups=inner.texts("groups"),
        pairs=tuple((" ".join(group.split()), " ".join(text.split()).lower()) for group, text in pairs),
    )
    inner.done()
    if chosen.pairs and (chosen.limit or chosen.groups):
        raise StudyFileError(
            "%(it)s lists the associations; leave out 'limit' and 'groups' beside it.",
            place=inner.name_of("pairs"),
            on_page=_("List the pairs, or choose by groups and number, but not both."),
        )
    if len(set(chosen.pairs)) < len(chosen.pairs):
        twice = Counter(chosen.pairs).most_common(1)[0][0]
        raise StudyFileError(
            f"{list(twice)} stands twice. Remove one.",
            place=inner.name_of("pairs"),
            on_page=_("'%(text)s' stands twice. Remove one."),
            text=": ".join(twice),
        )
    return chosen


def read_pages(table: Table) -> PageDraw | tuple[Shown, ...]:
    if "shown" in table:
        if "attributes" in table:
            raise StudyFileError(
                "%(it)s lists what is shown; leave out '%(attributes)s'.",
                place=table.name_of("shown"),
                on_page=_("What is shown is listed in the file and chosen here as well. Keep one of them."),
                attributes=Place(table.name_of("attributes")),
            )
        return _all_shown(table)
    inner = table.table("attributes", required=True)
    visual = inner.raw("visual")
    if isinstance(visual, list):
        visual = _normalised(enumerate(inner.texts("visual"), 1), where=inner.name_of("visual"))
    elif not isinstance(visual, str) or not visual.strip():
        raise inner.missing(
            "visual",
            cure="Name the study that rated which attributes are visual, list them, or write "
            '"none" to take every attribute for visual.',
            on_page=_("List the visual attributes."),
        )
    drawn = PageDraw(
        visual=None if visual == "none" else visual,
        groups=inner.texts("groups"),
        allow_fewer=inner.flag("allow_fewer", default=False),
    )
    inner.done()
    return drawn


def _all_shown(table: Table) -> tuple[Shown, ...]:
    shown: dict[str, Shown] = {}
    for each in table.tables("shown"):
        group = each.text("group", required=True, longest=_LONGEST_GROUP)
        if group in shown:
            raise each.error(
                "group",
                group,
                "%(it)s stands twice.",
                cure="Write all its attributes in one table.",
                on_page=_("%(it)s stands twice. Remove one."),
            )
        stereotypical, random = (
            tuple(text.lower() for text in each.texts(role)) for role in ("stereotypical", "random")
        )
        both = [*stereotypical, *random]
        _normalised(enumerate(both, 1), where=each.name_of("stereotypical and random"))
        each.done()
        shown[group] = Shown(group=group, stereotypical=stereotypical, random=random)
    if not shown:
        raise StudyFileError(
            "%(it)s is empty. Add [[tasks.shown]] for each group.",
            place=table.name_of("shown"),
            on_page=_("No identity group is listed. List at least one."),
        )
    return tuple(shown.values())


def _normalised(
    entries: Iterable[tuple[int, str]], *, where: str, noun: str = "entry", listed: str = ""
) -> tuple[str, ...]:
    """Trimmed, lower-case attributes; each may stand once, since a unit is rated once by each annotator.
    `listed`: in which list beside the file, if in one."""
    first: dict[str, int] = {}
    for number, entry in entries:
        text = " ".join(entry.split()).lower()
        if len(text) > _LONGEST_ATTRIBUTE or "\0" in text:
            raise StudyFileError(
                f"%(it)s{listed}, {noun} {number}: '{text[:40]}...' is no attribute. It may have "
                f"{_LONGEST_ATTRIBUTE} printable characters.",
                place=where,
                on_page=_("'%(text)s' is no attribute. It may have %(most)s printable characters."),
                text=shortened(text.replace("\0", " ")),
                most=_LONGEST_ATTRIBUTE,
            )
        if text in first:
            raise StudyFileError(
                f"%(it)s{listed}: '%(text)s' stands twice ({noun} {first[text]} and {noun} {number}). "
                "Remove one.",
                place=where,
                on_page=_("'%(text)s' stands twice. Remove one."),
                text=text,
            )
        first[text] = number
    if not first:
        raise StudyFileError(
            f"%(it)s{listed} holds no attribute. List at least one.",
            place=where,
            on_page=_("No attribute is listed. List at least one."),
        )
    return tuple(first)


__all__ = [
    "Associations",
    "FromSource",
    "PageDraw",
    "Shown",
    "read_associations",
    "read_attributes",
    "read_pages",
]
