"""The images and identity groups of a study, found without reading its units."""

from __future__ import annotations

from django.db.models import Exists, OuterRef, QuerySet

from annotation.models import IdentityGroup, Image, Study, TaskKind, Unit


def judged_images(study: Study) -> QuerySet[Image]:
    """The images with a unit in the study; each is looked up in the index of task and image."""
    tasks = [task.pk for task in study.tasks.all() if task.kind == TaskKind.DEPICTION]
    units = Unit.objects.filter(task__in=tasks, image=OuterRef("pk")).order_by()
    return Image.objects.filter(Exists(units)).select_related("group")


def judged_groups(study: Study) -> QuerySet[IdentityGroup]:
    """The groups with such an image, by name. The query stops at the first such image of each group."""
    images = judged_images(study).filter(group=OuterRef("pk")).order_by().select_related(None)
    return IdentityGroup.objects.filter(Exists(images)).order_by("name", "pk")
