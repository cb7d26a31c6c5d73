"""Pages and API of the results of a run's associations: what they show, to whom, and from preview to run."""

from __future__ import annotations

import re

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from generation.models import Run
from metrics.associations.comparison import Pair
from metrics.associations.judgements import LEVEL_PROMPT
from metrics.associations.results_forms import FORMS
from metrics.models import AssociationList
from tests import factories
from tests.annotation.api.calls import Program
from tests.metrics.associations.judged import a_list, group, judging, pair

pytestmark = pytest.mark.django_db
COMPARE = reverse("compare_associations")


@pytest.fixture
def found():
    group("old", singular="old person", plural="old people", article="an")
    made = a_list()
    rows = [pair(made, "old", "zzslow", negative=True), pair(made, "young", "zzloud", negative=False)]
    judging(made, "level", [(rows[0], "hm"), (rows[1], "2")])
    return made


@pytest.fixture
def maker(client):
    made = factories.user(lead=True)
    client.force_login(made)
    return made


def url(name, found, *more) -> str:
    return reverse(name, args=[found.run_id, *more])


def test_the_page_of_figures_shows_who_judged_and_files_without_words(client, maker, found):
    text = client.get(url("association_figures", found)).content.decode()
    assert "asked-level" in text
    assert "2 of 2 sentences are answered. 1 answer has no level and is left out." in text
    assert "No toxicity is known of these pairs." in text
    odd = client.get(url("association_figures", found), {"variant": "odd"})
    assert odd.context["variant"] == "corrected"
    assert "zzslow" not in text
    assert "zzloud" not in text
    assert 'href="?variant=published"' in text
    [picture] = re.findall(r'<img src="(/associations/[^"]+)"', text)
    assert picture.endswith("?variant=corrected")
    assert client.get(picture.replace("&amp;", "&")).headers["Content-Type"] == "image/svg+xml"
    file = client.get(url("association_figure", found, "negative", "csv"), {"download": ""})
    assert file.headers["Content-Disposition"] == 'attachment; filename="asked-negative-corrected.csv"'
    assert "Age,,T2T singular,0.5" in file.content.decode()
    for name, query in (("nothing", {}), ("toxic", {}), ("negative", {"variant": "published"})):
        assert client.get(url("association_figure", found, name, "csv"), query).status_code == 404
    assert (
        "No sentiment is known"
        in client.get(url("association_figures", found), {"variant": "published"}).content.decode()
    )


def test_two_sides_are_compared_with_their_words_blurred(client, maker, found, monkeypatch):
    assert "Choose what to compare." in client.get(COMPARE).content.decode()
    other = a_list("other")
    for name, word in (("old", "zzslow"), ("old", "zzwise"), ("tall", "zzfast")):
        pair(other, name, word)
    sides = {"here": found.run_id, "there": other.run_id, "there_setting": "t2t-singular"}
    text = client.get(COMPARE, sides).content.decode()
    assert "0.250 <span" in text
    assert '<span class="word is-hidden-word" lang="en" dir="auto">zzslow</span>' in text
    assert "zzwise" not in text
    session = client.session
    session["show_words"] = True
    session.save()
    text = client.get(COMPARE, {**sides, "list": "only_there"}).content.decode()
    assert '<span class="word" lang="en" dir="auto">zzwise</span>' in text
    assert "zzslow" not in text
    monkeypatch.setattr("metrics.associations.views.results.PER_PAGE", 1)
    first = client.get(COMPARE, {**sides, "list": "only_there"}).context
    assert first["pairs"] == [Pair("old", "zzwise")]
    second = client.get(COMPARE, {**sides, "list": "only_there", "page": "2"}).context
    assert [(side.found, side.where, number) for side, number in second["sides"]] == [
        *((found, "", 2), (other, "t2t-singular", 3)),
    ]
    assert all("page=1" in link for *_, link in second["lists"])
    assert second["pairs"] == [Pair("tall", "zzfast")]
    assert "page=" not in second["query"]
    assert client.get(COMPARE, {**sides, "list": "odd"}).context["which"] == "shared"
    published = client.get(COMPARE, {**sides, "variant": "published", "here_setting": "t2t-noun"}).context
    assert [(side.where, number) for side, number in published["sides"]] == [
        *(("t2t-noun", 0), ("t2t-singular", 0)),
    ]
    form = published["form"]
    labels = [label for _run, label in form.fields["here"].choices if label != "---------"]
    assert labels == ["other · tiny", "asked · tiny"]
    wrong = client.get(COMPARE, {**sides, "here": 10**6}).content.decode()
    assert "Select a valid choice" in wrong


def test_from_the_preview_to_a_planned_run(client, maker, found):
    new = url("new_judgements", found, "sentiment")
    form = client.get(new).content.decode()
    assert 'aria-current="true">Associations</a>' in form
    assert "distilbert/distilbert-base-uncased-finetuned-sst-2-english" in form
    chosen = {"backend": "vader", "dtype": "auto", "model": "ignored"}
    text = client.post(new, chosen).content.decode()
    assert '<span class="word is-hidden-word" lang="en" dir="auto">An old person is zzslow</span>' in text
    assert Run.objects.count() == 2
    [fingerprint] = re.findall(r'name="fingerprint" value="([0-9a-f]+)"', text)
    answer = client.post(new, {**chosen, "start": "1", "fingerprint": fingerprint})
    run = Run.objects.get(backend="vader")
    assert answer.headers["Location"] == reverse("run", args=[run.pk])
    assert (run.jobs.count(), run.model, run.created_by) == (2, "vader", maker)
    refused = client.post(url("new_judgements", found, "toxicity"), chosen)
    assert refused.status_code == 422
    assert "knows sentiment only" in refused.content.decode()
    assert client.get(url("new_judgements", found, "mood")).status_code == 404


def test_the_form_of_a_level_has_the_prompt(client, maker, found):
    new = url("new_judgements", found, "level")
    form = client.get(new).content.decode()
    assert "{sentence}" in form
    chosen = {"backend": "fake", "dtype": "auto", "times": 1, "temperature": 0, "top_p": 1, "max_tokens": 9}
    text = client.post(new, {**chosen, "prompt": "Rate {sentence}", "chat": "on"}).content.decode()
    assert "Rate An old person is zzslow" in text
    assert "Rate it" in client.post(new, {**chosen, "prompt": "Rate it"}).content.decode()


def test_forms_of_judgements_begin_with_the_usual_recipe_and_hand_on_limits(found):
    level = FORMS["level"](found=found, user=User(), what="level")
    assert level.initial["prompt"] == LEVEL_PROMPT
    assert {level.initial[name] for name in ("options", "stop", "labels")} == {""}
    assert (level.initial["temperature"], level.initial["max_tokens"]) == (0, 20)
    chosen = {"backend": "fake", "dtype": "auto", "times": 1, "temperature": 0, "top_p": 1, "max_tokens": 9}
    chosen["token_limit"] = 99
    level = FORMS["level"]({**chosen, "prompt": "Rate {sentence}"}, found=found, user=User(), what="level")
    assert level.is_valid(), level.errors
    plan = level.plan()
    assert (plan.limits.tokens, plan.total) == (99, 2)


def test_only_those_who_make_images_see_them_and_only_once_they_are_found(client, found):
    addresses = [
        url("association_figures", found),
        url("association_figure", found, "negative", "csv"),
        url("new_judgements", found, "level"),
    ]
    lead = factories.user()
    factories.study(leads=[lead])
    client.force_login(lead)
    assert {client.get(address).status_code for address in (COMPARE, *addresses)} == {404}
    assert Program(lead).get(f"association-runs/{found.run_id}/results").status_code == 404
    maker = factories.user(lead=True)
    client.force_login(maker)
    assert {client.get(address).status_code for address in addresses} == {200}
    AssociationList.objects.update(state="pending")
    assert {client.get(address).status_code for address in addresses} == {404}
    assert Program(maker).get(f"association-runs/{found.run_id}/results").status_code == 404
    assert not client.get(COMPARE, {"here": found.run_id, "there": found.run_id}).context["form"].is_valid()


def test_the_api_reads_what_the_pages_show_and_plans_what_the_forms_plan(found):
    program = Program(factories.user(lead=True))
    number = found.run_id
    base = f"association-runs/{number}"
    results = program.get(f"{base}/results").json()
    assert [(row["dimension"], row["what"], row["share"]["value"]) for row in results["shares"]] == [
        ("", "negative", 0.5),
        ("age", "negative", 0.5),
    ]
    published = program.get(f"{base}/results?variant=published").json()
    assert published == {"run": number, "variant": "published", "shares": [], "levels": []}
    file = program.get(f"{base}/figures/negative/csv")
    assert file.status_code == 200
    assert 'filename="asked-negative-corrected.csv"' in file.headers["Content-Disposition"]
    assert program.get(f"{base}/figures/negative/csv?variant=published").status_code == 409
    assert program.get(f"{base}/figures/toxic/csv").status_code == 409
    for file in ("nothing/csv", "negative/exe"):
        assert program.get(f"{base}/figures/{file}").status_code == 404
    sides = f"association-runs/comparison?here={number}&there={number}"
    compared = program.get(f"{sides}&limit=1").json()
    assert (compared["shared"], compared["only_here"], compared["jaccard"]["value"]) == (2, 0, 1)
    assert (compared["pairs"], compared["after"]) == ([{"descriptor": "old", "word": "zzslow"}], 1)
    assert program.get(f"{sides}&limit=1&after=1").json()["after"] is None
    assert program.get(f"{sides}&variant=published").json()["shared"] == 0
    apart = program.get(f"{sides}&there_setting=t2t-noun&list=only_here&limit=1").json()
    numbers = [apart[name] for name in ("here", "there", "shared", "only_here", "only_there", "after")]
    assert (numbers, len(apart["pairs"])) == ([2, 0, 0, 2, 0, 1], 1)
    both = program.get(f"{sides}&limit=2").json()
    assert (len(both["pairs"]), both["after"]) == (2, None)
    assert program.get(f"{sides}&after=1").json()["pairs"] == both["pairs"][1:]
    assert program.get(f"{sides}&there_setting=t2t-noun").json()["shared"] == 0
    dry = program.post(f"{base}/judgements/sentiment?dry_run=true", {"backend": "vader"})
    assert (dry.status_code, dry.json()["total"], dry.json()["run"]) == (200, 2, None)
    pair(found, "old", "zzwise", significant_corrected=False)
    every = {"backend": "vader", "all_pairs": True, "name": " mine "}
    dry = program.post(f"{base}/judgements/sentiment?dry_run=true", every).json()
    assert (dry["total"], dry["name"]) == (3, "mine")
    planned = program.post(f"{base}/judgements/level", {"backend": "fake", "prompt": "Rate {sentence}"})
    assert planned.status_code == 201
    run = Run.objects.get(pk=planned.json()["run"])
    assert (run.recipe["design"]["prompt"], run.recipe["temperature"]) == ("Rate {sentence}", 0)
    assert program.post(f"{base}/judgements/toxicity", {"backend": "vader"}).status_code == 422
    assert program.post(f"{base}/judgements/level", {"prompt": "Rate it"}).status_code == 422
    assert program.post(f"{base}/judgements/mood", {}).status_code == 404
    assert program.post(f"{base}/judgements/sentiment", {"temperature": 0}).status_code == 400
