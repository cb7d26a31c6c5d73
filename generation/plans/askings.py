"""What a run asks a model, and how people write it down. Pure: no Django."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

LONGEST_KEY = 200
_HASH = 16
PAIR = " || "
"""Between the two texts of a pair, on one line."""


class PromptsRefused(ValueError):
    """A list of prompts that cannot be read. The message names the line and the cure."""


@dataclass(frozen=True, slots=True)
class Asking:
    """A prompt, perhaps about an image (its id), or a text or a pair of texts to classify.

    `key`: what it is for, at most 200 characters, unique in its run. `group_id`, `attribute_id`: whom and
    what it is about, if that is in the catalogue.
    """

    key: str
    prompt: str
    text_pair: str = ""
    group_id: int | None = None
    attribute_id: int | None = None
    image_id: int | None = None


class Askings(Protocol):
    """Any number of askings, in an order that stays the same. They may be made while they are read."""

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[Asking]: ...


@dataclass(frozen=True)
class AboutImages:
    """Every prompt about every image."""

    prompts: Sequence[Asking]
    images: Sequence[int]

    def __len__(self) -> int:
        return len(self.prompts) * len(self.images)

    def __iter__(self) -> Iterator[Asking]:
        for image in self.images:
            for asking in self.prompts:
                yield replace(asking, key=shortened(f"image {image}: {asking.key}"), image_id=image)


def read_prompts(lines: Iterable[str], *, pairs: bool = False, first_line: int = 1) -> list[Asking]:
    """One asking a line: plain text, or a JSON object with `prompt` and perhaps `text_pair` and `key`.

    `pairs`: a line of plain text may hold two texts with ` || ` between them. Empty lines and lines that
    repeat an earlier one are left out. Raises PromptsRefused.
    """
    found: dict[str, Asking] = {}
    for number, line in enumerate(lines, start=first_line):
        text = line.strip().lstrip("\ufeff")
        if not text:
            continue
        asking = _of_json(text, number) if text.startswith("{") else _of_text(text, pairs)
        earlier = found.setdefault(asking.key, asking)
        if earlier != asking:
            raise PromptsRefused(
                f"Line {number}: the key '{asking.key[:60]}' stands for another prompt above. Give each "
                "prompt a key of its own."
            )
    return list(found.values())


def shortened(key: str) -> str:
    """The key, or its beginning and a hash of the whole if it is too long."""
    if len(key) <= LONGEST_KEY:
        return key
    digest = hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH]
    return f"{key[: LONGEST_KEY - _HASH - 2]}… {digest}"


def _of_text(text: str, pairs: bool) -> Asking:
    prompt, pair = text, ""
    if pairs and PAIR in text:
        prompt, _, pair = (part.strip() for part in text.partition(PAIR))
    return Asking(shortened(text), prompt, pair)


def _of_json(text: str, number: int) -> Asking:
    try:
        fields = json.loads(text)
    except ValueError as error:
        raise PromptsRefused(
            f"Line {number} begins with {{ but is not JSON ({error}). Correct it, or write plain text."
        ) from error
    known = ("prompt", "text_pair", "key")
    unknown = sorted(set(fields) - set(known))
    if unknown:
        raise PromptsRefused(f"Line {number}: unknown field '{unknown[0]}'. Use {', '.join(known)}.")
    wrong = next((name for name in known if not isinstance(fields.get(name, ""), str)), None)
    if wrong is not None or not fields.get("prompt", "").strip():
        raise PromptsRefused(f"Line {number}: {wrong or 'prompt'} must be a text in quotation marks.")
    prompt, pair = fields["prompt"], fields.get("text_pair", "")
    key = fields.get("key", "").strip() or (f"{prompt}{PAIR}{pair}" if pair else prompt)
    return Asking(shortened(key), prompt, pair)
