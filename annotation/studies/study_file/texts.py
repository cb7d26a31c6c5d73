"""Texts of a study in several languages, and its own questions (docs/studies.md). Pure: no Django."""

import re
from typing import Any

from annotation.studies.errors import StudyFileError
from annotation.studies.errors import gettext_noop as _
from annotation.studies.study_file.table import Table

TRANSLATABLE_TEXTS = ("title", "description", "support_text")
"""Texts of a study that can be translated."""
LONGEST_TITLE = 200
LONGEST_QUESTION = 300
QUESTION_FIELD_PATTERN = r"[a-z][a-z0-9_]*"


def read_translations(table: Table) -> dict[str, dict[str, str]]:
    """The tables such as [translations.es]: language -> translated texts, without empty ones."""
    translations = {}
    for language, each in table.by_language():
        texts = {
            "title": each.title("title", longest=LONGEST_TITLE),
            "description": each.prose("description"),
            "support_text": each.prose("support_text"),
        }
        each.reject_unknown_keys()
        for key, text in texts.items():
            if key in each and not text:
                raise each.error(
                    key,
                    text,
                    "%(it)s is empty.",
                    fix="Write it in that language, or leave the key out.",
                    page_message=_("This is empty. Write the translation."),
                )
        translations[language] = {key: text for key, text in texts.items() if text}
        if not translations[language]:
            raise StudyFileError(
                "%(it)s has no texts.",
                key=table.path_of(language),
                fix=f"Add one of: {', '.join(TRANSLATABLE_TEXTS)}; or leave the table out.",
                page_message=_("There is no text in the language '%(code)s'. Write one."),
                code=language,
            )
    return translations


def read_questions(tables: list[Table]) -> list[dict[str, Any]]:
    """The questions to annotators in addition to the profile, as `Study.questions` stores them; free text if
    there are no choices. "translations", only if there are some: language -> label and choices in the same
    order. Answers are stored as the English choice."""
    questions: dict[str, dict[str, Any]] = {}
    for each in tables:
        name = each.text("field", required=True, longest=30)
        if not re.fullmatch(QUESTION_FIELD_PATTERN, name):
            raise each.error(
                "field",
                name,
                "%(it)s may contain only lowercase letters, digits and '_', because strata use it.",
                page_message=_(
                    "A short name starts with a lowercase letter and contains only "
                    "lowercase letters, digits and '_'."
                ),
            )
        if name in questions:
            raise each.error(
                "field",
                name,
                "%(it)s appears twice. Give each question its own field.",
                page_message=_("Another question has this short name."),
            )
        label = each.text("label", required=True, longest=LONGEST_QUESTION)
        choices = list(each.text_list("choices"))
        questions[name] = {"field": name, "label": label, "choices": choices}
        if translations := _read_question_translations(each.table("translations"), choices=choices):
            questions[name]["translations"] = translations
    return list(questions.values())


def _read_question_translations(table: Table, *, choices: list[str]) -> dict[str, dict[str, Any]]:
    translations: dict[str, dict[str, Any]] = {}
    for language, each in table.by_language():
        translations[language] = {"label": each.text("label", required=True, longest=LONGEST_QUESTION)}
        translated = each.text_list("choices")
        if len(translated) != len(choices):
            # answers are stored in English, so each choice must match its English one
            raise StudyFileError(
                "there are %(there)s, and %(wanted)s in English. Give the same number, in the same order.",
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
            translations[language]["choices"] = list(translated)
    return translations
