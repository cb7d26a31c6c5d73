"""What a study says to annotators, in the language of the page as far as it is translated."""

from django import template
from django.conf import settings
from django.conf.locale import LANG_INFO
from django.utils.functional import Promise
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.text import capfirst
from django.utils.translation import get_language

from annotation.core.translation import LocalizedText, translated_text
from annotation.models import Study
from annotation.studies.study_file.marks import is_marked

register = template.Library()


@register.filter
def told(study: Study, part: str) -> LocalizedText:
    """Its title, description or support_text."""
    return translated_text(study, part, get_language() or "")


@register.filter
def has_mark(value: object) -> bool:
    """Whether what a field holds has a place that must be adapted."""
    return isinstance(value, str) and is_marked(value)


@register.filter
def language_name(code: str) -> str:
    """A language's name in itself, as in the list at the bottom of every page; of one without a known name,
    its code."""
    known = LANG_INFO.get(code, {}).get("name_local", "")
    return str(dict(settings.LANGUAGES).get(code) or capfirst(known) or code)


@register.simple_tag
def lang_of(language: str) -> SafeString:
    """The attributes of an element whose text is in `language`: the page's, which it may be empty for, or
    another."""
    lang = format_html(' lang="{}"', language) if language not in ("", get_language()) else SafeString("")
    return lang + SafeString(' dir="auto"')


@register.simple_tag
def apart(text: str | Promise | LocalizedText, language: str) -> SafeString:
    """A text in `language` within a line of others: it may run the other way."""
    return format_html("<bdi{}>{}</bdi>", lang_of(language), text)


@register.simple_tag
def title_of(study: Study) -> SafeString:
    title = told(study, "title")
    return apart(title, title.language)
