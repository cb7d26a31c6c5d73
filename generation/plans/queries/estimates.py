"""Estimate the time, disk space, tokens and cost of a plan: from similar earlier jobs, else from labelled
assumptions."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from django.contrib.humanize.templatetags.humanize import intcomma
from django.db.models import Avg
from django.utils.translation import gettext as _

from annotation.core.leases import JobState
from annotation.models import Image
from generation.models import ASKINGS, Answer, Embedding, Job, Provenance, Run
from generation.recipes.askings import ClassificationRecipe, CompletionRecipe, DescriptionRecipe
from generation.recipes.limits import Limits
from generation.recipes.recipes import (
    FAKE,
    CaptionRecipe,
    EmbeddingRecipe,
    ImageRecipe,
    Recipe,
    as_json,
)

_SERVERS = ("openai",)
"""The backends that ask a server."""
_SAMPLED_JOBS = 300
_SAMPLED_FILES = 20
_TEXT = ("backend", "server", "model", "chat", "max_tokens", "dtype", "repeatable")
_SIMILAR = {
    "images": (
        *("backend", "model", "steps", "width", "height"),
        *("dtype", "repeatable", "compiled", "quantisation", "offload", "strengths"),
    ),
    "captions": ("backend", "model", "count", "dtype", "repeatable"),
    "embeddings": ("backend", "model", "dtype", "repeatable"),
    "completions": _TEXT,
    "descriptions": _TEXT,
    "classifications": ("backend", "model", "dtype", "repeatable"),
}
"""The recipe fields that determine how long a job takes."""

# Assumptions until similar jobs were done here. Images: Stable Diffusion 1.x in half precision on a GPU that
# is a few years old; 512x512 pixels in 50 steps.
_SECONDS = {
    "images": 4.0,
    "captions": 1.0,
    "embeddings": 0.05,
    "completions": 2.0,
    "descriptions": 3.0,
    "classifications": 0.02,
}
_WITHOUT_MODEL = {"brightness": 0.05}
"""Seconds of backends that are no model, on a processor."""
_REFERENCE_STEPS, _REFERENCE_PIXELS = 50, 512 * 512
_FULL_PRECISION = 2.0  # diffusers' documentation measures 1.5 on an A100, 2.6 on a Titan RTX
_OVERHEAD_SECONDS = 0.004  # a worker's time per job without the model (benchmarks/jobs.py)
_PNG_BYTES_PER_PIXEL = 1.7  # a photograph; drawings take a tenth
_ROW_BYTES = 120
_DIM = 768
_CHARACTERS_A_TOKEN = 4.0  # English; other scripts take more tokens
_IMAGE_TOKENS = 1000
_IN_FLIGHT = 64  # as backends/openai_server.py asks at once


@dataclass(frozen=True)
class Estimate:
    """`seconds`: model time on one worker; `bytes`: files and rows. `measured`: based on jobs of this
    installation; `basis` says what the estimate is based on. For askings: `tokens_in` and `tokens_out`
    expected, `most_tokens_out` if every answer is as long as it may be, and what both cost at the prices."""

    seconds: float
    bytes: int
    measured: bool
    basis: str
    tokens_in: int | None = None
    tokens_out: int | None = None
    most_tokens_out: int | None = None
    cost: float | None = None
    most_cost: float | None = None


_NO_LIMITS = Limits()


def estimate(
    recipe: Recipe, *, jobs: int, limits: Limits = _NO_LIMITS, examples: Sequence[str] = ()
) -> Estimate:
    """The estimate for `jobs` jobs of `recipe`. `examples`: of what is asked."""
    similar = _similar_runs(recipe)
    if isinstance(recipe, CompletionRecipe | DescriptionRecipe):
        return _with_tokens(_estimate(recipe, jobs, similar, limits), recipe, jobs, similar, limits, examples)
    return _estimate(recipe, jobs, similar, limits)


def _with_tokens(
    found: Estimate,
    recipe: CompletionRecipe | DescriptionRecipe,
    jobs: int,
    similar: list[int],
    limits: Limits,
    examples: Sequence[str],
) -> Estimate:
    latest = Answer.objects.filter(run__in=similar).order_by("-job").values("tokens_in", "tokens_out")
    means = Answer.objects.filter(pk__in=latest.values("pk")[:_SAMPLED_JOBS]).aggregate(
        tokens_out=Avg("tokens_out")
    )
    characters = sum(map(len, examples)) / max(1, len(examples)) + len(recipe.system)
    each_in = characters / _CHARACTERS_A_TOKEN
    if isinstance(recipe, DescriptionRecipe):
        each_in += _IMAGE_TOKENS
    each_out = means["tokens_out"] or float(recipe.max_tokens)
    most = recipe.max_tokens * jobs
    return replace(
        found,
        tokens_in=round(each_in * jobs),
        tokens_out=round(each_out * jobs),
        most_tokens_out=most,
        cost=limits.price(each_in * jobs, each_out * jobs),
        most_cost=limits.price(each_in * jobs, most),
    )


def _estimate(recipe: Recipe, jobs: int, similar: list[int], limits: Limits) -> Estimate:
    each, sampled = _measured_seconds(recipe, similar)
    size = _measured_bytes(recipe, similar) or _assumed_bytes(recipe)
    if each is not None:
        device = (
            Provenance.objects.filter(run__in=similar)
            .exclude(device="")
            .order_by("-pk")
            .values_list("device")
        ).first()
        words = {"seconds": f"{each:.2g}", "number": intcomma(sampled), "device": device and device[0]}
        basis = (
            _(
                "measured: the model took %(seconds)s s for each of the last "
                "%(number)s like these on %(device)s"
            )
            if device
            else _("measured: the model took %(seconds)s s for each of the last %(number)s like these")
        ) % words
    else:
        each = _assumed_seconds(recipe)
        basis = (
            _("assumed: %(seconds)s s each; nothing like it was made here yet")
            if recipe.backend in (FAKE, *_SERVERS, *_WITHOUT_MODEL)
            else _("assumed: %(seconds)s s each on one graphics card; nothing like it was made here yet")
        ) % {"seconds": f"{each:.2g}"}
    if recipe.backend in _SERVERS:
        each /= limits.in_flight or _IN_FLIGHT
    return Estimate(
        seconds=max(each, _OVERHEAD_SECONDS) * jobs,
        bytes=round(size * jobs),
        measured=sampled > 0,
        basis=basis,
    )


def cost_of_precision(recipe: Recipe) -> tuple[str, ...]:
    """Notes for the preview: what float32 costs, if the recipe asks for it."""
    if recipe.dtype != "float32" or recipe.backend in (FAKE, *_SERVERS):
        return ()
    return (
        _(
            "On a graphics card, float32 takes about twice the memory of half precision and about twice the "
            "time, or more. Choose “auto” unless you need it."
        ),
    )


def _similar_runs(recipe: Recipe) -> list[int]:
    """Ids of runs whose jobs take equally long."""
    stored = as_json(recipe)
    runs = Run.objects.filter(kind=recipe.kind)
    for name in _SIMILAR[recipe.kind]:
        value = {f"recipe__{name}": stored[name]} if name in stored else {f"recipe__{name}__isnull": True}
        runs = runs.filter(**value)
    return list(runs.values_list("pk", flat=True))


def _measured_seconds(recipe: Recipe, runs: list[int]) -> tuple[float | None, int]:
    done = Job.objects.filter(run__in=runs, state=JobState.DONE)
    column = "answer__seconds" if recipe.kind in ASKINGS else "seconds"
    latest = (
        done.filter(**{f"{column}__gt": 0}).order_by("-pk").values_list(column, flat=True)[:_SAMPLED_JOBS]
    )
    seconds = [each for each in latest if each]
    return (sum(seconds) / len(seconds), len(seconds)) if seconds else (None, 0)


def _measured_bytes(recipe: Recipe, runs: list[int]) -> float | None:
    if isinstance(recipe, EmbeddingRecipe):
        dim = Embedding.objects.filter(run__in=runs).aggregate(dim=Avg("dim"))["dim"]
        return None if dim is None else 4 * dim + _ROW_BYTES
    if recipe.kind != "images":
        return None
    sizes = []
    made = Image.objects.filter(provenance__run__in=runs).exclude(file="").order_by("-pk")
    for image in made[:_SAMPLED_FILES]:
        try:
            sizes.append(image.file.size)
        except OSError:  # skip missing files
            continue
    return sum(sizes) / len(sizes) if sizes else None


def _assumed_seconds(recipe: Recipe) -> float:
    if recipe.backend == FAKE:
        return _OVERHEAD_SECONDS
    if recipe.backend in _WITHOUT_MODEL:
        return _WITHOUT_MODEL[recipe.backend]
    seconds = _SECONDS[recipe.kind] * (_FULL_PRECISION if recipe.dtype == "float32" else 1)
    if isinstance(recipe, ImageRecipe):
        steps = (recipe.steps or _REFERENCE_STEPS) / _REFERENCE_STEPS
        if recipe.strengths:
            steps *= sum(recipe.strengths) / len(recipe.strengths)
        return seconds * steps * recipe.width * recipe.height / _REFERENCE_PIXELS
    return seconds


def _assumed_bytes(recipe: Recipe) -> float:
    if isinstance(recipe, ImageRecipe):
        per_pixel = _PNG_BYTES_PER_PIXEL / (10 if recipe.backend == FAKE else 1)
        return recipe.width * recipe.height * per_pixel + 2 * _ROW_BYTES
    if isinstance(recipe, CaptionRecipe):
        return float(recipe.count * _ROW_BYTES)
    if isinstance(recipe, CompletionRecipe | DescriptionRecipe):
        return 3 * _ROW_BYTES + recipe.max_tokens * _CHARACTERS_A_TOKEN
    if isinstance(recipe, ClassificationRecipe):
        return 4.0 * _ROW_BYTES
    return float(4 * _DIM + _ROW_BYTES)
