"""What the rules of extraction found, line by line, for people. Pure: no Django."""

from collections.abc import Mapping
from typing import NamedTuple

LINES = (
    ("answers", "answers", "read"),
    ("answers_without_tuple", "answers", "kept, without any tuple: they give no candidate"),
    ("tuples", "tuples", "found: parenthesised texts"),
    ("cleaned", "tuples", "cleaned: characters other than letters, spaces and hyphens removed"),
    ("not_two", "tuples", "dropped: not exactly two elements"),
    ("attribute_first", "tuples", "turned round: (attribute, identity) is (identity, attribute)"),
    ("no_identity", "tuples", "dropped as noise: neither element names a group"),
    ("two_identities", "tuples", "dropped: both elements name a group"),
    ("several_groups", "tuples", "dropped: the element names several groups"),
    ("too_long", "tuples", "dropped: the attribute has more than 200 letters"),
    ("plurals", "candidates", "merged: a plural of an attribute that the group has"),
    ("ing", "candidates", "merged: a form in -ing of an attribute that the group has"),
)
"""(rule, what it counts, what became of them), in the order of PROTOCOL §14."""


class ReportLine(NamedTuple):
    rule: str
    of: str
    number: int
    meaning: str


def report(rules: Mapping[str, int]) -> list[ReportLine]:
    return [ReportLine(rule, of, rules.get(rule, 0), meaning) for rule, of, meaning in LINES]
