"""Score runs: one for the same inputs, claimed once, tried three times, out of date when answers change."""

from datetime import timedelta
from uuid import uuid4

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone

from annotation.core.leases import JobState
from annotation.models import Association, Response, Study
from metrics.depiction.data import read_depiction
from metrics.depiction.scores import measures
from metrics.models import Score, ScoreRun
from metrics.score_runs import queries, tasks
from metrics.score_runs import services as score_runs
from metrics.score_runs.tasks import enqueue
from tests import factories
from tests.metrics import planted_scores, pulled
from tests.metrics.cast import depiction_study

pytestmark = pytest.mark.django_db
WANTED = {"metric": "tendency", "variant": "corrected", "resamples": 100}


def fresh(study):
    return Study.objects.get(pk=study.pk)


def test_asking_twice_for_the_same_inputs_gives_the_same_run():
    study = depiction_study()
    first, second = (score_runs.request(study=study, **WANTED) for _ in range(2))
    assert first == second
    assert first.state == JobState.PENDING


def test_a_computed_run_has_its_scores_and_all_that_is_needed_to_repeat_it():
    study = depiction_study()
    run = score_runs.compute(run_id=score_runs.request(study=study, **WANTED).pk)
    assert (run.state, run.attempts, run.error, run.resamples, run.seed) == (JobState.DONE, 1, "", 100, 0)
    assert run.rule == "stereotypical: at least 2 stereotypical out-region votes in votes"
    assert run.code_version.startswith("visage-studies")
    by_group = queries.scores_by_group(run)
    ((group_id, scores),) = by_group.items()
    assert scores["l_stereo"].group_id == group_id
    assert scores["theta"].value == pytest.approx(5)
    assert scores["theta"].low <= 5 <= scores["theta"].high
    hat = factories.attribute("hat")
    run.scores.create(name="theta", group_id=group_id, attribute=hat, value=9, n=1)
    run.scores.create(name="theta", group_id=group_id, part="side: first", value=9, n=1)
    assert queries.scores_by_group(run) == by_group


def test_the_latest_run_is_stale_once_the_answers_have_changed_and_right_again_when_they_are_restored():
    study = depiction_study()
    assert queries.latest_run(study, "tendency", "corrected") == queries.LatestRun(run=None, stale=True)
    run = score_runs.compute(run_id=score_runs.request(study=study, **WANTED).pk)
    assert queries.latest_run(study, "tendency", "corrected") == queries.LatestRun(run=run, stale=False)
    assert queries.latest_run(study, "tendency", "published").run is None
    one = Response.objects.filter(unit__task__study=study).first()
    Response.objects.filter(pk=one.pk).update(withdrawn_at=timezone.now())
    assert queries.latest_run(study, "tendency", "corrected") == queries.LatestRun(run=run, stale=True)
    Response.objects.filter(pk=one.pk).update(withdrawn_at=None)
    assert queries.latest_run(study, "tendency", "corrected") == queries.LatestRun(run=run, stale=False)


def test_a_page_finds_the_newest_run_by_one_query_that_asks_nothing_of_the_answers(
    django_assert_num_queries,
):
    study = depiction_study()
    assert queries.newest_run(study, "tendency", "corrected") is None
    run = score_runs.compute(run_id=score_runs.request(study=study, **WANTED).pk)
    add_answer(study)
    with django_assert_num_queries(1) as asked:
        assert queries.newest_run(study, "tendency", "corrected") == run
    assert "annotation_response" not in asked[0]["sql"]
    assert queries.newest_run(study, "tendency", "published") is None
    with pytest.raises(ValueError, match="no variant 'odd'"):
        queries.newest_run(study, "tendency", "odd")


def test_a_run_is_stale_once_the_answers_or_the_formula_have_changed():
    study = depiction_study()
    run = score_runs.compute(run_id=score_runs.request(study=study, **WANTED).pk)
    assert not queries.is_stale(run)
    add_answer(study)
    assert queries.is_stale(run)
    run = score_runs.compute(run_id=score_runs.request(study=study, **WANTED).pk)
    run.version = 99
    assert queries.is_stale(run)


def test_a_run_that_is_right_again_is_the_newest_once_it_was_asked_for():
    study = depiction_study()
    old = score_runs.compute(run_id=score_runs.request(study=study, **WANTED).pk)
    one = Response.objects.filter(unit__task__study=study).first()
    Response.objects.filter(pk=one.pk).update(withdrawn_at=timezone.now())
    new = score_runs.compute(run_id=score_runs.request(study=study, **WANTED).pk)
    assert queries.newest_run(study, "tendency", "corrected") == new
    Response.objects.filter(pk=one.pk).update(withdrawn_at=None)
    assert queries.is_stale(new)
    assert score_runs.request(study=study, **WANTED) == old
    assert queries.newest_run(study, "tendency", "corrected") == old
    assert not queries.is_stale(queries.newest_run(study, "tendency", "corrected"))


def test_a_run_that_waits_is_not_confirmed_before_it_has_scores():
    study = depiction_study()
    waiting = score_runs.request(study=study, **WANTED)
    one = Response.objects.filter(unit__task__study=study).first()
    Response.objects.filter(pk=one.pk).update(withdrawn_at=timezone.now())
    score_runs.compute(run_id=score_runs.request(study=study, **WANTED).pk)
    Response.objects.filter(pk=one.pk).update(withdrawn_at=None)
    again = score_runs.request(study=study, **WANTED)
    assert (again, again.confirmed_at) == (waiting, None)


def test_intervals_are_of_a_run_that_has_some():
    study = depiction_study()
    run = score_runs.compute(run_id=score_runs.request(study=study, **WANTED).pk)
    without = score_runs.request(study=study, **WANTED | {"resamples": 0})
    score_runs.compute(run_id=without.pk)
    assert (run.intervals, without.intervals, without.digest) == ("bootstrap", "none", run.digest)
    assert queries.run_with_intervals(study, "tendency", "corrected", run.digest) == run


def test_a_failed_run_is_told_of_until_the_same_scores_are_there():
    study, lead = depiction_study(), factories.user(lead=True)
    failed = score_runs.request(study=study, **WANTED)
    before = timezone.now() - timedelta(hours=1)
    ScoreRun.objects.filter(pk=failed.pk).update(state=JobState.FAILED, error="no", finished_at=before)
    score_runs.compute(run_id=score_runs.request(study=study, **WANTED | {"variant": "published"}).pk)
    other = score_runs.compute(run_id=score_runs.request(study=study, **WANTED | {"seed": 5}).pk)
    ScoreRun.objects.filter(pk=other.pk).update(parameters='{"odd": "1"}')
    assert queries.failed_runs(lead, study) == [failed]
    score_runs.compute(run_id=score_runs.request(study=study, **WANTED | {"seed": 5}).pk)
    assert queries.failed_runs(lead, study) == []


def test_five_failed_runs_are_told_of_the_newest_first():
    study, now = factories.study(), timezone.now()
    failed = [
        planted_scores.run(
            study, "agreement", state=JobState.FAILED, error="no", finished_at=now - timedelta(hours=n)
        )
        for n in range(6)
    ]
    for number, run in enumerate(failed):
        run.parameters = f'{{"by": "{number}"}}'
        run.save()
    assert queries.failed_runs(factories.user(lead=True), study) == failed[:5]


def test_the_history_of_a_group_is_of_its_finished_runs_the_newest_first(monkeypatch):
    study, group, now = factories.study(), factories.group(), timezone.now()
    new = planted_scores.run(study, "tendency", finished_at=now)
    old = planted_scores.run(study, "tendency", finished_at=now - timedelta(hours=1))
    planted_scores.run(study, "tendency", variant="published")
    planted_scores.run(study, "tendency", state=JobState.PENDING, finished_at=None)
    planted_scores.run(study, "offensiveness")
    planted_scores.run(factories.study("other"), "tendency")
    for run, value in ((new, 2.0), (old, 1.0)):
        planted_scores.score(run, "theta", value, group=group)
        planted_scores.score(run, "theta", 3.0, group=factories.group("Nepali"))

    def history():
        found = queries.score_history(study, group, metric="tendency", names=["theta"], variant="corrected")
        return [(one.run, one.scores[0].value) for one in found]

    assert history() == [(new, 2.0), (old, 1.0)]
    monkeypatch.setattr(queries, "MAX_RUNS", 1)
    assert history() == [(new, 2.0)]


def add_answer(study):
    unit = factories.page_unit(study.tasks.get(), picture=factories.image(index=8))
    factories.response(unit)


def revise(study):
    first = Response.objects.filter(unit__task__study=study).first()
    Response.objects.filter(pk=first.pk).update(current=False)
    Response.objects.create(
        unit=first.unit,
        slot=first.slot,
        client_key="1" * 32,
        task_version=1,
        revision=2,
        annotator=first.annotator,
    )


def withdraw_two(study):
    """Same number and same sum of ids as withdrawing another two would leave."""
    ids = sorted(Response.objects.filter(unit__task__study=study).values_list("pk", flat=True))
    Response.objects.filter(pk__in=[ids[0], ids[3]]).update(withdrawn_at=timezone.now())


def set_study(**fields):
    return lambda study: Study.objects.filter(pk=study.pk).update(**fields)


def one_vote_less(study):
    Association.objects.filter(attribute__text="hat").update(out_stereotypical=1)


@pytest.mark.parametrize(
    "change",
    [
        add_answer,
        revise,
        withdraw_two,
        one_vote_less,
        set_study(stereotype_threshold=3),
        set_study(stereotype_pool="in"),
        set_study(stereotype_source=None),
    ],
)
def test_every_change_of_the_inputs_asks_for_a_new_run(change):
    study = depiction_study()
    before = score_runs.request(study=study, **WANTED)
    change(study)
    assert score_runs.request(study=fresh(study), **WANTED) != before


def test_two_withdrawals_are_not_mistaken_for_two_others_with_the_same_sum():
    study = depiction_study()
    ids = sorted(Response.objects.filter(unit__task__study=study).values_list("pk", flat=True))
    assert ids[0] + ids[3] == ids[1] + ids[2]
    runs = []
    for pair in ((ids[0], ids[3]), (ids[1], ids[2])):
        Response.objects.filter(pk__in=ids).update(withdrawn_at=None)
        Response.objects.filter(pk__in=pair).update(withdrawn_at=timezone.now())
        runs.append(score_runs.request(study=study, **WANTED))
    assert runs[0] != runs[1]


def test_a_new_rating_of_a_stereotype_changes_offensiveness_only():
    study = depiction_study()
    wanted = WANTED | {"metric": "offensiveness"}
    tendency, offensive = score_runs.request(study=study, **WANTED), score_runs.request(study=study, **wanted)
    Association.objects.filter(attribute__text="hat").update(offensiveness=[4, 4, 4])
    assert score_runs.request(study=study, **WANTED) == tendency
    rated = score_runs.request(study=study, **wanted)
    assert rated != offensive
    Association.objects.filter(attribute__text="hat").update(offensiveness_mean=2.5)
    assert score_runs.request(study=study, **wanted) != rated


def test_answers_to_another_task_of_the_study_change_nothing():
    study = depiction_study()
    before = score_runs.request(study=study, **WANTED)
    factories.response(factories.attribute_unit(factories.task(study)))
    assert score_runs.request(study=study, **WANTED) == before


def test_a_finished_run_is_not_computed_again():
    run = score_runs.request(study=depiction_study(), **WANTED)
    score_runs.compute(run_id=run.pk)
    assert score_runs.compute(run_id=run.pk) is None
    assert Score.objects.filter(run=run).count() == 3


def test_a_worker_that_overslept_its_lease_stores_nothing(monkeypatch):
    run = score_runs.request(study=depiction_study(), **WANTED)
    evaluate = score_runs.evaluate

    def taken_over_meanwhile(**arguments):
        ScoreRun.objects.filter(pk=run.pk).update(claim=uuid4())
        return evaluate(**arguments)

    monkeypatch.setattr(score_runs, "evaluate", taken_over_meanwhile)
    assert score_runs.compute(run_id=run.pk) is None
    assert not Score.objects.exists()
    assert ScoreRun.objects.get().state == JobState.CLAIMED


def test_a_run_that_fails_is_tried_three_times_and_keeps_the_error(monkeypatch, caplog):
    run = score_runs.request(study=depiction_study(), **WANTED)

    def broken(**arguments):
        raise ZeroDivisionError("planted")

    monkeypatch.setattr(score_runs, "evaluate", broken)
    states = [score_runs.compute(run_id=run.pk).state for _ in range(3)]
    assert states == [JobState.PENDING, JobState.PENDING, JobState.FAILED]
    assert score_runs.compute(run_id=run.pk) is None
    run.refresh_from_db()
    assert run.error == "ZeroDivisionError: planted"
    assert "planted" in caplog.text
    score_runs.request(study=run.study, **WANTED | {"seed": 5})
    assert score_runs.compute_pending() == 0, "that failed, too"
    monkeypatch.undo()
    assert score_runs.retry(run_id=run.pk)
    run.refresh_from_db()
    assert (run.state, run.error, run.finished_at) == (JobState.PENDING, "", None)
    again = score_runs.compute(run_id=run.pk)
    assert (again.state, again.attempts) == (JobState.DONE, 1), "it has three tries again"


def test_a_run_whose_embeddings_are_gone_is_tried_once_and_is_no_error_of_the_program(caplog):
    study, embedded = pulled.pull_study()
    run = score_runs.request(study=study, metric="pull", variant="corrected", resamples=100)
    embedded.delete()
    assert score_runs.compute(run_id=run.pk).state == JobState.FAILED
    run.refresh_from_db()
    assert run.attempts == 1
    assert "manage.py embed" in run.error
    assert not [record for record in caplog.records if record.levelname == "ERROR"]


def test_answers_that_come_in_before_the_computing_are_in_the_digest():
    study = depiction_study()
    asked = score_runs.request(study=study, **WANTED)
    add_answer(study)
    run = score_runs.compute(run_id=asked.pk)
    assert run.digest != asked.digest
    assert not queries.latest_run(study, "tendency", "corrected").stale


def test_a_run_overtaken_by_one_for_newer_answers_gives_way():
    study = depiction_study()
    old = score_runs.request(study=study, **WANTED)
    add_answer(study)
    new = score_runs.compute(run_id=score_runs.request(study=study, **WANTED).pk)
    assert score_runs.compute(run_id=old.pk) is None
    assert list(ScoreRun.objects.all()) == [new]


def test_a_metric_without_intervals_is_not_resampled():
    run = score_runs.request(study=depiction_study(), metric="salience_seegull", variant="published")
    assert run.resamples == 0


def test_infinity_is_kept_as_a_value():
    study = depiction_study()
    Response.objects.filter(judgements__option__attribute__text="poor", judgements__value=1).update(
        withdrawn_at=timezone.now()
    )
    run = score_runs.compute(run_id=score_runs.request(study=study, **WANTED).pk)
    theta = Score.objects.get(run=run, name="theta")
    assert (theta.value, theta.high) == (float("inf"), float("inf"))


@pytest.mark.parametrize(
    ("fields", "constraint"),
    [
        ({"value": 1, "low": 2, "high": 3, "n": 1}, "score_low_value_high"),
        ({"value": 1, "low": 0, "high": 0.5, "n": 1}, "score_low_value_high"),
        ({"value": 1, "low": 0, "high": None, "n": 1}, "score_low_value_high"),
        ({"value": None, "low": 0, "high": 1, "n": 1}, "score_low_value_high"),
        ({"value": 1, "n": 1, "k": 2}, "score_k_at_most_n"),
        ({"value": 1, "n": 1, "name": ""}, "score_has_name"),
    ],
)
def test_scores_that_cannot_be_are_refused_by_the_database(fields, constraint):
    run = score_runs.request(study=depiction_study(), **WANTED)
    with pytest.raises(IntegrityError, match=constraint), transaction.atomic():
        Score.objects.create(run=run, **({"name": "theta"} | fields))
    Score.objects.create(run=run, name="theta", value=1, low=1, high=1, n=2, k=2)
    Score.objects.create(run=run, name="l_stereo", value=None, n=0)


@pytest.mark.parametrize("of", ["whole", "group", "attribute", "both"])
def test_a_run_has_each_score_once(of):
    run = score_runs.request(study=depiction_study(), **WANTED)
    fields = {"run": run, "name": "x", "value": 1, "n": 1}
    if of in {"group", "both"}:
        fields["group"] = factories.group()
    if of in {"attribute", "both"}:
        fields["attribute"] = factories.attribute("hat")
    Score.objects.create(**fields)
    Score.objects.create(**(fields | {"name": "y"}))
    with pytest.raises(IntegrityError), transaction.atomic():
        Score.objects.create(**fields)


@pytest.mark.parametrize(
    ("change", "constraint"),
    [
        ({"state": "claimed"}, "scorerun_lease_iff_claimed"),
        ({"lease_expires_at": timezone.now()}, "scorerun_lease_iff_claimed"),
        ({"state": "done"}, "scorerun_finished_iff_done_or_failed"),
        ({"state": "failed", "finished_at": timezone.now()}, "scorerun_failed_says_why"),
        ({"state": "odd"}, "scorerun_state_known"),
        ({"variant": "odd"}, "scorerun_variant_known"),
        ({"version": 0}, "scorerun_version_from_one"),
        ({"digest": "odd"}, "scorerun_digest_is_sha256"),
    ],
)
def test_runs_that_cannot_be_are_refused_by_the_database(change, constraint):
    run = score_runs.request(study=depiction_study(), **WANTED)
    with pytest.raises(IntegrityError, match=constraint), transaction.atomic():
        ScoreRun.objects.filter(pk=run.pk).update(**change)


def test_a_worker_is_rung_only_where_there_is_a_broker(
    settings, monkeypatch, django_capture_on_commit_callbacks
):
    run = score_runs.request(study=depiction_study(), **WANTED)
    rung = []
    monkeypatch.setattr(tasks.compute_score_run, "delay", rung.append)
    with django_capture_on_commit_callbacks(execute=True):
        enqueue(run)
    assert rung == []
    settings.CELERY_BROKER_URL = "redis://127.0.0.1:1/0"
    with django_capture_on_commit_callbacks(execute=True):
        enqueue(run)
        assert rung == [], "not before the commit"
    assert rung == [run.pk]
    tasks.compute_score_run(run.pk)
    run.refresh_from_db()
    assert run.state == JobState.DONE
    with django_capture_on_commit_callbacks(execute=True):
        enqueue(run)
    assert rung == [run.pk]


def test_a_broker_that_is_away_fails_nobody_who_looks_at_scores(
    settings, monkeypatch, caplog, django_capture_on_commit_callbacks
):
    def away(run_id):
        raise ConnectionError("no broker")

    settings.CELERY_BROKER_URL = "redis://127.0.0.1:1/0"
    monkeypatch.setattr(tasks.compute_score_run, "delay", away)
    with django_capture_on_commit_callbacks(execute=True):
        enqueue(score_runs.request(study=depiction_study(), **WANTED))
    assert "no broker" in caplog.text


def test_a_message_that_was_lost_is_sent_again_and_only_then(monkeypatch):
    study = depiction_study()
    metrics = ("tendency", "offensiveness", "agreement", "visual_nature")
    waits, lapsed, held, done = (
        score_runs.request(study=study, **WANTED | {"metric": metric}) for metric in metrics
    )
    score_runs.compute(run_id=done.pk)
    for run, seconds in ((lapsed, -1), (held, 60)):
        ScoreRun.objects.filter(pk=run.pk).update(
            state=JobState.CLAIMED, attempts=1, lease_expires_at=timezone.now() + timedelta(seconds=seconds)
        )
    rung = []
    monkeypatch.setattr(tasks.compute_score_run, "delay", rung.append)
    monkeypatch.setattr("annotation.core.broker.message_count", lambda queue: 1)
    assert (tasks.sweep(), rung) == (0, []), "a message is still on its way"
    monkeypatch.setattr("annotation.core.broker.message_count", lambda queue: 0)
    assert tasks.sweep() == 2
    assert rung == [waits.pk, lapsed.pk]


def test_a_message_for_one_run_computes_those_that_wait_for_the_same_answers_from_one_read(monkeypatch):
    study = depiction_study()
    metrics = ("tendency", "offensiveness", "agreement")
    runs = [score_runs.request(study=study, **WANTED | {"metric": metric}) for metric in metrics]
    other = score_runs.request(study=study, **WANTED | {"resamples": 200})
    seeded = score_runs.request(study=study, **WANTED | {"seed": 5})
    elsewhere = score_runs.request(study=factories.study(name="elsewhere"), **WANTED)
    read = []
    monkeypatch.setattr(
        measures, "read_depiction", lambda *args, **kw: read.append(1) or read_depiction(*args, **kw)
    )
    tasks.compute_score_run(runs[0].pk)
    assert {ScoreRun.objects.get(pk=run.pk).state for run in runs} == {JobState.DONE}
    assert len(read) == 1
    assert {ScoreRun.objects.get(pk=run.pk).state for run in (other, seeded, elsewhere)} == {JobState.PENDING}
    # the messages of the others come late, and find nothing to do
    tasks.compute_score_run(runs[1].pk)
    assert ScoreRun.objects.get(pk=runs[1].pk).attempts == 1


def test_a_run_that_is_done_calls_nobody_who_waits_beside_it():
    study = depiction_study()
    done = score_runs.compute(run_id=score_runs.request(study=study, **WANTED).pk)
    waiting = score_runs.request(study=study, **WANTED | {"metric": "offensiveness"})
    assert score_runs.compute_with_waiting(run_id=done.pk) is None
    assert ScoreRun.objects.get(pk=waiting.pk).state == JobState.PENDING
