"""The prompts that models are asked with (PROTOCOL §11): one readable file each in prompts/. Pure: no Django.

A study can change them: a file, or a table of TOML, of the same name replaces the one that ships.
"""

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from importlib.resources import files
from pathlib import Path
from typing import Any

from metrics.associations.askings import LETTERS, Descriptor, Modality, Setting
from metrics.associations.descriptors import article_of, plural_of

_FOLDER = "associations/prompts"
_FIELDS = {"version": int, "prompt": str, "system": str, "sentence": str, "max_tokens": int}
_PLACE = re.compile(r"\{(\w+)\}")
_OF_DESCRIPTOR = frozenset({"article", "singular", "plural", "letter"})
_MOST_TOKENS = 32_768
_LONGEST = 20_000
_LONGEST_OF_IMAGE = 300
_MOST_VERSION = 1_000_000
BIAS_LEVEL = "bias-level"


class Instruction(StrEnum):
    """How a model is asked to describe an image that was made for a descriptor."""

    STRAIGHTFORWARD = "straightforward"
    MODERATE = "moderate"
    COMPREHENSIVE = "comprehensive"


class PromptsRefused(ValueError):
    """A prompt that cannot be used. The message names its file and the cure."""


@dataclass(frozen=True)
class PromptText:
    """A prompt. `sentence`: of T2T, the sentence that is to be completed. `changed`: it is not the one that
    ships."""

    name: str
    version: int
    prompt: str
    system: str = ""
    sentence: str = ""
    max_tokens: int = 0
    changed: bool = False

    def as_design(self) -> dict[str, Any]:
        """As stored in the design of a run: everything that was used."""
        stored = {
            "version": self.version,
            "changed": self.changed,
            "prompt": self.prompt,
            "system": self.system,
            "sentence": self.sentence,
        }
        return {name: value for name, value in stored.items() if value != ""}


def prompt_name(setting: Setting, instruction: Instruction) -> str:
    """The name of the prompt of a setting; that of T2I is its instruction's."""
    return f"t2i-{instruction}" if setting.modality == Modality.T2I else setting.value


def image_prompt_name(setting: Setting) -> str:
    """The name of the prompt that the images of a T2I setting are made with."""
    return f"images-{setting.short}"


NAMES = (
    *(setting.value for setting in Setting if setting.modality == Modality.T2T),
    *("images-singular", "images-plural"),
    *(f"t2i-{instruction}" for instruction in Instruction),
    *(setting.value for setting in Setting if setting.modality == Modality.I2T),
    BIAS_LEVEL,
)


def read_prompts(changes: Mapping[str, PromptText] | None = None) -> dict[str, PromptText]:
    """All prompts by name: those that ship, and instead of some of them `changes`."""
    shipped = {name: _parsed(name, tomllib.loads(shipped_text(name))) for name in NAMES}
    return shipped | dict(changes or {})


def shipped_text(name: str) -> str:
    return files("metrics").joinpath(f"{_FOLDER}/{name}.toml").read_text(encoding="utf-8")


def shown_as_tables(names: Iterable[str]) -> str:
    """The files of these names that ship, as `changes_of_text` reads them."""
    return "\n".join(f"[{name}]\n{shipped_text(name)}" for name in names)


def changes_of_folder(folder: Path) -> dict[str, PromptText]:
    """The prompts of a folder's files NAME.toml. Raises PromptsRefused."""
    if not folder.is_dir():
        raise PromptsRefused(f"{folder}: there is no such folder. Name one with files such as t2t-noun.toml.")
    found = {}
    for path in sorted(folder.glob("*.toml")):
        try:
            table = tomllib.loads(path.read_text(encoding="utf-8-sig"))
        except (OSError, ValueError, RecursionError) as error:
            raise PromptsRefused(f"{path.name}: this is not TOML in UTF-8 ({error}).") from error
        found[path.stem] = _changed(path.stem, table)
    if not found:
        raise PromptsRefused(f"{folder}: it holds no file NAME.toml. The names are {', '.join(NAMES)}.")
    return found


def changes_of_text(text: str) -> dict[str, PromptText]:
    """The prompts of a text of TOML, each in a table of its name. Raises PromptsRefused."""
    try:
        tables = tomllib.loads(text.replace("\r\n", "\n"))
    except (ValueError, RecursionError) as error:
        raise PromptsRefused(f"This is not TOML ({error}).") from error
    return {name: _changed(name, table) for name, table in tables.items()}


def _changed(name: str, table: Any) -> PromptText:
    """`changed` is False if nothing differs from what ships."""
    if name not in NAMES:
        raise PromptsRefused(f"'{name}' is no prompt. The names are {', '.join(NAMES)}.")
    if not isinstance(table, dict):
        raise PromptsRefused(f"'{name}': write a table, which begins with [{name}] on a line of its own.")
    shipped = _parsed(name, tomllib.loads(shipped_text(name)))
    given = _parsed(name, table)
    return given if given == shipped else PromptText(**{**vars(given), "changed": True})


def _parsed(name: str, table: Mapping[str, Any]) -> PromptText:
    if unknown := sorted(set(table) - set(_FIELDS)):
        raise PromptsRefused(f"{name}: '{unknown[0]}' is no field. Use {', '.join(_FIELDS)}.")
    for field, kind in _FIELDS.items():
        if field in table and type(table[field]) is not kind:
            raise PromptsRefused(f"{name}: {field} must be a {'number' if kind is int else 'text'}.")
    if not 1 <= table.get("version", 0) <= _MOST_VERSION:
        raise PromptsRefused(f"{name}: version is missing. Give your wording a number, such as version = 2.")
    if any("\0" in value for value in table.values() if isinstance(value, str)):
        raise PromptsRefused(f"{name}: it has a character that is none (\\u0000). Remove it.")
    if not 0 <= table.get("max_tokens", 0) <= _MOST_TOKENS:
        raise PromptsRefused(f"{name}: max_tokens: choose 1 to {_MOST_TOKENS}.")
    is_words = name.startswith("t2t-")
    _check_places(name, "prompt", table.get("prompt", ""), *_places(name))
    _check_places(
        name,
        "sentence",
        table.get("sentence", ""),
        {"letter"} if is_words else set(),
        _OF_DESCRIPTOR if is_words else set(),
        needed=is_words,
    )
    if name.startswith("images-") and len(table["prompt"]) > _LONGEST_OF_IMAGE:
        raise PromptsRefused(f"{name}: prompt: use at most {_LONGEST_OF_IMAGE} characters.")
    fields: dict[str, Any] = {
        field: value.strip() if isinstance(value, str) else value for field, value in table.items()
    }
    return PromptText(name=name, **fields)


def _places(name: str) -> tuple[set[str], set[str]]:
    """Which words in braces a prompt must have, and may have."""
    needed = {"sentence"} if name.startswith("t2t-") or name == BIAS_LEVEL else set()
    needed |= {"named"} if name.startswith("images-") else set()
    return needed, needed


def _check_places(
    name: str, field: str, text: str, required: set[str], allowed: Iterable[str], *, needed: bool = True
) -> None:
    there = set(_PLACE.findall(text))
    if needed and not text.strip():
        raise PromptsRefused(f"{name}: {field} is missing or empty.")
    if len(text) > _LONGEST:
        raise PromptsRefused(f"{name}: {field} has {len(text):,} characters, at most {_LONGEST:,}.")
    if missing := sorted(required - there):
        raise PromptsRefused(f"{name}: {field} must have {{{missing[0]}}}, which is replaced.")
    if unknown := sorted(there - set(allowed)):
        known = ", ".join(f"{{{each}}}" for each in sorted(allowed)) or "none"
        raise PromptsRefused(f"{name}: {field}: {{{unknown[0]}}} is not replaced. Possible here: {known}.")


def filled(text: str, values: Mapping[str, str]) -> str:
    """The text with its words in braces replaced."""
    return _PLACE.sub(lambda match: values.get(match[1], match[0]), text)


def sentence_of(prompt: PromptText, descriptor: Descriptor, letter: str) -> str:
    """The sentence to complete: a template as it is, else the prompt's own with a capital letter.

    Examples
    --------
    >>> sentence_of(read_prompts()["t2t-plural"], Descriptor("age", "old person", "old people"), "q")
    'Old people are [q__].'
    """
    if descriptor.template:
        return f"{descriptor.template} [{letter}__]."
    values = {
        "article": article_of(descriptor),
        "singular": descriptor.singular,
        "plural": descriptor.plural or plural_of(descriptor.singular),
        "letter": letter,
    }
    text = " ".join(filled(prompt.sentence, values).split())
    return text[:1].upper() + text[1:]


def words_prompt(prompt: PromptText, descriptor: Descriptor, letter: str) -> str:
    """What a model is asked for a letter."""
    return filled(prompt.prompt, {"sentence": sentence_of(prompt, descriptor, letter)})


def words_prompts(prompt: PromptText, descriptor: Descriptor) -> Iterable[tuple[str, str]]:
    """(letter, what a model is asked)."""
    return ((letter, words_prompt(prompt, descriptor, letter)) for letter in LETTERS)


def image_prompt(prompt: PromptText, descriptor: Descriptor, setting: Setting) -> str:
    """What an image is made with.

    Examples
    --------
    >>> image_prompt(read_prompts()["images-singular"], Descriptor("age", "adult"), Setting.IMAGES_OF_ONE)
    'Generate an image of an adult'
    >>> child = Descriptor("age", "small child", "little children")
    >>> image_prompt(read_prompts()["images-plural"], child, Setting.IMAGES_OF_SEVERAL)
    'Generate an image of little children'
    """
    if setting == Setting.IMAGES_OF_ONE:
        named = f"{article_of(descriptor)} {descriptor.singular}".strip()
    else:
        named = descriptor.plural or plural_of(descriptor.singular)
    return filled(prompt.prompt, {"named": named})
