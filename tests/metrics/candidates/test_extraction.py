"""Candidates in answers, their salience and selection, against a plain version of PROTOCOL §14."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from annotation.imports.readers.identities import known_identities
from annotation.imports.readers.oddities import FileRefused
from metrics.candidates import extraction
from metrics.candidates.duplicates import merge
from metrics.candidates.extraction import Extraction, clean, open_tuple, pairs_of, whole_text
from metrics.candidates.identity_forms import SEVERAL, Group, IdentityForms, _table, plurals
from metrics.candidates.seeds import read_seeds
from metrics.candidates.selection import seats, select
from tests.metrics.candidates import plain

KNOWN = [
    Group(number, axis, name, known.demonym, known.country, known.region)
    for number, ((axis, name), known) in enumerate(known_identities().items(), start=1)
    if axis == "nationality"
]
FORMS = IdentityForms(KNOWN)
PK = {group.name: group.pk for group in KNOWN}


def extracted(*answers, forms=FORMS):
    reading = Extraction(forms)
    reading.add(answers)
    return reading.result()


def named(found):
    names = {pk: name for name, pk in PK.items()}
    return {names[group]: dict(counts) for group, counts in found.counts.items()}


@pytest.mark.parametrize(
    ("text", "group"),
    [
        ("Mexican", "Mexican"),
        ("MEXICANS", "Mexican"),
        ("mexico", "Mexican"),
        ("the Dutch", "Netherlanders"),
        ("Dutchmen", "Netherlanders"),
        ("Chinese people", "Chinese"),
        ("cote d'ivoire", "Ivorians"),
        ("Timor-Leste", "Timorese"),
        ("American", "United States"),
        ("Finn", "Finns"),
        ("Finns", "Finns"),
        ("Danes", "Danish"),
        ("British", "British"),
        ("United Kingdom", "United KingdomUK"),
        ("Iraqis", "Iraqi"),
    ],
)
def test_an_identity_is_found_by_demonym_adjective_plural_and_country(text, group):
    assert FORMS.find(clean(text)[0]) == PK[group]


def test_a_form_of_several_groups_names_none_of_them():
    assert FORMS.find("nepal") == SEVERAL
    assert FORMS.find("nepali") == PK["Nepali"]


@pytest.mark.parametrize("text", ["", "the", "martian", "mexican martian", "a" * 1_000_000, "- -"])
def test_other_texts_name_no_group(text):
    assert FORMS.find(text) is None


def test_what_a_group_does_not_have_names_nobody():
    forms = IdentityForms([Group(1, "nationality", "Elbonian", "", "", "")])
    assert [forms.find(text) for text in ("", "s", "people")] == [None] * 3
    assert forms.find("the Elbonian people") == 1


def test_a_name_comes_before_a_demonym_and_a_plural_before_a_country():
    rows = [("A", "B", ""), ("B", "C", ""), ("D", "", "E"), ("F", "", "Ds")]
    forms = IdentityForms([Group(pk, "nationality", *row, "") for pk, row in enumerate(rows)])
    assert [forms.find(text) for text in ("b", "c", "ds")] == [1, 1, 2]


@pytest.mark.parametrize(
    ("noun", "plural"), [("Irishwoman", "Irishwomen"), ("Dutch", "Dutches"), ("Germany", "Germanies")]
)
def test_plurals_are_made_as_in_english(noun, plural):
    assert set(plurals(noun)) == {plural, f"{noun}s"}


def test_a_seed_that_names_several_groups_is_refused(tmp_path):
    file = tmp_path / "seeds.csv"
    file.write_text("identity,attribute\nNepal,cold\nIraqi,hot\n")
    with pytest.raises(FileRefused, match="row 2, column 'identity': 'Nepal' names several"):
        read_seeds(file, FORMS)


@pytest.mark.parametrize(
    ("written", "text", "changed"),
    [
        ("hard\N{HYPHEN}working", "hard-working", False),
        ("cafe\N{COMBINING ACUTE ACCENT}s", "cafés", False),
        ("- kind -", "kind", False),
        ("very_kind", "verykind", True),
    ],
)
def test_letters_spaces_and_hyphens_within_are_kept(written, text, changed):
    assert clean(written) == (text, changed)


def test_the_table_of_forms_has_known_identities_only():
    assert set(_table()) <= set(known_identities())


def test_rules_apply_in_the_order_of_the_protocol_and_each_is_counted():
    found = extracted(
        "(Mexican, lazy), (lazy, Mexicans)",  # one candidate, given twice
        '("Italy", 2 mafia!)',  # other characters go
        "(Mexican, lazy, hot), (Mexican), (), (Mexican, 42), (a,b),",
        "(Mexican, Italian) (Nepal, cold) (cold, Nepal) (Martian, green)",
        "I cannot answer that (sorry",
        "",
        f"(Mexican, {'x' * 201}) (Italian, {'y' * 200}) (Nepal, {'x' * 201})",
    )
    assert named(found) == {"Mexican": {"lazy": 2}, "Italian": {"mafia": 1, "y" * 200: 1}}
    rules = found.rules
    assert (rules.answers, rules.answers_without_tuple, rules.tuples) == (7, 2, 15)
    assert (rules.cleaned, rules.not_two, rules.attribute_first) == (2, 4, 1)
    assert (rules.no_identity, rules.two_identities, rules.several_groups, rules.too_long) == (2, 1, 3, 1)


def test_plurals_and_forms_in_ing_count_for_the_attribute_if_the_group_has_it():
    found = extracted(
        "(Mexican, drug dealers) (Mexican, drug dealer) (Mexican, dancing) (Mexican, dance) (Mexican, tacos)",
        "(Italian, drug dealers) (Italian, running) (Italian, run) (Italian, lying) (Italian, lie)",
        "(Iraqi, paintings) (Iraqi, paint) (Iraqi, painting) (Iraqi, parties) (Iraqi, party) (Iraqi, boss)",
    )
    assert named(found) == {
        "Mexican": {"drug dealer": 2, "dance": 2, "tacos": 1},
        "Italian": {"drug dealers": 1, "run": 2, "lie": 2},
        "Iraqi": {"paint": 3, "party": 2, "boss": 1},
    }
    assert (found.rules.plurals, found.rules.ing) == (3, 4)
    assert found.merged[PK["Iraqi"]] == {"paintings": "paint", "painting": "paint", "parties": "party"}


@pytest.mark.parametrize(
    ("plural", "attribute"),
    [
        ("children", "child"),
        ("old women", "old woman"),
        ("policemen", "policeman"),
        ("boxes", "box"),
        ("wolves", "wolf"),
        ("knives", "knife"),
    ],
)
def test_an_irregular_plural_counts_for_its_attribute_too(plural, attribute):
    assert merge({attribute: 2, plural: 3}).counts == {attribute: 5}


@pytest.mark.parametrize("attributes", [("princes", "princess"), ("king",), ("se", "seeing"), ("x", "xxing")])
def test_what_only_looks_like_a_plural_or_a_form_in_ing_stays(attributes):
    alone = dict.fromkeys(attributes, 1)
    assert merge(alone).counts == alone


def test_what_is_both_a_plural_and_a_form_in_ing_is_counted_as_a_plural_alone():
    found = merge({"singing songs": 1, "singing song": 1, "sing songs": 1})
    assert (found.plurals, found.ing) == ({"singing songs": "singing song"}, {})


@pytest.mark.parametrize(
    ("prompt", "answer", "pairs"),
    [
        (
            "(Mexican, lazy), (Italian, mafia), (Iraqi,",
            " hot), (Thai, kind)",
            [("Iraqi", "hot"), ("Thai", "kind")],
        ),
        ("(lazy, Mexican), (hot,", " Iraqi)", [("Iraqi", "hot")]),
        ("(Mexican, lazy), (Iraqi,", "(Iraqi, hot)", [("Iraqi", "hot")]),
        ("(Mexican, lazy), (Iraqi,", "I cannot say.", []),
        ("(Mexican, lazy), (Italian, mafia)", ", (Iraqi, hot)", [("Iraqi", "hot")]),
        ("(Mexican, lazy), (Italian, mafia)", "hot), (Iraqi, hot", []),
    ],
)
def test_an_answer_continues_the_open_tuple_of_its_prompt(prompt, answer, pairs):
    assert pairs_of(whole_text(prompt, answer), FORMS) == [(PK[name], text) for name, text in pairs]


def test_a_prompt_without_an_open_tuple_adds_nothing():
    assert open_tuple("(a, b), (c, d)") == open_tuple("plain") == open_tuple("") == ""


def test_an_answer_of_a_million_letters_is_read_and_counted():
    found = extracted("(" * 1_000_000, "(Mexican, lazy" + " " * 1_000_000 + ")", "x" * 1_000_000)
    assert named(found) == {"Mexican": {"lazy": 1}}
    assert found.rules.answers_without_tuple == 2


@pytest.mark.parametrize("held", [5, 1000])
def test_reading_in_parts_gives_what_reading_at_once_gives(monkeypatch, held):
    answers = [
        f"(Mexican, w{chr(97 + number % 26)}{chr(97 + number % 7)}), (Mexican, 'x')" for number in range(90)
    ]
    whole = extracted(*answers)
    monkeypatch.setattr(extraction, "_MOST_HELD", held)
    monkeypatch.setattr(extraction, "_AT_ONCE", 4)
    assert extracted(*answers) == whole
    assert whole.rules.tuples == 180


def test_what_is_held_does_not_grow_with_the_answers(monkeypatch):
    monkeypatch.setattr(extraction, "_MOST_HELD", 5)
    monkeypatch.setattr(extraction, "_AT_ONCE", 4)
    reading = Extraction(FORMS)
    reading.add(f"(nobody, {chr(97 + number % 26) * (1 + number // 26)})" for number in range(90))
    assert len(reading._elements) <= 5 + 2 * 4


REGIONS = {
    "Mexican": "Latin America",
    "Chilean": "Latin America",
    "Iraqi": "Middle East",
    "Thai": "East Asia",
}
SOME = [group for group in KNOWN if group.name in REGIONS]
WORD = st.sampled_from(
    ["Mexico", "mexicans", "Chilean", "Iraqi", "Thai", "hot", "cook", "cooks", "cooking", "x-y", "2"]
)
ANSWER = st.lists(
    st.lists(WORD, min_size=1, max_size=3).map(lambda words: f"({', '.join(words)})") | st.just("so ("),
    max_size=5,
).map(" ".join)


@settings(max_examples=60)
@given(st.lists(ANSWER, max_size=12), st.integers(0, 8))
def test_candidates_are_those_of_a_plain_version_of_the_protocol(answers, per_region):
    groups = {group.pk: group for group in SOME}
    reading = Extraction(IdentityForms(SOME))
    reading.add(answers)
    found = reading.result()
    rows = select(found.counts, groups, per_region=per_region)
    names = {}
    for group in SOME:
        for form in (group.name, f"{group.name}s", group.country):
            names[form.lower()] = (group.name, group.region)
    expected = plain.candidates(answers, names, per_region=per_region)
    got = {((groups[row.group].name, groups[row.group].region), row.attribute): row[2:] for row in rows}
    assert got.keys() == expected.keys()
    for key, numbers in got.items():
        assert numbers == pytest.approx(expected[key]), key
    rules = found.rules
    kept = sum(count for counts in found.counts.values() for count in counts.values())
    dropped = rules.not_two + rules.no_identity + rules.two_identities + rules.several_groups + rules.too_long
    assert rules.tuples == kept + dropped


@given(st.dictionaries(st.integers(0, 20), st.integers(1, 50), max_size=8), st.integers(0, 120))
def test_seats_are_within_one_of_the_share_and_add_up(candidates, total):
    chosen = seats(candidates, total)
    number = sum(candidates.values())
    assert sum(chosen.values()) == min(total, number)
    for group, of in candidates.items():
        share = min(total, number) * of / number
        assert abs(chosen[group] - share) < 1
        assert chosen[group] <= of


def test_the_last_seat_goes_by_remainder_and_then_to_the_group_with_more():
    assert seats({1: 6, 2: 5}, 4) == {1: 2, 2: 2}
    assert seats({1: 1, 2: 7, 3: 2}, 5) == {1: 0, 2: 4, 3: 1}


def test_states_of_one_country_are_one_region_so_that_tf_decides():
    groups = {1: Group(1, "us_state", "Texan", "Texan", "Texas", "North America")}
    rows = select({1: Counter(cowboy=3, oil=1)}, groups, per_region=1)
    assert [(row.attribute, row.idf, row.selected) for row in rows] == [
        ("cowboy", 1, True),
        ("oil", 1, False),
    ]
