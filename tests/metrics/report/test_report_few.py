"""Answers of too few people in a pool, over all, and below an image."""

from __future__ import annotations

import pytest
from django.utils.translation import gettext, override

from annotation.core.translation import LocalizedText
from annotation.models import ConsentText, IdentityGroup, Image, ImageSet, Response, TaskKind
from metrics.report import services
from metrics.report.figures import WANTED, draw_figures
from metrics.report.licences import open_licence
from metrics.report.queries import few, pictures
from metrics.report.queries.asked import ConsentShown, Quota, asked_tasks, consent_shown
from metrics.report.queries.few import Few, few_of, read_few
from metrics.report.queries.people import Answers
from metrics.report.queries.pictures import PictureSet, Selected, picture_sets
from metrics.report.queries.pools import few_in_parts, read_few_pools
from metrics.report.queries.runs import stored_runs
from tests import factories
from tests.metrics import cast, votes_cast
from tests.metrics.report import world

pytestmark = pytest.mark.django_db
TEXTS = ("fez", "hat", "poor")


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


def test_people_of_neither_pool_are_counted_together_and_each_unknown_one_apart():
    said = {("Mexican", "hat"): {"elsewhere": [1], "silent": [1, 0]}}
    study = votes_cast.prevalence_study(said, name="pools")
    # of no association, and so of no pool
    factories.response(factories.attribute_unit(study.tasks.get()), values=[1])
    assert read_few_pools(study) == {"neither": Few()}
    Response.objects.update(annotator=None)
    assert read_few_pools(study) == {"neither": Few()}
    some = Few(frozenset({1}))
    assert few_in_parts({"neither": some}) == [("pool: neither", some)]
    assert few_in_parts({"in-region": some}) == [("pool: in-region", some), ("pool: both", some)]


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
    likelihood = next(one for one in stored_runs(study).shown if one.slug == "likelihood")
    assert likelihood.few_parts == (), "its scores are of one task"
    services.write(study=study, path=tmp_path / "report")
    page = (tmp_path / "report" / "en" / "index.html").read_text()
    assert "Agreement between annotators" not in page
    assert "by subtraction" in page


@pytest.mark.usefixtures("english_alone")
def test_a_figure_that_would_show_a_group_of_two_people_is_left_out(folder, monkeypatch):
    only = tuple(wanted for wanted in WANTED if wanted.figure == "map-stereotypes")
    monkeypatch.setattr("metrics.report.figures.WANTED", only)
    study = cast.depiction_study(name="few")
    people = sorted(set(Response.objects.values_list("annotator", flat=True)))
    of_mexican = Response.objects.filter(unit__image__group__name="Mexican")
    of_mexican.filter(annotator=people[2]).update(annotator=people[1])
    assert draw_figures(study, stored_runs(study)) == ([], []), "nor is it missing without scores"
    world.compute(study, "likelihood", "tendency")
    services.write(study=study, path=folder)
    assert not (folder / "figures").exists()
    assert len(draw_figures(study, stored_runs(study))[1]) == 1, "both variants have one title"
    assert "answers of fewer than three people" in (folder / "en" / "index.html").read_text()


def test_answers_below_an_image_are_of_people_and_two_are_too_few(settings, tmp_path, monkeypatch):
    settings.MEDIA_ROOT = tmp_path / "media"
    study = factories.study(name="twice")
    task = factories.task(study, kind=TaskKind.DEPICTION, strata=("any",) * 3)
    ImageSet.objects.filter(pk=factories.image_set().pk).update(licence="CC0")
    picture = factories.image(reference="", file="images/one.png", sha256="0" * 64)
    units = [factories.page_unit(task, picture=picture, page=page, texts=TEXTS) for page in (1, 2)]
    people = [factories.annotator() for _ in range(3)]
    for unit in units:
        for who in people[:2]:
            factories.response(unit, values=[0, 1, 0, 0], who=who)
    assert [one.selected for found in picture_sets(study) for one in found.pictures] == [()]
    factories.response(units[0], values=[1, 0, 0, 0], who=people[2])
    factories.response(units[1], values=[0, 0, 0, 1], who=people[2])
    [found] = picture_sets(study)
    assert found.pictures[0].selected == (Selected("hat", 2, 3), Selected("fez", 1, 3))
    Response.objects.update(annotator=None)
    monkeypatch.setattr(pictures, "MAX_ATTRIBUTES", 1)
    [found] = picture_sets(study)
    assert found.pictures[0].selected == (Selected("hat", 4, 6),), "each answer may be another person's"
    third = factories.page_unit(task, picture=picture, page=3, texts=("zoo",))
    factories.responses((third, [1, 0], None) for _ in range(3))
    [found] = picture_sets(study)
    assert found.pictures[0].selected == (Selected("zoo", 3, 3),), "the larger share, of fewer"
    [without] = picture_sets(study, few_groups=frozenset({picture.group_id}))
    assert without.pictures == ()


@pytest.mark.usefixtures("english_alone")
def test_images_of_a_group_of_two_people_are_not_in_a_report(folder, monkeypatch):
    study = cast.depiction_study(name="few")
    people = sorted(set(Response.objects.values_list("annotator", flat=True)))
    of_mexican = Response.objects.filter(unit__image__group__name="Mexican")
    of_mexican.filter(annotator=people[2]).update(annotator=people[1])
    world.compute(study, "likelihood")
    without = []
    monkeypatch.setattr(
        services, "picture_sets", lambda study, *, few_groups: without.extend(few_groups) or []
    )
    services.write(study=study, path=folder)
    assert without == [IdentityGroup.objects.get(name="Mexican").pk]


def test_a_creator_is_lacking_where_one_must_be_named_and_none_is_known():
    for image_set, licence, lacks in (
        (ImageSet(), None, False),
        (ImageSet(), open_licence("CC BY"), True),
        (ImageSet(model_name="a model"), open_licence("CC BY"), False),
        (ImageSet(drawn=True), open_licence("CC BY"), False),
    ):
        assert PictureSet(image_set, licence, ()).lacks_credit == lacks


def images_of(study) -> list[tuple[str, list[Image]]]:
    return [(one.image_set.name, [each.image for each in one.pictures]) for one in picture_sets(study)]


def test_the_first_images_of_each_group_are_shown_below_their_own_set(settings, tmp_path, monkeypatch):
    settings.MEDIA_ROOT = tmp_path / "media"
    assert (pictures.MAX_IMAGES, pictures.MAX_ATTRIBUTES) == (200, 12)
    monkeypatch.setattr(pictures, "MAX_IMAGES", 1)  # fewer than there are groups
    task = factories.task(factories.study(name="sets"), kind=TaskKind.DEPICTION)
    places = [("two", "Nepali", 2), ("one", "Nepali", 1), ("two", "Nepali", 3)]
    places += [("one", "Mexican", index) for index in (4, 3, 2)]
    other, nepali, _, _, second, first = shown = [
        factories.image(
            index=index,
            group_name=group,
            image_set=factories.image_set(name),
            reference="",
            file=f"images/{number}.png",
            sha256=f"{number}" * 64,
        )
        for number, (name, group, index) in enumerate(places)
    ]
    shown.append(factories.image(index=1, image_set=factories.image_set("one")))  # its file is elsewhere
    units = factories.page_units(task, [(picture, ("hat",)) for picture in shown])
    factories.responses((unit, [1, 0], None) for unit in units)
    ImageSet.objects.update(licence="CC0")
    assert images_of(task.study) == [("one", [first, nepali]), ("two", [])]
    monkeypatch.setattr(pictures, "MAX_IMAGES", 4)
    assert images_of(task.study) == [("one", [first, second, nepali]), ("two", [other])]


def test_what_two_people_answered_about_a_pair_is_hidden_with_its_group_in_every_kind_of_task():
    study = factories.study("pairs", stereotype_source=factories.source("votes"))
    for kind in (TaskKind.PREVALENCE, TaskKind.OFFENSIVENESS, TaskKind.ASSOCIATION):
        unit = votes_cast.association_unit(factories.task(study, kind=kind), "Mexican", "hat")
        factories.responses((unit, None, who) for who in factories.annotators(2))
        hidden = frozenset({unit.association.group_id})
        assert read_few(study)[kind] == Few(hidden), kind


def test_an_attribute_rated_alone_by_one_person_is_hidden_in_the_groups_of_the_source():
    study = factories.study("ratings", stereotype_source=factories.source("votes"))
    task = factories.task(study, kind=TaskKind.OFFENSIVENESS)
    pair = factories.association(
        group_name="Peruvian", text="lonely", out_votes=(2, 0, 0), from_source=study.stereotype_source
    )
    factories.response(factories.attribute_unit(task, "lonely"), values=[4])
    found = read_few(study)[TaskKind.OFFENSIVENESS]
    assert found.groups == {pair.group_id}
    assert found.attributes[None] == {pair.attribute_id}


def test_somebody_unknown_is_one_person_more_behind_the_attributes_that_are_hidden():
    study = factories.rating_study(name="words", texts=("hat", "poor"))
    hat, poor = study.tasks.get().units.order_by("position")
    for _ in range(2):
        factories.response(hat, values=[4], who=factories.annotator())
    assert read_few(study)[TaskKind.VISUAL_NATURE].means == {None}
    factories.response(poor, values=[4])
    found = read_few(study)[TaskKind.VISUAL_NATURE]
    assert found.attributes[None] == {hat.attribute_id, poor.attribute_id}
    assert found.means == set()
    study = cast.visual_study({"hat": [5, 5], "kind": [1, 1]}, name="unknown")
    assert read_few(study)[TaskKind.VISUAL_NATURE].means == set(), "who may be four people"


def test_what_is_hidden_of_a_group_is_hidden_by_itself():
    assert few_of([(1, 5, 7)]) == Few(frozenset({1})), "with the group"
    assert few_of([(None, 5, 7)]) == Few(attributes={None: frozenset({5})}, means=frozenset({None}))
    of_three = [(1, 5, 7), (1, 5, 8), (1, 6, 8), (1, 6, 9)]
    assert few_of(of_three) == Few(attributes={1: frozenset({5, 6})})
    of_two = [*of_three[:2], (1, 6, 7), (1, 6, 8), (1, 4, 9), (1, 4, 8), (1, 4, 7)]
    assert few_of(of_two) == Few(attributes={1: frozenset({5, 6})}, means=frozenset({1}))


def test_what_either_of_two_hides_is_hidden():
    one = Few(frozenset({1}), {2: frozenset({5}), 3: frozenset({5})}, frozenset({2}))
    other = Few(frozenset({4}), {3: frozenset({6}), None: frozenset({5})}, frozenset({None}))
    either = few._joined(one, other)
    assert (either.groups, either.means) == ({1, 4}, {2, None})
    assert either.attributes == {2: {5}, 3: {5, 6}, None: {5}}


def test_how_many_answers_two_people_gave_is_not_told():
    study = factories.rating_study(name="words")
    factories.attribute_unit(study.tasks.get(), purpose="gold")
    [asked] = asked_tasks(study, {}, "en")
    assert (asked.answers, asked.items) == (None, 3), "what is right is known of the fourth"
    people = {TaskKind.VISUAL_NATURE: Answers(number=40, people=2, unknown=0)}
    assert [asked.answers for asked in asked_tasks(study, people, "en")] == [None]
    people[TaskKind.VISUAL_NATURE] = Answers(number=40, people=3, unknown=0)
    assert [asked.answers for asked in asked_tasks(study, people, "en")] == [40]


def test_tasks_go_by_kind_and_version_in_the_language_of_the_reader_where_they_have_it():
    study = factories.study(name="tasks")
    spanish = {"wording": "¿Qué?", "instructions": "Mire.", "examples": [{"text": "uno"}]}
    visual = factories.task(study, translations={"es": spanish})
    for version in (2, 1):
        factories.task(
            study, kind=TaskKind.OFFENSIVENESS, version=version, wording="What?", strata=("b", "a", "b")
        )
    factories.attribute_unit(visual)
    with override("es"):
        first, second, last = asked_tasks(study, {}, "es")
        assert first.kind == gettext("offensiveness of an attribute")
        none, unsure = (gettext("Not offensive"), ""), (gettext("Unsure"), gettext("please say why"))
        assert (first.labels[0], first.labels[-1]) == (none, unsure)
    assert (first.task.version, second.task.version) == (1, 2)
    assert [one.items for one in (first, second, last)] == [0, 0, 1]
    assert first.quotas == (Quota("b", 2), Quota("a", 1))
    assert (first.wording, first.examples, first.examples_language) == (
        LocalizedText("What?", "en"),
        (),
        "en",
    )
    assert (last.wording, last.instructions) == (LocalizedText("¿Qué?", "es"), LocalizedText("Mire.", "es"))
    assert (last.examples, last.examples_language) == (({"text": "uno"},), "es")


def test_consent_is_shown_in_the_language_of_the_reader_or_in_english_or_in_any():
    study = factories.study(name="words")
    assert consent_shown(study, "es") is None
    for written, read in (("fr", "fr"), ("ar", "ar"), ("en", "en"), ("es", "es")):
        ConsentText.objects.create(study=study, language=written, text=written, content_warning="care")
        shown = consent_shown(study, "es-mx")
        assert shown == ConsentShown(LocalizedText("care", read), LocalizedText(read, read))
