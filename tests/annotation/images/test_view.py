"""Image files go to those who work with them, and to nobody else."""

import hashlib

import pytest
from django.core.files.base import ContentFile
from django.urls import reverse

from annotation.images import views
from annotation.models import EnrolmentStatus, Image, TaskKind
from tests import factories

pytestmark = pytest.mark.django_db
PIXELS = b"\x89PNG\r\n\x1a\nnot really"


def picture(name="a.png", **fields):
    made = factories.image(**fields)
    made.sha256 = hashlib.sha256(PIXELS).hexdigest()
    made.file.save(name, ContentFile(PIXELS))
    return made


def study_showing(image, **fields):
    study = factories.study(**fields)
    factories.task(study, kind=TaskKind.DEPICTION, image_set=image.image_set)
    return study


def url_of(image):
    return reverse("image_file", args=[image.pk])


def test_a_lead_sees_the_file_privately_and_as_what_it_is(client):
    image, lead = picture(), factories.user()
    study_showing(image, leads=[lead])
    client.force_login(lead)
    answer = client.get(url_of(image))
    assert answer.getvalue() == PIXELS
    assert answer["Content-Type"] == "image/png"
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert answer["Cache-Control"] == "private, max-age=3600"


def test_the_ending_of_a_name_may_be_in_capitals(client):
    image = picture("A.PNG")
    client.force_login(factories.user(admin=True))
    answer = client.get(url_of(image))
    assert (answer["Content-Type"], answer.getvalue()) == ("image/png", PIXELS)


def test_a_storage_that_does_not_answer_is_asked_again(client, monkeypatch):
    def away(*_, **__):
        raise OSError("away")

    image = picture()
    client.force_login(factories.user(admin=True))
    monkeypatch.setattr(type(image.file.storage._wrapped), "open", away)
    answer = client.get(url_of(image))
    assert (answer.status_code, answer["Cache-Control"], answer["Retry-After"]) == (503, "no-store", "5")


def test_an_unchanged_file_is_not_sent_twice(client):
    image = picture()
    client.force_login(factories.user(admin=True))
    first = client.get(url_of(image))
    first.getvalue()
    again = client.get(url_of(image), headers={"If-None-Match": first["ETag"]})
    assert (again.status_code, again["ETag"]) == (304, first["ETag"])
    assert again["Cache-Control"] == first["Cache-Control"]
    changed = client.get(url_of(image), headers={"If-None-Match": f'"{"0" * 64}"'})
    assert changed.getvalue() == PIXELS
    image.file.save("b.png", ContentFile(PIXELS + b"more"))
    type(image).objects.update(sha256="1" * 64)
    changed = client.get(url_of(image), headers={"If-None-Match": first["ETag"]})
    assert changed.getvalue() == PIXELS + b"more"


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        *((f"images/a.{end}", "image/jpeg") for end in ("jpg", "jpeg", "JPG")),
        *((f"images/a.{end}", f"image/{end}") for end in ("png", "webp", "gif")),
        *((name, None) for name in ("a.svg", "a.html", "png", "")),
    ],
)
def test_a_file_is_said_to_be_what_its_name_says(name, kind):
    assert views._content_type(Image(file=name)) == kind


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (EnrolmentStatus.TRAINING, 200),
        (EnrolmentStatus.QUALIFIED, 200),
        (EnrolmentStatus.FINISHED, 200),
        (EnrolmentStatus.INVITED, 404),
        (EnrolmentStatus.BLOCKED, 404),
    ],
)
def test_an_annotator_sees_the_images_of_a_study_they_are_in(client, status, expected):
    image, user = picture(), factories.user()
    enrolled = factories.enrolment(study_showing(image), user=user)
    enrolled.status = status
    enrolled.save()
    client.force_login(user)
    answer = client.get(url_of(image))
    answer.getvalue()
    assert answer.status_code == expected


def test_strangers_and_leads_and_annotators_of_other_studies_do_not(client):
    image, stranger, other, elsewhere = picture(), factories.user(), factories.user(), factories.user()
    study_showing(image)
    factories.enrolment(factories.study(leads=[other]), user=elsewhere)
    assert client.get(url_of(image)).status_code == 302
    for user in (stranger, other, elsewhere):
        client.force_login(user)
        assert client.get(url_of(image)).status_code == 404


def test_an_image_kept_elsewhere_lost_or_able_to_run_scripts_is_not_found(client):
    elsewhere, lost, vector = factories.image(index=1), picture(index=2), picture("a.svg", index=3)
    lost.file.storage.delete(lost.file.name)
    client.force_login(factories.user(admin=True))
    for image in (elsewhere, lost, vector):
        assert client.get(url_of(image)).status_code == 404


def test_one_person_who_is_shut_out_takes_the_images_from_nobody_else(client):
    image, amal, other = picture(), factories.user(), factories.user()
    study = study_showing(image)
    factories.enrolment(study, who=factories.annotator(user=amal))
    shut_out = factories.enrolment(study, who=factories.annotator(user=other))
    for status in (EnrolmentStatus.BLOCKED, EnrolmentStatus.WITHDRAWN, EnrolmentStatus.SCREENED_OUT):
        shut_out.status = status
        shut_out.save()
        client.force_login(other)
        assert client.get(url_of(image)).status_code == 404
        client.force_login(amal)
        assert client.get(url_of(image)).getvalue() == PIXELS
