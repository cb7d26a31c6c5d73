"""Recipes: everything that decides what a run makes, and the hash that names it. Pure: no Django.

A recipe does not list its jobs: adding a group to a run leaves its recipe, its hash and its finished
pictures as they are. The seed of a picture depends on the recipe's seed, its prompt and its number only:
not on the batch, the group's place in a list, the model or the machine.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar

from generation.recipes.prompts import PromptSet

FAKE = "fake"
"""The backend that draws instead of generating: its sets are marked as drawn."""
VERSION = 1
_SEED_BITS = 63  # fits a signed 64-bit column and torch's generators


class RecipeRefused(ValueError):
    """A recipe that cannot be carried out; names the field and the cure."""


@dataclass(frozen=True, kw_only=True)
class ImageRecipe:
    """Pictures. `model`: hub id or local folder. `scheduler`: a class name of diffusers, "" the model's own.
    `dtype`: float32, float16 or bfloat16. `safety`: "off" not asked, "record" the verdict is kept with the
    picture, "block" a flagged picture is made black as well. `steps` and `guidance` None: the model's own.
    `compiled`: the model is compiled first, which costs minutes, gains speed on a GPU and moves last bits.
    """

    kind: ClassVar[str] = "images"

    backend: str = "diffusers"
    model: str = "CompVis/stable-diffusion-v1-4"
    revision: str = ""
    scheduler: str = ""
    steps: int | None = 50
    guidance: float | None = 7.5
    width: int = 512
    height: int = 512
    dtype: str = "float32"
    compiled: bool = False
    safety: str = "record"
    negative_prompt: str = ""
    prompt_sets: tuple[str, ...] = (PromptSet.DETECTION.value,)
    images_per_prompt: int = 5
    seed: int = 0

    def __post_init__(self) -> None:
        _need(bool(self.prompt_sets), "prompt_sets", "name at least one")
        for name in self.prompt_sets:
            _need(name in list(PromptSet), "prompt_sets", f"'{name}' is none of {', '.join(PromptSet)}")
        _need(1 <= self.images_per_prompt <= 1000, "images_per_prompt", "choose 1 to 1000")
        _need(self.steps is None or 1 <= self.steps <= 1000, "steps", "choose 1 to 1000")
        _need(self.guidance is None or 0 <= self.guidance <= 100, "guidance", "choose 0 to 100")
        for name in ("width", "height"):
            value = getattr(self, name)
            _need(8 <= value <= 4096 and value % 8 == 0, name, "choose a multiple of 8 from 8 to 4096")
        _need(self.dtype in ("float32", "float16", "bfloat16"), "dtype", "float32, float16 or bfloat16")
        _need(self.safety in ("off", "record", "block"), "safety", "off, record or block")
        _need(0 <= self.seed < 2**_SEED_BITS, "seed", f"choose 0 to 2^{_SEED_BITS} - 1")
        _need(bool(self.model.strip()), "model", "give a hub id or a local folder")


@dataclass(frozen=True, kw_only=True)
class CaptionRecipe:
    """`count` captions an image, best first. `options` are the backend's own, checked by it."""

    kind: ClassVar[str] = "captions"

    backend: str = "visage"
    model: str = ""
    revision: str = ""
    count: int = 50
    dtype: str = "float32"
    seed: int = 0
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _need(1 <= self.count <= 1000, "count", "choose 1 to 1000 captions")
        _need(self.dtype in ("float32", "float16", "bfloat16"), "dtype", "float32, float16 or bfloat16")


@dataclass(frozen=True, kw_only=True)
class EmbeddingRecipe:
    """One unit vector an image. `model`: an architecture of open_clip (ViT-B-32) or `local-dir:/folder`;
    `pretrained`: its weights' tag or a file."""

    kind: ClassVar[str] = "embeddings"

    backend: str = "open_clip"
    model: str = "ViT-B-32"
    pretrained: str = "openai"
    dtype: str = "float32"

    def __post_init__(self) -> None:
        _need(bool(self.model.strip()), "model", "name an architecture or local-dir:/folder")
        _need(self.dtype in ("float32", "float16", "bfloat16"), "dtype", "float32, float16 or bfloat16")


Recipe = ImageRecipe | CaptionRecipe | EmbeddingRecipe
_KINDS: dict[str, type[Recipe]] = {one.kind: one for one in (ImageRecipe, CaptionRecipe, EmbeddingRecipe)}


def as_json(recipe: Recipe) -> dict[str, Any]:
    """The recipe as stored in Run.recipe."""
    stored: dict[str, Any] = json.loads(
        json.dumps({"kind": recipe.kind, "version": VERSION, **asdict(recipe)})
    )
    return stored


def from_json(stored: Mapping[str, Any]) -> Recipe:
    """The way back from `as_json`. Raises RecipeRefused for a kind, version or field it does not know."""
    given = dict(stored)
    kind, version = given.pop("kind", None), given.pop("version", None)
    _need(kind in _KINDS, "kind", f"'{kind}' is none of {', '.join(_KINDS)}")
    _need(version == VERSION, "version", f"{version} was written by another version of the program")
    if "prompt_sets" in given:
        given["prompt_sets"] = tuple(given["prompt_sets"])
    try:
        return _KINDS[str(kind)](**given)
    except TypeError as error:
        raise RecipeRefused(f"recipe: {error}") from error


def digest(recipe: Recipe, *, image_set: str) -> str:
    """SHA-256, in hex, of the canonical recipe and the image set it fills or reads."""
    canonical = json.dumps(
        {"image_set": image_set, **as_json(recipe)}, sort_keys=True, separators=(",", ":"), ensure_ascii=True
    )
    return hashlib.sha256(canonical.encode()).hexdigest()


def picture_seed(*, seed: int, prompt: str, number: int) -> int:
    """The seed of picture `number` (from 1) of a prompt: 63 bits of a SHA-256."""
    drawn = hashlib.sha256(f"{seed}\x1f{prompt}\x1f{number}".encode()).digest()
    return int.from_bytes(drawn[:8], "big") >> 1


def _need(holds: bool, name: str, cure: str) -> None:
    if not holds:
        raise RecipeRefused(f"recipe: {name}: {cure}.")


__all__ = [
    "FAKE",
    "CaptionRecipe",
    "EmbeddingRecipe",
    "ImageRecipe",
    "Recipe",
    "RecipeRefused",
    "as_json",
    "digest",
    "from_json",
    "picture_seed",
]
