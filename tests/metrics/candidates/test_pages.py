"""The pages and the API of candidates."""

import json

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from annotation.core.leases import JobState
from annotation.models import Study
from generation import backends
from generation.models import Run
from generation.recipes.limits import Limits
from metrics.candidates.forms import CandidatesForm
from metrics.candidates.queries import catalogue_seeds, studies_made
from metrics.candidates.services import lists
from metrics.core.purposes import MACHINE_JUDGE
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
    lists.request(run=run)
    for ask in (lambda: act(client, run, "find"), lambda: api(client, "post", f"candidate-runs/{run.pk}")):
        CandidateList.objects.update(state=JobState.FAILED, error="no memory")
        ask()
        assert CandidateList.objects.get().state == JobState.PENDING
    assert act(client, run, "lose").status_code == 404


def test_a_page_shows_the_selected_of_a_group_the_most_salient_first(client, lead, run):
    asked.add(run, "(Iraqi, hot) (Iraqi, hot) (Iraqi, cold) (Iraqi, brave)")
    Run.objects.update(name="A" * 80)
    found = lists.compute(list_id=lists.request(run=run, per_region=2).pk)
    iraqi = found.candidates.filter(group__name="Iraqi").first().group_id
    act(client, run, "strike", candidate=found.candidates.get(attribute="hot").pk)

    def shown(**query):
        return client.get(reverse("candidates", args=[run.pk]), query).context

    first = shown()
    assert [row.group.name for row in first["groups"]] == ["Chilean", "Mexican", "Iraqi"]
    assert (first["group"], first["query"]) == (first["groups"][0], f"group={first['group'].group.pk}&")
    assert (first["selected"], first["remaining"]) == (4, 3)
    assert first["study_name"] == f"candidates-{'a' * 69}"
    some, everything = shown(group=iraqi), shown(group=iraqi, all="1")
    assert [(row.attribute, struck is not None) for row, struck in some["rows"]] == [
        ("hot", True),
        ("brave", False),
    ]
    assert [row.attribute for row, _ in everything["rows"]] == ["hot", "brave", "cold", "dance"]
    assert (some["all"], everything["all"]) == (False, True)
    assert everything["query"] == f"group={iraqi}&all&"


@pytest.mark.parametrize(
    ("design", "offered"),
    [({}, True), ({"purpose": "candidates"}, True), ({"purpose": "associations"}, False)],
)
def test_the_page_of_a_run_leads_to_candidates_unless_it_asked_for_something_else(
    client, lead, design, offered
):
    run = asked.run(design=design)
    page = text(client.get(reverse("run", args=[run.pk])))
    assert (reverse("candidates", args=[run.pk]) in page) == offered


def test_numbers_have_three_significant_digits(client, lead, run, found):
    row = found.candidates.order_by("tf").first()
    page = text(client.get(reverse("candidates", args=[run.pk]), {"group": row.group_id, "all": "1"}))
    for number in (row.tf, row.idf, row.salience):
        assert f'<td class="number">{number:.3g}</td>' in page


def test_a_machine_judge_has_no_candidates(client, lead):
    judge = asked.run(name="judge", design={"purpose": MACHINE_JUDGE})
    assert client.get(reverse("candidates", args=[judge.pk])).status_code == 404
    assert api(client, "post", f"candidate-runs/{judge.pk}").status_code == 404


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
    back = act(client, run, "strike", candidate=poet.pk, query=f"group={poet.group_id}&page=1&")
    assert back.headers["Location"].endswith(f"?group={poet.group_id}&page=1")
    assert "<s>poet</s>" in text(client.get(back.headers["Location"]))
    act(client, run, "restore", candidate=poet.pk)
    assert not StruckCandidate.objects.exists()
    # nothing chosen, not a number, of another run: nothing happens
    assert act(client, run, "strike").status_code == 302
    assert act(client, run, "strike", candidate="x").status_code == 302
    other = asked.run("(Iraqi, hot)", name="other")
    back = act(client, other, "strike", candidate=poet.pk, query="//evil.example")
    assert back.headers["Location"] == reverse("candidates", args=[other.pk])
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
    further = client.get(reverse("candidate", args=[run.pk, poet.pk]), {"after": 10**9})
    assert further.context["askings"].answers == []
    other = asked.run(name="other")
    assert client.get(reverse("candidate", args=[other.pk, poet.pk])).status_code == 404


def test_one_click_opens_the_draft_study(client, lead, run, found):
    made = act(client, run, "study", name="from-asked")
    assert made.headers["Location"] == reverse("setup_step", args=["from-asked", "consent"])
    assert "We ask which opinions" in text(client.get(made.headers["Location"]))
    study = Study.objects.get()
    assert study.tasks.get().units.count() == 3
    link = f'<a href="{reverse("overview", args=["from-asked"])}">{study.title}</a>'
    page = reverse("candidates", args=[run.pk])
    assert f"A study was made of them: {link}." in client.get(page).text
    other = asked.run(name="other")
    assert studies_made(other, lead) == []
    study.leads.clear()
    assert "A study was made of them" not in client.get(page).text
    study.leads.add(lead)
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
    ("changes", "field", "says"),
    [
        ({"pairs": ""}, "pairs", "either seed pairs or a source"),
        ({"source": "test-source"}, "pairs", "either seed pairs or a source"),
        ({"source": "test-source", "pairs": " "}, "source", "has 0 pairs of the axis"),
        (
            {"pairs": "identity,attribute\nMexicn,lazy\nIraqi,hot"},
            "pairs",
            "row 2, column &#x27;identity&#x27;",
        ),
        ({"pairs": "identity,attribute\nMexican,lazy"}, "pairs", "at least two"),
        ({"variant": "nonsense"}, "variant", "Select a valid choice"),
        ({"n": "3"}, "n", "need at least 4"),
        ({"sample": "9"}, "sample", "choose 1 to 3"),
        ({"file": SimpleUploadedFile("s.csv", b"\xff\xfe")}, "file", "not UTF-8"),
        ({"file": SimpleUploadedFile("s.csv", b"x" * 2_000_001)}, "file", "larger than 2 MB"),
        ({"cost_limit": "3"}, "cost_limit", "needs both prices"),
        ({"system": "be kind"}, "system", "needs chat"),
        ({"name": "not a name"}, "name", "valid “slug”"),
    ],
)
def test_a_plan_that_cannot_be_is_refused_at_its_field(client, lead, run, anybackend, changes, field, says):
    factories.source()
    answer = client.post(reverse("plan_candidates"), {**FORM, **changes})
    assert says in text(answer, 422)
    assert list(answer.context["form"].errors) == [field]
    assert Run.objects.count() == 1


def test_numbers_that_cannot_be_are_refused(anybackend):
    zero = ("threshold", "n", "sample", "times", "max_tokens", "in_flight", "token_limit")
    negative = ("sample_seed", "temperature", "top_p", "seed", "cost_limit", "price_in", "price_out")
    low = {"seed_number": "1", **dict.fromkeys(zero, "0"), **dict.fromkeys(negative, "-1")}
    form = CandidatesForm({**FORM, **low})
    assert form.errors.keys() == low.keys()
    assert form.model_errors()
    high = CandidatesForm({**FORM, "n": "11"})
    assert high.errors.keys() == {"n"}
    assert not high.model_errors()
    shown = [field.name for field in (*form.main_fields(), *form.model_fields())]
    assert sorted(shown) == sorted(form.fields)


def test_a_plan_has_the_pairs_of_the_source_and_the_limits_that_were_chosen(anybackend):
    asked.groups()
    for text in ("kind", "lazy", "poor", "rich"):
        factories.association(group_name="Mexican", text=text, in_votes=(1, 0, 0), out_votes=(3, 0, 0))
    drawn = {"source": "test-source", "threshold": "3", "pool": "out", "seed_number": "3", "sample_seed": "5"}
    limits = {"in_flight": "2", "token_limit": "30", "cost_limit": "4", "price_in": "5", "price_out": "6"}
    form = CandidatesForm({**FORM, "pairs": "", **drawn, **limits})
    assert form.is_valid(), form.errors
    plan = form.plan()
    known = {"source": "test-source", "axis": "nationality", "threshold": 3, "pool": "out"}
    seeds = catalogue_seeds(**known, number=3, seed=5)
    assert plan.recipe.design["seeds"] == [[seed.identity, seed.attribute] for seed in seeds]
    assert plan.recipe.design["sample_seed"] == 5
    assert plan.limits == Limits(in_flight=2, tokens=30, cost=4, price_in=5, price_out=6)


def api(client, method, path, data=None):
    call = getattr(client, method)
    return call(f"/api/v1/{path}", json.dumps(data or {}), content_type="application/json")


def test_the_api_does_what_the_pages_do(client, lead, run, anybackend):
    base = f"candidate-runs/{run.pk}"
    assert client.get(f"/api/v1/{base}").status_code == 404
    assert api(client, "post", base).status_code == 202
    lists.compute_pending()
    assert api(client, "post", base).status_code == 200
    state = client.get(f"/api/v1/{base}").json()
    assert (state["state"], state["stale"]) == ("done", False)
    assert {line["rule"]: line["number"] for line in state["report"]}["answers_without_tuple"] == 1
    rows = client.get(f"/api/v1/{base}/candidates", {"region": "Latin America"}).json()["results"]
    assert {row["attribute"] for row in rows} == {"dance", "poet"}
    [poet] = [row["id"] for row in rows if row["attribute"] == "poet"]
    assert api(client, "put", f"{base}/candidates/{poet}/struck").status_code == 204
    left = client.get(f"/api/v1/{base}/candidates", {"struck": "false"}).json()["results"]
    assert len(left) == 2
    struck = client.get(f"/api/v1/{base}/candidates/{poet}").json()
    assert (struck["candidate"]["struck"], [one["key"] for one in struck["answers"]]) == (True, ["2"])
    assert client.get(f"/api/v1/{base}/candidates/{poet}?after={10**9}").json()["answers"] == []
    assert api(client, "delete", f"{base}/candidates/{poet}/struck").status_code == 204
    assert api(client, "post", f"{base}/study", {"name": "from-api"}).json() == {
        "study": "from-api",
        "source": "from-api",
    }
    assert api(client, "post", f"{base}/study", {"name": "from-api"}).status_code == 409
    CandidateList.objects.update(state=JobState.PENDING, finished_at=None)
    assert client.get(f"/api/v1/{base}").json()["report"] == []
    assert client.get(f"/api/v1/{base}/candidates").json()["results"] == []


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
