"""Studies as files again: a study made from its own file is the same study."""

from dataclasses import replace
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from annotation.models import ConsentText, Option, OptionRole, Slot, Study, Task, Unit
from annotation.studies.errors import StudyRefused
from annotation.studies.services import studies, study_files
from annotation.studies.study_file.reading import StudyFile, read_study_file, read_study_text
from annotation.studies.study_file.writing import study_toml
from tests import factories
from tests.annotation.studies import world as study_world

pytestmark = pytest.mark.django_db


def everything():
    factories.user("maria")
    factories.user("noor")
    study_world.everything()


@pytest.fixture(scope="module")
def made_world(once):
    once(everything)


@pytest.fixture
def world(made_world, db):
    """What the files name."""


def made(text: str) -> Study:
    return studies.apply_file(file=read_study_text(text), by=None).study


def content(study: Study) -> dict[str, list]:
    """All that makes a study what it is, without keys and times."""
    return {
        "study": [
            {
                key: value
                for key, value in row.items()
                if key not in {"id", "name", "created_at", "opened_at", "closed_at"}
            }
            for row in Study.objects.filter(pk=study.pk).values()
        ],
        "leads": sorted(study.leads.values_list("username", flat=True)),
        "consent": list(
            ConsentText.objects.filter(study=study)
            .order_by("language")
            .values_list("version", "language", "text", "content_warning")
        ),
        "tasks": list(
            Task.objects.filter(study=study)
            .order_by("kind")
            .values_list(
                "kind", "version", "wording", "instructions", "overlap", "strata", "slot_strata",
                "translations", "examples", "page_size", "image_set__name", "seed",
                "people_share", "people_units",
            )
        ),
        "units": list(
            Unit.objects.filter(task__study=study)
            .order_by("task__kind", "position")
            .values_list(
                "task__kind", "position", "attribute__text", "association", "image", "page", "repeat",
                "purpose", "feedback",
            )
        ),
        "options": list(
            Option.objects.filter(unit__task__study=study)
            .order_by("unit__task__kind", "unit__position", "position")
            .values_list(
                "unit__task__kind", "unit__position", "position", "attribute__text", "role", "expected",
            )
        ),
        "slots": list(
            Slot.objects.filter(study=study)
            .order_by("queue")
            .values_list("queue", "unit__task__kind", "unit__position", "index", "stratum", "state")
        ),
    }  # fmt: skip


def test_a_file_with_every_key_makes_a_study_whose_file_makes_the_same_study(world):
    first = made(study_world.EVERY_KEY)
    again = study_files.to_toml(study=first)

    second = made(again.replace('name = "whole"', 'name = "whole-again"'))

    assert content(second) == content(first)
    # and the file has settled: it is written the same way from then on, but nothing was drawn any more
    said = [line for line in again.splitlines() if not line.startswith("#")]
    assert study_files.to_toml(study=second).splitlines() == [
        line.replace('"whole"', '"whole-again"') for line in said
    ]
    assert study_files.round_trip_problems(study=first) == []


def test_how_the_units_were_drawn_is_kept_and_stands_on_top_of_the_file(world):
    study = made(study_world.HEAD + study_world.DEPICTION)
    details = study.audit_events.get().details
    assert details == {
        "draws": {
            "depiction": {
                "visual": "seen", "groups": [], "allow_fewer": False, "source": "votes", "pool": "out",
                "threshold": 2, "seed": 5,
            }
        },
    }  # fmt: skip
    copy = study_files.to_copy(study=study)
    study.audit_events.create(what="status changed")
    assert study_files.to_copy(study=study) == copy
    first = study_files.to_toml(study=study).splitlines()[0]
    assert first.startswith('# depiction: listed below as it was drawn by {"allow_fewer": false')
    assert '"seed": 5' in first


def test_the_written_file_changes_nothing_in_the_study_it_was_written_from(world):
    first = made(study_world.EVERY_KEY)
    assert (
        studies.apply_file(file=read_study_text(study_files.to_toml(study=first)), by=None).outcome
        == "unchanged"
    )


BY_MEAN = study_world.EVERY_KEY.replace("visual_rule = 2", "visual_mean = 3.5")
"""The keys that exclude each other are in one of the two files each."""


@pytest.mark.parametrize("text", [study_world.EVERY_KEY, BY_MEAN])
def test_every_key_of_a_file_is_in_the_study_it_makes(world, text):
    """The round trip alone would not notice a key that is lost on the way in."""
    file = read_study_text(text)
    described = study_files.to_study_file(study=made(text))

    assert replace(described, tasks=()) == replace(file, tasks=())
    drawn = {"attributes": None, "associations": None, "pages": None}
    for said, wanted in zip(described.tasks, file.tasks, strict=True):
        assert replace(said, **drawn) == replace(wanted, **drawn)


def test_every_key_of_the_format_is_in_the_files_that_have_them_all(world):
    """So that the round trip above forgets none."""
    default = StudyFile(
        name="", title="", description="", contact="", leads=(), consent="", content_warning="",
        stereotype_source=None, stereotype_pool="out", stereotype_threshold=2, visual_rule=None, tasks=(),
    )  # fmt: skip
    files = [read_study_text(text) for text in (study_world.EVERY_KEY, BY_MEAN)]
    same = [
        field
        for field in vars(default)
        if all(getattr(default, field) == getattr(file, field) for file in files)
    ]
    assert same == []


def test_reading_what_was_written_gives_the_same_file(tmp_path):
    drawn = '[[tasks]]\nkind = "visual_nature"\nattributes = { source = "votes", limit = 3 }\n'
    for text in (study_world.EVERY_KEY, BY_MEAN, study_world.HEAD + study_world.DEPICTION + drawn):
        file = read_study_text(text)
        assert read_study_text(study_toml(file)) == file


def test_the_command_writes_the_file(world, tmp_path):
    made(study_world.EVERY_KEY)
    path, out, err = tmp_path / "whole.toml", StringIO(), StringIO()
    call_command("study_file", "whole", out=path, stdout=out, stderr=err)

    assert read_study_file(path).title == "Everything at once"
    assert (out.getvalue(), err.getvalue()) == (f"Wrote {path}.\n", "")

    call_command("study_file", "whole", stdout=(printed := StringIO()), stderr=err)
    assert printed.getvalue() == path.read_text(encoding="utf-8")


def test_a_study_that_no_file_made_is_written_with_what_would_differ(world):
    study = factories.rating_study(texts=("hat", "poor", "beret"))
    err = StringIO()
    call_command("study_file", study.name, stdout=StringIO(), stderr=err)
    assert "Warning: a study created from the file differs in tasks[1].attributes." in err.getvalue()


def test_a_draft_that_lacks_what_a_file_needs_says_so():
    study = factories.study("half", status="draft", contact="x@example.org")
    assert study_files.round_trip_problems(study=study) == [
        "the file cannot be used as it is: the table [consent] is missing. Add it; see docs/studies.md."
    ]


def test_a_study_whose_strata_no_file_may_ask_for_says_so(world):
    study = factories.rating_study(texts=("hat",), strata=("shoe_size: 44",))
    assert study_files.round_trip_problems(study=study) == [
        "the file cannot be used as it is: tasks[1].strata[1]: 'shoe_size: 44': there is no profile field "
        "'shoe_size'. There are: age_band, gender, identity_region, languages, origin, residence."
    ]


def test_associations_of_two_sources_cannot_be_written(world):
    study = made(study_world.HEAD + study_world.PREVALENCE)
    other = factories.association(text="chic", from_source=factories.source("others"))
    study.tasks.get().units.filter(position=1).update(association=other)
    with pytest.raises(StudyRefused, match="this study uses several: others, votes"):
        study_files.to_toml(study=study)


def test_an_imported_study_without_roles_cannot_be_written():
    study = factories.study("imported")
    factories.page_unit(factories.task(study, kind="depiction"), picture=factories.image())
    with pytest.raises(CommandError, match="study has some that are unassigned"):
        call_command("study_file", "imported")
    assert Option.objects.filter(role=OptionRole.UNASSIGNED).exists()


def test_a_study_that_is_not_there_and_a_file_that_cannot_be_written_are_refused(world, tmp_path):
    with pytest.raises(CommandError, match=r"There is no study 'hole'\. There are: seen\."):
        call_command("study_file", "hole")
    made(study_world.EVERY_KEY)
    with pytest.raises(CommandError, match="cannot be written"):
        call_command("study_file", "whole", out=tmp_path)
