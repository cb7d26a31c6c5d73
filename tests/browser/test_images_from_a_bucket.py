"""Images at signed addresses of a bucket, in a real browser under the strict policy of our pages."""

from __future__ import annotations

from collections import Counter
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect

from annotation.images import files as image_files
from annotation.models import Response, TaskKind
from tests import factories
from tests.browser.annotation_page import drag, open_item, png, wait_for_item, wait_until_saved
from tests.visage_app.storage import s3_world

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
PAGE = "/studies/pictures/annotate/"


@pytest.fixture
def bucket(settings):
    server = s3_world.Server()
    server.client().create_bucket(Bucket=s3_world.BUCKET)
    s3_world.use(settings, s3_world.buckets(server.endpoint, signed_minutes=5))
    policy = settings.CONTENT_SECURITY_POLICY["DIRECTIVES"]
    images = [*policy["img-src"], server.endpoint]
    settings.CONTENT_SECURITY_POLICY = {"DIRECTIVES": {**policy, "img-src": images}}
    yield server
    server.stop()


def test_they_are_fetched_in_advance_and_each_of_them_once(new_page, bucket):
    study = factories.study("pictures")
    factories.consent_text(study)
    task = factories.task(study, kind=TaskKind.DEPICTION, image_set=factories.image_set("drawn"))
    for number in (1, 2, 3):
        name, sha256 = image_files.store(png(60 * number))
        image = factories.image(
            index=number, width=400, height=300, image_set=task.image_set, file=name, sha256=sha256
        )
        factories.page_unit(task, picture=image)
    amal = factories.user("amal")
    factories.enrolment(study, who=factories.annotator(user=amal), consented=True)

    page, fetched = new_page(amal), Counter()
    page.on("requestfinished", lambda one: fetched.update([urlsplit(one.url)._replace(query="").geturl()]))
    open_item(page, PAGE)
    for left in (2, 1, 0):
        wait_for_item(page)
        image = page.locator(".boxes-image")
        expect(image).to_have_js_property("naturalWidth", 400)
        page.get_by_role("checkbox", name="hat", exact=True).check()
        drag(page, 0.25, 0.2, 0.75, 0.6)
        page.get_by_role("button", name="Submit and continue").click()
        if left:  # the page leaves with the last one, and may not say before that it is saved
            wait_until_saved(page)
    page.wait_for_url("**/thanks/")

    assert Response.objects.count() == 3
    from_bucket = {url: times for url, times in fetched.items() if url.startswith(bucket.endpoint)}
    assert list(from_bucket.values()) == [1, 1, 1]
