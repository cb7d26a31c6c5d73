"""Files of questions, and as what an answer counts."""

from __future__ import annotations

import pytest

from metrics.visual_questions.question_file import (
    EMPTY,
    OTHER,
    Question,
    QuestionsRefused,
    as_toml,
    counted,
    of_design,
    read_questions,
    shipped_text,
)


def test_the_file_that_ships_asks_the_papers_question_first():
    found = read_questions(shipped_text())
    assert found[0] == Question("american", "Is this person an American?", ("yes", "no"))
    assert found[1] == Question("state", "In what state does this person live?")
    assert len(found) >= 4
    assert any(not one.answers for one in found)


def test_what_is_read_can_be_written_and_stored():
    found = read_questions(shipped_text())
    assert read_questions(as_toml(found)) == found
    assert tuple(of_design(one.as_design()) for one in found) == found


def test_plain_text_is_a_question_a_line():
    found = read_questions("\ufeff# ours\nIs it?\n\n  Is   it? \nIs it!\nIs it?\n")
    assert [(one.name, one.text) for one in found] == [
        ("is-it", "Is it?"),
        ("is-it-2", "Is it!"),
    ]


def test_the_most_and_the_longest_are_allowed():
    assert len(read_questions("\n".join(f"Is it {n}?" for n in range(100)))) == 100
    longest = Question("a" * 40, "x" * 500, (*(str(n) for n in range(19)), "y" * 40))
    assert read_questions(as_toml([longest])) == (longest,)


def test_a_question_without_latin_letters_or_a_long_one_has_a_name_too():
    found = read_questions(f"谁？\nДа?\n{'a' * 33} bc?")
    assert [one.name for one in found] == ["question", "question-2", "a" * 33]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "there is no question"),
        ("[[question]\n", "not TOML"),
        ('[question]\nname = "a"', r"write \[\[question\]\]"),
        ('title = "x"\n[[question]]\nname = "a"\ntext = "A?"', "no field 'title'"),
        ('[[question]]\nname = "a"\ntxt = "A?"', "question 1: there is no field 'txt'"),
        ('[[question]]\ntext = "A?"', "question 1: name: "),
        ('[[question]]\nname = "A b"\ntext = "A?"', "question 1: name: "),
        ('[[question]]\nname = "a"\ntext = " "', r"question 1 \('a'\): text: "),
        (f'[[question]]\nname = "a"\ntext = "{"x" * 501}"', "text: it has 501 characters"),
        ('[[question]]\nname = "a"\ntext = "A?"\nanswers = "yes"', "answers: write a list"),
        ('[[question]]\nname = "a"\ntext = "A?"\nanswers = ["yes"]', "answers: there are 1"),
        ('[[question]]\nname = "a"\ntext = "A?"\nanswers = ["yes", "Yes."]', "answers: two of them"),
        ('[[question]]\nname = "a"\ntext = "A?"\nanswers = ["yes", "!"]', "answers: '!' has no word"),
        ('[[question]]\nname = "a"\ntext = "A?"\n' * 2, "question 2: name: 'a' is that of question 1"),
        (
            '[[question]]\nname = "a"\ntext = "A?"\n[[question]]\nname = "b"\ntext = "A?"',
            "question 2: text: 'A\\?' is that of question 1",
        ),
        ("\n".join(f"Is it {n}?" for n in range(101)), "101 questions"),
        (f'[[question]]\nname = "{"a" * 41}"\ntext = "A?"', "name: write up to 40"),
        ('[[question]]\nname = "a"\ntext = "A\\u0000?"', "text: write"),
        (f'[[question]]\nname = "a"\ntext = "A?"\nanswers = ["yes", "{"x" * 41}"]', "longer than 40"),
        (f'[[question]]\nname = "a"\ntext = "A?"\nanswers = {[str(n) for n in range(21)]}', "there are 21"),
    ],
)
def test_a_refused_file_says_which_question_and_field(text, said):
    with pytest.raises(QuestionsRefused, match=said):
        read_questions(text)


@pytest.mark.parametrize(
    ("answer", "as_what"),
    [
        ("yes", "yes"),
        (" YES.\n", "yes"),
        ("“No”", "no"),
        ("No, they are not.", "no"),
        ("not sure", "not sure"),
        ("Not sure!", "not sure"),
        ("yesterday", OTHER),
        ("I think yes", OTHER),
        ("", EMPTY),
        (" … ", EMPTY),
    ],
)
def test_the_whole_answer_or_its_first_word_counts(answer, as_what):
    assert counted(answer, ("yes", "no", "not sure")) == as_what


def test_open_questions_take_every_answer():
    assert counted("  South\nKorea. ", ()) == "south korea"
