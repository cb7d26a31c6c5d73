"""Runs that write texts about the images of a set, and these texts, counted (PROTOCOL §12)."""

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.core.cache import cache
from django.db.models import Count, Q, QuerySet

from annotation.models import IdentityGroup, Image, ImageSet
from generation.models import Answer, Caption, Run, RunKind, RunState
from metrics.core.purposes import ASSOCIATIONS, BRIGHTNESS, MACHINE_JUDGE, VISUAL_QUESTIONS
from metrics.marking.stats import Counts, in_order_of_images
from metrics.marking.words import WordList

KINDS = (RunKind.CAPTIONS, RunKind.DESCRIPTIONS)
_CACHE_SECONDS = 24 * 3600


@dataclass(frozen=True)
class Choice:
    """What is looked for, and in which captions: those of rank 1, or all. Answers are all looked at."""

    listed: WordList
    all_ranks: bool = False

    def digest(self) -> str:
        parts = [dict(self.listed.words), self.listed.nouns, self.listed.alone, self.all_ranks]
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def sets_with_texts() -> QuerySet[ImageSet]:
    """Image sets by title, with `texts`: how many runs wrote captions or descriptions of their images."""
    written = Q(runs__kind__in=KINDS) & ~Q(runs__pk__in=_runs_without_texts())
    return ImageSet.objects.annotate(texts=Count("runs", filter=written)).order_by("title", "pk")


def groups_of_set(image_set: ImageSet) -> list[IdentityGroup]:
    """The groups of its images, by name."""
    ids = Image.objects.filter(image_set=image_set).order_by().values("group")
    return list(IdentityGroup.objects.filter(pk__in=ids).order_by("name", "axis"))


def runs_of_set(image_set: ImageSet) -> list[Run]:
    """The runs that caption or describe its images, oldest first; without those that ask questions, judge
    items, interpret images or measure brightness, whose answers are no descriptions."""
    runs = Run.objects.filter(image_set=image_set, kind__in=KINDS).exclude(pk__in=_runs_without_texts())
    return list(runs.order_by("pk"))


def _runs_without_texts() -> QuerySet[Any]:
    # A key that is not there makes a condition null, so that exclude() by it would lose the other runs.
    design = "recipe__design"
    never = Q(**{f"{design}__purpose__in": (VISUAL_QUESTIONS, BRIGHTNESS, MACHINE_JUDGE)})
    # Of associations, only runs that describe images (T2I) have an instruction; the others interpret them.
    interpreted = Q(**{f"{design}__purpose": ASSOCIATIONS, f"{design}__instruction__isnull": True})
    return Run.objects.filter(never | interpreted).values("pk")


def top_p_of(run: Run) -> float | None:
    """The top-p with which its texts were sampled; None where they were not, or where nothing says it."""
    recipe: Mapping[str, Any] = run.recipe
    if run.kind == RunKind.DESCRIPTIONS:
        return float(recipe["top_p"]) if recipe.get("temperature") and "top_p" in recipe else None
    options = recipe.get("options", {})
    value = options.get("top_p")
    if options.get("method", "top_p") != "top_p" or isinstance(value, bool):
        return None
    return float(value) if isinstance(value, int | float) else None


def counted_texts(run: Run, choice: Choice) -> dict[int, Counts]:
    """Group -> its images' texts. One query; cached once the run is done."""
    stamp = run.finished_at.timestamp() if run.finished_at else 0
    key = f"marking-1:{run.pk}:{stamp}:{choice.digest()}"
    found: dict[int, Counts] | None = cache.get(key) if run.state == RunState.DONE else None
    if found is None:
        found = _count(_texts(run, all_ranks=choice.all_ranks), choice.listed)
        if run.state == RunState.DONE:
            cache.set(key, found, _CACHE_SECONDS)
    return found


def _texts(run: Run, *, all_ranks: bool) -> Iterator[tuple[int, str, int, str]]:
    """(group, its name, image, text)."""
    if run.kind == RunKind.CAPTIONS:
        captions = Caption.objects.filter(run=run).order_by()
        captions = captions if all_ranks else captions.filter(rank=1)
        of_captions = ("image__group", "image__group__name", "image", "text")
        return captions.values_list(*of_captions).iterator()
    answers = Answer.objects.filter(run=run, job__image__isnull=False).order_by()
    of_answers = ("job__image__group", "job__image__group__name", "job__image", "text")
    return answers.values_list(*of_answers).iterator()


def _count(texts: Iterator[tuple[int, str, int, str]], listed: WordList) -> dict[int, Counts]:
    patterns = {group: listed.pattern(group) for group in listed.words}
    found: dict[int, dict[int, tuple[int, int]]] = defaultdict(dict)
    for group, name, image, text in texts:
        marked, number = found[group].get(image, (0, 0))
        pattern = patterns.get(name)
        is_marked = pattern is not None and pattern.search(text) is not None
        found[group][image] = (marked + is_marked, number + 1)
    return {group: in_order_of_images(images) for group, images in found.items()}


def series_key(run: Run) -> str:
    """The same for runs that differ in nothing but top-p."""
    recipe = {name: value for name, value in run.recipe.items() if name not in ("top_p", "options")}
    options = {name: value for name, value in run.recipe.get("options", {}).items() if name != "top_p"}
    return json.dumps([recipe, options], sort_keys=True)
