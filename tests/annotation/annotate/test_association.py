"""The task about the bias of an association (PROTOCOL §11): what annotators see of it, and when."""

import re

import pytest
from django.test import Client

from annotation.models import Judgement, Option, Unit
from annotation.participation.services import invitations
from annotation.studies.study_file.default_wordings import WORDINGS
from tests import factories

pytestmark = pytest.mark.django_db


def fields(page) -> dict[str, str]:
    """The hidden fields of the plain form."""
    return dict(re.findall(r'name="(\w+)" value="([^"]*)"', page.text))


def test_no_word_is_seen_before_consent_and_unsure_needs_a_reason(client):
    study = factories.study("plain", contact="a@example.org")
    factories.consent_text(study)
    wording = WORDINGS["association"]
    example = {"text": "old and slow", "answer": "Highly biased", "why": ""}
    task = factories.task(study, kind="association", wording=wording, strata=("any",), examples=[example])
    factories.group("old", singular="old person")
    of = factories.association(group_name="old", text="grumpy")
    unit = Unit.objects.create(task=task, position=1, association=of)
    Option.objects.create(unit=unit, attribute=of.attribute, position=1)
    factories.open_slots(unit)
    invitation = invitations.create(study=study, by=factories.user("lead"))
    seen = [client.get(f"/join/{invitation.code}/")]
    client.post(f"/join/{invitation.code}/")
    seen += [client.get(f"/studies/plain/{path}", follow=True) for path in ("", "consent/", "annotate/")]
    seen.append(client.get("/"))
    assert [page.status_code for page in seen] == [200] * 5
    assert not any(word in page.text for page in seen for word in ("grumpy", "old person", "old and slow"))

    client.post("/studies/plain/consent/", {"text": study.consent_texts.get().pk})
    assert "old and slow" in client.get("/studies/plain/").text
    lead, account = Client(), factories.user()
    study.leads.add(account)
    lead.force_login(account)
    assert "old and slow" in lead.get("/studies/plain/").text
    page = client.get("/studies/plain/annotate/")
    assert (
        "to associate &#x27;<strong>old person</strong>&#x27; with &#x27;<strong>grumpy</strong>" in page.text
    )
    refused = client.post("/studies/plain/annotate/", {**fields(page), "value": "0"})
    assert (refused.status_code, Judgement.objects.count()) == (422, 0)
    client.post("/studies/plain/annotate/", {**fields(page), "value": "0", "justification": "Not sure."})
    assert (Judgement.objects.get().value, Judgement.objects.get().justification) == (0, "Not sure.")
