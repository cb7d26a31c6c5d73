"""Recipes: everything that determines a run's results, and their hash. Pure: no Django.

A recipe does not list its jobs: adding a group to a run changes neither its recipe, its hash nor its finished
images. An image's seed depends only on the recipe's seed, the prompt and the image's number.
"""

import dataclasses
import hashlib
import itertools
import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, ClassVar

from generation.recipes import loras
from generation.recipes.askings import ClassificationRecipe, CompletionRecipe, DescriptionRecipe
from generation.recipes.checks import RecipeRefused, check_dtype, check_seed, require
from generation.recipes.prompts import PromptSet
from generation.recipes.series import MOST_STRENGTHS

FAKE = "fake"
"""The backend that draws instead of generating; its image sets are marked as drawn."""
IMPORTED = "imported"
"""The backend of a run whose results were made elsewhere. Its recipe holds what is known."""
WITHOUT_SEED = ("openai",)
"""The backends of images that send no seed. The job's own seed has no part in its image."""
HUB_ENCODERS = ("transformers",)
"""The backends of embeddings whose models come from the hub; `pretrained` is a revision of theirs."""
VERSION = 1
_WHEN_ABSENT: Mapping[str, Any] = {
    "repeatable": True,
    "variant": "",
    "lora": (),
    "quantisation": "",
    "offload": "",
    "server": "",
    "initial": "",
    "strengths": (),
}
"""Fields that were added later: name -> what a stored recipe without it means. `as_json` leaves a field out
at that value, so older recipes keep their hash."""
QUANTISATIONS = ("bitsandbytes_4bit", "bitsandbytes_8bit", "torchao_int8")
OFFLOADS = ("model", "sequential")


@dataclass(frozen=True, kw_only=True)
class ImageRecipe:
    """Images. `model`: hub id or local folder; of the backend `openai`, a model of the `server`, a name of
    MODEL_SERVERS. `scheduler`: a diffusers class name; "" means the model's own.
    `dtype`: float32, float16 or bfloat16; "auto" means half precision on a GPU (bfloat16 if it computes with
    it, else float16), float32 elsewhere. `repeatable`: on a GPU, settings with which the same image made
    again has the same bytes. `safety`: "off" does not run the checker, "record" stores its verdict with the
    image, "block" also makes flagged images black. `steps` and `guidance` None: the model's own. `compiled`:
    compile the model first, which takes minutes, is faster on a GPU and changes the last bits. `variant`: of
    the weights' files, such as fp16. `lora`: each as SOURCE[:FILE][@SCALE] (loras.py). `quantisation`: the
    weights in fewer bits, by one of QUANTISATIONS. `offload`: what waits in the machine's memory, not on the
    GPU: the parts that do not compute ("model"), or all layers but one ("sequential").
    `initial`: name of the image set whose images the model begins with; "" for noise. `strengths`: how far
    it goes from them, one image at each (series.py): 0 would leave an image as it is, and 1 keeps none of it.
    """

    kind: ClassVar[str] = "images"

    backend: str = "diffusers"
    server: str = ""
    model: str = "CompVis/stable-diffusion-v1-4"
    revision: str = ""
    scheduler: str = ""
    steps: int | None = 50
    guidance: float | None = 7.5
    width: int = 512
    height: int = 512
    dtype: str = "auto"
    repeatable: bool = False
    compiled: bool = False
    safety: str = "record"
    negative_prompt: str = ""
    variant: str = ""
    lora: tuple[str, ...] = ()
    quantisation: str = ""
    offload: str = ""
    prompt_sets: tuple[str, ...] = (PromptSet.DETECTION.value,)
    images_per_prompt: int = 5
    seed: int = 0
    initial: str = ""
    strengths: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        require(bool(self.prompt_sets), "prompt_sets", "name at least one")
        for name in self.prompt_sets:
            require(name in list(PromptSet), "prompt_sets", f"'{name}' is none of {', '.join(PromptSet)}")
        require(1 <= self.images_per_prompt <= 1000, "images_per_prompt", "choose 1 to 1000")
        require(self.steps is None or 1 <= self.steps <= 1000, "steps", "choose 1 to 1000")
        require(self.guidance is None or 0 <= self.guidance <= 100, "guidance", "choose 0 to 100")
        for name in ("width", "height"):
            value = getattr(self, name)
            require(8 <= value <= 4096 and value % 8 == 0, name, "choose a multiple of 8 from 8 to 4096")
        check_dtype(self.dtype)
        require(self.safety in ("off", "record", "block"), "safety", "off, record or block")
        check_seed(self.seed)
        require(bool(self.model.strip()), "model", "give a hub id or a local folder")
        self._check_initial()
        self._check_loading()

    def _check_initial(self) -> None:
        """Check what images from images need, and that nothing else has it."""
        from_images = PromptSet.FROM_IMAGES.value in self.prompt_sets
        alone = not from_images or set(self.prompt_sets) == {PromptSet.FROM_IMAGES.value}
        require(alone, "prompt_sets", "images from images are planned alone: name only from_images")
        require(bool(self.initial) or not from_images, "initial", "name the set of the initial images")
        require(
            from_images or not self.initial,
            "prompt_sets",
            "images from initial images have the prompt set from_images: name it, or leave initial empty",
        )
        given = bool(self.strengths)
        require(given or not self.initial, "strengths", "give at least one, for example 0.2, 0.4, 0.6, 0.8")
        require(bool(self.initial) or not given, "strengths", "leave them empty, or name the initial images")
        require(len(self.strengths) <= MOST_STRENGTHS, "strengths", f"give at most {MOST_STRENGTHS}")
        require(all(0 < each <= 1 for each in self.strengths), "strengths", "choose above 0 and at most 1")
        rising = all(first < second for first, second in itertools.pairwise(self.strengths))
        require(rising, "strengths", "give each once, from the lowest to the highest")
        if given and self.steps is not None:
            # A pipeline of n steps runs int(strength * n) of them, and fails with none.
            require(
                int(self.strengths[0] * self.steps) >= 1,
                "strengths",
                f"{self.strengths[0]:g} of {self.steps} steps is less than one step: choose at least "
                f"{math.ceil(100 / self.steps) / 100:g}, or more steps",
            )

    def _check_loading(self) -> None:
        """Check how the model is loaded."""
        for text in self.lora:
            try:
                loras.parse(text)
            except ValueError as error:
                raise RecipeRefused(f"recipe: lora: {error}.") from error
        for name, known in (("quantisation", QUANTISATIONS), ("offload", OFFLOADS)):
            cure = f"leave it empty, or choose one of {', '.join(known)}"
            require(getattr(self, name) in ("", *known), name, cure)
        # The weights would be in few bits and all sums in 32.
        require(
            not self.quantisation or self.dtype != "float32",
            "dtype",
            "a quantised model computes in half precision: choose bfloat16 or float16",
        )
        require(
            self.quantisation != "torchao_int8" or self.dtype != "float16",
            "dtype",
            "torchao computes in bfloat16 only: choose bfloat16",
        )
        require(
            not (self.offload and self.compiled),
            "compiled",
            "a compiled model stays on the GPU: do not compile, or leave offload empty",
        )


@dataclass(frozen=True, kw_only=True)
class CaptionRecipe:
    """`count` captions per image, best first. `options`: the backend's own, which it checks. `dtype` and
    `repeatable`: as in ImageRecipe."""

    kind: ClassVar[str] = "captions"

    backend: str = "visage"
    model: str = ""
    revision: str = ""
    count: int = 50
    dtype: str = "auto"
    repeatable: bool = False
    seed: int = 0
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        require(1 <= self.count <= 1000, "count", "choose 1 to 1000 captions")
        check_dtype(self.dtype)


@dataclass(frozen=True, kw_only=True)
class EmbeddingRecipe:
    """One unit vector per image and text. `model`: an open_clip architecture (ViT-B-32) or
    `local-dir:/folder`; `pretrained`: the tag or file of its weights. Of a backend in HUB_ENCODERS: a hub id
    or folder, and the revision on the hub. `dtype` and `repeatable`: as in ImageRecipe."""

    kind: ClassVar[str] = "embeddings"

    backend: str = "open_clip"
    model: str = "ViT-B-32"
    pretrained: str = "openai"
    dtype: str = "auto"
    repeatable: bool = False

    def __post_init__(self) -> None:
        cure = "give a hub id or a local folder"
        if self.backend not in HUB_ENCODERS:
            cure = "name an architecture or local-dir:/folder"
        require(bool(self.model.strip()), "model", cure)
        check_dtype(self.dtype)


AskingRecipe = CompletionRecipe | DescriptionRecipe | ClassificationRecipe
Recipe = ImageRecipe | CaptionRecipe | EmbeddingRecipe | AskingRecipe
_KINDS: dict[str, type[Recipe]] = {
    recipe.kind: recipe
    for recipe in (
        *(ImageRecipe, CaptionRecipe, EmbeddingRecipe),
        *(CompletionRecipe, DescriptionRecipe, ClassificationRecipe),
    )
}


def as_json(recipe: Recipe) -> dict[str, Any]:
    """The recipe as stored in Run.recipe."""
    fields = {
        name: value
        for name, value in asdict(recipe).items()
        if name not in _WHEN_ABSENT or value != _WHEN_ABSENT[name]
    }
    stored: dict[str, Any] = json.loads(json.dumps({"kind": recipe.kind, "version": VERSION, **fields}))
    return stored


def with_absent(stored: Mapping[str, Any]) -> dict[str, Any]:
    """A stored recipe with the fields that `as_json` left out, for comparing and for display."""
    kind = _KINDS.get(str(stored.get("kind")))
    known = {each.name for each in dataclasses.fields(kind)} if kind is not None else set()
    left_out = known.intersection(_WHEN_ABSENT) - set(stored)
    return {**stored, **{name: _WHEN_ABSENT[name] for name in sorted(left_out)}}


def from_json(stored: Mapping[str, Any]) -> Recipe:
    """Inverse of `as_json`. Raises RecipeRefused for an unknown kind, version or field."""
    kind = stored.get("kind")
    require(kind in _KINDS, "kind", f"'{kind}' is none of {', '.join(_KINDS)}")
    fields = with_absent(stored)
    version = fields.pop("version", None)
    del fields["kind"]
    require(version == VERSION, "version", f"{version} was written by another version of the program")
    for name in ("prompt_sets", "lora", "stop", "labels", "strengths"):
        if name in fields:
            fields[name] = tuple(fields[name])
    try:
        return _KINDS[str(kind)](**fields)
    except TypeError as error:
        raise RecipeRefused(f"recipe: {error}") from error


def at_revision(recipe: Recipe, revision: str) -> Recipe:
    """The recipe with a revision on the hub, unless it names one or its backend takes none."""
    if not isinstance(recipe, EmbeddingRecipe):
        return recipe if recipe.revision else replace(recipe, revision=revision)
    if recipe.pretrained or recipe.backend not in HUB_ENCODERS:
        return recipe
    return replace(recipe, pretrained=revision)


def digest(recipe: Recipe, *, image_set: str, name: str = "") -> str:
    """SHA-256, in hex, of the canonical recipe, the image set that it fills or reads, and the run's name."""
    return digest_of(as_json(recipe), image_set=image_set, name=name)


def digest_of(stored: Mapping[str, Any], *, image_set: str, name: str = "") -> str:
    """`digest` of a recipe as it is stored."""
    named = {"name": name} if name else {}
    canonical = json.dumps(
        {"image_set": image_set, **named, **stored},
        sort_keys=True,
        separators=(",", ":"),
        ensure_ascii=True,
    )
    return hashlib.sha256(canonical.encode()).hexdigest()


def sample_seed(*, seed: int, prompt: str, number: int) -> int:
    """The seed of sample `number` (from 1) of a prompt: 63 bits of a SHA-256."""
    hashed = hashlib.sha256(f"{seed}\x1f{prompt}\x1f{number}".encode()).digest()
    return int.from_bytes(hashed[:8], "big") >> 1


def option_value(text: str) -> Any:
    """The value of an option as people write it: JSON if it can be parsed, else text."""
    try:
        return json.loads(text)
    except ValueError:
        return text
