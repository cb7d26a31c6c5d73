"""Migrations are safe for a server under load (docs/operations.md, "A new version without a pause")."""

from __future__ import annotations

import pytest
from django.conf import settings
from django.db.migrations.loader import MigrationLoader
from django_migration_linter import MigrationLinter

APPS = ["annotation", "generation", "metrics"]
# Made before a server held anything, or harmless for the reason given. A new one belongs here only with its
# reason, and with a line in CHANGELOG.md if it disturbs those who work meanwhile.
KNOWN = {
    "0002_people_and_checks": "before the first server",
    "0003_own_words": "before the first server",
    "0004_slots_of_somebody": "before the first server",
    "0005_exports_and_api": "before the first server",
    "0006_webhook_cursor": "before the first server",
    "0007_watched": "before the first server",
    "0009_open_slots_in_queue": "before the first server",
    "0002_workers": "before the first server",
    "0002_parameters_and_parts": "before the first server",
    "0004_workers_and_batches": "a column of runs goes: their workers and pages wait for the new version",
    "0005_askings": "unique indexes of jobs are built again: workers wait for seconds",
    "0013_catalogue_sources": "its index is of a new, empty table",
    "0006_descriptors": "a constraint of jobs is checked again: workers wait for seconds",
    "0008_from_images": "as 0006_descriptors",
    "0014_descriptors": "constraints of small tables are checked again",
    "0006_associations": "its indexes are of new, empty tables",
    "0004_score_run_claims": "a longer varchar changes no row, and the other columns may be empty",
    "0016_intervals": "a constraint of studies, a small table, is checked",
    "0017_people_share": "a constraint of tasks, a small table, is checked",
    "0009_intervals": "the unique index of score runs, a small table, is built again",
}


def linted(ignored) -> MigrationLinter:
    linter = MigrationLinter(
        include_apps=APPS,
        ignore_name=list(ignored),
        ignore_initial_migrations=True,
        all_warnings_as_errors=True,
        no_cache=True,
    )
    linter.lint_all_migrations()
    return linter


@pytest.mark.skipif(
    not settings.DATABASES["default"]["ENGINE"].endswith("postgresql"),
    reason="NOT POSTGRESQL: what its migrations lock was not looked at",
)
def test_no_new_migration_breaks_or_blocks_the_version_that_still_runs(
    django_db_setup, django_db_blocker, capsys
):
    """The old version runs on while `migrate` does: no column that it would leave empty, none taken away or
    renamed, no index that is built while its table is locked."""
    # not in a test's transaction: what is built beside others cannot be looked at in one
    with django_db_blocker.unblock():
        assert not linted(KNOWN).has_errors, capsys.readouterr().out
        assert linted([]).has_errors, "the linter sees nothing"


def test_a_migration_goes_through_whole_or_not_at_all():
    """One that cannot be a transaction (an index built while others write) stands alone, so that `migrate`
    can be repeated after it was killed."""
    loader = MigrationLoader(connection=None)
    ours = {key: found for key, found in loader.disk_migrations.items() if key[0] in APPS}
    assert ours
    assert [key for key, found in ours.items() if not found.atomic and len(found.operations) > 1] == []
