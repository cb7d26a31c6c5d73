"""The release page: first what would be told of people, then the download."""

import io
import zipfile

import pytest
from django.urls import reverse

from annotation.models import AuditEvent
from tests import factories
from tests.annotation.releases.world import ASIAN_WOMAN, EUROPEAN_MAN, answered, people

pytestmark = pytest.mark.django_db


@pytest.fixture
def admin(client):
    client.force_login(factories.user("admin", admin=True))
    return client


@pytest.fixture
def study():
    return answered(people((ASIAN_WOMAN, 9), (EUROPEAN_MAN, 2)), units=2)


def test_the_page_says_what_would_be_told_and_writes_nothing(admin, study):
    page = admin.get(reverse("release_page", args=["live"]))
    assert page.status_code == 200
    assert "Answers: 22. Annotators: 11." in page.text
    assert "has 5 people." in page.text  # those of whom nothing is told
    assert "as chosen" in page.text
    assert '<th scope="row">Gender</th>' in page.text
    spanish = admin.get(reverse("release_page", args=["live"]), headers={"accept-language": "es"})
    assert "como se eligió" in spanish.text
    assert not AuditEvent.objects.exists()
    assert reverse("release_page", args=["live"]) in admin.get(reverse("export_page", args=["live"])).text


@pytest.mark.parametrize(("k", "warned"), [(11, False), (12, True)])
def test_answers_of_fewer_than_k_people_are_warned_of(admin, study, k, warned):
    page = admin.get(reverse("release_page", args=["live"]), {"k": k}).text
    assert (f"Fewer than {k} people answered." in page) == warned


def test_other_settings_show_what_they_would_tell(admin, study):
    study.questions = [{"field": "faith", "label": "Your faith"}]
    study.save()
    asked = {"k": "10", "withhold": ["gender", "age_band"]}
    page = admin.get(reverse("release_page", args=["live"]), asked).text
    assert '<td class="number">0</td><td class="number">11</td>' in page
    assert 'type="hidden" name="withhold" value="age_band"' in page
    assert 'type="hidden" name="k" value="10"' in page
    assert "<span>Your faith</span>" in page
    assert admin.get(reverse("release_page", args=["live"]), {"licence": "CC0"}).status_code == 200


@pytest.mark.parametrize(
    "asked", [{"k": "1"}, {"k": ""}, {"k": "x"}, {"k": "5", "withhold": "shoe_size"}, {"k": "10001"}]
)
def test_what_cannot_be_is_said_beside_its_field(admin, study, asked):
    for answer in (
        admin.get(reverse("release_page", args=["live"]), asked),
        admin.post(reverse("release_download", args=["live"]), asked),
    ):
        assert answer.status_code == 422
        assert "errorlist" in answer.text
        assert "Download the release" not in answer.text


def test_the_download_is_the_release_and_is_noted_with_who_took_it(admin, study):
    asked = {"k": "5", "withhold": ["age_band"], "licence": "CC-BY-4.0"}
    answer = admin.post(reverse("release_download", args=["live"]), asked)
    assert answer.streaming
    assert 'filename="live-release.zip"' in answer["Content-Disposition"]
    with zipfile.ZipFile(io.BytesIO(answer.getvalue())) as archive:
        assert archive.testzip() is None
        names = archive.namelist()
        assert "live/checksums.sha256" in names
        header = archive.read("live/annotators.csv").decode().splitlines()[0]
    assert "age_band" not in header
    event = AuditEvent.objects.get()
    assert (event.what, event.by.username, event.details["annotators"]) == ("release", "admin", 11)
    again = admin.get(reverse("release_page", args=["live"])).text
    assert "This study was released 1 time before." in again


def test_a_study_without_answers_says_so(admin):
    factories.rating_study(name="empty")
    for answer in (
        admin.get(reverse("release_page", args=["empty"])),
        admin.post(reverse("release_download", args=["empty"]), {"k": "5"}),
    ):
        assert answer.status_code == 422
        assert "holds no answers" in answer.text


def test_a_lead_cannot_publish(client, study):
    lead = factories.user("lead")
    study.leads.set([lead])
    client.force_login(lead)
    assert client.get(reverse("release_page", args=["live"])).status_code == 404
    assert client.post(reverse("release_download", args=["live"]), {"k": "5"}).status_code == 404


def test_the_page_asks_as_much_of_a_large_study_as_of_a_small_one(
    admin, django_assert_max_num_queries, study
):
    answered(people((ASIAN_WOMAN, 12)), name="larger", units=6)
    for name in ("live", "larger"):
        with django_assert_max_num_queries(16):
            admin.get(reverse("release_page", args=[name]))
