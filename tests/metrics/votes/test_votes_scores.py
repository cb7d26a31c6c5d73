"""Known stereotypes by pool and threshold, from the source and from answers (PROTOCOL §3)."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from annotation.models import Association, IdentityGroup, ProfileAnswer, Response, Slot, Study, TaskKind
from metrics.score_runs import registry
from metrics.score_runs.evaluation import evaluate, inputs_digest
from metrics.votes.data.own_answers import read_prevalence
from tests import factories
from tests.metrics.votes_cast import (
    PEOPLE,
    association_unit,
    association_units,
    prevalence_study,
    votes_study,
)

pytestmark = pytest.mark.django_db


def scores(study, metric, resamples=0, seed=0):
    study = Study.objects.get(pk=study.pk)
    found = evaluate(study=study, metric=metric, variant="corrected", resamples=resamples, seed=seed)
    return {(row.group, row.attribute, row.part, row.name): row for row in found.rows}


def counts(found, section="", group=""):
    """{(pool, t): (k, n)} of a section."""
    return {
        part.removeprefix(section).removeprefix("; "): (row.k, row.n)
        for (of, attribute, part, name), row in found.items()
        if name == "stereotypes" and of == group and not attribute and part.startswith(section or "pool")
    }


def test_every_pool_and_threshold_of_the_whole_a_region_and_a_group():
    found = scores(votes_study(), "stereotypes")
    assert counts(found) == {
        "pool: in-region, t=1": (4, 6),
        "pool: in-region, t=2": (3, 6),
        "pool: in-region, t=3": (1, 6),
        # nobody voted for 'kind' out of the region
        "pool: out-region, t=1": (4, 5),
        "pool: out-region, t=2": (3, 5),
        "pool: out-region, t=3": (1, 5),
        "pool: both, t=1": (2, 5),
        "pool: both, t=2": (1, 5),
        "pool: both, t=3": (0, 5),
    }
    assert counts(found, "region: Latin America")["pool: both, t=1"] == (2, 4)
    assert counts(found, group="Mexican")["pool: in-region, t=2"] == (2, 3)
    row = found["Mexican", "", "pool: in-region, t=2", "share"]
    assert (row.value, row.k, row.n) == (pytest.approx(2 / 3), 2, 3)


def test_a_pool_without_votes_has_no_number_which_is_not_zero():
    found = scores(votes_study(), "stereotypes")
    assert ("Nepali", "", "pool: in-region, t=1", "stereotypes") in found
    assert ("Nepali", "", "pool: out-region, t=1", "stereotypes") not in found
    assert ("Nepali", "", "pool: both, t=1", "stereotypes") not in found


def test_a_group_without_a_region_is_in_no_region_and_in_the_whole():
    found = scores(votes_study(), "stereotypes")
    regions = {part.split(";")[0] for _, _, part, _ in found if part.startswith("region")}
    assert regions == {"region: Latin America", "region: South Asia"}
    assert ("Atlantean", "", "pool: out-region, t=2", "share") in found


def test_a_study_without_a_source_has_no_rows_and_another_source_does_not_count():
    assert scores(factories.study(), "stereotypes") == {}
    study = votes_study()
    before = counts(scores(study, "stereotypes"))
    factories.association(group_name="Mexican", text="loud", from_source=factories.source("other"))
    assert counts(scores(study, "stereotypes")) == before


def test_shares_have_seeded_intervals_that_contain_them_and_counts_have_none():
    first, again, other = (
        scores(votes_study() if not Study.objects.exists() else Study.objects.get(), "stereotypes", 200, seed)
        for seed in (1, 1, 2)
    )
    assert first == again
    assert first != other
    for (_, _, _, name), row in first.items():
        if name == "share":
            assert row.low <= row.value <= row.high
        else:
            assert row.low is None


@pytest.mark.parametrize("metric", ["stereotypes", "attribute_offensiveness"])
def test_the_digest_changes_with_every_vote_and_with_a_group_that_moves(metric):
    study = votes_study()
    entry = registry.get(metric)
    seen = {inputs_digest(study, entry)}
    one = Association.objects.get(group__name="Mexican", attribute__text="poor")
    for field in ("in_unsure", "out_nonstereotypical"):
        Association.objects.filter(pk=one.pk).update(**{field: 2})
        seen.add(inputs_digest(study, entry))
    IdentityGroup.objects.filter(name="Mexican").update(region="North America")
    seen.add(inputs_digest(study, entry))
    assert len(seen) == 4


def test_votes_that_change_places_change_the_digest():
    study, entry = votes_study(), registry.get("stereotypes")
    before = inputs_digest(study, entry)
    poor, festive = (
        Association.objects.get(group__name="Mexican", attribute__text=text) for text in ("poor", "festive")
    )
    Association.objects.filter(pk=poor.pk).update(in_stereotypical=festive.in_stereotypical)
    Association.objects.filter(pk=festive.pk).update(in_stereotypical=poor.in_stereotypical)
    assert inputs_digest(study, entry) != before


SAID = {
    ("Mexican", "poor"): {"inside": [1, 1, 0], "outside": [1, -1, 0], "elsewhere": [1], "silent": [1]},
    ("Mexican", "tall"): {"inside": [0, 0, 0], "outside": [1, 1, 1]},
    ("Peruvian", "poor"): {"inside": [1, 1, 1], "outside": [1, 1, -1]},
}


def test_only_what_decides_the_pools_makes_known_stereotypes_stale():
    study, entry = prevalence_study(SAID), registry.get("prevalence")
    before = inputs_digest(study, entry)
    residence = ProfileAnswer.objects.filter(field="residence").first()
    ProfileAnswer.objects.create(annotator=residence.annotator, field="gender", value="woman")
    assert inputs_digest(study, entry) == before
    ProfileAnswer.objects.filter(pk=residence.pk).update(value="elsewhere")
    moved = inputs_digest(study, entry)
    assert moved != before
    IdentityGroup.objects.filter(name="Mexican").update(region="North America")
    assert inputs_digest(study, entry) != moved


def test_answers_are_counted_by_the_pool_that_profiles_tell():
    found = scores(prevalence_study(SAID), "prevalence")
    said = {
        (part, name): row.k
        for (group, text, part, name), row in found.items()
        if (group, text) == ("Mexican", "poor")
    }
    assert said == {
        ("pool: in-region", "stereotypical"): 2,
        ("pool: in-region", "non_stereotypical"): 1,
        ("pool: in-region", "unsure"): 0,
        ("pool: out-region", "stereotypical"): 1,
        ("pool: out-region", "non_stereotypical"): 1,
        ("pool: out-region", "unsure"): 1,
        ("pool: neither", "stereotypical"): 2,
        ("pool: neither", "non_stereotypical"): 0,
        ("pool: neither", "unsure"): 0,
    }
    assert found["Mexican", "poor", "pool: neither", "stereotypical"].n == 2
    assert counts(found) == counts(found, "region: Latin America")
    assert counts(found)["pool: in-region, t=2"] == (2, 3)
    assert counts(found)["pool: out-region, t=2"] == (2, 3)
    assert counts(found)["pool: both, t=2"] == (1, 3)


def asked_of_many(people=None):
    """Thirty associations that three people of either pool judged: the same six, or new ones each time."""
    study = factories.study()
    task = factories.task(study, kind=TaskKind.PREVALENCE, strata=("any",) * 6)
    factories.group("Mexican", region="Latin America")
    said = []
    for unit in association_units(task, [("Mexican", f"trait {number:02}") for number in range(30)]):
        for place, (kind, value) in enumerate([("inside", v) for v in (1, 1, 0)] + [("outside", 0)] * 3):
            who = people[place] if people else factories.annotator(profile=PEOPLE[kind])
            said.append((unit, [value], who))
    factories.responses(said)
    return study


def test_shares_of_answers_are_less_sure_where_they_all_come_from_few_people():
    six = [factories.annotator(profile=PEOPLE[kind]) for kind in ("inside",) * 3 + ("outside",) * 3]
    widths = []
    for people in (six, None):
        study = asked_of_many(people)
        found = scores(study, "prevalence", 200)
        assert found == scores(study, "prevalence", 200)
        row = found["Mexican", "", "pool: in-region, t=2", "share"]
        assert (row.value, row.k, row.n) == (1, 30, 30)
        assert found["Mexican", "", "pool: out-region, t=1", "share"].high == 0, "nobody knew of any"
        assert found["Mexican", "", "pool: in-region, t=2", "stereotypes"].low is None
        widths.append(row.high - row.low)
    assert widths[0] > 2 * widths[1] > 0


def test_answers_of_people_whom_nobody_knows_are_a_cluster_each():
    study = asked_of_many()
    known = scores(study, "prevalence", 200)["Mexican", "", "pool: in-region, t=2", "share"]
    here = ProfileAnswer.objects.filter(field="residence", value="Latin America").values("annotator")
    Slot.objects.filter(responses__annotator__in=here).update(stratum="residence: Latin America")
    Response.objects.update(annotator=None)
    unknown = scores(study, "prevalence", 200)["Mexican", "", "pool: in-region, t=2", "share"]
    assert unknown.low == pytest.approx(known.low, abs=0.1)
    assert (unknown.k, unknown.n) == (known.k, known.n)


def test_people_of_no_pool_give_no_share_and_no_interval():
    found = scores(prevalence_study({("Mexican", "poor"): {"elsewhere": [1, 1]}}), "prevalence", 200)
    assert {part for _, _, part, _ in found} == {"pool: neither"}


def test_a_draw_does_not_depend_on_the_other_groups():
    study = prevalence_study(SAID)
    before = scores(study, "prevalence", 200)["Mexican", "", "pool: in-region, t=2", "share"]
    unit = association_unit(study.tasks.get(), "Aztec", "wet")
    factories.response(unit, values=[1], who=factories.annotator(profile=PEOPLE["inside"]))
    assert scores(study, "prevalence", 200)["Mexican", "", "pool: in-region, t=2", "share"] == before


def test_what_the_slot_was_reserved_for_decides_where_nobody_knows_the_annotator():
    study = prevalence_study({("Mexican", "poor"): {"silent": [1]}})
    Slot.objects.update(stratum="residence: Latin America")
    found = scores(study, "prevalence")
    assert found["Mexican", "poor", "pool: in-region", "stereotypical"].k == 1
    Slot.objects.update(stratum="identity_region: Latin America and residence: North America")
    found = scores(study, "prevalence")
    assert found["Mexican", "poor", "pool: out-region", "stereotypical"].k == 1


def test_the_digest_changes_when_somebody_moves():
    study, entry = prevalence_study(SAID), registry.get("prevalence")
    before = inputs_digest(study, entry)
    ProfileAnswer.objects.filter(value="Europe").update(value="Latin America")
    assert inputs_digest(study, entry) != before


def test_the_queries_do_not_grow_with_the_answers():
    study = prevalence_study(SAID)
    with CaptureQueriesContext(connection) as few:
        read_prevalence(study)
    task = study.tasks.get()
    for number in range(8):
        unit = association_unit(task, "Mexican", f"trait {number}")
        factories.response(unit, values=[1], who=factories.annotator(profile={"residence": "Latin America"}))
    with CaptureQueriesContext(connection) as many:
        assert len(read_prevalence(study).pairs) == 11
    assert len(many) == len(few) == 2
