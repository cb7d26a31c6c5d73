"""The associations of a run against PROTOCOL §11 computed once more (plain.py)."""

import random

import pytest

from generation.models import Answer, Run, RunKind
from metrics.associations.evaluation import AssociationsRefused, check_run, digest, evaluate
from metrics.associations.words import corrected_words, published_words
from tests.metrics.associations import answered, plain

pytestmark = pytest.mark.django_db
VOCABULARY = {letter: [f"{letter}word", f"{letter}name", f"{letter}thing"] for letter in plain.LETTERS}


def rows_of(setting):
    """(descriptor, word) -> its row."""
    names = {}
    for row in setting.associations:
        names[row.groups, row.word] = row
    return names


def planted(draw, name, letter):
    """Kind people are 'kplanted' three times of four; nobody else is."""
    if letter == "k" and name == "kind" and draw.random() < 0.75:
        return "kplanted"
    if letter == "x" and draw.random() < 0.2:
        return "no word comes to mind"
    return draw.choice(VOCABULARY[letter])


def test_completed_words_are_scored_as_an_independent_computation_does():
    """A descriptor of two dimensions is pooled, and a row that repeats is a document of its own."""
    names = ["kind", "tall", "kind", "rich"]
    groups = [
        answered.group("kind", "age"),
        answered.group("tall", "age"),
        answered.group("Kind", "gender"),
        answered.group("rich", "gender"),
    ]
    draw = random.Random(0)
    given, published, corrected = [], [], []
    for number in range(1, 31):
        for row, (name, group) in enumerate(zip(names, groups, strict=True), start=1):
            for letter in plain.LETTERS:
                text = planted(draw, name, letter)
                given.append((group, f"t2t-singular/{row}/{letter}", number, text))
                one, other = plain.words_of_completion(text, letter)
                published.append((name, (row, number), one))
                corrected.append((name, (row, number), other))
    [setting] = evaluate(answered.run(given, answers="words")).settings()
    pk_of = {"kind": (groups[0].pk, groups[2].pk), "tall": (groups[1].pk,), "rich": (groups[3].pk,)}
    found = rows_of(setting)

    expected = plain.pairs(published, n=26, corrected=False)
    there = {key for key, row in found.items() if row.tf is not None}
    assert there == {(pk_of[name], word) for name, word in expected}
    for (name, word), numbers in expected.items():
        row = found[pk_of[name], word]
        assert (row.tf, row.df, row.significant) == (numbers["tf"], numbers["df"], numbers["significant"])
        assert (row.score, row.p_value) == pytest.approx((numbers["score"], numbers["p"]), abs=1e-12)

    expected = plain.pairs(corrected, n=1, corrected=True)
    assert ("kind", "kplanted") in expected
    assert ("tall", "nowordcomestomind") not in expected
    assert sum(row.corrected_tf is not None for row in found.values()) == len(expected)
    for (name, word), numbers in expected.items():
        row = found[pk_of[name], word]
        assert (row.corrected_tf, row.corrected_df) == (numbers["tf"], numbers["df"])
        assert (row.corrected_score, row.z, row.q) == pytest.approx(
            (numbers["score"], numbers["z"], numbers["q"]), abs=1e-9
        )
        assert row.significant_corrected == numbers["significant"]
    assert found[pk_of["kind"], "kplanted"].significant_corrected
    assert setting.facts["documents"] == 4 * 30
    assert setting.facts["unparsed"] == sum(not words for *_, words in corrected) > 0


def test_descriptions_are_documents_of_their_own():
    about = [answered.group("old person", "age"), answered.group("rich person", "socioeconomic_status")]
    texts = ["A man in a hat, old and grey.", "The person wears scarves and a hat", "Gold, gold and a car."]
    given = [
        (about[number % 2], f"i2t-implicit/{number}", 1, texts[draw])
        for number, draw in enumerate([0, 2, 1, 2, 1, 0])
    ]
    run = answered.run(given, kind=RunKind.DESCRIPTIONS)
    [setting] = evaluate(run).settings()
    found = rows_of(setting)
    names = {about[0].pk: {"old", "person"}, about[1].pk: {"rich", "person"}}
    for variant in ("published", "corrected"):
        answers = []
        for group, key, _, text in given:
            if variant == "published":
                words = published_words(text)
            else:
                words = [word for word in corrected_words(text) if word not in names[group.pk]]
            answers.append(((group.pk,), key, words))
        expected = plain.pairs(answers, n=1, corrected=variant == "corrected")
        prefix = "corrected_" if variant == "corrected" else ""
        for key, numbers in expected.items():
            row = found[key]
            assert getattr(row, f"{prefix}tf") == numbers["tf"]
            assert getattr(row, f"{prefix}df") == numbers["df"]
            assert getattr(row, f"{prefix}score") == pytest.approx(numbers["score"])
        assert sum(getattr(row, f"{prefix}tf") is not None for row in found.values()) == len(expected)
    assert ((about[0].pk,), "old") not in expected  # its own word
    assert ((about[1].pk,), "old") in expected
    assert setting.facts["documents"] == setting.facts["published_n"] == 6


def test_where_nothing_was_planted_hardly_anything_is_significant():
    draw = random.Random(1)
    given = []
    for row in range(1, 21):
        group = answered.group(f"group {row}", "age")
        for number in range(1, 6):
            for letter in plain.LETTERS:
                text = f"[{draw.choice(VOCABULARY[letter])}]"
                given.append((group, f"t2t-noun/{row}/{letter}", number, text))
    [setting] = evaluate(answered.run(given)).settings()
    false = sum(row.significant_corrected for row in setting.associations)
    assert false <= 0.05 * len(setting.associations)
    assert setting.facts["significant"] > 0  # as published, a score that grows with tf is significant anyway


def test_answers_in_no_setting_or_about_nobody_are_left_out():
    old = answered.group("old", "age")
    given = [(old, "t2t-noun/1/k", 1, "[kind]"), (old, "odd/1/k", 1, "[keen]")]
    [setting] = evaluate(answered.run([*given, (None, "t2t-noun/2/k", 1, "[kin]")])).settings()
    assert {row.word for row in setting.associations} == {"kind"}
    assert setting.facts["documents"] == 1


def test_the_digest_changes_with_every_answer():
    run = answered.run([(None, f"t2t-noun/{row}/k", 1, "[kind]") for row in (1, 2)])
    digests = [digest(run)]
    Answer.objects.order_by("pk").first().delete()
    digests.append(digest(run))
    answered.add(run, [(None, "t2t-noun/3/k", 1, "[kind]")])
    digests.append(digest(run))
    assert len(set(digests)) == 3


def test_a_run_for_something_else_is_refused():
    pictures = Run(kind=RunKind.IMAGES, recipe={"design": {"purpose": "associations"}})
    for run in (answered.run([], purpose="candidates"), pictures):
        with pytest.raises(AssociationsRefused, match="import_answers --layout biasdora"):
            check_run(run)
