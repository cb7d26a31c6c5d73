"""The boxes that agreement is computed from (metrics/agreement/data/boxes.py)."""

import pytest
from django.utils import timezone

from annotation.models import Box, Judgement, Response, TaskKind
from metrics.agreement.data.boxes import read_boxes
from tests import factories
from tests.metrics.cast import depiction_study

pytestmark = pytest.mark.django_db


def test_boxes_of_attributes_that_were_selected_in_answers_that_count_are_read():
    study = depiction_study()
    elsewhere = factories.task(factories.study("elsewhere"), kind=TaskKind.DEPICTION)
    picture = study.tasks.get().units.earliest("pk").image
    factories.response(factories.page_unit(elsewhere, picture=picture, texts=("hat",)), values=[1, 0])
    for judgement in Judgement.objects.order_by("-pk"):  # those who answered last drew first
        Box.objects.create(
            judgement=judgement,
            x0=0,
            y0=0.1,
            x1=0.1 + judgement.pk,
            y1=9,
            image_width=9_999_999,
            image_height=9,
        )
    withdrawn = Response.objects.filter(unit__task__study=study).earliest("pk")
    Response.objects.filter(pk=withdrawn.pk).update(withdrawn_at=timezone.now())
    selected = Judgement.objects.filter(
        response__unit__task__study=study, value=1, option__attribute__isnull=False
    ).exclude(response=withdrawn)
    found = read_boxes(study)
    assert sorted(found.corners.tolist()) == sorted([0, 0.1, 0.1 + each.pk, 9] for each in selected)
    about = selected.values_list(
        "response__unit__image", "option__attribute", "response", "response__annotator"
    )
    read = zip(found.images, found.attributes, found.responses, found.raters, strict=True)
    assert list(read) == sorted(about)
