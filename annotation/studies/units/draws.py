"""Drawing the attributes shown with each image: S(id) and R(id), shuffled and split into pages (PROTOCOL §5).
Each group and image has its own generator, so adding a group does not change the draws of the others."""

import random
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from django.db.models import Count, Q, Sum

from annotation.core import scales
from annotation.models import Association, Attribute, Judgement, Pool, Purpose, Source, Study, TaskKind
from annotation.studies.study_file.stimuli import GroupDraw


@dataclass(frozen=True)
class GroupAssociations:
    """The attributes that a source associates with one group: those that are stereotypes by the study's rule,
    and all of them whatever the votes."""

    stereotypes: set[str] = field(default_factory=set)
    associated: set[str] = field(default_factory=set)


def draw(
    *, seed: int, group: str, stereotypical: Iterable[str], visual: Iterable[str], associated: Iterable[str]
) -> GroupDraw:
    """S(id) and R(id) of the group named `group`.

    S(id): the visual attributes among `stereotypical`. R(id): as many of `visual` that are not in
    `associated`, drawn without replacement; fewer if there are not enough.
    """
    candidates = set(visual)
    shown = sorted(candidates & set(stereotypical))
    candidates = candidates - set(associated) - set(shown)
    generator = random.Random(f"{seed}/random/{group}")  # noqa: S311 - a draw to be repeated, not a secret
    return GroupDraw(
        stereotypical=tuple(shown),
        random=tuple(sorted(generator.sample(sorted(candidates), min(len(shown), len(candidates))))),
    )


def split_into_pages(*, seed: int, image: str, drawn: GroupDraw, page_size: int) -> list[tuple[str, ...]]:
    """The attributes of each page of the image named `image`: the union of S(id) and R(id), shuffled, with
    `page_size` - 1 per page, because every page also has none of the above."""
    union = sorted({*drawn.stereotypical, *drawn.random})
    random.Random(f"{seed}/pages/{image}").shuffle(union)  # noqa: S311 - as above
    size = page_size - 1
    return [tuple(union[start : start + size]) for start in range(0, len(union), size)]


def associations_by_group(*, source: Source, pool: str, threshold: int) -> dict[int, GroupAssociations]:
    """Group id -> its associations in `source`; stereotypes by the vote threshold (PROTOCOL §3)."""
    votes = "in_stereotypical" if pool == Pool.IN_REGION else "out_stereotypical"
    found: defaultdict[int, GroupAssociations] = defaultdict(GroupAssociations)
    rows = Association.objects.filter(source=source).values_list("group", "attribute__text", votes)
    for group, text, count in rows.iterator(chunk_size=10_000):
        found[group].associated.add(text)
        if count is not None and count >= threshold:
            found[group].stereotypes.add(text)
    return dict(found)


def visual_attributes(*, study: Study) -> set[str]:
    """The attributes that are visual by the rule of `study` (PROTOCOL §2): their mean score is at least
    `visual_mean`; or at least `visual_rule` annotators agreed; or, if both are null, all raters agreed.

    Withdrawn, superseded and surplus answers do not count. An attribute rated in two units is visual only if
    it is visual in both, as in the scores."""
    sums = (
        Judgement.objects.filter(
            response__unit__task__study=study,
            response__unit__task__kind=TaskKind.VISUAL_NATURE,
            response__unit__purpose=Purpose.DATA,
            response__current=True,
            response__withdrawn_at__isnull=True,
            response__slot__isnull=False,
        )
        .order_by()
        .values_list("response__unit", "option__attribute__text")
        .annotate(
            rated=Count("pk"), agreed=Count("pk", filter=Q(value__in=scales.VISUAL)), total=Sum("value")
        )
    )
    failed: set[str] = set()
    found: set[str] = set()
    for _, text, rated, agreed, total in sums:
        if study.visual_mean is not None:
            # divided here, not in the database, to get exactly the number that the scores use
            visual = total / rated >= study.visual_mean
        else:
            visual = agreed >= (rated if study.visual_rule is None else study.visual_rule)
        (found if visual else failed).add(text)
    return found - failed


def source_attributes(*, source: Source) -> set[str]:
    """Every attribute that `source` associates with any group."""
    return set(
        Attribute.objects.filter(associations__source=source).order_by().values_list("text", flat=True)
    )
