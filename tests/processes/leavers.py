"""People who withdraw while others work, each a process of its own: python -m tests.processes.leavers ..."""

import json
import os
import sys

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "visage_app.settings")
django.setup()

from annotation.annotate.services import responses  # noqa: E402
from annotation.assignment.services import slots  # noqa: E402
from annotation.models import Annotator, AuditEvent, Enrolment, Response, Slot, SlotState, Study  # noqa: E402
from annotation.participation.services import withdrawals  # noqa: E402
from tests import factories  # noqa: E402
from tests.processes.meeting import meet  # noqa: E402
from tests.waiting import wait_for  # noqa: E402


def make(units: str, people: str) -> None:
    study = factories.rating_study(name="load", texts=[f"word {n}" for n in range(int(units))])
    for number in range(int(people)):
        factories.enrolment(study, who=factories.annotator(pseudonym=f"a-{number}"), consented=True)


def work(pseudonym: str, place: str, number: str) -> None:
    """Rate one item after another until told that one has withdrawn, or for a while after somebody has."""
    enrolment = Enrolment.objects.get(annotator__pseudonym=pseudonym)
    meet(place, number)
    kept, more = 0, 10
    while more:
        more -= AuditEvent.objects.filter(what="withdrawal").exists()
        held = slots.lease(enrolment=enrolment, wanted=1)
        if not held:
            break
        option = held[0].unit.options.get()
        try:
            responses.submit(
                enrolment=enrolment,
                unit_id=held[0].unit_id,
                client_key=held[0].lease_key,
                answers=[responses.Answer(option_id=option.pk, value=5, position=1)],
            )
        except responses.AnswerRefused:
            break
        kept += 1
    print(json.dumps(kept))


def leave(pseudonym: str, place: str, number: str) -> None:
    """Withdraw in the middle of one's work: once a few answers are there."""
    meet(place, number)
    theirs = Response.objects.filter(annotator__pseudonym=pseudonym)
    wait_for(lambda: theirs.count() >= 5, "there were no answers to withdraw")
    meet(f"{place}-leaving", 3)
    done = withdrawals.withdraw(
        annotator=Annotator.objects.get(pseudonym=pseudonym), study=Study.objects.get(), by=None
    )
    print(json.dumps({"repeat": done.repeat, "responses": done.responses}))


def count(pseudonym: str) -> None:
    theirs = Response.objects.filter(annotator__pseudonym=pseudonym)
    filled = Slot.objects.filter(state=SlotState.FILLED)
    print(
        json.dumps(
            {
                "theirs": theirs.count(),
                "theirs_counted": theirs.filter(withdrawn_at__isnull=True).count(),
                "theirs_held": Slot.objects.filter(annotator__pseudonym=pseudonym).count(),
                "filled": filled.count(),
                "filled_with_answer": filled.filter(
                    responses__current=True, responses__withdrawn_at__isnull=True
                ).count(),
                "queue_numbers": Slot.objects.values("queue").distinct().count(),
                "slots": Slot.objects.count(),
                "events": AuditEvent.objects.filter(what="withdrawal").count(),
            }
        )
    )


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
