"""docs/api-cookbook.md is run unchanged, from top to bottom, with a live server and its worker."""

from __future__ import annotations

import re
import sys
import threading
import time
from pathlib import Path

import pytest
from django.conf import settings
from django.contrib.auth import get_user_model
from django.db import close_old_connections, connections

from annotation.api import tokens
from annotation.exports.services import jobs as export_jobs
from annotation.models import Response, Scope, Study
from annotation.webhooks.services import deliveries
from generation.jobs.services import work
from metrics.score_runs import services as score_runs
from tests import factories
from tests.annotation.api.calls import Program
from tests.metrics import cast

pytestmark = pytest.mark.django_db(transaction=True)

PAGE = Path(__file__).resolve().parent.parent.parent / "docs" / "api-cookbook.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


@pytest.fixture
def worker():
    """What `manage.py worker` does, until the test ends."""
    ended = threading.Event()

    def rounds() -> None:
        try:
            while not ended.wait(0.05):
                score_runs.compute_pending()
                export_jobs.make_pending()
                for run_id in work.runs_needing_work():
                    work.work(run_id=run_id)
                close_old_connections()
        finally:
            connections.close_all()

    thread = threading.Thread(target=rounds)
    thread.start()
    yield
    ended.set()
    thread.join()


def test_what_the_examples_take_from_outside_is_said_before_the_first():
    text, code = PAGE.read_text(encoding="utf-8").partition("```python")[0], "\n".join(BLOCKS)
    imported = {name.partition(".")[0] for name in re.findall(r"^(?:import|from) (\S+)", code, re.MULTILINE)}
    needed = {
        *re.findall(r'environ\["(\w+)"\]', code.replace("'", '"')),
        *(imported - sys.stdlib_module_names),
        *re.findall(r'"accounts", text="(\S+)"', code),
        *re.findall(r"(?:studies|leads|image-sets)/([a-z-]+)", code),
        *re.findall(r'"(Mexican|Indian)"', code),
        *re.findall(r'\["name"\] == "(\w+)"', code),
        *re.findall(r'Path\(f?"([a-z-]+\.)', code),
        *(f"`{scope}`" for scope in Scope.values),
    }
    assert {"httpx", "VISAGE_URL", "FOUND_TOKEN", "person@example.org", "leaked"} <= needed
    assert sorted(one for one in needed if one not in text) == []


def test_every_block_runs_from_top_to_bottom(live_server, worker, monkeypatch, tmp_path):
    monkeypatch.setattr(settings, "BOOTSTRAP_RESAMPLES", 100)
    sleep = time.sleep
    monkeypatch.setattr(time, "sleep", lambda seconds: sleep(min(seconds, 0.05)))  # ask again sooner
    admin = factories.user("admin", admin=True)
    person, again = factories.user("person@example.org"), factories.user("person-again@example.org")
    factories.annotator(user=again)
    for name in ("Mexican", "Indian"):
        factories.group(name)
    monkeypatch.setenv("VISAGE_URL", live_server.url)
    monkeypatch.setenv("VISAGE_TOKEN", Program(admin).secret)
    monkeypatch.setenv("ANNOTATOR_TOKEN", Program(person, "annotate").secret)
    monkeypatch.setenv("FOUND_TOKEN", Program(admin, "read").secret)
    leaked = tokens.create(user=admin, name="leaked", scopes=["read"], by=admin)
    cast.depiction_study(name="demo", leads=[admin])
    monkeypatch.chdir(tmp_path)
    told: dict[str, object] = {}
    for number, block in enumerate(BLOCKS, 1):
        exec(compile(block, f"docs/api-cookbook.md, block {number}", "exec"), told)
    for client in ("api", "annotator"):
        told[client].close()
    assert len(BLOCKS) > 10
    assert Study.objects.get(name="looks").title == "Which words can one see?"
    # sent twice, kept once; then withdrawn, and erased
    assert told["report"]["responses"] == 2
    assert not Response.objects.filter(unit__task__study__name="looks", annotator__isnull=False).exists()
    assert told["erased"]["account"]
    assert not get_user_model().objects.filter(username__startswith="person@").exists()
    assert told["brought"]["created"] == 1
    assert tokens.authenticate(secret=leaked.secret) is None
    assert (tmp_path / "looks-release.zip").stat().st_size > 0
    assert (tmp_path / "consensus.svg").read_bytes().startswith(b"<svg")
    assert told["judged"]["warnings"]
    assert (tmp_path / "judge.csv").read_text(encoding="utf-8").startswith("judge,study,")
    assert (tmp_path / "looks.zip").stat().st_size > 0
    assert len(told["picture"]) > 100


def test_the_cookbook_checks_signatures_as_the_program_makes_them():
    told: dict[str, object] = {}
    exec(f"import time\n{BLOCKS[-1]}", told)
    genuine = told["is_genuine"]
    header = deliveries.signature(secret="s3cret", body=b'{"a": 1}', at=1_000_000)
    assert genuine("s3cret", header, b'{"a": 1}', now=1_000_010)
    assert not genuine("s3cret", header, b'{"a": 2}', now=1_000_010)
    assert not genuine("another", header, b'{"a": 1}', now=1_000_010)
    assert not genuine("s3cret", header, b'{"a": 1}', now=1_000_999)
    assert not genuine("s3cret", "nonsense", b'{"a": 1}')
