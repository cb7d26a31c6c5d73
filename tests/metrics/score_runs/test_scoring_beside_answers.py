"""Scores are of one moment of the study, and keep nobody from answering while they are computed."""

import threading

import pytest
from django.db import connection, transaction

from annotation.core.leases import JobState
from annotation.models import Response
from metrics.score_runs import services as score_runs
from metrics.score_runs.evaluation import evaluate
from tests.metrics.cast import depiction_study
from tests.waiting import PATIENCE_SECONDS

pytestmark = pytest.mark.django_db(transaction=True)


def test_an_answer_that_comes_while_a_score_is_computed_does_not_wait_and_is_not_in_it(monkeypatch):
    study = depiction_study()
    run = score_runs.request(study=study, metric="tendency", variant="corrected", resamples=100)
    counted = Response.objects.filter(unit__task__study=study).count()
    seen, failed = [], []

    def somebody_withdraws():
        try:
            with transaction.atomic():
                Response.objects.filter(unit__task__study=study).delete()
        except BaseException as error:  # what a thread raises is lost otherwise
            failed.append(error)
        finally:
            connection.close()

    def withdrawing(**asked):
        seen.append(Response.objects.filter(unit__task__study=study).count())
        other = threading.Thread(target=somebody_withdraws)
        other.start()
        other.join(PATIENCE_SECONDS)
        assert not other.is_alive(), "it was kept waiting"
        seen.append(Response.objects.filter(unit__task__study=study).count())
        return evaluate(**asked)

    monkeypatch.setattr(score_runs, "evaluate", withdrawing)
    done = score_runs.compute(run_id=run.pk)
    assert not failed
    assert seen == [counted, counted]
    assert (done.state, done.error) == (JobState.DONE, "")
