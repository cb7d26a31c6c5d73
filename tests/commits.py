"""What the program commits while it answers one call.

What is stored in one transaction is there whole or not at all. What a call commits in several parts can end
half done, and few tests would notice that a transaction is gone: nothing fails between its parts. So they are
counted while tests run. The call is the first function of the program that a test, or a page it asks for,
enters. A test fails in which a call commits more than one part that is not in APART.
"""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import pytest
from django.conf import settings
from django.db.transaction import Atomic, get_connection

from tests.transactions import HELPERS, PACKAGES, ROOT, in_a_transaction, wrapped

_WRITES = re.compile(
    r'\s*(?:INSERT (?:OR IGNORE )?INTO|UPDATE|DELETE FROM|WITH) "?(?!django_session|axes_)(\w+)'
)
_OWN = {__name__, "tests.transactions", "tests.conftest"}
_MIDDLEWARE = {name.rpartition(".")[0] for name in settings.MIDDLEWARE}
_EVERY_PAGES = re.compile(r"<locals>|\.(dispatch|initial|__call__)$")
"""Functions that every page goes through before its own."""

APART = {
    # a worker claims, stores and gives back batch after batch
    "annotation.assignment.services.slots.return_to_queue: annotation_slot",
    "annotation.core.leases.Claim.fail",
    "annotation.core.leases.Claim.finish",
    "annotation.core.leases.Claim.release",
    "annotation.core.leases.Claim.renew",
    "annotation.core.leases.Leases.claim",
    "annotation.exports.services.jobs._write: annotation_exportjob",
    "annotation.imports.services.catalogue.lock_source: annotation_source",
    "annotation.imports.services.jobs._record: annotation_auditevent",
    "annotation.webhooks.services.deliveries.forget_old: annotation_delivery",
    "annotation.webhooks.services.events._queue_for: annotation_webhook",
    "generation.image_sets.services.regenerate: generation_answer",
    "generation.image_sets.services.regenerate: generation_job",
    "generation.jobs.services.asking_handlers.ClassificationHandler.create_rows: generation_answer",
    "generation.jobs.services.asking_handlers.CompletionHandler.create_rows: generation_answer",
    "generation.jobs.services.batch_sizes.update: generation_batchsize",
    "generation.jobs.services.claims.close_run: generation_run",
    "generation.jobs.services.claims.hold_back: generation_job",
    "generation.jobs.services.claims.pause_run: generation_run",
    "generation.jobs.services.handlers.EmbeddingHandler.create_rows: generation_textembedding",
    "generation.jobs.services.handlers.JobHandler.complete: generation_run",
    "generation.jobs.services.handlers._delete_previous: generation_caption",
    "generation.jobs.services.handlers._delete_previous: generation_embedding",
    "generation.jobs.services.image_handler.ImageHandler.create_rows: annotation_image",
    "generation.jobs.services.model_versions.record: generation_run",
    "generation.jobs.services.session.Session._store.<locals>.<lambda>: generation_job",
    "generation.jobs.services.workers.note: generation_worker",
    "generation.jobs.services.workers.note_illness: generation_worker",
    "generation.jobs.services.workers.report: generation_worker",
    "generation.jobs.services.workers.reporting.<locals>.<lambda>: generation_worker",
    "metrics.core.run_lists.write",
    "metrics.score_runs.services._store: metrics_score",
    # a run is stored after the groups it asks about, gets its jobs part after part, and is started
    "generation.runs.services._delete_open_jobs: generation_answer",
    "generation.runs.services._get_or_create: generation_run",
    "generation.runs.services._lock_image_set: annotation_imageset",
    "generation.runs.services._reset_to_planned: generation_run",
    "generation.runs.services._transition: generation_run",
    "generation.runs.services.ensure: generation_job",
    "generation.runs.services.retry: generation_job",
    "metrics.associations.services.descriptors.ensure_groups: annotation_identitygroup",
    # one row for each request, and one that failed before
    "metrics.core.run_lists.RunLists.request",
    "metrics.core.run_lists.RunLists.retry",
    "metrics.score_runs.services.request: metrics_scorerun",
    # an account is made or changed, and its owner logs in or gets a link
    "annotation.accounts.services.accounts._record: annotation_auditevent",
    "annotation.accounts.services.accounts.create: auth_user",
    "annotation.accounts.services.second_factor._new_codes: otp_static_statictoken",
    "annotation.accounts.services.second_factor.remove: otp_totp_totpdevice",
    "annotation.accounts.services.second_factor.verify: otp_static_statictoken",
    "annotation.accounts.services.second_factor.verify: otp_totp_totpdevice",
    "annotation.participation.services.annotators.annotator_for: annotation_annotator",
    "annotation.participation.services.annotators.newcomer: auth_user",
    "annotation.participation.services.annotators.save_profile: annotation_profileanswer",
    "annotation.participation.services.crowd.enter: annotation_enrolment",
    "annotation.participation.views.join._log_in: auth_user",
    "visage_app.login.views.login.login_code: auth_user",
    # what is found out about an annotator stays with the enrolment
    "annotation.annotate.services.items._qualify: annotation_enrolment",
    "annotation.assignment.services.slots.matching_strata: annotation_enrolment",
    "annotation.participation.services.withdrawals.come_back: annotation_enrolment",
    # a study is open also without an invitation, and the demo is made once what is missing is there
    "annotation.demo.accounts.make_accounts: auth_user",
    "annotation.demo.catalogue.make_catalogue: annotation_source",
    "annotation.demo.pictures.store: annotation_imageset",
    "annotation.participation.services.invitations.create: annotation_invitation",
    "annotation.studies.services.studies.change_status: annotation_study",
}
"""Function of the program, and to which table it writes first; without a table, to any."""


class _Call(threading.local):
    """The call at hand in this thread."""

    frame: FrameType | None = None
    parts: set[str] = set()
    """What it has committed, in how many transactions:"""
    number = 0
    open: tuple[FrameType, str] | None = None
    """Where it began to write in the transaction that is open."""


_call = _Call()
_missing: dict[str, set[str]] = {}
"""By call, what APART lacks."""


def unlisted() -> dict[str, list[str]]:
    """At the end of a test: what its calls have committed in several parts that are not in APART."""
    _call.frame = _call.open = None
    found = {call: sorted(parts) for call, parts in _missing.items()}
    _missing.clear()
    return found


def _executed(execute, sql, params, many, context):
    done = execute(sql, params, many, context)
    if isinstance(sql, str) and (written := _WRITES.match(sql)):
        alone = not in_a_transaction(context["connection"])
        if (alone or not _call.open) and (entered := _entered(sys._getframe(1), written[1])):
            if alone:
                _committed(*entered)
            else:
                _call.open = entered
    return done


@contextmanager
def counted() -> Iterator[None]:
    exits = Atomic.__exit__

    def leave(block: Atomic, kind: type[BaseException] | None, *rest: Any) -> None:
        blocks = [each for each in get_connection(block.using).atomic_blocks if not each._from_testcase]
        exits(block, kind, *rest)
        if blocks == [block]:
            written, _call.open = _call.open, None
            if written and kind is None:
                _committed(*written)

    with pytest.MonkeyPatch.context() as patched, wrapped(_executed):
        patched.setattr(Atomic, "__exit__", leave)
        yield


def _committed(frame: FrameType, where: str) -> None:
    if frame is not _call.frame:
        _call.frame, _call.parts, _call.number = frame, set(), 0
    _call.parts.add(where)
    _call.number += 1
    missing = {each for each in _call.parts if not {each, each.partition(":")[0]} & APART}
    if _call.number > 1 and missing:
        call = f"{frame.f_globals['__name__']}.{frame.f_code.co_qualname}"
        _missing.setdefault(call, set()).update(missing)


def _entered(frame: FrameType | None, table: str) -> tuple[FrameType, str] | None:
    """The call's frame, and which function writes to which table; None if a test writes."""
    call, where = None, ""
    while frame is not None:
        file, module, name = frame.f_code.co_filename, frame.f_globals["__name__"], frame.f_code.co_qualname
        if file.startswith(PACKAGES) and module not in HELPERS:
            where = where or f"{module}.{name}: {table}"
            if module not in _MIDDLEWARE and not _EVERY_PAGES.search(name):
                call = frame
        elif file.startswith(f"{ROOT}/tests/") and module not in _OWN:
            break
        frame = frame.f_back
    return (call, where) if call else None
