"""Scores from a judge's answers about what images depict, beside those from people's."""

from __future__ import annotations

import numpy as np
import pytest

from annotation.models import Judgement, Option, Response, Study, TaskKind, Unit
from generation.models import Answer
from metrics.core.stats.differences import false_discovery
from metrics.score_runs import registry
from metrics.score_runs.evaluation import evaluate, inputs_digest
from metrics.score_runs.metric import NothingToCompute
from tests import factories
from tests.metrics import cast
from tests.metrics.machine_judges.judged import judge

pytestmark = pytest.mark.django_db
GROUPS = ("Mexican", "Nepali")
SEEN = ("hat", "sombrero", "poor", "kind")
OF_JUDGE, OF_PEOPLE, OF_DIFFERENCE = "of: judge", "of: people", "of: difference"


def scores(study: Study, run, **options):
    """(name, group, attribute, part) -> row."""
    found = evaluate(
        study=study,
        metric="judge_scores",
        variant=options.pop("variant", "corrected"),
        parameters={"judge": run.name},
        **options,
    )
    return {(row.name, row.group, row.attribute, row.part): row for row in found.rows}


def values(study: Study, metric: str, **options):
    """(name, group, attribute) -> (value, n, k, low, high) of people's own metric."""
    found = evaluate(study=study, metric=metric, variant=options.pop("variant", "corrected"), **options)
    return {(row.name, row.group, row.attribute): numbers(row) for row in found.rows}


def numbers(row):
    return row.value, row.n, row.k, row.low, row.high


def drawn_study(images: int = 5) -> Study:
    """Two groups with two stereotypes each, two pages an image, three people who mostly agree."""
    source = factories.source("drawn")
    for group in GROUPS:
        for text in SEEN[:2]:
            factories.association(
                group_name=group, text=text, out_votes=(3, 0, 0), ratings=[1, 2, 3], from_source=source
            )
    task = factories.task(factories.study(stereotype_source=source), kind=TaskKind.DEPICTION)
    people = [factories.annotator() for _ in range(3)]
    rng = np.random.default_rng(3)
    answers = []
    for group in GROUPS:
        for picture in factories.images(
            range(1, images + 1), group_name=group, of=factories.image_set("drawn")
        ):
            for page in (1, 2):
                texts = (SEEN[page - 1], SEEN[page + 1])
                unit = factories.page_unit(task, picture=picture, page=page, texts=texts)
                shows = [rng.random() < 0.5, rng.random() < 0.4]
                for who in people:
                    said = [int(one != (rng.random() < 0.1)) for one in shows]
                    answers.append((unit, [*said, int(not any(said))], who))
    factories.responses(answers)
    return task.study


@pytest.fixture(scope="module")
def drawn(once):
    return once(drawn_study).made.pk


@pytest.fixture
def study(db, drawn) -> Study:
    return Study.objects.get(pk=drawn)


def as_first_person(study: Study):
    """A judge's answers that are those of one annotator."""
    rows = Judgement.objects.filter(response__unit__task__study=study)
    first = rows.order_by("response__annotator").first().response.annotator
    said = dict(rows.filter(response__annotator=first).values_list("option", "value"))
    return first, lambda option, *_: said[option.pk]


@pytest.mark.parametrize("variant", ["corrected", "published"])
def test_where_the_judge_answered_everything_people_have_the_scores_of_the_study(study, variant):
    found = scores(study, judge(study, TaskKind.DEPICTION, as_first_person(study)[1]), variant=variant)
    known = {}
    for metric in ("likelihood", "tendency", "offensiveness"):
        known |= values(study, metric, variant=variant)
    for name in ("likelihood", "l_stereo", "l_random", "theta", "o"):
        of_people = {
            key[:3]: numbers(row)
            for key, row in found.items()
            if key[0] == name and key[1] and key[3] == OF_PEOPLE
        }
        assert of_people == {key: one for key, one in known.items() if key[0] == name}


def test_a_judge_that_answers_as_the_only_annotator_differs_in_nothing(study):
    first, said = as_first_person(study)
    Response.objects.exclude(annotator=first).delete()
    found = scores(study, judge(study, TaskKind.DEPICTION, said))
    apart = {key: row.value for key, row in found.items() if key[3] == OF_DIFFERENCE}
    assert {value for key, value in apart.items() if not key[0].endswith(("_p", "_q"))} == {0.0}
    for group in (*GROUPS, ""):
        theta = found["theta", group, "", OF_JUDGE]
        assert 0 < theta.value == found["theta", group, "", OF_PEOPLE].value
        assert theta.low < theta.value < theta.high


def test_a_judge_that_agrees_with_everybody_differs_in_nothing_however_many_judged_a_page():
    source = factories.source("uneven")
    for text in SEEN[:2]:
        factories.association(text=text, out_votes=(3, 0, 0), ratings=[1, 2, 4], from_source=source)
    task = factories.task(
        factories.study(stereotype_source=source), kind=TaskKind.DEPICTION, strata=("any",) * 6
    )
    people = [factories.annotator() for _ in range(6)]
    shows = ([1, 0, 1, 0], [1, 1, 0, 0], [0, 1, 0, 1], [1, 1, 1, 1])
    for index, (seen, number) in enumerate(zip(shows, (6, 1, 2, 3), strict=True), start=1):
        unit = factories.page_unit(task, picture=factories.image(index=index), texts=SEEN)
        factories.responses((unit, [*seen, 0], who) for who in people[:number])
    said = dict(Judgement.objects.values_list("option", "value"))
    found = scores(task.study, judge(task.study, TaskKind.DEPICTION, lambda option, *_: said[option.pk]))
    apart = {key: row for key, row in found.items() if key[3] == OF_DIFFERENCE}
    values = {row.value for key, row in apart.items() if key[0][-2:] not in ("_p", "_q")}
    assert max(map(abs, values)) < 1e-12
    assert {"l_stereo", "theta", "o", "likelihood"} <= {key[0] for key in apart}
    hat = [found["likelihood", "Mexican", "hat", part] for part in (OF_JUDGE, OF_PEOPLE)]
    assert [(row.n, row.k) for row in hat] == [(12, 10)] * 2


def test_a_likelihood_of_1_is_as_sure_as_the_judges_own_answers(study):
    run = judge(study, TaskKind.DEPICTION, lambda option, *_: int(option.attribute is not None))
    found = scores(study, run)
    Response.objects.exclude(annotator=Response.objects.first().annotator).delete()
    once = scores(study, run)
    for key, row in found.items():
        if key[0] == "likelihood" and key[3] == OF_JUDGE:
            assert row.value == 1
            assert row.low == pytest.approx(once[key].low)


def test_a_bias_for_one_group_is_found_there_and_not_elsewhere(study):
    said = as_first_person(study)[1]
    stereotypes = set(SEEN[:2])

    def biased(option: Option, *rest) -> int:
        if option.unit.image.group.name != "Nepali":
            return said(option)
        if option.attribute is None:
            return 0
        return 1 if option.attribute.text in stereotypes else said(option)

    found = scores(study, judge(study, TaskKind.DEPICTION, biased))
    here, there = (found["l_stereo", group, "", OF_DIFFERENCE] for group in ("Nepali", "Mexican"))
    assert here.low > 0
    assert there.low < 0 < there.high
    assert found["l_stereo", "Nepali", "", OF_JUDGE].value == 1
    assert here.value == pytest.approx(1 - found["l_stereo", "Nepali", "", OF_PEOPLE].value)
    assert found["l_stereo_p", "Nepali", "", OF_DIFFERENCE].value < 0.05
    logs = [np.log(found["theta", "Nepali", "", part].value) for part in (OF_JUDGE, OF_PEOPLE)]
    assert found["theta", "Nepali", "", OF_DIFFERENCE].value == pytest.approx(logs[0] - logs[1])
    for name in ("l_stereo", "theta", "o"):
        p, q = ([found[f"{name}_{one}", group, "", OF_DIFFERENCE].value for group in GROUPS] for one in "pq")
        assert q == false_discovery(p).tolist()
    means = [found["l_stereo", group, "", OF_DIFFERENCE].value for group in GROUPS]
    assert found["l_stereo", "", "", OF_DIFFERENCE].value == pytest.approx(np.mean(means))
    assert found["l_stereo", "", "", OF_DIFFERENCE].n == 2
    # the images are the same on both sides: what they show is no part of the difference
    of_judge = found["l_random", "Mexican", "", OF_JUDGE]
    apart = found["l_random", "Mexican", "", OF_DIFFERENCE]
    assert apart.high - apart.low < of_judge.high - of_judge.low


def test_a_page_that_the_judge_could_not_answer_counts_on_neither_side(study):
    run = judge(study, TaskKind.DEPICTION, as_first_person(study)[1])
    lost = Unit.objects.filter(task__study=study, page=2, image__group__name="Mexican").first()
    assert Answer.objects.filter(run=run, job__key=f"{lost.position}.base").update(text="I cannot say.") == 1
    found = scores(study, run)
    Response.objects.filter(unit=lost).delete()
    known = values(study, "likelihood") | values(study, "tendency")
    assert {
        key[:3]: numbers(row)
        for key, row in found.items()
        if key[0] in ("likelihood", "l_stereo", "l_random", "theta") and key[1] and key[3] == OF_PEOPLE
    } == known
    shown = {key[2]: row.n for key, row in found.items() if key[:2] == ("likelihood", "Mexican")}
    assert shown == {"hat": 15, "poor": 15, "sombrero": 12, "kind": 12}


def test_a_page_that_people_have_not_answered_counts_on_neither_side(study):
    unanswered = Unit.objects.filter(task__study=study, page=1, image__group__name="Nepali").first()
    run = judge(study, TaskKind.DEPICTION, as_first_person(study)[1])
    Response.objects.filter(unit=unanswered).delete()
    found = scores(study, run)
    for attribute, images in (("hat", 4), ("sombrero", 5)):
        for part in (OF_JUDGE, OF_PEOPLE):  # the judge counts once for each of three people
            assert found["likelihood", "Nepali", attribute, part].n == 3 * images


def test_scores_are_out_of_date_when_the_judge_or_people_have_answered_more(study):
    run = judge(study, TaskKind.DEPICTION, as_first_person(study)[1])

    def digest():
        return inputs_digest(study, registry.get("judge_scores"), {"judge": run.name})

    digests = [digest()]
    Answer.objects.filter(run=run).latest("pk").delete()
    digests.append(digest())
    Response.objects.filter(unit__task__study=study).latest("pk").delete()
    digests.append(digest())
    assert len({*digests}) == 3


def test_a_group_of_whose_stereotypes_one_was_answered_has_no_tendency(study):
    # a page without a choice is no answer, so that only the first pages, with one stereotype, are left
    run = judge(study, TaskKind.DEPICTION, lambda option, *_: int(option.unit.page == option.position == 1))
    found = scores(study, run)
    assert {key[2] for key in found if key[0] == "likelihood"} == {"hat", "poor"}
    assert not {key[0] for key in found} & {"l_stereo", "l_random", "theta"}


def test_a_judge_that_sees_nothing_has_a_theta_and_no_offensiveness(study):
    found = scores(study, judge(study, TaskKind.DEPICTION, lambda option, *_: int(option.attribute is None)))
    assert found["theta", "Mexican", "", OF_JUDGE].value is None
    assert found["theta", "Mexican", "", OF_DIFFERENCE].value is None
    assert not any(key[0] == "o" for key in found)

    def hats(option: Option, *_) -> int:
        if option.attribute is None:
            return int(option.unit.page == 2)
        return int(option.attribute.text == "hat")

    found = scores(study, judge(study, TaskKind.DEPICTION, hats, name="hats"))
    infinite = found["theta", "Mexican", "", OF_DIFFERENCE]
    assert infinite.value == infinite.high == float("inf")
    assert found["theta_p", "Mexican", "", OF_DIFFERENCE].value is None


def test_a_group_without_two_stereotypes_has_likelihoods_only():
    study = cast.depiction_study()
    found = scores(study, judge(study, TaskKind.DEPICTION, as_first_person(study)[1]))
    assert {key[0] for key in found if key[1] == "Nepali"} == {"likelihood", "likelihood_p", "likelihood_q"}
    assert found["likelihood", "Mexican", "hat", OF_PEOPLE].stereotypical is True
    assert found["likelihood", "Mexican", "hat", OF_JUDGE].k == 2 * 3


def test_without_intervals_there_are_values_only(study):
    run = judge(study, TaskKind.DEPICTION, as_first_person(study)[1])
    with_them, without = scores(study, run), scores(study, run, intervals="none")
    assert {row.low for row in without.values()} == {None}
    assert {key: row.value for key, row in without.items()} == {
        key: row.value for key, row in with_them.items() if not key[0].endswith(("_p", "_q"))
    }


def test_an_unknown_judge_is_refused_and_known_ones_are_named(study):
    run = judge(study, TaskKind.DEPICTION, as_first_person(study)[1], name="known-judge")
    run.name = "nobody"
    with pytest.raises(NothingToCompute, match="known-judge"):
        scores(study, run)
