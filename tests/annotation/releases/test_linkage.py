"""Who judged the same unit tells what strata withhold: measured, said, and cured."""

import random
from itertools import product

import pytest
from django.core.management import call_command
from django.urls import reverse
from hypothesis import given, settings
from hypothesis import strategies as st

from annotation.models import Annotator, Response, Slot
from annotation.releases.linkage import Linkage, linkage
from annotation.releases.request import ReleaseOptions
from annotation.releases.services import bundle
from tests import factories
from tests.annotation.api.calls import Program
from tests.annotation.releases.world import about, answered, person, released, rows, say

ORIGINS = ("Africa", "Asia", "Europe")
STRATA = tuple(f"origin: {origin}" for origin in ORIGINS)
EVERY = frozenset(STRATA)


def drawn(people, units, *, seed):
    """Each unit judged by one of each origin, whoever it happened to be."""
    chance = random.Random(seed)
    of = {place: place % 3 for place in range(people)}
    by_origin = [[one for one in of if of[one] == origin] for origin in range(3)]
    who = [tuple(chance.choice(each) for each in by_origin) for _ in range(units)]
    return who, {one: frozenset({STRATA[origin]}) for one, origin in of.items()}


@pytest.mark.parametrize(("people", "units"), [(12, 40), (30, 100)])
def test_one_annotator_of_each_origin_gives_all_origins_away(people, units):
    for seed in range(10):
        who, matched = drawn(people, units, seed=seed)
        found = linkage([(each, STRATA) for each in who], matched, published={})
        assert found == Linkage(people, people, determined=True)


@settings(max_examples=40)
@given(seed=st.integers(0, 10_000), units=st.integers(1, 7), told=st.sets(st.integers(0, 6), max_size=2))
def test_what_is_said_to_be_found_has_no_other_solution(seed, units, told):
    """Against every way to give seven people origins that fill all units, from the same start."""
    given_out, matched = drawn(7, units, seed=seed)
    who = sorted({tuple(sorted(each)) for each in given_out})
    people = sorted({one for each in who for one in each})
    found = linkage([(each, STRATA) for each in who], matched, dict.fromkeys(told, EVERY))
    degree = {one: sum(one in each for each in who) for one in people}
    first = max(who, key=lambda each: sum(map(degree.get, each)))
    known = {one: matched[one] for one in people if one in told or one in first}
    kinds = [frozenset({text}) for text in STRATA]
    ways = [
        way
        for values in product(kinds, repeat=len(people))
        if all((way := dict(zip(people, values, strict=True)))[one] == kind for one, kind in known.items())
        and all(len(frozenset().union(*(way[one] for one in each))) == 3 for each in who)
    ]
    hidden = [one for one in people if one not in told]
    sure = [one for one in hidden if len({way[one] for way in ways}) == 1]
    assert found.hidden == len(hidden)
    if set(sure) <= set(first) and len(sure) < len(hidden):
        sure = []  # assumed, and nothing followed
    # eliminating one by one finds nearly everything that there is; on seven people all of it
    assert found.found == len(sure)


def test_places_for_everybody_tell_nothing_and_what_is_told_is_not_hidden():
    who, matched = drawn(12, 40, seed=1)
    assert linkage([(each, ("any",) * 3) for each in who], matched, published={}) == Linkage()
    everybody = dict.fromkeys(range(12), EVERY)
    assert linkage([(each, STRATA) for each in who], matched, everybody) == Linkage()
    del everybody[11]
    assert linkage([(each, STRATA) for each in who], matched, everybody) == Linkage(1, 1, determined=True)


def test_a_place_for_anybody_but_men_leaves_most_open():
    matched = {one: frozenset({"gender: not male"} if one % 2 else ()) for one in range(8)}
    slots = ("any", "any", "gender: not male")
    found = linkage([((0, 1, 2), slots), ((3, 4, 5), slots), ((6, 7, 1), slots)], matched, published={})
    assert (found.hidden, found.found) == (8, 0)
    # two who are known not to be women leave it to the third
    men = dict.fromkeys((0, 2), frozenset({"gender: not male"}))
    assert linkage([((0, 2, 1), slots)], matched, men) == Linkage(1, 1, determined=True)
    # also where that one is of a unit about whose people nothing else is assumed
    units = [((0, 1, 2), slots), ((4, 5, 6), slots)]
    men = dict.fromkeys((4, 6), frozenset({"gender: not male"}))
    assert linkage(units, matched, men) == Linkage(4, 4, determined=True)


def test_another_design_hides_nothing_of_this_one():
    """Origins follow from one task, and what another reserves for women stays open."""
    who, matched = drawn(12, 40, seed=2)
    women = {one: texts | ({"gender: not male"} if one % 2 else set()) for one, texts in matched.items()}
    # whichever of the two is looked at first
    for others in ((0, 1, 2), (3, 4, 5)), ((6, 7, 8), (9, 10, 11)):
        units = [(each, STRATA) for each in who]
        units += [(each, ("any", "any", "gender: not male")) for each in others]
        assert linkage(units, women, published={}) == Linkage(12, 12, determined=True)
        genders = dict.fromkeys(range(12), frozenset({"gender: not male"}))
        assert linkage(units, women, genders) == Linkage(12, 12, determined=True)
        origins = dict.fromkeys(range(12), EVERY)
        assert linkage(units, women, origins) == Linkage(6, 0)


def twelve():
    """Twelve people, four of an origin, who let nobody know it, and 40 units with one of each origin."""
    made = factories.study("live", contact="studies@example.org")
    factories.consent_text(made)
    task = factories.task(made, strata=STRATA)
    who, _ = drawn(12, 40, seed=7)
    people = [person({"origin": ORIGINS[place % 3]}, publish=False) for place in range(12)]
    units = factories.attribute_units(task, len(who))
    factories.responses(
        (unit, [1 + one % 5], people[one]) for unit, each in zip(units, who, strict=True) for one in each
    )
    return made


@pytest.fixture(scope="module")
def made(once):
    return once(twelve)


@pytest.fixture
def study(made, db, tmp_path):
    return made.copied(tmp_path)


def coloured(folder):
    """How many of three groups of people who never share a unit somebody who has only the files can make:
    each new person goes where the people they met do not. None where nobody can be followed."""
    met: dict[str, set[str]] = {}
    for unit in {row["unit"] for row in rows(folder, "annotations.csv")}:
        who = {row["annotator"] for row in rows(folder, "annotations.csv") if row["unit"] == unit}
        for one in who - {""}:
            met.setdefault(one, set()).update(who - {one})
    colours: dict[str, int] = {}
    for one in sorted(met, key=lambda each: -len(met[each])):
        colours[one] = min({0, 1, 2} - {colours.get(other) for other in met[one]})
    return len(set(colours.values())), len(met)


def test_the_report_the_card_and_the_page_say_so_and_the_cure_works(study, tmp_path, client):
    admin = factories.user("admin", admin=True)
    client.force_login(admin)
    program = Program(admin)
    report = program.get("studies/live/release-report").json()
    assert report["strata_worked_out"] == {"hidden": 12, "found": 12, "determined": True}
    page = client.get(reverse("release_page", args=["live"])).text
    assert "infer the withheld strata for all 12 people" in page
    linked = released(study, tmp_path / "linked")
    assert "**Who judged the same unit discloses more.**" in (linked / "README.md").read_text()
    assert about(linked)["strata_worked_out"] == {"hidden": 12, "found": 12, "determined": True}
    assert coloured(linked) == (3, 12)

    cured = released(study, tmp_path / "cured", without_pseudonyms=True)
    assert coloured(cured) == (0, 0)
    assert rows(cured, "annotators.csv") == []
    assert {(row["annotator"], row["stratum"]) for row in rows(cured, "annotations.csv")} == {("", "")}
    card = (cured / "README.md").read_text()
    assert "Who judged the same unit discloses more" not in card
    assert "nobody can tell which answers" in card
    assert "annotators, agreement within and between groups" in card
    asked = "studies/live/release-report?without_pseudonyms=yes"
    assert program.get(asked).json()["strata_worked_out"]["hidden"] == 0


def worked_out(study) -> Linkage:
    return bundle.preview(study=study, options=ReleaseOptions()).people.linkage


@pytest.mark.django_db
def test_somebody_who_says_something_else_now_filled_slots_of_both(study):
    """So less follows: that person no longer is of one of three groups."""
    say(Annotator.objects.order_by("pk").first(), "origin", "Asia", publish=False)
    assert worked_out(study) == Linkage(12, 6, determined=False)


@pytest.mark.django_db
def test_nothing_follows_of_answers_without_a_slot_or_a_person(study):
    unit = factories.attribute_unit(study.tasks.get())
    answer = factories.response(unit, values=[1], who=person({"origin": "Asia"}, publish=False))
    assert worked_out(study).hidden == 13
    Response.objects.filter(pk=answer.pk).update(slot=None)
    assert worked_out(study).hidden == 12
    Response.objects.filter(pk=answer.pk).update(slot=answer.slot, annotator=None)
    assert worked_out(study).hidden == 12


@pytest.mark.django_db
def test_as_many_units_are_examined_as_are_said_to_be(study, monkeypatch):
    monkeypatch.setattr("annotation.releases.annotators.MAX_UNITS", 1)
    assert worked_out(study).hidden == 3


@pytest.mark.django_db
def test_nobody_who_has_two_releases_without_pseudonyms_finds_the_order_of_people(study, tmp_path, capsys):
    orders = []
    for name in ("one", "two"):
        call_command("release", "live", "--out", str(tmp_path / name), "--without-pseudonyms")
        orders.append([row["value"] for row in rows(tmp_path / name, "annotations.csv")])
    assert "With --without-pseudonyms" not in capsys.readouterr().out
    assert sorted(orders[0]) == sorted(orders[1])
    assert orders[0] != orders[1]


@pytest.mark.django_db
def test_without_pseudonyms_not_even_those_who_let_it_be_published_are_told_of(tmp_path):
    who = [person({"origin": ORIGINS[place % 3]}) for place in range(15)]
    study = answered(
        who, name="other", units=2, strata=[f"origin: {ORIGINS[place % 3]}" for place in range(15)]
    )
    assert {row["stratum"] for row in rows(released(study, tmp_path / "r"), "annotations.csv")} == set(STRATA)
    folder = released(study, tmp_path / "without", without_pseudonyms=True)
    assert (folder / "annotators.csv").read_text().strip() == "annotator,simulated"
    assert {row["stratum"] for row in rows(folder, "annotations.csv")} == {""}


@pytest.mark.django_db
def test_a_release_without_pseudonyms_comes_back_with_the_same_answers(study, tmp_path):
    folder = released(study, tmp_path / "r", without_pseudonyms=True)
    call_command("import_release", str(folder), "--name", "again")
    again = type(study).objects.get(name="again")
    found = bundle.preview(study=again, options=ReleaseOptions())
    assert (found.responses, len(found.people)) == (120, 0)
    assert set(Slot.objects.filter(study=again).values_list("stratum", "annotator")) == {("any", None)}
