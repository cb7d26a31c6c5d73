"""Django's administration: a few things, tuned, and nothing by which an answer could be changed."""

import pytest
from django.contrib import admin as django_admin
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Permission
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotation.models import (
    Association,
    Attribute,
    AuditEvent,
    Consent,
    ConsentText,
    IdentityGroup,
    ImageSet,
    Source,
    StudyStatus,
)
from generation.models import Run, RunKind
from generation.recipes.recipes import CaptionRecipe, as_json
from metrics.models import ScoreRun
from tests import factories

pytestmark = pytest.mark.django_db

READ_ONLY = {Association, AuditEvent, Run, ScoreRun}
CHANGED = {Source, IdentityGroup, Attribute, ImageSet, ConsentText, get_user_model()}
ALL = sorted(READ_ONLY | CHANGED, key=lambda model: model.__name__)
ADDED = {Source, IdentityGroup, Attribute, get_user_model()}


@pytest.fixture
def admin(client):
    user = factories.user("root", admin=True)
    client.force_login(user)
    return user


def url(model, page: str, *args) -> str:
    return reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_{page}", args=args)


def make(number: int = 1) -> None:
    """`number` more rows of every registered kind."""
    for _ in range(number):
        study = factories.rating_study(leads=[factories.user()])
        factories.association()
        image_set = factories.image_set(f"set-{study.pk}")
        AuditEvent.objects.create(what="blocked", study=study, by=study.leads.get())
        Run.objects.create(
            kind=RunKind.CAPTIONS,
            image_set=image_set,
            backend="fake",
            recipe=as_json(CaptionRecipe(backend="fake")),
            recipe_hash=factories.recipe_hash(),
            created_by=study.leads.get(),
        )
        ScoreRun.objects.create(
            study=study, metric="consensus", version=1, variant="corrected", digest="0" * 64, resamples=0
        )
        factories.consent_text(factories.study(status=StudyStatus.DRAFT))


def test_every_page_has_our_icon_so_that_no_browser_asks_for_another(client, admin):
    user = admin.pk
    for page in ("/admin/", "/admin/auth/user/", f"/admin/auth/user/{user}/change/"):
        assert client.get(page).text.count('rel="icon"') == 1


def test_what_is_registered_is_listed_here_and_nothing_else():
    assert set(django_admin.site._registry) == set(ALL)


@pytest.mark.parametrize("model", ALL, ids=lambda model: model.__name__)
def test_every_list_search_and_row_opens_and_offers_no_deleting(client, admin, model):
    make()
    listed = client.get(url(model, "changelist"))
    assert listed.status_code == 200
    assert "delete_selected" not in listed.text
    assert client.get(url(model, "changelist"), {"q": "sombrero"}).status_code == 200
    row = model.objects.order_by("-pk").first()
    shown = client.get(url(model, "change", row.pk))
    assert shown.status_code == 200
    assert "deletelink" not in shown.text
    assert ('name="_save"' in shown.text) == (model in CHANGED)
    assert client.get(url(model, "add")).status_code == (200 if model in ADDED else 403)
    for send in (client.get, client.post):
        assert send(url(model, "delete", row.pk), {"post": "yes"}).status_code == 403
    if model in READ_ONLY:
        assert client.post(url(model, "change", row.pk), {"what": "other"}).status_code == 403
    assert model.objects.filter(pk=row.pk).exists()


@pytest.mark.parametrize("model", ALL, ids=lambda model: model.__name__)
def test_lists_take_as_many_queries_for_many_rows_as_for_few(client, admin, model):
    make(2)
    with CaptureQueriesContext(connection) as few:
        client.get(url(model, "changelist"))
    make(6)
    with CaptureQueriesContext(connection) as many:
        client.get(url(model, "changelist"))
    assert len(many) == len(few)


def test_staff_without_being_an_admin_see_nothing(client):
    staff = factories.user("staff")
    staff.is_staff = True
    staff.save()
    make()
    client.force_login(staff)
    assert "have permission to view or edit anything" in client.get("/admin/").text
    for model in ALL:
        assert client.get(url(model, "changelist")).status_code == 403


def test_names_are_written_once(client, admin):
    group = factories.group("Mexican", region="Latin America")
    sent = {"name": "Other", "axis": "other", "demonym": "Mexicans", "country": "", "region": "Europe"}
    client.post(url(IdentityGroup, "change", group.pk), {**sent, "global_south": "unknown"})
    group.refresh_from_db()
    assert (group.name, group.axis, group.demonym, group.region) == (
        "Mexican",
        "nationality",
        "Mexicans",
        "Europe",
    )


def test_an_attribute_is_refused_as_the_database_would(client, admin):
    assert "errornote" in client.post(url(Attribute, "add"), {"text": "Sombrero"}).text
    client.post(url(Attribute, "add"), {"text": "sombrero"})
    assert list(Attribute.objects.values_list("text", flat=True)) == ["sombrero"]


def test_of_an_image_set_the_title_and_licence_are_changed(client, admin):
    image_set = factories.image_set("ours")
    client.post(
        url(ImageSet, "change", image_set.pk), {"name": "x", "title": "Ours", "licence": "CC0", "drawn": "on"}
    )
    image_set.refresh_from_db()
    assert (image_set.name, image_set.title, image_set.licence, image_set.drawn) == (
        "ours",
        "Ours",
        "CC0",
        False,
    )


@pytest.mark.parametrize("why", ["open", "agreed"])
def test_a_consent_text_that_somebody_may_have_read_stays_as_it_is(client, admin, why):
    study = factories.study(status=StudyStatus.DRAFT)
    text = factories.consent_text(study)
    new = {"text": "Another text.", "content_warning": ""}
    client.post(url(ConsentText, "change", text.pk), new)
    text.refresh_from_db()
    assert text.text == "Another text."
    if why == "open":
        type(study).objects.filter(pk=study.pk).update(status="open", opened_at=text.created_at)
    else:
        Consent.objects.create(annotator=factories.annotator(), text=text, given_at=text.created_at)
    assert client.post(url(ConsentText, "change", text.pk), {**new, "text": "A third."}).status_code == 403
    text.refresh_from_db()
    assert text.text == "Another text."


def fields(user, **more) -> dict[str, object]:
    given = {"username": user.username, "is_active": user.is_active, "is_superuser": user.is_superuser}
    given["leads"] = list(user.led_studies.values_list("pk", flat=True))
    return {name: value for name, value in {**given, **more}.items() if value not in (False, None)}


def test_roles_changed_here_are_recorded_as_anywhere(client, admin):
    user, study = factories.user("amal"), factories.study()
    page = url(get_user_model(), "change", user.pk)
    client.post(page, fields(user, is_superuser=True, may_set_up=True, leads=[study.pk]))
    user.refresh_from_db()
    assert (user.is_superuser, user.is_staff) == (True, True)
    assert study.leads.get() == user
    assert 'name="may_set_up" id="id_may_set_up" checked' in client.get(page).text
    client.post(page, fields(user, is_superuser=False, leads=[]))
    user.refresh_from_db()
    assert (user.is_superuser, user.is_staff, study.leads.count()) == (False, False, 0)
    others = Permission.objects.filter(content_type__app_label="annotation").exclude(codename="add_study")
    user.user_permissions.add(others.first())
    assert 'name="may_set_up" id="id_may_set_up">' in client.get(page).text, "it is another permission"
    told = AuditEvent.objects.order_by("pk").values_list("what", "details")
    assert [what for what, _details in told] == [
        *("may set up studies", "lead made", "admin made"),
        *("may set up studies no more", "lead unmade", "admin unmade"),
    ]
    assert all(details == {"account": user.pk} for _what, details in told)


def test_the_last_admin_cannot_be_locked_out_here_either(client, admin):
    page = url(get_user_model(), "change", admin.pk)
    answer = client.post(page, fields(admin, is_superuser=False, is_active=False), follow=True)
    admin.refresh_from_db()
    assert (admin.is_superuser, admin.is_active) == (True, True)
    assert "last admin" in answer.text
    assert "own account" in answer.text


def test_an_account_is_made_with_a_password_and_without_a_role(client, admin):
    sent = {"username": "amal", "usable_password": "true", "password1": "green hats 13"}
    made = client.post(url(get_user_model(), "add"), {**sent, "password2": "green hats 13"}, follow=True)
    assert made.status_code == 200
    user = get_user_model().objects.get(username="amal")
    assert user.check_password("green hats 13")
    assert (user.is_staff, user.is_superuser) == (False, False)


def test_nobodys_password_is_set_here(client, admin):
    user = factories.user("amal")
    answer = client.post(
        f"/admin/auth/user/{user.pk}/password/", {"password1": "green hats 13", "password2": "green hats 13"}
    )
    user.refresh_from_db()
    assert answer.status_code in {302, 404}
    assert user.check_password("a-long-password")
