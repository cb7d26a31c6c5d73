"""Agreement as stored scores (PROTOCOL §10): what each is of, what it is made from, and what moves it."""

import csv
import io
from collections import Counter
from contextlib import contextmanager

import krippendorff
import numpy as np
import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from annotation.models import (
    Box,
    IdentityGroup,
    Judgement,
    ProfileAnswer,
    Response,
    Slot,
    SlotState,
    TaskKind,
)
from metrics.agreement.data import ratings
from metrics.agreement.data.ratings import read_ratings
from metrics.agreement.queries import by_part
from metrics.agreement.scores import evaluation
from metrics.agreement.scores.evaluation import evaluate_agreement
from metrics.agreement.scores.score_rows import shortened
from metrics.agreement.scores.subjects import read_box_agreement
from metrics.core.answers import counted_judgements
from metrics.core.columns import NULL
from metrics.core.stats.checks import UNKNOWN_ANNOTATOR
from metrics.depiction import tallies
from metrics.models import Score
from metrics.score_runs import registry
from metrics.score_runs import services as score_runs
from metrics.score_runs.evaluation import evaluate, inputs_digest
from metrics.score_runs.shared_resamples import sharing_resamples
from tests import factories
from tests.metrics.cast import depiction_study, visual_study
from tests.metrics.votes_cast import bias_study, prevalence_study, rating_study

pytestmark = pytest.mark.django_db
WHOLE = "task: depiction; reading: nominal"


def scores(study, resamples=0, **parameters):
    found = evaluate(
        study=study,
        metric="agreement",
        variant="corrected",
        resamples=resamples,
        seed=0,
        parameters=parameters,
    )
    return {(row.name, row.part, row.group, row.attribute): row for row in found.rows}


def digest(study, **parameters):
    return inputs_digest(study, registry.get("agreement"), parameters)


def known_raters(study, *, count=3):
    people = [factories.annotator() for _ in range(count)]
    for unit in {response.unit_id for response in Response.objects.filter(unit__task__study=study)}:
        for who, response in zip(people, Response.objects.filter(unit=unit).order_by("pk"), strict=True):
            Response.objects.filter(pk=response.pk).update(annotator=who)
    return people


def test_the_whole_each_group_and_each_attribute_have_their_alpha():
    found = scores(depiction_study())
    # of Mexican, images 1 and 2: hat 2 of 3 twice, sombrero 1 and 0, poor 0 and 1, kind 0
    counts = np.array([[1, 2], [2, 1], [3, 0], [3, 0], [1, 2], [3, 0], [2, 1], [3, 0]])
    expected = krippendorff.alpha(value_counts=counts, value_domain=[0, 1], level_of_measurement="nominal")
    assert found["alpha", WHOLE, "Mexican", ""].value == pytest.approx(expected)
    assert found["percentage", WHOLE, "Mexican", ""].k == 16
    assert found["percentage", WHOLE, "Mexican", ""].n == 24
    assert found["alpha", WHOLE, "", "hat"].n == 4
    assert found["alpha", WHOLE, "", ""].n == 16
    assert {key[3] for key in found} == {"", "hat", "sombrero", "poor", "kind"}


def test_a_single_unit_has_a_percentage_and_no_alpha():
    study = visual_study({"hat": [5, 5, 4], "kind": [1, 1, 2]})
    found = scores(study)
    part = "task: visual_nature; reading: ordinal"
    assert found["percentage", part, "", "hat"].value == pytest.approx(100 / 3)
    assert ("alpha", part, "", "hat") not in found
    assert found["alpha", part, "", ""].value > 0.7
    drawn = evaluate_agreement(study=study, per=["attribute"], resamples=100)
    assert all(bool(row.intervals) == (row.attribute == "") for row in drawn), "a single one cannot be drawn"


def test_every_reading_of_the_scale_is_that_of_the_package():
    said = {f"word {n}": values for n, values in enumerate(([5, 4, 3], [1, 2, 1], [4, 4, 5], [3, 1, 2]))}
    found = scores(visual_study(said))
    data = np.array(list(said.values()), dtype=float).T
    for level in ("ordinal", "interval", "nominal"):
        read = data if level == "nominal" else np.where(data == 3, np.nan, data)
        domain = [1, 2, 3, 4, 5] if level == "nominal" else [1, 2, 4, 5]
        expected = krippendorff.alpha(reliability_data=read, value_domain=domain, level_of_measurement=level)
        value = found["alpha", f"task: visual_nature; reading: {level}", "", ""].value
        assert value == pytest.approx(expected), level


def test_how_biased_an_association_is_has_an_order_in_which_unsure_has_no_place():
    said = {("old", "grumpy"): [5, 4, 0], ("young", "merry"): [1, 1, 2], ("old", "wise"): [2, 3, 3]}
    study = bias_study(said)
    found = scores(study)
    assert counted_judgements(study, TaskKind.ASSOCIATION).count() == 9
    data = np.array(list(said.values()), dtype=float).T
    expected = krippendorff.alpha(
        reliability_data=np.where(data == 0, np.nan, data), level_of_measurement="ordinal"
    )
    assert found["alpha", "task: association; reading: ordinal", "", ""].value == pytest.approx(expected)
    assert found["percentage", "task: association; reading: nominal", "old", ""].n == 6
    assert scores(study, by="pool"), "there are pools, since it is about groups"
    before = digest(study)
    Response.objects.order_by("pk").first().delete()
    assert digest(study) != before
    Response.objects.all().delete()
    without = ratings.inputs_fingerprint(study, {"by": "none"})
    assert without == [[0, 0, 0]] * 4, "stored scores of before this kind are up to date"


def test_an_attribute_that_was_rated_alone_is_of_no_group():
    found = scores(rating_study({"hat": [4, 4, 1]}, {("Mexican", "poor"): [0, 1, 1]}))
    part = "task: offensiveness; reading: nominal"
    assert {key[2:]: row.n for key, row in found.items() if key[:2] == ("percentage", part)} == {
        ("", ""): 6,
        ("Mexican", ""): 3,
        ("", "hat"): 3,
        ("", "poor"): 3,
    }
    assert part.replace("nominal", "ordinal") in {key[1] for key in found}, "how offensive has an order"


def test_known_annotators_are_resampled_with_the_images_and_unknown_ones_are_not():
    study = depiction_study()
    known = scores(study, resamples=200)["alpha", WHOLE, "", ""]
    # of three people, one of nine draws is of a single one: no pair
    assert known.undefined == pytest.approx(200 / 9, abs=15)
    Response.objects.update(annotator=None)
    unknown = scores(study, resamples=200)["alpha", WHOLE, "", ""]
    assert unknown.value == pytest.approx(known.value)
    assert unknown.undefined == 0
    assert unknown.low <= unknown.value <= unknown.high


def test_ratings_of_people_who_are_not_identified_are_of_nobody():
    study = visual_study({"hat": [5, 5, 1], "kind": [1, 1, 5]})
    found = read_ratings(study, "visual_nature")
    assert set(found.table.raters) == {UNKNOWN_ANNOTATOR}
    assert set(found.identities) == {NULL}, "an attribute by itself is about no group"


def test_groups_of_annotators_are_compared_within_and_between():
    people = [factories.annotator(profile={"gender": said}) for said in ("woman", "woman", "man")]
    study = visual_study({"hat": [5, 5, 1], "kind": [1, 1, 5], "poor": [4, 4, 4]}, people=people)
    found = scores(study, by="gender")
    part = "task: visual_nature; reading: nominal"
    assert found["alpha", f"{part}; within: woman", "", ""].value == 1
    assert found["percentage", f"{part}; between: man and woman", "", ""].value == pytest.approx(100 / 3)
    assert ("cross_kappa", f"{part}; between: man and woman", "", "") in found
    of_all = {key[1] for key in found if key[0] == "fleiss_kappa" and not key[3]}
    assert of_all == {part, f"{part}; within: man", f"{part}; within: woman"}, "nominal, and not between"
    assert found["alpha", part, "", ""].value == scores(study)["alpha", part, "", ""].value


def test_only_tasks_about_groups_have_pools_and_only_images_have_boxes():
    study = depiction_study()
    words = factories.task(study)
    for values in ((5, 4), (1, 2)):
        unit = factories.attribute_unit(words)
        for value in values:
            factories.response(unit, values=[value])
    rows = evaluate_agreement(study=study, by="pool")
    assert {row.scope for row in rows if row.task == "visual_nature"} == {"all"}
    assert {row.scope for row in rows if row.task == "depiction"} >= {"all", "within"}
    assert {row.task for row in rows if row.box_pairs is not None} == {"depiction"}
    assert {(row.identity, row.attribute) for row in rows} == {("", "")}, "nothing else was asked for"
    assert {row.level for row in rows if row.fleiss_kappa is not None} == {"nominal"}
    assert len([row for row in rows if row.level == "ordinal"]) == 1


def test_annotators_are_in_a_pool_by_the_region_of_the_group_that_is_judged():
    said = {("Mexican", "hat"): {"inside": [1, 1, 0], "outside": [1, 0], "elsewhere": [1]}}
    within = [
        row for row in evaluate_agreement(study=prevalence_study(said), by="pool") if row.scope == "within"
    ]
    found = {row.group: (row.annotators, row.pairs) for row in within}
    assert found == {"in-region": (3, 3), "out-region": (2, 1), "neither pool": (1, 0)}


def draw(judgement, corners):
    box = dict(zip(("x0", "y0", "x1", "y1"), corners, strict=True))
    Box.objects.create(judgement=judgement, image_width=9, image_height=9, **box)


def test_boxes_agree_for_the_same_attribute_of_the_same_image():
    study = depiction_study()
    whole, shifted, half, apart = (0, 0, 2, 2), (1, 0, 3, 2), (0, 0, 1, 2), (5, 5, 6, 6)
    first, second, third, _ = study.tasks.get().units.order_by("pk")
    # for each of them what the first and the second annotator drew; "poor" was drawn by one alone
    drawn = {(first, "hat"): (whole, shifted), (second, "hat"): (whole, whole), (second, "poor"): (apart,)}
    for (unit, text), boxes in {**drawn, (third, "kind"): (whole, half)}.items():
        selected = Judgement.objects.filter(response__unit=unit, option__attribute__text=text, value=1)
        for judgement, corners in zip(selected.order_by("response"), boxes, strict=True):
            draw(judgement, corners)
    found = scores(study)
    expected = {
        ("", ""): ((1 / 3 + 1 + 1 / 2) / 3, 3),
        ("", "hat"): (2 / 3, 2),
        ("", "kind"): (1 / 2, 1),
        ("Mexican", ""): (2 / 3, 2),
        ("Nepali", ""): (1 / 2, 1),
    }
    stored = {key[2:]: (row.value, row.n) for key, row in found.items() if row.name == "box_iou"}
    assert stored == {key: (pytest.approx(value), n) for key, (value, n) in expected.items()}
    cells = read_box_agreement(study).cells
    assert cells.clusters.tolist() == [unit.image_id for unit in (first, second, third)]
    people = Response.objects.filter(unit=first).order_by("pk").values_list("annotator", flat=True)
    assert {(int(one), int(other)) for one, other in zip(cells.first, cells.second, strict=True)} == {
        tuple(people[:2])
    }
    unidentified(study)
    [row] = evaluate_agreement(study=study, clustered=True)
    assert set(row.intervals) >= {"percentage", "alpha", "box_iou"}


def test_where_nobody_drew_a_box_there_is_no_pair_of_boxes():
    [row] = evaluate_agreement(study=depiction_study())
    assert (row.box_pairs, row.box_iou) == (0, None)


def test_a_group_with_somebody_who_is_not_identified_has_no_number_of_people():
    people = [factories.annotator(profile={"origin": "Asia"}), None]
    study = visual_study({"hat": [5, 5]}, people=people, strata=["origin: Asia"] * 2)
    within = [row for row in evaluate_agreement(study=study, by="origin") if row.scope == "within"]
    assert {(row.group, row.annotators) for row in within} == {("Asia", None)}


def test_all_tasks_are_read_from_one_state_of_the_database(monkeypatch):
    within = []

    @contextmanager
    def noted():
        within.append("a snapshot")
        yield
        within.pop()

    monkeypatch.setattr("annotation.core.snapshots.snapshot", noted)
    monkeypatch.setattr(evaluation, "task_kinds", lambda study: within.copy())
    with pytest.raises(KeyError, match="a snapshot"):
        evaluate_agreement(study=factories.study())


def test_two_long_names_of_groups_stay_two_and_fit_where_they_are_stored():
    said = ["I would rather describe myself in very many words, " + end for end in ("first", "second")]
    people = [factories.annotator(profile={"gender": words}) for words in (*said, *said)]
    study = visual_study({"hat": [5, 5, 1, 4], "kind": [1, 1, 5, 2]}, people=people, strata=["any"] * 4)
    run = score_runs.request(
        study=study, metric="agreement", variant="corrected", parameters={"by": "gender"}
    )
    score_runs.compute_pending()
    parts = set(Score.objects.filter(run=run, part__contains="; ").values_list("part", flat=True))
    assert len({part for part in parts if "within" in part and "nominal" in part}) == 2
    assert max(map(len, parts)) <= 160
    assert shortened("n" * 40) == "n" * 40, "which fits"
    assert len(shortened("n" * 41)) == 40


def test_a_stored_run_keeps_intervals_and_is_stale_after_one_more_answer():
    study = depiction_study()
    run = score_runs.request(study=study, metric="agreement", variant="corrected", resamples=100)
    score_runs.compute_pending()
    stored = Score.objects.get(run=run, name="alpha", part=WHOLE, group=None, attribute=None)
    assert stored.low <= stored.value <= stored.high
    other = visual_study({"hat": [5, 5, 4]}, name="other")
    score_runs.request(study=other, metric="agreement", variant="corrected", resamples=100)
    score_runs.compute_pending()
    assert set(by_part(run)) == {WHOLE}
    assert by_part(run)[WHOLE]["alpha"] == stored, "and not that of an attribute or group"
    assert ratings.describe_rule(study, {}) == "every rating counts as it was given"
    before = digest(study)
    factories.response(factories.attribute_unit(factories.task(study)), values=[5])
    assert digest(study) != before


def test_who_people_say_they_are_counts_only_where_they_are_compared():
    people = [factories.annotator(profile={"gender": "woman"}) for _ in range(2)]
    study = visual_study({"hat": [5, 4]}, people=people, strata=["any"] * 2)
    factories.group("Mexican", region="Latin America")
    before = {by: digest(study, by=by) for by in ("none", "gender", "pool")}
    ProfileAnswer.objects.filter(annotator=people[0]).update(value="man")
    assert digest(study, by="none") == before["none"]
    assert digest(study, by="gender") != before["gender"]
    changed = {by: digest(study, by=by) for by in ("gender", "pool")}
    assert changed["pool"] != before["pool"], "who says where they live says it in the same profile"
    IdentityGroup.objects.update(region="Europe")
    assert digest(study, by="gender") == changed["gender"]
    assert digest(study, by="pool") != changed["pool"]


def test_who_is_in_which_group_is_asked_by_person_stratum_and_region():
    pk = factories.group("Mexican", region="Latin America").pk
    asked = []
    names, group_of_row = ratings.annotator_groups(
        lambda key: asked.append(key) or str(key[0]),
        np.array([7, UNKNOWN_ANNOTATOR, 7, 3]),
        ("any", "origin: Asia"),
        np.array([[1, pk], [0, -1], [1, pk], [0, -1]]),
    )
    assert asked == [[None, "any", ""], [3, "any", ""], [7, "origin: Asia", "Latin America"]]
    assert names == ("3", "7", "None")
    assert group_of_row.tolist() == [1, 2, 1, 0]


def test_a_group_of_annotators_that_there_is_not_is_refused():
    study = visual_study({"hat": [5]})
    with pytest.raises(ValueError, match=r"by none, gender, .*not by 'height'"):
        scores(study, by="height")
    with pytest.raises(ValueError, match="compared by gender, origin, pool; not by 'height'"):
        read_ratings(study, "visual_nature", by="height")
    with pytest.raises(ValueError, match=r"A visual_nature task .* so its annotators are in no pool"):
        read_ratings(study, "visual_nature", by="pool")
    assert read_ratings(study, "offensiveness", by="gender").groups == ("",), "of which there is none"
    with pytest.raises(ValueError, match="compared by gender, origin, pool; not by 'height'"):
        evaluate_agreement(study=factories.study(), by="height")
    with pytest.raises(ValueError, match="not per 'page'"):
        evaluate_agreement(study=factories.study(), per=["page"])


def test_queries_do_not_grow_with_answers():
    counted = []
    for words in (2, 12):
        study = visual_study({f"word {words} {n}": [5, 4, 1] for n in range(words)})
        known_raters(study)
        with CaptureQueriesContext(connection) as queries:
            scores(study, by="gender")
        counted.append(len(queries))
    assert counted[0] == counted[1]


def planted(reliability, *, raters=8, words=60, seed=0):
    """Annotators who know the true label with a known probability, and guess otherwise."""
    rng = np.random.default_rng(seed)
    labels = np.array([5, 4, 2, 1])
    truth = rng.choice(labels, words)
    said = np.where(rng.random((raters, words)) < reliability, truth, rng.choice(labels, (raters, words)))
    people = [factories.annotator(simulated=True) for _ in range(raters)]
    table = {f"word {n}": said[:, n].tolist() for n in range(words)}
    return visual_study(table, people=people, strata=["any"] * raters)


def test_the_interval_covers_a_planted_reliability():
    row = scores(planted(0.8), resamples=400)["alpha", "task: visual_nature; reading: nominal", "", ""]
    assert row.low <= 0.64 <= row.high
    assert row.high - row.low < 0.5


def command(*arguments):
    out = io.StringIO()
    call_command("agreement", *arguments, stdout=out, stderr=io.StringIO())
    return out.getvalue()


def test_the_command_keeps_its_columns_and_adds_what_is_asked_for():
    depiction_study(name="small")
    rows = list(csv.DictReader(io.StringIO(command("small", "--format", "csv", "--resamples", "0"))))
    present = ["task", "labels", "level", "scope", "group", "other", "units", "ratings", "pairs"]
    present += ["percentage", "alpha", "fleiss_kappa", "cross_kappa", "box_iou", "box_pairs"]
    assert list(rows[0]) == present
    more = list(
        csv.DictReader(
            io.StringIO(command("small", "--format", "csv", "--resamples", "100", "--per", "attribute"))
        )
    )
    assert list(more[0])[:15] == present
    assert [row["attribute"] for row in more] == ["", "hat", "kind", "poor", "sombrero"]
    assert float(more[0]["alpha_low"]) <= float(more[0]["alpha"]) <= float(more[0]["alpha_high"])
    assert {"Mexican", "Nepali"} <= set(command("small", "--per", "identity", "--resamples", "0").split())
    assert command("small", "--seed", "1", "--resamples", "100") != command("small", "--resamples", "100")
    with pytest.raises(CommandError, match="at least 100, or 0"):
        command("small", "--resamples", "5")


def test_an_attribute_on_two_pages_of_an_image_is_one_unit():
    study = depiction_study()
    task = study.tasks.get(kind=TaskKind.DEPICTION)
    before = scores(study)["alpha", WHOLE, "", "hat"].n
    image = task.units.earliest("pk").image
    factories.response(factories.page_unit(task, picture=image, page=2, texts=("hat",)), values=[1, 0])
    assert scores(study)["alpha", WHOLE, "", "hat"].n == before


def unidentified(study):
    Slot.objects.filter(study=study, state=SlotState.FILLED).update(annotator=None)
    Response.objects.filter(unit__task__study=study).update(annotator=None)


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize(("by", "resamples"), [("none", 100), ("gender", 100), ("pool", 100), ("none", 0)])
def test_agreement_is_the_same_whether_or_not_tendency_has_read_the_answers(
    known, by, resamples, monkeypatch
):
    study = depiction_study()
    if not known:
        unidentified(study)
    alone = scores(study, resamples=resamples, by=by)
    read = []
    depicted = tallies.read_depiction
    monkeypatch.setattr(
        tallies, "read_depiction", lambda *args, **kw: read.append(1) or depicted(*args, **kw)
    )
    with sharing_resamples():
        evaluate(study=study, metric="tendency", variant="corrected", resamples=resamples, seed=0)
        assert scores(study, resamples=resamples, by=by) == alone
        # people who are known are read one by one, and groups of them apart
        assert bool(read) == (known or by != "none")


def test_answers_that_came_after_tendency_was_computed_are_in_the_agreement():
    study = depiction_study()
    unidentified(study)
    with sharing_resamples():
        evaluate(study=study, metric="tendency", variant="corrected", resamples=100, seed=0)
        before = scores(study)
        first = Response.objects.filter(unit__task__study=study).earliest("pk")
        Response.objects.filter(pk=first.pk).update(withdrawn_at=timezone.now())
        after = scores(study)
    assert after == scores(study)
    assert after["percentage", WHOLE, "", ""].n < before["percentage", WHOLE, "", ""].n


def test_the_ratings_of_an_image_are_those_in_the_database():
    study = depiction_study()
    asked = Judgement.objects.filter(
        response__unit__task__study=study, response__current=True, option__attribute__isnull=False
    )
    said = Counter(asked.values_list("response__unit__image", "option__attribute", "value"))
    for known in (True, False):
        if not known:
            unidentified(study)
        table = read_ratings(study, "depiction").table
        found = Counter()
        for image, attribute, counts in zip(table.clusters, table.units, table.counts, strict=True):
            for value, number in enumerate(counts):
                found[image, attribute, value] += number
        assert +found == said
