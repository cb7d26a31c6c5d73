"""Nothing of any single person is in a report: not what few people answered, and not by subtraction."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from django.utils import timezone

from annotation.accounts.services import erasure
from annotation.models import (
    Attribute,
    IdentityGroup,
    Judgement,
    ProfileAnswer,
    Response,
    Study,
    TaskKind,
)
from metrics.league.kinds import METRICS as LEAGUES
from metrics.models import Score
from metrics.report import services
from metrics.report.licences import open_licence
from metrics.report.queries.few import Few, read_few
from metrics.report.queries.people import Answers, People, answers_by_task, merge_small, read_people
from metrics.report.queries.runs import stored_runs
from metrics.report.refused import ReportRefused
from metrics.score_runs import evaluation, registry
from tests import factories
from tests.metrics import cast, votes_cast
from tests.metrics.report import world

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _without_figures(monkeypatch):
    monkeypatch.setattr("metrics.report.figures.WANTED", ())


_URLS = {
    "Apache License 2.0": "https://www.apache.org/licenses/LICENSE-2.0",
    "CC BY-SA": "",
    "CC BY-NC-SA 3.0": "https://creativecommons.org/licenses/by-nc-sa/3.0/",
}


def shown(study: Study) -> set[str]:
    return {stored.slug for stored in stored_runs(study).shown}


def one_person_less(study: Study) -> None:
    """Two people gave all answers: the third one's are the second one's too."""
    people = list(dict.fromkeys(Response.objects.order_by("annotator").values_list("annotator", flat=True)))
    Response.objects.filter(annotator=people[-1]).update(annotator=people[0])


def test_what_two_people_answered_is_not_reported(tmp_path):
    study = cast.depiction_study(name="few")
    one_person_less(study)
    world.compute(study, "tendency", "agreement")
    with pytest.raises(ReportRefused, match="Fewer than three people") as refused:
        services.write(study=study, path=tmp_path / "report")
    assert refused.value.reason == "few"
    assert not (tmp_path / "report").exists()


def test_a_task_of_two_people_is_left_out_of_what_others_answered(tmp_path):
    study = world.study_with_people()
    visual = Response.objects.filter(unit__task__kind="visual_nature")
    people = sorted(set(visual.values_list("annotator", flat=True)))
    visual.filter(annotator=people[2]).update(annotator=people[1])
    world.compute(study, "tendency", "visual_nature", "consensus", "agreement")
    assert shown(study) == {"tendency", "agreement"}
    services.write(study=study, path=tmp_path / "report")
    assert "task: visual_nature" not in (tmp_path / "report" / "tables" / "agreement.csv").read_text()
    assert "task: depiction" in (tmp_path / "report" / "tables" / "agreement.csv").read_text()
    page = (tmp_path / "report" / "en" / "index.html").read_text()
    assert "visual nature of an attribute" not in page
    # nor how many answers there are
    asked = (tmp_path / "report" / "en" / "asked.html").read_text()
    assert "<dt>Answers</dt><dd>–</dd>" in asked


def test_a_group_that_two_people_judged_is_left_out(tmp_path):
    study = cast.depiction_study(name="few")
    people = sorted(set(Response.objects.values_list("annotator", flat=True)))
    of_mexican = Response.objects.filter(unit__image__group__name="Mexican")
    of_mexican.filter(annotator=people[2]).update(annotator=people[1])
    assert read_few(study)["depiction"] == Few(frozenset({IdentityGroup.objects.get(name="Mexican").pk}))
    [run] = world.compute(study, "likelihood")
    services.write(study=study, path=tmp_path / "report")
    [told] = json.loads((tmp_path / "report" / "report.json").read_text())["runs"]
    assert told["scores_left_out"] == run.scores.filter(group__name="Mexican").count() > 0
    table = (tmp_path / "report" / "tables" / "likelihood.csv").read_text()
    assert "Nepali" in table
    assert "Mexican" not in table
    assert "are left out" in (tmp_path / "report" / "en" / "table-likelihood.html").read_text()


def test_an_attribute_with_two_answers_is_left_out(tmp_path):
    study = cast.visual_study({"hat": [5, 5, 4], "kind": [1, 1]}, name="words")
    world.compute(study, "visual_nature")
    services.write(study=study, path=tmp_path / "report")
    table = (tmp_path / "report" / "tables" / "visual_nature.csv").read_text()
    assert "hat" in table
    assert "kind" not in table
    pages = {path.name for path in (tmp_path / "report" / "en").iterdir()}
    assert pages == {
        *("asked.html", "index.html", "limits.html", "methods.html", "tables.html"),
        "table-visual_nature.html",
    }
    assert "images.html" not in (tmp_path / "report" / "en" / "index.html").read_text()
    world.compute(study, "agreement")
    [agreement] = (one for one in stored_runs(study).shown if one.slug == "agreement")
    left = set(agreement.scores().values_list("attribute__text", flat=True))
    assert left == {"hat"}, "nor the whole, which shows the other by subtraction"


def test_an_attribute_of_a_hidden_answer_is_hidden_over_all_groups_too():
    study = cast.depiction_study(name="few")
    people = sorted(set(Response.objects.values_list("annotator", flat=True)))
    of_mexican = Judgement.objects.filter(response__unit__image__group__name="Mexican")
    # each of two people, so that three answered about what is hidden, and means may be shown
    for who, text in ((people[2], "hat"), (people[0], "sombrero")):
        of_mexican.filter(response__annotator=who, option__attribute__text=text).delete()
    of_mexican.filter(response__annotator=people[1], option__attribute=None).delete()
    mexican, hidden = (
        found.values_list("pk", flat=True)
        for found in (
            IdentityGroup.objects.filter(name="Mexican"),
            Attribute.objects.filter(text__in=("hat", "sombrero")),
        )
    )
    assert read_few(study)["depiction"] == Few(attributes={mexican.get(): frozenset(hidden)})
    world.compute(study, "agreement")
    [agreement] = stored_runs(study).shown
    left = set(agreement.scores().values_list("group__name", "attribute__text"))
    assert left == {(None, None), ("Mexican", None), ("Nepali", None), (None, "poor"), (None, "kind")}


def test_totals_that_hold_a_hidden_group_are_left_out(tmp_path):
    said = {("Mexican", "hat"): {"inside": [1, 1, 0]}, ("Cuban", "hat"): {"inside": [1, 1, 0]}}
    study = votes_cast.prevalence_study(said, name="regions")
    world.compute(study, "prevalence")
    [run] = stored_runs(study).shown
    assert run.scores().filter(part__startswith="region: Latin America").exists()
    of_cuban = Response.objects.filter(unit__association__group__name="Cuban").order_by("pk")
    of_cuban.last().delete()
    world.compute(study, "prevalence")
    [run] = stored_runs(study).shown
    assert set(run.scores().values_list("group__name", flat=True)) == {"Mexican"}
    services.write(study=study, path=tmp_path / "report")
    page = (tmp_path / "report" / "en" / "index.html").read_text()
    assert "by subtraction" in page
    assert "Known stereotypes" not in page


def test_an_attribute_that_two_people_judged_in_many_images_is_left_out_and_the_group_s_means_too():
    study = cast.depiction_study(name="few")
    people = sorted(set(Response.objects.values_list("annotator", flat=True)))
    third = Judgement.objects.filter(
        response__annotator=people[2],
        response__unit__image__group__name="Mexican",
        option__attribute__text="hat",
    )
    third.delete()
    world.compute(study, "likelihood", "tendency")
    likelihood, tendency = (
        next(one for one in stored_runs(study).shown if one.slug == name)
        for name in ("likelihood", "tendency")
    )
    of_mexican = likelihood.scores().filter(group__name="Mexican")
    assert of_mexican.filter(attribute__text="poor").exists()
    assert not of_mexican.filter(attribute__text="hat").exists()
    assert likelihood.run.scores.get(attribute__text="hat", group__name="Mexican", name="likelihood").n == 4
    assert not tendency.scores().filter(group__name="Mexican").exists()


def test_what_somebody_withdrew_is_not_published_from_older_scores(tmp_path):
    study = cast.depiction_study(name="gone")
    world.compute(study, "tendency")
    Response.objects.filter(pk=Response.objects.order_by("pk").first().pk).update(
        withdrawn_at=timezone.now(), current=True
    )
    with pytest.raises(ReportRefused, match=r"Compute them again: .*--scores") as refused:
        services.write(study=study, path=tmp_path / "report")
    assert refused.value.reason == "outdated"


def test_what_somebody_had_erased_is_not_published_from_older_scores():
    study = cast.depiction_study(name="gone")
    world.compute(study, "tendency", "agreement")
    assert shown(study) == {"tendency", "agreement"}
    erasure.erase(annotator=Response.objects.order_by("pk").first().annotator, user=None, by=factories.user())
    assert shown(study) == set()
    assert {one.reason for one in stored_runs(study).left_out} == {"outdated"}


def test_older_scores_of_two_people_are_not_shown_when_a_third_has_come():
    study = cast.depiction_study(name="grew")
    Response.objects.update(submitted_at=timezone.now())
    people = sorted(set(Response.objects.values_list("annotator", flat=True)))
    late = Response.objects.filter(annotator=people[2])
    late.update(current=False)
    world.compute(study, "tendency")
    late.update(current=True, submitted_at=timezone.now())
    assert shown(study) == set()


def test_scores_of_machine_judges_groups_of_annotators_and_other_studies_are_not_reported():
    study = cast.depiction_study(name="own")
    [run] = world.compute(study, "tendency")
    for metric, parameters in (
        ("agreement", '{"by": "gender"}'),
        ("judge_scores", '{"judge": ""}'),
        *((one, json.dumps(registry.parameters(registry.get(one)))) for one in sorted(LEAGUES)),
    ):
        run.pk, run.metric, run.parameters = None, metric, parameters
        run.version = registry.get(metric).version
        if metric in LEAGUES:
            run.digest = evaluation.inputs_digest(study, registry.get(metric))
        run.save()
    assert shown(study) == {"tendency"}
    assert {one.metric.name for one in stored_runs(study).left_out} == set()
    [stored] = stored_runs(study).shown
    before = set(stored.scores())
    hat = {"group": factories.group("Mexican"), "attribute": factories.attribute("hat")}
    for what in ({"part": "study: other; x", "n": 9}, {"n": 2, **hat}):
        Score.objects.create(run=stored.run, name="more", value=1, **what)
    assert set(stored.scores()) == before, "nor those of two answers"
    for what in ({"n": 3, **hat}, {"n": 2, "group": hat["group"]}):
        before.add(Score.objects.create(run=stored.run, name="other", value=1, **what))
    assert set(stored.scores()) == before


def test_scores_whose_captions_or_vectors_are_gone_are_out_of_date(monkeypatch):
    study = cast.depiction_study(name="gone")
    world.compute(study, "tendency")

    def gone(run):
        raise ValueError("there is no embedding")

    monkeypatch.setattr("metrics.score_runs.queries.is_stale", gone)
    assert [one.reason for one in stored_runs(study).left_out] == ["outdated"]


@pytest.mark.parametrize(
    ("counts", "others"),
    [({"a": 3, "b": 2}, 0), ({"a": 9, "b": 3, "c": 1}, 1), ({"a": 2}, 1), ({"a": 4, "b": 3}, 2), ({}, 5)],
)
def test_no_group_can_be_found_by_subtraction(counts, others):
    total = sum(counts.values()) + others
    kept, rest = merge_small(counts, others, least=3)
    assert sum(kept.values()) + rest == total
    assert all(number >= 3 for number in kept.values())
    assert rest == 0 or rest >= 3 or not kept


def test_the_largest_group_is_first_and_the_smallest_joins_what_would_be_too_few():
    kept, others = merge_small({"b": 3, "a": 3, "c": 4}, 0, least=3)
    assert (list(kept), others) == (["c", "a", "b"], 0)
    assert merge_small({"b": 3, "a": 3, "c": 4}, 2, least=3) == ({"c": 4, "a": 3}, 5)
    assert merge_small({"a": 4}, 3, least=3) == ({"a": 4}, 3)


def test_three_who_did_not_say_are_the_last_part():
    people = factories.annotators(6)
    study = cast.visual_study({"hat": [5] * 6}, people=people, strata=["any"] * 6, name="six")
    ProfileAnswer.objects.bulk_create(
        ProfileAnswer(annotator=who, field="gender", value="man", may_publish=True) for who in people[:3]
    )
    [gender] = read_people(study).profile
    assert [(part.label and str(part.label), part.number) for part in gender.parts] == [("Man", 3), (None, 3)]


def test_profiles_are_counted_if_they_may_be_published_and_dates_are_months():
    study = cast.depiction_study(name="dated")
    then = datetime(2026, 3, 17, 12, 30, tzinfo=UTC)
    Response.objects.update(started_at=then, submitted_at=then)
    earlier = datetime(2026, 2, 28, tzinfo=UTC)
    first = Response.objects.order_by("pk").first()
    Response.objects.filter(pk=first.pk).update(started_at=earlier, submitted_at=earlier)
    people = sorted(set(Response.objects.values_list("annotator", flat=True)))
    for who in people:
        for field, value, may in (("gender", "woman", True), ("age_band", "25-34", who == people[0])):
            ProfileAnswer.objects.create(annotator_id=who, field=field, value=value, may_publish=may)
        # a choice in somebody's own words, one that there is not, and a question without choices
        for field, value, own in (
            *(("origin", "Asia", True), ("residence", "nowhere", False)),
            ("languages", "Hindi", False),
        ):
            ProfileAnswer.objects.create(
                annotator_id=who, field=field, value=value, may_publish=True, self_described=own
            )
    elsewhere = factories.annotator()
    ProfileAnswer.objects.create(annotator=elsewhere, field="gender", value="woman", may_publish=True)
    found = read_people(study)
    assert found.number == 3
    assert (found.first.isoformat(), found.last.isoformat()) == ("2026-02-01", "2026-03-01")
    assert [(str(field.label), [part.number for part in field.parts]) for field in found.profile] == [
        ("Gender", [3])
    ]


def test_answers_that_do_not_count_and_those_of_other_studies_are_no_answers():
    people = [factories.annotator() for _ in range(3)]
    study = cast.visual_study({"hat": [5, 5, 4], "kind": [1, 1, 2]}, people=people, name="words")
    cast.visual_study({"hat": [5]}, name="other")
    assert answers_by_task(study) == {TaskKind.VISUAL_NATURE: Answers(number=6, people=3, unknown=0)}
    answers = list(Response.objects.filter(unit__task__study=study).order_by("pk"))
    for change in ({"current": False}, {"withdrawn_at": timezone.now()}, {"slot": None}):
        Response.objects.filter(pk=answers.pop().pk).update(**change)
        assert answers_by_task(study)[TaskKind.VISUAL_NATURE].number == len(answers)


def test_somebody_unknown_is_one_person():
    many = [Answers(9, people, unknown).are_few for people, unknown in ((2, 0), (0, 2), (1, 2), (3, 0))]
    assert many == [True, True, False, False]


def test_people_who_are_not_known_are_not_counted():
    study = cast.visual_study({"hat": [5, 5, 4]}, name="words")
    assert read_people(study).number is None
    known = [factories.annotator() for _ in range(3)]
    for name, people in (("one of four", [*known, None]), ("two", known[:2])):
        said = {"hat": [5, 5, 4, 1][: len(people)]}
        study = cast.visual_study(said, people=people, strata=["any"] * len(people), name=name)
        found = read_people(study)
        assert (found.number, found.profile) == (None, ()), name
    assert read_people(factories.study(name="empty")) == People(None, None, None, ())


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("CC-BY-4.0", "CC BY 4.0"),
        ("cc_by  1.0", "CC BY 1.0"),
        ("CC BY-NC v2.0", "CC BY-NC 2.0"),
        ("CC BY 2.5", "CC BY 2.5"),
        ("cc by-nc-sa 3.0", "CC BY-NC-SA 3.0"),
        ("CC BY-SA", "CC BY-SA"),
        ("CC BY 3.5", None),
        ("CC BY 1.5", None),
        ("CC0-1.0", "CC0 1.0"),
        ("cc0 1.0", "CC0 1.0"),
        ("Apache-2.0", "Apache License 2.0"),
        ("apache 2.0", "Apache License 2.0"),
        ("Apache License 2.0", "Apache License 2.0"),
        ("CC BY-ND 4.0", None),
        ("not CC BY 4.0", None),
        ("proprietary", None),
        ("", None),
    ],
)
def test_a_licence_is_open_only_if_it_is_known_to_be(text, name):
    found = open_licence(text)
    assert (found and found.name) == name
    if found:
        assert found.credit == (name != "CC0 1.0")
        assert found.url == _URLS.get(name, found.url)
