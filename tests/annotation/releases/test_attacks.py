"""Somebody who has a release, and knows a little, tries to find people."""

from collections import Counter
from dataclasses import replace

import pyarrow.parquet as pq
import pytest

from annotation.models import AuditEvent, Response
from annotation.participation.services import withdrawals
from annotation.releases import final_check
from annotation.releases.coarsening import coarsen
from annotation.releases.linkage import Linkage
from annotation.releases.request import ReleaseOptions, ReleaseRefused
from annotation.releases.services import bundle
from annotation.releases.services import bundle as release_bundle
from tests import factories
from tests.annotation.releases.world import (
    ASIAN_MAN,
    ASIAN_WOMAN,
    EUROPEAN_MAN,
    about,
    answered,
    people,
    person,
    released,
    rows,
    say,
)

pytestmark = pytest.mark.django_db


def test_no_key_of_a_row_and_no_pseudonym_of_ours_is_in_any_file(tmp_path):
    who = people((ASIAN_WOMAN, 6))
    study = answered(who, units=3)
    Response.objects.filter(annotator=who[0]).update(language="yo")
    folder = released(study, tmp_path / "r", with_text=True)
    keys = {str(each) for each in Response.objects.values_list("client_key", flat=True)}
    secrets = keys | {one.pseudonym for one in who} | {'"yo"', ",yo,"}
    for file in folder.iterdir():
        content = file.read_bytes().decode("utf-8", "replace")
        assert not [each for each in secrets if each in content.split()]
        assert not any(each in content for each in keys)


def test_there_is_no_time_in_it_but_the_day_it_was_made(tmp_path):
    study = answered(people((ASIAN_WOMAN, 6)), units=2)
    Response.objects.update(started_at="2024-03-05T06:07:08Z", submitted_at="2024-03-05T06:08:09Z")
    folder = released(study, tmp_path / "r", with_text=True)
    for file in folder.iterdir():
        content = file.read_bytes()
        # the year alone may stand in a checksum
        assert b"2024-" not in content
        assert b"06:07" not in content
    table = pq.read_table(folder / "annotations.parquet")
    assert not [field.name for field in table.schema if "time" in str(field.type)]
    assert table.schema.metadata is None


def test_durations_are_in_steps_and_end(tmp_path):
    study = answered(people((ASIAN_WOMAN, 6)), units=1)
    for response, ms in zip(
        Response.objects.order_by("pk"), (0, 1, 5000, 5001, 119_999, 9_000_000), strict=True
    ):
        Response.objects.filter(pk=response.pk).update(active_ms=ms)
    told = sorted(
        int(row["active_seconds"]) for row in rows(released(study, tmp_path / "r"), "annotations.csv")
    )
    assert told == [5, 5, 5, 10, 120, 120]


def test_a_rare_combination_does_not_stand_out(tmp_path):
    study = answered(people((ASIAN_WOMAN, 6), (EUROPEAN_MAN, 6), (ASIAN_MAN, 1)), units=2)
    told = cells(released(study, tmp_path / "r"))
    assert len(told) > 1
    assert min(told.values()) >= 5


def cells(folder):
    """How many people share each combination of values, as somebody counts who has only the file."""
    profiles = [
        tuple(value for name, value in row.items() if name != "annotator")
        for row in rows(folder, "annotators.csv")
    ]
    return Counter(profiles)


@pytest.mark.parametrize("k", [3, 5])
def test_whoever_says_nothing_is_not_the_only_blank(tmp_path, k):
    study = answered([*people((ASIAN_WOMAN, 7), (EUROPEAN_MAN, 7)), person({})], units=2)
    told = cells(released(study, tmp_path / "r", k=k))
    assert len(told) == 3
    assert min(told.values()) >= k


def test_what_does_not_hold_in_the_written_files_is_not_published(tmp_path, monkeypatch):
    study = answered([*people((ASIAN_WOMAN, 6)), person({})], units=2)

    def as_they_said(everybody, fields, *, k):
        made = coarsen(everybody, fields, k=1)
        return replace(
            made, values=tuple(tuple(one.answers.get(f) for f in made.fields) for one in everybody)
        )

    monkeypatch.setattr("annotation.releases.annotators.coarsen", as_they_said)
    with pytest.raises(ReleaseRefused, match=r"annotators\.csv: 1 share the values.*fewer than 5"):
        released(study, tmp_path / "r")
    with pytest.raises(ReleaseRefused, match="Nothing was published"):
        b"".join(release_bundle.stream_zip(study=study, by=None, options=ReleaseOptions()))
    assert list(tmp_path.iterdir()) == []
    assert not AuditEvent.objects.exists()


@pytest.mark.parametrize("file", ["annotations.csv", "annotations.parquet"])
def test_a_stratum_that_says_more_than_the_profile_is_not_published(tmp_path, monkeypatch, file):
    who = people((ASIAN_WOMAN, 5), (EUROPEAN_MAN, 5))
    study = answered(who, units=2, strata=("origin: Asia",) * 5 + ("any",) * 5)
    monkeypatch.setattr("annotation.releases.annotators.may_publish_strata", lambda *_: True)
    if file.endswith("parquet"):
        monkeypatch.setattr(final_check, "_from_csv", lambda path: [])
    with pytest.raises(ReleaseRefused, match=rf"{file}: the stratum 'origin: Asia' discloses more"):
        released(study, tmp_path / "r", withhold=("origin",))


def test_a_stratum_is_not_told_of_somebody_who_says_something_else_now(tmp_path):
    who = people((ASIAN_WOMAN, 5), (EUROPEAN_MAN, 6))
    study = answered(who[:10], units=2, strata=("origin: Asia",) * 5 + ("any",) * 5)
    say(who[0], "origin", "Europe")
    folder = released(study, tmp_path / "r", k=2)
    assert {row["stratum"] for row in rows(folder, "annotations.csv")} == {""}


def test_what_somebody_does_not_permit_or_says_in_their_own_words_is_nowhere(tmp_path):
    who = people((ASIAN_WOMAN, 6))
    for one in who:
        say(one, "languages", "Yoruba, English")
    say(who[0], "origin", "Atlantis", own=True)
    say(who[1], "gender", "Asia-born, agender", own=True)
    for one in who[2:]:
        say(one, "residence", "Europe", publish=False)
    # a free text that happens to spell a choice is free text still
    for one in who:
        say(one, "identity_region", "Middle East", own=True)
    say(who[0], "asked_elsewhere", "yes", publish=False)
    study = answered(who, units=2)
    assert bundle.preview(study=study, options=ReleaseOptions()).people.unpermitted == {"residence": 4}
    folder = released(study, tmp_path / "r", k=2)
    assert set(rows(folder, "annotators.csv")[0]) <= {
        "annotator",
        "simulated",
        "origin",
        "gender",
        "age_band",
    }
    for file in folder.iterdir():
        content = file.read_bytes()
        for word in (b"Yoruba", b"Atlantis", b"agender", b"Middle East"):
            assert word not in content


def test_strata_do_not_tell_what_the_profile_withholds(tmp_path):
    who = [*people((ASIAN_WOMAN, 5)), person({"origin": "Europe", "gender": "woman"})]
    strata = ("origin: Asia",) * 5 + ("origin: Europe",)
    study = answered(who, units=3, strata=strata)
    folder = released(study, tmp_path / "r")
    assert {row["stratum"] for row in rows(folder, "annotations.csv")} == {""}
    assert "origin: " not in (folder / "study.toml").read_text()
    assert "# Strata are withheld" in (folder / "study.toml").read_text()
    assert "- Strata (for whom a slot was reserved) are withheld" in (folder / "README.md").read_text()
    assert "origin: " not in (folder / "release.json").read_text()
    assert "origin: Europe" not in (folder / "README.md").read_text()
    assert about(folder)["strata"] == "withheld"


def test_strata_are_told_where_they_say_nothing_new(tmp_path):
    who = people((ASIAN_WOMAN, 5), (EUROPEAN_MAN, 5))
    study = answered(who, units=2, strata=("origin: Asia",) * 5 + ("any",) * 5)
    folder = released(study, tmp_path / "r")
    assert {row["stratum"] for row in rows(folder, "annotations.csv")} == {"origin: Asia", "any"}
    assert about(folder)["tasks"][0]["strata"] == ["origin: Asia"] * 5 + ["any"] * 5
    again = released(study, tmp_path / "again", withhold=("origin",))
    assert {row["stratum"] for row in rows(again, "annotations.csv")} == {""}
    assert "origin" not in rows(again, "annotators.csv")[0]
    assert about(again)["withheld_by_choice"] == ["origin"]
    # where they are told, there is nothing to work out, even of people who say nothing
    for one in who[5:]:
        say(one, "origin", "Europe", publish=False)
    found = bundle.preview(study=study, options=ReleaseOptions()).people
    assert (found.strata_published, found.linkage) == (True, Linkage())


def test_whoever_withdrew_is_nowhere(tmp_path):
    who = people((ASIAN_WOMAN, 6))
    study = answered(who, units=3)
    for one in who:
        factories.enrolment(study, who=one)
    withdrawals.withdraw(annotator=who[0], study=study, by=None)
    folder = released(study, tmp_path / "r")
    assert len(rows(folder, "annotators.csv")) == 5
    assert len(rows(folder, "annotations.csv")) == 15


def test_who_withdraws_while_it_is_made_is_not_in_it(tmp_path, monkeypatch):
    who = people((ASIAN_WOMAN, 7))
    study = answered(who, units=3)
    for one in who:
        factories.enrolment(study, who=one)
    leaving, written = [who[0]], bundle._write_documents

    def and_somebody_leaves(about, folder):
        written(about, folder)
        if leaving:
            withdrawals.withdraw(annotator=leaving.pop(), study=study, by=None)

    monkeypatch.setattr(bundle, "_write_documents", and_somebody_leaves)
    folder = released(study, tmp_path / "r")
    assert len(rows(folder, "annotators.csv")) == 6
    assert len(rows(folder, "annotations.csv")) == 18


def test_it_is_given_up_where_people_leave_again_and_again(tmp_path, monkeypatch):
    who = people((ASIAN_WOMAN, 5))
    study = answered(who, units=1)
    for one in who:
        factories.enrolment(study, who=one)
    leaving, written = list(who), bundle._write_documents

    def and_somebody_leaves(about, folder):
        written(about, folder)
        withdrawals.withdraw(annotator=leaving.pop(), study=study, by=None)

    monkeypatch.setattr(bundle, "_write_documents", and_somebody_leaves)
    with pytest.raises(ReleaseRefused, match="Somebody withdrew while the release was made, 3 times"):
        released(study, tmp_path / "r")
    assert len(leaving) == 2
    assert list(tmp_path.iterdir()) == []
