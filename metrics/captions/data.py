"""Attributes in the captions of a study's images, as arrays (PROTOCOL §8)."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from django.db.models import Q, QuerySet

from annotation.models import Association, Attribute, Image, Study, TaskKind, Unit
from generation.models import Caption, Run, RunKind, RunState
from metrics.captions.stats.term_finder import term_finder
from metrics.core.answers import counted_responses
from metrics.core.fingerprints import fingerprint
from metrics.core.stats.checks import Ints
from metrics.core.tables import parse_id

NEWEST = "newest"
_AT_ONCE = 2000


@dataclass(frozen=True)
class CaptionFrame:
    """Which attributes occur in the captions of the images of one identity group.

    `matches` (I, A): how often each attribute occurs in the captions of each image. `containing` (I, A): how
    many captions it occurs in. `captions` (I,): number of captions. There is a column for each attribute that
    occurs at least once, by its text. Rows are in the order of the images' numbers, so that a seeded draw is
    the same in every database; `images` are their ids.
    """

    group_id: int
    group: str
    attribute_ids: tuple[int, ...]
    attributes: tuple[str, ...]
    matches: Ints
    containing: Ints
    captions: Ints
    images: Ints


def shown_images(study: Study) -> QuerySet[Image]:
    """The images that the study's depiction tasks show."""
    units = Unit.objects.filter(task__study=study, task__kind=TaskKind.DEPICTION, image__isnull=False)
    return Image.objects.filter(pk__in=units.values("image_id"))


def caption_runs(study: Study, run: str = NEWEST) -> list[Run]:
    """The captioning runs to read: number `run`, or the newest finished one of each image set that the study
    shows; an empty list without captions.

    Raises ValueError if `run` is not a finished captioning run of the study's images; the message lists
    those that are.
    """
    finished = Run.objects.filter(
        kind=RunKind.CAPTIONS,
        state=RunState.DONE,
        image_set__in=shown_images(study).values("image_set_id"),
    )
    runs = list(finished.select_related("image_set").order_by("-finished_at", "-pk"))
    if run == NEWEST:
        newest: dict[int | None, Run] = {}
        for one in runs:
            newest.setdefault(one.image_set_id, one)
        return list(newest.values())
    chosen = [one for one in runs if str(one.pk) == run]
    if not chosen:
        known = ", ".join(str(one.pk) for one in runs)
        cure = f"There are: {known}, or '{NEWEST}'." if known else f"Make one: manage.py caption {study.name}"
        raise ValueError(f"'{run}' is no finished captioning run of the images of '{study.name}'. {cure}")
    return chosen


def selected_captions(study: Study, parameters: Mapping[str, str]) -> QuerySet[Caption]:
    """The captions that a metric with these parameters (`run`, `top`) reads. Raises ValueError."""
    top = parse_id(parameters["top"])
    if not top:
        raise ValueError(f"top is '{parameters['top']}': how many captions of an image are read, from 1.")
    return Caption.objects.filter(
        run__in=caption_runs(study, parameters["run"]), rank__lte=top, image__in=shown_images(study)
    )


def vocabulary(study: Study) -> QuerySet[Attribute]:
    """The attributes to search for: those the study asks about and those of its stereotype source."""
    units = Unit.objects.filter(task__study=study, options__attribute__isnull=False)
    associations = Association.objects.filter(source=study.stereotype_source_id)
    return Attribute.objects.filter(
        Q(pk__in=units.values("options__attribute_id")) | Q(pk__in=associations.values("attribute_id"))
    )


def read_captions(
    study: Study, parameters: Mapping[str, str], attributes: Mapping[int, str]
) -> list[CaptionFrame]:
    """One frame for each identity group that has captions, sorted by name.

    `attributes`: {id: text} to search for. Captions are streamed; only counts are kept, which grow with the
    images and the attributes found, not with the captions. Raises ValueError.
    """
    numbers = sorted(attributes, key=lambda pk: (attributes[pk], pk))
    terms = term_finder([attributes[pk] for pk in numbers])
    read: Counter[int] = Counter()
    # {image: how often each attribute occurs in its captions}, and in how many of them
    matches: dict[int, Counter[int]] = {}
    containing: dict[int, Counter[int]] = {}
    rows = selected_captions(study, parameters).order_by().values_list("image_id", "text")
    for image, text in rows.iterator(chunk_size=_AT_ONCE):
        read[image] += 1
        if found := terms.find(text):
            matches.setdefault(image, Counter()).update(found)
            containing.setdefault(image, Counter()).update(set(found))
    images = shown_images(study).values_list("group__name", "group_id", "image_set__name", "index", "pk")
    groups: dict[tuple[int, str], list[int]] = {}
    # sorted here, because databases sort letters in different orders
    for name, group, _, _, image in sorted(images.order_by()):
        if image in read:
            groups.setdefault((group, name), []).append(image)
    frames = []
    for (group, name), of_group in groups.items():
        occurring = sorted({number for image in of_group for number in matches.get(image, ())})
        ids = tuple(numbers[number] for number in occurring)
        frames.append(
            CaptionFrame(
                group_id=group,
                group=name,
                attribute_ids=ids,
                attributes=tuple(attributes[pk] for pk in ids),
                matches=_table(matches, of_group, occurring),
                containing=_table(containing, of_group, occurring),
                captions=np.array([read[image] for image in of_group], dtype=np.int64),
                images=np.array(of_group, dtype=np.int64),
            )
        )
    return frames


def _table(counts: Mapping[int, Counter[int]], images: list[int], columns: list[int]) -> Ints:
    none: Counter[int] = Counter()
    rows = [[counts.get(image, none)[column] for column in columns] for image in images]
    return np.array(rows, dtype=np.int64).reshape(len(images), len(columns))


def describe_captions(study: Study, parameters: Mapping[str, str]) -> str:
    """Which captions are read, as stored with every score that depends on them."""
    runs = caption_runs(study, parameters["run"])
    if not runs:
        return "no captions: nothing was captioned yet"
    named = " and ".join(
        f"run {run.pk} ({run.backend}, {run.about})" for run in sorted(runs, key=lambda run: run.pk)
    )
    return f"captions: the best {parameters['top']} of each image by {named}"


def inputs_fingerprint(study: Study, parameters: Mapping[str, str]) -> list[object]:
    """Changes with the captions read, the attributes searched for, and the ratings of visual nature."""
    return [
        fingerprint(selected_captions(study, parameters)),
        fingerprint(vocabulary(study)),
        fingerprint(counted_responses(study, TaskKind.VISUAL_NATURE)),
    ]
