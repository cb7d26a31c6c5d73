"""What lies in a transaction of the program, and which rows it locks.

Most tests run in a transaction of their own, which hides that the program has opened none. So each lock of
rows and each audit event is checked while tests run: without a transaction of the program, the test fails. An
event must not be stored without the change that it is about.

Few tests run two calls at once, so few notice a missing lock. At the end of a whole run on PostgreSQL
(`--database-only`), every lock in LOCKS must have been taken, and no other.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from django.db import connection, connections
from django.db.backends.signals import connection_created
from django.db.models.signals import pre_save

from annotation.models import AuditEvent

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = tuple(f"{ROOT / name}/" for name in ("annotation", "generation", "metrics", "visage_app"))
HELPERS = {"annotation.core.prepared", "annotation.core.prepared_together"}
NOTHING_ELSE_WRITTEN = {
    "annotation.audit.services.stream_events",
    "annotation.audit.services.stream_hours",
    "annotation.exports.services.jobs.open_file",
    "annotation.exports.services.judgements.read_rows",
    "annotation.exports.services.writing.record_export",
    "annotation.releases.services.bundle._record",
    "generation.answers.services.downloads.stream_answers",
    "visage_app.backup.services.writing.backup",
}
"""These store an audit event and nothing else: what was read or downloaded."""
_LOCK = re.compile(
    r'FROM "(?!axes_)(\w+)".* FOR (NO KEY UPDATE|UPDATE)(?: OF "(\w+)")?( SKIP LOCKED)?', re.DOTALL
)

LOCKS = {
    "annotation.accounts.services.accounts._lock: auth_user no key update",
    "annotation.accounts.services.erasure.erase: annotation_annotator no key update",
    "annotation.accounts.services.erasure.erase: auth_user update",
    "annotation.accounts.services.merging._lock: annotation_annotator no key update",
    "annotation.accounts.services.merging._lock: annotation_enrolment no key update",
    "annotation.accounts.services.merging._lock: annotation_slot no key update",
    "annotation.accounts.services.merging._lock: annotation_study no key update",
    "annotation.accounts.services.second_factor.new_codes: auth_user no key update",
    "annotation.accounts.services.second_factor.set_up: auth_user no key update",
    "annotation.accounts.services.second_factor.verify: otp_static_staticdevice update",
    "annotation.accounts.services.second_factor.verify: otp_totp_totpdevice update",
    "annotation.annotate.services.items.next_items: annotation_enrolment no key update",
    "annotation.annotate.services.responses._lock: annotation_enrolment no key update",
    "annotation.annotate.services.saving.choose_slot: annotation_slot no key update",
    "annotation.api.tokens.create: auth_user no key update",
    "annotation.assignment.queries.membership: annotation_enrolment no key update",
    "annotation.assignment.services.slots._claim: annotation_slot update skip locked",
    "annotation.assignment.services.slots._may_lease: annotation_enrolment no key update",
    "annotation.assignment.services.slots._renew: annotation_slot no key update skip locked",
    "annotation.assignment.services.slots.return_to_queue: annotation_slot no key update",
    "annotation.assignment.services.slots.return_to_queue: annotation_slot no key update skip locked",
    "annotation.assignment.services.slots.return_to_queue: annotation_study no key update",
    "annotation.catalogue.services._locked: annotation_source update",
    "annotation.core.leases.locked: annotation_catalogueimport update skip locked",
    "annotation.core.leases.locked: annotation_delivery update skip locked",
    "annotation.core.leases.locked: annotation_exportjob update skip locked",
    "annotation.core.leases.locked: generation_job update skip locked",
    "annotation.core.leases.locked: metrics_associationlist update skip locked",
    "annotation.core.leases.locked: metrics_candidatelist update skip locked",
    "annotation.core.leases.locked: metrics_scorerun update skip locked",
    "annotation.export_files.clean_up: annotation_exportjob update",
    "annotation.exports.services.jobs._finish: annotation_study no key update",
    "annotation.exports.services.jobs.delete: annotation_exportjob update",
    "annotation.exports.services.jobs.request: annotation_study no key update",
    "annotation.imports.services.catalogue.lock_source: annotation_source update",
    "annotation.imports.services.jobs.delete: annotation_catalogueimport update",
    "annotation.imports.services.jobs.request: auth_user no key update",
    "annotation.participation.services.annotators.decline: annotation_annotator no key update",
    "annotation.participation.services.annotators.decline: annotation_enrolment no key update",
    "annotation.participation.services.annotators.save_profile: annotation_annotator no key update",
    "annotation.participation.services.annotators.save_profile: annotation_profileanswer update",
    "annotation.participation.services.enrolments._lock: annotation_enrolment no key update",
    "annotation.participation.services.withdrawals._lock: annotation_enrolment no key update",
    "annotation.participation.services.withdrawals.reopen: annotation_study no key update",
    "annotation.participation.services.withdrawals.withdraw: annotation_annotator no key update",
    "annotation.setup.api.Setup.put: annotation_study no key update",
    "annotation.setup.services._changing: auth_user no key update",
    "annotation.setup.services.save_draft: annotation_study no key update",
    "annotation.studies.services.consents.publish: annotation_study no key update",
    "annotation.studies.services.studies.apply_file: annotation_study no key update",
    "annotation.studies.services.studies.apply_file: annotation_study update",
    "annotation.studies.services.studies.attach_image_set: annotation_study no key update",
    "annotation.webhooks.services.deliveries._note_failure: annotation_webhook no key update",
    "annotation.webhooks.services.subscriptions.add: annotation_study no key update",
    "annotation.webhooks.services.subscriptions.change_events: annotation_webhook no key update",
    "generation.embeddings.services.importing._Import._lock_image_set: annotation_imageset no key update",
    "generation.image_sets.services.regenerate: generation_run no key update",
    "generation.jobs.services.batch_sizes.update: generation_batchsize update",
    "generation.jobs.services.claims.claim: generation_run no key update",
    "generation.jobs.services.claims.close_run: generation_run no key update",
    "generation.jobs.services.handlers.JobHandler.complete: generation_job update",
    "generation.jobs.services.model_versions.record: generation_run no key update",
    "generation.jobs.services.workers.report: generation_worker update",
    "generation.runs.limits.set_limits: generation_run no key update",
    "generation.runs.services._get_or_create: generation_run no key update",
    "generation.runs.services._lock_image_set: annotation_imageset no key update",
    "generation.runs.services.discard: annotation_imageset no key update",
    "generation.runs.services.discard: generation_run update",
    "generation.runs.services.ensure: generation_run no key update",
    "generation.runs.services.retry: generation_run no key update",
    "generation.runs.services.start: generation_run no key update",
    "generation.uploads.services.uploads._write: annotation_imageset no key update",
    "metrics.core.run_lists.RunLists.request: metrics_associationlist no key update",
    "metrics.core.run_lists.RunLists.request: metrics_candidatelist no key update",
    "metrics.core.run_lists.write: metrics_associationlist no key update",
    "metrics.core.run_lists.write: metrics_candidatelist no key update",
    "metrics.embedding_tests.services.change: metrics_embeddingtestfile update",
}
"""Function of the program: table and lock."""
taken: set[str] = set()
"""The locks that the program has taken in these tests, as in LOCKS."""


def wrong_locks() -> list[str]:
    """After a whole run on PostgreSQL: what LOCKS and the program say differently."""
    missing = [f"{each}: no longer taken, or no test of the database takes it" for each in LOCKS - taken]
    return sorted(missing + [f"{each}: not in LOCKS of tests/transactions.py" for each in taken - LOCKS])


@contextmanager
def wrapped(wrapper: Callable[..., Any]) -> Iterator[None]:
    """Put `wrapper` around each statement of all connections, those to come as well."""

    def wrap(connection: Any, **_: Any) -> None:
        if wrapper not in connection.execute_wrappers:
            connection.execute_wrappers.append(wrapper)

    connection_created.connect(wrap)
    for each in connections.all(initialized_only=True):
        wrap(each)
    try:
        yield
    finally:
        connection_created.disconnect(wrap)


@contextmanager
def watched() -> Iterator[None]:
    pre_save.connect(_recorded, sender=AuditEvent)
    try:
        with wrapped(_executed):
            yield
    finally:
        pre_save.disconnect(_recorded, sender=AuditEvent)


def _executed(execute, sql, params, many, context):
    found = _LOCK.search(sql) if isinstance(sql, str) and " FOR " in sql else None
    if found and (where := _where(sys._getframe(1))):
        assert in_a_transaction(context["connection"]), f"{where} locks rows outside a transaction"
        table, strength, of, skipping = found.groups()
        taken.add(f"{where}: {of or table} {strength.lower()}{(skipping or '').lower()}")
    return execute(sql, params, many, context)


def _recorded(instance: AuditEvent, **_: Any) -> None:
    where = _where(sys._getframe(1))
    if where and where not in NOTHING_ELSE_WRITTEN:
        assert in_a_transaction(connection), f"{where} stores an audit event outside a transaction"


def in_a_transaction(connection: Any) -> bool:
    """Whether the program, or a test in its place, has opened one, not Django for a test."""
    return any(not block._from_testcase for block in connection.atomic_blocks)


def _where(frame: FrameType | None) -> str:
    """The function of the program that asked for it; "" for a test."""
    while frame is not None:
        file, module = frame.f_code.co_filename, frame.f_globals["__name__"]
        if file.startswith(PACKAGES) and module not in HELPERS:
            return f"{module}.{frame.f_code.co_qualname}"
        if module != __name__ and file.startswith(f"{ROOT}/tests/"):
            return ""
        frame = frame.f_back
    return ""
