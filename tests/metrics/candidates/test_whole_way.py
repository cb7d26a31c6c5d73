"""The whole way from a few known pairs to a study of images, as a lead and three annotators go it.

Every step is a page or an endpoint of the page at work; the workers' part is done in this process. At each
border what is there must be what was there before it.
"""

from __future__ import annotations

import itertools
import json
from dataclasses import dataclass

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from annotation.models import Association, EnrolmentStatus, Option, OptionRole, Study, StudyStatus, Unit
from generation.jobs.services import loaded_model, work
from generation.models import Answer, Run, RunState
from metrics.candidates.services import lists
from metrics.models import Candidate
from tests import factories
from tests.annotation.annotate.accepted import rated
from tests.generation.uploads.study_images import begin, form_data, send
from tests.metrics.candidates import plain
from tests.metrics.votes_cast import PEOPLE

pytestmark = [pytest.mark.django_db, pytest.mark.pages]

Pair = tuple[str, str]
REGION = "Latin America"
GROUPS = ("Mexican", "Peruvian", "Chilean", "Cuban")
SEEDS = "identity,attribute\nMexican,sombrero\nPeruvian,poncho\nChilean,poet\n"
WHO = ("inside", "outside", "outside")
VOTES = ((1, 1, 1), (0, 1, 1), (1, 1, 0), (1, 0, -1))
"""What those three say of one pair, of the next, and so on. Both of the out-region know the first two."""
KNOWN = VOTES[:2]
STUDY, SOURCE = "candidates-first-try", "candidates-first-try-votes"


@dataclass
class Voter:
    """Somebody who has agreed to take part, and what they were asked."""

    client: Client
    saw: set[Pair]

    def post(self, endpoint: str, body: dict) -> dict:
        url = reverse("annotate", args=[STUDY]) + f"{endpoint}/"
        answer = self.client.post(url, json.dumps(body), content_type="application/json")
        assert answer.status_code == 200, answer.text
        return answer.json()

    def vote(self, values: dict[Pair, int]) -> None:
        """Answer items until there is none."""
        while items := self.post("items", {})["items"]:
            for item in items:
                parts = dict(item["statement"])
                pair = parts["identity"], parts["attribute"]
                answer = rated(item, values[pair], justification="?")
                assert self.post("answers", answer) == {"outcome": "kept"}
                assert pair not in self.saw
                self.saw.add(pair)


@pytest.fixture
def lead(client, monkeypatch) -> Client:
    monkeypatch.setattr(loaded_model, "_loaded", [])
    for name in GROUPS:
        factories.group(name, demonym=name, region=REGION)
    client.force_login(factories.user("lead", lead=True))
    return client


def test_from_known_pairs_by_a_models_candidates_and_peoples_votes_to_a_study_of_images(lead):
    run = ask_the_model(lead)
    struck, candidates = strike_one_out(lead, run)
    invitation = open_the_study(lead, run)
    assert asked_about() == candidates - {struck}

    votes = dict(zip(sorted(candidates - {struck}), itertools.cycle(VOTES), strict=False))
    assert set(votes.values()) == set(VOTES), "too few candidates to be voted on in each way"
    for place, kind in enumerate(WHO):
        voter = enrol(invitation, PEOPLE[kind])
        voter.vote({pair: said[place] for pair, said in votes.items()})
        assert voter.saw == set(votes)

    save_the_votes(lead)
    assert stored_votes() == {pair: counted(said) for pair, said in votes.items()}

    known = {pair for pair, said in votes.items() if said in KNOWN}
    assert shown_as_stereotypes(lead) == known


def ask_the_model(lead: Client) -> Run:
    """A run that was planned with a file in the browser's form, seen before it started, and is done."""
    url = reverse("plan_candidates")
    data = form_data(lead.get(url)) | {"name": "first-try", "backend": "fake"}
    data |= {"axis": "nationality", "variant": "identity-attribute"}  # the first of each list
    file = SimpleUploadedFile("seeds.csv", SEEDS.encode())
    previewed = lead.post(url, {**data, "file": file})
    assert "Start: 30 askings" in previewed.text, previewed.context["form"].errors
    assert not Run.objects.exists()
    again = {**data, "pairs": previewed.context["form"]["pairs"].value(), "start": "1"}
    started = lead.post(url, again | {"fingerprint": previewed.context["preview"].fingerprint})
    run = Run.objects.get(name="first-try")
    assert started.url == reverse("run", args=[run.pk])
    while work.work(run_id=run.pk):
        pass
    run.refresh_from_db()
    assert (run.state, Answer.objects.filter(run=run).count()) == (RunState.DONE, 30)
    seeds = [f"({line.replace(',', ', ')})" for line in SEEDS.splitlines()[1:]]
    orders = {f"{first}, {second}" for first, second in itertools.permutations(seeds, 2)}
    assert set(run.jobs.values_list("prompt", flat=True)) == orders
    return run


def strike_one_out(lead: Client, run: Run) -> tuple[Pair, set[Pair]]:
    """Have the candidates found and one struck out; that, and all that are selected."""
    page = reverse("candidates", args=[run.pk])
    act(lead, run, "find")
    assert lists.compute_pending() == 1
    candidates = {(one.group.name, one.attribute): one for one in Candidate.objects.select_related("group")}
    selected = {name for name, one in candidates.items() if one.selected}
    assert selected == given_by(run)
    assert {group for group, _ in selected} == set(GROUPS)
    pair = ("Mexican", min(attribute for group, attribute in selected if group == "Mexican"))
    mexican = candidates[pair].group_id
    assert f'value="{candidates[pair].pk}"' in lead.get(page, {"group": mexican}).text
    act(lead, run, "strike", candidate=candidates[pair].pk)
    assert f"<s>{pair[1]}</s>" in lead.get(page, {"group": mexican}).text
    return pair, selected


def given_by(run: Run) -> set[Pair]:
    """The candidates in its answers, as the protocol says."""
    texts = run.answers.values_list("text", flat=True)
    names = {name.lower(): (name, REGION) for name in GROUPS}
    found = plain.candidates(texts, names, per_region=1000)
    return {(group, attribute) for ((group, _), attribute), (*_, chosen) in found.items() if chosen}


def act(lead: Client, run: Run, action: str, **data) -> str:
    answer = lead.post(reverse("candidate_action", args=[run.pk, action]), data)
    assert answer.status_code == 302
    return answer.url


def open_the_study(lead: Client, run: Run) -> str:
    """By the one button, the page of consent and the last one; the address of its invitation."""
    offered = lead.get(reverse("candidates", args=[run.pk])).context["study_name"]
    consent = act(lead, run, "study", name=offered)
    assert consent == reverse("setup_step", args=[STUDY, "consent"])
    review = lead.post(consent, form_data(lead.get(consent)) | {"review": "1"}).url
    assert lead.get(review).context["problems"] == []
    opened = lead.post(review, {"open": "1", "texts_checked": "1"})
    study = Study.objects.get()
    assert study.status == StudyStatus.OPEN, opened.context["problems"]
    invitation = reverse("join", args=[study.invitations.get().code])
    assert invitation in lead.get(opened.url).text
    return invitation


def asked_about() -> set[Pair]:
    units = Unit.objects.filter(task__study__name=STUDY)
    return set(units.values_list("association__group__name", "association__attribute__text"))


def enrol(invitation: str, profile: dict[str, str]) -> Voter:
    """Somebody without an account, by the invitation, who says where they live."""
    client = Client()
    consent = client.post(invitation).url
    text = client.get(consent).context["text"]
    questions = client.post(consent, {"text": text.pk}).url
    assert client.post(questions, profile).url == reverse("annotate", args=[STUDY])
    return Voter(client, set())


def save_the_votes(lead: Client) -> None:
    study = Study.objects.get()
    assert study.enrolments.filter(status=EnrolmentStatus.QUALIFIED).count() == len(WHO)
    lead.post(reverse("study_status", args=[STUDY]), {"to": StudyStatus.CLOSED})
    overview = lead.get(reverse("overview", args=[STUDY]))
    assert f'value="{SOURCE}"' in overview.text
    lead.post(reverse("save_votes", args=[STUDY]), {"name": SOURCE})


def stored_votes() -> dict[Pair, tuple[int, ...]]:
    return {
        (one.group.name, one.attribute.text): (
            *(one.in_stereotypical, one.in_nonstereotypical, one.in_unsure),
            *(one.out_stereotypical, one.out_nonstereotypical, one.out_unsure),
        )
        for one in Association.objects.filter(source__name=SOURCE).select_related("group", "attribute")
    }


def counted(said: tuple[int, ...]) -> tuple[int, ...]:
    """Yes, no, unsure of the in-region, then of the out-region."""
    inside = [value for kind, value in zip(WHO, said, strict=True) if kind == "inside"]
    outside = [value for kind, value in zip(WHO, said, strict=True) if kind == "outside"]
    return tuple(votes.count(value) for votes in (inside, outside) for value in (1, 0, -1))


def shown_as_stereotypes(lead: Client) -> set[Pair]:
    """Those of a draft of what images depict, one of each group, that was begun with the votes' source."""
    pictures = factories.image_set("pictures")
    for group in GROUPS:
        factories.image(group_name=group, image_set=pictures)
    begin(lead)
    chosen = send(lead, images=None, attributes=None, image_set="pictures", source=SOURCE, allow_fewer="on")
    assert chosen.status_code == 302, chosen.context["form"].errors
    made = lead.post(reverse("setup_step", args=["what-is-shown", "open"]), {"make": "1"})
    assert made.status_code == 302, made.context["problems"]
    study = Study.objects.get(name="what-is-shown")
    assert study.stereotype_source.name == SOURCE
    assert (study.stereotype_pool, study.stereotype_threshold) == ("out", 2)
    shown = Option.objects.filter(unit__task__study=study, role=OptionRole.STEREOTYPICAL)
    return set(shown.values_list("unit__image__group__name", "attribute__text"))
