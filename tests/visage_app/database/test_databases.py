"""The setting DATABASES from variables of the environment."""

from __future__ import annotations

import pytest
from django.core.exceptions import ImproperlyConfigured

from visage_app.database import databases

PRIMARY, STANDBY = "postgresql://one/visage", "postgresql://two/visage"
NAMES = ("DATABASE_URL", "DATABASE_REPLICA_URL", "DATABASE_POOL", "PREPARE_STATEMENTS", "SERVER_SIDE_CURSORS")


@pytest.fixture
def configured(monkeypatch, tmp_path):
    """Databases from these variables and no others."""

    def made(**variables: str):
        for name in NAMES:
            monkeypatch.delenv(name, raising=False)
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        return databases.configured(tmp_path / "var")

    return made


def test_sqlite_is_in_the_folder_of_the_program_and_waits_for_the_disk(configured, tmp_path):
    assert list(configured()) == ["default"]
    found = configured()["default"]
    assert found["NAME"] == str(tmp_path / "var" / "visage.sqlite3")
    assert (tmp_path / "var").is_dir()
    assert (found["ENGINE"], found["CONN_MAX_AGE"]) == ("visage_app.database.sqlite", 60)
    assert found["OPTIONS"]["transaction_mode"] == "IMMEDIATE"
    for said in ("journal_mode=WAL", "synchronous=FULL"):
        assert said in found["OPTIONS"]["init_command"]


def test_connections_to_postgresql_are_kept_or_pooled(configured):
    found = configured(DATABASE_URL=PRIMARY)["default"]
    assert (found["CONN_HEALTH_CHECKS"], found["CONN_MAX_AGE"]) == (True, 60)
    assert found["OPTIONS"] == {"prepare_threshold": 3}
    assert found["DISABLE_SERVER_SIDE_CURSORS"] is False
    found = configured(DATABASE_URL=PRIMARY, DATABASE_POOL="4")["default"]
    assert found["OPTIONS"]["pool"] == {"min_size": 0, "max_size": 4, "timeout": 10}
    assert not found.get("CONN_MAX_AGE"), "Django refuses to pool what is kept"


def test_before_a_pooler_neither_statements_nor_cursors_are_kept(configured):
    found = configured(DATABASE_URL=PRIMARY, PREPARE_STATEMENTS="no", SERVER_SIDE_CURSORS="no")["default"]
    assert found["OPTIONS"] == {"prepare_threshold": None}
    assert found["DISABLE_SERVER_SIDE_CURSORS"] is True


def test_a_standby_that_is_down_is_not_waited_for_long(configured):
    found = configured(DATABASE_URL=PRIMARY, DATABASE_REPLICA_URL=f" {STANDBY} ")["replica"]
    assert (found["HOST"], found["OPTIONS"]["connect_timeout"]) == ("two", 2)
    assert (found["CONN_HEALTH_CHECKS"], found["TEST"]) == (True, {"MIRROR": "default"})


@pytest.mark.parametrize(
    ("variables", "why"),
    [
        ({"DATABASE_REPLICA_URL": STANDBY}, "must be a standby"),
        ({"DATABASE_URL": PRIMARY, "DATABASE_REPLICA_URL": "sqlite:///x"}, "must be a standby"),
        ({"DATABASE_URL": "mysql://one/visage"}, "must begin with"),
        ({"DATABASE_POOL": "4"}, "DATABASE_POOL=4 works only with PostgreSQL"),
    ],
)
def test_what_cannot_be_is_refused(configured, variables, why):
    with pytest.raises(ImproperlyConfigured, match=why):
        configured(**variables)
