"""Every named constraint of the models: a row that it allows and one that it refuses."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import pytest
from django.apps import apps
from django.db import IntegrityError, transaction
from django.db.models import ProtectedError
from django.utils import timezone

from annotation.models import (
    Annotator,
    ApiToken,
    Association,
    Attribute,
    AuditEvent,
    Axis,
    Box,
    CatalogueImport,
    Consent,
    Delivery,
    Enrolment,
    ExportJob,
    IdentityGroup,
    Image,
    Judgement,
    Option,
    OptionRole,
    ProfileAnswer,
    Response,
    Slot,
    SlotState,
    Study,
    StudyStatus,
    Task,
    TaskKind,
    Unit,
    Webhook,
)
from tests import factories

pytestmark = pytest.mark.django_db

NOW = timezone.now()


def refused(name: str, make) -> None:
    """`make` breaks the constraint `name` and no other."""
    with pytest.raises(IntegrityError) as error, transaction.atomic():
        make()
    message = str(error.value)
    # SQLite names the columns of a plain unique constraint, everything else names the constraint.
    assert name in message or "UNIQUE constraint failed" in message, message


def test_identity_groups():
    refused("identitygroup_has_name", lambda: factories.group("", demonym="x"))
    refused("identitygroup_region_known", lambda: factories.group("A", region="Atlantis"))
    refused("identitygroup_axis_known", lambda: factories.group("B", axis="zodiac"))
    factories.group("Georgian", region="Middle East")
    refused(
        "identitygroup_unique_per_axis", lambda: IdentityGroup.objects.create(name="Georgian", demonym="x")
    )
    IdentityGroup.objects.create(name="Georgian", demonym="Georgian", axis=Axis.US_STATE)


def test_attributes():
    refused("attribute_has_text", lambda: Attribute.objects.create(text=""))
    refused("attribute_lower_case_trimmed", lambda: Attribute.objects.create(text="Sombrero"))
    refused("attribute_lower_case_trimmed", lambda: Attribute.objects.create(text=" sombrero"))
    Attribute.objects.create(text="dark skin")


def test_associations():
    factories.association(text="a", out_votes=None)
    factories.association(text="b", mean=-1.0)
    factories.association(text="c", mean=4.0)
    refused("association_unique_per_source", lambda: factories.association(text="a"))
    refused(
        "association_out_counts_all_or_none",
        lambda: factories.association(text="d", out_votes=(1, None, None)),
    )
    factories.association(text="f", in_votes=(None, None, None), out_votes=None)  # nobody voted yet
    refused(
        "association_in_counts_all_or_none",
        lambda: factories.association(text="d", in_votes=(1, None, None)),
    )
    refused("association_offensiveness_in_scale", lambda: factories.association(text="e", mean=4.5))
    other = factories.source("another")
    factories.association(text="a", from_source=other)
    assert Association.objects.count() == 5


def test_images():
    factories.image(index=1)
    factories.image(index=2, reference="", file="images/x.png", sha256="a" * 64)
    refused("image_unique_in_set", lambda: factories.image(index=1))
    refused("image_file_or_reference", lambda: factories.image(index=3, reference=""))
    refused("image_file_has_sha256", lambda: factories.image(index=3, file="images/x.png"))
    refused("image_file_has_sha256", lambda: factories.image(index=3, file="images/x.png", sha256="A" * 64))
    refused("image_has_size", lambda: factories.image(index=3, width=0))
    refused("image_index_from_one", lambda: factories.image(index=0))
    factories.image(index=1, image_set=factories.image_set("another"))
    assert Image.objects.count() == 3


def test_studies():
    factories.study("draft", status=StudyStatus.DRAFT)
    factories.study("open", visual_rule=1)
    factories.study("by-mean-from", visual_mean=1)
    factories.study("by-mean-to", visual_mean=5)
    factories.study("closed", status=StudyStatus.CLOSED)
    refused("study_status_known", lambda: factories.study("s", status="ajar"))
    refused(
        "study_opened_at_once_open",
        lambda: Study.objects.create(name="s", title="s", status=StudyStatus.OPEN),
    )
    refused(
        "study_closed_at_iff_closed",
        lambda: Study.objects.create(name="s", title="s", status=StudyStatus.CLOSED, opened_at=NOW),
    )
    refused(
        "study_closed_at_iff_closed",
        lambda: Study.objects.create(
            name="s", title="s", status=StudyStatus.OPEN, opened_at=NOW, closed_at=NOW
        ),
    )
    refused("study_pool_known", lambda: factories.study("s", stereotype_pool="all"))
    refused("study_threshold_from_one", lambda: factories.study("s", stereotype_threshold=0))
    refused("study_visual_rule_from_one", lambda: factories.study("s", visual_rule=0))
    refused("study_visual_mean_on_the_scale", lambda: factories.study("s", visual_mean=0.99))
    refused("study_visual_mean_on_the_scale", lambda: factories.study("s", visual_mean=5.01))
    refused("study_one_visual_rule", lambda: factories.study("s", visual_rule=1, visual_mean=4))
    refused("study_intervals_known", lambda: factories.study("s", intervals="none"))
    refused("consenttext_has_text", lambda: factories.study("t").consent_texts.create(text=""))
    refused("study_gold_rate_at_most_half", lambda: factories.study("v", gold_rate=0.6))
    refused("study_gold_rate_at_most_half", lambda: factories.study("v", gold_rate=-0.1))
    refused("study_training_pass_is_a_share", lambda: factories.study("v", training_pass=1.2))
    refused("study_session_cap_from_one", lambda: factories.study("v", session_cap=0))
    factories.study("w", gold_rate=0.5, training_pass=1, session_cap=1)
    of = factories.study("u")
    factories.consent_text(of)
    of.consent_texts.create(version=1, language="es", text="Lo que significa participar.")
    factories.consent_text(of, version=2)
    refused("consenttext_unique_version", lambda: factories.consent_text(of))


def test_tasks():
    of = factories.study()
    factories.task(of)
    factories.task(of, version=2)
    factories.task(of, kind=TaskKind.DEPICTION)
    refused("task_unique_kind_version", lambda: factories.task(of))
    refused("task_kind_known", lambda: factories.task(of, kind="guess"))
    refused("task_overlap_from_one", lambda: factories.task(of, version=3, strata=()))
    refused("task_page_size_from_one", lambda: factories.task(of, version=3, page_size=0))
    refused("task_has_wording", lambda: factories.task(of, version=3, wording=""))
    refused("task_people_share_is_a_part", lambda: factories.task(of, version=3, people_share=0))
    refused("task_people_share_is_a_part", lambda: factories.task(of, version=3, people_share=1))
    assert Task.objects.count() == 3


def test_people():
    who = factories.annotator(user=factories.user())
    factories.annotator(simulated=True)
    refused("annotator_has_pseudonym", lambda: factories.annotator(pseudonym=""))
    refused(
        "annotator_simulated_has_no_account",
        lambda: factories.annotator(simulated=True, user=factories.user()),
    )
    ProfileAnswer.objects.create(annotator=who, field="gender", value="woman")
    refused(
        "profileanswer_unique_field",
        lambda: ProfileAnswer.objects.create(annotator=who, field="gender", value="man"),
    )
    refused(
        "profileanswer_has_value",
        lambda: ProfileAnswer.objects.create(annotator=who, field="origin", value=""),
    )
    text = factories.consent_text(factories.study())
    given = Consent.objects.create(annotator=who, text=text, given_at=NOW)
    refused("consent_given_once", lambda: Consent.objects.create(annotator=who, text=text, given_at=NOW))
    Consent.objects.filter(pk=given.pk).update(withdrawn_at=NOW)
    Consent.objects.create(annotator=who, text=text, given_at=NOW)
    refused(
        "consent_withdrawn_after_given",
        lambda: Consent.objects.filter(pk=given.pk).update(withdrawn_at=NOW - timedelta(days=1)),
    )
    assert Annotator.objects.count() == 2


def test_enrolments():
    of, who = factories.study(), factories.annotator()
    Enrolment.objects.create(study=of, annotator=who)
    refused("enrolment_unique", lambda: Enrolment.objects.create(study=of, annotator=who))
    other = factories.annotator()
    refused(
        "enrolment_status_known", lambda: Enrolment.objects.create(study=of, annotator=other, status="lost")
    )
    first, second = factories.study(), factories.study()
    Enrolment.objects.create(study=first, annotator=who, crowd_participant="p1")
    Enrolment.objects.create(study=second, annotator=who, crowd_participant="p1")
    Enrolment.objects.create(study=second, annotator=factories.annotator(), crowd_participant="")
    refused(
        "enrolment_unique_crowd_participant",
        lambda: Enrolment.objects.create(study=first, annotator=other, crowd_participant="p1"),
    )
    refused(
        "enrolment_position_not_negative",
        lambda: Enrolment.objects.create(study=of, annotator=other, position=-1),
    )


def test_units():
    of = factories.task()
    word, pair, picture = factories.attribute("hat"), factories.association(), factories.image()
    Unit.objects.create(task=of, position=1, attribute=word)
    Unit.objects.create(task=of, position=2, attribute=word, repeat=1)
    Unit.objects.create(task=of, position=3, association=pair)
    Unit.objects.create(task=of, position=4, image=picture)
    Unit.objects.create(task=of, position=5, image=picture, page=2)
    refused("unit_unique_position", lambda: Unit.objects.create(task=of, position=1, image=picture, page=3))
    refused("unit_unique_attribute", lambda: Unit.objects.create(task=of, position=6, attribute=word))
    refused("unit_unique_association", lambda: Unit.objects.create(task=of, position=6, association=pair))
    refused("unit_unique_page", lambda: Unit.objects.create(task=of, position=6, image=picture))
    refused("unit_exactly_one_stimulus", lambda: Unit.objects.create(task=of, position=6))
    refused(
        "unit_exactly_one_stimulus",
        lambda: Unit.objects.create(task=of, position=6, attribute=word, image=picture, repeat=2, page=3),
    )
    refused(
        "unit_purpose_known",
        lambda: Unit.objects.create(task=of, position=6, attribute=word, repeat=2, purpose="fun"),
    )
    refused("unit_page_from_one", lambda: Unit.objects.create(task=of, position=6, image=picture, page=0))


def test_options():
    of = Unit.objects.create(
        task=factories.task(kind=TaskKind.DEPICTION), position=1, image=factories.image()
    )
    word = factories.attribute("hat")
    Option.objects.create(unit=of, attribute=word, role=OptionRole.RANDOM, position=1)
    Option.objects.create(unit=of, role=OptionRole.NONE_OF_ABOVE, position=2)
    third = factories.attribute("sombrero")
    refused("option_unique_position", lambda: Option.objects.create(unit=of, attribute=third, position=1))
    refused("option_unique_attribute", lambda: Option.objects.create(unit=of, attribute=word, position=3))
    refused(
        "option_one_none_of_above",
        lambda: Option.objects.create(unit=of, role=OptionRole.NONE_OF_ABOVE, position=3),
    )
    refused(
        "option_attribute_unless_none_of_above",
        lambda: Option.objects.create(unit=of, role=OptionRole.RANDOM, position=3),
    )
    refused(
        "option_attribute_unless_none_of_above",
        lambda: Option.objects.create(
            unit=Unit.objects.create(task=of.task, position=2, image=of.image, page=2),
            role=OptionRole.NONE_OF_ABOVE,
            attribute=third,
            position=1,
        ),
    )
    refused(
        "option_role_known", lambda: Option.objects.create(unit=of, attribute=third, role="bait", position=3)
    )
    refused("option_position_from_one", lambda: Option.objects.create(unit=of, attribute=third, position=0))


def test_slots():
    of = factories.attribute_unit(factories.task())
    first, second, third = of.slots.order_by("index")
    who = factories.annotator()
    lease = {"state": SlotState.LEASED, "lease_key": uuid4(), "leased_at": NOW, "lease_expires_at": NOW}

    def change(slot, **fields):
        return Slot.objects.filter(pk=slot.pk).update(**fields)

    change(first, annotator=who, **lease)
    change(second, state=SlotState.FILLED)  # filled by somebody not identified
    change(third, state=SlotState.FILLED)
    refused(
        "slot_state_consistent", lambda: change(second, state=SlotState.OPEN, annotator=factories.annotator())
    )
    refused("slot_state_consistent", lambda: change(second, state="lost"))
    refused("slot_state_consistent", lambda: change(second, **lease))
    refused("slot_state_consistent", lambda: change(first, state=SlotState.FILLED))
    refused("slot_one_per_annotator_and_unit", lambda: change(second, annotator=who))
    change(second, annotator=factories.annotator())
    make = Slot.objects.create
    refused("slot_unique_index", lambda: make(study=of.task.study, unit=of, index=0, queue=99))
    refused("slot_unique_queue", lambda: make(study=of.task.study, unit=of, index=3, queue=1))


def test_responses():
    of = factories.attribute_unit(factories.task())
    first = factories.response(of)

    def respond(**fields):
        fields = {"unit": of, "slot": first.slot, "client_key": uuid4(), "task_version": 1, **fields}
        return Response.objects.create(**fields)

    respond(revision=2, current=False)
    respond(slot=None)  # surplus: as many as come
    respond(slot=None)
    refused("response_one_current_per_slot", lambda: respond(revision=3))
    refused("response_unique_revision", lambda: respond(revision=2, current=False))
    refused("response_revision_from_one", lambda: respond(revision=0, current=False))
    refused("annotation_response_client_key_key", lambda: respond(slot=None, client_key=first.client_key))
    refused(
        "response_submitted_after_started",
        lambda: respond(slot=None, started_at=NOW, submitted_at=NOW - timedelta(seconds=1)),
    )
    with pytest.raises(ProtectedError):
        first.slot.delete()


def test_judgements():
    of = factories.page_unit(factories.task(kind=TaskKind.DEPICTION), picture=factories.image())
    one = factories.response(of)
    first, second = one.judgements.order_by("position")[:2]

    def change(judgement, **fields):
        return Judgement.objects.filter(pk=judgement.pk).update(**fields)

    refused("judgement_unique_option", lambda: change(first, option=second.option))
    refused("judgement_unique_position", lambda: change(first, position=second.position))
    refused("judgement_position_from_one", lambda: change(first, position=0))
    refused("judgement_value_in_scale", lambda: change(first, value=6))
    refused("judgement_value_in_scale", lambda: change(first, value=-2))
    assert change(first, value=-1) == change(first, value=5) == 1


def test_boxes():
    of = factories.page_unit(factories.task(kind=TaskKind.DEPICTION), picture=factories.image())
    judgement = factories.response(of).judgements.first()

    def draw(*corners):
        x0, y0, x1, y1 = corners
        return Box.objects.create(
            judgement=judgement, x0=x0, y0=y0, x1=x1, y1=y1, image_width=512, image_height=400
        )

    draw(0, 0, 512, 400)
    draw(1.5, 2, 3, 4)
    refused("box_corners_ordered", lambda: draw(3, 2, 3, 4))
    refused("box_corners_ordered", lambda: draw(1, 4, 3, 2))
    for corners in ((-0.1, 0, 5, 5), (0, -1, 5, 5), (0, 0, 512.5, 5), (0, 0, 5, 401)):
        refused("box_inside_image", lambda corners=corners: draw(*corners))


def test_invitations():
    of = factories.study()
    of.invitations.create(code="one", max_uses=2, uses=2)
    of.invitations.create(code="two", uses=50)
    refused("invitation_has_code", lambda: of.invitations.create(code=""))
    refused("invitation_uses_within_limit", lambda: of.invitations.create(code="three", max_uses=2, uses=3))


def test_skips():
    of, who = factories.attribute_unit(factories.task()), factories.annotator()

    def skip(**fields):
        fields = {"annotator": who, "reason": "unclear", "client_key": uuid4(), "at": NOW, **fields}
        return of.skips.create(**fields)

    skip()
    skip(annotator=factories.annotator())
    refused("skip_unique", lambda: skip(reason="other"))
    refused("skip_reason_known", lambda: skip(annotator=factories.annotator(), reason="bored"))


def test_audit_events():
    AuditEvent.objects.create(what="withdrawal")
    refused("auditevent_says_what", lambda: AuditEvent.objects.create(what=""))


def test_sources():
    source = factories.source("old")
    source.superseded_by = factories.source("new")
    source.save()
    source.superseded_by = source
    refused("source_not_superseded_by_itself", source.save)


def test_catalogue_imports():
    held = {"state": "claimed", "claim": uuid4(), "lease_expires_at": NOW}

    def job(**fields):
        return CatalogueImport.objects.create(**{"kind": "seegull", **fields})

    job()
    job(**held)
    job(state="done", finished_at=NOW)
    job(state="failed", finished_at=NOW, error="row 5")
    refused("catalogueimport_kind_known", lambda: job(kind="other"))
    refused("catalogueimport_state_known", lambda: job(state="lost"))
    refused("catalogueimport_claim_iff_claimed", lambda: job(**{**held, "claim": None}))
    refused("catalogueimport_finished_iff_done_or_failed", lambda: job(finished_at=NOW))
    refused("catalogueimport_failed_says_why", lambda: job(state="failed", finished_at=NOW))


def test_export_jobs():
    of = factories.study()
    held = {"state": "claimed", "claim": uuid4(), "lease_expires_at": NOW}
    kept = {"state": "done", "finished_at": NOW, "file": "a.zip", "size": 3, "sha256": "0" * 64}

    def job(**fields):
        return ExportJob.objects.create(study=of, **{"format": "csv", **fields})

    job()
    job(**held)
    job(**kept)
    job(**{**kept, "file": "", "sha256": ""})  # deleted since
    job(state="failed", finished_at=NOW, error="no disk")
    refused("exportjob_state_known", lambda: job(state="lost"))
    refused("exportjob_claim_iff_claimed", lambda: job(**{**held, "claim": None}))
    refused("exportjob_claim_iff_claimed", lambda: job(lease_expires_at=NOW))
    refused("exportjob_finished_iff_done_or_failed", lambda: job(finished_at=NOW))
    refused("exportjob_finished_iff_done_or_failed", lambda: job(**{**kept, "finished_at": None}))
    refused("exportjob_finished_iff_done_or_failed", lambda: job(**{**kept, **held, "finished_at": None}))
    refused("exportjob_failed_says_why", lambda: job(state="failed", finished_at=NOW))
    refused("exportjob_file_has_sha256", lambda: job(**{**kept, "sha256": "0"}))
    refused("exportjob_file_has_sha256", lambda: job(**{**kept, "size": None}))


def test_api_tokens():
    who = factories.user()

    def token(**fields):
        fields = {"name": "figures", "digest": "0" * 64, "expires_at": NOW, **fields}
        return ApiToken.objects.create(user=who, prefix="vsg_12345678", **fields)

    token()
    token(digest="1" * 64)
    refused("apitoken_has_name", lambda: token(name="", digest="2" * 64))
    refused("apitoken_digest_is_sha256", lambda: token(digest="the secret itself"))


def test_webhooks_and_their_messages():
    of = factories.study()
    to = Webhook.objects.create(study=of, url="https://one.example/", secret="s")
    Webhook.objects.create(study=factories.study(), url="https://one.example/", secret="s")
    refused(
        "webhook_unique_url",
        lambda: Webhook.objects.create(study=of, url="https://one.example/", secret="s"),
    )
    refused("webhook_has_secret", lambda: Webhook.objects.create(study=of, url="https://two.example/"))
    held = {"state": "claimed", "claim": uuid4(), "lease_expires_at": NOW}

    def message(**fields):
        return Delivery.objects.create(webhook=to, **{"event": "ping", **fields})

    message()
    message(**held)
    message(state="done", finished_at=NOW)
    message(state="failed", finished_at=NOW, error="no answer")
    refused("delivery_has_event", lambda: message(event=""))
    refused("delivery_state_known", lambda: message(state="lost"))
    refused("delivery_claim_iff_claimed", lambda: message(**{**held, "claim": None}))
    refused("delivery_claim_iff_claimed", lambda: message(lease_expires_at=NOW))
    refused("delivery_finished_iff_done_or_failed", lambda: message(finished_at=NOW))
    refused("delivery_finished_iff_done_or_failed", lambda: message(state="done"))
    refused("delivery_failed_says_why", lambda: message(state="failed", finished_at=NOW))


def test_every_named_constraint_of_the_app_is_tested_above():
    """A new constraint without its test fails here. Which are tested is read in this file: what ran before in
    this process may be a part of it."""
    named = {
        constraint.name
        for model in apps.get_app_config("annotation").get_models()
        for constraint in model._meta.constraints
    }
    checked = set(re.findall(r'refused\(\s*"(\w+)"', Path(__file__).read_text()))
    assert named <= checked, f"not tested: {sorted(named - checked)}"
