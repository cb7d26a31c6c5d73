"""The health resource of the API."""

from __future__ import annotations

import pytest
from django.utils import timezone

from annotation.models import ExportJob
from tests import factories
from tests.annotation.api.calls import Program

pytestmark = pytest.mark.django_db


def test_what_waits_and_what_failed_is_told():
    admin = factories.user("admin", admin=True)
    study = factories.rating_study(name="words")
    program = Program(admin, "read")
    assert program.get("health").json()["well"]
    ExportJob.objects.create(study=study, by=admin, format="csv")
    failed = {"state": "failed", "error": "no space left", "finished_at": timezone.now()}
    ExportJob.objects.create(study=study, by=admin, format="jsonl", **failed)
    told = program.get("health").json()
    assert not told["well"]
    queue = {one["kind"]: one for one in told["queues"]}["exports"]
    assert (queue["waiting"], queue["failed"]) == (1, 1)
    assert queue["failures"][0]["error"] == "no space left"
    assert told["storage"]["free"] > 0
    assert "visage" in {name.lower() for name in told["versions"]}
