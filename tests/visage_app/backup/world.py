"""An installation with rows of every kind, and helpers to empty it and to forge backups."""

import gzip
import hashlib
import io
import json
import tarfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth.models import Group, Permission
from django.contrib.contenttypes.models import ContentType
from django.contrib.sessions.models import Session
from django.core.management import CommandError, call_command
from django.utils import timezone

from annotation.images import files as image_files
from annotation.models import ApiToken, Box, ExportJob, Study, TaskKind
from generation.core.vectors import pack
from generation.models import Embedding, Run, RunKind
from metrics.models import Score, ScoreRun
from tests import factories
from tests.annotation.exports.world import png
from visage_app.backup import archive
from visage_app.backup.services import restoring, tables

ODD_JSON = {"b": [1e22, -0.0, 1.5e-9, 0.1, 10**30, True, None], "a": {"ü\u2028'\\u0000": "😀"}}


def installation() -> Study:
    """A study with answers, boxes and two stored images, an embedding, scores (one infinite), accounts with
    permissions, a session, a token, an export with a file."""
    lead = factories.user("lead")
    study = factories.study("kept", leads=[lead])
    task = factories.task(study, kind=TaskKind.DEPICTION, image_set=factories.image_set("kept-images"))
    for index, width in ((1, 40), (2, 50)):
        name, sha256 = image_files.store(png(width, 20))
        picture = factories.image(
            image_set=task.image_set, index=index, width=width, height=20, file=name, sha256=sha256
        )
        unit = factories.page_unit(task, picture=picture)
        factories.response(unit, values=[1, 0, 0, 1, 0], who=factories.annotator(profile={"origin": "مصر"}))
        answer = factories.response(unit, justification="a\tb\n\"c\" 'd' \\N ünï\u2028\\.")
        box = dict(zip(("x0", "y0", "x1", "y1"), (0.1, 1 / 3, 30.000000001, 20), strict=True))
        Box.objects.create(judgement=answer.judgements.first(), image_width=width, image_height=20, **box)
    run = Run.objects.create(
        kind=RunKind.EMBEDDINGS, image_set=task.image_set, backend="x", recipe=ODD_JSON, recipe_hash="a" * 64
    )
    vector = np.ones(16) / 4
    Embedding.objects.create(run=run, image=picture, dim=16, vector=pack(vector))
    scored = ScoreRun.objects.create(
        study=study, metric="m", version=1, variant="corrected", digest="b" * 64, resamples=0, seed=2**62
    )
    Score.objects.create(run=scored, name="ratio", value=float("inf"), low=-1.25, high=float("inf"), n=3)
    Score.objects.create(run=scored, name="none", value=None, n=0)
    permission = Permission.objects.get(codename="change_study")
    lead.user_permissions.add(permission)
    team = Group.objects.create(name="team")
    team.permissions.add(permission)
    lead.groups.add(team)
    LogEntry.objects.create(
        user=lead,
        content_type=ContentType.objects.get_for_model(Study),
        object_id=str(study.pk),
        object_repr="kept",
        action_flag=CHANGE,
    )
    now = timezone.now()
    Session.objects.create(session_key="k" * 32, session_data="", expire_date=now)
    ApiToken.objects.create(user=lead, name="t", prefix="p", digest="c" * 64, expires_at=now)
    ExportJob.objects.create(
        study=study, format="csv", state="done", finished_at=now, file="e/1.csv", size=3, sha256="d" * 64
    )
    return study


def emptied() -> None:
    """As after `migrate`: no rows but those it makes, numbers beginning anew."""
    call_command("flush", interactive=False, verbosity=0)


def unpacked(path: Path) -> dict[str, bytes]:
    with tarfile.open(path) as archive:
        return {member.name: archive.extractfile(member).read() for member in archive}


def packed(path: Path, members: dict[str, bytes]) -> Path:
    """An archive of these members, its checksum of the manifest made to fit."""
    if "manifest.json" in members:
        sha256 = hashlib.sha256(members["manifest.json"]).hexdigest()
        members["manifest.sha256"] = f"{sha256}  manifest.json\n".encode()
    with path.open("wb") as out:
        for name, data in members.items():
            about = tarfile.TarInfo(name)
            about.size, about.mode = len(data), 0o600
            out.write(about.tobuf(tarfile.USTAR_FORMAT) + data + bytes(-len(data) % 512))
        out.write(bytes(1024))
    return path


def forged(
    path: Path,
    *,
    told: Callable[[dict], None] = lambda manifest: None,
    rows: dict[str, Callable] | None = None,
) -> Path:
    """The backup at `path` with its manifest changed by `told`, and the rows of tables by `rows`, each a
    function of the list of lines; sizes and checksums are made to fit again."""
    members = unpacked(path)
    manifest = json.loads(members["manifest.json"])
    for name, change in (rows or {}).items():
        of = "files" if name == "files" else f"tables/{name}"
        lines = gzip.decompress(members[f"{of}/000001.jsonl.gz"]).splitlines()
        text = b"".join(line + b"\n" for line in change(lines))
        part = io.BytesIO()
        with gzip.GzipFile("", "wb", 5, part, mtime=0) as out:
            out.write(text)
        members[f"{of}/000001.jsonl.gz"] = part.getvalue()
        about = (
            manifest["files"]
            if name == "files"
            else next(table["lines"] for table in manifest["tables"] if table["name"] == name)
        )
        about |= {
            "rows": text.count(b"\n"),
            "bytes": len(text),
            "sha256": hashlib.sha256(text).hexdigest(),
        }
    told(manifest)
    members["manifest.json"] = json.dumps(manifest).encode()
    return packed(path.with_name("forged.tar"), members)


def said_nothing(step: str, done: int, total: int) -> None:
    """A progress that nobody watches."""


def refused(path, why: str) -> None:
    """`restore` says `why` and leaves the installation as it was, with nothing in it."""
    with pytest.raises(CommandError, match=why):
        call_command("restore", str(path))
    assert all(
        tables.count(table) == 0 for table in tables.tables() if table.name not in tables.FILLED_BY_MIGRATE
    )
    assert Permission.objects.filter(codename="change_study").exists()


def damaged(path, why: str = ".") -> None:
    """Reading it, as every restore does before it writes, says `why`."""
    with pytest.raises(archive.ArchiveDamaged, match=why):
        restoring.check(path=path, progress=said_nothing)


def with_value(place: str, value) -> Callable[[dict], None]:
    """A change of the manifest for `forged`: `value` at a place such as tables.0.name."""

    def told(manifest):
        at = manifest
        *way, last = place.split(".")
        for step in way:
            at = at[int(step) if step.isdigit() else step]
        at[int(last) if last.isdigit() else last] = value

    return told
