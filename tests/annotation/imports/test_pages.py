"""Adding pairs and importing the released files, in the browser and by a program: what is taken, and what is
refused."""

from __future__ import annotations

import io
import zipfile

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.utils import timezone

from annotation.core.leases import JobState
from annotation.imports import files, tasks, views
from annotation.imports.api import pairs as pairs_api
from annotation.imports.readers import pairs
from annotation.imports.services import jobs
from annotation.models import CatalogueImport, IdentityGroup, Source
from tests import factories
from tests.annotation.api.calls import Program, is_problem
from tests.annotation.imports import release_files

pytestmark = [pytest.mark.django_db, pytest.mark.pages]
NEW = "/catalogue/new-source/"
IMPORTS = "/catalogue/imports/"
SENT = {"title": "Pairs", "name": "pairs", "axis": "nationality"}


@pytest.fixture
def lead(client):
    made = factories.user("lead", lead=True)
    client.force_login(made)
    return made


def csv(content: bytes, name="mine.csv"):
    return SimpleUploadedFile(name, content)


def test_pairs_are_of_the_chosen_axis_and_of_who_saved_them(client, lead):
    factories.group("Texan", axis="us_state")
    sent = {**SENT, "axis": "us_state", "typed": "Texan, hat", "save": "yes"}
    assert client.post(NEW, sent).status_code == 302
    source = Source.objects.get()
    assert (source.owner, source.associations.get().group.axis) == (lead, "us_state")


def test_a_demonym_is_what_was_written_for_that_group(client, lead):
    typed = {"typed": "Martian, green\naxis, odd", "demonym:Martian": "Mars\0", "create_groups": "on"}
    assert client.post(NEW, {**SENT, **typed, "save": "yes"}).status_code == 302
    assert dict(IdentityGroup.objects.values_list("name", "demonym")) == {
        "Martian": "Martian",
        "axis": "axis",
    }


def test_of_many_lines_the_first_are_shown(client, lead, monkeypatch):
    monkeypatch.setattr(views, "ERRORS_SHOWN", 1)
    monkeypatch.setattr(views, "PAIRS_SHOWN", 1)
    sent = {**SENT, "typed": "A, x\nB, x"}
    assert len(client.post(NEW, sent).context["errors"]) == 1
    assert len(client.post(NEW, {**sent, "create_groups": "on"}).context["sample"]) == 1


def test_a_file_of_pairs_may_be_as_large_as_is_said(client, lead, monkeypatch):
    factories.group("Mexican")
    content = b"identity,attribute\nMexican,hat\n\n"
    monkeypatch.setattr(pairs, "MAX_BYTES", len(content))
    assert client.post(NEW, {**SENT, "file": csv(content)}).status_code == 200
    larger = client.post(NEW, {**SENT, "file": csv(content + b"\n")})
    assert (larger.status_code, list(larger.context["form"].errors)) == (422, ["file"])
    # what is typed gets a header, and so can be too much to send again
    for missing, status in ((0, 200), (1, 422)):
        monkeypatch.setattr(pairs, "MAX_BYTES", len(content.strip()) + 1 - missing)
        typed = client.post(NEW, {**SENT, "typed": "Mexican, hat"})
        assert (typed.status_code, "more than 2 MB of pairs" in typed.text) == (status, bool(missing))


def test_a_file_that_cannot_be_read_is_named(client, lead):
    page = client.post(NEW, {**SENT, "file": csv(b"colour\nred\n")})
    assert (page.status_code, "mine.csv, row 1" in page.text) == (422, True)


def spreadsheets(folder):
    return {
        "visage-attributes": csv(release_files.attributes(folder).read_bytes(), "Visual Attributes_.xlsx"),
        "visage-annotations": csv(release_files.annotations(folder).read_bytes(), "Image Annotations.xlsx"),
    }


def test_an_import_is_requested_watched_and_deleted(
    client, lead, tmp_path, monkeypatch, settings, django_capture_on_commit_callbacks
):
    settings.CELERY_BROKER_URL = "redis://nowhere"
    messages = []
    monkeypatch.setattr(tasks.import_catalogue, "delay", messages.append)
    with django_capture_on_commit_callbacks(execute=True):
        answer = client.post(IMPORTS, {"kind": "visage", "visage-study": "mine", **spreadsheets(tmp_path)})
    job = CatalogueImport.objects.get()
    assert (job.kind, job.options, job.by) == ("visage", {"study": "mine"}, lead)
    assert messages == [job.pk]
    CatalogueImport.objects.update(done=3, total=2)
    assert client.get(answer.url).context["share"] == 100
    CatalogueImport.objects.update(state=JobState.DONE, finished_at=timezone.now())
    assert "hx-get" not in client.get(answer.url).text
    client.force_login(factories.user(admin=True))
    assert client.get(answer.url).status_code == 200
    assert client.post(f"{answer.url}delete/").status_code == 302
    assert not CatalogueImport.objects.exists()


def test_why_a_file_was_not_taken_is_said_on_the_page(client, lead, tmp_path, monkeypatch):
    def refused():
        file = csv(release_files.seegull(tmp_path).read_bytes())
        page = client.post(
            IMPORTS, {"kind": "seegull", "seegull-axis": "nationality", "seegull-associations": file}
        )
        assert page.status_code == 422
        return str(page.context["forms"][0].errors)

    with monkeypatch.context() as patched:
        patched.setattr(jobs, "MOST_WAITING", 0)
        assert "waiting" in refused()
    with monkeypatch.context() as patched:
        patched.setattr("annotation.imports.forms.MAX_BYTES", 3)
        assert "larger than" in refused()

    def away(*args):
        raise OSError("away")

    monkeypatch.setattr(files, "keep", away)
    assert "not responding" in refused()
    headers = {"Authorization": f"Bearer {Program(lead).secret}"}
    url = "/api/v1/imports/seegull"
    is_problem(client.generic("POST", url, b"x", content_type="text/csv", headers=headers), 503)
    assert not CatalogueImport.objects.exists()


def packed(*members: tuple[str, bytes], compression=zipfile.ZIP_STORED) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", compression) as archive:
        for name, data in members:
            archive.writestr(name, data)
    return content.getvalue()


RELEASE = (("a/Visual ATTRIBUTES_.XLSX", b"12"), ("a/Image Annotations.xlsx", b"34"))


def upload(client, lead, content, path="visage", kind="application/zip"):
    headers = {"Authorization": f"Bearer {Program(lead).secret}"}
    return client.generic("POST", f"/api/v1/imports/{path}", content, content_type=kind, headers=headers)


def test_a_program_sends_both_spreadsheets_in_a_zip(
    client, lead, monkeypatch, settings, django_capture_on_commit_callbacks
):
    settings.CELERY_BROKER_URL = "redis://nowhere"
    messages = []
    monkeypatch.setattr(tasks.import_catalogue, "delay", messages.append)
    more = (("attributes.xlsx/", b""), ("__MACOSX/a/._Image Annotations.xlsx", b"5"), ("read.me", b"6"))
    with django_capture_on_commit_callbacks(execute=True):
        answer = upload(client, lead, packed(*more, *RELEASE))
    assert answer.status_code == 202, answer.content
    job = CatalogueImport.objects.get()
    assert messages == [job.pk]
    assert (job.kind, job.files) == (
        "visage",
        {"attributes": "Visual ATTRIBUTES_.XLSX", "annotations": "Image Annotations.xlsx"},
    )


def encrypted(content: bytes) -> bytes:
    """The same ZIP, said to need a password."""
    local, central = content.index(b"PK\3\4") + 6, content.index(b"PK\1\2") + 8
    changed = bytearray(content)
    changed[local] |= 1
    changed[central] |= 1
    return bytes(changed)


def damaged(content: bytes) -> bytes:
    """The same ZIP with other bytes in the middle of its first file."""
    return content[:80] + b"\xff" * 40 + content[120:]


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (packed(*RELEASE, ("b/attributes.xlsx", b"7")), "another one says the same"),
        (packed(("table.xlsx", b"7")), "does not say which file"),
        (packed(RELEASE[0]), "annotations is missing"),
        (packed(RELEASE[0], ("annotations.xlsx", b"x" * 1001), compression=zipfile.ZIP_DEFLATED), "larger"),
        (encrypted(packed(*RELEASE)), "not a ZIP that can be read"),
        (
            damaged(packed(("attributes.xlsx", bytes(range(256)) * 9), compression=zipfile.ZIP_DEFLATED)),
            "not a ZIP that can be read",
        ),
    ],
    ids=["twice", "unnamed", "one", "large", "password", "damaged"],
)
def test_a_zip_of_something_else_is_refused(client, lead, monkeypatch, content, why):
    monkeypatch.setattr(files, "MAX_BYTES", 1000)
    assert why in is_problem(upload(client, lead, content), 422)["detail"]
    assert not CatalogueImport.objects.exists()


def test_a_csv_of_a_program_has_the_name_it_gives_and_the_size_that_is_allowed(client, lead, monkeypatch):
    monkeypatch.setattr(files, "MAX_BYTES", 10)
    answer = upload(client, lead, b"x" * 10, "seegull?file_name=mine.csv&source=own", "text/csv")
    assert (answer.status_code, answer.json()["files"]) == (202, {"associations": "mine.csv"})
    assert answer.json()["options"] == {"source": "own", "axis": "nationality"}


def test_a_program_is_told_the_first_of_many_wrong_pairs(lead, monkeypatch):
    program = Program(lead)

    def refused(number):
        wrong = [{"identity": f"Martian {one}", "attribute": "green"} for one in range(number)]
        return {"title": "Pairs", "pairs": wrong}

    url = "sources/mine/pairs"
    assert "more:" not in is_problem(program.post(url, refused(10)), 422)["detail"]
    detail = is_problem(program.post(url, refused(11)), 422)["detail"]
    assert ("Pair 10:" in detail, "Pair 11:" in detail, "And 1 more:" in detail) == (True, False, True)
    monkeypatch.setattr(pairs_api, "MOST_ERRORS", 1)
    checked = program.post(url, {**refused(2), "check_only": True}).json()
    assert (checked["wrong"], len(checked["errors"])) == (2, 1)


def test_pairs_of_a_program_are_of_the_axis_it_names_and_three_votes_each(lead):
    factories.group("Texan", axis="us_state")
    program, url = Program(lead), "sources/mine/pairs"
    body = {"title": "Mine", "axis": "us_state"}
    for more in ({"in_votes": [1, 2]}, {"out_votes": [1, 2, 3, 4]}, {"offensiveness": [1] * 101}):
        is_problem(
            program.post(url, {**body, "pairs": [{"identity": "Texan", "attribute": "hat", **more}]}), 400
        )
    is_problem(program.post(url, {**body, "pairs": []}), 400)
    assert (
        program.post(url, {**body, "pairs": [{"identity": "Texan", "attribute": "hat"}]}).status_code == 201
    )
    assert Source.objects.get().associations.get().group.axis == "us_state"
