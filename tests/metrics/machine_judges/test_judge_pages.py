"""The pages with which leads see and plan the judges of a study."""

from __future__ import annotations

import re

import pytest
from django.urls import reverse

from annotation.models import Study, StudyStatus, TaskKind
from generation.models import Run, RunState
from generation.recipes.limits import Limits, as_json
from tests import factories
from tests.metrics import cast
from tests.metrics.machine_judges.judged import answer, judge, planned

pytestmark = [pytest.mark.django_db, pytest.mark.pages]


@pytest.fixture
def lead(client):
    made = factories.user("lead")
    client.force_login(made)
    return made


@pytest.fixture
def maker(client):
    made = factories.user("maker", lead=True)
    client.force_login(made)
    return made


def words(*leads, **fields) -> Study:
    return factories.rating_study(name="words", leads=leads, **fields)


def hats(*leads) -> Study:
    study = cast.depiction_study(name="hats", leads=leads)
    study.tasks.get().units.first().image.image_set.images.update(file="made-up.png", sha256="0" * 64)
    return study


def page(client, study: Study, status: int = 200) -> str:
    answer = client.get(reverse("judges", args=[study.name]))
    assert answer.status_code == status
    return answer.content.decode()


def form(chosen: str, **changes: object) -> dict[str, object]:
    data = {
        "task": chosen,
        "backend": "fake",
        "times": "1",
        "temperature": "0",
        "again": "0",
        "name": "asked",
    }
    return {**data, "top_p": "1", "max_tokens": "400", "dtype": "auto", "chat": "on", **changes}


def test_the_list_says_what_each_judge_is_asked_and_what_it_used(client, maker):
    study = hats(maker)
    asked = {"boxes": "pixels", "again": 2, "times": 2, "name": "two-samples"}
    run = answer(planned(study, TaskKind.DEPICTION, **asked), lambda job: "a hat")
    limits = as_json(Limits(price_in=1000.0, price_out=10_000.0))
    Run.objects.filter(pk=run.pk).update(limits=limits, recipe={**run.recipe, "revision": "v7"})
    text = re.sub(r"\s+", " ", page(client, study))
    jobs = (study.tasks.get().units.count() + 2) * 2
    assert "two-samples" in text
    assert "fake-judge" in text
    assert "v7" in text
    assert "simulated answers" in text
    assert "what an image depicts" in text
    assert "prompts version 1, temperature 0, 2 samples, boxes in pixels. Again about 2 items:" in text
    assert f"{jobs} of {jobs}" in text
    assert f">{110 * jobs:,}<" in text
    assert f">{(100 * jobs * 1000 + 10 * jobs * 10_000) / 1e6:.2f}<" in text
    assert reverse("run", args=[run.pk]) in text
    assert "has not heard those who differ" in text


def test_who_leads_without_making_images_sees_the_list_and_why_there_is_no_button(client, lead):
    study = words(lead)
    run = planned(study, TaskKind.VISUAL_NATURE, name="planned")
    text = page(client, study)
    assert "planned" in text
    assert "leads who may also set up studies" in text
    for address in (reverse("new_judge", args=[study.name]), reverse("run", args=[run.pk])):
        assert address not in text
        assert client.get(address).status_code == 404
    assert client.post(reverse("new_judge", args=[study.name]), form("visual_nature")).status_code == 404


def test_an_empty_list_says_what_to_do_next(client, maker):
    study = words(maker)
    text = page(client, study)
    assert "see what it would be asked and cost" in text
    assert reverse("new_judge", args=[study.name]) in text
    Study.objects.filter(pk=study.pk).update(status=StudyStatus.DRAFT)
    text = page(client, study)
    assert "open the study first" in text
    assert reverse("new_judge", args=[study.name]) not in text
    # and every page of the study leads here
    assert reverse("judges", args=[study.name]) in client.get(f"/studies/{study.name}/agreement/").text


def test_judges_of_other_studies_are_not_listed(client, maker):
    study, other = words(maker), factories.rating_study(name="other")
    planned(other, TaskKind.VISUAL_NATURE, name="of-another")
    odd = planned(study, TaskKind.VISUAL_NATURE, name="for-something-else")
    odd.recipe["design"]["purpose"] = "associations"
    odd.save()
    assert "of-another" not in page(client, study)
    assert "for-something-else" not in page(client, study)
    page(client, other, status=404)
    assert client.get(reverse("new_judge", args=["other"])).status_code == 404


def test_from_the_preview_to_the_run(client, maker):
    study = words(maker)
    study.tasks.update(wording="Can [attr] be seen?")  # in no other language
    address = reverse("new_judge", args=[study.name])
    shown = client.get(address).text
    assert "visual nature of an attribute" in shown
    assert 'name="boxes"' not in shown  # this study has no images
    assert 'name="languages"' not in shown
    preview = client.post(address, form("visual_nature", again="2", price_in="1", price_out="1")).text
    items = study.tasks.get().units.count()
    assert f"Start: {items + 2} askings" in preview
    assert "Choose one answer:" in preview
    assert "Time with one worker" in preview
    assert "<dt>Cost</dt>" in preview
    assert not Run.objects.exists()
    [fingerprint] = re.findall(r'name="fingerprint" value="([0-9a-f]+)"', preview)
    changed = form("visual_nature", again="1", start="1", fingerprint=fingerprint)
    assert "The preview has changed" in client.post(address, changed).text
    assert not Run.objects.exists()
    start = form("visual_nature", again="2", price_in="1", price_out="1", start="1", fingerprint=fingerprint)
    started = client.post(address, start)
    run = Run.objects.get()
    assert started.headers["Location"] == reverse("run", args=[run.pk])
    assert (run.name, run.jobs.count(), run.created_by) == ("asked", items + 2, maker)
    assert run.state != RunState.PLANNED
    design = run.recipe["design"]
    assert (design["study"], design["task"], design["again"]) == ("words", "visual_nature", 2)
    assert run.limits["price_in"] == 1
    assert "asked" in page(client, study)


@pytest.mark.parametrize(
    ("task", "change", "field", "cure"),
    [
        ("visual_nature", {"task": ""}, "task", "required"),
        ("visual_nature", {"task": "depiction"}, "task", "Select a valid choice"),
        ("visual_nature", {"backend": "nothing"}, "backend", "Select a valid choice"),
        ("visual_nature", {"again": "-1"}, "again", "greater than or equal to 0"),
        ("visual_nature", {"times": "0"}, "times", "greater than or equal to 1"),
        ("visual_nature", {"temperature": "3"}, "temperature", "less than or equal to 2"),
        ("visual_nature", {"wording": "Is it visible?", "again": "1"}, "wording", "the same places"),
        ("visual_nature", {"cost_limit": "5"}, "cost_limit", "needs both prices"),
        ("visual_nature", {"options": "bias"}, "options", "write name=value"),
        ("depiction", {"boxes": "miles"}, "boxes", "Select a valid choice"),
        ("visual_nature", {"wording": "Is [attr] visible?"}, "again", "Choose a number of items"),
        ("visual_nature", {"boxes": "pixels"}, "boxes", "Choose none"),
        ("visual_nature", {"languages": ["fr"], "again": "1"}, "languages", "Select a valid choice"),
    ],
)
def test_wrong_input_is_told_at_its_field_with_a_cure(client, maker, task, change, field, cure):
    study = hats(maker) if task == "depiction" else words(maker)
    defaults = {"boxes": "none"} if task == "depiction" else {}
    answer = client.post(reverse("new_judge", args=[study.name]), form(task, **{**defaults, **change}))
    assert answer.status_code == 422
    errors = answer.context["form"].errors
    assert list(errors) == [field]
    assert cure in errors[field][0]
    assert not Run.objects.exists()


def test_a_study_of_both_kinds_names_what_is_of_the_other_task(client, maker):
    study = hats(maker)
    task = factories.task(study, kind=TaskKind.VISUAL_NATURE, wording="Can [attr] be seen?")
    factories.attribute_unit(task, "hat")
    study.tasks.filter(kind=TaskKind.DEPICTION).update(translations={"es": {}})
    address = reverse("new_judge", args=[study.name])
    shown = client.get(address).text
    options = shown.partition('name="backend"')[2].partition("</select>")[0]
    known = dict(re.findall(r'<option value="(\w+)"[^>]*>([^<]*)', options))
    assert set(known) == {"openai", "fake", "transformers"}, "those that can answer in the form"
    for words in ("without images: A language model", "with images: A vision-language model"):
        assert words in known["openai"]
    cases = {
        "boxes": form("visual_nature", boxes="pixels"),
        "languages": form("visual_nature", boxes="none", languages=["es"], again="1"),
    }
    for field, data in cases.items():
        answer = client.post(address, data)
        assert (answer.status_code, list(answer.context["form"].errors)) == (422, [field])


def test_a_draft_and_a_name_that_is_taken_are_refused(client, maker):
    study = words(maker)
    planned(study, TaskKind.VISUAL_NATURE, name="taken")
    address = reverse("new_judge", args=[study.name])
    taken = client.post(address, form("visual_nature", name="taken", again="1"))
    assert taken.status_code == 422
    assert "choose another name" in taken.text
    Study.objects.filter(pk=study.pk).update(status=StudyStatus.DRAFT)
    draft = client.post(address, form("visual_nature"))
    assert draft.status_code == 422
    assert "Open the study first" in draft.text


def test_the_list_asks_as_many_queries_for_many_as_for_one(client, maker, django_assert_num_queries):
    study = words(maker)
    judge(study, TaskKind.VISUAL_NATURE, lambda *_: 5, name="first")
    address = reverse("judges", args=[study.name])
    client.get(address)
    with django_assert_num_queries(11):
        client.get(address)
    for number in range(3):
        judge(study, TaskKind.VISUAL_NATURE, lambda *_: 5, name=f"more-{number}")
    with django_assert_num_queries(11):
        client.get(address)
