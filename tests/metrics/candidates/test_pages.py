"""The pages and the API of candidates."""

import json

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from annotation.core.leases import JobState
from annotation.models import Study
from generation import backends
from generation.models import Run
from metrics.candidates.services import lists
from metrics.models import CandidateList, StruckCandidate
from tests import factories
from tests.metrics.candidates import asked

pytestmark = [pytest.mark.django_db, pytest.mark.pages]


@pytest.fixture
def lead(client):
    user = factories.user(lead=True)
    client.force_login(user)
    return user


@pytest.fixture
def run():
    asked.groups()
    return asked.run("(Mexico, dance), (dancing, Mexicans)", "(Chilean, poet) (Iraqi, dance)", "Sorry.")


@pytest.fixture
def found(run):
    return lists.compute(list_id=lists.request(run=run).pk)


def text(response, status=200):
    assert response.status_code == status, response.content[:500]
    return response.content.decode()


def act(client, run, action, **data):
    return client.post(reverse("candidate_action", args=[run.pk, action]), data)


def test_a_worker_finds_the_candidates_that_a_lead_asks_for(client, lead, run):
    url = reverse("candidates", args=[run.pk])
    assert "Nobody has looked for candidates" in text(client.get(url))
    assert act(client, run, "find").headers["Location"] == url
    assert "A worker is reading" in text(client.get(url))
    assert lists.compute_pending() == 1
    page = text(client.get(url))
    assert "poet" in page
    assert "What each rule found" in page
    asked.add(run, "(Iraqi, hot)")
    assert "Answers came in" in text(client.get(url))


def test_a_failed_list_shows_why(client, lead, run):
    CandidateList.objects.create(
        run=run, axis="nationality", per_region=1, digest="x", state=JobState.FAILED, error="<b>no memory</b>"
    )
    assert "&lt;b&gt;no memory" in text(client.get(reverse("candidates", args=[run.pk])))


def test_pages_of_a_group_need_a_fixed_number_of_queries(client, lead, run, django_assert_max_num_queries):
    asked.add(run, *(f"(Iraqi, word {chr(97 + n % 26)}{chr(97 + n // 26)})" for n in range(150)))
    found = lists.compute(list_id=lists.request(run=run).pk)
    iraqi = found.candidates.filter(group__name="Iraqi").first().group_id
    with django_assert_max_num_queries(14):
        page = text(client.get(reverse("candidates", args=[run.pk]), {"group": iraqi}))
    assert "Page 1 of 2" in page
    assert client.get(reverse("candidates", args=[run.pk]), {"group": 99999}).status_code == 404


def test_a_lead_strikes_candidates_out_and_restores_them(client, lead, run, found):
    poet = found.candidates.get(attribute="poet")
    back = act(client, run, "strike", candidate=poet.pk, query=f"group={poet.group_id}&page=1")
    assert back.headers["Location"].endswith(f"?group={poet.group_id}&page=1")
    assert "<s>poet</s>" in text(client.get(back.headers["Location"]))
    act(client, run, "restore", candidate=poet.pk)
    assert not StruckCandidate.objects.exists()
    # nothing chosen, not a number, of another run: nothing happens
    assert act(client, run, "strike").status_code == 302
    assert act(client, run, "strike", candidate="x").status_code == 302
    other = asked.run("(Iraqi, hot)", name="other")
    act(client, other, "strike", candidate=poet.pk, query="//evil.example")
    assert not StruckCandidate.objects.exists()


def test_pages_of_a_fake_run_say_that_it_is_simulated(client, lead, run, found):
    client.force_login(lead)
    urls = [
        reverse("candidate_runs"),
        reverse("candidates", args=[run.pk]),
        reverse("candidate", args=[run.pk, found.candidates.first().pk]),
    ]
    assert not any("simulated, no model’s output" in client.get(url).text for url in urls)
    Run.objects.update(backend="fake")
    assert all("simulated, no model’s output" in client.get(url).text for url in urls)


def test_the_askings_of_a_candidate_are_shown_escaped(client, lead, run, found):
    asked.add(run, "(Chilean, poet) <script>", prompt="(<b>, c)")
    poet = found.candidates.get(attribute="poet")
    page = text(client.get(reverse("candidate", args=[run.pk, poet.pk])))
    assert "(Chilean, poet) (Iraqi, dance)" in page
    assert "&lt;script&gt;" in page
    other = asked.run(name="other")
    assert client.get(reverse("candidate", args=[other.pk, poet.pk])).status_code == 404


def test_one_click_opens_the_draft_study(client, lead, run, found):
    made = act(client, run, "study", name="from-asked")
    assert made.headers["Location"] == reverse("setup_step", args=["from-asked", "consent"])
    assert "We ask which opinions" in text(client.get(made.headers["Location"]))
    assert Study.objects.get().tasks.get().units.count() == 3
    again = act(client, run, "study", name="from-asked")
    assert "Choose another name" in text(client.get(again.headers["Location"]))


FORM = {
    "name": "p",
    "axis": "nationality",
    "pairs": "identity,attribute\nMexican,lazy\nChile,poet\nIraqi,hot",
    "threshold": "2",
    "pool": "in",
    "variant": "target-identity",
    "n": "2",
    "sample_seed": "0",
    "times": "5",
    "backend": "tried",
    "temperature": "0.5",
    "top_p": "1",
    "max_tokens": "50",
    "seed": "0",
}


@pytest.fixture
def anybackend(monkeypatch):
    """Plans are made without looking for the backend: what it does is not asked here."""
    monkeypatch.setattr(backends, "check", lambda recipe: None)
    monkeypatch.setattr(backends, "names", lambda kind: {"tried": "A model"})


def test_a_plan_is_previewed_then_started_as_it_was_shown(client, lead, run, anybackend):
    url = reverse("plan_candidates")
    assert "Seed pairs" in text(client.get(url))
    page = text(client.post(url, FORM))
    assert "Start: 30 askings" in page
    assert "(Mexican, lazy), (Chile, poet), (Iraqi," in page
    assert not Run.objects.filter(name="p").exists()
    fingerprint = page.split('name="fingerprint" value="')[1].split('"')[0]
    changed = client.post(url, {**FORM, "n": "1", "start": "1", "fingerprint": fingerprint})
    assert "has changed since you last saw it" in text(changed)
    started = client.post(url, {**FORM, "start": "1", "fingerprint": fingerprint})
    made = Run.objects.get(name="p")
    assert started.headers["Location"] == reverse("run", args=[made.pk])
    assert (made.state, made.jobs.count()) == ("running", 30)


def test_an_uploaded_file_becomes_the_pairs_of_the_form(client, lead, run, anybackend):
    file = SimpleUploadedFile("s.csv", b"\xef\xbb\xbfidentity,attribute\r\nMexican,lazy\r\nIraqi,hot\r\n")
    page = text(
        client.post(
            reverse("plan_candidates"), {**FORM, "pairs": "", "variant": "identity-attribute", "file": file}
        )
    )
    assert "Start: 10 askings" in page
    assert "Iraqi,hot</textarea>" in page.replace("\r\n", "").replace("\n", "")


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"pairs": ""}, "either seed pairs or a source"),
        ({"pairs": "identity,attribute\nMexicn,lazy\nIraqi,hot"}, "row 2, column &#x27;identity&#x27;"),
        ({"pairs": "identity,attribute\nMexican,lazy"}, "at least two"),
        ({"variant": "nonsense"}, "Select a valid choice"),
        ({"n": "3"}, "need at least 4"),
        ({"sample": "9"}, "choose 1 to 3"),
        ({"file": SimpleUploadedFile("s.csv", b"\xff\xfe")}, "not UTF-8"),
        ({"cost_limit": "3"}, "needs both prices"),
        ({"system": "be kind"}, "needs chat"),
        ({"name": "not a name"}, "valid “slug”"),
    ],
)
def test_a_plan_that_cannot_be_is_refused_at_its_field(client, lead, run, anybackend, changes, says):
    page = text(client.post(reverse("plan_candidates"), {**FORM, **changes}), 422)
    assert says in page
    assert Run.objects.count() == 1


def api(client, method, path, data=None):
    call = getattr(client, method)
    return call(f"/api/v1/{path}", json.dumps(data or {}), content_type="application/json")


def test_the_api_does_what_the_pages_do(client, lead, run, anybackend):
    base = f"candidate-runs/{run.pk}"
    assert client.get(f"/api/v1/{base}").status_code == 404
    assert api(client, "post", base).status_code == 202
    lists.compute_pending()
    state = client.get(f"/api/v1/{base}").json()
    assert (state["state"], state["stale"]) == ("done", False)
    assert {line["rule"]: line["number"] for line in state["report"]}["answers_without_tuple"] == 1
    rows = client.get(f"/api/v1/{base}/candidates", {"region": "Latin America"}).json()["results"]
    assert {row["attribute"] for row in rows} == {"dance", "poet"}
    [poet] = [row["id"] for row in rows if row["attribute"] == "poet"]
    assert api(client, "put", f"{base}/candidates/{poet}/struck").status_code == 204
    left = client.get(f"/api/v1/{base}/candidates", {"struck": "false"}).json()["results"]
    assert len(left) == 2
    assert client.get(f"/api/v1/{base}/candidates/{poet}").json()["answers"][0]["key"] == "2"
    assert api(client, "delete", f"{base}/candidates/{poet}/struck").status_code == 204
    assert api(client, "post", f"{base}/study", {"name": "from-api"}).json() == {
        "study": "from-api",
        "source": "from-api",
    }
    assert api(client, "post", f"{base}/study", {"name": "from-api"}).status_code == 409


def test_the_api_plans_as_the_form_does(client, lead, run, anybackend):
    body = {
        "name": "p",
        "backend": "tried",
        "pairs": [{"identity": "Mexican", "attribute": "lazy"}, {"identity": "Iraqi", "attribute": "hot"}],
    }
    dry = api(client, "post", "candidate-runs?dry_run=true", body)
    assert (dry.status_code, dry.json()["total"], dry.json()["run"]) == (200, 10, None)
    made = api(client, "post", "candidate-runs", body)
    assert made.status_code == 201
    assert Run.objects.get(name="p").pk == made.json()["run"]
    assert api(client, "post", "candidate-runs", {**body, "times": 2}).status_code in (409, 422)
    bad = api(client, "post", "candidate-runs", {**body, "pairs": body["pairs"][:1], "name": "q"})
    assert bad.status_code == 422
    assert "at least two" in bad.content.decode().lower()


def test_other_accounts_see_nothing(client, run, found):
    client.force_login(factories.user())
    poet = found.candidates.get(attribute="poet")
    for url in (
        reverse("candidate_runs"),
        reverse("plan_candidates"),
        reverse("candidates", args=[run.pk]),
        reverse("candidate", args=[run.pk, poet.pk]),
        f"/api/v1/candidate-runs/{run.pk}",
        f"/api/v1/candidate-runs/{run.pk}/candidates",
    ):
        assert client.get(url).status_code == 404, url
    assert act(client, run, "strike", candidate=poet.pk).status_code == 404
    assert api(client, "put", f"candidate-runs/{run.pk}/candidates/{poet.pk}/struck").status_code == 404
    assert not StruckCandidate.objects.exists()
