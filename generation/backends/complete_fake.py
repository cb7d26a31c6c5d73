"""Fake answers of a language model: tuples or a short sentence, from the prompt and the seed, on any machine.

A prompt of tuples, such as `(Mexican, tacos), (Italian, pasta)`, is answered with six tuples, each an
identity and an attribute, in the order of the prompt's tuples. Option `bias`, from 0 to 1 (default 0.5):
with this probability, drawn for each tuple, the attribute is the one that this identity always has,
`own_attribute`; else it is any of ATTRIBUTES, each as likely. So of many tuples of one identity its own
attribute has the share bias + (1 - bias) / 20, and with bias 0 no identity differs from another.

Identities are drawn from IDENTITIES and from the prompt's own. A prompt that ends in an open tuple, such as
`(Mexican,`, is first continued with an attribute of that identity; one that ends in an open attribute, such
as `(tacos,` after tuples of (attribute, identity), with an identity. Which side of the prompt's tuples is
the identity is told by IDENTITIES: the side that has more of them; the first, if neither has. The six
tuples have noise as of real models, whatever the bias: each is numbered in one answer of ten, and of the
tuples about one in fifteen has a third element, one in fifteen an attribute in the singular, and one in
fifteen an identity that no catalogue has.

A prompt whose last brackets hold a letter, such as `A nurse is [k__].`, is answered with a word of WORDS in
brackets that begins with it, one of the first half of the letter's. Of about four letters a sentence has a
word of its own, from the second half (`own_word`); that it is given with the probability `bias`. About one
answer in fifteen has no brackets, and one another letter. A prompt that asks for `the number only` gets one
from 1 to 5. A machine judge's prompt gets a label, as fake_judge.py says. With any other prompt the answer is
a sentence.
"""

import re
from collections.abc import Sequence
from random import Random

from generation.backends import fake_judge
from generation.backends.base import About, Answerer, Question, Reply
from generation.backends.fake_answers import (
    ATTRIBUTES,
    UNKNOWN,
    WORDS,
    FakeOptions,
    fake_options,
    hashed,
    own_attribute,
    own_word,
)
from generation.recipes.askings import CompletionRecipe, DescriptionRecipe

IDENTITIES = (
    *("Mexican", "Italian", "French", "German", "Spanish", "British", "Irish", "Polish", "Greek", "Turkish"),
    *("Egyptian", "Nigerian", "Kenyan", "Ghanaian", "Ethiopian", "Moroccan", "Indian", "Pakistani", "Nepali"),
    *("Chinese", "Japanese", "Korean", "Vietnamese", "Thai", "Indonesian", "Australian", "Brazilian"),
    *("Peruvian", "Chilean", "Colombian", "Cuban", "Canadian", "American", "Iranian", "Iraqi", "Russian"),
)
_TUPLES = 6
_TUPLE = re.compile(r"\(([^(),]+),([^(),]+)\)")
_OPEN = re.compile(r"\(([^(),]+),\s*$")
_LETTER = re.compile(r"([^\n]*)\[([a-z])__\][^\[]*$")
_WORDS = ("yes", "no", "it depends", "hard to say", "nobody knows", "usually", "rarely", "ask again")


class FakeAnswerer:
    """An Answerer without a model. Its tokens are words."""

    about = About("fake", "1", "cpu", {})
    batch = 64

    def __init__(self, recipe: CompletionRecipe, bias: float) -> None:
        self._recipe, self._bias = recipe, bias

    def answer(self, questions: Sequence[Question]) -> list[Reply]:
        """Temperature 0 always draws with the seed 0."""
        seeds = (question.seed if self._recipe.temperature else 0 for question in questions)
        return [
            finished(self._recipe, question.prompt, _written(question.prompt, seed, self._bias))
            for question, seed in zip(questions, seeds, strict=True)
        ]


def finished(recipe: CompletionRecipe | DescriptionRecipe, prompt: str, text: str) -> Reply:
    """The reply of a fake that wrote `text`: cut at a stop text, and after `max_tokens` words."""
    stops = [text.index(stop) for stop in recipe.stop if stop in text]
    text = text[: min(stops)] if stops else text
    pieces = re.findall(r"\s*\S+\s*$|\s*\S+", text)
    ended = "stop" if len(pieces) <= recipe.max_tokens else "length"
    kept = pieces[: recipe.max_tokens]
    return Reply("".join(kept), ended, len(prompt.split()), len(kept))


def _written(prompt: str, seed: int, bias: float) -> str:
    rated = fake_judge.rating(prompt, seed, bias)
    if rated is not None:
        return rated
    random = Random(hashed("complete", prompt, seed))  # noqa: S311 - a fake model, not a secret
    if letter := _LETTER.search(prompt):
        return _completed(letter[1], letter[2], random, bias)
    if "the number only" in prompt:
        return str(random.randint(1, 5))
    pairs = [(first.strip(), second.strip()) for first, second in _TUPLE.findall(prompt)]
    unfinished = _OPEN.search(prompt)
    if not pairs and unfinished is None:
        return f"{random.choice(_WORDS).capitalize()}: {random.choice(ATTRIBUTES)}."
    identity_first = _identity_is_first(pairs)
    there = [pair[0 if identity_first else 1] for pair in pairs]
    beginning = ""
    if unfinished is not None:
        given = unfinished[1].strip()
        beginning = _attribute(given, random, bias) if identity_first else random.choice(IDENTITIES)
        beginning = f" {beginning}), "
    numbered = random.random() < 0.1
    tuples = [_tuple(there, identity_first, random, bias) for _ in range(_TUPLES)]
    if numbered:
        return beginning + "\n".join(f"{number}. {one}" for number, one in enumerate(tuples, 1))
    return beginning + ", ".join(tuples)


def _completed(sentence: str, letter: str, random: Random, bias: float) -> str:
    noise = random.random() * 15
    if noise < 1:
        letter = random.choice("abcdefghijklmnopqrstuvwxyz")
    own = own_word(sentence, letter)
    words = [word for word in WORDS if word.startswith(letter)]
    word = own if own and random.random() < bias else random.choice(words[: len(words) // 2])
    return f"{word.capitalize()}." if 1 <= noise < 2 else f"[{word}]"


def _identity_is_first(pairs: Sequence[tuple[str, str]]) -> bool:
    known = {name.casefold() for name in IDENTITIES}
    first, second = (sum(pair[side].casefold() in known for pair in pairs) for side in (0, 1))
    return first >= second


def _tuple(there: Sequence[str], identity_first: bool, random: Random, bias: float) -> str:
    identity = random.choice((*IDENTITIES, *there))
    noise = random.random() * 15
    if noise < 1:
        identity = random.choice(UNKNOWN)
    attribute = _attribute(identity, random, bias)
    if 1 <= noise < 2:
        attribute = attribute.removesuffix("s")
    elements = [identity, attribute] if identity_first else [attribute, identity]
    if 2 <= noise < 3:
        elements.append("and so on")
    return f"({', '.join(elements)})"


def _attribute(identity: str, random: Random, bias: float) -> str:
    return own_attribute(identity) if random.random() < bias else random.choice(ATTRIBUTES)


def check(recipe: CompletionRecipe) -> FakeOptions:
    """The recipe's options. Raises BackendError."""
    return fake_options(recipe.options, FakeOptions)


def load(recipe: CompletionRecipe, *, device: str = "") -> Answerer:
    """Needs no weights; ignores `device`, `recipe.model` and the server. Raises BackendError as `check`."""
    return FakeAnswerer(recipe, check(recipe).bias)
