"""k-anonymity of what a release tells of people: whatever they say of themselves."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from annotation.participation import profile_fields
from annotation.releases.annotators import People
from annotation.releases.coarsening import Coarsened, Person, coarsen, make_field
from annotation.releases.linkage import Linkage

FIELDS = [
    make_field(name, [value for value, _ in choices]) for name, choices in profile_fields.CHOICES.items()
]
QUESTION = make_field("diaspora", ["yes", "no"], own_question=True)
BY_NAME = {field.name: field for field in [*FIELDS, QUESTION]}

said = st.fixed_dictionaries(
    {},
    optional={
        name: st.one_of(st.sampled_from(field.choices or ("Hindi",)), st.just("in my own words"))
        for name, field in BY_NAME.items()
    },
)
crowds = st.lists(st.builds(Person, simulated=st.booleans(), answers=said), max_size=60)


@settings(max_examples=150)
@given(crowd=crowds, k=st.integers(1, 8))
def test_what_is_told_is_true_never_somebodys_own_words_and_that_of_k_people(crowd, k):
    """Or nothing is told. Blanks count as values."""
    found = coarsen(crowd, list(BY_NAME.values()), k=k)
    for simulated in (False, True):
        rows = [row for one, row in zip(crowd, found.values, strict=True) if one.simulated == simulated]
        if not any(any(row) for row in rows):
            continue
        # of all fields, and of each: what somebody knows of somebody may be some of them
        every = range(len(found.fields))
        for places in (every, *([place] for place in every)):
            cells = Counter(tuple(row[place] for place in places) for row in rows)
            assert min(cells.values()) >= k
    for one, row in zip(crowd, found.values, strict=True):
        for name, value in zip(found.fields, row, strict=True):
            if value is None:
                continue
            field = BY_NAME[name]
            chosen = field.match_choice(one.answers[name])
            assert chosen is not None
            assert value in {chosen, *(step[chosen] for step in field.steps)}


def crowd_of(*groups):
    return [Person(False, said) for said, number in groups for _ in range(number)]


def told(found):
    return Counter(found.values)


def test_enough_people_are_told_of_as_they_are():
    found = coarsen(crowd_of(({"origin": "Asia"}, 5), ({"origin": "Europe"}, 5)), FIELDS[:1], k=5)
    assert told(found) == {("Asia",): 5, ("Europe",): 5}


def test_regions_are_widened_before_they_are_withheld():
    crowd = crowd_of(*(({"origin": name}, 3) for name in ("Asia", "Africa", "Europe", "North America")))
    found = coarsen(crowd, FIELDS[:1], k=5)
    assert told(found) == {("Global South",): 6, ("Global North",): 6}
    assert (found.report[0].level, found.report[0].published) == (1, 12)


def test_age_bands_are_merged():
    ages = [field for field in FIELDS if field.name == "age_band"]
    crowd = crowd_of(*(({"age_band": value}, 3) for value in ("18-24", "25-34", "35-44", "45-54")))
    assert told(coarsen(crowd, ages, k=5)) == {("18-34",): 6, ("35-54",): 6}


def test_one_who_stands_out_is_withheld_and_the_others_are_not():
    gender = [field for field in FIELDS if field.name == "gender"]
    found = coarsen(crowd_of(({"gender": "woman"}, 9), ({"gender": "non-binary"}, 1)), gender, k=5)
    # four women hide the one who would be the only blank
    assert told(found) == {("woman",): 5, (None,): 5}
    assert (found.report[0].published, found.report[0].rare) == (5, 5)


def test_a_whole_group_hides_the_one_whom_too_few_could():
    gender = [field for field in FIELDS if field.name == "gender"]
    groups = ({"gender": "woman"}, 6), ({"gender": "man"}, 5), ({}, 1)
    assert told(coarsen(crowd_of(*groups), gender, k=5)) == {("woman",): 6, (None,): 6}


def test_a_whole_group_that_says_little_is_hidden_before_a_smaller_one_that_says_more():
    fields = [make_field(name, ["yes"], own_question=True) for name in ("first", "second")]
    crowd = crowd_of(({"first": "yes", "second": "yes"}, 5), ({"first": "yes"}, 6), ({}, 1))
    assert told(coarsen(crowd, fields, k=5)) == {("yes", "yes"): 5, (None, None): 7}


def test_people_who_would_have_to_be_hidden_count_against_a_finer_recoding():
    crowd = crowd_of(({"origin": "Asia"}, 5), ({"origin": "Africa"}, 2))
    assert told(coarsen(crowd, FIELDS[:1], k=5)) == {("Global South",): 7}


def test_who_stands_out_is_told_of_like_the_most_people():
    """Of what is one value poorer, it is what most others say already."""
    fields = [make_field(name, ["yes"], own_question=True) for name in ("first", "second")]
    crowd = crowd_of(({"first": "yes", "second": "yes"}, 1), ({"first": "yes"}, 5), ({"second": "yes"}, 3))
    assert told(coarsen(crowd, fields, k=3)) == {("yes", None): 6, (None, "yes"): 3}


def test_a_rare_combination_of_common_values_loses_one_of_them():
    fields = [field for field in FIELDS if field.name in ("origin", "gender")]
    crowd = crowd_of(
        ({"origin": "Asia", "gender": "woman"}, 12),
        ({"origin": "Asia", "gender": "man"}, 5),
        ({"origin": "Europe", "gender": "man"}, 12),
        ({"origin": "Europe", "gender": "woman"}, 4),
        ({"origin": "Africa", "gender": "woman"}, 1),
    )
    assert told(coarsen(crowd, fields, k=5)) == {
        ("Asia", "woman"): 12,
        ("Asia", "man"): 5,
        ("Europe", "man"): 12,
        (None, "woman"): 5,
    }


def test_each_blank_is_counted_for_what_it_is():
    gender = [field for field in FIELDS if field.name == "gender"]
    crowd = crowd_of(({"gender": "woman"}, 9), ({"gender": "agender"}, 1), ({}, 1))
    (report,) = coarsen(crowd, gender, k=5).report
    assert (report.published, report.own_words, report.rare) == (6, 1, 3)
    # of steps that publish as much, the finest is taken
    (report,) = coarsen(crowd_of(({"age_band": "65+"}, 1)), [BY_NAME["age_band"]], k=5).report
    assert (report.level, report.published, report.rare) == (0, 0, 1)


def test_what_is_widened_or_blank_is_not_exact():
    found = Coarsened(("origin", "gender", "age_band"), (("Global South", "woman", None),), ())
    assert found.exact_values(0) == {"gender": "woman"}


def test_the_smallest_group_is_of_those_of_whom_something_is_told():
    def smallest(*groups):
        crowd = [(program, (value,)) for program, value, number in groups for _ in range(number)]
        simulated, values = zip(*crowd, strict=True)
        keys, coarsened = tuple(range(len(crowd))), Coarsened(("gender",), values, ())
        return People(keys, simulated, True, coarsened, True, Linkage(), {}).smallest_group()

    assert smallest((False, "woman", 3), (False, None, 2), (True, None, 1)) == 2
    assert smallest((False, "woman", 3), (True, "woman", 2)) == 2
    assert smallest((False, None, 3)) is None


def test_programs_do_not_hide_people():
    gender = [field for field in FIELDS if field.name == "gender"]
    crowd = [Person(True, {"gender": "woman"})] * 20 + [Person(False, {"gender": "woman"})]
    assert coarsen(crowd, gender, k=5).values[-1] == (None,)


def test_programs_are_told_of_all_the_same_when_people_are_withheld():
    gender = [field for field in FIELDS if field.name == "gender"]
    programs = [Person(True, {"gender": "man"})] * 20
    people = crowd_of(({"gender": "woman"}, 9), ({"gender": "non-binary"}, 1))
    values = coarsen([*programs, *people], gender, k=5).values
    assert Counter(values[:20]) == {("man",): 20}
    assert Counter(values[20:]) == {("woman",): 5, (None,): 5}


def test_case_does_not_matter_and_nobody_at_all_is_no_error():
    assert coarsen(crowd_of(({"origin": " asia "}, 5)), FIELDS[:1], k=5).values[0] == ("Asia",)
    assert coarsen([], FIELDS, k=5).values == ()
    assert coarsen(crowd_of(({}, 1)), [], k=5).values == ((),)


def test_k_is_a_number_of_people():
    with pytest.raises(ValueError, match="k is 0"):
        coarsen([], FIELDS, k=0)
