"""How the work of a study stands, as it is counted for its first page."""

from datetime import timedelta

import pytest
from django.utils import timezone

from annotation.models import Enrolment, EnrolmentStatus, Response, Slot, SlotState, StudyStatus
from metrics.dashboards.queries import progress
from tests import factories
from tests.metrics import cast

pytestmark = pytest.mark.django_db


def test_progress_is_counted_by_stratum_and_state():
    study = factories.study()
    task = factories.task(study, strata=("origin: Asia", "any"))
    units = [factories.attribute_unit(task) for _ in range(3)]
    factories.response(units[0])
    now = timezone.now()
    leased = units[1].slots.get(stratum="any")
    Slot.objects.filter(pk=leased.pk).update(
        state=SlotState.LEASED,
        annotator=factories.annotator(),
        lease_key="12345678-1234-5678-1234-567812345678",
        leased_at=now,
        lease_expires_at=now,
    )
    found = progress.count_progress(study, now=now)
    strata = {part.name: (part.filled, part.leased, part.open) for part in found.tasks[0].strata}
    assert strata == {"origin: Asia": (1, 0, 2), "any": (0, 1, 2)}
    assert (found.total.filled, found.total.leased, found.total.open, found.total.wanted) == (1, 1, 4, 6)
    assert found.total.percent == pytest.approx(100 / 6)


def test_pace_counts_what_fills_the_study_and_says_how_long_it_still_takes():
    study = factories.study()
    task = factories.task(study)
    now = timezone.now()
    people = [factories.annotator() for _ in range(2)]
    units = [factories.attribute_unit(task) for _ in range(3)]
    ages = [timedelta(minutes=5), timedelta(minutes=50), timedelta(hours=25)]
    for unit, who, age in zip(units, [people[0], people[1], people[1]], ages, strict=True):
        factories.response(unit, who=who, started_at=now - age, submitted_at=now - age)
    withdrawn = factories.response(units[0], who=people[1])
    Response.objects.filter(pk=withdrawn.pk).update(withdrawn_at=now)
    for who in people:
        factories.enrolment(study, who=who)
    Enrolment.objects.filter(annotator=people[1]).update(status=EnrolmentStatus.WITHDRAWN)
    pace = progress.count_progress(study, now=now).pace
    assert (pace.timed, pace.last_hour, pace.withdrawn, pace.surplus) == (3, 2, 1, 0)
    assert (pace.at_work, pace.enrolled) == (2, 1)
    # 9 places, of which the withdrawn answer still fills one
    assert [(rate.hours, rate.an_hour) for rate in pace.rates] == [(1, 2), (24, 2 / 24)]
    assert [rate.hours_left for rate in pace.rates] == pytest.approx([5 / 2, 5 * 24 / 2])
    assert sum(number for _, number in pace.days) == 3
    assert len(pace.days) == 14
    tomorrow = progress.count_progress(study, now=now + timedelta(days=1)).pace
    assert tomorrow.rates[0].hours_left is None
    for hours, periods in ((142, 2), (143, 3)):  # then the first answer is a week old
        later = progress.count_progress(study, now=now + timedelta(hours=hours)).pace
        assert len(later.rates) == periods


def test_answers_without_a_time_have_no_pace():
    study = factories.study(status=StudyStatus.CLOSED)
    unit = factories.attribute_unit(factories.task(study))
    factories.response(unit, started_at=None, submitted_at=None)
    assert progress.count_progress(study, now=timezone.now()).pace.timed == 0
    Response.objects.update(slot=None)
    pace = progress.count_progress(study, now=timezone.now()).pace
    assert (pace.surplus, pace.withdrawn) == (1, 0)


def test_a_count_is_made_again_only_when_the_last_is_old_enough_for_its_cost(monkeypatch):
    study = cast.visual_study({"hat": [5]})
    now = timezone.now()
    clock = iter([0.0, 3.0, 10.0, 13.0])
    monkeypatch.setattr("metrics.dashboards.queries.progress.time.monotonic", lambda: next(clock))
    first = progress.recent_progress(study, now=now)
    assert progress.recent_progress(study, now=now + timedelta(seconds=59)) == first
    assert progress.recent_progress(study, now=now + timedelta(seconds=61)).counted_at != first.counted_at


@pytest.mark.parametrize(("asians", "said"), [(0, ["any", "origin: Asia"]), (1, ["any"])])
def test_strata_that_nobody_can_fill_are_pointed_out(asians, said):
    study = factories.study()
    factories.attribute_unit(factories.task(study, strata=("origin: Asia", "any", "any")))
    for _ in range(asians):
        factories.enrolment(study, who=factories.annotator(profile={"origin": "Asia"}))
    found = progress.count_progress(study, now=timezone.now()).alerts
    assert [(one.name, one.k) for one in found] == [(name, asians) for name in said]
    study.status = StudyStatus.CLOSED
    assert progress.count_progress(study, now=timezone.now()).alerts == ()


def test_a_study_is_complete_once_every_slot_is_filled_if_it_has_any():
    filled = [
        progress.Progress((), progress.SlotCounts("all", *counts), None, (), timezone.now()).complete
        for counts in ((2, 0, 0), (2, 0, 1), (2, 1, 0), (0, 0, 0))
    ]
    assert filled == [True, False, False, False]
