"""What is done to one team's own changes no row of other teams that have the same, in the same state."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from django.apps import apps
from django.contrib.sessions.backends.db import SessionStore
from django.utils import timezone
from django_otp.plugins.otp_totp.models import TOTPDevice

from annotation.accounts.services import accounts, erasure, merging, second_factor
from annotation.annotate.services import responses
from annotation.annotate.services.answer_rules import Answer
from annotation.assignment import lease_keys
from annotation.assignment.services import slots
from annotation.catalogue import services as catalogue
from annotation.exports.services import jobs as exports
from annotation.imports.services import jobs as imports
from annotation.models import (
    Delivery,
    Enrolment,
    EnrolmentStatus,
    ExportJob,
    Invitation,
    ProfileAnswer,
    Skip,
    Study,
    StudyStatus,
    TaskKind,
    Webhook,
)
from annotation.participation.services import annotators, enrolments, invitations, withdrawals
from annotation.participation.services.annotators import ProfileEntry
from annotation.setup import services as setup
from annotation.studies.services import studies
from annotation.webhooks.services import deliveries, subscriptions
from generation.jobs.services import claims
from generation.models import Job, Run, RunState
from generation.runs import services as runs
from metrics.candidates.services import striking
from metrics.embedding_tests import services as embedding_tests
from metrics.models import ScoreRun
from metrics.score_runs import services as score_runs
from tests import factories
from tests.two_teams import Team, stored_rows

pytestmark = pytest.mark.django_db
Step = Callable[[Team, Any], Any]
"""Of a team, by an admin."""

NOW = timezone.now()
OTHER_PROFILE = {"gender": ProfileEntry("man")}


@dataclass(frozen=True)
class Act:
    """What somebody does; `after` steps that bring each team into the same state."""

    does: Step
    after: tuple[Step, ...] = ()


def state(model, name: str, **values) -> Step:
    """A row of each team as it is, but for `values`."""
    return lambda team, by: model.objects.filter(pk=getattr(team, name).pk).update(**values)


def with_account(team, by):
    team.account = factories.user(lead=True)
    team.study.leads.add(team.account)
    session = SessionStore()
    session["_auth_user_id"] = str(team.account.pk)
    session.save()


def with_second_factor(team, by):
    TOTPDevice.objects.create(user=team.person, name="code", key="00" * 20)
    team.codes = second_factor.new_codes(user=team.person)


def leasing(team, by):
    for _ in range(3):
        factories.attribute_unit(team.task)
    team.leased = slots.lease_next(enrolment=team.enrolment)
    assert team.leased


def skipped(team, by):
    unit = factories.attribute_unit(team.task)
    key = lease_keys.issue(annotator_id=team.annotator.pk, unit_id=unit.pk)
    Skip.objects.create(unit=unit, annotator=team.annotator, client_key=key, reason="unclear", at=NOW)


def with_profile(team, by):
    ProfileAnswer.objects.create(annotator=team.annotator, field="gender", value="woman")


def with_a_twin(team, by):
    team.twin = factories.annotator(user=factories.user(), profile={"gender": "woman"})
    factories.enrolment(team.study, who=team.twin, consented=True)
    factories.response(team.unit, who=team.twin)


def invited(team, by):
    """A guest, who came by the invitation."""
    team.guest = annotators.newcomer()
    Enrolment.objects.create(
        annotator=team.guest, study=team.study, status=EnrolmentStatus.INVITED, invitation=team.invitation
    )
    Invitation.objects.filter(pk=team.invitation.pk).update(uses=1)


def came_by_invitation(team, by):
    Enrolment.objects.filter(pk=team.enrolment.pk).update(invitation=team.invitation)


def draft(team, by):
    """With images still to be chosen."""
    team.study = factories.study(status=StudyStatus.DRAFT, leads=[team.lead])
    factories.task(team.study, kind=TaskKind.DEPICTION)


def setting_up(team, by):
    setup.save(user=team.lead, name="mine", document={"study": {"name": "mine"}})


def failed_job(team, by):
    Job.objects.create(run=team.run, image=team.image, state="failed", error="no", attempts=3)
    Job.objects.create(run=team.run, image=factories.image(image_set=team.image.image_set, index=2))


def all_failed(team, by):
    team.run.jobs.exclude(state="failed").delete()


def nothing_made(team, by):
    team.run.captions.all().delete()
    Job.objects.create(run=team.run, image=team.image)


def struck(team, by):
    striking.strike(candidates=[team.candidate], by=by)


def answer(team):
    return {
        "enrolment": team.enrolment,
        "unit_id": team.leased.unit_id,
        "client_key": team.leased.lease_key,
        "answers": [
            # the last of a page is "none of the above"
            Answer(option_id=option.pk, value=int(option.attribute_id is None), position=option.position)
            for option in team.leased.unit.options.all()
        ],
    }


export_failed = state(ExportJob, "export", state="failed", error="no", finished_at=NOW)
sent = state(Delivery, "message", state="done", status=200, finished_at=NOW)
off = state(Webhook, "webhook", disabled_at=NOW, disabled_why="no")
resting = state(Webhook, "webhook", rests_until=NOW, failing_since=NOW)
finished = state(Enrolment, "enrolment", status=EnrolmentStatus.FINISHED)
blocked = state(Enrolment, "enrolment", status=EnrolmentStatus.BLOCKED)
paused = state(Study, "study", status=StudyStatus.PAUSED)
running = state(Run, "run", state=RunState.RUNNING, started_at=NOW)
done = state(Run, "run", state=RunState.DONE, started_at=NOW, finished_at=NOW)
run_paused = state(Run, "run", state=RunState.PAUSED, started_at=NOW, error="no")
score_failed = state(ScoreRun, "score_run", state="failed", error="no", finished_at=NOW)

ACTS = {
    "accounts": {
        "make an admin": Act(lambda team, by: accounts.set_admin(user=team.lead, on=True, by=by)),
        "let set up studies": Act(
            lambda team, by: accounts.set_may_create_studies(user=team.lead, on=True, by=by)
        ),
        "make a lead": Act(
            lambda team, by: accounts.set_lead(user=team.other, study=team.study, on=True, by=by),
            after=(lambda team, by: setattr(team, "other", factories.user()),),
        ),
        "unmake a lead": Act(
            lambda team, by: accounts.set_lead(user=team.lead, study=team.study, on=False, by=by)
        ),
        "switch off": Act(
            lambda team, by: accounts.set_active(user=team.person, on=False, by=by), after=(leasing,)
        ),
        "end sessions": Act(
            lambda team, by: accounts.end_sessions_and_tokens(user=team.account), after=(with_account,)
        ),
        "use a recovery code": Act(
            lambda team, by: second_factor.verify(user=team.person, code=team.codes[0]),
            after=(with_second_factor,),
        ),
        "make recovery codes": Act(
            lambda team, by: second_factor.new_codes(user=team.person), after=(with_second_factor,)
        ),
        "remove a second factor": Act(
            lambda team, by: accounts.remove_second_factor(user=team.person, by=by),
            after=(with_second_factor,),
        ),
        "block everywhere": Act(
            lambda team, by: accounts.block_everywhere(annotator=team.annotator, by=by), after=(leasing,)
        ),
        "release everywhere": Act(
            lambda team, by: accounts.release_everywhere(annotator=team.annotator, by=by), after=(leasing,)
        ),
        "erase a person": Act(
            lambda team, by: erasure.erase(annotator=team.annotator, user=team.person, by=by),
            after=(with_second_factor, with_profile, skipped, leasing, came_by_invitation),
        ),
        "erase an account": Act(
            lambda team, by: erasure.erase(annotator=None, user=team.account, by=by), after=(with_account,)
        ),
        "merge": Act(
            lambda team, by: merging.merge(kept=team.annotator, duplicate=team.twin, by=by),
            after=(with_a_twin, leasing),
        ),
    },
    "at work": {
        "submit": Act(lambda team, by: responses.submit(**answer(team)), after=(leasing,)),
        "skip": Act(
            lambda team, by: responses.skip(
                **{key: value for key, value in answer(team).items() if key != "answers"}, reason="unclear"
            ),
            after=(leasing,),
        ),
        "lease": Act(
            lambda team, by: slots.lease(enrolment=team.enrolment, wanted=3),
            after=(leasing,),
        ),
        "release": Act(
            lambda team, by: enrolments.release(enrolment=team.enrolment, by=by), after=(leasing,)
        ),
    },
    "taking part": {
        "agree": Act(
            lambda team, by: annotators.agree(
                user=team.guest.user, study=team.study, text_id=team.study.consent_texts.get().pk
            ),
            after=(invited,),
        ),
        "decline": Act(
            lambda team, by: annotators.decline(annotator=team.guest, study=team.study), after=(invited,)
        ),
        "tell about oneself": Act(
            lambda team, by: annotators.save_profile(
                annotator=team.annotator, entries={"gender": ProfileEntry("man")}
            ),
            after=(with_profile,),
        ),
        "stop": Act(lambda team, by: withdrawals.stop(annotator=team.annotator, study=team.study)),
        "come back": Act(
            lambda team, by: withdrawals.come_back(annotator=team.annotator, study=team.study),
            after=(finished,),
        ),
        "withdraw": Act(
            lambda team, by: withdrawals.withdraw(annotator=team.annotator, study=team.study, by=by),
            after=(with_profile, skipped, leasing),
        ),
        "block": Act(lambda team, by: enrolments.block(enrolment=team.enrolment, by=by), after=(leasing,)),
        "unblock": Act(
            lambda team, by: enrolments.unblock(enrolment=team.enrolment, by=by), after=(blocked,)
        ),
        "revoke an invitation": Act(lambda team, by: invitations.revoke(invitation=team.invitation, by=by)),
        "follow an invitation": Act(
            lambda team, by: invitations.accept(code=team.invitation.code, user=factories.user())
        ),
    },
    "studies": {
        "open": Act(
            lambda team, by: studies.change_status(study=team.study, to=StudyStatus.OPEN, by=by),
            after=(paused,),
        ),
        "pause": Act(lambda team, by: studies.change_status(study=team.study, to=StudyStatus.PAUSED, by=by)),
        "close": Act(lambda team, by: studies.change_status(study=team.study, to=StudyStatus.CLOSED, by=by)),
        "show images": Act(
            lambda team, by: studies.attach_image_set(
                study=team.study, image_set=team.image.image_set, by=by
            ),
            after=(draft,),
        ),
        "save what is set up": Act(
            lambda team, by: setup.save(user=team.lead, name="mine", document={}), after=(setting_up,)
        ),
        "discard what is set up": Act(
            lambda team, by: setup.discard(user=team.lead, name="mine"), after=(setting_up,)
        ),
    },
    "webhooks": {
        "other events": Act(
            lambda team, by: subscriptions.change_events(
                webhook=team.webhook, events=["study.closed", "response.created"], by=by
            )
        ),
        "other secret": Act(lambda team, by: subscriptions.rotate_secret(webhook=team.webhook, by=by)),
        "switch off": Act(lambda team, by: subscriptions.switch(webhook=team.webhook, on=False, by=by)),
        "switch on": Act(
            lambda team, by: subscriptions.switch(webhook=team.webhook, on=True, by=by), after=(off,)
        ),
        "remove": Act(lambda team, by: subscriptions.remove(webhook=team.webhook, by=by)),
        "send again": Act(
            lambda team, by: deliveries.redeliver(delivery=team.message), after=(sent, resting)
        ),
    },
    "exports and imports": {
        "export again": Act(lambda team, by: exports.retry(job=team.export), after=(export_failed,)),
        "delete an export": Act(lambda team, by: exports.delete(job=team.export)),
        "make an export": Act(lambda team, by: exports.make(job_id=team.export.pk)),
        "delete an import": Act(lambda team, by: imports.delete(job=team.import_job, by=by)),
        "import": Act(lambda team, by: imports.work(job_id=team.import_job.pk)),
    },
    "catalogue": {
        "edit a source": Act(
            lambda team, by: catalogue.edit_source(
                source=team.association.source, details=catalogue.SourceDetails(title="New"), by=by
            )
        ),
        "delete a source": Act(
            lambda team, by: catalogue.delete_source(source=team.association.source, by=by)
        ),
    },
    "runs": {
        "start": Act(lambda team, by: runs.start(run=team.run, by=by), after=(failed_job,)),
        "pause": Act(lambda team, by: runs.pause(run=team.run, by=by), after=(running,)),
        "resume": Act(lambda team, by: runs.resume(run=team.run, by=by), after=(failed_job, run_paused)),
        "cancel": Act(lambda team, by: runs.cancel(run=team.run, by=by), after=(failed_job, running)),
        "retry": Act(lambda team, by: runs.retry(run=team.run, by=by), after=(failed_job, running)),
        "retry what is done": Act(lambda team, by: runs.retry(run=team.run, by=by), after=(failed_job, done)),
        "resume though most failed": Act(
            lambda team, by: runs.resume(run=team.run, by=by), after=(failed_job, all_failed, run_paused)
        ),
        "discard": Act(lambda team, by: runs.discard(run=team.run, by=by), after=(nothing_made,)),
        "claim its jobs": Act(
            lambda team, by: claims.claim(run_id=team.run.pk, limit=9, worker="w"),
            after=(failed_job, running),
        ),
        "hold its jobs back": Act(
            lambda team, by: claims.hold_back(run_id=team.run.pk, until=NOW), after=(failed_job, running)
        ),
        "pause for an error": Act(
            lambda team, by: claims.pause_run(run_id=team.run.pk, error="no"), after=(running,)
        ),
        "say that it is done": Act(lambda team, by: claims.close_run(run_id=team.run.pk), after=(running,)),
    },
    "metrics": {
        "strike a candidate": Act(lambda team, by: striking.strike(candidates=[team.candidate], by=by)),
        "restore a candidate": Act(
            lambda team, by: striking.restore(candidates=[team.candidate], by=by), after=(struck,)
        ),
        "delete embedding tests": Act(lambda team, by: embedding_tests.delete(stored=team.tests, by=by)),
        "change embedding tests": Act(
            lambda team, by: embedding_tests.change(
                stored=team.tests, name="new", text=team.tests.text, reference=team.tests.reference, by=by
            )
        ),
        "score again": Act(
            lambda team, by: score_runs.retry(run_id=team.score_run.pk), after=(score_failed,)
        ),
        "score": Act(lambda team, by: score_runs.compute(run_id=team.score_run.pk)),
    },
}


def rows() -> dict[tuple[str, Any], tuple[Any, ...]]:
    """All rows of all tables, by table and primary key."""
    return {
        (model._meta.label, row[0]): row
        for model in apps.get_models(include_auto_created=True)
        for row in stored_rows(model)
    }


@pytest.fixture(scope="module")
def made(once):
    def three_teams() -> tuple[list[Team], set[tuple[str, Any]]]:
        """Which, and what the first and the last have."""
        teams, of_others = [], set()
        for tag in ("first", "ours", "last"):
            before = set(rows())
            teams.append(Team(tag))
            if tag != "ours":
                of_others |= set(rows()) - before
        return teams, of_others

    return once(three_teams)


@pytest.mark.parametrize(
    "act",
    [pytest.param(act, id=f"{where}-{name}") for where, acts in ACTS.items() for name, act in acts.items()],
)
def test_what_other_teams_have_stays(made, tmp_path, act):
    """One of them is older and one is younger: a query that should find our row, and finds any, finds
    theirs, in whichever order."""
    teams, of_others = made.copied(tmp_path)
    by = factories.user(admin=True)
    for step in act.after:
        for team in teams:
            before = set(rows())
            step(team, by)
            if team is not teams[1]:
                of_others |= set(rows()) - before
    before = rows()
    act.does(teams[1], by)
    after = rows()
    assert after != before
    of_others &= set(before)
    assert {key: after.get(key) for key in of_others} == {key: before[key] for key in of_others}
