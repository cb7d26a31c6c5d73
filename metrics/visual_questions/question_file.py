"""Files of questions about images, and how answers to them are counted (PROTOCOL §12). Pure: no Django.

A file is TOML, a table [[question]] for each with `name`, `text` and perhaps `answers`; or plain text, a
question a line.
"""

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any

MOST_QUESTIONS = 100
LONGEST_QUESTION = 500
LONGEST_ANSWER = 40
MOST_ANSWERS = 20
EMPTY, OTHER = "", "\0other"
"""What `counted` gives for an answer without words, and for one that is none of the question's answers."""
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")
_ENDS = " \t\r\n.,;:!?…。、！？\"'“”‘’«»()[]"
_FIELDS = ("name", "text", "answers")


class QuestionsRefused(ValueError):
    """Questions that cannot be asked. The message names the question and the field, and the cure."""


@dataclass(frozen=True, slots=True)
class Question:
    """`answers`: those that are counted, in lower case; none of an open question."""

    name: str
    text: str
    answers: tuple[str, ...] = ()

    def as_design(self) -> dict[str, Any]:
        """As it is kept in a recipe. `of_design` reads it."""
        return {"name": self.name, "text": self.text, "answers": list(self.answers)}


def of_design(stored: Mapping[str, Any]) -> Question:
    return Question(stored["name"], stored["text"], tuple(stored["answers"]))


def read_questions(text: str, *, name: str = "questions") -> tuple[Question, ...]:
    """The questions of a file; `name` is what errors call it. Raises QuestionsRefused.

    Examples
    --------
    >>> read_questions("Is this person an American?")
    (Question(name='is-this-person-an-american', text='Is this person an American?', answers=()),)
    """
    text = text.lstrip("\ufeff")
    is_toml = re.search(r"^\s*\[", text, re.MULTILINE)
    found = _of_toml(text, name) if is_toml else _of_lines(text, name)
    if not found:
        raise QuestionsRefused(f"{name}: there is no question. Write one a line, or a table [[question]].")
    if len(found) > MOST_QUESTIONS:
        raise QuestionsRefused(
            f"{name}: {len(found)} questions; at most {MOST_QUESTIONS} are asked in one run."
        )
    for field in ("name", "text"):
        values = [getattr(one, field) for one in found]
        for place, value in enumerate(values):
            if (earlier := values.index(value)) < place:
                raise QuestionsRefused(
                    f"{name}: question {place + 1}: {field}: '{value[:60]}' is that of question "
                    f"{earlier + 1} as well. Ask each question once, under its own name."
                )
    return found


def shipped_text() -> str:
    """The file of questions that ships."""
    folder = resources.files("metrics.visual_questions").joinpath("questions")
    return folder.joinpath("belonging.toml").read_text(encoding="utf-8")


def as_toml(questions: Sequence[Question]) -> str:
    """Inverse of `read_questions`."""
    return "\n".join(
        "[[question]]\n"
        f"name = {json.dumps(one.name)}\n"
        f"text = {json.dumps(one.text, ensure_ascii=False)}\n"
        + (f"answers = {json.dumps(list(one.answers), ensure_ascii=False)}\n" if one.answers else "")
        for one in questions
    )


def normalised(answer: str) -> str:
    """In lower case, on one line, without spaces and punctuation at its ends.

    Examples
    --------
    >>> normalised(' Yes. '), normalised("South  Korea!"), normalised("…")
    ('yes', 'south korea', '')
    """
    return " ".join(answer.lower().split()).strip(_ENDS)


def counted(answer: str, answers: Sequence[str]) -> str:
    """As what an answer counts: one of `answers` if it, or else its first word, is one; else OTHER. Without
    `answers`: the normalised answer. EMPTY if it has no words.

    Examples
    --------
    >>> counted("Yes, he is.", ["yes", "no"]), counted("Perhaps", ["yes", "no"]) == OTHER
    ('yes', True)
    """
    whole = normalised(answer)
    if not whole or not answers or whole in answers:
        return whole
    first = normalised(whole.split()[0])
    return first if first in answers else OTHER


def _of_lines(text: str, name: str) -> tuple[Question, ...]:
    lines = [" ".join(line.split()) for line in text.splitlines()]
    lines = [line for line in lines if line and not line.startswith("#")]
    found: list[Question] = []
    for place, line in enumerate(dict.fromkeys(lines), start=1):
        checked = _text(line, f"{name}: question {place}")
        slug = re.sub(r"[^a-z0-9]+", "-", checked.lower()).strip("-")[:34].rstrip("-") or "question"
        taken = {one.name for one in found}
        found.append(Question(slug if slug not in taken else f"{slug}-{place}", checked))
    return tuple(found)


def _of_toml(text: str, name: str) -> tuple[Question, ...]:
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise QuestionsRefused(
            f"{name}: this is not TOML: {error}. Write [[question]] before each question."
        ) from error
    if unknown := sorted(set(document) - {"question"}):
        raise QuestionsRefused(f"{name}: there is no field '{unknown[0]}'. Write tables [[question]] only.")
    rows = document.get("question", [])
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise QuestionsRefused(
            f"{name}: question: write [[question]], in two brackets, before each question."
        )
    return tuple(_question(row, f"{name}: question {place}") for place, row in enumerate(rows, start=1))


def _question(row: Mapping[str, Any], where: str) -> Question:
    if unknown := sorted(set(row) - set(_FIELDS)):
        raise QuestionsRefused(f"{where}: there is no field '{unknown[0]}'. Use {', '.join(_FIELDS)}.")
    name = row.get("name")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise QuestionsRefused(
            f'{where}: name: write up to 40 small letters, digits, - and _, such as "american".'
        )
    where = f"{where} ('{name}')"
    return Question(name, _text(row.get("text"), where), _answers(row.get("answers", []), where))


def _text(value: Any, where: str) -> str:
    if not isinstance(value, str) or not value.strip() or "\0" in value:
        raise QuestionsRefused(f"{where}: text: write the question in quotation marks.")
    if len(value.strip()) > LONGEST_QUESTION:
        raise QuestionsRefused(
            f"{where}: text: it has {len(value.strip())} characters; at most {LONGEST_QUESTION} are possible."
        )
    return " ".join(value.split())


def _answers(values: Any, where: str) -> tuple[str, ...]:
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise QuestionsRefused(f'{where}: answers: write a list of texts, such as ["yes", "no"].')
    found = tuple(normalised(value) for value in values)
    if wrong := [value for value, short in zip(values, found, strict=True) if not short]:
        raise QuestionsRefused(f"{where}: answers: '{wrong[0][:40]}' has no word. Leave it out.")
    if long := [value for value in found if len(value) > LONGEST_ANSWER]:
        raise QuestionsRefused(
            f"{where}: answers: '{long[0][:40]}…' is longer than {LONGEST_ANSWER} characters. Shorten it."
        )
    if len(set(found)) < len(found):
        raise QuestionsRefused(f"{where}: answers: two of them are the same. Give each once.")
    if len(found) == 1 or len(found) > MOST_ANSWERS:
        raise QuestionsRefused(
            f"{where}: answers: there are {len(found)}. Give 2 to {MOST_ANSWERS}; none for an open question."
        )
    return found
