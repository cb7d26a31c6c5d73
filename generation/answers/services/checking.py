"""Check a whole file of answers before anything of it is stored."""

import hashlib
from array import array
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
from django.utils.translation import gettext as _

from annotation.imports.services.catalogue import Progress
from generation.answers.lines import Line, read_lines
from generation.core.file_errors import MOST_SHOWN, FileUnusable
from generation.recipes.askings import DescriptionRecipe

Numbers = npt.NDArray[np.int32]
"""The number of each line of a file, among those of the same key."""
_IN_HASH = 8  # bytes


def check(path: Path, kind: str, images: Mapping[str, int] | None, progress: Progress) -> Numbers:
    """Read the whole file; the number of each of its lines among those of the same key.

    Sixteen bytes are kept of each line. Raises FileUnusable with the first errors.
    """
    keys, given, places = array("Q"), array("i"), array("I")
    errors: list[tuple[int, str]] = []
    wrong = 0
    for line in read_lines(path, with_image=kind == DescriptionRecipe.kind):
        problem = line if isinstance(line, str) else _image_problem(line, images)
        if problem:
            wrong += 1
            errors += [(_line_number(problem.partition(":")[0]), problem)] * (len(errors) < MOST_SHOWN)
        elif isinstance(line, Line):
            hashed = hashlib.blake2b(line.full_key.encode(), digest_size=_IN_HASH).digest()
            keys.append(int.from_bytes(hashed, "big"))
            given.append(line.number)
            places.append(_line_number(line.place))
            noun = line.place.partition(" ")[0]
    if not wrong and not keys:
        raise FileUnusable(path, ["It holds no answer. Each line needs a prompt and a text."])
    numbers = np.frombuffer(given, dtype=np.int32).copy() if keys else np.zeros(0, np.int32)
    if keys:
        hashes = np.frombuffer(keys, dtype=np.uint64)
        _count(hashes, numbers)
        repeated, number = _repeated(hashes, numbers, places, noun)
        errors, wrong = sorted([*errors, *repeated]), wrong + number
    if wrong:
        raise FileUnusable(path, [text for _place, text in errors[:MOST_SHOWN]], wrong)
    progress(_("checked"), len(numbers), len(numbers))
    return numbers


def _line_number(place: str) -> int:
    return int(place.rpartition(" ")[2])


def _image_problem(line: Line, images: Mapping[str, int] | None) -> str:
    if images is None or line.image in images:
        return ""
    called = f"the image '{line.image[:80]}' is not in the set, or two have that name"
    problem = called if line.image else "it names no image of the set"
    return f"{line.place}: image: {problem}. Name an image by its file, SHA-256, or group and number."


def _count(keys: npt.NDArray[np.uint64], numbers: Numbers) -> None:
    """Number the lines whose number is 0 from 1, in their order, among those of the same key. In place."""
    places = np.flatnonzero(numbers == 0)
    places = places[np.argsort(keys[places], kind="stable")]
    grouped = keys[places]
    first = np.concatenate(([True], grouped[1:] != grouped[:-1])) if len(places) else np.zeros(0, bool)
    starts = np.flatnonzero(first)
    within = np.arange(len(places)) - np.repeat(starts, np.diff([*starts, len(places)]))
    numbers[places] = within + 1


def _repeated(
    keys: npt.NDArray[np.uint64], numbers: Numbers, places: Sequence[int], noun: str
) -> tuple[list[tuple[int, str]], int]:
    """Lines with the key and the number of an earlier line: the first errors, each after the number of its
    line, and how many there are."""
    order = np.lexsort((numbers, keys))
    ordered_keys, ordered_numbers = keys[order], numbers[order]
    same = (ordered_keys[1:] == ordered_keys[:-1]) & (ordered_numbers[1:] == ordered_numbers[:-1])
    again = np.flatnonzero(same)
    pairs = sorted(zip(order[again + 1].tolist(), order[again].tolist(), strict=True))[:MOST_SHOWN]
    errors = [
        (
            places[later],
            f"{noun} {places[later]}: it has the key (or prompt) and the number {numbers[later]} of {noun} "
            f"{places[earlier]}. Give each sample its own number, or leave out both key and number.",
        )
        for later, earlier in pairs
    ]
    return errors, len(again)
