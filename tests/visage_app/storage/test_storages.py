"""The settings of the file storage, from variables of the environment."""

from __future__ import annotations

import re

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.core.files.base import ContentFile
from django.core.files.storage import FileSystemStorage

from visage_app.storage import storages

LAB = "http://s3.lab:9000"
KEYS = {"S3_ACCESS_KEY": "key", "S3_SECRET_KEY": "secret"}
NAMES = ("ENDPOINT", "PUBLIC_ENDPOINT", "REGION", "BUCKET", "EXPORTS_BUCKET", "SIGNED_MINUTES")


@pytest.fixture
def given(monkeypatch):
    """Sets the variables of a server, and those that a test says."""
    for name in (*(f"S3_{name}" for name in NAMES), *KEYS):
        monkeypatch.delenv(name, raising=False)

    def give(**variables: str) -> None:
        for name, value in {"S3_BUCKET": "images", "S3_ENDPOINT": LAB, **variables}.items():
            monkeypatch.setenv(name, value)

    return give


def test_what_is_not_said_has_a_default(given):
    assert storages.buckets() is None
    assert storages.signed_seconds() == 0
    given(S3_ENDPOINT=f"{LAB}/")
    assert storages.buckets() == storages.Buckets(
        endpoint=LAB,
        public_endpoint=LAB,
        region="us-east-1",
        images="images",
        exports="",
        access_key=None,
        secret_key=None,
        signed_minutes=0,
    )
    found = storages.in_buckets(storages.buckets())
    assert found["exports"]["OPTIONS"]["bucket_name"] == "images"
    assert found["exports"]["OPTIONS"]["location"] == "exports"


def test_what_is_said_counts(given):
    given(
        S3_ENDPOINT=f" {LAB}/ ",
        S3_BUCKET=" images ",
        S3_PUBLIC_ENDPOINT=" https://files.example.org/ ",
        S3_REGION=" eu-central-1 ",
        S3_EXPORTS_BUCKET=" exports ",
        S3_SIGNED_MINUTES="60",
        **{name: f" {value} " for name, value in KEYS.items()},
    )
    assert storages.signed_seconds() == 3600
    found = storages.in_buckets(storages.buckets())
    for options in (found["default"]["OPTIONS"], found["exports"]["OPTIONS"]):
        assert options["region_name"] == "eu-central-1"
        assert (options["access_key"], options["secret_key"]) == ("key", "secret")
        assert options["addressing_style"] == "path", "a name with a dot in it fits no certificate"
        assert options["file_overwrite"]
        assert (options["endpoint_url"], options["signature_version"]) == (LAB, "s3v4")
    assert found["default"]["OPTIONS"]["bucket_name"] == "images"
    assert found["default"]["OPTIONS"]["public_endpoint"] == "https://files.example.org"
    assert found["default"]["OPTIONS"]["signed_seconds"] == 3600
    assert found["exports"]["OPTIONS"]["bucket_name"] == "exports"


@pytest.mark.parametrize(
    ("variables", "why"),
    [
        *(
            ({"S3_ENDPOINT": address}, "S3_ENDPOINT='.*' is not the URL of an S3 server")
            for address in ("", "ftp://s3.lab", "http://:9000", f"{LAB}/images", f"{LAB}?images")
        ),
        ({"S3_PUBLIC_ENDPOINT": "files.lab"}, "S3_PUBLIC_ENDPOINT='files.lab' is not the URL"),
        ({"S3_BUCKET": ""}, "S3_ENDPOINT is set but S3_BUCKET is not"),
        *(({name: "x"}, "Only one of S3_ACCESS_KEY and S3_SECRET_KEY is set") for name in KEYS),
        ({"S3_SIGNED_MINUTES": "61"}, "S3_SIGNED_MINUTES=61 is too long.*at most 60, or to 0"),
    ],
)
def test_what_cannot_be_is_refused(given, variables, why):
    given(**variables)
    with pytest.raises(ImproperlyConfigured, match=why):
        storages.buckets()


@pytest.mark.parametrize("missing", ["storages", "boto3"])
def test_without_a_library_the_cure_is_told(given, monkeypatch, missing):
    given()
    monkeypatch.setattr(storages, "find_spec", lambda name: None if name == missing else name)
    with pytest.raises(ImproperlyConfigured, match=re.escape("pip install 'visage-studies[s3]'")):
        storages.buckets()


def test_pages_over_https_load_no_image_over_http(given):
    given(S3_SIGNED_MINUTES="5")
    with pytest.raises(ImproperlyConfigured, match=f"sends browsers to {LAB}"):
        storages.image_origins(https=True)
    assert storages.image_origins(https=False) == [LAB]
    given(S3_SIGNED_MINUTES="5", S3_PUBLIC_ENDPOINT="https://files.lab")
    assert storages.image_origins(https=True) == ["https://files.lab"]
    given(S3_SIGNED_MINUTES="0", S3_PUBLIC_ENDPOINT="")
    assert storages.image_origins(https=True) == []


def test_exports_in_a_folder_are_for_the_program_alone(given, tmp_path):
    options = storages.configured(tmp_path, static_manifest=False)["exports"]["OPTIONS"]
    exports = FileSystemStorage(**options)
    exports.save("of/1.zip", ContentFile(b"x"))
    made = tmp_path / "exports" / "of" / "1.zip"
    assert (made.stat().st_mode & 0o777, made.parent.stat().st_mode & 0o777) == (0o600, 0o700)


def test_static_files_have_hashed_names_where_that_is_set_and_are_in_no_bucket(given, tmp_path):
    for hashed, bucket in ((True, ""), (False, "images")):
        given(S3_BUCKET=bucket, S3_ENDPOINT=LAB if bucket else "")
        made = storages.configured(tmp_path, static_manifest=hashed)
        assert made["staticfiles"]["BACKEND"].endswith("HashedFiles") is hashed
        assert made["default"]["BACKEND"].endswith(".Bucket") is bool(bucket)
