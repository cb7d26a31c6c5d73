"""Answers of too few people in a pool, over all, and below an image."""

from __future__ import annotations

import pytest

from annotation.models import IdentityGroup, ImageSet, Response, TaskKind
from metrics.report import services
from metrics.report.figures import WANTED
from metrics.report.queries.asked import asked_tasks
from metrics.report.queries.few import Few, read_few
from metrics.report.queries.people import Answers
from metrics.report.queries.pictures import Selected, picture_sets
from metrics.report.queries.pools import read_few_pools
from metrics.report.queries.runs import stored_runs
from tests import factories
from tests.metrics import cast, votes_cast
from tests.metrics.report import world

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _without_figures(monkeypatch):
    monkeypatch.setattr("metrics.report.figures.WANTED", ())


def test_a_pool_of_two_people_is_left_out_with_the_totals_that_hold_it(tmp_path):
    said = {
        ("Mexican", "hat"): {"inside": [1, 1, 0], "outside": [1, 0]},
        ("Cuban", "hat"): {"inside": [1, 1, 0], "outside": [1, 0, 0]},
    }
    study = votes_cast.prevalence_study(said, name="pools")
    world.compute(study, "prevalence")
    [run] = stored_runs(study).shown
    parts = {part.partition(", t=")[0] for part in run.scores().values_list("part", flat=True)}
    assert parts == {
        *("pool: in-region", "region: Latin America; pool: in-region", "pool: out-region", "pool: both")
    }
    of_others = run.scores().exclude(part__contains="in-region")
    assert set(of_others.values_list("group__name", flat=True)) == {"Cuban"}
    services.write(study=study, path=tmp_path / "report")
    page = (tmp_path / "report" / "en" / "index.html").read_text()
    assert "in-region annotators" in page
    assert "out-region" not in page
    assert "by subtraction" in page


def test_two_people_of_a_pool_are_few_however_many_associations_they_judged():
    said = {("Mexican", text): {"inside": [1, 1, 0]} for text in ("hat", "poor")}
    study = votes_cast.prevalence_study(said, name="pools")
    answers = Response.objects.order_by("pk")
    first, second = (answers.filter(unit__association__attribute__text=text) for text in ("hat", "poor"))
    for earlier, later in zip(first, second, strict=True):
        Response.objects.filter(pk=later.pk).update(annotator=earlier.annotator)
    assert read_few_pools(study) == {"in-region": Few()}
    Response.objects.filter(annotator=first[2].annotator).update(annotator=first[1].annotator)
    assert read_few_pools(study)["in-region"].groups == {IdentityGroup.objects.get(name="Mexican").pk}


def test_agreement_over_all_does_not_hold_a_group_that_is_left_out(tmp_path):
    study = cast.depiction_study(name="few")
    world.compute(study, "agreement", "likelihood")
    agreement = next(one for one in stored_runs(study).shown if one.slug == "agreement")
    assert agreement.scores().filter(part__startswith="task: depiction").exists()
    people = sorted(set(Response.objects.values_list("annotator", flat=True)))
    of_mexican = Response.objects.filter(unit__image__group__name="Mexican")
    of_mexican.filter(annotator=people[2]).update(annotator=people[1])
    world.compute(study, "agreement", "likelihood")
    agreement = next(one for one in stored_runs(study).shown if one.slug == "agreement")
    assert set(agreement.scores().values_list("group__name", "attribute")) == {("Nepali", None)}
    services.write(study=study, path=tmp_path / "report")
    page = (tmp_path / "report" / "en" / "index.html").read_text()
    assert "Agreement between annotators" not in page
    assert "by subtraction" in page


@pytest.mark.usefixtures("english_alone")
def test_a_figure_that_would_show_a_group_of_two_people_is_left_out(folder, monkeypatch):
    only = tuple(wanted for wanted in WANTED if wanted.name == "map-stereotypes")
    monkeypatch.setattr("metrics.report.figures.WANTED", only)
    study = cast.depiction_study(name="few")
    people = sorted(set(Response.objects.values_list("annotator", flat=True)))
    of_mexican = Response.objects.filter(unit__image__group__name="Mexican")
    of_mexican.filter(annotator=people[2]).update(annotator=people[1])
    world.compute(study, "likelihood")
    services.write(study=study, path=folder)
    assert not (folder / "figures").exists()
    assert "answers of fewer than three people" in (folder / "en" / "index.html").read_text()


def test_answers_below_an_image_are_of_people_and_two_are_too_few(settings, tmp_path):
    settings.MEDIA_ROOT = tmp_path / "media"
    study = factories.study(name="twice")
    task = factories.task(study, kind=TaskKind.DEPICTION, strata=("any",) * 3)
    ImageSet.objects.filter(pk=factories.image_set().pk).update(licence="CC0")
    picture = factories.image(reference="", file="images/one.png", sha256="0" * 64)
    units = [factories.page_unit(task, picture=picture, page=page, texts=("hat",)) for page in (1, 2)]
    people = [factories.annotator() for _ in range(3)]
    for unit in units:
        for who in people[:2]:
            factories.response(unit, values=[1, 0], who=who)
    assert [one.selected for found in picture_sets(study) for one in found.pictures] == [()]
    factories.response(units[0], values=[0, 1], who=people[2])
    [found] = picture_sets(study)
    assert found.pictures[0].selected == (Selected("hat", 2, 3),)


def test_an_attribute_rated_alone_by_one_person_is_hidden_in_the_groups_of_the_source():
    study = factories.study("ratings", stereotype_source=factories.source("votes"))
    task = factories.task(study, kind=TaskKind.OFFENSIVENESS)
    pair = factories.association(
        group_name="Peruvian", text="lonely", out_votes=(2, 0, 0), from_source=study.stereotype_source
    )
    factories.response(factories.attribute_unit(task, "lonely"), values=[4])
    few = read_few(study)[TaskKind.OFFENSIVENESS]
    assert few.groups == {pair.group_id}
    assert few.attributes[None] == {pair.attribute_id}


def test_somebody_unknown_is_one_person_more_behind_the_attributes_that_are_hidden():
    study = factories.rating_study(name="words", texts=("hat", "poor"))
    hat, poor = study.tasks.get().units.order_by("position")
    for _ in range(2):
        factories.response(hat, values=[4], who=factories.annotator())
    assert read_few(study)[TaskKind.VISUAL_NATURE].means == {None}
    factories.response(poor, values=[4])
    few = read_few(study)[TaskKind.VISUAL_NATURE]
    assert few.attributes[None] == {hat.attribute_id, poor.attribute_id}
    assert few.means == set()


def test_how_many_answers_two_people_gave_is_not_told():
    study = factories.rating_study(name="words")
    people = {TaskKind.VISUAL_NATURE: Answers(number=40, people=2, unknown=0)}
    assert [asked.answers for asked in asked_tasks(study, people, "en")] == [None]
    people[TaskKind.VISUAL_NATURE] = Answers(number=40, people=3, unknown=0)
    assert [asked.answers for asked in asked_tasks(study, people, "en")] == [40]
