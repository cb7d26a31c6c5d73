"""The language of strata."""

import pytest

from annotation.core import strata


@pytest.mark.parametrize(
    ("text", "profile", "matches"),
    [
        ("any", {}, True),
        ("Any", {"origin": "Asia"}, True),
        ("origin: Asia", {"origin": "asia"}, True),
        ("origin: Asia", {"origin": "Europe"}, False),
        ("origin: Asia", {}, False),
        ("origin: Asia or Europe", {"origin": "Europe"}, True),
        ("gender: not male", {"gender": "Man"}, False),
        ("gender: not male", {"gender": "non-binary"}, True),
        ("gender: not male", {}, False),
        ("gender: female", {"gender": "woman"}, True),
        ("residence: Europe and gender: not male", {"residence": "Europe", "gender": "woman"}, True),
        ("residence: Europe and gender: not male", {"residence": "Europe", "gender": "man"}, False),
        ("residence: Europe and gender: not male", {"residence": "Europe"}, False),
        ("origin: Trinidad and Tobago", {"origin": "Trinidad and Tobago"}, True),
        ("question:job: nurse", {"question": "x"}, False),
        ("job: nurse", {"question:job": "Nurse"}, True),
        (
            "origin: Trinidad and Tobago and gender: female",
            {"origin": "Trinidad and Tobago", "gender": "woman"},
            True,
        ),
    ],
)
def test_who_matches(text, profile, matches):
    assert strata.parse(text).matches(profile) is matches


@pytest.mark.parametrize(
    "text",
    ["", "Asia", "origin:", ": Asia", "in-region", "gender: female and in-region", "any and origin: Asia"],
)
def test_what_is_no_stratum_is_refused_by_name(text):
    with pytest.raises(ValueError, match=f"'{text}'"):
        strata.parse(text)


def test_an_unknown_field_is_named_with_those_there_are():
    with pytest.raises(ValueError, match=r"no profile field 'orgin'\. There are: gender, origin"):
        strata.parse("orgin: Asia", fields=["origin", "gender"])


def test_in_and_out_region_are_resolved_by_the_group_of_the_unit():
    assert strata.resolve("in-region", region="South Asia") == "residence: South Asia"
    out = strata.resolve("Out-region", region="South Asia")
    assert strata.parse(out).matches({"identity_region": "South Asia", "residence": "North America"})
    assert not strata.parse(out).matches({"identity_region": "South Asia", "residence": "South Asia"})
    assert strata.resolve("origin: Asia", region="") == "origin: Asia"
    with pytest.raises(ValueError, match="needs the region"):
        strata.resolve("in-region", region="")


@pytest.mark.parametrize(
    ("text", "field", "value"),
    [
        ("origin: Asia", "origin", "Asia"),
        ("origin: Asia", "gender", ""),
        ("origin: not Asia", "origin", ""),
        ("origin: Asia or Europe", "origin", ""),
        ("residence: North America and identity_region: South Asia", "identity_region", "South Asia"),
        ("any", "origin", ""),
        ("in-region", "residence", ""),
        ("in-region and gender: woman", "gender", "woman"),
    ],
)
def test_the_value_that_a_stratum_asks_of_a_field(text, field, value):
    assert strata.single_value(text, field) == value


WOMAN_HERE = {"residence": "South Asia", "gender": "woman"}
MAN_HERE = {"residence": "South Asia", "gender": "man"}
WOMAN_ELSEWHERE = {"residence": "Europe", "gender": "woman"}


@pytest.mark.parametrize(
    "text",
    [
        "in-region and gender: not male",
        "gender: not male and in-region",
        "  In-Region   AND  gender:not male ",
    ],
)
def test_a_region_is_joined_with_other_clauses(text):
    assert strata.depends_on_group(text)
    resolved = strata.parse(strata.resolve(text, region="South Asia"))
    assert resolved.matches(WOMAN_HERE)
    assert not resolved.matches(MAN_HERE)
    assert not resolved.matches(WOMAN_ELSEWHERE)
    assert not resolved.matches({"residence": "South Asia"}), "who did not say their gender does not match"


def test_out_region_is_joined_with_several_clauses():
    text = "origin: Trinidad and Tobago and out-region and gender: female"
    resolved = strata.resolve(text, region="Latin America")
    away = {"identity_region": "Latin America", "residence": "North America", "gender": "woman"}
    assert strata.parse(resolved).matches({**away, "origin": "Trinidad and Tobago"})
    assert not strata.parse(resolved).matches({**away, "origin": "Trinidad"})
    assert not strata.parse(resolved).matches(
        {**away, "origin": "Trinidad and Tobago", "residence": "Europe"}
    )


def test_what_else_a_regional_stratum_asks_can_be_looked_at_before_it_is_resolved():
    (clause,) = strata.parse("in-region and gender: not male", unresolved=True).clauses
    assert (clause.field, clause.negated) == ("gender", True)
    assert strata.parse("in-region", unresolved=True).clauses == ()
    assert strata.depends_on_group("in-region and nothing else")
    with pytest.raises(ValueError, match="no profile field 'gendr'"):
        strata.parse("in-region and gendr: not male", fields=["gender"], unresolved=True)


@pytest.mark.parametrize("text", ["origin: in-region", "any", "residence: in-region Asia", "in region: Asia"])
def test_words_that_only_look_regional_are_values(text):
    assert not strata.depends_on_group(text)
    assert strata.resolve(text, region="Europe") == text
