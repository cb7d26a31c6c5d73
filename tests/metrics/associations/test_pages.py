"""The pages, the API and the command of associations that models make."""

import csv
import io
import json
import math

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from annotation.core.leases import JobState
from annotation.models import Association, AuditEvent, Source, Study
from generation.models import Run
from metrics.associations.evaluation import AssociationsRefused
from metrics.associations.queries import MOST_ASKINGS
from metrics.associations.services import lists
from metrics.associations.study_forms import StudyForm
from metrics.models import AssociationList
from tests import factories
from tests.metrics.associations import answered

pytestmark = [pytest.mark.django_db, pytest.mark.pages]


@pytest.fixture
def lead(client):
    user = factories.user(lead=True)
    client.force_login(user)
    return user


@pytest.fixture
def groups():
    return [answered.group("nurse", "age"), answered.group("Nurse", "gender"), answered.group("miner", "age")]


@pytest.fixture
def run(groups):
    """Nurses are kind and miners keen, each in 30 of 30 askings; of both, half are tall."""
    nurse, other_nurse, miner = groups
    given = []
    for number in range(1, 31):
        tall = "[tall]" if number % 2 else "I cannot say."
        for row, group, word in ((1, nurse, "kind"), (2, other_nurse, "kind"), (3, miner, "keen")):
            given += [
                (group, f"t2t-singular/{row}/k", number, f"It is [{word}]"),
                (group, f"t2t-singular/{row}/t", number, tall),
            ]
    return answered.run(given)


@pytest.fixture
def found(run):
    return answered.found(run)


def text(response, status=200):
    assert response.status_code == status, response.content[:500]
    return response.content.decode()


def act(client, run, action, **data):
    return client.post(reverse("association_action", args=[run.pk, action]), data)


def get(client, run, **query):
    return text(client.get(reverse("model_associations", args=[run.pk]), query))


def test_a_worker_finds_the_associations_that_a_lead_asks_for(client, lead, run, groups, monkeypatch):
    sent = []
    monkeypatch.setattr("metrics.associations.views.pairs.enqueue", sent.append)
    assert "Nobody has looked for associations" in get(client, run)
    assert act(client, run, "look").status_code == 404
    assert act(client, run, "find").headers["Location"] == reverse("model_associations", args=[run.pk])
    assert sent == [AssociationList.objects.get()]
    assert "A worker is reading" in get(client, run)
    assert lists.compute_pending() == 1
    page = get(client, run)
    assert ">kind<" in page
    assert 'href="?dimension=age"' in page
    assert 'value="associations-asked"' in page
    assert "Answers or judgements came in" not in page
    answered.add(run, [(groups[2], "t2t-singular/3/k", 31, "[keen]")])
    assert "Answers or judgements came in" in get(client, run)
    AssociationList.objects.update(state=JobState.FAILED, error="<b>no memory</b>", digest="x")
    assert "&lt;b&gt;no memory" in get(client, run)


def test_the_table_is_searched_and_sorted_in_a_fixed_number_of_queries(
    client, lead, run, found, django_assert_max_num_queries
):
    with django_assert_max_num_queries(16):
        page = get(client, run)
    assert ">tall<" not in page  # not significant
    with django_assert_max_num_queries(16):
        page = get(client, run, show="all", sort="word", dir="asc")
    assert page.index(">keen<") < page.index(">kind<") < page.index(">tall<")
    assert ">kind<" not in get(client, run, show="all", descriptor="miner")
    assert ">keen<" not in get(client, run, show="all", dimension="gender")
    assert ">keen<" not in get(client, run, show="all", word="kin")
    assert "No association like this" in get(client, run, word="zebra")
    assert ">icannotsay.<" in get(client, run, variant="published", show="all")
    url, published = reverse("model_associations", args=[run.pk]), {"variant": "published", "show": "all"}
    for direction in ("asc", "desc"):
        rows = client.get(url, {**published, "sort": "z", "dir": direction}).context["rows"]
        assert rows[-1][2]["z"] is None
    assert [client.get(url, each).context["sort"] for each in ({}, published)] == ["z", "score"]
    assert client.get(url, {"page": "2", "word": "kin"}).context["query"] == "word=kin&"
    source = factories.source("known")
    Association.objects.create(
        source=source, group=found.associations.get(word="keen").group, attribute=factories.attribute("keen")
    )
    new = get(client, run, new="yes")
    assert ">kind<" in new
    assert ">keen<" not in new


def test_words_are_blurred_until_somebody_asks_for_them(client, lead, run, found):
    assert 'class="word is-hidden-word"' in get(client, run)
    back = reverse("model_associations", args=[run.pk])
    answer = client.post(reverse("show_words"), {"show": "yes", "next": back})
    assert answer.headers["Location"] == back
    assert "is-hidden-word" not in get(client, run)
    away = client.post(reverse("show_words"), {"show": "no", "next": "https://elsewhere.example/"})
    assert away.headers["Location"] == reverse("association_runs")
    assert "is-hidden-word" in get(client, run)
    client.post(reverse("show_words"), {"next": back})
    assert not client.session["show_words"]


def test_runs_are_listed_on_pages_the_newest_first(client, lead, monkeypatch):
    older, newer = answered.run(name="older"), answered.run(name="newer")
    answered.run(name="odd", purpose="candidates")
    monkeypatch.setattr("metrics.associations.views.pairs.RUNS_PER_PAGE", 1)
    url = reverse("association_runs")
    assert [[*client.get(url, {"page": page}).context["page"]] for page in "12"] == [[newer], [older]]


def test_a_descriptor_shows_all_that_was_said_and_a_word_its_sentences(client, lead, run, found, groups):
    answer = client.get(reverse("association_descriptor", args=[run.pk, groups[0].pk]))
    assert ">tall<" in text(answer)
    assert ">keen<" not in text(answer)
    address = answer.wsgi_request.path
    assert ">tall<" not in text(client.get(address, {"show": ""}))
    assert "The name also stands in:" in text(answer)
    assert answer.context["others"] == [groups[1]]
    one = found.associations.get(group=groups[1], word="kind")
    page = text(client.get(reverse("model_association", args=[run.pk, one.pk])))
    assert "The catalogue does not have this" in page
    Association.objects.create(
        source=factories.source("known"), group=groups[1], attribute=factories.attribute("kind")
    )
    assert "The catalogue has this" in text(client.get(reverse("model_association", args=[run.pk, one.pk])))
    # the answers about both groups of this name, because they are pooled
    assert page.count("It is [kind]") == MOST_ASKINGS
    assert "It is [keen]" not in page


@pytest.mark.parametrize("kind", ["association", "visual_nature"])
def test_a_lead_sends_the_significant_associations_to_people(client, lead, run, found, kind):
    Run.objects.update(backend="fake")
    answer = act(client, run, "study", name="ask", variant="corrected", kind=kind)
    assert answer.headers["Location"] == reverse("setup_step", args=["ask", "consent"])
    pairs = set(Source.objects.get(name="ask").associations.values_list("group__name", "attribute__text"))
    assert pairs == {("nurse", "kind"), ("Nurse", "kind"), ("miner", "keen")}
    assert Source.objects.get(name="ask").origin == "Answers of run asked – simulated, no model’s output"
    assert Study.objects.get(association_lists=found).name == "ask"
    assert AuditEvent.objects.get(what="study made of associations").details["associations"] == 3
    act(client, run, "study", name="ask", variant="corrected", kind=kind)
    assert "named &#x27;ask&#x27; already" in get(client, run)
    # what a model said does not become known by that
    assert ">kind<" in get(client, run, new="yes")


def test_images_are_looked_at_for_the_words_of_their_groups(client, lead, run, found, groups):
    images = factories.image_set("pictures")
    factories.image(image_set=images, group_name="miner")
    asked = {"name": "look", "variant": "corrected", "kind": "depiction"}
    act(client, run, "study", **asked)
    assert "Choose the images" in get(client, run)
    act(client, run, "study", **asked, image_set=images.pk)
    [unit] = Study.objects.get(name="look").tasks.get().units.all()
    shown = unit.options.values_list("attribute__text", "role")
    assert set(shown) == {("keen", "stereotypical"), ("kind", "random"), (None, "none_of_above")}


def api(client, method, path, data=None):
    return getattr(client, method)(
        f"/api/v1/association-runs/{path}", json.dumps(data or {}), content_type="application/json"
    )


def test_the_api_says_the_same(client, lead, run, groups, monkeypatch):
    sent = []
    monkeypatch.setattr("metrics.associations.api.pairs.enqueue", sent.append)
    path = f"/api/v1/association-runs/{run.pk}"
    assert client.get(path).status_code == 404
    assert api(client, "post", run.pk).status_code == 202
    assert sent == [AssociationList.objects.get()]
    lists.compute_pending()
    data = client.get(path).json()
    assert (data["state"], data["stale"]) == ("done", False)
    assert [one["setting"] for one in data["settings"]] == ["t2t-singular"]
    assert data["settings"][0]["unparsed"] == 45
    rows = client.get(f"{path}/pairs", {"word": "ki"}).json()["results"]
    assert [(row["dimension"], row["word"], row["corrected_tf"]) for row in rows] == [
        ("age", "kind", 60),
        ("gender", "kind", 60),
    ]
    odd = {"word": "icannotsay", "significant": "false"}
    found = [
        len(client.get(f"{path}/pairs", {**odd, "variant": variant}).json()["results"])
        for variant in ("published", "corrected")
    ]
    assert found == [3, 0]
    assert len(client.get(f"{path}/pairs/{rows[0]['id']}").json()["answers"]) == MOST_ASKINGS
    assert api(client, "post", run.pk).status_code == 200
    made = api(client, "post", f"{run.pk}/study", {"name": "asked"})
    assert made.json() == {"study": "asked", "source": "asked"}
    for kind in ("depiction", "association"):
        unknown = {"name": "other", "image_set": "none", "kind": kind}
        assert api(client, "post", f"{run.pk}/study", unknown).status_code == 422
    answered.add(run, [(groups[2], "t2t-singular/3/k", 31, "[keen]")])
    assert client.get(path).json()["stale"]


def test_the_api_finds_the_image_set_and_the_study_that_are_named(client, lead, found, monkeypatch):
    def refuse(form, **_):
        raise AssociationsRefused(f"{form.cleaned_data['image_set'].name} {form.cleaned_data['visual'].name}")

    monkeypatch.setattr(StudyForm, "create", refuse)
    for name in ("others", "pictures"):
        factories.image_set(name)
        factories.task(factories.study(f"of-{name}"))
    body = {"name": "look", "kind": "depiction", "image_set": "pictures", "visual": "of-pictures"}
    refused = api(client, "post", f"{found.run_id}/study", body)
    assert (refused.status_code, refused.json()["detail"]) == (409, "pictures of-pictures")


def test_nothing_is_shown_while_a_worker_reads_and_a_list_that_failed_is_tried_again(
    client, lead, run, found, groups
):
    path = f"/api/v1/association-runs/{run.pk}"
    AssociationList.objects.update(state=JobState.PENDING)
    page = client.get(reverse("model_associations", args=[run.pk]))
    assert "A worker is reading" in text(page)
    assert "rows" not in page.context
    about = reverse("association_descriptor", args=[run.pk, groups[0].pk])
    assert client.get(about).status_code == 404
    assert client.get(path).json()["settings"] == client.get(f"{path}/pairs").json()["results"] == []
    assert api(client, "post", f"{run.pk}/study", {"name": "asked"}).status_code == 409
    for find in (lambda: act(client, run, "find"), lambda: api(client, "post", run.pk)):
        AssociationList.objects.update(state=JobState.FAILED, error="no memory")
        find()
        assert AssociationList.objects.get().state == JobState.PENDING


def test_an_association_belongs_to_its_run_and_a_run_for_something_else_has_none(client, lead, found):
    pair = found.associations.first().pk
    other, odd = answered.run(name="other"), answered.run(name="odd", purpose="candidates")
    for address in (
        reverse("model_association", args=[other.pk, pair]),
        f"/api/v1/association-runs/{other.pk}/pairs/{pair}",
        reverse("model_associations", args=[odd.pk]),
    ):
        assert client.get(address).status_code == 404
    assert api(client, "post", odd.pk).status_code == 404


def test_the_command_prints_both_variants(run, capsys):
    call_command("associations", "asked", "--format", "csv", "--variant", "published")
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert list(rows[0]) == [
        *("modality", "setting", "model", "dimension", "descriptor", "word", "tf", "df", "idf", "score"),
        *("p_value", "significant", "z", "q", "significant_corrected"),
    ]
    [refusal] = [row for row in rows if row["word"] == "icannotsay." and row["dimension"] == "gender"]
    assert (refusal["tf"], refusal["z"], refusal["significant_corrected"]) == ("30", "", "")
    call_command("associations", str(run.pk), "--format", "json", "--significant")
    printed = json.loads(capsys.readouterr().out)
    # corrected: of 90 answers to the descriptors
    assert {row["word"]: round(row["idf"], 4) for row in printed["rows"]} == {
        "kind": round(math.log(90 / 60), 4),
        "keen": round(math.log(90 / 30), 4),
    }
    with pytest.raises(CommandError, match=r"There is no run 'asket'\. Did you mean 'asked'"):
        call_command("associations", "asket")
