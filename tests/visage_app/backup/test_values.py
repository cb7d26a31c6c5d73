"""The format of values in a backup, and their conversion for each database."""

import json
import math
from datetime import UTC, datetime, timedelta, timezone
from uuid import UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from visage_app.backup.values import BadValue, has_unstorable_text, line, parse, readers, writers

VENDORS = ("sqlite", "postgresql")


def written(kind: str, value):
    """What stands in the backup for a database's value, through its line."""
    row = [value]
    for place, write in writers([kind]):
        row[place] = write(row[place])
    return parse(line(row), 1)[0]


def read(kind: str, value, vendor: str = "postgresql"):
    [(_, one)] = readers([kind], vendor=vendor)
    return one(value)


@pytest.mark.parametrize("vendor", VENDORS)
@given(value=st.floats(allow_nan=False))
def test_floats_come_back_to_the_last_bit(vendor, value):
    assert read("float", written("float", value), vendor) == value


def test_floats_that_are_none():
    assert math.isnan(read("float", written("float", math.nan)))
    with pytest.raises(BadValue, match="SQLite"):
        read("float", "nan", "sqlite")
    assert math.copysign(1, written("float", -0.0)) == 1
    with pytest.raises(BadValue, match="too large"):
        read("float", 10**400)


@given(moment=st.datetimes())
def test_times_are_the_same_from_either_database(moment):
    """SQLite keeps UTC without saying so; PostgreSQL tells a zone."""
    told = written("time", moment)
    assert told == written("time", moment.replace(tzinfo=UTC))
    assert read("time", told, "sqlite") == str(moment)
    assert datetime.fromisoformat(read("time", told)) == moment.replace(tzinfo=UTC)


def test_times_of_other_zones_are_told_in_utc():
    noon = datetime(2026, 1, 31, 12, tzinfo=timezone(timedelta(hours=5, minutes=30)))
    assert written("time", noon) == "2026-01-31T06:30:00.000000Z"


def test_uuids():
    one = uuid4()
    assert written("uuid", one) == written("uuid", one.hex) == str(one)
    assert read("uuid", str(one), "sqlite") == one.hex
    assert UUID(read("uuid", str(one))) == one


JSON = st.recursive(
    # larger ones are written in digits: below
    st.none() | st.booleans() | st.integers() | st.floats(-1e15, 1e15) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(value=JSON)
def test_json_says_the_same_again_and_again(value):
    told = written("json", json.dumps(value))
    assert told == [value]
    assert written("json", read("json", told)) == told
    assert json.loads(read("json", told)) == value


@pytest.mark.parametrize(
    ("sqlite", "postgresql"),
    [
        ("1e+16", "10000000000000000"),
        ("-1e+22", "-10000000000000000000000"),
        ('{"a": [1e+22, {"b": -0.0}]}', '{"a": [10000000000000000000000, {"b": 0.0}]}'),
        ("1.5e+300", "15" + "0" * 299),
        ("-0.0", "0.0"),
        ("1e-07", "0.0000001"),
        ("100000.0", "100000.0"),
        ('{"b": 1, "a": 2}', '{"a": 2, "b": 1}'),
        ('"\\u00fc"', '"ü"'),
    ],
)
def test_json_that_postgresql_writes_otherwise(sqlite, postgresql):
    """As `SELECT '...'::jsonb::text` answers."""
    assert line([written("json", sqlite)]) == line([written("json", postgresql)])


@given(value=st.binary())
def test_bytes(value):
    assert read("binary", written("binary", memoryview(value))) == value


@pytest.mark.parametrize(
    ("text", "odd"),
    [
        ("a\0b", True),
        ("\ud800", True),
        ("a\udfff", True),
        ("\\u0000", False),
        ("😀", False),
        ("\\ud800", False),
        ("", False),
    ],
)
def test_what_postgresql_cannot_store(text, odd):
    for row in ([text], [[{"deep": [text]}]], [[{text: 1}]], ["fine", text]):
        raw = line(row)
        assert has_unstorable_text(raw, parse(raw, len(row))) is odd


def test_whole_numbers_have_64_bits():
    for number in (-(2**63), 2**63 - 1):
        assert read("integer", number) == number


@pytest.mark.parametrize("raw", [b"", b"{}", b"[]", b"[1,2]", b"[1", b"\xff", b"[" * 100_000, b"1"])
def test_rows_that_are_none(raw):
    with pytest.raises(BadValue, match=r"it is not JSON|it is not a list of 1 values"):
        parse(raw, 1)


@pytest.mark.parametrize("vendor", VENDORS)
@pytest.mark.parametrize(
    ("kind", "value", "why"),
    [
        ("integer", "7", "not a 64-bit integer"),
        ("integer", True, "not a 64-bit integer"),
        ("integer", 2**63, "not a 64-bit integer"),
        ("integer", -(2**63) - 1, "not a 64-bit integer"),
        ("boolean", 1, "neither true nor false"),
        ("float", "much", "not a number"),
        ("float", True, "not a number"),
        ("float", ["inf"], "not a number"),
        ("uuid", "x", "not a UUID"),
        ("uuid", 5, "not a UUID"),
        ("uuid", "1" * 32, "not a UUID"),
        ("time", "2026-13-01T00:00:00.000000Z", "not a time"),
        ("time", "2026-01-31", "not a time"),
        ("time", "2026-01-31T00:00:00.000Z", "not a time"),
        ("time", 5, "not a time"),
        ("text", 5, "not a string"),
        ("text", ["x" * 99], f'"\\[\'{"x" * 38}" is not a string'),
        ("json", {}, "list of one"),
        ("json", {"a": 1}, "list of one"),
        ("json", [], "list of one"),
        ("json", [1, 2], "list of one"),
        ("json", [math.inf], "no infinite numbers"),
        ("binary", "ü", "base64"),
        ("binary", "YQ==!", "base64"),
        ("binary", 5, "base64"),
    ],
)
def test_values_that_no_database_has(vendor, kind, value, why):
    with pytest.raises(BadValue, match=why):
        read(kind, value, vendor)
