"""What annotators do at every item asks the database for nothing that it would have to look through a whole
table for, nor through a whole index."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import uuid4

import pytest
from django.contrib.auth import get_user_model
from django.core.files.base import ContentFile
from django.db import connection
from django.utils import timezone

from annotation.api import tokens
from annotation.models import (
    Annotator,
    Attribute,
    Box,
    Enrolment,
    EnrolmentStatus,
    Image,
    Judgement,
    Option,
    OptionRole,
    Purpose,
    Response,
    Skip,
    Slot,
    SlotState,
    TaskKind,
    Unit,
)
from tests import factories

pytestmark = pytest.mark.django_db

GROWING = {
    f"annotation_{name}"
    for name in (
        *("slot", "unit", "option", "response", "judgement", "box", "skip"),
        *("enrolment", "annotator", "consent", "profileanswer", "image"),
    )
} | {"django_session", "auth_user"}
"""Tables with rows for each item, answer, annotator or visit."""
FEW = {"unit_checks", "slot_leased_by_expiry"}
"""Indexes that hold little however large the study is: checks, and what is in somebody's hands."""
FIRST_COLUMNS = """
    SELECT named.relname, first.attname FROM pg_class named
    JOIN pg_attribute first ON first.attrelid = named.oid AND first.attnum = 1 WHERE named.relkind = 'i'
"""
ENDPOINTS = "/studies/pictures/annotate"


class Plans:
    """How the database means to run each statement that was sent to it."""

    def __init__(self) -> None:
        self.looking = False
        self.statements: set[str] = set()
        self.scans: dict[str, str] = {}
        """Statement -> the table that it looks through."""

    def __call__(self, run, sql, params, many, context):
        if not self.looking and re.match(r"\s*(SELECT|INSERT|UPDATE|DELETE|WITH)\b", sql):
            self.looking = True
            self.statements.add(sql)
            values = params[0] if many else params
            look = self._postgresql if connection.vendor == "postgresql" else self._sqlite
            for table in look(sql, values):
                self.scans[sql] = table
            self.looking = False
        return run(sql, params, many, context)

    @staticmethod
    def _postgresql(sql, params) -> Iterator[str]:
        with connection.cursor() as cursor:
            # What is scanned all the same has no index to go by, whatever its size here; and each row that a
            # join needs is looked up.
            for way in ("seqscan", "hashjoin", "mergejoin"):
                cursor.execute(f"SET LOCAL enable_{way} = off")
            indexes = dict(cursor.execute(FIRST_COLUMNS).fetchall())
            [[plan]] = cursor.execute(f"EXPLAIN (FORMAT JSON) {sql}", params).fetchall()
        nodes = [(json.loads(plan) if isinstance(plan, str) else plan)[0]["Plan"]]
        while nodes:
            node = nodes.pop()
            for below in node.get("Plans", []):
                below.setdefault("Relation Name", node.get("Relation Name"))  # a bitmap's index names none
                nodes.append(below)
            reads = node["Node Type"].endswith(("Seq Scan", "Index Scan", "Index Only Scan"))
            if reads and node.get("Relation Name") in GROWING and node.get("Index Name") not in FEW:
                # An index is of use from its first column on.
                first = indexes.get(node.get("Index Name"), "none")
                if not re.search(rf"\b{first}\b", node.get("Index Cond", "")):
                    yield node["Relation Name"]

    @staticmethod
    def _sqlite(sql, params) -> Iterator[str]:
        named = dict(re.findall(r'"?(\w+)"? (?:AS )?"?(\w+)"?', sql))
        tables = {alias: table for table, alias in named.items() if table in GROWING}
        tables |= dict(zip(GROWING, GROWING, strict=True))
        with connection.cursor() as cursor:
            rows = cursor.execute(f"EXPLAIN QUERY PLAN {sql}", params).fetchall()
        for *_, detail in rows:
            scanned = re.match(r"SCAN (\w+)", detail)
            if scanned and scanned[1] in tables:
                yield tables[scanned[1]]


@contextmanager
def planned() -> Iterator[Plans]:
    plans = Plans()
    with connection.execute_wrapper(plans):
        yield plans


def a_study_with_everything():
    """Pictures, training, gold items, a cap of the session; the study and its image."""
    study = factories.study(
        "pictures", contact="a@example.org", session_cap=100, gold_rate=0.5, training_pass=0.5
    )
    factories.consent_text(study)
    image = factories.image()
    image.sha256 = "0" * 64
    image.file.save("a.png", ContentFile(b"png"))
    task = factories.task(study, kind=TaskKind.DEPICTION, image_set=image.image_set, wording="What is here?")
    for page in range(1, 17):
        factories.page_unit(task, picture=image, page=page, texts=[f"{word} {page}" for word in "abcd"])
    for position, purpose in ((1, Purpose.TRAINING), (2, Purpose.GOLD)):
        unit = task.units.get(position=position)
        unit.slots.all().delete()
        unit.options.update(expected=[0, 1])
        type(unit).objects.filter(pk=unit.pk).update(purpose=purpose)
    return study, image


def others_at_work(study, *, units: int = 1000) -> None:
    """A task with so many units more; of each, one slot is open, one leased and one answered, so that the
    planner has something to choose between."""
    task = factories.task(study)
    image_set, group = factories.image_set(), factories.group()
    holder, answerer = (factories.enrolment(study, consented=True).annotator for _ in range(2))
    now = timezone.now()
    Image.objects.bulk_create(
        Image(image_set=image_set, group=group, index=number, width=8, height=8, reference=f"{number}.png")
        for number in range(2, units)
    )
    words = Attribute.objects.bulk_create(Attribute(text=f"word {number}") for number in range(units))
    made = Unit.objects.bulk_create(
        Unit(task=task, position=number, attribute=word) for number, word in enumerate(words, 1)
    )
    options = Option.objects.bulk_create(
        Option(unit=unit, attribute=unit.attribute, role=OptionRole.STIMULUS, position=1) for unit in made
    )
    leased = {"state": SlotState.LEASED, "annotator": holder, "leased_at": now, "lease_expires_at": now}
    states = ({}, leased, {"state": SlotState.FILLED, "annotator": answerer})
    slots = Slot.objects.bulk_create(
        Slot(
            study=study,
            unit=unit,
            index=index,
            stratum="any",
            queue=1000 + 3 * number + index,
            lease_key=uuid4() if index == 1 else None,
            **state,
        )
        for number, unit in enumerate(made)
        for index, state in enumerate(states)
    )
    responses = Response.objects.bulk_create(
        Response(
            unit=slot.unit,
            slot=slot,
            annotator=answerer,
            client_key=uuid4(),
            task_version=1,
            submitted_at=now,
        )
        for slot in slots[2::3]
    )
    Skip.objects.bulk_create(
        Skip(unit=unit, annotator=holder, client_key=uuid4(), reason="unclear", at=now) for unit in made
    )
    accounts = get_user_model().objects.bulk_create(
        get_user_model()(username=f"other{number}") for number in range(units)
    )
    people = Annotator.objects.bulk_create(
        Annotator(user=account, pseudonym=f"other-{account.pk}") for account in accounts
    )
    Enrolment.objects.bulk_create(Enrolment(study=study, annotator=who, status="qualified") for who in people)
    judgements = Judgement.objects.bulk_create(
        Judgement(response=response, option=option, value=5, position=1)
        for response, option in zip(responses, options, strict=True)
    )
    Box.objects.bulk_create(
        Box(judgement=each, x0=0, y0=0, x1=1, y1=1, image_width=8, image_height=8) for each in judgements
    )
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")


def answer(item, value: int = 1) -> dict:
    judgements = [
        {"option": one["id"], "value": 0, "position": one["position"], "boxes": []} for one in item["options"]
    ]
    chosen = 0 if value else -1  # the last one is none of the above
    judgements[chosen] |= {"value": 1, "boxes": [[1, 2, 30, 40]] if value else []}
    return {"unit": item["unit"], "client_key": item["client_key"], "answers": judgements, "active_ms": 900}


def test_no_statement_of_somebody_at_work_looks_through_a_table(client):
    study, image = a_study_with_everything()
    others_at_work(study)
    user = factories.user("amal")
    enrolment = factories.enrolment(study, who=factories.annotator(user=user), consented=True)
    Enrolment.objects.filter(pk=enrolment.pk).update(status=EnrolmentStatus.TRAINING)
    token = tokens.create(user=user, name="a program", scopes=("annotate",), by=user).secret
    client.force_login(user)

    def post(url: str, body: dict, **headers):
        return client.post(url, json.dumps(body), content_type="application/json", headers=headers)

    with planned() as plans:
        assert client.get("/studies/pictures/annotate/").status_code == 200
        have: list[str] = []
        for _ in range(4):  # training, gold, data
            reply = post(f"{ENDPOINTS}/items/", {"have": have, "wanted": 3}).json()
            for item in reply["items"]:
                for _ in range(2):  # the second time as a browser does that missed the acknowledgement
                    assert post(f"{ENDPOINTS}/answers/", answer(item)).status_code == 200
        item = post(f"{ENDPOINTS}/items/", {}).json()["items"][0]
        skipped = {"unit": item["unit"], "client_key": item["client_key"], "reason": "unclear"}
        assert post(f"{ENDPOINTS}/skips/", skipped).status_code == 200
        last = client.get(f"{ENDPOINTS}/last/").json()["answers"][0]["item"]
        assert post(f"{ENDPOINTS}/corrections/", answer(last, value=0)).status_code == 200
        assert client.get(f"{ENDPOINTS}/token/").status_code == 200
        assert b"".join(client.get(f"/images/{image.pk}/").streaming_content) == b"png"
        bearer = {"Authorization": f"Bearer {token}"}
        reply = post("/api/v1/studies/pictures/next", {"wanted": 1}, **bearer)
        assert reply.status_code == 200, reply.content
        # a late answer, to an item that went to somebody else meanwhile
        foreign = answer(item) | {"client_key": str(uuid4())}
        assert post(f"{ENDPOINTS}/answers/", foreign).status_code == 403

    verbs = {sql.split(None, 1)[0] for sql in plans.statements}
    assert {"SELECT", "INSERT", "UPDATE"} <= verbs
    for table in ("slot", "response", "judgement", "option", "unit", "image", "skip", "box"):
        assert any(f"annotation_{table}" in sql for sql in plans.statements), f"nothing asked for {table}"
    assert not plans.scans


def test_a_statement_without_an_index_is_seen():
    factories.attribute_unit(factories.task(factories.study()))
    with planned() as plans:
        list(Judgement.objects.filter(value=5))
        Response.objects.filter(active_ms=1).exists()
        list(Slot.objects.filter(pk=1))
    assert list(plans.scans.values()) == ["annotation_judgement", "annotation_response"]
