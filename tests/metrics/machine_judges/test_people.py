"""People's answers beside a judge's, about the same images."""

from __future__ import annotations

import numpy as np
import pytest

from annotation.models import Annotator, Image, Judgement, Purpose, Response, TaskKind, Unit
from metrics.depiction.data import read_depiction
from metrics.machine_judges import data
from metrics.machine_judges.data import read_items, read_judge
from metrics.machine_judges.people import both_frames, read_people
from metrics.machine_judges.readings import verdicts
from metrics.machine_judges.scores import alternative
from metrics.score_runs.metric import NothingToCompute
from tests import factories
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


def test_people_are_told_apart_by_option_and_answer_though_nobody_knows_some():
    study = cast.depiction_study()
    found = read_judge(judge(study, TaskKind.DEPICTION, lambda *_: 0), study)
    unknown = Response.objects.latest("pk")
    Response.objects.filter(pk=unknown.pk).update(annotator=None)
    before = read_people(study, found.task, found.items)
    assert {*before.annotators[before.responses == unknown.pk].tolist()} == {-unknown.pk}
    places = list(zip(before.options.tolist(), before.responses.tolist(), strict=True))
    assert places == sorted(places)
    first = found.task.units.order_by("pk").first()
    Unit.objects.filter(pk=first.pk).update(purpose=Purpose.GOLD)
    of_gold = Judgement.objects.filter(response__unit=first).count()
    assert len(read_people(study, found.task, read_items(found.task)).options) == len(places) - of_gold


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


def another_version(study):
    """The second version of the task, with the attributes and people of the first; people see everything."""
    old = study.tasks.get()
    new = factories.task(study, kind=TaskKind.DEPICTION, version=2)
    people = Annotator.objects.order_by("pk")
    pictures = Image.objects.filter(units__task=old).order_by("pk")
    units = factories.page_units(new, [(picture, cast.TEXTS) for picture in pictures])
    assert [unit.position for unit in units] == [1, 2, 3, 4]
    factories.responses((unit, [1, 1, 1, 1, 0], who) for unit in units for who in people)
    return new


def test_people_who_answered_another_version_of_the_task_are_not_compared():
    study = cast.depiction_study()
    run = judge(study, TaskKind.DEPICTION, lambda option, *_: int(option.attribute_id is None))
    before = [both.people.sums() for both in both_frames(read_judge(run, study))]
    new = another_version(study)
    after = [both.people.sums() for both in both_frames(read_judge(run, study))]
    assert [[each.tolist() for each in sums] for sums in after] == [
        [each.tolist() for each in sums] for sums in before
    ]
    for by_response in (True, False):
        k, n = next(read_depiction(study, by_response=by_response, task=new)).sums()
        assert k[:-1].tolist() == n[:-1].tolist() == [6] * 4
        assert next(read_depiction(study, by_response=by_response)).sums()[1].tolist() == [12] * 5


def test_a_group_that_was_shown_in_another_version_only_has_no_frame():
    study = cast.depiction_study()
    new = another_version(study)
    Response.objects.filter(unit__task=new, unit__image__group__name="Nepali").delete()
    for by_response in (True, False):
        found = read_depiction(study, by_response=by_response, task=new)
        assert [frame.group for frame in found] == ["Mexican"]


def test_the_alternative_annotator_test_counts_one_version_of_the_task_before_it_begins():
    study = cast.depiction_study()
    judge(study, TaskKind.DEPICTION, lambda option, *_: int(option.attribute_id is None), name="j")
    another_version(study)
    for epsilon in ("0", "0.1", "1"):
        alternative.check_inputs(study, {"judge": "j", "epsilon": epsilon, "least": "16"})
    with pytest.raises(NothingToCompute, match="least"):
        alternative.check_inputs(study, {"judge": "j", "epsilon": "0.1", "least": "17"})
    Response.objects.filter(annotator=Annotator.objects.first()).update(annotator=None)
    with pytest.raises(NothingToCompute, match="least"):
        alternative.check_inputs(study, {"judge": "j", "epsilon": "0.1", "least": "16"})


def test_the_verdicts_of_a_judge_are_found_once(monkeypatch):
    study = cast.depiction_study()
    run = judge(study, TaskKind.DEPICTION, lambda option, *_: int(option.attribute_id is None), again=2)
    asked = []

    def counted(readings, variant):
        asked.append(variant)
        return verdicts(readings, variant)

    monkeypatch.setattr(data, "verdicts", counted)
    found = read_judge(run, study)
    assert len(list(both_frames(found))) == 2
    assert len(found.verdicts("order").options) == 2 * 5
    assert len(found.verdicts().options) == 4 * 5
    assert asked == ["base", "order"]


def test_a_page_of_the_judge_is_repeated_for_each_person_who_answered_it():
    study = cast.depiction_study()
    run = judge(study, TaskKind.DEPICTION, lambda option, *_: int(option.attribute_id is None))
    first = next(iter(both_frames(read_judge(run, study))))
    first = type(first)(first.people.only(np.array([0, 1, 2, 3])), first.judge)  # three answers, then one
    shared = first.shared()
    assert sorted(shared.judge.images.tolist()) == sorted(shared.people.images.tolist())
