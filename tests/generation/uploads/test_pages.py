"""Finished images sent in the browser: the same as with the command, and no way around its refusals."""

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from annotation.models import AuditEvent, Image, ImageSet
from tests import factories
from tests.generation.uploads.bundles import encoded, table, zipped

pytestmark = pytest.mark.django_db

FILES = {"1.png": encoded(), "t.csv": table({"file": "1.png", "group": "Mexican", "note": "mine"})}


@pytest.fixture
def maker():
    made = factories.user("maker", lead=True)
    return made


def send(client, files=FILES, *, raw=None, name="brought", **said):
    data = raw if raw is not None else zipped(files).getvalue()
    file = SimpleUploadedFile("pack.zip", data, content_type="application/zip")
    said = {"file": file, "name": name, "axis": "nationality", **said}
    return client.post(reverse("upload"), said, follow=True)


def test_a_zip_becomes_an_image_set_and_what_was_done_is_said(client, maker):
    client.force_login(maker)
    shown = send(client, title="Brought <here>", licence="CC0")
    assert shown.redirect_chain == [(reverse("image_set", args=["brought"]), 302)]
    assert "1 images added" in shown.text
    assert "Brought &lt;here&gt;" in shown.text
    assert AuditEvent.objects.get().by == maker
    # a set that no study shows yet can be looked at by who brought it
    image = Image.objects.get()
    file = client.get(reverse("image_file", args=[image.pk]))
    assert b"".join(file.streaming_content) == FILES["1.png"]
    assert "Nothing to do" in send(client).text
    form = client.get(reverse("upload"), {"set": "brought"}).context["form"]
    assert (form["name"].value(), form["licence"].value()) == ("brought", "CC0")
    assert client.get(reverse("upload"), {"set": "another"}).context["form"]["licence"].value() == ""
    assert "under the licence 'CC0'" in send(client, licence="CC BY 4.0").context["form"].errors["licence"][0]
    factories.image_set("bare")
    refused = send(client, name="bare", licence="CC0").context["form"].errors
    assert "without a licence" in refused["licence"][0]


def test_all_groups_that_are_not_known_and_all_broken_files_are_told_at_once(client, maker):
    client.force_login(maker)
    rows = [{"file": f"{number}.png", "group": group} for number, group in enumerate("AABC", start=1)]
    files = {row["file"]: b"<svg/>" for row in rows} | {"4.png": encoded(), "t.csv": table(*rows)}
    told = send(client, files).context["form"].errors["file"]
    assert [line.partition(", column")[0] for line in told] == [
        "t.csv, row 2",
        "t.csv, row 4",
        "t.csv, row 5",
    ]
    told = send(client, files, new_groups="on").context["form"].errors["file"]
    assert [line.split("'")[3] for line in told] == ["1.png", "2.png", "3.png"]
    assert not ImageSet.objects.exists()


@pytest.mark.parametrize(
    ("how", "why"),
    [
        ({"raw": b"not a zip"}, "not a complete ZIP file"),
        ({"raw": b""}, "empty"),
        ({"files": {"1.png": encoded()}}, "pack.zip: it has no CSV file"),
        ({"files": {**FILES, "1.png": b"<svg/>"}}, "it is not a PNG, JPEG or WebP"),
        ({"files": {**FILES, "../1.png": encoded()}}, "points outside the ZIP"),
        ({"name": "No Name"}, "set’s name|set&#x27;s name"),
        ({"axis": "planet"}, "planet"),
        ({"files": {"1.png": encoded(), "t.csv": table({"file": "1.png", "group": "Nobody"})}}, "Nobody"),
    ],
)
def test_what_is_refused_says_why_and_keeps_nothing(client, maker, how, why):
    client.force_login(maker)
    shown = send(client, **how)
    assert shown.status_code == 422
    assert "Nothing was imported." in shown.text
    assert any(each in shown.text for each in why.split("|"))
    assert not ImageSet.objects.exists()


def test_what_is_too_long_is_said_beside_its_field(client, maker):
    client.force_login(maker)
    long = {"name": "x" * 81, "title": "x" * 201, "licence": "x" * 81}
    assert set(send(client, **long).context["form"].errors) == set(long)


def test_groups_that_nobody_knows_are_made_when_the_box_is_ticked(client, maker):
    client.force_login(maker)
    files = {"1.png": encoded(), "t.csv": table({"file": "1.png", "group": "Left-handed"})}
    assert send(client, files, axis="other", new_groups="on").status_code == 200
    assert Image.objects.get().group.axis == "other"


def test_a_zip_that_is_too_large_is_sent_to_the_command(client, maker, settings):
    settings.UPLOAD_MAX_MB = 0
    client.force_login(maker)
    shown = send(client)
    assert shown.status_code == 422
    assert "manage.py import_images" in shown.text
    assert not ImageSet.objects.exists()
    settings.UPLOAD_MAX_MB = 1
    body = zipped(FILES).getvalue()
    # a ZIP may have something before it
    assert send(client, raw=bytes(1_000_000 - len(body)) + body).status_code == 200


def test_who_may_not_make_images_brings_none_in(client):
    client.force_login(factories.user("lead"))
    assert send(client).status_code == 404
    assert not ImageSet.objects.exists()
