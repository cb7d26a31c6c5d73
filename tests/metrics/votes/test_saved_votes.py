"""The votes of a closed study become a source of the catalogue."""

import io

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse
from django.utils import timezone

from annotation.models import Association, AuditEvent, Response, Source, Study, StudyStatus
from metrics.votes import services
from metrics.votes.services import VotesRefused, save_votes
from tests import factories
from tests.metrics.votes_cast import PEOPLE, asked_of_pairs, association_unit, prevalence_study

pytestmark = pytest.mark.django_db

SAID = {
    ("Mexican", "lazy"): {"inside": [1, 1, 0], "outside": [-1, 1], "elsewhere": [1]},
    ("Chilean", "poet"): {"inside": [0], "silent": [1]},
}


@pytest.fixture
def study():
    return prevalence_study(SAID, name="asked", title="Asked", status=StudyStatus.CLOSED)


def rows(name):
    return {
        (one.group.name, one.attribute.text): (
            (one.in_stereotypical, one.in_nonstereotypical, one.in_unsure),
            (one.out_stereotypical, one.out_nonstereotypical, one.out_unsure),
            one.offensiveness,
            one.offensiveness_mean,
        )
        for one in Association.objects.filter(source__name=name)
    }


def test_a_source_has_the_votes_of_both_pools_as_counted(study):
    source = save_votes(study=study, by=None)
    assert (source.name, source.title) == ("asked-votes", "Votes of “Asked”")
    assert rows("asked-votes") == {
        ("Mexican", "lazy"): ((2, 1, 0), (1, 0, 1), [], None),
        ("Chilean", "poet"): ((0, 1, 0), (None, None, None), [], None),
    }
    assert source.citation == "Votes of the study 'asked'."
    assert AuditEvent.objects.get().details == {"source": "asked-votes", "pairs": 2}


def test_votes_of_a_program_are_cited_as_such(study):
    Study.objects.update(simulated=True)
    study.refresh_from_db()
    cited = save_votes(study=study, by=None).citation
    assert cited == "Votes of the study 'asked'. Some or all answers were made by a program, not by people."


def test_ratings_of_offensiveness_come_along():
    factories.group("Mexican")
    study = factories.study(name="rated")
    asked_of_pairs(study)
    # Unsure is no rating there
    factories.response(study.tasks.get(kind="offensiveness").units.get(), values=[0])
    factories.response(
        association_unit(study.tasks.get(kind="prevalence"), "Mexican", "poor"),
        values=[1],
        who=factories.annotator(profile=PEOPLE["inside"]),
    )
    factories.response(
        association_unit(study.tasks.get(kind="offensiveness"), "Mexican", "poor"), values=[-1]
    )
    Study.objects.update(status=StudyStatus.CLOSED, closed_at=timezone.now())
    study = Study.objects.get()
    save_votes(study=study, name="rated", by=None)
    assert rows("rated") == {
        ("Mexican", "hat"): ((1, 0, 0), (1, 0, 0), [2.0, 2.0], 2.0),
        ("Mexican", "poor"): ((1, 0, 0), (None, None, None), [-1.0], -1.0),
    }


def test_a_withdrawn_answer_does_not_count(study):
    Response.objects.filter(unit__association__attribute__text="poet").update(current=False)
    save_votes(study=study, by=None)
    assert list(rows("asked-votes")) == [("Mexican", "lazy")]


@pytest.mark.parametrize("name", ["no name", "x" * 81, "taken"])
def test_a_bad_or_taken_name_is_refused_and_nothing_is_written(study, name):
    factories.source("taken")
    before = Association.objects.count()
    with pytest.raises(VotesRefused, match=r"[Nn]ame"):
        save_votes(study=study, name=name, by=None)
    assert Association.objects.count() == before


def test_a_name_may_have_80_characters(study):
    assert save_votes(study=study, name="x" * 80, by=None).name == "x" * 80
    assert services.default_name(Study(name="x" * 80)) == "x" * 74 + "-votes"


@pytest.mark.parametrize("pool", ["inside", "outside"])
def test_more_votes_than_the_catalogue_holds_are_refused(monkeypatch, pool):
    study = prevalence_study({("Mexican", "lazy"): {pool: [1, 1]}}, name="asked", status=StudyStatus.CLOSED)
    monkeypatch.setattr(services, "MOST_VOTES", 1)
    with pytest.raises(VotesRefused, match="more than 1 votes of one pool"):
        save_votes(study=study, by=None)
    monkeypatch.setattr(services, "MOST_VOTES", 2)
    assert save_votes(study=study, by=None).associations.count() == 1


def test_only_a_closed_study_with_votes_can_be_saved(study):
    assert services.may_save(study)
    other = factories.study(name="of other things", status=StudyStatus.CLOSED)
    factories.task(other, kind="visual_nature")
    assert not services.may_save(other)
    Study.objects.update(status=StudyStatus.OPEN, closed_at=None)
    study.refresh_from_db()
    with pytest.raises(VotesRefused, match="Close the study first"):
        save_votes(study=study, by=None)
    empty = factories.study(status=StudyStatus.CLOSED)
    factories.task(empty, kind="prevalence")
    with pytest.raises(VotesRefused, match="Nobody has voted"):
        save_votes(study=empty, by=None)


def test_votes_of_neither_pool_alone_are_no_source():
    study = prevalence_study(
        {("Mexican", "lazy"): {"elsewhere": [1], "silent": [0]}}, name="asked", status=StudyStatus.CLOSED
    )
    with pytest.raises(VotesRefused, match="nobody who voted is in-region or out-region"):
        save_votes(study=study, by=None)
    assert not Source.objects.filter(name="asked-votes").exists()


def test_the_command_saves_and_says_how_many(study):
    out = io.StringIO()
    call_command("save_votes", "asked", stdout=out)
    assert "'asked-votes': 2 associations" in out.getvalue()
    with pytest.raises(CommandError, match="already"):
        call_command("save_votes", "asked", stdout=out)
    call_command("save_votes", "asked", "--name", "mine", stdout=out)
    assert "'mine': 2 associations" in out.getvalue()


@pytest.mark.pages
def test_a_lead_saves_them_on_the_overview_or_by_the_api(client, study):
    lead = factories.user(lead=True)
    study.leads.add(lead)
    client.force_login(lead)
    overview = reverse("overview", args=["asked"])
    assert 'value="asked-votes"' in client.get(overview).content.decode()
    client.post(reverse("save_votes", args=["asked"]), {"name": " mine "})
    made = client.post("/api/v1/studies/asked/votes-source", {}, content_type="application/json")
    assert made.json() == {"source": "asked-votes", "title": "Votes of “Asked”"}
    again = client.post("/api/v1/studies/asked/votes-source", {}, content_type="application/json")
    assert again.status_code == 409
    owners = dict(Source.objects.values_list("name", "owner"))
    assert (owners["mine"], owners["asked-votes"]) == (lead.pk, lead.pk)
    saved = AuditEvent.objects.filter(what="votes saved as a source")
    assert list(saved.values_list("by", "study")) == [(lead.pk, study.pk)] * 2
    Study.objects.update(status=StudyStatus.OPEN, closed_at=None)
    assert "asked-votes" not in client.get(overview).content.decode()


@pytest.mark.pages
def test_a_lead_who_may_not_set_up_studies_saves_none(client, study):
    lead = factories.user()
    study.leads.add(lead)
    client.force_login(lead)
    assert client.post(reverse("save_votes", args=["asked"])).status_code == 404
    made = client.post("/api/v1/studies/asked/votes-source", {}, content_type="application/json")
    assert made.status_code == 404
    assert not Source.objects.filter(name="asked-votes").exists()
