"""Whether those enrolled can fill a study's quotas, before it opens, and how far they are."""

from io import StringIO
from itertools import product

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse
from hypothesis import example, given
from hypothesis import strategies as st

from annotation.models import EnrolmentStatus, ProfileAnswer, Study
from annotation.studies import matching
from annotation.studies.queries import fill
from annotation.studies.services import feasibility as reports
from annotation.studies.services import studies
from annotation.studies.study_file.reading import read_study_text
from tests import factories
from tests.annotation.studies import world


@example([[0, 1], [0]])
@given(st.lists(st.lists(st.integers(0, 5), unique=True, max_size=6), max_size=4))
def test_as_many_slots_are_matched_as_any_choice_could_match(candidates):
    filled = matching.match(candidates)

    people = [person for person in filled if person is not None]
    assert len(set(people)) == len(people)
    assert all(person in each for each, person in zip(candidates, filled, strict=True) if person is not None)
    # every way of giving each slot one of its people or nobody
    choices = product(*[[None, *each] for each in candidates])
    most = max(
        len(chosen)
        for chosen in ([person for person in choice if person is not None] for choice in choices)
        if len(set(chosen)) == len(chosen)
    )
    assert len(people) == most


@pytest.fixture
def asked(db) -> Study:
    return factories.rating_study(
        texts=("hat", "kind"), strata=("origin: Asia", "origin: Asia", "gender: not male"), status="draft"
    )


def enrol(study: Study, number: int = 1, **profile: str):
    return [factories.enrolment(study, who=factories.annotator(profile=profile)) for _ in range(number)]


def test_nobody_enrolled_is_a_shortage_of_every_stratum(asked):
    report = reports.report(study=asked)
    assert report.people == 0
    assert report.shortages == (
        "each item needs 2 people who match “origin: Asia”; enrolled: 0",
        "each item needs 1 person who matches “gender: not male”; enrolled: 0",
    )


def test_enough_different_people_are_feasible(asked):
    enrol(asked, 2, origin="Asia")
    enrol(asked, gender="woman")
    report = reports.report(study=asked)
    assert report.feasible
    assert {rate.stratum: (rate.wanted, rate.people, rate.open) for rate in report.rates} == {
        "origin: Asia": (4, 2, 4),
        "gender: not male": (2, 1, 2),
    }


def test_the_same_people_for_several_strata_are_not_enough(asked):
    """Each stratum alone has enough people; together they do not (Hall's condition)."""
    enrol(asked, 2, origin="Asia", gender="woman")
    report = reports.report(study=asked)
    assert report.shortages == (
        "each item needs 3 different people for origin: Asia, origin: Asia, gender: not male; those "
        "enrolled can fill 2, because the same people match several of these",
    )


def test_people_lacking_of_a_quota_for_everybody_are_told_in_plain_words(db):
    study = factories.rating_study(strata=("any", "any"))
    enrol(study)
    assert reports.report(study=study).shortages == ("each item needs 2 people; enrolled: 1",)


def test_people_who_left_do_not_count(asked):
    enrol(asked, 2, origin="Asia")
    (other,) = enrol(asked, gender="woman")
    for status in (EnrolmentStatus.BLOCKED, EnrolmentStatus.WITHDRAWN, EnrolmentStatus.SCREENED_OUT):
        other.status = status
        other.save()
        assert not reports.report(study=asked).feasible
    other.status = EnrolmentStatus.TRAINING
    other.save()
    assert reports.report(study=asked).feasible


def test_regions_are_judged_one_by_one(db):
    world.resource()
    text = world.HEAD + world.PREVALENCE.replace("seed = 6", 'strata = ["in-region"]')
    study = studies.apply_file(file=read_study_text(text), by=None).study
    enrol(study, residence="Europe")
    enrol(study, residence="South Asia")
    assert reports.report(study=study).shortages == (
        "each item needs 1 person who matches “residence: Latin America”; enrolled: 0",
    )


def test_a_question_of_the_studys_own_can_decide(db):
    study = factories.rating_study(strata=("diaspora: yes",))
    (who,) = enrol(study)
    assert not reports.report(study=study).feasible
    ProfileAnswer.objects.create(annotator=who.annotator, field="question:diaspora", value="Yes")
    assert reports.report(study=study).feasible


def test_fill_rates_count_what_is_given_and_what_is_held(asked):
    enrol(asked, 3, origin="Asia")
    unit = asked.tasks.get().units.first()
    factories.response(unit)
    rates = {rate.stratum: rate for rate in fill.fill_rates(study=asked)}
    assert (rates["origin: Asia"].filled, rates["origin: Asia"].open) == (1, 3)
    assert (rates["gender: not male"].filled, rates["gender: not male"].people) == (0, 0)


FILE = """
name = "pilot"
title = "A pilot"
contact = "studies@example.org"
[consent]
text = "What taking part means."
[[tasks]]
kind = "visual_nature"
strata = ["origin: Asia"]
attributes = ["hat"]
"""


def test_open_study_says_who_is_missing_and_opens_all_the_same(db, tmp_path):
    (tmp_path / "pilot.toml").write_text(FILE, encoding="utf-8")
    call_command("open_study", str(tmp_path / "pilot.toml"), draft=True, stdout=(first := StringIO()))
    assert "0 people are enrolled." in first.getvalue()
    assert "Not enough people yet: nobody is enrolled." in first.getvalue()

    enrol(Study.objects.get(), origin="Europe")
    call_command("open_study", str(tmp_path / "pilot.toml"), stdout=(out := StringIO()))
    assert "1 person is enrolled." in out.getvalue()
    assert "an attribute, origin: Asia: 0 of 1 answers given; 0 of those enrolled match" in out.getvalue()
    assert (
        "Not enough people yet: each item needs 1 person who matches “origin: Asia”; enrolled: 0."
        in out.getvalue()
    )
    assert Study.objects.get().status == "open"


def test_open_study_strict_opens_only_what_can_be_filled(db, tmp_path):
    (tmp_path / "pilot.toml").write_text(FILE, encoding="utf-8")
    with pytest.raises(CommandError, match=r"(?s)nobody is enrolled.*Nothing was changed"):
        call_command("open_study", str(tmp_path / "pilot.toml"), strict=True)
    assert not Study.objects.exists()

    call_command("open_study", str(tmp_path / "pilot.toml"), draft=True, stdout=StringIO())
    enrol(Study.objects.get(), origin="Asia")
    call_command("open_study", str(tmp_path / "pilot.toml"), strict=True, stdout=StringIO())
    assert Study.objects.get().status == "open"


def test_study_file_check_fails_while_people_are_missing(asked):
    out = StringIO()
    with pytest.raises(CommandError, match="cannot fill the study"):
        call_command("study_file", asked.name, check=True, stdout=out)
    assert "Not enough people yet" in out.getvalue()
    enrol(asked, 2, origin="Asia")
    enrol(asked, gender="woman")
    call_command("study_file", asked.name, check=True, stdout=out)


def test_a_region_joined_with_a_gender_is_judged_by_both(db):
    world.resource()
    wanted = 'strata = ["in-region and gender: not male", "in-region"]'
    study = studies.apply_file(
        file=read_study_text(world.HEAD + world.PREVALENCE.replace("seed = 6", wanted)), by=None
    ).study
    for region in ("Europe", "South Asia", "Latin America"):
        enrol(study, residence=region, gender="man")
        enrol(study, residence=region, gender="non-binary" if region != "Europe" else "man")
    assert reports.report(study=study).shortages == (
        "each item needs 1 person who matches “residence: Europe and gender: not male”; enrolled: 0",
    )
    rates = {rate.stratum: rate.people for rate in fill.fill_rates(study=study)}
    assert rates["residence: South Asia and gender: not male"] == 1
    assert rates["residence: South Asia"] == 2


@pytest.mark.parametrize(
    ("wanted", "most"),
    [
        ([], 0),
        ([(["any"], 7)], 7),
        ([(["residence: Asia"], 3), (["residence: Europe"], 4)], 4),
        ([(["residence: Asia"], 3), (["residence: Asia or Europe"], 4)], 7),
        ([(["gender: man"], 3), (["gender: not male"], 4)], 4),
        # one person cannot live in two places, but may identify with one and live in the other
        (
            [
                (["residence: Asia", "identity_region: Asia and residence: Europe"], 3),
                (["residence: Europe", "identity_region: Europe and residence: Europe"], 2),
            ],
            5,
        ),
        # too many profiles to try: nobody is given more than all
        ([([f"{field}: {value}"], 1) for field in "abcdef" for value in range(6)], 36),
    ],
)
def test_the_most_that_one_person_can_be_given(wanted, most):
    assert matching.most_units_for_one_person(wanted) == most


CHECKED = """
name = "checked"
title = "Checked"
contact = "x@example.org"
[consent]
text = "Please."
[quality]
gold_rate = 0.1
[[tasks]]
kind = "visual_nature"
attributes = [{words}]
strata = [{strata}]
"""
GOLD = '[[tasks.gold]]\nattribute = "gold {number}"\nexpected = ["Agree"]\n'


def checked(*, words: int, golds: int, strata: str = '"any"', more: str = "") -> Study:
    listed = ", ".join(f'"word {number}"' for number in range(words))
    text = CHECKED.replace("{words}", listed).replace("{strata}", strata)
    text += "".join(GOLD.format(number=number) for number in range(golds))
    return studies.apply_file(file=read_study_text(text + more), by=None).study


@pytest.mark.parametrize(
    ("words", "golds", "needed"), [(20, 2, 0), (29, 2, 0), (30, 2, 3), (30, 3, 0), (9, 1, 0), (100, 2, 10)]
)
def test_gold_items_that_run_out_are_warned_of(db, words, golds, needed):
    """Each is met once, so that the rate cannot be kept by fewer than it asks for."""
    report = reports.report(study=checked(words=words, golds=golds))
    assert len(report.warnings) == (1 if needed else 0)
    if needed:
        assert f"({words}) needs {needed}. There are {golds}: add {needed - golds}" in report.warnings[0]


def test_attention_checks_count_as_gold_items_do_and_training_does_not(db):
    more = '[[tasks.{}]]\nattribute = "choose unsure"\nexpected = ["Unsure"]\n'
    study = checked(words=30, golds=2, more=more.format("attention"))
    assert reports.report(study=study).warnings == ()
    study.delete()
    assert reports.report(study=checked(words=30, golds=2, more=more.format("training"))).warnings


def test_the_items_that_need_gold_are_those_one_person_can_be_given(db):
    """The units of three regions, of which everybody resides in one."""
    world.resource()
    regional = """
[[tasks]]
kind = "prevalence"
associations = { source = "votes" }
strata = ["in-region"]
"""
    study = checked(words=15, golds=1, more=regional)
    units = study.tasks.get(kind="prevalence").units.filter(purpose="data")
    assert units.count() == 10, "with the fifteen words they would need two"
    assert reports.report(study=study).warnings == ()
    study.tasks.filter(kind="prevalence").update(strata=["any"])
    assert "(25) needs 2. There are 1: add 1" in reports.report(study=study).warnings[0]


def test_what_runs_out_is_said_by_the_command_and_on_the_page(client, db, tmp_path):
    study = checked(words=30, golds=2)
    lead = factories.user("lead", lead=True)
    study.leads.add(lead)
    client.force_login(lead)
    for page in ("/setup/checked/open/", reverse("fill_rates", args=["checked"])):
        assert "(30) needs 3. There are 2: add 1, or lower the rate." in client.get(page).text
    out = StringIO()
    call_command("study_file", "checked", out=tmp_path / "checked.toml", stdout=out, stderr=out)
    study.delete()
    call_command("open_study", tmp_path / "checked.toml", stdout=out, stderr=out)
    assert "Warning: There are too few gold items and attention checks" in out.getvalue()


def test_a_draft_without_items_says_where_to_choose_them(client, db):
    lead = factories.user(lead=True)
    study = factories.study("blank", status="draft", leads=[lead])
    client.force_login(lead)
    shown = client.get(reverse("fill_rates", args=[study.name])).text
    assert reverse("setup_step", args=[study.name, "source"]) in shown
    assert "can fill all quotas" not in shown
