"""Migrations are safe for a server under load (docs/operations.md, "A new version without a pause")."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest
from django.conf import settings
from django.db import connection
from django.db.migrations import Migration
from django.db.migrations.autodetector import MigrationAutodetector
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.operations import CreateModel
from django.db.migrations.recorder import MigrationRecorder
from django_migration_linter import MigrationLinter

from visage_app.backup.services import tables

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
    "0010_leagues": "longer varchars change no row",
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


Key = tuple[str, str]


@dataclass(frozen=True)
class Chain:
    """All migrations one by one, in the order of `migrate`, and those that replace many of them."""

    loader: MigrationLoader
    replacing: dict[Key, Migration]
    last: list[Key]
    every: list[Key]

    @property
    def ours(self) -> list[Key]:
        return [key for key in self.every if key[0] in APPS]


@pytest.fixture(scope="module")
def chain() -> Chain:
    loader = MigrationLoader(None, replace_migrations=False)
    last = [key for key in loader.graph.leaf_nodes() if key not in loader.replacements]
    every = list(dict.fromkeys(each for key in last for each in loader.graph.forwards_plan(key)))
    return Chain(loader, loader.replacements, last, every)


@pytest.fixture
def executor(monkeypatch) -> Callable[[set[Key]], MigrationExecutor]:
    """What `migrate` would do with a database that has these."""

    def made(applied: set[Key]) -> MigrationExecutor:
        monkeypatch.setattr(MigrationRecorder, "applied_migrations", lambda _: dict.fromkeys(applied))
        return MigrationExecutor(connection)

    return made


def test_a_new_database_gets_at_once_what_the_others_got_one_by_one(chain):
    for key, found in chain.replacing.items():
        app, last = key[0], found.replaces[-1]
        assert found.replaces == [each for each in chain.loader.graph.forwards_plan(last) if each[0] == app]
        assert {type(made) for made in found.operations} == {CreateModel}
        one_by_one, at_once = (chain.loader.project_state(each) for each in (last, key))
        assert app not in MigrationAutodetector(one_by_one, at_once).changes(chain.loader.graph)
        for model in (each for each in one_by_one.models if each[0] == app):
            columns = [list(state.models[model].fields) for state in (one_by_one, at_once)]
            assert columns[0] == columns[1], "in another order"


def lacks(some: set[Key], found: MigrationExecutor) -> list[Key]:
    """What `migrate` adds to those."""
    found.loader.check_consistent_history(connection)
    plan = [made for made, _ in found.migration_plan(found.loader.graph.leaf_nodes())]
    return [each for made in plan for each in made.replaces or [(made.app_label, made.name)]]


def test_a_database_with_some_of_them_goes_on_with_the_others(chain, executor):
    """One by one in an app of which it has some: it was made by an older version."""
    for number in range(len(chain.ours) + 1):
        some = set(chain.every) - set(chain.ours[number:])
        assert sorted(lacks(some, executor(some))) == sorted(chain.ours[number:])


def test_the_way_back_is_one_by_one_and_so_is_the_way_forward_again(chain, executor):
    """As around the restore of an older backup (docs/backup.md). That all were made at once stays noted."""
    for key in set(chain.ours) - set(chain.last):
        plan = executor({*chain.every, *chain.replacing}).migration_plan([key])
        assert all(backwards and not made.replaces for made, backwards in plan), key
        gone = {(made.app_label, made.name) for made, _ in plan}
        left = set(chain.every) - gone
        assert key in left
        assert gone
        assert sorted(lacks(left, executor(left | set(chain.replacing)))) == sorted(gone)


def test_none_needs_one_that_replaces_others(chain):
    """`makemigrations` writes so: name the last of those that it replaces, or the way back leaves it out."""
    needed = {key for found in chain.loader.disk_migrations.values() for key in found.dependencies}
    assert not needed & set(chain.replacing)


@pytest.mark.django_db
def test_a_backup_does_not_say_in_how_many_steps_its_tables_were_made(chain):
    """One of an older version, one by one, can be restored to a database that was made at once."""
    noted = set(MigrationRecorder(connection).applied_migrations())
    assert set(chain.replacing) < noted
    assert set(tables.applied()) == noted - set(chain.replacing) == set(chain.every)
