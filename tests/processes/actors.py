"""What the processes of these tests do: `python -m tests.processes.actors ACTOR ARGUMENTS`."""

from __future__ import annotations

import json
import os
import random
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "visage_app.settings")
django.setup()

from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY  # noqa: E402
from django.contrib.auth.models import User  # noqa: E402
from django.contrib.sessions.backends.db import SessionStore  # noqa: E402
from django.db import connection  # noqa: E402
from django.db.models import Count  # noqa: E402
from django.utils import timezone  # noqa: E402

from annotation.annotate.services import items, responses  # noqa: E402
from annotation.assignment.services import slots  # noqa: E402
from annotation.models import (  # noqa: E402
    Annotator,
    Consent,
    Enrolment,
    Judgement,
    Option,
    Response,
    Slot,
    SlotState,
    Study,
)
from tests import factories  # noqa: E402
from tests.processes.meeting import meet  # noqa: E402


def set_up(units: str, people: str, strata: str) -> None:
    """A study of so many units with these strata (joined by '|'), and so many enrolled people, of whom
    every second comes from Asia and every third is a man. Prints the enrolments' ids."""
    of = factories.study("load")
    task = factories.task(of, strata=strata.split("|"))
    factories.attribute_units(task, int(units))
    ids = []
    for number in range(int(people)):
        profile = {
            "origin": "Asia" if number % 2 else "Europe",
            "gender": "man" if number % 3 == 0 else "woman",
        }
        ids.append(factories.enrolment(of, profile=profile).pk)
    print(json.dumps(ids))


def log_in_annotators(enrolment_ids: str) -> None:
    """Give each of them an account, a consent and a session; prints the sessions' keys."""
    keys = []
    for enrolment in (
        Enrolment.objects.select_related("annotator", "study").in_bulk(json.loads(enrolment_ids)).values()
    ):
        account = factories.user()
        Annotator.objects.filter(pk=enrolment.annotator_id).update(user=account)
        text = enrolment.study.consent_texts.first() or factories.consent_text(enrolment.study)
        Consent.objects.create(annotator=enrolment.annotator, text=text, given_at=timezone.now())
        keys.append(_session(account))
    print(json.dumps(keys))


def give_words(number: str) -> None:
    """A study of so many words, and amal, who is enrolled in it."""
    of = factories.rating_study(name="words", texts=[f"word {place:02}" for place in range(int(number))])
    factories.enrolment(of, who=factories.annotator(user=factories.user("amal")), consented=True)


def said() -> None:
    """What was answered, in its order, and how much of it counts."""
    answers = Judgement.objects.order_by("pk")
    told = {
        "said": list(answers.values_list("option__attribute__text", "value", "justification")),
        "responses": Response.objects.filter(current=True, slot__isnull=False).count(),
        "filled": Slot.objects.filter(state=SlotState.FILLED).count(),
    }
    print(json.dumps(told))


def admit() -> None:
    """Print the key of a session of a new administrator."""
    print(json.dumps(_session(factories.user("root", admin=True))))


def _session(account: User) -> str:
    begun = SessionStore()
    begun[SESSION_KEY] = str(account.pk)
    begun[BACKEND_SESSION_KEY] = "django.contrib.auth.backends.ModelBackend"
    begun[HASH_SESSION_KEY] = account.get_session_auth_hash()
    begun.create()
    return begun.session_key


def annotate(enrolment_id: str, seed: str, journal: str) -> None:
    """Answer until nothing is left. Every acknowledged answer is written to `journal` first to last;
    one in four is sent twice, as a browser does that missed the acknowledgement."""
    dice = random.Random(int(seed))
    enrolment = Enrolment.objects.select_related("annotator", "study").get(pk=enrolment_id)
    with Path(journal).open("a", buffering=1) as acknowledged:
        while (slot := slots.lease_next(enrolment=enrolment)) is not None:
            option = slot.unit.options.get()
            answer = responses.Answer(option_id=option.pk, value=dice.choice((1, 2, 4, 5)), position=1)
            for _ in range(2 if dice.random() < 0.25 else 1):
                done = responses.submit(
                    enrolment=enrolment, unit_id=slot.unit_id, client_key=slot.lease_key, answers=[answer]
                )
            acknowledged.write(f"{slot.lease_key} {answer.value} {done.outcome}\n")


def annotate_together(enrolment_ids: str, seed: str, folder: str, skew: str) -> None:
    """Several annotators in one process, each a thread, on a machine whose clock is `skew` seconds off.
    They hold up to three items at once, skip now and then, and send some answers twice."""
    with ThreadPoolExecutor(max_workers=16) as people:
        runs = [
            people.submit(_work, int(pk), int(seed) + int(pk), Path(folder) / f"{pk}.journal", float(skew))
            for pk in enrolment_ids.split(",")
        ]
        for run in runs:
            run.result()


def _work(enrolment_id: int, seed: int, journal: Path, skew: float) -> None:
    dice = random.Random(seed)
    try:
        with journal.open("a", buffering=1) as acknowledged:
            while True:
                now = timezone.now() + timedelta(seconds=skew)
                enrolment = Enrolment.objects.select_related("annotator", "study").get(pk=enrolment_id)
                work = items.next_items(enrolment=enrolment, wanted=3, now=now)
                if work.state != "items":
                    break
                for item in work.items[: dice.randint(1, 3)]:
                    option = Option.objects.get(unit=item.unit_id)
                    if dice.random() < 0.03:
                        responses.skip(
                            enrolment=enrolment,
                            unit_id=item.unit_id,
                            client_key=item.client_key,
                            reason="unclear",
                        )
                        continue
                    answer = responses.Answer(
                        option_id=option.pk, value=dice.choice((1, 2, 4, 5)), position=1
                    )
                    for _ in range(2 if dice.random() < 0.25 else 1):
                        done = responses.submit(
                            enrolment=enrolment,
                            unit_id=item.unit_id,
                            client_key=item.client_key,
                            answers=[answer],
                            now=now,
                        )
                    acknowledged.write(f"{item.client_key} {answer.value} {done.outcome}\n")
    finally:
        connection.close()


def sweep(until: str) -> None:
    """Return every lease there is, again and again, until the file `until` appears: each may run out in
    the middle of an answer."""
    returned = 0
    Path(f"{until}.begun").touch()
    while not Path(until).exists():
        returned += slots.release_expired(now=timezone.now() + timedelta(days=2))
        time.sleep(0.01)
    print(json.dumps(returned))


def lease(enrolment_id: str) -> None:
    """Lease one slot and print what is needed to answer it."""
    slot = slots.lease_next(enrolment=Enrolment.objects.get(pk=enrolment_id))
    assert slot is not None
    print(
        json.dumps({"unit": slot.unit_id, "key": str(slot.lease_key), "option": slot.unit.options.get().pk})
    )


def expire() -> None:
    """Return every lease, as if its time had run out."""
    print(slots.release_expired(now=timezone.now() + timedelta(days=2)))


def submit(enrolment_id: str, unit_id: str, key: str, option_id: str, place: str, number: str) -> None:
    """Submit one answer together with other processes."""
    from uuid import UUID

    enrolment = Enrolment.objects.select_related("annotator", "study").get(pk=enrolment_id)
    meet(place, number)
    done = responses.submit(
        enrolment=enrolment,
        unit_id=int(unit_id),
        client_key=UUID(key),
        answers=[responses.Answer(option_id=int(option_id), value=5, position=1)],
    )
    print(json.dumps(done.outcome))


def count() -> None:
    """What must add up."""
    of = Study.objects.get(name="load")
    per_unit = (
        Response.objects.filter(current=True, slot__isnull=False).values("unit").annotate(n=Count("pk"))
    )
    twice = Response.objects.values("unit", "annotator").annotate(n=Count("pk")).filter(n__gt=1)
    told = {
        "slots": of.slots.count(),
        "filled": of.slots.filter(state=SlotState.FILLED).count(),
        "leased": of.slots.filter(state=SlotState.LEASED).count(),
        "open": of.slots.filter(state=SlotState.OPEN).count(),
        "responses": Response.objects.count(),
        "surplus": Response.objects.filter(slot__isnull=True).count(),
        "judgements": Judgement.objects.count(),
        "most_per_unit": max((row["n"] for row in per_unit), default=0),
        "met_twice": [
            list(Response.objects.filter(unit=row["unit"], annotator=row["annotator"]).values())
            for row in twice
        ],
        "wrong_stratum": wrong_stratum(of),
        "keys": {
            str(key): value for key, value in Judgement.objects.values_list("response__client_key", "value")
        },
    }
    print(json.dumps(told, default=str))


def scores() -> None:
    """The states of all score runs."""
    from metrics.models import ScoreRun

    print(json.dumps(list(ScoreRun.objects.values_list("state", flat=True))))


def times() -> None:
    """By how many seconds each answer was submitted after now, by this machine's clock."""
    now = timezone.now()
    found = Response.objects.values_list("submitted_at", flat=True)
    print(json.dumps([(at - now).total_seconds() for at in found if at is not None]))


def wrong_stratum(of: Study) -> int:
    from annotation.core import strata

    wrong = 0
    for slot in Slot.objects.filter(study=of, state=SlotState.FILLED).select_related("annotator"):
        profile = dict(slot.annotator.profile_answers.values_list("field", "value"))
        wrong += not strata.parse(slot.stratum).matches(profile)
    return wrong


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
