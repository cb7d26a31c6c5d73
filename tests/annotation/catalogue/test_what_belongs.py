"""What belongs to one row of the catalogue, what its source holds, and pages of rows that are much alike."""

from __future__ import annotations

import pytest

from annotation.catalogue import queries, services
from annotation.catalogue.forms import AssociationFilters, SuccessorForm
from annotation.catalogue.keyset import stretch
from annotation.catalogue.source_form import SourceForm
from annotation.models import Association, AuditEvent, IdentityGroup, Purpose
from tests import factories
from tests.annotation.api.calls import Program, is_problem

pytestmark = pytest.mark.django_db


@pytest.fixture
def lead():
    return factories.user("lead", lead=True)


@pytest.fixture
def mine(lead):
    source = factories.source("mine")
    source.owner = lead
    source.save()
    return source


def test_groups_of_one_name_are_neither_missed_nor_repeated_between_pages():
    axes = ("nationality", "race_colour", "us_state")
    made = [IdentityGroup.objects.create(name="Georgian", demonym="Georgian", axis=axis) for axis in axes]

    def page(**place):
        return stretch(IdentityGroup.objects.all(), field="name", size=1, **place)

    first = page()
    second = page(after=first.after)
    third = page(after=second.after)
    assert [*first.rows, *second.rows, *third.rows] == made
    back = page(before=third.before)
    assert ([*back.rows], back.before, back.after) == ([made[1]], made[1].pk, made[1].pk)
    start = page(before=back.before)
    assert ([*start.rows], start.before, start.after) == ([made[0]], None, made[0].pk)
    gone = page(before=10**9)
    assert ([*gone.rows], gone.before, gone.after) == ([made[0]], None, made[0].pk)


def test_a_source_tells_how_many_pairs_have_votes_of_either_pool_and_how_many_have_ratings(mine):
    nobody = {"in_votes": (None,) * 3, "out_votes": None, "from_source": mine}
    factories.association(text="in", **{**nobody, "in_votes": (1, 0, 0)})
    factories.association(text="out", **{**nobody, "out_votes": (0, 1, 0)})
    factories.association(text="rated", **nobody, mean=1.5)
    factories.association(group_name="French", text="nothing", **nobody)
    factories.association(group_name="Nepali", text="elsewhere")
    assert queries.source_counts(mine) == queries.SourceCounts(associations=4, groups=2, voted=2, rated=1)


def test_words_that_only_checks_show_are_marked_among_the_attributes(client, lead):
    task = factories.task(factories.rating_study(texts=("asked",)), kind="offensiveness")
    for text in ("decoy", "asked", "paired"):
        factories.attribute_unit(task, text, purpose=Purpose.ATTENTION)
    factories.association(text="paired")
    factories.attribute("unused")
    client.force_login(lead)
    page = client.get("/catalogue/attributes/")
    marked = {row.text for row, _ in page.context["rows"] if row.pk in page.context["only_in_checks"]}
    assert (marked, page.text.count("only in checks")) == ({"decoy"}, 1)
    (decoy,) = page.context["only_in_checks"]
    assert "Nobody studies this attribute" in client.get(f"/catalogue/attributes/{decoy}/").text


def test_other_sources_of_a_pair_are_those_of_both_its_group_and_its_attribute(mine):
    hat = factories.association(text="hat", from_source=mine)
    last, first = (factories.association(text="hat", from_source=factories.source(name)) for name in "ba")
    factories.association(text="poor")
    factories.association(group_name="French", text="hat")
    assert queries.other_votes(hat) == [first, last], "by the titles of their sources"


def test_a_page_of_one_attribute_lists_its_pairs_alone(client, lead):
    hat = factories.association(text="hat")
    factories.association(text="poor")
    client.force_login(lead)
    page = client.get(f"/catalogue/attributes/{hat.attribute_id}/")
    assert [*page.context["page"].rows] == [hat]


def test_links_to_other_pages_keep_the_filters_and_lose_the_place(client, lead):
    client.force_login(lead)
    page = client.get("/catalogue/attributes/", {"contains": "a", "after": "1", "before": "2"})
    assert page.context["query"] == "contains=a&"


def test_a_source_is_superseded_by_another_which_only_its_owner_chooses(client, lead, mine):
    for name in ("newer", "another"):
        source = factories.source(name)
        source.superseded_by = mine
        source.save()
    client.force_login(lead)
    page = client.get("/catalogue/sources/mine/").context
    assert [name for name, _ in page["successor"].fields["successor"].choices] == ["", "another", "newer"]
    assert page["successor"].initial == {"successor": ""}
    assert [each.name for each in page["supersedes"]] == ["another", "newer"]
    theirs = client.get("/catalogue/sources/newer/").context
    assert (theirs["may_edit"], theirs["successor"]) == (False, None)
    assert SuccessorForm(source).initial == {"successor": "mine"}


def test_what_is_noted_of_a_source_is_what_changed_and_nothing_if_nothing_did(lead, mine):
    same = {"title": "mine", "licence": "", "origin": "", "citation": ""}
    for details in (same, {**same, "licence": " CC0 "}, {**same, "licence": "CC0"}):
        services.edit_source(source=mine, details=services.SourceDetails(**details), by=lead)
    with pytest.raises(services.SourceRefused, match="needs a title"):
        services.edit_source(source=mine, details=services.SourceDetails(title=" "), by=lead)
    (event,) = AuditEvent.objects.filter(what="source changed")
    assert event.details == {"source": "mine", "fields": "licence"}


def test_a_source_that_changed_since_it_was_read_is_not_overwritten(lead, mine):
    program = Program(lead)
    read = program.get("sources/mine")["ETag"]
    program("PATCH", "sources/mine", {"citation": "Me"})
    is_problem(program("PATCH", "sources/mine", {"citation": "You"}, **{"If-Match": read}), 412)
    mine.refresh_from_db()
    assert mine.citation == "Me"


def test_lists_are_in_the_order_of_names_with_the_number_of_pairs_of_each(client, lead, mine):
    for group, text in (("Nepali", "wise"), ("French", "poor"), ("French", "hat"), ("French", "wise")):
        factories.association(group_name=group, text=text, from_source=mine)
    factories.source("another")
    client.force_login(lead)
    lists = {
        path: [(str(row), number) for row, number in client.get(f"/catalogue/{path}/").context["rows"]]
        for path in ("groups", "attributes", "sources")
    }
    assert lists == {
        "groups": [("French", 3), ("Nepali", 1)],
        "attributes": [("hat", 1), ("poor", 1), ("wise", 2)],
        "sources": [("another", 0), ("mine", 4)],
    }
    form = client.get("/catalogue/groups/").context["form"]
    assert [name for name, _ in form.fields["source"].choices] == ["", "another", "mine"]


@pytest.mark.parametrize(
    ("path", "without"), [("groups", {"group_contains", "axis", "region"}), ("attributes", {"contains"})]
)
def test_a_page_of_one_row_has_no_filter_of_what_it_fixes(client, lead, path, without):
    pair = factories.association()
    client.force_login(lead)
    number = pair.group_id if path == "groups" else pair.attribute_id
    form = client.get(f"/catalogue/{path}/{number}/").context["form"]
    assert set(AssociationFilters.base_fields) - set(form.fields) == without


def test_studies_that_use_a_source_are_named_to_those_who_lead_them_and_else_counted(lead, mine):
    later, sooner = (
        factories.study(title=title, leads=[lead], stereotype_source=mine) for title in ("Words", "Images")
    )
    factories.study(stereotype_source=mine)
    factories.study(leads=[lead])
    assert queries.uses(mine, user=lead) == queries.Uses(visible=(sooner, later), others=1)
    assert queries.uses(mine, user=lead).total == 3


def test_what_becomes_of_a_source_is_noted_with_its_successor_and_its_pairs(lead, mine):
    newer = factories.source("newer")
    factories.association(from_source=mine, text="hat")
    factories.association(from_source=mine, text="poor")
    stays = factories.association(from_source=newer, text="hat")
    for successor in (newer, None):
        services.supersede_source(source=mine, successor=successor, by=lead)
    assert services.delete_source(source=mine, by=lead) == 2
    assert list(Association.objects.all()) == [stays]
    assert [event.details for event in AuditEvent.objects.order_by("pk")] == [
        {"source": "mine", "successor": "newer"},
        {"source": "mine", "successor": "–"},
        {"source": "mine", "associations": 2},
    ]


def test_what_describes_a_source_is_as_long_as_can_be_stored(lead, mine):
    longest = {"title": 200, "licence": 80, "origin": 500, "citation": 4000}
    program = Program(lead)
    for more, status in ((0, 200), (1, 400)):
        details = {name: "x" * (letters + more) for name, letters in longest.items()}
        assert program("PATCH", "sources/mine", details).status_code == status
        assert set(SourceForm(details).errors) == (set(longest) if more else set())


def test_as_many_votes_can_be_asked_for_as_can_be_stored(lead):
    program, form = Program(lead), AssociationFilters
    for votes, status in ((32_767, 200), (32_768, 400)):
        assert program.get(f"associations?in_min={votes}").status_code == status
        assert form({"in_min": votes, "out_min": votes}).is_valid() == (status == 200)
    for letters, status in ((120, 200), (121, 400)):
        assert program.get(f"associations?group={'x' * letters}").status_code == status
    for number, wrong in ((2**63 - 1, set()), (2**63, {"after", "before"})):
        assert set(form({"after": number, "before": number}).errors) == wrong
