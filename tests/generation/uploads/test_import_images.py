"""Finished images from a folder or a ZIP with a CSV: whole or not at all, again without change."""

import errno
import hashlib
import io
import zipfile
from pathlib import Path

import pytest
from django.core.files.storage import default_storage
from django.core.management import CommandError, call_command
from django.db import IntegrityError

from annotation.imports.readers.oddities import FileRefused
from annotation.models import AuditEvent, Axis, Image, ImageSet
from generation.models import Provenance, Run, RunKind, RunState
from generation.uploads import bundles
from generation.uploads.services import images, uploads
from generation.uploads.services.uploads import TargetSet, UploadRefused, import_images
from generation.uploads.tables import read_table
from tests import factories
from tests.generation.uploads.bundles import encoded, folder, pixels, table, zipped

pytestmark = pytest.mark.django_db

TEAL, RED = encoded(pixels("teal")), encoded(pixels("red", size=(16, 16)))
ROWS = (
    {"file": "a/1.png", "group": "Mexican", "prompt": "a Mexican person", "model": "api-1", "seed": "7"},
    {"file": "2.png", "group": "Indian", "prompt_set": "stereotypical", "attribute": " Poor ", "note": "n"},
)
FILES = {"a/1.png": TEAL, "2.png": RED, "images.csv": table(*ROWS)}


def bring(source, *, name="brought", csv=None, **options):
    with bundles.open_bundle(source, name="pack.zip") as bundle:
        finished = read_table(bundle, table=csv)
        return import_images(bundle=bundle, table=finished, target=TargetSet(name=name), by=None, **options)


def stored(image: Image) -> bytes:
    with image.file.open() as file:
        return file.read()


def a_run_of(image_set: ImageSet) -> Run:
    return Run.objects.create(
        kind=RunKind.IMAGES,
        state=RunState.PLANNED,
        image_set=image_set,
        backend="fake",
        recipe={},
        recipe_hash="0" * 64,
    )


def nothing_there() -> bool:
    files = [path for path in Path(default_storage.location).rglob("*") if path.is_file()]
    return not (ImageSet.objects.exists() or Image.objects.exists() or files)


@pytest.mark.parametrize("pack", ["folder", "zip", "zip with a folder in it", "table beside"])
def test_each_row_becomes_an_image_with_its_origin(tmp_path, pack):
    csv = None
    if pack == "folder":
        source = folder(tmp_path / "pics", FILES)
    elif pack == "table beside":
        csv = tmp_path / "mine.csv"
        csv.write_text(table(*ROWS), encoding="utf-8-sig")
        source = folder(tmp_path / "pics", {"a/1.png": TEAL, "2.png": RED})
    elif pack == "zip":
        source = zipped({**FILES, "__MACOSX/._2.png": b"x", ".DS_Store": b"x"})
    else:
        source = zipped({f"pics/{name}": data for name, data in FILES.items()})
    done = bring(source, csv=csv)
    assert (done.created, done.filled, done.unchanged, done.reencoded, done.notes) == (2, 0, 0, 0, ())
    first, second = Image.objects.order_by("-group__name")
    assert (first.group.name, first.index, first.prompt) == ("Mexican", 1, "a Mexican person")
    assert (first.reference, first.width, first.sha256) == ("a/1.png", 8, hashlib.sha256(TEAL).hexdigest())
    assert stored(first) == TEAL
    assert (first.provenance.model, first.provenance.seed, first.provenance.run) == ("api-1", 7, None)
    origin = second.provenance
    assert (origin.prompt_set, origin.attribute.text, origin.note) == ("stereotypical", "poor", "n")
    assert second.group.region == "South Asia"  # known from the table of identities


def test_the_same_again_changes_nothing_and_more_rows_are_added_after(tmp_path):
    bring(zipped(FILES))
    before = list(Image.objects.order_by("pk").values())
    again = bring(zipped(FILES))
    assert (again.created, again.unchanged) == (0, 2)
    assert again.summary()[0] == "Nothing to do: the set 'brought' already has all 2 images."
    more = {"file": "3.png", "group": "Mexican"}
    done = bring(zipped({**FILES, "3.png": encoded(pixels("blue")), "images.csv": table(*ROWS, more)}))
    assert (done.created, done.unchanged) == (1, 2)
    assert list(Image.objects.order_by("pk").values())[:2] == before
    assert Image.objects.get(reference="3.png").index == 2
    details = (
        AuditEvent.objects.filter(what=uploads.IMPORTED).order_by("pk").values_list("details", flat=True)
    )
    named = {"set": "brought", "table": "images.csv", "filled": 0}
    assert list(details) == [{**named, "created": 2}, {**named, "created": 1}]


@pytest.mark.parametrize(
    "changed",
    [
        *({"prompt": "another"}, {"seed": "8"}, {"model": "api-2"}, {"note": "no"}, {"revision": "b"}),
        {"prompt_set": "default"},
    ],
)
def test_a_picture_that_is_known_is_not_told_otherwise(changed):
    bring(zipped(FILES))
    rows = ({**ROWS[0], **changed}, ROWS[1])
    before = list(Provenance.objects.order_by("pk").values())
    with pytest.raises(FileRefused, match=r"images\.csv, row 2: the set already has 'a/1\.png' of Mexican"):
        bring(zipped({**FILES, "images.csv": table(*rows)}))
    with pytest.raises(FileRefused, match=r"row 3: the set already has '2\.png' of Indian"):
        bring(zipped({**FILES, "images.csv": table(ROWS[0], {**ROWS[1], "attribute": "rich"})}))
    assert list(Provenance.objects.order_by("pk").values()) == before


def test_numbers_go_on_after_the_largest_of_the_group():
    image_set = factories.image_set("brought")
    for group, index in (("Mexican", 7), ("Mexican", 3), ("Indian", 9)):
        factories.image(group_name=group, index=index, image_set=image_set)
    bring(zipped(FILES))
    made = Image.objects.exclude(file="").values_list("group__name", "index")
    assert set(made) == {("Mexican", 8), ("Indian", 10)}


@pytest.mark.parametrize("how", ["other pixels", "a run"])
def test_what_somebody_puts_into_the_set_while_files_are_stored_is_looked_at_again(how):
    def meanwhile(step, done, total):
        if (step, done) != ("files stored", total):
            return
        if how == "a run":
            a_run_of(factories.image_set("brought"))
        else:
            bring(zipped({**FILES, "a/1.png": encoded(pixels("pink"))}))

    with pytest.raises((FileRefused, UploadRefused), match=r"as another image|holds generated images"):
        bring(zipped(FILES), progress=meanwhile)


def test_another_picture_under_a_known_name_is_refused_and_leaves_no_file():
    bring(zipped(FILES))
    with pytest.raises(FileRefused, match="as another image"):
        bring(zipped({**FILES, "a/1.png": encoded(pixels("pink"))}))
    assert len(list(Path(default_storage.location).rglob("*.png"))) == 2


def test_an_image_of_unknown_size_gets_its_file_and_its_size():
    """Only embeddings of it were imported."""
    image_set = factories.image_set("brought")
    image = factories.image(image_set=image_set, width=0, height=0, reference="a/1.png", prompt="a person")
    other = factories.image(
        image_set=image_set, group_name="Indian", width=0, height=0, reference="2.png", prompt="a person"
    )
    done = bring(zipped(FILES))
    assert (done.created, done.filled) == (0, 2)
    assert "2 files added to known images" in done.summary()[0]
    assert AuditEvent.objects.get(what=uploads.IMPORTED).details["filled"] == 2
    image.refresh_from_db()
    assert (image.width, image.height, stored(image)) == (8, 6, TEAL)
    assert (image.prompt, image.sha256) == ("a Mexican person", hashlib.sha256(TEAL).hexdigest())
    other.refresh_from_db()
    assert other.prompt == "a person"  # the table says nothing of it
    assert bring(zipped(FILES)).unchanged == 2


def test_groups_of_any_axis_are_as_people_name_themselves():
    """The photographed people of a face database, for example, who say their race themselves."""
    rows = ({"file": "a/1.png", "group": "Latina/o"}, {"file": "2.png", "group": "Black"})
    source = {**FILES, "images.csv": table(*rows)}
    with pytest.raises(FileRefused, match="on the axis 'race_colour' is named 'Latina/o'"):
        bring(zipped(source), axis="race_colour")
    bring(zipped(source), axis="race_colour", new_groups=True)
    groups = Image.objects.order_by("pk").values_list("group__name", "group__axis", "group__demonym")
    assert list(groups) == [("Latina/o", "race_colour", "Latina/o"), ("Black", "race_colour", "Black")]
    again = bring(zipped(source), axis="race_colour")
    assert (again.created, again.unchanged) == (0, 2)


def test_a_known_image_without_a_file_gets_it_if_its_size_is_the_same():
    image = factories.image(image_set=factories.image_set("brought"), width=8, height=6, reference="a/1.png")
    done = bring(zipped(FILES))
    assert (done.created, done.filled) == (1, 1)
    image.refresh_from_db()
    assert stored(image) == TEAL
    assert image.provenance.model == "api-1"
    other = factories.image(image_set=factories.image_set("other"), reference="a/1.png")
    with pytest.raises(FileRefused, match="8 × 6 pixels, but the set has it as 512 × 512"):
        bring(zipped(FILES), name="other")
    other.refresh_from_db()
    assert not other.file


def test_what_files_say_besides_pixels_is_told_of_and_the_original_stays_traceable():
    exif = pixels().getexif()
    exif[0x010F] = "Ada's camera"
    data = encoded(exif=exif)
    row = {"file": "1.png", "group": "Mexican", "note": "mine", "model": "camera"}
    done = bring(zipped({"1.png": data, "t.csv": table(row)}))
    assert done.reencoded == 1
    assert "1 file with metadata" in done.summary()[1]
    image = Image.objects.get()
    assert image.image_set.model_name == "camera"
    assert b"Ada" not in stored(image)
    assert image.provenance.note.startswith("mine\nStored as PNG")
    assert hashlib.sha256(data).hexdigest() in image.provenance.note
    assert bring(zipped({"1.png": data, "t.csv": table(row)})).unchanged == 1
    rows = ({**row, "note": ""}, {"file": "2.png", "group": "Mexican", "model": "api"})
    assert bring(zipped({"1.png": data, "2.png": RED, "t.csv": table(*rows)}), name="more").reencoded == 1
    assert ImageSet.objects.get(name="more").model_name == ""  # there are two
    assert Provenance.objects.get(note__startswith="Stored as PNG").image.reference == "1.png"


def test_nothing_is_left_out_in_silence():
    rows = [{**row, "guidance": "7"} for row in ROWS]
    done = bring(zipped({**FILES, "images.csv": table(*rows), "spare.png": TEAL}))
    assert done.notes == (
        "1 file is in no row of images.csv and was left out: spare.png.",
        "Columns that were not read: guidance.",
    )
    assert done.summary()[1:] == list(done.notes)


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([{"file": "x.png", "group": "Mexican"}], r"row 2, column 'file': there is no file 'x\.png' in pack"),
        ([{"file": "../2.png", "group": "Mexican"}], r"there is no file '\.\./2\.png'"),
        ([{"file": "2.png", "group": ""}], "row 2, column 'group': the cell is empty"),
        ([{"file": "2.png", "group": "Mexcan"}], "row 2, column 'group': no identity group .* 'Mexcan'"),
        ([{"file": "2.png", "group": "Mexican"}] * 2, "row 3, column 'file': '2.png' is already in row 2"),
        (
            [
                {"file": name, "group": group}
                for name, group in (("2.png", "Z"), ("t.csv", "A"), ("bad.png", "Z"))
            ],
            "row 2, column 'group': no identity group .* 'Z'",
        ),
        ([{"file": "2.png", "group": "Indian", "seed": "-1"}], "column 'seed': '-1' is not a whole number"),
        ([{"file": "2.png", "group": "Indian", "seed": str(2**63)}], "column 'seed'"),
        ([{"file": "2.png", "group": "Indian", "seed": "1.0"}], "column 'seed'"),
        (
            [{"file": "2.png", "group": "Indian", "prompt_set": "pull"}],
            "'pull' is none of detection, default",
        ),
        (
            [{"file": "2.png", "group": "Indian", "prompt_set": "default", "attribute": "poor"}],
            "have no attr",
        ),
        (
            [{"file": "2.png", "group": "Indian", "prompt_set": "stereotypical", "attribute": ""}],
            "have an attr",
        ),
        ([{"file": "2.png", "group": "Indian", "prompt": "x" * 501}], "more than 500 characters"),
        (
            [{"file": "2.png", "group": "Indian"}, {"file": "bad.png", "group": "Indian"}],
            "row 3.*'bad.png': it is no",
        ),
        ([{"file": "2.png"}], "row 1: there is no column 'group'. The first row has: file"),
    ],
)
def test_a_row_that_cannot_be_brought_in_names_itself_and_nothing_is_kept(rows, said):
    files = {"2.png": RED, "bad.png": b"<svg/>", "t.csv": table(*rows)}
    with pytest.raises(FileRefused, match=said):
        bring(zipped(files))
    assert nothing_there()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no column 'file'. The first row has: nothing"),
        ("file,group\n", "no rows below the header"),
        ("file,group\n\n,\n", "no rows below the header"),
        ("file,group\n2.png\n", "row 2: 1 cells where the header has 2"),
        ("file,group,FILE\n", "row 1, column 'file': there are two columns of this name"),
        ('file,group\n"2.png,Indian\n', "not comma-separated text"),
        ("file,group\n2.png,Espa\xf1a\n".encode("latin-1"), "row 2: the file is not UTF-8"),
        ("file,group\n2.png,Indian\n".encode("utf-16"), "not UTF-8|not a text file"),
    ],
)
def test_a_table_that_cannot_be_read_is_refused(text, said):
    with pytest.raises(FileRefused, match=said):
        bring(zipped({"2.png": RED, "t.csv": text}))
    assert nothing_there()


def test_a_bundle_needs_one_table_or_to_be_told_which():
    with pytest.raises(FileRefused, match=r"pack\.zip: it has no CSV file"):
        bring(zipped({"1.png": TEAL}))
    with pytest.raises(FileRefused, match=r"it has 2 CSV files \(a\.csv, b\.csv\)"):
        bring(zipped({"1.png": TEAL, "a.csv": "x", "b.csv": "x"}))
    with pytest.raises(FileRefused, match=r"it has 4 CSV files \(a\.csv, b\.csv, c\.csv\)"):
        bring(zipped(dict.fromkeys(("d.csv", "c.csv", "b.csv", "a.csv"), "x")))


def a_link() -> io.BytesIO:
    stored = zipped(FILES)
    with zipfile.ZipFile(stored, "a") as archive:
        member = zipfile.ZipInfo("passwords.png")
        member.external_attr = 0o120777 << 16
        archive.writestr(member, "/etc/passwd")
    return stored


def locked() -> io.BytesIO:
    raw = bytearray(zipped(FILES).getvalue())
    place = raw.index(b"PK\x01\x02")
    raw[place + 8] |= 1
    return io.BytesIO(bytes(raw))


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (lambda: zipped({**FILES, "../evil.png": TEAL}), "points outside the ZIP"),
        (lambda: zipped({**FILES, "/etc/evil.png": TEAL}), "points outside the ZIP"),
        (lambda: zipped({**FILES, "a/../../evil.png": TEAL}), "points outside the ZIP"),
        (a_link, "points outside the ZIP"),
        (locked, "encrypted with a password"),
        (lambda: io.BytesIO(b"PK not really"), "not a complete ZIP file"),
        (lambda: io.BytesIO(zipped(FILES).getvalue()[:-30]), "not a complete ZIP file"),
        (lambda: io.BytesIO(zipped(FILES).getvalue().replace(TEAL[40:60], b"x" * 20)), "cannot be unpacked"),
    ],
)
def test_a_zip_that_is_not_what_it_should_be_is_refused(made, said):
    with pytest.raises(FileRefused, match=said):
        bring(made())
    assert nothing_there()


def test_a_zip_that_unpacks_to_too_much_is_refused(monkeypatch):
    monkeypatch.setattr(bundles, "MAX_BYTES", 300)
    with pytest.raises(FileRefused, match="unpacks to more than"):
        bring(zipped(FILES))
    monkeypatch.setattr(bundles, "MAX_BYTES", 10**9)
    monkeypatch.setattr(bundles, "MAX_FILES", 2)
    with pytest.raises(FileRefused, match="it has 3 files; the limit is 2"):
        bring(zipped(FILES))


def test_a_member_that_unpacks_to_gigabytes_is_read_no_further_than_a_picture_may_be():
    stored = io.BytesIO()
    with zipfile.ZipFile(stored, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("1.png", TEAL + bytes(60_000_000))
        archive.writestr("t.csv", table({"file": "1.png", "group": "Mexican"}))
    assert len(stored.getvalue()) < 100_000
    with pytest.raises(FileRefused, match="larger than 50 MB"):
        bring(stored)
    assert nothing_there()


def test_no_more_of_a_file_is_read_than_was_asked_for(tmp_path):
    source = folder(tmp_path / "pics", {"1.png": bytes(5000)})
    for each in (source, zipped({"1.png": bytes(5000)})):
        with bundles.open_bundle(each, name="pack.zip") as bundle:
            assert len(bundle.read("1.png", limit=100)) == 101


def test_a_full_disk_is_said_and_adds_no_image(monkeypatch):
    def full(data, *, suffix):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(images.image_files, "store", full)
    with pytest.raises(UploadRefused, match=r"'a/1\.png' cannot be stored \(No space left on device\)"):
        bring(zipped(FILES))
    assert not Image.objects.exists()


def test_somebody_who_makes_the_same_attribute_in_this_moment_stops_nothing(monkeypatch):
    real, tries = uploads.ensure_attributes, []

    def meanwhile(*, texts):
        tries.append(1)
        if len(tries) == 1:
            raise IntegrityError("attribute_text_key")
        return real(texts=texts)

    monkeypatch.setattr(uploads, "ensure_attributes", meanwhile)
    assert bring(zipped(FILES)).created == 2
    assert len(tries) == 2


def test_a_link_out_of_a_folder_is_not_followed(tmp_path):
    secret = tmp_path / "secret.png"
    secret.write_bytes(TEAL)
    source = folder(tmp_path / "pics", {"images.csv": table({"file": "link.png", "group": "Mexican"})})
    (source / "link.png").symlink_to(secret)
    with pytest.raises(FileRefused, match=r"link\.png: it is a link to a file outside the folder"):
        bring(source)
    assert nothing_there()


def test_groups_that_nobody_knows_are_made_only_when_asked_for_and_on_the_axis_that_was_named():
    rows = [{"file": "2.png", "group": "Left-handed"}]
    done = bring(zipped({"2.png": RED, "t.csv": table(*rows)}), axis=Axis.OTHER, new_groups=True)
    group = Image.objects.get(image_set=done.image_set).group
    assert (group.name, group.axis, group.demonym) == ("Left-handed", "other", "Left-handed")
    with pytest.raises(FileRefused, match="on the axis 'nationality' is named 'Left-handed'"):
        bring(zipped({"2.png": RED, "t.csv": table(*rows)}), name="more")
    factories.group("Georgia", axis=Axis.US_STATE)
    rows = [{"file": "2.png", "group": "Georgia"}]
    bring(zipped({"2.png": RED, "t.csv": table(*rows)}), name="states", axis=Axis.US_STATE)
    assert Image.objects.get(image_set__name="states").group.axis == "us_state"


def test_drawings_and_sets_that_a_run_fills_take_no_uploads():
    drawn = factories.image_set("drawings")
    ImageSet.objects.filter(pk=drawn.pk).update(drawn=True)
    with pytest.raises(UploadRefused, match="drawn sample pictures"):
        bring(zipped(FILES), name="drawings")
    made = factories.image_set("made")
    a_run_of(made)
    with pytest.raises(UploadRefused, match="holds generated images"):
        bring(zipped(FILES), name="made")
    for name in ("", "Bad Name", "a b", "x" * 81, "../up"):
        with pytest.raises(UploadRefused, match="set's name"):
            bring(zipped(FILES), name=name)
    assert not list(Path(default_storage.location).rglob("*.png"))
    made.runs.update(kind=RunKind.CAPTIONS)
    assert bring(zipped(FILES), name="made").created == 2
    assert bring(zipped(FILES), name="x" * 80).created == 2


def test_an_image_that_is_there_without_its_origin_is_not_told_otherwise():
    image_set = factories.image_set("brought")
    factories.image(image_set=image_set, reference="a/1.png", file="images/1.png", sha256="0" * 64)
    with pytest.raises(FileRefused, match="as another image"):
        bring(zipped(FILES))


def test_a_picture_that_changes_while_it_is_read_is_refused(monkeypatch, tmp_path):
    source = folder(tmp_path / "pics", FILES)

    def change(step, done, total):
        if (step, done) == ("images read", total):
            (source / "2.png").write_bytes(encoded(pixels("black")))

    with pytest.raises(UploadRefused, match=r"'2\.png' changed while it was read"):
        bring(source, progress=change)
    assert not Image.objects.exists()


def test_the_number_of_queries_does_not_grow_with_the_pictures(django_assert_max_num_queries):
    rows = [{"file": f"{n}.png", "group": ("Mexican", "Indian")[n % 2]} for n in range(60)]
    files = {f"{n}.png": encoded(pixels((n, 0, 0))) for n in range(60)}
    with django_assert_max_num_queries(25):
        bring(zipped({**files, "t.csv": table(*rows)}))
    with django_assert_max_num_queries(15):
        bring(zipped({**files, "t.csv": table(*rows)}))


def test_the_command_brings_images_in_and_says_what_it_did(tmp_path, capsys):
    source = folder(tmp_path / "pics", FILES)
    call_command("import_images", str(source), "--set", "brought", "--title", "Brought", "--licence", "CC0")
    assert "The set 'brought': 2 images added, 0 files added to known images" in capsys.readouterr().out
    made = ImageSet.objects.get()
    assert (made.title, made.licence, made.model_name) == ("Brought", "CC0", "")
    packed = tmp_path / "pack.zip"
    packed.write_bytes(zipped(FILES).getvalue())
    call_command("import_images", str(packed), "--set", "brought")
    assert "Nothing to do" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["nowhere", "--set", "x"], "there is no such folder or ZIP"),
        ([".", "--set", "x", "--csv", "nowhere.csv"], "there is no such file"),
    ],
)
def test_the_command_refuses_with_one_sentence(tmp_path, monkeypatch, options, said):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CommandError, match=said):
        call_command("import_images", *options)
