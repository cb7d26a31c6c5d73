"""A release is of one moment, and keeps nobody from answering while it is made."""

import threading

import pytest
from django.db import connection, transaction

from annotation.core.snapshots import snapshot
from annotation.models import Response, Study
from annotation.participation.services import withdrawals
from annotation.releases.request import responses
from annotation.releases.services import bundle
from tests import factories
from tests.annotation.releases.world import ASIAN_WOMAN, answered, people, released, rows
from tests.waiting import PATIENCE_SECONDS

pytestmark = pytest.mark.django_db(transaction=True)


def elsewhere(act) -> None:
    """Do something over a connection of its own, to the end."""
    failed = []

    def acting():
        try:
            act()
        except BaseException as error:  # what a thread raises is lost otherwise
            failed.append(error)
        finally:
            connection.close()

    thread = threading.Thread(target=acting)
    thread.start()
    thread.join(PATIENCE_SECONDS)
    assert not thread.is_alive(), "it was kept waiting"
    assert not failed, failed


def test_what_is_written_meanwhile_is_not_seen_and_does_not_wait():
    who = people((ASIAN_WOMAN, 6))
    study = answered(who[:5], units=2, strata=("any",) * 6)
    with snapshot():
        assert responses(study).count() == 10
        unit = study.tasks.get().units.first()
        elsewhere(lambda: factories.response(unit, values=[5], who=who[5]))
        assert responses(study).count() == 10
    assert responses(study).count() == 11
    # and writing goes on as before
    with transaction.atomic():
        Study.objects.filter(pk=study.pk).update(title="after")


def test_whoever_withdraws_while_tables_are_written_is_not_in_the_release(tmp_path, monkeypatch):
    who = people((ASIAN_WOMAN, 6))
    study = answered(who, units=3)
    for one in who:
        factories.enrolment(study, who=one)
    leaving, people_of = [who[0]], bundle.people

    def and_then_somebody_leaves(study, wanted):
        found = people_of(study, wanted)
        if leaving:
            one = leaving.pop()
            elsewhere(lambda: withdrawals.withdraw(annotator=one, study=study, by=None))
        return found

    monkeypatch.setattr(bundle, "people", and_then_somebody_leaves)
    folder = released(study, tmp_path / "r")
    assert len(rows(folder, "annotators.csv")) == 5
    assert len(rows(folder, "annotations.csv")) == 15
    assert Response.objects.filter(withdrawn_at__isnull=False).count() == 3
