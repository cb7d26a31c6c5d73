"""Texts to embed: one on each line, as people write them, and as jobs have them."""

from collections.abc import Iterable, Sequence

from django.utils.translation import gettext as _

from generation.plans.askings import Asking, shortened
from generation.plans.errors import PlanRefused
from generation.recipes.checks import LONGEST_TEXT


def text_problem(text: str) -> str:
    """Why a text cannot be embedded, with the cure; "" if it can."""
    if text.strip() and len(text) <= LONGEST_TEXT and "\0" not in text:
        return ""
    return _("“%(text)s…” cannot be embedded. Write 1 to %(most)s characters.") % {
        "text": text[:40].replace("\0", " "),
        "most": LONGEST_TEXT,
    }


def read_texts(lines: Iterable[str]) -> tuple[str, ...]:
    """One text on each line, each once, in their order. Empty lines are left out.

    Raises PlanRefused, which names the line.
    """
    found: dict[str, None] = {}
    for number, line in enumerate(lines, start=1):
        text = line.strip().lstrip("\ufeff")
        if not text:
            continue
        if problem := text_problem(text):
            raise PlanRefused(_("Line %(number)s: %(problem)s") % {"number": number, "problem": problem})
        found[text] = None
    return tuple(found)


def askings_of_texts(texts: Sequence[str]) -> tuple[Asking, ...]:
    """What a run of embeddings has for each text, each once. Raises PlanRefused."""
    for text in texts:
        if problem := text_problem(text):
            raise PlanRefused(problem)
    return tuple(Asking(key=shortened(text), prompt=text) for text in dict.fromkeys(texts))
