"""The templates, their documents, and which texts of a study are still a template's."""

import copy
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from annotation.studies.errors import KeyPath
from annotation.studies.errors import gettext_noop as _
from annotation.studies.study_file.marks import find_marks, split_at_marks

Document = dict[str, Any]

_FOLDER = "studies/study_templates"
_TO_CHECK = re.compile(
    r"consent\.(?:[\w-]+\.)?(?:text|content_warning)|(?:care|translations\.[\w-]+)\.support_text"
)
"""Keys of the texts of which a lead says that they were checked."""


@dataclass(frozen=True)
class Template:
    """A template. `name`: of its file; `asks`, `who`, `paper`: for its card, translated by pages."""

    name: str
    title: str
    asks: str
    who: str
    paper: str = ""


TEMPLATES = (
    Template(
        "visage_depiction",
        _("What images depict"),
        _("Which of these words does the image show, and where? Words are selected and boxed."),
        _("Three people a page, at least one of whom does not identify as male. Four words a page."),
        _("ViSAGe (Jha et al., ACL 2024); protocol, section 5"),
    ),
    Template(
        "visage_visual_nature",
        _("Which words are visual"),
        _("Can a picture show this word? Five labels, from Strongly agree to Strongly disagree."),
        _("Three people a word: from Asia, Europe and North America. All must agree."),
        _("ViSAGe (Jha et al., ACL 2024); protocol, section 2"),
    ),
    Template(
        "seegull_prevalence",
        _("Which stereotypes are known"),
        _("Do you know of this opinion about the group? Stereotypical or not."),
        _("Six people a pair: three who live in the group’s region, three from it in North America."),
        _("SeeGULL (Jha et al., ACL 2023); protocol, section 3"),
    ),
    Template(
        "seegull_offensiveness",
        _("How offensive stereotypes are"),
        _("How offensive would this be, said of the group? From Not offensive, −1, to Extremely, +4."),
        _("Three people a pair, anybody."),
        _("SeeGULL (Jha et al., ACL 2023); protocol, section 4"),
    ),
    Template(
        "biasdora_levels",
        _("How biased associations are"),
        _("How biased is this association of a model? From Not at all, 1, to Extremely, 5."),
        _("Three people an association, anybody: the protocol gives no number."),
        _("BiasDora (Raj et al., EMNLP Findings 2024); protocol, section 11"),
    ),
    Template(
        "blank",
        _("A blank study"),
        _("You choose what is judged. Consent, warning and support are there to be adapted."),
        _("You decide."),
    ),
)
NAMES = tuple(template.name for template in TEMPLATES)


def document(name: str) -> Document:
    """The content of a template's study file, without name, title, contact and what is shown.

    Raises KeyError for an unknown name."""
    if name not in NAMES:
        raise KeyError(name)
    return copy.deepcopy(_document(name))


def texts_to_check(document: Mapping[str, Any]) -> list[KeyPath]:
    """Keys of consent texts, warnings and support texts that are a template's word for word, whatever their
    marks were replaced by."""
    return [
        KeyPath(key)
        for key, text in _texts_to_check(document).items()
        if any(_is_made_from(_plain(text), template) for template in _ours())
    ]


def _is_made_from(text: str, template: str) -> bool:
    """Whether `text` is `template` with anything in place of its marks."""
    first, *rest = split_at_marks(template)
    if not rest:
        return text == template
    if not text.startswith(first) or not text.endswith(rest[-1]):
        return False
    at = len(first)
    for part in rest:
        at = text.find(part, at)
        if at < 0:
            return False
        at += len(part)
    return True


def _texts_to_check(values: Mapping[str, Any], path: str = "") -> dict[str, str]:
    found: dict[str, str] = {}
    for key, value in values.items():
        where = f"{path}{key}"
        if isinstance(value, Mapping):
            found |= _texts_to_check(value, f"{where}.")
        elif isinstance(value, str) and value.strip() and _TO_CHECK.fullmatch(where):
            found[where] = value
    return found


@cache
def marks() -> frozenset[str]:
    """The marks that stand in the templates."""
    return frozenset(mark.text for name in NAMES for mark in find_marks(_document(name)))


@cache
def _ours() -> frozenset[str]:
    return frozenset(_plain(text) for name in NAMES for text in _texts_to_check(_document(name)).values())


def _plain(text: str) -> str:
    """`text` with single spaces: reading a study file joins wrapped lines."""
    return " ".join(text.split())


@cache
def _document(name: str) -> Document:
    own, shared = _read(name), _read("texts")
    return _joined(shared, own)


def _joined(shared: Document, own: Document) -> Document:
    """`own` over `shared`; the first paragraph of a consent text comes from the template."""
    found = copy.deepcopy(shared)
    for key, value in own.items():
        there = found.get(key)
        if isinstance(there, dict) and isinstance(value, dict):
            found[key] = _joined(there, value)
        elif key == "text" and isinstance(there, str):
            found[key] = f"{value}\n\n{there.lstrip()}"
        else:
            found[key] = value
    return found


def _read(name: str) -> Document:
    text = files("annotation").joinpath(f"{_FOLDER}/{name}.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)
