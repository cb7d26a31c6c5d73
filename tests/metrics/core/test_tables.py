"""Tables that are sorted by URL parameters, and options that come as text. None asks a database."""

import pytest
from django.test import RequestFactory

from metrics.core import figure_options
from metrics.core.tables import Order, headings, parse_id, requested_order, url_with

COLUMNS = {"name": "Name", "n": "Number"}
TEXT = ("name",)


def request(query: str = ""):
    return RequestFactory().get(f"/x/?{query}")


@pytest.mark.parametrize(
    ("text", "found"), [("7", 7), ("9" * 18, int("9" * 18)), ("9" * 19, 0), ("x", 0), ("", 0), ("-1", 0)]
)
def test_an_id_that_no_row_can_have_is_0(text, found):
    assert parse_id(text) == found


def test_a_link_keeps_what_was_chosen_and_asks_for_no_check():
    assert url_with(request("sort=n&check=&by=group"), sort="name") == "?sort=name&by=group"


@pytest.mark.parametrize(
    ("query", "order"),
    [
        ("", Order("n", descending=True)),
        ("sort=name", Order("name", descending=False)),
        ("sort=name&dir=desc", Order("name", descending=True)),
        ("dir=asc", Order("n", descending=False)),
        ("sort=odd", Order("n", descending=True)),
        ("sort=name&dir=odd", Order("name", descending=False)),
    ],
)
def test_text_ascends_and_numbers_descend_unless_the_address_says_otherwise(query, order):
    assert requested_order(request(query), COLUMNS, TEXT, default="n") == order


@pytest.mark.parametrize(("descending", "found"), [(True, [2, 1, None]), (False, [1, 2, None])])
def test_rows_without_a_value_come_last_in_either_direction(descending, found):
    rows = [{"n": 1}, {"n": None}, {"n": 2}]
    ordered = Order("n", descending=descending).sorted(rows, lambda row, column: row[column])
    assert [row["n"] for row in ordered] == found


@pytest.mark.parametrize(
    ("descending", "state", "turned"), [(True, "descending", "asc"), (False, "ascending", "desc")]
)
def test_the_heading_of_the_sorted_column_turns_the_order_and_others_begin_with_theirs(
    descending, state, turned
):
    name, number = headings(request(), COLUMNS, sort="n", descending=descending, text_columns=TEXT)
    assert (name["state"], name["number"], name["link"]) == ("", False, "?sort=name&dir=asc")
    assert (number["state"], number["number"], number["link"]) == (state, True, f"?sort=n&dir={turned}")


@pytest.mark.parametrize(
    ("text", "most", "found"), [("", None, 3), ("1", None, 1), ("99", None, 99), ("10", 10, 10)]
)
def test_a_number_of_a_figure_is_from_one_to_the_most(text, most, found):
    assert figure_options.number({"n": text}, "n", 3, most=most) == found


@pytest.mark.parametrize(
    ("text", "most", "message"),
    [
        ("0", None, "n=0: a whole number of at least 1"),
        ("x", None, "n=x: a whole number"),
        ("²", None, "n=²: a whole number"),
        ("-1", 10, "n=-1: choose a number from 1 to 10"),
        ("11", 10, "n=11: choose a number from 1 to 10"),
    ],
)
def test_another_number_is_refused_with_those_there_are(text, most, message):
    with pytest.raises(ValueError, match=message):
        figure_options.number({"n": text}, "n", 3, most=most)


def test_a_group_of_a_figure_is_named_in_any_case_and_a_region_as_it_is():
    names = {4: "Irish", 7: "Mexican"}
    assert figure_options.groups({}, names) == [4, 7]
    assert figure_options.groups({"group": "mexican"}, names) == [7]
    with pytest.raises(
        ValueError, match=r"group=Mexicn: there is no such group here\. Did you mean 'Mexican'"
    ):
        figure_options.groups({"group": "Mexicn"}, names)
    assert figure_options.region({}) == ""
    assert figure_options.region({"region": "East Asia"}) == "East Asia"
    with pytest.raises(ValueError, match=r"region=East Asa: choose one of .*Did you mean 'East Asia'"):
        figure_options.region({"region": "East Asa"})
    assert figure_options.choice({}, "by", ("region", "group")) == "region"
