"""Spanish and Arabic: complete, with the same placeholders, compiled, and easy to choose."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import polib
import pytest
from django.conf import settings
from django.template.base import Lexer, TokenType
from django.urls import reverse
from django.utils.translation import deactivate, override

from annotation.annotate import texts as page_texts
from annotation.annotate.services import answer_rules
from annotation.catalogue.forms import GroupFilters
from annotation.core import extra_wordings, scales
from annotation.models import EnrolmentStatus, Region, StudyStatus, TaskKind
from annotation.studies.study_file import default_wordings
from metrics.associations.study_forms import FilterForm
from metrics.candidates.forms import CandidatesForm
from metrics.inference.forms import InferenceForm
from tests import factories

ROOT = Path(__file__).resolve().parents[2]
TRANSLATED = [code for code, _ in settings.LANGUAGES if code != "en"]
NO_WORDS = "|".join(
    (
        r"{% block main_(?:class|language) %}.*?{% endblock %}",
        r"{% comment %}.*?{% endcomment %}",
        r"{% blocktranslate.*?{% endblocktranslate %}",
        r"{#.*?#}|{%.*?%}|{{.*?}}",
        r"<code.*?</code>|<kbd.*?</kbd>|<(?:script|svg|!doctype).*?>",
    )
)
"""What of a template's source is marked already, or is no text that people read."""
SAME_IN_EVERY_LANGUAGE = frozenset(
    {"Visage", "PNG", "SVG", "PDF", "CSV", "UTC", "tf", "df", "idf", "rho", "L(stereo)"}
)
"""The name of the program, and notations."""
PLACEHOLDER = re.compile(r"%\(\w+\)[sd]|(?<!\d )%[sd]|\{\w+\}")

TRANSLATE = re.compile(r"""(?:translate|trans)\s+(["'])(.*?)\1(?:\s+context\s+(["'])(.*?)\3)?""")
BLOCKTRANSLATE = re.compile(r"{% blocktranslate[^%]*%}(.*?){% (?:plural|endblocktranslate)", re.DOTALL)


@pytest.fixture(autouse=True)
def _english_again():
    """A request leaves its language to the thread that it ran in."""
    yield
    deactivate()


@cache
def catalogue(language: str) -> polib.POFile:
    """Read once: it takes long, and no test changes it."""
    return polib.pofile(str(ROOT / "locale" / language / "LC_MESSAGES" / "django.po"))


def texts(entry: polib.POEntry) -> list[str]:
    """What stands for an entry: one text, or one for each plural form."""
    forms = entry.msgstr_plural
    return [forms[index] for index in sorted(forms)] if entry.msgid_plural else [entry.msgstr]


@cache
def known_texts(language: str) -> set[tuple[str | None, str]]:
    """(context, text) of all that the catalogue has."""
    return {(entry.msgctxt, entry.msgid) for entry in catalogue(language)}


def placeholders(text: str) -> set[str]:
    return set(PLACEHOLDER.findall(text))


def pages() -> Iterator[Path]:
    """The templates of all pages but the definitions of the metrics, which are in English."""
    for path in (ROOT / "templates").rglob("*.html"):
        if path.name != "methods.html":
            yield path


def unmarked(source: str) -> list[str]:
    """Words of a template that people read and that gettext does not know of."""
    shown = ">" + re.sub(NO_WORDS, "", source, flags=re.DOTALL) + "<"
    words = re.findall(r">([^<]*[a-zA-Z]{2,}[^<]*)<", shown)
    words += re.findall(r'\s(?:title|alt|aria-label|placeholder)="([^"]*[a-zA-Z]{2,}[^"]*)"', shown)
    words += re.findall(r'<(?:input|button)\s[^>]*\bvalue="([^"]*[a-zA-Z]{2,} [^"]*)"', shown)
    # literals that tags and filters would put on the page
    words += re.findall(r'\|(?:default|default_if_none|yesno|pluralize):"([^"]*[a-zA-Z]{2,}[^"]*)"', source)
    words += re.findall(r"""{{[^}]*\|pluralize[^}]*}}""", source)
    for arguments in re.findall(r"{% include [^%]* with ([^%]*)%}", source):
        words += re.findall(r'="([A-Z][^"]*|[^"]* [^"]*)"', arguments)
    return [word.strip(" ·\n") for word in words]


@pytest.mark.parametrize("language", TRANSLATED)
def test_every_text_is_translated_and_none_is_a_guess(language):
    entries = catalogue(language)
    assert [entry.msgid for entry in entries if not all(texts(entry))] == []
    assert [entry.msgid for entry in entries if entry.fuzzy or entry.obsolete] == []


@pytest.mark.parametrize("language", TRANSLATED)
def test_every_translation_keeps_the_placeholders_and_the_blanks_around(language):
    for entry in catalogue(language):
        wanted = placeholders(entry.msgid) | placeholders(entry.msgid_plural)
        forms = texts(entry)
        for index, text in enumerate(forms):
            # "one answer" and "two answers" may say the number in words; what is for many numbers may not
            counted = entry.msgid_plural and index < min(3, len(forms) - 2)
            found = placeholders(text)
            assert found <= wanted if counted else found == wanted, (entry.msgid, text)
            assert text == text.strip() or entry.msgid != entry.msgid.strip(), entry.msgid


@pytest.mark.parametrize("language", TRANSLATED)
def test_there_are_as_many_plural_forms_as_the_language_has(language):
    entries = catalogue(language)
    count = int(re.search(r"nplurals=(\d)", entries.metadata["Plural-Forms"])[1])
    assert count == {"es": 3, "ar": 6}[language]
    assert {len(entry.msgstr_plural) for entry in entries if entry.msgid_plural} == {count}


@pytest.mark.parametrize("language", TRANSLATED)
def test_the_compiled_catalogue_is_the_one_that_is_read(language):
    entries = catalogue(language)
    compiled = polib.mofile(str(ROOT / "locale" / language / "LC_MESSAGES" / "django.mo"))

    def content(catalogue) -> dict:
        return {(one.msgctxt, one.msgid): texts(one) for one in catalogue}

    assert content(compiled) == content(entries)


def test_both_languages_have_the_same_texts():
    known = [known_texts(language) for language in TRANSLATED]
    assert all(one == known[0] for one in known)


def marked_on(source: str) -> Iterator[tuple[str | None, str]]:
    """(context, text) of every text that a template marks."""
    for token in Lexer(source).tokenize():
        # percent signs are doubled, since what is translated may hold places
        if token.token_type == TokenType.BLOCK and (found := TRANSLATE.match(token.contents)):
            yield found[4], found[2].replace("%", "%%")
    for found in BLOCKTRANSLATE.finditer(source):
        yield None, re.sub(r"{{ (\w+) }}", r"%(\1)s", found[1].replace("%", "%%"))


def test_every_text_that_a_page_marks_is_in_the_catalogue():
    known = known_texts("ar")
    found = [(path.name, text) for path in pages() for text in marked_on(path.read_text())]
    assert len(found) > 1000
    assert [(name, text) for name, text in found if text not in known] == []


def test_no_page_has_words_that_are_not_marked():
    found = [(path.name, word) for path in pages() for word in unmarked(path.read_text())]
    assert [(name, word) for name, word in found if word not in SAME_IN_EVERY_LANGUAGE] == []


@pytest.mark.parametrize(
    "source",
    [
        "<p>Some words</p>",
        "{% block title %}Some words{% endblock %}",
        "{% block title %}{{ study.title }}: some words{% endblock %}\n<p>",
        "<p>{{ number }} item{{ number|pluralize }}</p>",
        '<img alt="Some words">',
        '<input value="Some words">',
        '<p aria-label="{{ name }} some words">',
        '{% include "a.html" with heading="Some words" %}',
        '{{ label|default:"Some words" }}',
        '{{ done|yesno:"yes,no" }}',
        "<p>\n  Some words {{ name }}\n</p>",
    ],
)
def test_words_that_are_not_marked_are_found(source):
    assert unmarked(source)


@pytest.mark.parametrize(
    "source",
    [
        '<p class="muted">{% translate "Some words" %}</p>',
        "<p>{% blocktranslate count n=n %}{{ n }} item{% plural %}{{ n }} items{% endblocktranslate %}</p>",
        '{{ label|default:_("a link") }}',
        '{{ day|date:"D Y-m-d" }}',
        '{% include "annotation/setup/_field.html" with field=form.title hide_optional=1 %}',
        '{% url "study" study.name as study_url %}',
        "<p>95 % – 3</p>",
        '<button name="make" value="1">{% translate "Make" %}</button>',
    ],
)
def test_what_is_marked_or_is_no_text_is_not_taken_for_unmarked_words(source):
    assert unmarked(source) == []


def marked(path: Path) -> Iterator[tuple[str | None, str]]:
    """(context, text) of every literal that a module hands to gettext."""
    source = path.read_text()
    if "gettext" not in source:  # most modules; to parse them takes a second
        return
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or not node.args:
            continue
        name, literals = node.func.id, [one.value for one in node.args if isinstance(one, ast.Constant)]
        if name.startswith(("pgettext", "npgettext")):
            yield literals[0], literals[1]
        elif name == "_" or name.startswith(("gettext", "ngettext")):
            yield from ((None, text) for text in literals[:1])


def test_every_text_that_a_module_marks_is_in_the_catalogue():
    known = known_texts("ar")
    apps = ("annotation", "generation", "metrics", "visage_app")
    modules = [path for app in apps for path in (ROOT / app).rglob("*.py")]
    found = {text for path in modules for text in marked(path)}
    assert len(found) > 200
    assert found - known == set()


def test_the_words_of_the_scales_and_of_the_states_are_registered():
    spelt = {
        text
        for scale in scales.SCALES.values()
        for label in scale
        for text in (label.name, label.explanation)
        if text
    }
    folder = ROOT / "annotation"
    assert {(None, text) for text in spelt} <= set(marked(folder / "core" / "scales.py"))
    assert {(None, text) for text in TaskKind.labels} <= set(marked(folder / "models" / "studies.py"))
    assert [str(state) for state in extra_wordings.STUDY_STATES] == StudyStatus.labels
    assert [str(state) for state in extra_wordings.PEOPLE_STATES] == EnrolmentStatus.labels
    assert list(extra_wordings.REGIONS) == Region.values
    for language in TRANSLATED:
        known = {entry.msgid for entry in catalogue(language)}
        assert known >= {*spelt, *StudyStatus.labels, *EnrolmentStatus.labels, *TaskKind.labels}


@pytest.mark.parametrize("language", TRANSLATED)
def test_every_usual_wording_is_there_with_its_places_and_as_it_is_documented(language):
    usual = [*default_wordings.WORDINGS.values(), default_wordings.OFFENSIVENESS_OF_AN_ATTRIBUTE]
    assert set(default_wordings.WORDINGS) == set(TaskKind.values)
    documented = (ROOT / "docs" / "translating.md").read_text()
    for english in usual:
        said = default_wordings.translated_wording(english, language)
        assert sorted(re.findall(r"\[\w+\]", said)) == sorted(re.findall(r"\[\w+\]", english))
        assert f" {said} |" in documented
    assert default_wordings.translated_wording("Is '[attr]' seen?", language) == ""


@pytest.mark.parametrize("language", TRANSLATED)
def test_the_page_at_work_hands_translated_words_to_its_scripts(language):
    english = page_texts.messages() | page_texts.box_editor() | page_texts.reasons()
    with override(language):
        theirs = page_texts.messages() | page_texts.box_editor() | page_texts.reasons()
        labels = page_texts.labels()[TaskKind.OFFENSIVENESS]
    assert theirs.keys() == english.keys()
    assert [name for name in english if theirs[name] == english[name] and name != "zoom"] == []
    assert {placeholder for text in theirs.values() for placeholder in placeholders(text)} == {
        placeholder for text in english.values() for placeholder in placeholders(text)
    }
    assert labels[0]["name"] != "Not offensive"


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("language", "words"), [("es", "Ha elegido «Tengo dudas»"), ("ar", "لا يمكنني الجزم")]
)
def test_what_the_services_refuse_is_said_in_the_language_of_the_page(language, words):
    unit = factories.rating_study(texts=["kind"]).tasks.get().units.get()
    option = unit.options.get()
    said = answer_rules.Answer(option_id=option.pk, value=3, position=1)
    with override(language), pytest.raises(answer_rules.AnswerRefused, match=words):
        answer_rules.validate(unit=unit, options=[option], answers=[said])


@pytest.mark.parametrize(("language", "direction"), [("en", "ltr"), ("es", "ltr"), ("ar", "rtl")])
def test_a_page_says_its_language_and_direction(client, db, language, direction):
    page = client.get(reverse("login"), headers={"accept-language": language}).content.decode()
    assert f'<html lang="{language}" dir="{direction}">' in page
    assert f'<option value="{language}" lang="{language}" selected>' in page


def test_a_language_that_is_not_offered_falls_back_to_english(client, db):
    page = client.get(reverse("login"), headers={"accept-language": "fr, de;q=0.5"}).content.decode()
    assert '<html lang="en" dir="ltr">' in page


def test_the_switch_keeps_the_page_one_was_on_and_stays(client, db):
    here = f"{reverse('login')}?next=/profile/"
    page = client.get(here).content.decode()
    assert '<input type="hidden" name="next" value="/accounts/login/?next=/profile/">' in page
    changed = client.post(reverse("set_language"), {"language": "ar", "next": here})
    assert (changed.status_code, changed["Location"]) == (302, here)
    cookie = changed.cookies[settings.LANGUAGE_COOKIE_NAME]
    assert int(cookie["max-age"]) == 365 * 24 * 60 * 60
    assert cookie["httponly"]
    assert 'lang="ar" dir="rtl"' in client.get(here).content.decode()


def test_the_switch_leads_nowhere_else(client, db):
    changed = client.post(reverse("set_language"), {"language": "es", "next": "https://evil.example/"})
    assert changed["Location"] == "/"
    refused = client.post(reverse("set_language"), {"language": "xx", "next": reverse("login")})
    assert refused["Location"] == reverse("login")
    assert settings.LANGUAGE_COOKIE_NAME not in refused.cookies


@pytest.mark.django_db
def test_numbers_and_their_nouns_agree_in_arabic(client):
    study = factories.rating_study(name="words", texts=[f"word {number}" for number in range(11)])
    who = factories.user("amal")
    factories.enrolment(study, who=factories.annotator(user=who), consented=True)
    client.force_login(who)
    page = client.get(reverse("study", args=["words"]), headers={"accept-language": "ar"}).content.decode()
    assert "يوجد 11 عنصرًا" in page


@pytest.mark.django_db
def test_the_dashboards_are_translated_and_the_definitions_say_that_they_are_in_english(client):
    client.force_login(factories.user("lead", admin=True))
    factories.rating_study(name="words")
    overview = client.get(reverse("overview", args=["words"]), headers={"accept-language": "ar"}).text
    assert "<h1>نظرة عامة</h1>" in overview
    assert 'lang="ar" dir="rtl"' in overview
    assert not re.search(r"<main [^>]*lang=", overview)
    methods = client.get(reverse("methods"), headers={"accept-language": "ar"}).text
    assert re.search(r'<main [^>]*lang="en" dir="ltr">', methods)


@pytest.mark.parametrize(
    ("form", "field", "value", "spanish"),
    [
        (CandidatesForm, "pool", "in", "de la región"),
        (InferenceForm, "pool", "out", "de fuera de la región"),
        (FilterForm, "dimension", "age", "Edad"),
        (GroupFilters, "region", "Sub-Saharan Africa", "África subsahariana"),
    ],
)
def test_choices_that_models_name_are_translated_in_forms(form, field, value, spanish):
    with override("es"):
        assert str(dict(form.base_fields[field].choices)[value]) == spanish


def test_what_classifies_texts_is_described_in_the_language_of_the_page():
    with override("es"):
        offered = dict(InferenceForm().fields["backend"].choices)
    assert offered["fake"].startswith("fake: Clasificaciones ficticias")
