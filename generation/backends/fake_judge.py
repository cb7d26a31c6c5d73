"""How the fakes answer as machine judges: prompts that list choices and ask for JSON, as
metrics/machine_judges/prompts.py writes them in any language.

A rating (`{"answer": "LETTER"}`): with the probability `bias` the answer that a hash gives this item for
ever, whatever the order of the answers; else any, each as likely.

A selection (`{"chosen": [...]}`): the demonstration's drawings say in a text of their file, DRAWN_TEXT, what
was drawn in them and where. Of each option the fake says what the drawing says with the probability `skill`,
and else the opposite; for images of the region `weak_in` with `weak_skill`. Since most options of an image
are not drawn in it, a lower skill mostly chooses what is not there. About an image without such a text it
tosses a coin for each option. The last option is none of the above: it is chosen if nothing else is. A box is
the drawing's with some jitter, or anywhere for what is not drawn.

About one answer in UNUSABLE is not in the form that was asked for.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from PIL.Image import Image

from generation.backends.fake_answers import FakeOptions, hashed

DRAWN_TEXT = "visage-demo-drawing"
"""Key of the text in a drawing's file (annotation/demo/picture.py): JSON with `region` and `boxes`, from an
attribute to its corners in pixels."""
UNUSABLE = 40
_JITTER = 6
"""Pixels: standard deviation of the corners of a box."""
_CHOICE, _SELECTION, _BOXES = '{"answer": "LETTER"}', '{"chosen": [', '{"chosen": [{"option": "LETTER"'
_LINE = re.compile(r"^([A-Z])\. (.+)$", re.MULTILINE)
_NUMBER = re.compile(r"\d+")


@dataclass(frozen=True)
class _Asked:
    """What a prompt asks. `item`: the text before the choices. `form`: from the form to the end."""

    item: str
    options: Sequence[str]
    form: str


@dataclass(frozen=True, kw_only=True)
class JudgeOptions(FakeOptions):
    """`skill`, `weak_skill`: 0 to 1, of all regions but `weak_in`, and of this one."""

    skill: float = 0.9
    weak_in: str = ""
    weak_skill: float = 0.5

    def skill_for(self, region: str) -> float:
        """The skill for images of a region."""
        return self.weak_skill if self.weak_in and region == self.weak_in else self.skill


def rating(prompt: str, seed: int, bias: float) -> str | None:
    """The answer to a prompt that asks for one of several labels; None for another prompt."""
    asked = _asked(prompt, _CHOICE)
    if asked is None:
        return None
    random = Random(hashed("judge", prompt, seed))  # noqa: S311 - a fake model, not a secret
    own = max(asked.options, key=lambda option: hashed("own label", asked.item, option))
    option = own if random.random() < bias else random.choice(asked.options)
    answer = json.dumps({"answer": _letter(asked.options.index(option))})
    return _perhaps_unusable(answer, random)


def selection(prompt: str, image: Image, seed: int, chosen: JudgeOptions) -> str | None:
    """The answer to a prompt that asks what an image depicts; None for another prompt."""
    asked = _asked(prompt, _SELECTION)
    if asked is None:
        return None
    drawn = image.info.get(DRAWN_TEXT, "")
    mean = image.convert("RGB").resize((1, 1)).tobytes().hex()
    random = Random(hashed("judge", drawn, mean, prompt, seed))  # noqa: S311 - a fake model, not a secret
    about: Mapping[str, Any] = json.loads(drawn) if drawn else {"region": "", "boxes": {}}
    skill = chosen.skill_for(about["region"]) if drawn else 0.5
    *attributes, _none = asked.options
    selected = []
    for place, option in enumerate(attributes):
        if (option in about["boxes"]) == (random.random() < skill):
            box = _box(about["boxes"].get(option), image.size, random)
            selected.append(_place(place, box, image.size, asked.form))
    answer = json.dumps({"chosen": selected or [_letter(len(attributes))]})
    return _perhaps_unusable(answer, random)


def _asked(prompt: str, form: str) -> _Asked | None:
    start = prompt.rfind(form)
    lines = list(_LINE.finditer(prompt, 0, max(start, 0)))
    # the guides before the item may list something, too
    first = max((number for number, line in enumerate(lines) if line[1] == "A"), default=None)
    if start < 0 or first is None:
        return None
    return _Asked(prompt[: lines[first].start()], [line[2] for line in lines[first:]], prompt[start:])


def _place(place: int, box: Sequence[float], size: tuple[int, int], form: str) -> Any:
    """A chosen option, in the form that is asked for."""
    if not form.startswith(_BOXES):
        return _letter(place)
    # Pixels are asked for with the image's size. Digits of every script are numbers.
    in_pixels = set(size) <= {int(number) for number in _NUMBER.findall(form)}
    scales = (1, 1) if in_pixels else (1000 / size[0], 1000 / size[1])
    corners = [round(edge * scales[at % 2]) for at, edge in enumerate(box)]
    return {"option": _letter(place), "boxes": [corners]}


def _box(drawn: Sequence[float] | None, size: tuple[int, int], random: Random) -> Sequence[float]:
    """Pixels, inside the image."""
    width, height = size
    if drawn is None:
        x, y = random.uniform(0, 0.7) * width, random.uniform(0, 0.7) * height
        return x, y, x + 0.25 * width, y + 0.25 * height
    x0, y0, x1, y1 = (edge + random.gauss(0, _JITTER) for edge in drawn)
    x0, y0 = min(max(x0, 0), width - 10), min(max(y0, 0), height - 10)
    return x0, y0, min(max(x1, x0 + 10), width), min(max(y1, y0 + 10), height)


def _perhaps_unusable(answer: str, random: Random) -> str:
    if random.random() * UNUSABLE >= 1:
        return answer
    return random.choice((f"I would say: {answer}", "I cannot tell.", '{"answer": "Z", "chosen": ["Z"]}'))


def _letter(place: int) -> str:
    return chr(ord("A") + place)
