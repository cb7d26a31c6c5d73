"""Which associations are shown, and which answers hold one."""

from __future__ import annotations

import pytest

from annotation.models import TaskKind
from generation.models import Run
from metrics.associations.askings import Setting
from metrics.associations.queries import (
    Choice,
    DimensionRow,
    answers_with,
    association_runs,
    chosen,
    dimension_rows,
)
from metrics.associations.services import studies
from metrics.associations.study_forms import FilterForm, StudyForm
from metrics.models import Variant
from tests import factories
from tests.metrics.associations import answered
from tests.metrics.associations.judged import a_list, pair

pytestmark = pytest.mark.django_db


@pytest.fixture
def found():
    """Slow is significant as corrected, kind as published, loud not at all; kind is of one variant only, and
    so is loud."""
    made = a_list()
    pair(made, "old", "slow")
    pair(made, "old", "kind", setting="t2i-plural", significant=True, significant_corrected=False)
    pair(made, "young", "loud", axis="gender", setting="t2t-noun", significant_corrected=False)
    made.associations.filter(word="kind").update(corrected_tf=None)
    made.associations.filter(word="loud").update(tf=None)
    pair(a_list("other"), "old", "late")
    return made


@pytest.mark.parametrize(
    ("choice", "words"),
    [
        ({"significant": True}, {"slow"}),
        ({"significant": True, "variant": Variant.PUBLISHED}, {"kind"}),
        ({}, {"slow", "loud"}),
        ({"variant": Variant.PUBLISHED}, {"slow", "kind"}),
        ({"setting": "t2t-noun"}, {"loud"}),
        ({"modality": "t2i", "variant": Variant.PUBLISHED}, {"kind"}),
        ({"dimension": "gender"}, {"loud"}),
        ({"descriptor": "OL"}, {"slow"}),
        ({"word": "SL"}, {"slow"}),
        ({"new": True}, {"loud"}),
        ({"new": False}, {"slow"}),
    ],
)
def test_associations_are_chosen_by_each_of_their_fields(found, choice, words):
    slow, loud = (found.associations.get(word=word) for word in ("slow", "loud"))
    for group, word in ((slow.group, "slow"), (slow.group, "loud"), (loud.group, "late")):
        known = factories.association(text=word)
        known.group = group
        known.save()
    rows = chosen(found, Choice(**{"significant": False, **choice}))
    assert {row.word for row in rows} == words
    assert {row.word for row in chosen(found, Choice(significant=False, group=loud.group_id))} == {"loud"}


def test_a_dimension_counts_descriptors_and_what_is_significant_in_each_variant(found):
    pair(found, "old", "wise", significant_corrected=False)
    pair(found, "young", "fast")
    assert dimension_rows(found) == [DimensionRow("age", 2, 4, 1, 2), DimensionRow("gender", 1, 1, 0, 0)]


def test_runs_that_were_asked_for_something_else_hold_no_associations():
    first, second = answered.run(name="first"), answered.run(name="second")
    answered.run(name="candidates", purpose="candidates")
    assert list(association_runs()) == [second, first]


def test_only_answers_of_the_run_and_the_setting_hold_an_association():
    old = answered.group("old", "age")
    given = [(old, f"t2t-{setting}/1/k", 1, "[kind]") for setting in ("singular", "noun")]
    run = answered.run([*given, (old, "t2t-singular/1/t", 1, "[tall]")])
    answered.run(given, name="other")
    one = answered.found(run).associations.get(setting="t2t-singular", word="kind")
    assert [(answer.run, answer.job.key) for answer in answers_with(one)] == [(run, "t2t-singular/1/k")]


def test_a_filter_is_a_choice_in_which_what_is_wrong_counts_as_not_given():
    def choice(**data):
        return FilterForm(data, settings=[Setting.NOUN, Setting.VERB]).choice()

    wrong = {"variant": "odd", "show": "odd", "setting": "t2i-plural", "dimension": "odd", "new": "odd"}
    assert choice() == choice(**wrong) == Choice()
    assert choice(setting="t2t-noun") == Choice(setting="t2t-noun")
    assert choice(setting="t2t") == Choice(modality="t2t")
    of_text = {"dimension": "age", "descriptor": " old ", "word": " slow "}
    assert choice(variant="published", show="all", **of_text) == Choice(
        variant=Variant.PUBLISHED, significant=False, dimension="age", descriptor="old", word="slow"
    )
    assert [choice(new=new).new for new in ("", "yes", "no")] == [None, True, False]


def test_the_form_of_a_study_begins_with_the_runs_name_and_set_and_offers_ratings_of_words():
    for title, tasks in (("b", 2), ("a", 1), ("c", 0)):
        study = factories.study(title, title=title)
        for version in range(1, tasks + 1):
            factories.task(study, kind=TaskKind.VISUAL_NATURE, version=version)
    image_set = factories.image_set("pictures")
    form = StudyForm(run=Run(name="N" * 80, image_set=image_set))
    assert form.initial == {"name": "associations-" + "n" * 67, "image_set": image_set}
    assert [one.title for one in form.fields["visual"].queryset] == ["a", "b"]


@pytest.mark.parametrize(("only_new", "new"), [(True, True), (False, None)])
def test_the_form_of_a_study_asks_for_what_was_chosen(monkeypatch, only_new, new):
    monkeypatch.setattr(studies, "ask_people", lambda **asked: asked)
    monkeypatch.setattr(studies, "look_for_them", lambda **asked: asked)
    form = StudyForm(run=Run(name="asked"))
    form.cleaned_data = {"name": "ask", "variant": "published", "only_new": only_new}
    form.cleaned_data |= {"kind": TaskKind.VISUAL_NATURE, "image_set": "a set", "visual": "a study"}
    same = {
        "found": "a list",
        "choice": Choice(variant=Variant.PUBLISHED, new=new),
        "name": "ask",
        "by": "me",
    }
    assert form.create(found="a list", by="me") == {**same, "kind": TaskKind.VISUAL_NATURE}
    form.cleaned_data["kind"] = TaskKind.DEPICTION
    assert form.create(found="a list", by="me") == {**same, "image_set": "a set", "visual": "a study"}
