"""Too large bodies are refused before they are read, on every page and every URL of the API."""

from __future__ import annotations

import re

import pytest
from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.core.cache import cache
from django.db import transaction
from django.http import HttpResponse
from django.test import Client
from django.urls import resolve, reverse

from annotation.setup import services as setup_services
from tests import factories
from tests.annotation.api.calls import Program
from tests.test_access import urls
from visage_app.storage import body_limits

pytestmark = [pytest.mark.django_db, pytest.mark.pages]
MORE_THAN_ANY_FORM = 3_000_000
MULTIPART = "multipart/form-data; boundary=x"
CHANGING = ("POST", "PUT", "PATCH", "DELETE")


class Unread:
    """A body that nobody may read."""

    def __init__(self) -> None:
        self.was_read = False

    def read(self, *_: int) -> bytes:
        self.was_read = True
        return b""

    readline = read


def send(client, path, *, method="POST", length=MORE_THAN_ANY_FORM, kind=MULTIPART, **headers):
    """What is answered, and whether the body was read for it."""
    body = Unread()
    answer = client.request(
        **{
            "REQUEST_METHOD": method,
            "PATH_INFO": path,
            "CONTENT_TYPE": kind,
            "CONTENT_LENGTH": str(length),
            "wsgi.input": body,
            **headers,
        }
    )
    return answer, body.was_read


def paths(*, api: bool) -> list[str]:
    found = []
    for name, route in urls():
        if name.startswith("api:") != api or name == "api:nothing" or "^" in route or "(?P" in route:
            continue
        path = re.sub(r"studies/<slug:\w+>", "studies/words", "/" + route)
        found.append(re.sub(r"<[^>]+>", "1", path))
    return found


def view(path: str) -> type:
    """The class that answers at an address of the API."""
    return resolve(path).func.view_class


@pytest.fixture
def maker():
    factories.rating_study(name="words")
    return factories.user("root", admin=True)


class TestWhatIsRefused:
    """By the length that is told alone."""

    MOST = settings.DATA_UPLOAD_MAX_MEMORY_SIZE

    def status(self, rf, view=lambda: None, *, length: object, kind=MULTIPART, path="/language/") -> int:
        request = rf.post(path, content_type=kind, CONTENT_LENGTH=str(length))
        request.user = AnonymousUser()
        refused = body_limits.BodyLimitMiddleware(lambda request: HttpResponse()).process_view(request, view)
        return refused.status_code if refused else 200

    @pytest.mark.parametrize(
        ("length", "status"),
        [(MOST, 200), (MOST + 1, 413), ("", 200), ("-1", 200), ("many", 200), ("²", 200)],
    )
    def test_a_form_may_be_as_large_as_the_limit(self, rf, length, status):
        assert self.status(rf, length=length) == status

    def test_other_bodies_and_those_of_the_api_are_limited_elsewhere(self, rf):
        assert self.status(rf, length=self.MOST + 1, kind="application/json") == 200
        assert self.status(rf, length=self.MOST + 1, path="/api/v1/studies") == 200

    def test_who_may_send_a_file_is_asked_only_of_a_form_that_is_larger_than_any_without(self, rf):
        asked = []

        def view(): ...

        view.max_file_bytes = lambda user: asked.append(user) or 10
        assert self.status(rf, view, length=self.MOST) == 200
        assert not asked
        assert self.status(rf, view, length=self.MOST + 10) == 200
        assert self.status(rf, view, length=self.MOST + 11) == 413
        assert asked[0].is_anonymous


def test_no_page_reads_a_form_that_is_larger_than_any(maker):
    stranger, nobody = (Client(enforce_csrf_checks=True) for _ in range(2))
    stranger.force_login(factories.user("stranger"))
    for path in paths(api=False):
        # only pages that take files look who asks
        who = [stranger, nobody] if hasattr(resolve(path).func, "max_file_bytes") else [stranger]
        for client in who:
            answer, was_read = send(client, path)
            assert (answer.status_code, was_read) == (413, False), path


@pytest.mark.parametrize(
    ("page", "most"),
    [("upload", settings.UPLOAD_MAX_MB * 1_000_000), ("setup", setup_services.LARGEST_BYTES)],
)
def test_pages_for_files_read_large_ones_of_who_may_send_them_and_no_larger_ones(maker, page, most):
    client = Client()
    client.force_login(maker)
    assert send(client, reverse(page), length=most)[1]
    answer, was_read = send(client, reverse(page), length=most + MORE_THAN_ANY_FORM)
    assert (answer.status_code, was_read) == (413, False)
    assert f"at most {most // 1_000_000 + 2} MB" in answer.text


@pytest.mark.parametrize("kind", ["application/zip", "application/json", MULTIPART])
def test_a_session_without_the_forgery_token_is_refused_before_the_body_is_read(maker, kind):
    client = Client(enforce_csrf_checks=True)
    client.force_login(maker)
    refused = 0
    for path in paths(api=True):
        takes = [one for one in CHANGING if hasattr(view(path), one.lower())]
        # what an address does not take is refused by one function, whichever the method: the form shows it
        others = [one for one in CHANGING if one not in takes][: kind == MULTIPART]
        for method in [*takes, *others]:
            answer, was_read = send(client, path, method=method, length=1000, kind=kind)
            assert answer.status_code in {403, 405}, (method, path)
            assert not was_read, (method, path)
            refused += answer.status_code == 403
    assert refused > 30


def test_a_session_with_the_forgery_token_in_the_header_is_let_in(maker):
    client = Client(enforce_csrf_checks=True)
    client.force_login(maker)
    client.get(reverse("tokens"))
    token = client.cookies["csrftoken"].value
    path = "/api/v1/image-sets/brought/bundle"
    answer, was_read = send(client, path, length=1000, kind="application/zip", HTTP_X_CSRFTOKEN=token)
    assert (answer.status_code, was_read) == (422, True)


@pytest.mark.parametrize("kind", ["application/zip", "application/toml", "application/json"])
@pytest.mark.parametrize("who", ["nobody", "stranger", "reader"])
def test_the_api_reads_no_upload_of_who_may_not_send_it(maker, kind, who):
    """Uploads: what may be larger than a body in JSON."""
    user = factories.user("stranger") if who == "stranger" else maker
    headers = {}
    if who != "nobody":
        secret = Program(user, "read" if who == "reader" else "manage").secret
        headers["HTTP_AUTHORIZATION"] = f"Bearer {secret}"
    for path in ("image-sets/brought/bundle", "studies"):
        answer, was_read = send(Client(), f"/api/v1/{path}", length=1000, kind=kind, **headers)
        assert answer.status_code in {"nobody": {401}, "reader": {403}, "stranger": {403, 404}}[who]
        assert not was_read, path


def test_the_api_reads_nothing_that_is_too_large(maker):
    client = Client(headers={"Authorization": f"Bearer {Program(maker).secret}"})
    refused = 0
    for path in paths(api=True):
        for method in CHANGING:
            cache.clear()
            # taken back: some end the token
            with transaction.atomic():
                answer, was_read = send(
                    client, path, method=method, length=10**9 + 1, kind="application/json"
                )
                transaction.set_rollback(True)
            assert not was_read, (method, path)
            assert answer.status_code < 500, (method, path)
            refused += answer.status_code == 413
    assert refused > 20
