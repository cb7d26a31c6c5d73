"""What the files of images and the sizes of groups in a release could tell of somebody."""

from __future__ import annotations

import io
import random
from collections import Counter
from itertools import combinations
from pathlib import Path

import pytest
from PIL import Image as Pillow
from PIL.PngImagePlugin import PngInfo

from annotation.models import Image, TaskKind
from generation.uploads import bundles
from generation.uploads.services import uploads
from generation.uploads.tables import read_table
from tests import factories
from tests.annotation.releases.world import ASIAN_WOMAN, answered, people, person, released, rows
from tests.generation.uploads.bundles import encoded, pixels, table, zipped

pytestmark = pytest.mark.django_db
TOLD = b"Amal Haddad 51.5N"


def telling() -> dict[str, bytes]:
    """A picture of each kind that says who made it: as PNG texts, as Exif, as a JPEG's comment."""
    text = PngInfo()
    text.add_text("Author", TOLD.decode())
    exif = Pillow.Exif()
    exif[0x013B] = TOLD.decode()  # artist
    colours = iter(("teal", "navy", "olive"))
    return {
        "text.png": encoded(pixels(next(colours)), pnginfo=text),
        "exif.png": encoded(pixels(next(colours)), exif=exif),
        "exif.jpg": encoded(pixels(next(colours)), "JPEG", exif=exif, comment=TOLD),
    }


def test_files_of_images_say_nothing_but_their_pixels(tmp_path):
    files = telling()
    assert all(TOLD in data for data in files.values())
    listed = table(*({"file": name, "group": "Mexican"} for name in files))
    with bundles.open_bundle(zipped({**files, "t.csv": listed}), name="t.zip") as bundle:
        uploads.import_images(
            bundle=bundle,
            table=read_table(bundle),
            target=uploads.TargetSet(name="brought", title="Brought"),
            by=None,
        )
    images = list(Image.objects.all())
    who = people((ASIAN_WOMAN, 5))
    study = answered(who, units=1)
    shown = factories.task(
        study, kind=TaskKind.DEPICTION, image_set=images[0].image_set, strata=("any",) * len(who)
    )
    for picture in images:
        factories.response(factories.page_unit(shown, picture=picture), who=who[0])
    folder = released(study, tmp_path / "r", images=True)
    there = {row["file"] for row in rows(folder, "images.csv")}
    assert len(there) == len(files)
    for name in there:
        data = (folder / name).read_bytes()
        assert TOLD not in data
        with Pillow.open(io.BytesIO(data)) as picture:
            picture.load()
            assert not picture.getexif()
            assert not picture.info
        assert Path(name).stem in {image.sha256 for image in images}, "a name of its content alone"
    assert not any(TOLD in each.read_bytes() for each in folder.rglob("*") if each.is_file())


@pytest.mark.parametrize("k", [2, 5])
def test_no_crossing_of_any_fields_has_a_cell_of_fewer_than_k(tmp_path, k):
    """Not only of all fields together: whoever looks at two of them meets no smaller group."""
    chance = random.Random(k)
    offered = {
        "origin": ["Asia", "Europe", "Africa"],
        "gender": ["woman", "man", "non-binary"],
        "age_band": ["18-24", "25-34", "35-44", "65+"],
    }
    who = [
        person({name: chance.choice(values) for name, values in offered.items() if chance.random() < 0.9})
        for _ in range(40)
    ]
    told = rows(released(answered(who, units=1), tmp_path / "r", k=k), "annotators.csv")
    fields = [name for name in told[0] if name not in ("annotator", "simulated")]
    assert fields
    for size in range(1, len(fields) + 1):
        for names in combinations(fields, size):
            cells = Counter(tuple(row[name] for name in names) for row in told)
            small = {cell: number for cell, number in cells.items() if any(cell) and number < k}
            assert not small, (names, small)
