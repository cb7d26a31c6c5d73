"""Importing a release's identity groups, attributes, associations, image sets and images.

Existing rows must be the same: an import never changes what other studies' scores are computed from.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

from annotation.images import files as image_files
from annotation.imports.services.catalogue import ImportRefused
from annotation.models import Association, Attribute, Axis, IdentityGroup, Image, ImageSet, Region, Source
from annotation.releases import columns
from annotation.releases.reading import Release, Row

CHUNK = 2_000
Pair = tuple[str, str]
"""The axis and the name of an identity group."""
_VOTES = columns.names(columns.ASSOCIATIONS)[4:10]


def in_chunks(rows: Iterable[Any]) -> Iterator[list[Any]]:
    source = iter(rows)
    while chunk := list(islice(source, CHUNK)):
        yield chunk


def groups(release: Release) -> dict[Pair, IdentityGroup]:
    known = {(group.axis, group.name): group for group in IdentityGroup.objects.all()}
    new: dict[Pair, IdentityGroup] = {}
    for row in release.rows(columns.IDENTITIES):
        key = row.one_of("axis", Axis.values), row.text("identity", needed=True, longest=120)
        fields = {
            "demonym": row.text("demonym", longest=120),
            "country": row.text("country", longest=120),
            "region": row.one_of("region", ["", *Region.values]),
            "global_south": row.boolean_or_none("global_south"),
            "singular": row.text("singular", longest=120),
            "plural": row.text("plural", longest=120),
            "article": row.text("article", longest=10),
        }
        existing = known.get(key)
        if existing is None:
            new[key] = IdentityGroup(axis=key[0], name=key[1], **fields)
        elif existing.region != fields["region"]:
            raise row.refused(
                "region",
                f"'{fields['region']}', but in this installation {key[1]} belongs to '{existing.region}'.",
                "Import into an empty installation.",
            )
    IdentityGroup.objects.bulk_create(new.values())
    return known | new


def attributes(release: Release) -> dict[str, int]:
    """Text -> primary key of every attribute in the release."""
    texts: dict[str, None] = {}
    for file, names in (
        (columns.UNITS, ("attribute", "option_attribute")),
        (columns.ASSOCIATIONS, ("attribute",)),
    ):
        for row in release.rows(file):
            for name in names:
                text = row.text(name, longest=200)
                if text != text.strip().lower():
                    raise row.refused(name, f"'{text}' must be in lower case, without spaces around it.")
                if text:
                    texts[text] = None
    known = dict(Attribute.objects.values_list("text", "pk"))
    new = Attribute.objects.bulk_create([Attribute(text=text) for text in texts if text not in known])
    return known | {attribute.text: attribute.pk for attribute in new}


def sources(release: Release) -> dict[str, Source]:
    found = {}
    for entry in release.metadata["sources"]:
        fields = {key: str(entry.get(key) or "") for key in ("title", "licence", "citation")}
        found[str(entry["name"])], _ = Source.objects.get_or_create(name=str(entry["name"]), defaults=fields)
    return found


def associations(
    release: Release,
    of: Mapping[str, Source],
    group_of: Mapping[Pair, IdentityGroup],
    attribute_of: Mapping[str, int],
) -> int:
    """Create the missing associations; returns how many. Raises ImportRefused if an existing one has other
    votes."""
    known = {
        (row.source_id, row.group_id, row.attribute_id): row
        for row in Association.objects.filter(source__in=of.values())
    }
    new: list[Association] = []
    for row in release.rows(columns.ASSOCIATIONS):
        association = Association(
            source_id=lookup(of, row.text("source"), row, "source").pk,
            group_id=lookup(group_of, (row.text("axis"), row.text("identity")), row, "identity").pk,
            attribute_id=attribute_of[row.text("attribute", needed=True)],
            **{name: row.integer_or_none(name) for name in _VOTES},
            offensiveness=row.numbers("offensiveness"),
            offensiveness_mean=row.decimal_or_none("offensiveness_mean"),
        )
        key = association.source_id, association.group_id, association.attribute_id
        existing = known.get(key)
        if existing is None:
            new.append(association)
            known[key] = association
        elif any(
            getattr(existing, name) != getattr(association, name)
            for name in (*_VOTES, "offensiveness", "offensiveness_mean")
        ):
            raise ImportRefused(
                f"{row.file.name}, row {row.number}: in this installation the source '{row.text('source')}' "
                f"has other votes for '{row.text('identity')}: {row.text('attribute')}'. "
                "Import into an empty installation."
            )
    Association.objects.bulk_create(new, batch_size=CHUNK)
    return len(new)


def image_sets(release: Release) -> dict[str, ImageSet]:
    found = {}
    for entry in release.metadata["image_sets"]:
        fields = {key: str(entry.get(key) or "") for key in ("title", "model_name", "licence")}
        found[str(entry["name"])], _ = ImageSet.objects.get_or_create(
            name=str(entry["name"]), defaults={**fields, "drawn": bool(entry.get("drawn"))}
        )
    return found


def images(
    release: Release, sets: Mapping[str, ImageSet], group_of: Mapping[Pair, IdentityGroup]
) -> tuple[dict[str, Image], int]:
    """Name in the release -> image, and how many images were created."""
    known = {
        (image.image_set_id, image.group_id, image.index): image
        for image in Image.objects.filter(image_set__in=sets.values())
    }
    by_name: dict[str, Image] = {}
    new: list[Image] = []
    for row in release.rows(columns.IMAGES):
        name = row.text("image", needed=True, longest=500)
        image = Image(
            image_set=lookup(sets, row.text("image_set"), row, "image_set"),
            group=lookup(group_of, (row.text("axis"), row.text("identity")), row, "identity"),
            index=row.integer("index", least=1),
            prompt=row.text("prompt", longest=500),
            width=row.integer("width", least=1),
            height=row.integer("height", least=1),
            sha256=row.text("sha256", longest=64),
            reference=row.text("reference", longest=500),
        )
        key = image.image_set_id, image.group_id, image.index
        existing = known.get(key)
        if existing is not None:
            # Without a hash, only the location identifies an image
            same_location = bool(image.sha256) or existing.reference == image.reference
            same_file = all(
                getattr(existing, name) == getattr(image, name) for name in ("sha256", "width", "height")
            )
            if not (same_file and same_location):
                raise ImportRefused(
                    f"{row.file.name}, row {row.number}: in this installation the image set "
                    f"'{row.text('image_set')}' has another image {image.index} of '{row.text('identity')}'. "
                    "Import into an empty installation."
                )
            by_name[name] = existing
            continue
        if file := row.text("file"):
            image.file = _store_file(release, row, file, sha256=image.sha256)
        elif not image.reference:
            image.reference = name
        by_name[name] = known[key] = image
        new.append(image)
    Image.objects.bulk_create(new, batch_size=CHUNK)
    return by_name, len(new)


def _store_file(release: Release, row: Row, file: str, *, sha256: str) -> str:
    folder = release.folder.resolve()
    path = (folder / file).resolve()
    if not path.is_relative_to(folder / columns.IMAGE_FOLDER) or not path.is_file():
        raise row.refused("file", f"'{file}' is not a file in {columns.IMAGE_FOLDER}/.")
    data = path.read_bytes()
    if image_files.digest(data) != sha256:
        raise row.refused("sha256", f"'{file}' has another hash.")
    name, _ = image_files.store(data, suffix=path.suffix)
    return name


def lookup(known: Mapping[Any, Any], key: Any, row: Row, column: str) -> Any:
    """The value of `key`. Raises FileRefused if the release does not define it."""
    if key not in known:
        text = key if isinstance(key, str) else " ".join(map(str, key))
        raise row.refused(column, f"'{text}' is not defined anywhere in the release.")
    return known[key]
