"""Images and exports in buckets of a local S3-compatible server from a package."""

from __future__ import annotations

import hashlib
import io
import logging
import zipfile
from dataclasses import replace
from datetime import timedelta
from types import SimpleNamespace
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from boto3.exceptions import Boto3Error
from botocore.exceptions import BotoCoreError, ClientError, ReadTimeoutError
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage, storages
from django.core.management import CommandError, call_command
from django.urls import reverse
from django.utils import timezone
from storages.backends.s3 import S3Storage

from annotation import export_files as services_files
from annotation.core import leases
from annotation.core.leases import JobState
from annotation.exports.selection import Filters
from annotation.exports.services import jobs as export_jobs
from annotation.exports.services import writing as export_writing
from annotation.images import files as image_files
from annotation.models import ExportJob, Image
from generation.image_sets import services as verify
from tests import factories
from tests.annotation.exports.jobs_world import asked as export_of
from tests.annotation.exports.jobs_world import made, members
from tests.annotation.exports.world import depiction, png
from tests.visage_app.backup.world import emptied, installation, said_nothing
from tests.visage_app.storage import s3_world
from visage_app.backup.services import restoring, writing
from visage_app.storage.bucket import Bucket, BucketFailed

ROWS = pytest.mark.django_db
DATA = png(40, 30)


@pytest.fixture(scope="module")
def server():
    server = s3_world.Server()
    with s3_world.one_session():
        yield server
    server.stop()


@pytest.fixture
def bucket(server, settings):
    """An empty bucket, in use; the client is of whoever looks into it from outside."""
    client = server.client()
    client.create_bucket(Bucket=s3_world.BUCKET)
    s3_world.use(settings, s3_world.buckets(server.endpoint))
    yield client
    for each in client.list_objects_v2(Bucket=s3_world.BUCKET).get("Contents", []):
        client.delete_object(Bucket=s3_world.BUCKET, Key=each["Key"])
    client.delete_bucket(Bucket=s3_world.BUCKET)


@pytest.fixture
def strict(server):
    with server.asking_for_keys() as given:
        yield given


def keys(client) -> list[str]:
    return [each["Key"] for each in client.list_objects_v2(Bucket=s3_world.BUCKET).get("Contents", [])]


def shown(name: str) -> Image:
    return factories.image(file=name, sha256=hashlib.sha256(DATA).hexdigest(), width=40, height=30)


class TestFiles:
    def test_an_image_is_kept_once_under_its_hash_and_nobody_else_may_see_it(self, bucket, server):
        name, sha256 = image_files.store(DATA)
        with s3_world.asked(default_storage) as requests:
            assert image_files.store(DATA) == (name, sha256)
        assert requests == ["GetObject"]
        assert keys(bucket) == [name]
        assert bucket.get_object(Bucket=s3_world.BUCKET, Key=name)["ContentType"] == "image/png"
        assert httpx.get(f"{server.endpoint}/{s3_world.BUCKET}/{name}").status_code == 403
        grants = bucket.get_object_acl(Bucket=s3_world.BUCKET, Key=name)["Grants"]
        assert [grant["Grantee"]["Type"] for grant in grants] == ["CanonicalUser"]

    def test_a_damaged_one_is_mended_by_one_request_more(self, bucket):
        name, sha256 = image_files.store(DATA)
        bucket.put_object(Bucket=s3_world.BUCKET, Key=name, Body=b"damaged")
        assert not image_files.is_stored(name, sha256=sha256)
        with s3_world.asked(default_storage) as requests:
            image_files.store(DATA)
        assert requests == ["GetObject", "PutObject"]
        assert image_files.is_stored(name, sha256=sha256)

    def test_reading_is_one_request_and_going_back_one_more(self, bucket):
        content = bytes(range(256)) * 2000
        default_storage.save("images/long", ContentFile(content))
        with s3_world.asked(default_storage) as requests, default_storage.open("images/long") as file:
            assert file.size == len(content)
            assert file.read() == content
            assert requests == ["GetObject"]
            file.seek(-700, io.SEEK_END)
            assert file.read(300) == content[-700:-400]
            file.seek(5)
            assert file.read(1000) == content[5:1005]
            file.seek(200_000, io.SEEK_CUR)
            assert file.read(3) == content[201_005:201_008]
            file.seek(len(content) + 5)
            assert file.read(3) == b""
            assert file.seek(-(10**9), io.SEEK_END) == 0
        assert requests == ["GetObject"] * 4

    def test_a_large_file_goes_there_in_parts_and_comes_back_whole(self, bucket, tmp_path):
        made = tmp_path / "made.zip"
        made.write_bytes(bytes(range(256)) * 36_000)
        with made.open("rb") as file, s3_world.asked(storages["exports"]) as requests:
            assert storages["exports"].save("1.zip", services_files.DiskFile(file, str(made))) == "1.zip"
        assert sorted(requests) == ["CompleteMultipartUpload", "CreateMultipartUpload", *["UploadPart"] * 2]
        assert made.exists(), "it is the worker's to take away"
        with storages["exports"].open("1.zip") as file:
            assert hashlib.file_digest(file, "sha256").digest() == hashlib.sha256(made.read_bytes()).digest()
        assert storages["exports"].listdir("") == ([], ["1.zip"])

    def test_what_is_replaced_meanwhile_is_never_mixed(self, bucket):
        default_storage.save("images/long", ContentFile(b"a" * 300_000))
        with default_storage.open("images/long") as file:
            file.read(10)
            default_storage.save("images/long", ContentFile(b"b" * 300_000))
            file.seek(200_000)
            with pytest.raises(BucketFailed):
                file.read(10)

    def test_what_is_not_there(self, bucket):
        assert not default_storage.exists("images/none")
        default_storage.delete("images/none")
        for look in (default_storage.open, default_storage.size):
            with pytest.raises(FileNotFoundError):
                look("images/none")
        with pytest.raises(ValueError, match="write them with save"):
            default_storage.open("images/none", "wb")

    @ROWS
    def test_verify_finds_what_is_lost_and_what_is_damaged(self, bucket):
        image_set = factories.image_set("looked-at")
        for index in range(1, 4):
            name, sha256 = image_files.store(png(10 + index, 10))
            factories.image(image_set=image_set, index=index, file=name, sha256=sha256)
        first, second, _ = Image.objects.order_by("index")
        bucket.delete_object(Bucket=s3_world.BUCKET, Key=first.file.name)
        bucket.put_object(Bucket=s3_world.BUCKET, Key=second.file.name, Body=b"damaged")
        found = verify.verify(image_set=image_set)
        assert (found.intact, found.missing, found.damaged) == (1, (first,), (second,))


@ROWS
class TestViews:
    def address(self) -> str:
        return reverse("image_file", args=[shown(image_files.store(DATA)[0]).pk])

    def test_an_image_comes_through_us_in_one_request_to_the_bucket(self, bucket, client):
        address = self.address()
        client.force_login(factories.user(admin=True))
        with s3_world.asked(default_storage) as requests:
            answer = client.get(address)
            assert answer.getvalue() == DATA
        assert requests == ["GetObject"]
        assert answer["Content-Length"] == str(len(DATA))
        assert answer["Content-Type"] == "image/png"
        with s3_world.asked(default_storage) as requests:
            assert client.get(address, headers={"If-None-Match": answer["ETag"]}).status_code == 304
        assert requests == []

    def test_signed_addresses_are_for_those_who_may_see_the_image_and_end_soon(
        self, bucket, client, server, settings
    ):
        s3_world.use(settings, s3_world.buckets(server.endpoint, signed_minutes=3))
        address = self.address()
        stranger = factories.user()
        assert "Signature" not in client.get(address).headers["Location"]
        client.force_login(stranger)
        assert client.get(address).status_code == 404
        client.force_login(factories.user(admin=True))
        with s3_world.asked(default_storage) as requests:
            answer = client.get(address)
        assert requests == []
        assert answer.status_code == 302
        assert answer["Cache-Control"] == "private, max-age=90"
        signed = answer["Location"]
        said = parse_qs(urlsplit(signed).query)
        assert signed.startswith(f"{server.endpoint}/{s3_world.BUCKET}/images/")
        assert said["X-Amz-Expires"] == ["180"]
        assert said["X-Amz-Algorithm"] == ["AWS4-HMAC-SHA256"]
        got = httpx.get(signed)
        assert got.content == DATA
        assert got.headers["Content-Type"] == "image/png"
        assert got.headers["Cache-Control"] == "private, max-age=180"

    def test_they_are_signed_for_the_address_that_browsers_reach(self, bucket, server, settings):
        public = "https://files.example.org"
        here = s3_world.buckets(
            server.endpoint, public_endpoint=public, signed_minutes=1, region="eu-central-1"
        )
        s3_world.use(settings, here)
        name, _ = image_files.store(DATA)
        assert default_storage.url(name).startswith(f"{public}/{s3_world.BUCKET}/{name}?")
        assert "%2Feu-central-1%2Fs3%2F" in default_storage.url(name)
        with pytest.raises(ValueError, match="no signed URLs"):
            storages["exports"].url("1.zip")

    def test_a_server_that_is_gone_is_a_503_with_a_line_in_the_log(self, bucket, client, settings, caplog):
        address = self.address()
        s3_world.use(settings, s3_world.buckets(s3_world.nobody()))
        client.force_login(factories.user(admin=True))
        with caplog.at_level(logging.ERROR):
            answer = client.get(address)
        assert (answer.status_code, answer["Retry-After"]) == (503, "5")
        assert "does not answer" in caplog.text
        told = client.get(reverse("api:image_file", args=[Image.objects.get().pk]))
        assert (told.status_code, told.json()["type"]) == (503, "urn:visage:problem:unreachable")


class TestWithoutAServer:
    """What a server says and does that the one of these tests never does."""

    @pytest.fixture
    def storage(self, settings):
        s3_world.use(settings, s3_world.buckets(s3_world.nobody()))
        return storages["default"]

    def refused(self, code: str) -> ClientError:
        return ClientError({"Error": {"Code": code}}, "GetObject")

    @pytest.mark.parametrize(
        ("code", "said"),
        [
            *((code, rf"lacks permissions .*\({code}\)") for code in ("AccessDenied", "403", "Forbidden")),
            ("NoSuchBucket", "There is no bucket"),
            ("SlowDown", "refused the request"),
        ],
    )
    def test_what_it_refuses_is_said(self, storage, code, said):
        with pytest.raises(BucketFailed, match=said), storage.translated_errors("a"):
            raise self.refused(code)

    def test_so_is_what_it_does_not_let_us_delete(self, storage, monkeypatch):
        def delete(storage, name):
            raise self.refused("AccessDenied")

        monkeypatch.setattr(S3Storage, "delete", delete)
        with pytest.raises(BucketFailed, match="lacks permissions"):
            storage.delete("a")

    @pytest.mark.parametrize("fault", [BotoCoreError, Boto3Error])
    def test_faults_of_either_library_are_faults_of_the_server(self, storage, fault):
        with pytest.raises(BucketFailed, match="does not answer"), storage.translated_errors("a"):
            raise fault

    @pytest.mark.parametrize("code", ["404", "NotFound"])
    def test_a_bucket_that_may_not_be_looked_at_is_there(self, storage, monkeypatch, code):
        def head_bucket(**_):
            raise self.refused("403")

        monkeypatch.setattr(Bucket, "_client", SimpleNamespace(head_bucket=head_bucket))
        with pytest.raises(FileNotFoundError), storage.translated_errors("a"):
            raise self.refused(code)

    def test_it_opens_files_for_reading_alone(self, storage):
        for mode in ("r", "wb", "ab", "rb+"):
            with pytest.raises(ValueError, match="only be opened with mode rb"):
                storage.open("a", mode)

    def test_it_is_given_up_within_seconds_and_asked_as_older_ones_understand(self, storage):
        config = storage.connection.meta.client.meta.config
        assert (config.connect_timeout, config.read_timeout) == (3, 30)
        assert config.retries["total_max_attempts"] == 2
        assert config.request_checksum_calculation == config.response_checksum_validation == "when_required"

    def test_one_that_ends_in_the_middle_of_a_file_is_noticed_and_every_connection_given_back(
        self, storage, monkeypatch
    ):
        bodies = []

        class Body(io.BytesIO):
            def read(self, size):
                if self.tell() >= 4:
                    raise ReadTimeoutError(endpoint_url="x")
                return super().read(size)

        def get(name, **_):
            bodies.append(Body(b"abc" if len(bodies) == 1 else b"abcd"))
            return {"Body": bodies[-1], "ETag": "1", "ContentLength": "9"}

        monkeypatch.setattr(storage, "get", get)
        with storage.open("a") as file:
            with pytest.raises(BucketFailed, match="does not answer"):
                file.read()
            file.seek(5)
            with pytest.raises(BucketFailed, match="ended a after 8 of 9 bytes"):
                file.read()
        assert [body.closed for body in bodies] == [True, True]


@ROWS
class TestExports:
    @pytest.fixture(autouse=True)
    def _no_beat(self, monkeypatch):
        # another connection would not see what these tests have not committed
        monkeypatch.setattr(leases.Heartbeat, "_renew", lambda beat: None)

    def test_from_asking_to_the_download_with_the_images_in_it(
        self, bucket, client, django_capture_on_commit_callbacks
    ):
        admin = factories.user("admin", admin=True)
        study = depiction(files=True)
        job = made(export_of(study, admin, "huggingface"))
        assert (job.state, job.error) == (JobState.DONE, "")
        assert f"exports/{job.file}" in keys(bucket)
        assert list(services_files.work_folder().iterdir()) == []
        client.force_login(admin)
        with s3_world.asked(services_files.storage()) as requests:
            answer = client.get(reverse("export_file", args=[study.name, job.pk]))
            content = b"".join(answer.streaming_content)
        assert requests == ["GetObject"]
        assert hashlib.sha256(content).hexdigest() == job.sha256
        assert answer["Content-Length"] == str(job.size)
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            assert archive.namelist() == list(members(job))
            assert any(name.endswith(".png") for name in archive.namelist())
        with django_capture_on_commit_callbacks(execute=True):
            export_jobs.delete(job=job)
        assert not [key for key in keys(bucket) if key.startswith("exports/")]

    def test_what_no_row_names_or_was_kept_long_enough_goes(self, bucket):
        image_files.store(DATA)
        job = made(export_of(depiction(), factories.user("admin", admin=True)))
        bucket.put_object(Bucket=s3_world.BUCKET, Key="exports/7-of-nobody.zip", Body=b"x")
        assert services_files.clean_up() == 1
        assert f"exports/{job.file}" in keys(bucket)
        assert services_files.clean_up(now=timezone.now() + timedelta(days=30)) == 1
        assert [key.split("/")[0] for key in keys(bucket)] == ["images"]

    def test_a_server_that_goes_away_is_on_the_job_and_it_is_made_at_the_next_try(
        self, bucket, server, settings, client
    ):
        admin = factories.user("admin", admin=True)
        job = export_of(depiction(), admin)
        s3_world.use(settings, s3_world.buckets(s3_world.nobody()))
        failed = export_jobs.make(job_id=job.pk)
        assert (failed.state, failed.attempts) == (JobState.PENDING, 0)
        assert "does not answer" in failed.error
        assert list(services_files.work_folder().iterdir()) == []
        s3_world.use(settings, s3_world.buckets(server.endpoint))
        ExportJob.objects.update(not_before=timezone.now())
        assert made(job).state == JobState.DONE
        s3_world.use(settings, s3_world.buckets(s3_world.nobody()))
        client.force_login(admin)
        answer = client.get(reverse("export_file", args=[job.study.name, job.pk]), follow=True)
        assert "The export storage is not responding" in answer.text

    def test_a_release_shape_reads_every_image_once(self, bucket):
        study = depiction(files=True)
        with s3_world.asked(default_storage) as requests:
            b"".join(export_writing.stream_zip(study=study, fmt="huggingface", by=None, filters=Filters()))
        images = Image.objects.exclude(file="").count()
        assert requests.count("GetObject") == images
        assert requests.count("HeadObject") <= images


class TestFailing:
    def ready(self, client) -> dict[str, str]:
        return client.get("/readyz").json()["checks"]

    @ROWS
    def test_all_is_well(self, bucket, client):
        assert self.ready(client)["storage"] == "ok"

    @ROWS
    @pytest.mark.parametrize(
        ("changed", "said"),
        [
            (
                {"images": "nowhere", "exports": s3_world.BUCKET},
                "There is no bucket nowhere at http://",
            ),
            ({"exports": "nowhere"}, "There is no bucket nowhere at http://"),
            ({"endpoint": s3_world.nobody()}, "does not answer"),
        ],
    )
    def test_it_is_not_ready_and_the_log_says_why(
        self, bucket, server, settings, client, caplog, changed, said
    ):
        s3_world.use(settings, replace(s3_world.buckets(server.endpoint), **changed))
        assert self.ready(client)["storage"] == "failed"
        assert said in caplog.text

    def test_a_lost_bucket_is_not_mistaken_for_lost_files(self, bucket, server, settings):
        s3_world.use(settings, s3_world.buckets(server.endpoint, images="nowhere"))
        for ask in (default_storage.exists, default_storage.size, default_storage.open, image_files.store):
            with pytest.raises(BucketFailed, match="Create it as a private bucket, or correct S3_BUCKET"):
                ask(DATA if ask is image_files.store else "images/a.png")
        with pytest.raises(BucketFailed, match="Create it"):
            default_storage.listdir("images")

    @pytest.mark.parametrize(
        ("wrong", "said"),
        [
            ("access_key", r"S3_ACCESS_KEY or S3_SECRET_KEY \(InvalidAccessKeyId"),
            ("secret_key", r"S3_ACCESS_KEY or S3_SECRET_KEY \(SignatureDoesNotMatch"),
        ],
    )
    def test_a_wrong_key(self, bucket, strict, server, settings, wrong, said):
        s3_world.use(settings, s3_world.buckets(server.endpoint, **strict))
        default_storage.save("images/a.png", ContentFile(DATA))
        s3_world.use(settings, s3_world.buckets(server.endpoint, **{**strict, wrong: "A" * 20}))
        with pytest.raises(BucketFailed, match=said):
            default_storage.save("images/a.png", ContentFile(DATA))
        with pytest.raises(BucketFailed):
            default_storage.exists("images/a.png")

    @ROWS
    def test_commands_say_it_in_a_sentence(self, bucket, settings, tmp_path):
        image_set = factories.image_set("looked-at")
        name, sha256 = image_files.store(DATA)
        factories.image(image_set=image_set, file=name, sha256=sha256)
        s3_world.use(settings, s3_world.buckets(s3_world.nobody()))
        with pytest.raises(CommandError, match="The files cannot be read: The S3 server at"):
            call_command("verify", image_set.name)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("way", ["to a bucket", "from a bucket"])
def test_a_backup_moves_an_installation_between_folder_and_bucket(bucket, server, settings, tmp_path, way):
    in_bucket, in_folder = settings.STORAGES, {**settings.STORAGES}
    in_folder["default"] = {"BACKEND": "django.core.files.storage.FileSystemStorage"}
    first, second = (in_folder, in_bucket) if way == "to a bucket" else (in_bucket, in_folder)
    settings.STORAGES = first
    installation()
    told = writing.backup(path=tmp_path / "all.tar", progress=said_nothing)
    emptied()
    settings.STORAGES = second
    assert restoring.restore(path=tmp_path / "all.tar", progress=said_nothing).digest == told.digest
    pictures = list(Image.objects.exclude(file=""))
    assert len(pictures) == told.files.rows == 2
    assert all(image_files.is_stored(each.file.name, sha256=each.sha256) for each in pictures)
    assert len([key for key in keys(bucket) if key.startswith("images/")]) == 2
    assert ExportJob.objects.filter(file="").count() == ExportJob.objects.count()
