"""Which files of a folder or a ZIP are there, and what may not be in it."""

import io
import zipfile
from types import SimpleNamespace

import pytest

from annotation.imports.readers.oddities import FileRefused
from generation.uploads import bundles
from tests.generation.uploads.bundles import folder, zipped


def test_a_folder_gives_the_files_in_it_without_folders_and_hidden_ones(tmp_path):
    at = folder(
        tmp_path / "pics", {"a/1.png": b"one", ".b/2.png": b"", "__MACOSX/3.png": b"", "c/.4.png": b""}
    )
    with bundles.open_bundle(at) as bundle:
        assert (bundle.name, bundle.names()) == ("pics", ["a/1.png"])
        assert bundle.read("a/1.png", limit=2) == b"one"
        (at / "a" / "1.png").unlink()
        with pytest.raises(FileRefused, match=r"it cannot be read \(No such file"):
            bundle.read("a/1.png", limit=2)


def test_a_folder_that_is_reached_by_a_link_may_be_read(tmp_path):
    folder(tmp_path / "pics", {"1.png": b"one"})
    (tmp_path / "link").symlink_to(tmp_path / "pics")
    with bundles.open_bundle(tmp_path / "link") as bundle:
        assert (bundle.names(), bundle.read("1.png", limit=9)) == (["1.png"], b"one")
        assert bundle.name == "link"


def test_a_zip_has_the_name_of_its_file_and_files_come_by_name(tmp_path):
    path, files = tmp_path / "pack.zip", dict.fromkeys("dbca", b"")
    path.write_bytes(zipped(files).getvalue())
    with path.open("rb") as opened:
        for source in (path, opened):
            with bundles.open_bundle(source) as bundle:
                assert (bundle.name, bundle.names()) == ("pack.zip", ["a", "b", "c", "d"])
    with bundles.open_bundle(folder(tmp_path / "pics", files)) as bundle:
        assert bundle.names() == ["a", "b", "c", "d"]


@pytest.mark.parametrize("error", [ValueError, OSError, NotImplementedError])
def test_a_directory_that_python_cannot_read_is_no_complete_zip(monkeypatch, error):
    def broken(source):
        raise error("odd")

    monkeypatch.setattr(zipfile, "ZipFile", broken)
    with (
        pytest.raises(FileRefused, match=r"^a: this is not a complete ZIP file \(odd\)"),
        bundles.open_bundle(io.BytesIO(), name="a"),
    ):
        pass


def test_a_zip_that_says_it_unpacks_to_too_much_is_refused():
    member = zipfile.ZipInfo("1.png")
    member.file_size = 50 * 10**9 + 1
    with pytest.raises(FileRefused, match="it unpacks to more than 50 GB"):
        bundles._Zip(SimpleNamespace(infolist=lambda: [member]), "pack.zip")


def test_a_zip_may_have_folders_and_as_many_files_as_the_limit(monkeypatch):
    files = {"a/": b"", "a/1.png": b"one", "b..c/2.png": b"two", "__MACOSX/3.png": b""}
    monkeypatch.setattr(bundles, "MAX_FILES", len(files))
    monkeypatch.setattr(bundles, "MAX_BYTES", 6)
    with bundles.open_bundle(zipped(files)) as bundle:
        assert bundle.names() == ["a/1.png", "b..c/2.png"]


@pytest.mark.parametrize("name", ["a\\..\\1.png", "C:\\1.png"])
def test_a_name_that_leads_out_of_a_folder_on_any_system_is_refused(name):
    with pytest.raises(FileRefused, match="points outside the ZIP"), bundles.open_bundle(zipped({name: b""})):
        pass


def test_two_files_of_one_name_are_refused():
    stored = io.BytesIO(zipped({"1.png": b"", "2.png": b""}).getvalue().replace(b"2.png", b"1.png"))
    with (
        pytest.raises(FileRefused, match=r"it has two files '1\.png'"),
        bundles.open_bundle(stored, name="a"),
    ):
        pass
