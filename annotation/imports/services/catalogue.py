"""Sources, identity groups and attributes for the importers (PROTOCOL §1)."""

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field, replace

from annotation.imports.readers.identities import known_identities
from annotation.imports.readers.oddities import Oddity, OddityLog
from annotation.models import Attribute, Axis, IdentityGroup, Source

Progress = Callable[[str, int, int], None]
"""Called with the name of a step, the number of rows done, and the total."""


class ImportRefused(ValueError):
    """An import that contradicts the database. The message says what to do."""


@dataclass(frozen=True)
class Imported:
    """Result of an import: rows created by table, number of groups completed, and oddities."""

    created: dict[str, int] = field(default_factory=dict)
    filled: int = 0
    oddities: tuple[Oddity, ...] = ()

    @property
    def unchanged(self) -> bool:
        return not self.filled and not any(self.created.values())


@dataclass(frozen=True)
class SourceInfo:
    """A published resource, how to cite it, and where it is."""

    name: str
    title: str
    licence: str
    citation: str
    origin: str


_SEEGULL = (
    "Jha et al. (2023): SeeGULL: A Stereotype Benchmark with Broad Geo-Cultural Coverage Leveraging "
    "Generative Models. ACL."
)
_ORIGIN = "https://github.com/google-research-datasets/seegull"


def _seegull(name: str, title: str) -> SourceInfo:
    return SourceInfo(name, title, "CC BY 4.0", _SEEGULL, _ORIGIN)


SEEGULL = _seegull("seegull-v2", "SeeGULL v2, nationalities")
SEEGULL_STATES = {
    Axis.US_STATE: _seegull("seegull-us-states", "SeeGULL, US states"),
    Axis.INDIAN_STATE: _seegull("seegull-indian-states", "SeeGULL, Indian states"),
}


def seegull_source(axis: Axis, name: str | None = None) -> SourceInfo:
    """The source of a SeeGULL file about identities on `axis`: the release's, or one called `name`."""
    standard = SEEGULL if axis == Axis.NATIONALITY else SEEGULL_STATES[axis]
    if not name or name == standard.name:
        return standard
    return replace(standard, name=name, title=f"{standard.title} ({name})")


def lock_source(info: SourceInfo) -> Source:
    """The row of a source, created if needed, and locked until the transaction ends.

    The lock makes imports of one source wait for each other, so that the second sees the rows of the first.
    """
    Source.objects.get_or_create(name=info.name, defaults=asdict(info))
    return Source.objects.select_for_update().get(name=info.name)


@dataclass(frozen=True)
class Groups:
    """Primary keys of identity groups by name, and how many were created or completed."""

    keys: dict[str, int]
    created: int
    filled: int
    oddities: tuple[Oddity, ...]


def ensure_groups(*, first_rows: dict[str, int], axis: Axis, file: str, sheet: str = "") -> Groups:
    """Create missing identity groups on `axis`. `first_rows`: name -> its first row in `file`.

    Demonym, country, region and Global South come from imports/data/identities.csv. Existing groups keep
    their values; only blanks are filled.
    """
    known = known_identities()
    log = OddityLog(file, sheet)
    names = list(first_rows)
    present = {group.name: group for group in IdentityGroup.objects.filter(axis=axis, name__in=names)}
    fresh: list[IdentityGroup] = []
    filled: list[IdentityGroup] = []
    for name in names:
        entry = known.get((axis.value, name))
        if entry is None:
            log.note("identity_unlisted", row=first_rows[name], example=f"'{name}'")
        group = present.get(name)
        if group is None:
            group = IdentityGroup(name=name, axis=axis, demonym=entry.demonym if entry else name)
            fresh.append(group)
        if entry is not None and not (group.country and group.region and group.global_south is not None):
            group.country = group.country or entry.country
            group.region = group.region or entry.region
            if group.global_south is None:
                group.global_south = entry.global_south
            if name in present:
                filled.append(group)
    IdentityGroup.objects.bulk_create(fresh)
    IdentityGroup.objects.bulk_update(filled, ["country", "region", "global_south"])
    keys = {group.name: group.pk for group in (*present.values(), *fresh)}
    return Groups(keys=keys, created=len(fresh), filled=len(filled), oddities=log.found())


def ensure_attributes(*, texts: Iterable[str]) -> tuple[dict[str, int], int]:
    """Primary keys of attributes by text, and the number created. `texts` must be normalised."""
    wanted = dict.fromkeys(texts)
    keys = dict(Attribute.objects.values_list("text", "pk"))
    missing = [Attribute(text=text) for text in wanted if text not in keys]
    Attribute.objects.bulk_create(missing)
    keys.update((attribute.text, attribute.pk) for attribute in missing)
    return {text: keys[text] for text in wanted}, len(missing)
