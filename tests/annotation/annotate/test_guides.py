"""Instructions and worked examples, in the annotator's language, where annotators read and work."""

import re

import pytest

from annotation.models import Task
from annotation.participation.queries.enrolments import guides
from tests import factories

pytestmark = pytest.mark.django_db
EXAMPLE = {"text": "a <b>hat</b>", "answer": "Strongly agree", "why": "One can point at it."}
PAGES = ("/studies/words/", "/studies/words/annotate/")


@pytest.fixture
def task(client):
    study = factories.rating_study(name="words")
    who = factories.user("amal")
    client.force_login(who)
    factories.enrolment(study, who=factories.annotator(user=who), consented=True)
    return study.tasks.get()


def read(client, path: str, language: str = "en") -> str:
    return client.get(path, headers={"accept-language": language}).text


@pytest.mark.parametrize("path", PAGES)
def test_instructions_and_examples_stand_on_the_page(client, task, path):
    Task.objects.update(instructions="Think of any image.", examples=[EXAMPLE, {**EXAMPLE, "why": ""}])
    page = read(client, path)
    assert "<p>Think of any image.</p>" in page
    assert "<summary>2 examples</summary>" in page
    assert "a &lt;b&gt;hat&lt;/b&gt;" in page
    assert page.count("One can point at it.") == 1, "an example need not say why"


def test_they_are_closed_at_work_and_open_where_one_reads(client, task):
    Task.objects.update(examples=[EXAMPLE])
    study, work = (read(client, path) for path in PAGES)
    assert '<details class="examples" open>' in study
    assert '<details class="examples">' in work
    assert '<details class="guides">' in work


def test_without_any_the_page_at_work_leads_back_to_the_study(client, task):
    page = read(client, PAGES[1])
    assert 'class="guides"' not in page
    assert "Back to instructions" in page


@pytest.mark.parametrize("path", PAGES)
def test_they_are_shown_in_the_language_of_the_page_where_they_are_translated(client, task, path):
    Task.objects.update(
        instructions="Think of any image.",
        examples=[EXAMPLE],
        translations={
            "es": {
                "wording": "¿Se ve '[attr]'?",
                "instructions": "Piense en cualquier imagen.",
                "examples": [{"text": "sombrero", "answer": "Muy de acuerdo", "why": ""}],
            }
        },
    )
    page = read(client, path, "es")
    assert "Piense en cualquier imagen." in page
    assert "Muy de acuerdo" in page
    assert "Think of any image." not in page
    assert "One can point at it." not in page


@pytest.mark.parametrize("path", PAGES)
def test_what_is_not_translated_says_that_it_is_in_english(client, task, path):
    Task.objects.update(
        instructions="Think of any image.",
        examples=[EXAMPLE],
        translations={"ar": {"wording": "هل تُرى '[attr]'؟", "instructions": ""}},
    )
    page = read(client, path, "ar")
    assert re.search(r'<div lang="en" dir="auto"><p>Think of any image\.', page)
    assert '<ol lang="en">' in page


def test_a_variety_of_a_language_reads_the_language(task):
    task.translations = {"pt": {"wording": "[attr]?", "instructions": "Pense."}}
    (guide,) = guides(tasks=[task], language="pt-br")
    assert (guide.instructions, guide.instructions_language) == ("Pense.", "pt")


def test_several_tasks_are_told_apart_by_their_kind(client, task):
    Task.objects.update(instructions="Think of any image.")
    factories.task(task.study, kind="offensiveness", instructions="Think of a group.")
    page = read(client, PAGES[0])
    assert "<h3>Visual nature of an attribute</h3>" in page
    assert "<h3>Offensiveness of an attribute</h3>" in page
