"""What a release needs of the catalogue: identity groups, attributes, associations, image sets, images.

What is here already has to say the same: an import never changes what other studies are computed from.
"""

from __future__ import annotations

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


def chunked(rows: Iterable[Any]) -> Iterator[list[Any]]:
    source = iter(rows)
    while held := list(islice(source, CHUNK)):
        yield held


def groups(release: Release) -> dict[Pair, IdentityGroup]:
    known = {(group.axis, group.name): group for group in IdentityGroup.objects.all()}
    fresh: dict[Pair, IdentityGroup] = {}
    for row in release.rows(columns.IDENTITIES):
        key = row.one_of("axis", Axis.values), row.text("identity", needed=True, longest=120)
        said = {
            "demonym": row.text("demonym", longest=120),
            "country": row.text("country", longest=120),
            "region": row.one_of("region", ["", *Region.values]),
            "global_south": row.flag_or_none("global_south"),
        }
        here = known.get(key)
        if here is None:
            fresh[key] = IdentityGroup(axis=key[0], name=key[1], **said)
        elif here.region != said["region"]:
            raise row.refused(
                "region",
                f"'{said['region']}', and here {key[1]} belongs to '{here.region}'.",
                "Import into an empty installation.",
            )
    IdentityGroup.objects.bulk_create(fresh.values())
    return known | fresh


def attributes(release: Release) -> dict[str, int]:
    """Text -> primary key, of every attribute that the release names."""
    wanted: dict[str, None] = {}
    for file, names in (
        (columns.UNITS, ("attribute", "option_attribute")),
        (columns.ASSOCIATIONS, ("attribute",)),
    ):
        for row in release.rows(file):
            for name in names:
                text = row.text(name, longest=200)
                if text != text.strip().lower():
                    raise row.refused(name, f"'{text}' is not in small letters, without spaces around it.")
                if text:
                    wanted[text] = None
    known = dict(Attribute.objects.values_list("text", "pk"))
    fresh = Attribute.objects.bulk_create([Attribute(text=text) for text in wanted if text not in known])
    return known | {attribute.text: attribute.pk for attribute in fresh}


def sources(release: Release) -> dict[str, Source]:
    found = {}
    for said in release.about["sources"]:
        fields = {key: str(said.get(key) or "") for key in ("title", "licence", "citation")}
        found[str(said["name"])], _ = Source.objects.get_or_create(name=str(said["name"]), defaults=fields)
    return found


def associations(
    release: Release,
    of: Mapping[str, Source],
    group_of: Mapping[Pair, IdentityGroup],
    attribute_of: Mapping[str, int],
) -> int:
    """Write those that are missing; how many. Raises ImportRefused where one is here with other votes."""
    known = {
        (row.source_id, row.group_id, row.attribute_id): row
        for row in Association.objects.filter(source__in=of.values())
    }
    fresh: list[Association] = []
    for row in release.rows(columns.ASSOCIATIONS):
        made = Association(
            source_id=lookup(of, row.text("source"), row, "source").pk,
            group_id=lookup(group_of, (row.text("axis"), row.text("identity")), row, "identity").pk,
            attribute_id=attribute_of[row.text("attribute", needed=True)],
            **{name: row.whole_or_none(name) for name in _VOTES},
            offensiveness=row.numbers("offensiveness"),
            offensiveness_mean=row.decimal_or_none("offensiveness_mean"),
        )
        here = known.get((made.source_id, made.group_id, made.attribute_id))
        if here is None:
            fresh.append(made)
        elif any(
            getattr(here, name) != getattr(made, name)
            for name in (*_VOTES, "offensiveness", "offensiveness_mean")
        ):
            raise ImportRefused(
                f"{row.file.name}, row {row.number}: here the source '{row.text('source')}' says something "
                f"else of '{row.text('identity')}: '{row.text('attribute')}'. "
                "Import into an empty installation."
            )
    for held in chunked(fresh):
        Association.objects.bulk_create(held)
    return len(fresh)


def image_sets(release: Release) -> dict[str, ImageSet]:
    found = {}
    for said in release.about["image_sets"]:
        fields = {key: str(said.get(key) or "") for key in ("title", "model_name", "licence")}
        found[str(said["name"])], _ = ImageSet.objects.get_or_create(
            name=str(said["name"]), defaults={**fields, "drawn": bool(said.get("drawn"))}
        )
    return found


def images(
    release: Release, sets: Mapping[str, ImageSet], group_of: Mapping[Pair, IdentityGroup]
) -> tuple[dict[str, Image], int]:
    """Name in the release -> image, and how many had to be made."""
    known = {
        (image.image_set_id, image.group_id, image.index): image
        for image in Image.objects.filter(image_set__in=sets.values())
    }
    named: dict[str, Image] = {}
    fresh: list[Image] = []
    for row in release.rows(columns.IMAGES):
        name = row.text("image", needed=True, longest=500)
        image = Image(
            image_set=lookup(sets, row.text("image_set"), row, "image_set"),
            group=lookup(group_of, (row.text("axis"), row.text("identity")), row, "identity"),
            index=row.whole("index", least=1),
            prompt=row.text("prompt", longest=500),
            width=row.whole("width", least=1),
            height=row.whole("height", least=1),
            sha256=row.text("sha256", longest=64),
            reference=row.text("reference", longest=500),
        )
        here = known.get((image.image_set_id, image.group_id, image.index))
        if here is not None:
            # Without a hash, where it is kept is all that says which picture it is.
            same_place = bool(image.sha256) or here.reference == image.reference
            said = (image.sha256, image.width, image.height)
            if (here.sha256, here.width, here.height) != said or not same_place:
                raise ImportRefused(
                    f"{row.file.name}, row {row.number}: here the image set '{row.text('image_set')}' holds "
                    f"another image {image.index} of '{row.text('identity')}'. "
                    "Import into an empty installation."
                )
            named[name] = here
            continue
        if file := row.text("file"):
            image.file = _kept(release, row, file, sha256=image.sha256)
        elif not image.reference:
            image.reference = name
        named[name] = image
        fresh.append(image)
    for held in chunked(fresh):
        Image.objects.bulk_create(held)
    return named, len(fresh)


def _kept(release: Release, row: Row, file: str, *, sha256: str) -> str:
    folder = release.folder.resolve()
    path = (folder / file).resolve()
    if not path.is_relative_to(folder / columns.IMAGE_FOLDER) or not path.is_file():
        raise row.refused("file", f"'{file}' is no file in {columns.IMAGE_FOLDER}/.")
    data = path.read_bytes()
    if image_files.digest(data) != sha256:
        raise row.refused("sha256", f"'{file}' has another hash.")
    name, _ = image_files.store(data, suffix=path.suffix)
    return name


def lookup(known: Mapping[Any, Any], key: Any, row: Row, column: str) -> Any:
    """What `key` names; raises FileRefused where the release says nothing of it."""
    if key not in known:
        said = key if isinstance(key, str) else " ".join(map(str, key))
        raise row.refused(column, f"nothing else in the release says what '{said}' is.")
    return known[key]


__all__ = ["associations", "attributes", "chunked", "groups", "image_sets", "images", "lookup", "sources"]
