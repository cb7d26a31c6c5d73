"""The study that benchmarks/annotate.py measures: made in bulk, put back to its beginning, counted.

    python -m benchmarks.annotate_study make UNITS     prints the cookies of its people
    python -m benchmarks.annotate_study reset          prints what was answered, and takes it back

Every unit has three slots: two open to anybody, and one of a stratum whose slots are all filled. The last
person of PEOPLE belongs to that stratum only; the one before has the first half of the study behind them.
"""

from __future__ import annotations

import json
import os
import secrets
import sys

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "benchmarks.server")
django.setup()

from django.contrib.auth import get_user_model  # noqa: E402
from django.contrib.sessions.backends.db import SessionStore  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.db import connection  # noqa: E402
from django.db.models import Count, F, Max  # noqa: E402
from django.utils import timezone  # noqa: E402

from annotation import models  # noqa: E402

PEOPLE = 52
EXHAUSTED = "origin: nowhere"
NUMBERS = "WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < {last})"


def make(units: int) -> list[dict[str, str]]:
    """A study of `units` attributes with its people; their cookies."""
    call_command("migrate", verbosity=0)
    now = timezone.now()
    study = models.Study.objects.create(name="load", title="Load", status="open", opened_at=now)
    text = models.ConsentText.objects.create(study=study, text="Yes.")
    task = models.Task.objects.create(
        study=study,
        kind="visual_nature",
        wording="'[attr]' can be seen.",
        strata=["any", "any", EXHAUSTED],
        slot_strata=["any", EXHAUSTED],
        frozen_at=now,
    )
    each = NUMBERS.format(last=units)
    statements = [
        f"INSERT INTO annotation_attribute (id, text) {each} SELECT n, 'attribute ' || n FROM numbers",
        "INSERT INTO annotation_unit (id, task_id, position, attribute_id, page, repeat, purpose, feedback, "
        f"source_name) {each} SELECT n, {task.pk}, n, n, 1, 0, 'data', '', '' FROM numbers",
        "INSERT INTO annotation_option (id, unit_id, attribute_id, role, position) "
        f"{each} SELECT n, n, n, 'stimulus', 1 FROM numbers",
        f'INSERT INTO annotation_slot (id, study_id, unit_id, "index", stratum, queue, state) {each} '
        f"SELECT 3 * (n - 1) + k, {study.pk}, n, k - 1, "
        f"CASE k WHEN 3 THEN '{EXHAUSTED}' ELSE 'any' END, 3 * (n - 1) + k, "
        "CASE k WHEN 3 THEN 'filled' ELSE 'open' END "
        "FROM numbers CROSS JOIN (SELECT 1 AS k UNION SELECT 2 UNION SELECT 3) ks",
    ]
    with connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
        cursor.execute("ANALYZE")
    people = []
    for number in range(PEOPLE):
        user = get_user_model().objects.create(username=f"person{number}")
        who = models.Annotator.objects.create(user=user, pseudonym=f"p-{number}")
        models.Consent.objects.create(annotator=who, text=text, given_at=now)
        models.Enrolment.objects.create(annotator=who, study=study, status="qualified")
        if number == PEOPLE - 1:
            models.ProfileAnswer.objects.create(annotator=who, field="origin", value="nowhere")
        session = SessionStore()
        session["_auth_user_id"] = str(user.pk)
        session["_auth_user_backend"] = "django.contrib.auth.backends.ModelBackend"
        session["_auth_user_hash"] = user.get_session_auth_hash()
        session.save()
        people.append({"session": str(session.session_key), "token": secrets.token_hex(16)})
    reset()
    return people


def reset() -> dict[str, int]:
    """Count what was answered, and take every answer and lease back."""
    counted = count()
    models.Judgement.objects.all().delete()
    models.Response.objects.all().delete()
    models.Slot.objects.filter(annotator__isnull=False).update(
        state="open", annotator=None, lease_key=None, leased_at=None, lease_expires_at=None
    )
    models.Enrolment.objects.update(position=0, answered=0, session_started_at=None, session_units=0)
    last = models.Slot.objects.aggregate(last=Max("queue"))["last"]
    ahead, exhausted = models.Enrolment.objects.order_by("pk")[PEOPLE - 2 :]
    models.Enrolment.objects.filter(pk=ahead.pk).update(position=last // 2)
    models.Enrolment.objects.filter(pk=exhausted.pk).update(strata=[EXHAUSTED])
    return counted


def count() -> dict[str, int]:
    """Units with more answers than were wanted of those who answered, people who met a unit twice,
    answers that found no slot, and slots that are filled without their answer."""
    said = models.Response.objects.filter(current=True)
    filled = models.Slot.objects.filter(state="filled", annotator__isnull=False)
    per_unit = said.filter(slot__isnull=False).values("unit").annotate(n=Count("pk"))
    twice = said.values("unit", "annotator").annotate(n=Count("pk"))
    return {
        "answers": said.count(),
        "over_assigned": per_unit.filter(n__gt=2).count(),
        "met_twice": twice.filter(n__gt=1).count(),
        "surplus": said.filter(slot__isnull=True).count(),
        "filled_without_answer": filled.exclude(responses__annotator=F("annotator")).count(),
    }


if __name__ == "__main__":
    what, *arguments = sys.argv[1:]
    done = {"make": make, "reset": reset}[what](*map(int, arguments))  # type: ignore[operator]
    print(json.dumps(done))
