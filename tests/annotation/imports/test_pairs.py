"""One's own pairs as a source: checked whole first, stored whole or not at all."""

from __future__ import annotations

import pytest
from django.core.management import CommandError, call_command

from annotation.catalogue.services import SourceDetails, SourceForbidden, SourceRefused
from annotation.imports.readers import pairs
from annotation.imports.services import pairs as services
from annotation.models import Association, Attribute, AuditEvent, Axis, IdentityGroup, Source
from tests import factories

pytestmark = pytest.mark.django_db
DETAILS = SourceDetails(title="Mine", licence="CC0", origin="a notebook", citation="Me")


@pytest.fixture
def lead():
    return factories.user("lead", lead=True)


@pytest.fixture(autouse=True)
def _known():
    for name in ("Mexican", "French", "Nepali"):
        factories.group(name)
    factories.attribute("wine")


def check(text, **options):
    options = {"axis": Axis.NATIONALITY, "create_groups": False, **options}
    return services.check_pairs(pairs.read_typed(text), **options)


def add(text, by, *, name="mine", axis=Axis.NATIONALITY, **options):
    checked = check(text, axis=axis, **options)
    return services.add_source(name=name, details=DETAILS, axis=axis, checked=checked, by=by)


def test_pairs_become_a_source_of_its_owner(lead):
    text = (
        "identity,attribute,in_stereotypical,in_nonstereotypical,in_unsure,offensiveness\n"
        "mexican,Sombrero,3,0,0,-1 2\nFrench,wine,,,,\n"
    )
    source = add(text, lead)
    assert (source.owner, source.title, source.licence, source.origin) == (lead, "Mine", "CC0", "a notebook")
    assert source.created_at is not None
    hat, wine = source.associations.order_by("pk")
    assert (hat.group.name, hat.attribute.text, hat.in_stereotypical, hat.out_stereotypical) == (
        "Mexican",
        "sombrero",
        3,
        None,
    )
    assert (hat.offensiveness, hat.offensiveness_mean) == ([-1.0, 2.0], 0.5)
    assert (wine.in_stereotypical, wine.offensiveness_mean) == (None, None)
    event = AuditEvent.objects.get()
    assert (event.what, event.by, event.details) == (
        "source created",
        lead,
        {"source": "mine", "associations": 2, "new_groups": 0, "new_attributes": 1},
    )


def test_checking_stores_nothing_and_counts():
    checked = check("Mexican, wine\nMexican, WINE\nFrench, beret\n\n")
    assert (len(checked.pairs), checked.groups, checked.attributes) == (2, 2, 2)
    assert (checked.new_attributes, checked.repeated, checked.blank) == (1, 1, 1)
    assert Attribute.objects.count() == 1
    assert not Source.objects.exists()
    votes = "identity,attribute,{0}_stereotypical,{0}_nonstereotypical,{0}_unsure,offensiveness"
    for who in ("in", "out"):
        checked = check(f"{votes.format(who)}\nMexican,a,1,0,0,\nMexican,b,,,,2\nMexican,c,1,0,0,\n")
        assert (checked.voted, checked.rated) == (2, 1)


def test_an_unknown_identity_is_refused_with_the_nearest_name(lead):
    checked = check("French, wine\nMexcan, hat\nmexcan, poor\nXyz, hat")
    assert [(error.row, error.column) for error in checked.errors] == [
        (2, "identity"),
        (3, "identity"),
        (4, "identity"),
    ]
    assert "Did you mean 'Mexican'?" in checked.errors[0].cure
    assert "Did you mean" not in checked.errors[2].cure
    # a name that the table of identities has needs none, and one of another axis is none
    for name in ("Brazilian", "Texann"):
        assert "Did you mean" not in check(f"{name}, hat").errors[0].cure
    assert "Did you mean" in check("Texann, hat", axis=Axis.US_STATE).errors[0].cure
    with pytest.raises(SourceRefused, match="3 lines are wrong, first line 2"):
        services.add_source(name="mine", details=DETAILS, axis=Axis.NATIONALITY, checked=checked, by=lead)
    assert not Source.objects.exists()


def test_or_created_with_its_demonym_and_what_the_table_of_identities_knows(lead):
    text = "Brazilian, samba\nMartian, green\nmartian, small"
    add(text, lead, create_groups=True, demonyms={"Martian": " of  Mars "})
    martian = IdentityGroup.objects.get(name="Martian")
    assert (martian.demonym, martian.country, martian.region) == ("of Mars", "", "")
    brazilian = IdentityGroup.objects.get(name="Brazilian")
    assert (brazilian.demonym, brazilian.country, brazilian.region) == (
        "Brazilian",
        "Brazil",
        "Latin America",
    )
    assert IdentityGroup.objects.count() == 5
    [venusian] = check("Venusian, hot", create_groups=True, demonyms={"Venusian": "x" * 121}).unknown
    assert venusian.demonym == "x" * 120


def test_the_same_name_on_another_axis_is_another_group(lead):
    assert check("Mexican, hat", axis=Axis.OTHER).errors
    source = add("Mexican, hat", lead, axis=Axis.OTHER, create_groups=True)
    assert source.associations.get().group.axis == Axis.OTHER
    again = add("Mexican, hat", lead, name="again")
    assert again.associations.get().group.axis == Axis.NATIONALITY


def test_a_pair_twice_with_other_votes_is_an_error():
    text = (
        "identity,attribute,out_stereotypical,out_nonstereotypical,out_unsure\n"
        "Mexican,hat,3,0,0\nMexican,Hat,3,0,0\nMEXICAN,hat,2,1,0\n"
    )
    checked = check(text)
    (error,) = checked.errors
    assert (error.row, checked.repeated) == (4, 1)
    assert "line 2" in error.problem


def test_more_new_groups_than_a_source_may_add_are_a_wrong_axis(monkeypatch):
    monkeypatch.setattr(services, "MOST_NEW_GROUPS", 2)
    assert not check("A, x\nB, x", create_groups=True).errors
    checked = check("A, x\nB, x\nC, x", create_groups=True)
    assert "Check the axis" in checked.errors[0].cure
    # to look for what each of very many could be meant to be would take long
    _axis, *unknown = check("Mexcan, x\nFranch, x\nBrazilan, x").errors
    assert ["Did you mean" in error.cure for error in unknown] == [True, True, False]


@pytest.mark.parametrize("name", ["", "two words", "a/b", "ümlaut"])
def test_a_name_that_cannot_be_used(lead, name):
    with pytest.raises(SourceRefused, match="not a name"):
        add("Mexican, hat", lead, name=name)


def test_a_source_has_a_title_and_pairs(lead):
    def store(checked, title="Mine", name="mine"):
        details = SourceDetails(title=title, licence="", origin="", citation="")
        return services.add_source(
            name=name, details=details, axis=Axis.NATIONALITY, checked=checked, by=lead
        )

    with pytest.raises(SourceRefused, match="needs a title"):
        store(check("Mexican, hat"), title=" ")
    with pytest.raises(SourceRefused, match="no pairs"):
        store(services.check_pairs(pairs.PairFile(), axis=Axis.NATIONALITY, create_groups=True))
    with pytest.raises(SourceRefused, match="80 characters"):
        store(check("Mexican, hat"), name="x" * 81)
    assert store(check("Mexican, hat"), title=" Ours ", name="x" * 80).title == "Ours"


def test_a_name_that_is_taken_and_an_account_that_may_not(lead):
    factories.source("mine")
    with pytest.raises(SourceRefused, match="already"):
        add("Mexican, hat", lead)
    with pytest.raises(SourceForbidden):
        add("Mexican, hat", factories.user(), name="other")
    assert not Association.objects.exists()


def test_what_fails_halfway_leaves_nothing(lead, monkeypatch):
    def full(*rows, **options):
        raise OSError("disk full")

    monkeypatch.setattr(services.AuditEvent.objects, "create", full)
    with pytest.raises(OSError, match="disk full"):
        add("Mexican, hat\nMartian, green", lead, create_groups=True)
    assert (Source.objects.count(), Association.objects.count(), Attribute.objects.count()) == (0, 0, 1)
    assert not IdentityGroup.objects.filter(name="Martian").exists()


def test_the_command_checks_and_stores(tmp_path, capsys):
    file = tmp_path / "mine.csv"
    file.write_text("identity,attribute\nMexican,hat\nMexcan,hat\n")
    with pytest.raises(CommandError, match="1 lines"):
        call_command("import_pairs", file, source="mine")
    assert "mine.csv, row 3, column 'identity'" in capsys.readouterr().err
    call_command("import_pairs", file, source="mine", create_groups=True, check=True)
    assert not Source.objects.exists()
    call_command("import_pairs", file, source="mine", create_groups=True, licence="CC0")
    assert "2 associations stored as source mine" in capsys.readouterr().out
    source = Source.objects.get()
    assert (source.title, source.licence, source.owner) == ("mine", "CC0", None)
    assert source.origin == "mine.csv"
    call_command("import_pairs", file, source="other", create_groups=True, origin="a book")
    assert Source.objects.get(name="other").origin == "a book"


def test_a_missing_file_is_not_said_to_be_for_download(tmp_path):
    with pytest.raises(CommandError, match=r"no such file .*Check the path\.$"):
        call_command("import_pairs", tmp_path / "none.csv", source="mine")
    empty = tmp_path / "empty.csv"
    empty.touch()
    with pytest.raises(CommandError, match=r"the file is empty\. Name another file\.$"):
        call_command("import_pairs", empty, source="mine")
