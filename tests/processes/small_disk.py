"""On a disk of its own, so small that it fills up, and then gets room. Prints what was seen as JSON.

`python -m tests.processes.small_disk WHAT ...`, or for a server that does not run as root, as which a process
with mounts of its own does, `unshare -m python -c "from tests.processes import small_disk; small_disk.main()"
WHAT ...`: what this one starts would import it anew if it were a module, and set Django up by its settings.
"""

from __future__ import annotations

import http.client
import json
import os
import shutil
import sys
import time
from datetime import timedelta
from pathlib import Path

import django
import psycopg

django.setup()

from django.core.files.uploadedfile import SimpleUploadedFile  # noqa: E402
from django.test.client import encode_multipart  # noqa: E402
from PIL import Image as Picture  # noqa: E402

from annotation import export_files  # noqa: E402
from annotation.exports.selection import Filters  # noqa: E402
from annotation.exports.services import jobs as export_jobs  # noqa: E402
from annotation.models import ExportJob, Image  # noqa: E402
from tests import factories  # noqa: E402
from tests.generation.uploads.bundles import encoded, table, zipped  # noqa: E402
from tests.processes import mounts, starts  # noqa: E402
from tests.processes.annotators import AnnotatorPool  # noqa: E402
from tests.processes.conftest import Installation  # noqa: E402
from tests.processes.exporters import answered  # noqa: E402
from tests.processes.mounts import mount, resize  # noqa: E402
from tests.processes.servers import Postgres, Web, answers  # noqa: E402
from tests.waiting import PATIENCE_SECONDS, wait_for  # noqa: E402


def fill(folder: Path) -> Path:
    """Take all the room that there is; the file that does."""
    ballast = folder / "ballast"
    with ballast.open("wb", buffering=0) as file:
        for size in (1 << 20, 1 << 12):
            try:
                while file.write(bytes(size)):
                    pass
            except OSError:
                continue
    return ballast


def database(folder: str, sessions: str) -> dict[str, object]:
    """Annotators at work while the disk of SQLite's file fills up. The file is in FOLDER.old, and moves."""
    place = Path(folder)
    mount(place, "200m")
    shutil.copytree(f"{folder}.old", place, dirs_exist_ok=True)
    server = Web(dict(os.environ), workers=1)
    try:
        pool = AnnotatorPool(json.loads(sessions), server.port)
        pool.wait_for_answers(20)
        ballast = fill(place)
        wait_for(lambda: pool.failures()["answers 500"] >= 10, "no answers found the disk full")
        ballast.unlink()
        pool.wait_until_done()
    finally:
        server.kill()
    counted = Installation(dict(os.environ)).act("count")
    pool.check_kept(counted)
    return {"failures": pool.failures(), "answers": counted["responses"]}


def postgresql(folder: str, units: str, people: str) -> dict[str, object]:
    """Annotators at work while the disk of a PostgreSQL of their own fills up: first a table cannot grow,
    then its log, of which the server dies. With room it is started again, by hand, and nothing else."""
    place = Path(folder)
    mount(place, "300m")
    database = Postgres(place)
    env = {**os.environ, "DATABASE_URL": database.url, "CELERY_BROKER_URL": ""}
    own = Installation(env)
    own.run("manage.py", "migrate", "-v0")
    accounts = own.act("set_up", units, people, "any|any|any")
    server = Web(env, workers=1)
    try:
        pool = AnnotatorPool(own.act("log_in_annotators", json.dumps(accounts)), server.port)
        pool.wait_for_answers(20)
        ballast = fill(place)
        wait_for(lambda: pool.failures()["answers 500"] >= 10, "no answers found the disk full")
        tables = server.asked("/readyz")[0]

        def ended() -> bool:
            if answers(database.port):
                # what its end had freed may be room enough to recover: once more, then
                end_of_the_log(database.url)
            return not answers(database.port)

        wait_for(ended, "the server, which has no room to recover, does not end")
        without = server.asked("/readyz")[0]
        ballast.unlink()
        database.start()
        wait_for(lambda: server.asked("/readyz")[0] == 200, "it is not ready again")
        pool.wait_until_done()
        counted = own.act("count")
    finally:
        server.kill()
        if answers(database.port):
            database.crash()
    pool.check_kept(counted)
    return {
        "ready": [tables, without],
        "failures": pool.failures(),
        "answers": counted["responses"],
    }


def end_of_the_log(url: str) -> None:
    """Have PostgreSQL begin one file of its log after another, until it finds no room for the next."""
    try:
        with psycopg.connect(url, autocommit=True) as connection:
            for number in range(100):
                connection.execute("SELECT pg_switch_wal()")
                connection.execute("SELECT pg_logical_emit_message(false, 'test', %s)", [str(number)])
    except psycopg.OperationalError:
        return
    raise AssertionError("its log found room all the time")


def backup(folder: str) -> dict[str, object]:
    """`manage.py backup` with room for a part only, over one that is there already."""
    place = Path(folder)
    mount(place, "12k")
    target = place / "all.tar"
    target.write_text("an older one")
    here = Installation(dict(os.environ))
    full = here.python("manage.py", "backup", "--force", target)
    _, said = full.communicate()
    left = {path.name: path.stat().st_size for path in place.iterdir()}
    resize(place, "50m")
    again = here.python("manage.py", "backup", "--force", target).wait()
    checked = here.python("manage.py", "restore", "--check", target).wait()
    return {"full": [full.returncode, said], "left": left, "again": [again, checked]}


def export() -> dict[str, object]:
    """An export in the background with room for a part only: until it waits, and after there is room."""
    mount(export_files.work_folder(), "16k")
    study = factories.study("load")
    answered(study, 400)
    job = export_jobs.request(study=study, fmt="csv", filters=Filters(), by=factories.user(admin=True))
    seen = []
    export_jobs.STORAGE_PAUSE = timedelta(seconds=1)
    for size in ("", "50m"):
        if size:
            resize(export_files.work_folder(), size)
            time.sleep(1.1)
        export_jobs.make_pending()
        found = ExportJob.objects.get(pk=job.pk)
        unfinished = len(list(export_files.work_folder().iterdir()))
        seen.append([found.state, found.attempts, found.error, unfinished, found.rows])
    return {"seen": seen}


# Long: three bytes alone are found in a large enough picture.
BOUNDARY = "the-parts-of-this-form-are-divided-here"


def upload(folder: str, session: str) -> dict[str, object]:
    """A ZIP of pictures sent to a page and to the API with room for a part only; FOLDER is where it lies
    meanwhile. What was answered, whether the page serves, and what is left; then the same with room."""
    place = Path(folder)
    mount(place, "1m")
    server = Web(dict(os.environ), workers=1)
    noise = Picture.frombytes("RGB", (1000, 1000), os.urandom(3_000_000))
    files = {"1.png": encoded(noise), "t.csv": table({"file": "1.png", "group": "Mexican"})}
    packed = zipped(files).getvalue()

    def post(path: str, body: bytes, kind: str) -> tuple[int, str]:
        token = "t" * 32
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE_SECONDS)
        cookies = f"sessionid={session}; csrftoken={token}"
        headers = {"Cookie": cookies, "X-CSRFToken": token, "Content-Type": kind}
        connection.request("POST", path, body, headers)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()

    def send() -> dict[str, object]:
        form = {"csrfmiddlewaretoken": "t" * 32, "name": "sent", "axis": "nationality", "new_groups": "on"}
        sent = encode_multipart(
            BOUNDARY, {**form, "file": SimpleUploadedFile("p.zip", packed, "application/zip")}
        )
        return {
            "form": post("/generation/upload/", sent, f"multipart/form-data; boundary={BOUNDARY}"),
            "api": post("/api/v1/image-sets/sent/bundle?new_groups=true", packed, "application/zip"),
            "page": server.asked("/generation/upload/", session)[0],
            "left": sorted(path.name for path in place.iterdir()),
            "taken": shutil.disk_usage(place).used,
            "images": Image.objects.count(),
        }

    try:
        full = send()
        resize(place, "50m")
        return {"full": full, "again": send()}
    finally:
        server.kill()


def main() -> None:
    """With the name of one of the above and what it needs."""
    name, *arguments = sys.argv[1:]
    print(json.dumps(globals()[name](*arguments)))


if __name__ == "__main__":
    mounts.go_apart()
    starts.fork_from_here()
    main()
