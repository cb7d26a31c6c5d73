"""Fetching the released files, from a server on this machine."""

import hashlib
import re
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest
from django.core.management import CommandError, call_command

from annotation.imports.readers import download
from annotation.imports.readers.download import DownloadFailed, RemoteFile, fetch
from annotation.management.commands import import_seegull, import_visage
from annotation.models import Association, Axis, Study
from tests.annotation.imports import release_files


class _Quiet(SimpleHTTPRequestHandler):
    asked: list[str]

    def log_message(self, *args):
        self.asked.append(self.path)


@pytest.fixture
def server(tmp_path):
    """A server of the folder `served`; (folder, address, what it was asked for)."""
    folder = tmp_path / "served"
    folder.mkdir()
    handler = type("Handler", (_Quiet,), {"asked": []})
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(handler, directory=str(folder))) as http:
        thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield folder, f"http://127.0.0.1:{http.server_port}/", handler.asked
        http.shutdown()
        thread.join()


def remote(path, address: str) -> RemoteFile:
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return RemoteFile(path.name, address + path.name.replace(" ", "%20"), digest)


def test_a_file_is_fetched_checked_and_kept(server, tmp_path):
    folder, address, asked = server
    file = remote(release_files.seegull(folder), address)
    kept = fetch(file, tmp_path / "new" / "downloads", report=lambda line: None)
    assert kept.read_bytes() == (folder / file.name).read_bytes()
    assert [path.name for path in kept.parent.iterdir()] == [file.name]
    assert len(asked) == 1


def test_a_file_that_is_there_already_is_not_fetched_again(server, tmp_path):
    folder, address, asked = server
    file = remote(release_files.seegull(folder), address)
    lines: list[str] = []
    for _ in range(2):
        fetch(file, tmp_path, report=lines.append)
    assert len(asked) == 1
    assert "already in" in lines[-1]


def test_a_damaged_file_that_is_there_is_fetched_again(server, tmp_path):
    folder, address, _ = server
    file = remote(release_files.seegull(folder), address)
    (tmp_path / file.name).write_text("cut sho")
    assert fetch(file, tmp_path, report=lambda line: None).stat().st_size > 100


def test_a_file_with_another_checksum_is_refused_and_not_kept(server, tmp_path):
    folder, address, _ = server
    file = remote(release_files.seegull(folder), address)
    (folder / file.name).write_text("something else")
    with pytest.raises(DownloadFailed, match=rf"not the file that was expected: .* not {file.sha256}"):
        fetch(file, tmp_path / "kept", report=lambda line: None)
    assert list((tmp_path / "kept").iterdir()) == []


def test_a_file_that_is_not_there_is_one_clear_error(server, tmp_path):
    _, address, _ = server
    file = RemoteFile("none.csv", f"{address}none.csv", "0" * 64)
    with pytest.raises(DownloadFailed, match=r"none\.csv could not be fetched .* 404: .* give its path"):
        fetch(file, tmp_path / "kept", report=lambda line: None)
    assert list((tmp_path / "kept").iterdir()) == []


def test_a_server_that_cannot_be_reached_is_one_clear_error(server, tmp_path):
    # Port 9 (discard) of this machine: nothing listens there.
    with pytest.raises(DownloadFailed, match=r"could not be fetched .* Check the connection"):
        fetch(RemoteFile("a.csv", "http://127.0.0.1:9/a.csv", "0" * 64), tmp_path, report=lambda line: None)


def test_a_file_without_end_is_given_up(server, tmp_path, monkeypatch):
    folder, address, _ = server
    monkeypatch.setattr(download, "MAX_BYTES", 10)
    with pytest.raises(DownloadFailed, match="larger than 10 bytes"):
        fetch(remote(release_files.seegull(folder), address), tmp_path, report=lambda line: None)


def test_only_web_addresses_are_fetched(tmp_path):
    with pytest.raises(DownloadFailed, match="not a web address"):
        fetch(RemoteFile("passwd", "file:///etc/passwd", "0" * 64), tmp_path, report=lambda line: None)


PUBLIC = (
    download.SEEGULL,
    download.SEEGULL_US_STATES,
    download.SEEGULL_INDIAN_STATES,
    download.VISAGE_ATTRIBUTES,
    download.VISAGE_ANNOTATIONS,
)


@pytest.mark.parametrize("file", PUBLIC, ids=lambda file: file.name)
def test_the_public_addresses_are_https_and_checksummed(file):
    assert file.url.startswith("https://raw.githubusercontent.com/google-research-datasets/")
    assert " " not in file.url
    assert re.fullmatch("[0-9a-f]{64}", file.sha256)


@pytest.mark.release
@pytest.mark.parametrize("file", PUBLIC, ids=lambda file: file.name)
def test_the_checksums_are_those_of_the_released_files(released, file):
    folder = "seegull" if "seegull" in file.url else "visage"
    assert hashlib.sha256((released / folder / file.name).read_bytes()).hexdigest() == file.sha256


@pytest.mark.django_db
def test_import_seegull_downloads_what_it_imports(server, tmp_path, settings, monkeypatch):
    folder, address, _ = server
    settings.VAR_DIR = tmp_path / "var"
    file = remote(release_files.states(folder), address)
    monkeypatch.setitem(import_seegull.REMOTE, Axis.US_STATE, file)
    call_command("import_seegull", "--download", "--states", "--axis", "us_state", verbosity=0)
    assert Association.objects.count() == 2
    assert (tmp_path / "var" / "downloads" / file.name).is_file()


@pytest.mark.django_db
def test_import_visage_downloads_both_files(server, tmp_path, settings, monkeypatch):
    folder, address, _ = server
    settings.VAR_DIR = tmp_path / "var"
    attributes = remote(release_files.attributes(folder), address)
    annotations = remote(release_files.annotations(folder), address)
    monkeypatch.setattr(import_visage, "VISAGE_ATTRIBUTES", attributes)
    monkeypatch.setattr(import_visage, "VISAGE_ANNOTATIONS", annotations)
    call_command("import_visage", "--download")
    assert Study.objects.get().name == "visage"


@pytest.mark.django_db
def test_a_failed_download_is_a_command_error(tmp_path, settings, monkeypatch):
    settings.VAR_DIR = tmp_path
    monkeypatch.setitem(
        import_seegull.REMOTE, Axis.NATIONALITY, RemoteFile("a.csv", "http://127.0.0.1:9/a.csv", "0" * 64)
    )
    with pytest.raises(CommandError, match="could not be fetched"):
        call_command("import_seegull", "--download")
