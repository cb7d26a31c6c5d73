"""What a study file says in several languages besides consent and tasks: what the study is called and what
it is about, where help is found, and its own questions (docs/studies.md). Pure: no Django.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from annotation.studies.errors import StudyFileError
from annotation.studies.errors import gettext_noop as _
from annotation.studies.study_file.table import Table

TRANSLATABLE_TEXTS = ("title", "description", "support_text")
"""Of a study, which annotators read and which can be translated."""
LONGEST_TITLE = 200
LONGEST_QUESTION = 300
QUESTION_FIELD_PATTERN = r"[a-z][a-z0-9_]*"


@dataclass(frozen=True)
class Question:
    """A question to annotators besides the profile; no choices: a free text. `translations`: language ->
    {"label": ...} and, if there are choices, "choices": [...], as many and in the same order. What is kept
    of an answer is the choice in English."""

    field: str
    label: str
    choices: tuple[str, ...] = ()
    translations: Mapping[str, Mapping[str, Any]] = dataclasses.field(default_factory=dict)


def read_translations(table: Table) -> dict[str, dict[str, str]]:
    """The texts of [translations.es] and its like: language -> what is translated, and no more."""
    found = {}
    for language, each in table.by_language():
        said = {
            "title": each.text("title", longest=LONGEST_TITLE),
            "description": each.prose("description"),
            "support_text": each.prose("support_text"),
        }
        each.reject_unknown_keys()
        for key, text in said.items():
            if key in each and not text:
                raise each.error(
                    key,
                    text,
                    "%(it)s is empty.",
                    fix="Write it in that language, or leave the key out.",
                    page_message=_("This is empty. Write the translation."),
                )
        found[language] = {key: text for key, text in said.items() if text}
        if not found[language]:
            raise StudyFileError(
                "%(it)s says nothing.",
                key=table.path_of(language),
                fix=f"Add one of: {', '.join(TRANSLATABLE_TEXTS)}; or leave it out.",
                page_message=_("There is no text in the language '%(code)s'. Write one."),
                code=language,
            )
    table.reject_unknown_keys()
    return found


def read_questions(tables: list[Table]) -> tuple[Question, ...]:
    questions: dict[str, Question] = {}
    for each in tables:
        name = each.text("field", required=True, longest=30)
        if not re.fullmatch(QUESTION_FIELD_PATTERN, name):
            raise each.error(
                "field",
                name,
                "%(it)s may hold small letters, digits and '_' only: strata name it.",
                page_message=_(
                    "A short name starts with a lowercase letter and contains only "
                    "lowercase letters, digits and '_'."
                ),
            )
        if name in questions:
            raise each.error(
                "field",
                name,
                "%(it)s stands twice. Give each question a field of its own.",
                page_message=_("Another question has this short name."),
            )
        label, choices = (
            each.text("label", required=True, longest=LONGEST_QUESTION),
            each.text_list("choices"),
        )
        questions[name] = Question(
            field=name,
            label=label,
            choices=choices,
            translations=_read_question_translations(each.table("translations"), choices=choices),
        )
        each.reject_unknown_keys()
    return tuple(questions.values())


def _read_question_translations(table: Table, *, choices: tuple[str, ...]) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for language, each in table.by_language():
        found[language] = {"label": each.text("label", required=True, longest=LONGEST_QUESTION)}
        translated = each.text_list("choices")
        if len(translated) != len(choices):
            # the answer is kept in English, so it must be known which choice is which
            raise StudyFileError(
                "there are %(there)s, and in English %(wanted)s. Give as many, in the same order.",
                key=each.path_of("choices"),
                page_message=_(
                    "Choices in %(language)s: %(there)d, in English: %(wanted)d. Give the "
                    "same number, in the same order."
                ),
                language=language,
                there=len(translated),
                wanted=len(choices),
            )
        if translated:
            found[language]["choices"] = list(translated)
        each.reject_unknown_keys()
    table.reject_unknown_keys()
    return found
