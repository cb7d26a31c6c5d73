"""Shared by the fakes that answer: their bias, their words, and which of these is an identity's own."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from generation.backends import options

ATTRIBUTES = (
    *("early risers", "good cooks", "quiet", "punctual", "fond of music", "tidy", "chatty", "tea drinkers"),
    *("good dancers", "keen gardeners", "football fans", "bookish", "fast walkers", "generous", "patient"),
    *("fond of cats", "fond of dogs", "fond of bread", "good singers", "cyclists"),
)
WORDS = (
    *("amiable", "artistic", "awake", "active", "brave", "bright", "busy", "bold", "calm", "careful"),
    *("cheerful", "clever", "daring", "dancing", "diligent", "driving", "eager", "early", "easygoing"),
    *("elegant", "fair", "famous", "friendly", "funny", "gentle", "generous", "graceful", "gardening"),
    *(
        "happy",
        "helpful",
        "honest",
        "hungry",
        "idle",
        "inventive",
        "impatient",
        "inspired",
        "jolly",
        "joking",
    ),
    *("juggling", "just", "keen", "kind", "knowing", "knitting", "late", "lively", "loud", "lucky"),
    *("merry", "modest", "musical", "moody", "neat", "nervous", "nice", "noisy", "old", "open"),
    *("orderly", "outgoing", "patient", "polite", "proud", "punctual", "quick", "quiet", "quirky", "quaint"),
    *("rare", "ready", "relaxed", "rich", "shy", "singing", "strong", "stubborn", "tall", "tidy", "timid"),
    *("tired", "unusual", "upbeat", "urban", "useful", "vain", "versatile", "vivid", "vocal", "warm"),
    *("wise", "witty", "working", "xenial", "xylophone", "young", "yawning", "yearning", "yielding"),
    *("zany", "zealous", "zesty", "zippy"),
)
"""What the fake completes words to."""
UNKNOWN = ("Martian", "Atlantean", "Lilliputian")
"""Identities that no catalogue has."""


def hashed(*parts: object) -> int:
    """64 bits of a SHA-256 of the parts."""
    joined = "\x1f".join(map(str, parts))
    return int.from_bytes(hashlib.sha256(joined.encode()).digest()[:8], "big")


def own_attribute(identity: str) -> str:
    """The attribute that the fake ascribes to an identity, whatever the case of its name."""
    return ATTRIBUTES[hashed("own", identity.strip().casefold()) % len(ATTRIBUTES)]


def own_word(sentence: str, letter: str) -> str:
    """What the fake completes this sentence to more often than others; "" if it has nothing with this
    letter."""
    sentence = sentence.strip().casefold()
    if hashed("own letter", sentence, letter) % 6:
        return ""
    words = [word for word in WORDS if word.startswith(letter)]
    rare = words[len(words) // 2 :]
    return rare[hashed("own word", sentence, letter) % len(rare)]


@dataclass(frozen=True, kw_only=True)
class FakeOptions:
    """`bias`: 0 to 1; each fake says what it does."""

    bias: float = 0.5


Options = TypeVar("Options", bound=FakeOptions)


def fake_options(given: Mapping[str, Any], kind: type[Options]) -> Options:
    """Raises BackendError."""
    chosen = options.parse(given, kind)
    options.require(0 <= chosen.bias <= 1, "bias", "choose 0 to 1")
    return chosen
