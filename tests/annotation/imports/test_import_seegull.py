"""manage.py import_seegull: what is in the database afterwards, or still not."""

import json

import pytest
from django.core.management import CommandError, call_command

from annotation.models import Association, Attribute, Axis, IdentityGroup, Region, Source
from tests import factories
from tests.annotation.imports import release_files

pytestmark = pytest.mark.django_db


def everything() -> dict[str, list]:
    """All rows that the importer may touch."""
    return {
        model.__name__: list(model.objects.order_by("pk").values())
        for model in (Source, IdentityGroup, Attribute, Association)
    }


def test_an_association_is_stored_with_its_votes_ratings_and_group(tmp_path):
    call_command("import_seegull", release_files.seegull(tmp_path))
    row = Association.objects.get(group__name="Mexican", attribute__text="poor")
    assert row.source.name == "seegull-v2"
    assert (row.in_stereotypical, row.in_nonstereotypical, row.in_unsure) == (1, 2, 0)
    assert (row.out_stereotypical, row.out_nonstereotypical, row.out_unsure) == (2, 1, 0)
    assert (row.offensiveness, row.offensiveness_mean) == ([3, 2, 1], 2)
    assert (row.group.axis, row.group.demonym, row.group.country) == (Axis.NATIONALITY, "Mexican", "Mexico")
    assert (row.group.region, row.group.global_south) == (Region.LATIN_AMERICA, True)


def test_an_association_that_nobody_rated_has_no_mean(tmp_path):
    call_command("import_seegull", release_files.seegull(tmp_path))
    row = Association.objects.get(group__name="French")
    assert (row.offensiveness, row.offensiveness_mean) == ([], None)


def test_a_second_run_changes_nothing_and_says_so(tmp_path, capsys):
    path = release_files.seegull(tmp_path)
    call_command("import_seegull", path)
    before = everything()
    capsys.readouterr()
    call_command("import_seegull", path)
    assert everything() == before
    assert "Nothing to do" in capsys.readouterr().out
    IdentityGroup.objects.update(region="")
    call_command("import_seegull", path)
    assert everything() == before
    assert "Nothing to do" not in capsys.readouterr().out


def test_states_are_groups_of_their_own_axis(tmp_path):
    factories.group("Georgian")
    rows = ("Georgian,peach,2,1,0,-1,-1,-1,-1",)
    call_command("import_seegull", release_files.states(tmp_path, rows=rows), "--states")
    row = Association.objects.get()
    assert (row.source.name, row.group.axis, row.out_stereotypical) == (
        "seegull-us-states",
        Axis.US_STATE,
        None,
    )
    assert row.group.country == "Georgia"
    assert IdentityGroup.objects.filter(name="Georgian").count() == 2


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("stereotypes_indian_states.csv", "seegull-indian-states"),
        ("Stereotypes_ USStates.csv", None),
        ("us_states_and_indian_states.csv", None),
        ("states.csv", None),
    ],
)
def test_the_axis_is_guessed_from_the_name_or_asked_for(tmp_path, name, source):
    path = release_files.states(tmp_path, name=name)
    if source:
        call_command("import_seegull", path, "--states")
        assert Source.objects.get().name == source
    else:
        with pytest.raises(CommandError, match="Add --axis us_state or --axis indian_state"):
            call_command("import_seegull", path, "--states")
        call_command("import_seegull", path, "--states", "--axis", "indian_state")
        assert Source.objects.get().name == "seegull-indian-states"


def test_an_unlisted_identity_is_stored_with_blanks_and_reported(tmp_path, capsys):
    rows = ("Atlantean,wet,2,1,0,3,0,0,-1,-1,-1,-1",)
    report = tmp_path / "report.json"
    call_command("import_seegull", release_files.seegull(tmp_path, rows=rows), "--report", report)
    group = IdentityGroup.objects.get()
    assert (group.demonym, group.country, group.region, group.global_south) == ("Atlantean", "", "", None)
    assert "Atlantean" in capsys.readouterr().out
    content = json.loads(report.read_text())
    assert content["oddities"] == [
        {
            "code": "identity_unlisted",
            "file": "stereotypes_global_v2.csv",
            "sheet": "",
            "count": 1,
            "rows_not_stored": 0,
            "what": "an identity that annotation/imports/data/identities.csv does not list",
            "done": "stored under its own name; country, region and Global South left blank",
            "example_row": 2,
            "example": "'Atlantean'",
        }
    ]
    assert content["files"][0]["rows_stored"] == 1
    assert content["created"] == {"groups": 1, "attributes": 1, "associations": 1}


def test_what_somebody_wrote_about_a_group_is_kept_and_blanks_are_filled(tmp_path):
    factories.group("Mexican", country="Estados Unidos Mexicanos", global_south=False)
    factories.group("French", region=Region.SUB_SAHARAN_AFRICA, global_south=True)
    call_command("import_seegull", release_files.seegull(tmp_path))
    group = IdentityGroup.objects.get(name="Mexican")
    assert (group.country, group.region) == ("Estados Unidos Mexicanos", Region.LATIN_AMERICA)
    assert group.global_south is False
    group = IdentityGroup.objects.get(name="French")
    assert (group.country, group.region, group.global_south) == ("France", Region.SUB_SAHARAN_AFRICA, True)


def test_the_releases_source_has_its_title_also_if_it_is_named(tmp_path):
    call_command("import_seegull", release_files.seegull(tmp_path), "--source", "seegull-v2")
    call_command("import_seegull", release_files.seegull(tmp_path), "--source", "mine")
    assert list(Source.objects.order_by("pk").values_list("name", "title")) == [
        ("seegull-v2", "SeeGULL v2, nationalities"),
        ("mine", "SeeGULL v2, nationalities (mine)"),
    ]


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ((*release_files.SEEGULL_ROWS[:2], "French,wine,0,3,0,1,2,0,NA,NA,NA,0"), "row 4: .* other votes"),
        (
            (*release_files.SEEGULL_ROWS, "French,bread,1,2,0,1,2,0,NA,NA,NA,0"),
            "is not among the 3",
        ),
        (release_files.SEEGULL_ROWS[:2], "has 2 associations, but .* already holds 3"),
    ],
)
def test_another_file_over_an_imported_one_is_refused_and_may_have_its_own_name(tmp_path, rows, said):
    call_command("import_seegull", release_files.seegull(tmp_path))
    before = everything()
    other = release_files.seegull(tmp_path, rows=rows)
    with pytest.raises(CommandError, match=f"{said}.*Nothing was changed.*--source"):
        call_command("import_seegull", other)
    assert everything() == before
    call_command("import_seegull", other, "--source", "seegull-mine")
    assert Source.objects.get(name="seegull-mine").associations.count() == len(rows)


def test_a_file_that_cannot_be_read_leaves_the_database_as_it_was(tmp_path):
    path = release_files.seegull(
        tmp_path, rows=(*release_files.SEEGULL_ROWS, "Welsh,odd,-1,0,0,0,0,0,1,1,1,1")
    )
    with pytest.raises(CommandError, match=r"row 5, column 'region_stereo'"):
        call_command("import_seegull", path)
    assert not any(everything().values())


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "Give the path of SeeGULL's CSV file, or --download"),
        (["{csv}", "--download"], "and not both"),
        (["{csv}", "--axis", "us_state"], "Add --states"),
        (["{csv}", "--source", "my source"], "letters, digits, - and _"),
        (["{csv}", "--report", "/nowhere/at/all.json"], "Name a file in a folder that exists"),
    ],
)
def test_arguments_that_do_not_fit_are_refused_before_anything_is_read(tmp_path, arguments, said):
    csv = str(release_files.seegull(tmp_path))
    with pytest.raises(CommandError, match=said):
        call_command("import_seegull", *(argument.replace("{csv}", csv) for argument in arguments))
    assert not any(everything().values())


@pytest.mark.release
def test_the_released_files_are_imported_whole_and_twice_without_change(released):
    folder = released / "seegull"
    for _ in range(2):
        call_command("import_seegull", folder / "stereotypes_global_v2.csv")
        call_command("import_seegull", folder / "stereotypes_us_states.csv", "--states")
        call_command("import_seegull", folder / "stereotypes_indian_states.csv", "--states")
        counts = {source.name: source.associations.count() for source in Source.objects.all()}
        assert counts == {"seegull-v2": 6781, "seegull-us-states": 468, "seegull-indian-states": 39}
    assert IdentityGroup.objects.filter(axis=Axis.NATIONALITY).count() == 176
    assert not IdentityGroup.objects.filter(region="").exists()
    assert not IdentityGroup.objects.filter(global_south=None).exists()
    assert not IdentityGroup.objects.filter(country="").exists()
    assert Association.objects.filter(offensiveness_mean=None).count() == 1197 + 178 + 16


def test_a_missing_or_empty_file_can_be_downloaded(tmp_path):
    with pytest.raises(CommandError, match=r"no such file .*Check the path, or use --download\."):
        call_command("import_seegull", tmp_path / "nothing.csv")
    empty = tmp_path / "empty.csv"
    empty.touch()
    with pytest.raises(CommandError, match=r"empty\. Name another file, or use --download\."):
        call_command("import_visage", attributes=empty, annotations=empty)


def test_the_source_says_where_the_release_is(tmp_path):
    call_command("import_seegull", release_files.seegull(tmp_path), "--source", "mine")
    source = Source.objects.get()
    assert (source.origin, source.licence, source.title) == (
        "https://github.com/google-research-datasets/seegull",
        "CC BY 4.0",
        "SeeGULL v2, nationalities (mine)",
    )
