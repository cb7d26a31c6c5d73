"""People's answers beside a judge's, about the same images."""

from __future__ import annotations

import pytest

from annotation.models import Judgement, TaskKind
from metrics.machine_judges.data import read_judge
from metrics.machine_judges.people import both_frames, read_people
from tests.metrics import cast
from tests.metrics.machine_judges.judged import judge

pytestmark = pytest.mark.django_db


def test_a_judge_that_answers_as_one_annotator_has_their_likelihoods():
    study = cast.depiction_study()
    first = Judgement.objects.order_by("response__annotator").first().response.annotator
    said = dict(Judgement.objects.filter(response__annotator=first).values_list("option", "value"))
    found = read_judge(judge(study, TaskKind.DEPICTION, lambda option, *_: said[option.pk]), study)
    people = read_people(study, found.task, found.items)
    assert len(people.options) == Judgement.objects.count()
    for both in both_frames(found):
        own = both.people.only(both.people.annotators == first.pk)
        assert [each.tolist() for each in both.judge.sums()] == [each.tolist() for each in own.sums()]
        assert set(both.judge.images.tolist()) == set(both.people.images.tolist())


def test_only_images_that_both_answered_are_shared():
    study = cast.depiction_study()
    found = read_judge(
        judge(study, TaskKind.DEPICTION, lambda option, *_: int(option.attribute_id is None)), study
    )
    first = next(iter(both_frames(found)))
    lost = first.people.images[0]
    one = type(first)(first.people, first.judge.only(first.judge.images != lost))
    assert lost not in one.shared().people.images
    assert len(set(one.shared().people.images.tolist())) == 1
