"""manage.py open_study: studies as files, repeatable, and never changed once open."""

from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext

from annotation.models import Attribute, Slot, SlotState, Study, StudyStatus, Unit
from annotation.studies.units import compare, write
from tests import factories

pytestmark = pytest.mark.django_db

FILE = """
name = "pilot"
title = "A pilot"
contact = "studies@example.org"
leads = ["maria"]

[consent]
text = "What taking part means."
content_warning = "Some words are hurtful."

[[tasks]]
kind = "visual_nature"
strata = ["origin: Asia", "origin: Europe", "any"]
seed = 11
attributes = ["hat", "kind", "poor", "sombrero"]
"""


@pytest.fixture
def maria():
    return factories.user("maria")


def opened(tmp_path, text: str = FILE, **options) -> str:
    path = tmp_path / "study.toml"
    path.write_text(text, encoding="utf-8")
    out = StringIO()
    call_command("open_study", str(path), stdout=out, stderr=out, **options)
    return out.getvalue()


def everything():
    return (
        list(Study.objects.values()),
        list(Unit.objects.order_by("pk").values()),
        list(Slot.objects.order_by("pk").values()),
    )


def test_it_makes_and_opens_the_whole_study(tmp_path, maria):
    said = opened(tmp_path)

    study = Study.objects.get()
    assert study.status == StudyStatus.OPEN
    assert list(study.leads.all()) == [maria]
    text = study.consent_texts.get()
    assert (text.version, text.content_warning) == (1, "Some words are hurtful.")
    task = study.tasks.get()
    assert task.frozen_at is not None
    assert (task.overlap, task.strata) == (3, ["origin: Asia", "origin: Europe", "any"])
    assert set(task.units.values_list("attribute__text", flat=True)) == {"hat", "kind", "poor", "sombrero"}
    assert "4 units, 12 answers needed" in said
    assert "/studies/pilot/" in said


@pytest.fixture
def small_batches(monkeypatch):
    """Each unit is written, read and deleted in a batch of its own."""
    for module in (write, compare):
        monkeypatch.setattr(module, "BATCH", 1)


def test_slots_queue_unit_by_unit_with_their_strata(tmp_path, maria, small_batches):
    opened(tmp_path)

    slots = list(
        Slot.objects.order_by("queue").values_list("queue", "unit__position", "index", "stratum", "state")
    )
    strata = ["origin: Asia", "origin: Europe", "any"]
    assert slots == [
        (position * 3 + index + 1, position + 1, index, strata[index], SlotState.OPEN)
        for position in range(4)
        for index in range(3)
    ]
    assert "nothing to change" in opened(tmp_path)


def test_the_order_is_shuffled_by_the_seed(tmp_path, maria):
    def order(name, seed):
        text = FILE.replace('"pilot"', f'"{name}"').replace("seed = 11", f"seed = {seed}")
        words = ", ".join(f'"word {number}"' for number in range(40))
        opened(tmp_path, text.replace('"hat", "kind", "poor", "sombrero"', words))
        units = Unit.objects.filter(task__study__name=name).order_by("position")
        return list(units.values_list("attribute__text", flat=True))

    assert order("one", 1) == order("one-again", 1) != order("two", 2)


def test_the_same_file_again_changes_nothing(tmp_path, maria):
    opened(tmp_path)
    before = everything()

    assert "nothing to change" in opened(tmp_path)
    assert everything() == before


def test_a_changed_file_for_an_open_study_is_refused_with_what_differs(tmp_path, maria):
    opened(tmp_path)
    before = everything()

    changed = (
        FILE.replace('"kind", ', "").replace("Some words", "A few words").replace("seed = 11", "seed = 12")
    )
    with pytest.raises(CommandError) as error:
        opened(tmp_path, changed)

    message = str(error.value)
    assert "study.toml: the study 'pilot' is open already" in message
    for key in ("consent.content_warning", "tasks[1].seed", "tasks[1].attributes"):
        assert key in message
    assert everything() == before


def test_what_a_question_says_in_another_language_is_fixed_like_the_question(tmp_path, maria):
    asking = FILE.replace("[[tasks]]", '[[questions]]\nfield = "a"\nlabel = "A?"\n\n[[tasks]]')
    opened(tmp_path, asking)
    assert Study.objects.get().questions == [{"field": "a", "label": "A?", "choices": []}]
    spanish = '[questions.translations.es]\nlabel = "¿A?"\n\n[[tasks]]'
    with pytest.raises(CommandError, match=r"differs in questions\."):
        opened(tmp_path, asking.replace("[[tasks]]", spanish))


def test_a_draft_follows_its_file_and_opens_later(tmp_path, maria, small_batches):
    opened(tmp_path, draft=True)
    assert Study.objects.get().status == StudyStatus.DRAFT

    assert "Recreated" in opened(tmp_path, FILE.replace('"kind", ', ""), draft=True)
    assert Unit.objects.count() == 3

    opened(tmp_path, FILE.replace('"kind", ', ""))
    assert Study.objects.get().status == StudyStatus.OPEN


def test_a_draw_from_a_source_is_repeatable(tmp_path, maria):
    for number in range(30):
        factories.association(text=f"word {number:02}", group_name="Mexican")
        factories.association(text=f"word {number:02}", group_name="French")
    text = FILE.replace('["hat", "kind", "poor", "sombrero"]', '{ source = "test-source", limit = 8 }')

    opened(tmp_path, text)
    assert "nothing to change" in opened(tmp_path, text)

    assert Unit.objects.count() == 8
    assert Attribute.objects.count() == 30


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('["maria"]', '["mario"]', "leads: there is no user 'mario'. There are: maria."),
        (
            "[consent]",
            'questions = [{ field = "a", label = "A?" }, { field = "gender", label = "G?" }]\n[consent]',
            "questions[2].field: 'gender' is already a field of the profile.",
        ),
        (
            "origin: Asia",
            "orgin: Asia",
            "tasks[1].strata[1]: 'orgin: Asia': there is no profile field 'orgin'",
        ),
        (
            '["hat", "kind", "poor", "sombrero"]',
            '{ source = "seegul" }',
            "attributes.source: there is no source 'seegul'",
        ),
        ("[[tasks]]", '[stereotypes]\nsource = "x"\n[[tasks]]', "stereotypes.source: there is no source 'x'"),
        ("origin: Asia", f"origin: {'A' * 113}", "tasks[1].strata[1]: 'origin: AAAA"),
        (
            '["hat", "kind", "poor", "sombrero"]',
            '{ source = "empty" }',
            "tasks[1].attributes.source: 'empty' has no attributes. Import it first.",
        ),
    ],
)
def test_what_the_file_names_must_exist(tmp_path, maria, old, new, message):
    factories.source("empty")
    with pytest.raises(CommandError) as error:
        opened(tmp_path, FILE.replace(old, new))

    assert message in str(error.value)
    assert not Study.objects.exists()


def test_a_limit_above_what_the_source_has_is_refused(tmp_path, maria):
    factories.association(text="hat")
    text = FILE.replace('["hat", "kind", "poor", "sombrero"]', '{ source = "test-source", limit = 8 }')
    with pytest.raises(CommandError, match="limit = 8, but 'test-source' has 1 attributes"):
        opened(tmp_path, text)


def test_a_stratum_that_nobody_can_choose_is_warned_of(tmp_path, maria):
    longest = f"origin: {'A' * 112}"
    said = opened(tmp_path, FILE.replace("origin: Asia", longest))
    assert f"no choice for the stratum '{longest}'" in said


def test_statements_grow_with_batches_and_not_with_units(tmp_path, maria):
    def statements(name, number):
        words = ", ".join(f'"{name} {word}"' for word in range(number))
        text = FILE.replace('"pilot"', f'"{name}"').replace('"hat", "kind", "poor", "sombrero"', words)
        with CaptureQueriesContext(connection) as queries:
            opened(tmp_path, text)
        return len(queries)

    few, many = statements("few", 10), statements("many", 100)
    assert many <= few + 4  # SQLite splits long inserts


def test_a_whole_source_is_taken_without_a_limit(tmp_path, maria):
    for number in range(5):
        factories.association(text=f"word {number}")
    opened(tmp_path, FILE.replace('["hat", "kind", "poor", "sombrero"]', '{ source = "test-source" }'))
    assert Unit.objects.count() == 5


@pytest.mark.parametrize(
    ("old", "new", "key"),
    [
        ('leads = ["maria"]', "", "leads"),
        ("[[tasks]]", '[stereotypes]\nsource = "votes"\n[[tasks]]', "stereotypes.source"),
        ("Some words are hurtful.", "Some words hurt.", "consent.content_warning"),
        ("seed = 11", "seed = 12", "tasks[1].seed"),
        ("[[tasks]]", '[translations.es]\ntitle = "Un piloto"\n[[tasks]]', "differs in translations."),
        ("[[tasks]]", '[[questions]]\nfield = "a"\nlabel = "A?"\n[[tasks]]', "differs in questions."),
    ],
)
def test_a_changed_file_names_the_keys_that_differ(tmp_path, maria, old, new, key):
    factories.source("votes")
    opened(tmp_path)
    before = everything()
    with pytest.raises(CommandError) as error:
        opened(tmp_path, FILE.replace(old, new))
    assert key in str(error.value)
    assert everything() == before
