"""What the answers about a task's items cluster by: what an item is about (PROTOCOL §10, §16)."""

from annotation.models import TaskKind
from metrics.core.stats.checks import Ints
from metrics.machine_judges.data import Judge


def clusters(judge: Judge) -> Ints:
    """What each option is about (O,): its image, its attribute, or its association, which is a unit."""
    if judge.task.kind == TaskKind.DEPICTION:
        return judge.items.images
    return judge.items.attributes if judge.task.kind == TaskKind.VISUAL_NATURE else judge.items.units
