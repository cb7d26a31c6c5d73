"""Wizard pages for consent and care, and for recruitment."""

import re
from typing import Any
from urllib.parse import urlsplit

from django import forms
from django.core.validators import RegexValidator, URLValidator
from django.utils.html import format_html
from django.utils.text import capfirst, slugify
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from annotation.setup.forms.base import (
    Document,
    StepForm,
    clean_text,
    languages,
    put,
    split_lines,
    unsupported_languages,
)
from annotation.studies.study_file.marks import find_marks, replace_marks
from annotation.studies.study_file.reading import CROWD_PARAMETERS, PARAMETER_PATTERN, URL_PATTERN
from annotation.studies.study_file.table import HIGHEST_COUNT, LARGEST_NUMBER
from annotation.studies.study_file.texts import QUESTION_FIELD_PATTERN


class ConsentForm(StepForm):
    """Consent text, content warning and care."""

    PATHS = {
        "consent.text": "text",
        "consent.content_warning": "content_warning",
        "care.support_text": "support_text",
        "care.blur_images": "blur_images",
        "care.break_after": "break_after",
        "care.session_cap": "session_cap",
    }
    TRANSLATED = {
        "text": ("consent.{code}.text", _("Consent text in %(language)s")),
        "content_warning": ("consent.{code}.content_warning", _("Content warning in %(language)s")),
        "support_text": (
            "translations.{code}.support_text",
            _("Support for people who are upset, in %(language)s"),
        ),
    }
    text = forms.CharField(
        label=_("Consent text"),
        widget=forms.Textarea(attrs={"rows": 10}),
        help_text=_(
            "Say who runs the study and why, what is stored and published, that taking "
            "part is voluntary, and how to withdraw. Separate paragraphs with an empty "
            "line."
        ),
    )
    content_warning = forms.CharField(
        label=_("Content warning"),
        required=False,
        widget=forms.Textarea(attrs={"rows": 4}),
        help_text=_("Shown before the consent text."),
    )
    support_text = forms.CharField(
        label=_("Support for people who are upset"),
        required=False,
        widget=forms.Textarea(attrs={"rows": 4}),
        help_text=_("One click away on every page of the study."),
    )
    blur_images = forms.BooleanField(label=_("Blur images until annotators reveal them"), required=False)
    break_after = forms.IntegerField(
        label=_("Offer a break after this many minutes"),
        initial=30,
        min_value=0,
        max_value=HIGHEST_COUNT,
        help_text=_("0: never."),
    )
    session_cap = forms.IntegerField(
        label=_("Maximum number of items per session"),
        required=False,
        min_value=1,
        max_value=LARGEST_NUMBER,
        help_text=_("If empty: no limit."),
    )

    def add_fields(self) -> None:
        """A field for each mark of these texts, whose answer replaces it in every language."""
        own = [mark.text for mark in find_marks(self.document) if self.field_for(mark.key)]
        self.fills = {f"fill_{slugify(text)}": text for text in own}
        for name, text in self.fills.items():
            self.fields[name] = forms.CharField(
                label=capfirst(text.strip("[]")), required=False, widget=forms.Textarea(attrs={"rows": 1})
            )

    def fill_fields(self) -> list[forms.BoundField]:
        return [self[name] for name in self.fills]

    def updated_document(self) -> Document:
        given = {text: clean_text(self.cleaned_data[name]) for name, text in self.fills.items()}
        filled: Document = replace_marks(
            super().updated_document(), {text: value for text, value in given.items() if value}
        )
        return filled

    def clean(self) -> dict[str, Any]:
        data = self.cleaned_data
        for code, name in languages():
            if data.get(f"content_warning_{code}") and not data.get(f"text_{code}"):
                self.add_error(f"text_{code}", _("Give the consent text in %s as well.") % name)
        return data

    def field_for(self, key: str) -> str | None:
        return super().field_for("consent.text" if key == "consent" else key)

    def by_language(self) -> list[dict[str, Any]]:
        return [
            {**each, "fields": each["fields"][:2], "help": each["fields"][2]}
            for each in super().by_language()
        ]


class _URLField(forms.URLField):
    """A URL by the rule of study files, which also allows host names without a dot."""

    default_validators = [RegexValidator(rf"^{URL_PATTERN}\Z", URLValidator.message)]

    def to_python(self, value: Any) -> str | None:
        url = super().to_python(value)
        typed = str(value).strip()
        if url and "://" not in typed and "." not in urlsplit(url).netloc:  # any word would become an address
            text = gettext("%(it)s is not a full URL. Write one such as https://app.prolific.com/...")
            raise forms.ValidationError(text % {"it": f"'{typed}'"})
        return url


_LABELS = {
    "field": _("Short name"),
    "label": _("Question"),
    "choices": _("Choices, one per line; empty for free text"),
}
_LABELS_BY_LANGUAGE = {
    "label": _("Question in %(language)s"),
    "choices": _("Choices in %(language)s, in the same order"),
}
"""Labels of a question's fields, as in templates/annotation/setup/recruitment.html."""


class RecruitmentForm(StepForm):
    """Who can take part, the study's own questions, and parameters of a crowd platform."""

    ROWS = "questions"
    SPARE = 2
    PATHS = {
        "recruitment.self_enrol": "self_enrol",
        "recruitment.completion_url": "completion_url",
        "recruitment.completion_code": "completion_code",
        **{f"recruitment.parameters.{name}": name for name in CROWD_PARAMETERS},
    }
    _PARAMETER = rf"^{PARAMETER_PATTERN}\Z"
    self_enrol = forms.BooleanField(
        label=_("Anyone with an account can take part"),
        required=False,
        initial=True,
        help_text=_("Otherwise only people with an invitation link or from a crowd platform."),
    )
    completion_code = forms.CharField(label=_("Completion code"), required=False, max_length=80)
    completion_url = _URLField(
        label=_("Completion URL"),
        required=False,
        max_length=300,
        assume_scheme="https",
        help_text=_("Where people go at the end, e.g. https://app.prolific.com/submissions/complete?cc=C0DE"),
    )
    participant = forms.RegexField(_PARAMETER, label=_("Participant parameter"), max_length=80)
    study = forms.RegexField(_PARAMETER, label=_("Study parameter"), max_length=80)
    session = forms.RegexField(_PARAMETER, label=_("Session parameter"), max_length=80)

    def initial_from(self, document: Document) -> dict[str, Any]:
        return {**CROWD_PARAMETERS, **super().initial_from(document)}

    def shown_values(self) -> dict[str, Any]:
        return {**super().shown_values(), "questions": self.document.get("questions", [])}

    def questions(self) -> list[dict[str, Any]]:
        """The rows of the table of questions, as sent or else as in the document."""
        saved = self.document.get("questions", [])
        rows = []
        for number in range(len(saved) + self.SPARE):
            row = saved[number] if number < len(saved) else {}
            values = {"field": row.get("field", ""), **_question_initial(row)}
            translations = row.get("translations", {})
            by_language = []
            for code, name in languages():
                texts = _question_initial(translations.get(code, {}))
                if self.is_bound:
                    texts = {key: self.data.get(f"question_{key}_{number}_{code}", "") for key in texts}
                by_language.append({"code": code, "name": name, **texts})
            if self.is_bound:
                values = {key: self.data.get(f"question_{key}_{number}", "") for key in values}
            others = {code: translations[code] for code in unsupported_languages([translations])}
            error = self.question_errors.get(number, "")
            rows.append(
                {"number": number, **values, "languages": by_language, "others": others, "error": error}
            )
        return rows

    def anchor_and_label(self, key: str) -> tuple[str, str]:
        found = re.match(r"questions\[(\d+)\]\.(?:translations\.([\w-]+)\.)?(field|label|choices)", key)
        if not found:
            return super().anchor_and_label(key)
        number, code, part = int(found[1]) - 1, found[2], found[3]
        if (language := dict(languages()).get(code)) and part in _LABELS_BY_LANGUAGE:
            return f"question_{part}_{number}_{code}", _LABELS_BY_LANGUAGE[part] % {"language": language}
        return f"question_{part}_{number}", str(_LABELS[part])

    @property
    def question_errors(self) -> dict[int, str]:
        return getattr(self, "_question_errors", {})

    def clean(self) -> dict[str, Any]:
        self._question_errors: dict[int, str] = {}
        questions: dict[str, Document] = {}
        for row in self.questions():
            number, field, question = row["number"], row["field"].strip(), _parse_question(row)
            in_languages = {each["code"]: _parse_question(each) for each in row["languages"]}
            if not field and not any([question, *in_languages.values()]):
                continue
            if len(field) > 30 or not re.fullmatch(QUESTION_FIELD_PATTERN, field):
                self._question_errors[number] = str(
                    _(
                        "A short name starts with a lowercase letter and contains only "
                        "lowercase letters, digits and '_'."
                    )
                )
            elif field in questions:
                self._question_errors[number] = str(_("Another question has this short name."))
            elif "label" not in question:
                self._question_errors[number] = str(_("Write the question."))
            elif problem := _translation_problem(question, in_languages):
                self._question_errors[number] = problem
            else:
                questions[field] = {"field": field, **question}
                put(questions[field], "translations", row["others"] | _without_empty(in_languages))
        if self._question_errors:
            anchor = f"question_field_{min(self._question_errors)}"
            text = gettext("Please check the questions.")
            raise forms.ValidationError(format_html('<a href="#{}">{}</a>', anchor, text))
        self.cleaned_data["questions"] = list(questions.values())
        return self.cleaned_data

    def updated_document(self) -> Document:
        changed = super().updated_document()
        put(changed, "questions", self.cleaned_data["questions"])
        return changed


def _question_initial(question: Document) -> dict[str, str]:
    """Initial values of a question in one language."""
    return {"label": question.get("label", ""), "choices": "\n".join(question.get("choices", []))}


def _parse_question(row: Document) -> Document:
    """A question in one language from a sent row, without empty values."""
    return _without_empty({"label": " ".join(row["label"].split()), "choices": split_lines(row["choices"])})


def _without_empty(table: Document) -> Document:
    return {key: value for key, value in table.items() if value}


def _translation_problem(question: Document, in_languages: dict[str, Document]) -> str:
    """What is wrong with the translations of a question; empty if nothing is."""
    wanted = len(question.get("choices", []))
    for code, name in languages():
        translation = in_languages[code]
        number = len(translation.get("choices", []))
        if translation and "label" not in translation:
            return str(_("Write the question in %s as well.") % name)
        if translation and number != wanted:
            message = _(
                "Choices in %(language)s: %(there)d, in English: %(wanted)d. Give the same "
                "number, in the same order."
            )
            return str(message % {"language": name, "there": number, "wanted": wanted})
    return ""
