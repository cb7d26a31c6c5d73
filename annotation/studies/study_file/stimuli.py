"""The stimuli of a task in a study file: attributes, associations or pages. Pure: no Django."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from annotation.studies.errors import KeyPath, StudyFileError, shortened
from annotation.studies.errors import gettext_noop as _
from annotation.studies.study_file.table import LARGEST_NUMBER, Table

_LONGEST_ATTRIBUTE = 200
_LONGEST_GROUP = 120


@dataclass(frozen=True)
class SourceDraw:
    """Attributes drawn from an imported source; all of them if `limit` is None."""

    source: str
    limit: int | None


@dataclass(frozen=True)
class Associations:
    """Associations of a source: all of them, those of some groups, `limit` of them drawn at random, or the
    listed `pairs` (group, attribute)."""

    source: str
    limit: int | None = None
    groups: tuple[str, ...] = ()
    pairs: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class PageDraw:
    """Attributes drawn for the images of each group (PROTOCOL §5): its visual stereotypes and as many
    random visual attributes.

    `visual`: the name of a study that rated attributes, a list of visual attributes, or None to treat every
    attribute as visual. `groups`: empty for all groups of the image set. `allow_fewer`: allow fewer random
    attributes than stereotypes.
    """

    visual: str | tuple[str, ...] | None
    groups: tuple[str, ...] = ()
    allow_fewer: bool = False


@dataclass(frozen=True)
class GroupDraw:
    """The attributes shown with every image of one group: S(id) and R(id) (PROTOCOL §5)."""

    stereotypical: tuple[str, ...]
    random: tuple[str, ...]

    @property
    def shortfall(self) -> int:
        """Number of random attributes missing to match the stereotypical ones."""
        return len(self.stereotypical) - len(self.random)


def read_attributes(table: Table, *, folder: Path | None) -> SourceDraw | tuple[str, ...]:
    path = table.path_of("attributes")
    value = table.raw("attributes")
    if isinstance(value, list):
        return _normalise(enumerate(table.text_list("attributes"), 1), path=path)
    if not isinstance(value, dict):
        raise table.missing(
            "attributes",
            fix='Write attributes = ["sombrero", ...], attributes = { source = "seegull-v2", limit = 200 } '
            'or attributes = { file = "list.txt" }.',
            page_message=_("Choose a resource, or list what is to be judged."),
        )
    inner = table.table("attributes")
    if "file" in inner:
        name = inner.text("file", required=True)
        if folder is None:
            raise inner.error(
                "file",
                name,
                _("%(it)s names a file, which an upload cannot include. List the attributes instead."),
            )
        listed = folder / name
        try:
            lines = listed.read_text(encoding="utf-8-sig").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise inner.error(
                "file",
                str(listed),
                "%(it)s cannot be read as UTF-8 text (%(why)s).",
                page_message=_("%(it)s cannot be read. List the attributes instead."),
                why=error,
            ) from error
        numbered = ((number, line) for number, line in enumerate(lines, 1) if line.strip())
        return _normalise(numbered, path=path, noun="line", listed=f" from {listed}")
    return SourceDraw(
        source=inner.text("source", required=True, longest=80),
        limit=inner.optional_integer("limit", least=1, most=LARGEST_NUMBER),
    )


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
            fix='Write [["Mexican", "sombrero"], ...].',
            page_message=_("Write an identity group, a colon and an attribute on each line."),
        )
    chosen = Associations(
        source=inner.text("source", required=True, longest=80),
        limit=inner.optional_integer("limit", least=1, most=LARGEST_NUMBER),
        groups=inner.text_list("groups"),
        pairs=tuple((" ".join(group.split()), " ".join(text.split()).lower()) for group, text in pairs),
    )
    if chosen.pairs and (chosen.limit or chosen.groups):
        raise StudyFileError(
            "%(it)s lists the associations; leave out 'limit' and 'groups'.",
            key=inner.path_of("pairs"),
            page_message=_("List the pairs, or choose by groups and number, but not both."),
        )
    if len(set(chosen.pairs)) < len(chosen.pairs):
        twice = Counter(chosen.pairs).most_common(1)[0][0]
        raise StudyFileError(
            f"{list(twice)} appears twice. Remove one.",
            key=inner.path_of("pairs"),
            page_message=_("'%(text)s' appears twice. Remove one."),
            text=": ".join(twice),
        )
    return chosen


def read_pages(table: Table) -> PageDraw | dict[str, GroupDraw]:
    """The rule of the draw, or group -> listed attributes."""
    if "shown" in table:
        if "attributes" in table:
            raise StudyFileError(
                "%(it)s lists the attributes; leave out '%(attributes)s'.",
                key=table.path_of("shown"),
                page_message=_(
                    "The attributes are listed in the file and also chosen here. Keep only one of the two."
                ),
                attributes=KeyPath(table.path_of("attributes")),
            )
        return _read_shown(table)
    inner = table.table("attributes", required=True)
    visual = inner.raw("visual")
    if isinstance(visual, list):
        visual = _normalise(enumerate(inner.text_list("visual"), 1), path=inner.path_of("visual"))
    elif not isinstance(visual, str) or not visual.strip():
        raise inner.missing(
            "visual",
            fix="Name the study that rated which attributes are visual, list them, or write "
            '"none" to treat every attribute as visual.',
            page_message=_("List the visual attributes."),
        )
    return PageDraw(
        visual=None if visual == "none" else visual,
        groups=inner.text_list("groups"),
        allow_fewer=inner.boolean("allow_fewer", default=False),
    )


def _read_shown(table: Table) -> dict[str, GroupDraw]:
    shown: dict[str, GroupDraw] = {}
    for each in table.tables("shown"):
        group = each.text("group", required=True, longest=_LONGEST_GROUP)
        if group in shown:
            raise each.error(
                "group",
                group,
                "%(it)s appears twice.",
                fix="Write all its attributes in one table.",
                page_message=_("%(it)s appears twice. Remove one."),
            )
        stereotypical, random = (
            tuple(text.lower() for text in each.text_list(role)) for role in ("stereotypical", "random")
        )
        _normalise(enumerate([*stereotypical, *random], 1), path=each.path_of("stereotypical and random"))
        shown[group] = GroupDraw(stereotypical, random)
    if not shown:
        raise StudyFileError(
            "%(it)s is empty. Add [[tasks.shown]] for each group.",
            key=table.path_of("shown"),
            page_message=_("No identity group is listed. List at least one."),
        )
    return shown


def _normalise(
    entries: Iterable[tuple[int, str]], *, path: str, noun: str = "entry", listed: str = ""
) -> tuple[str, ...]:
    """Trim and lower-case the attributes; duplicates are refused, because an annotator rates a unit once.
    `listed`: for messages, the separate file they come from, if any."""
    first: dict[str, int] = {}
    for number, entry in entries:
        text = " ".join(entry.split()).lower()
        if len(text) > _LONGEST_ATTRIBUTE or "\0" in text:
            raise StudyFileError(
                f"%(it)s{listed}, {noun} {number}: '{text[:40]}...' is not a valid attribute. It may have at "
                f"most {_LONGEST_ATTRIBUTE} printable characters.",
                key=path,
                page_message=_(
                    "'%(text)s' is not a valid attribute. It may have at most %(most)s printable characters."
                ),
                text=shortened(text.replace("\0", " ")),
                most=_LONGEST_ATTRIBUTE,
            )
        if text in first:
            raise StudyFileError(
                f"%(it)s{listed}: '%(text)s' appears twice ({noun} {first[text]} and {noun} {number}). "
                "Remove one.",
                key=path,
                page_message=_("'%(text)s' appears twice. Remove one."),
                text=text,
            )
        first[text] = number
    if not first:
        raise StudyFileError(
            f"%(it)s{listed} has no attributes. List at least one.",
            key=path,
            page_message=_("No attribute is listed. List at least one."),
        )
    return tuple(first)
