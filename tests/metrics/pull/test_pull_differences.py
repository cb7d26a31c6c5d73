"""Pull of two models, image sets and studies, and of groups and regions against the others."""

import numpy as np
import pytest
from django.core.management import CommandError, call_command
from scipy.stats import false_discovery_control

from annotation.models import IdentityGroup, Study
from generation.models import Run, RunState
from generation.recipes.prompts import PromptSet
from metrics.pull import scores
from metrics.pull.data import read_embeddings
from metrics.pull.queries import check_offered
from metrics.score_runs import registry
from metrics.score_runs.evaluation import evaluate, inputs_digest
from metrics.score_runs.shared_resamples import sharing_resamples
from tests import factories
from tests.metrics import pulled

pytestmark = pytest.mark.django_db
REGIONS = {"Mexican": "Latin America", "Peruvian": "Latin America", "Nepali": "South Asia"}


def compared(study, metric="pull_difference", resamples=400, **parameters):
    found = evaluate(
        study=Study.objects.get(pk=study.pk),
        metric=metric,
        variant="corrected",
        resamples=resamples,
        seed=1,
        parameters=parameters,
    )
    return {(row.group, row.part, row.name): row for row in found.rows}


def embedded(name, leanings, *, study=None, seed=0, **given):
    """An embedding run of a set of its own: how far the default images of each group lean to stereotypes."""
    run = pulled.embedding_run(study, image_set=name)
    for place, (group, towards) in enumerate(leanings.items()):
        pulled.group_images(
            run, group, region=REGIONS[group], towards=towards, seed=seed + place, default_each=8, **given
        )
    return run


@pytest.fixture
def two():
    """A study with runs of two models: the first pulls Mexicans more, and Nepalis the same."""
    study = factories.study("a")
    return (
        study,
        embedded("model-a", {"Mexican": 0.9, "Nepali": 0.5}, study=study, seed=1),
        embedded("model-b", {"Mexican": 0.3, "Nepali": 0.5}, study=study, seed=11),
    )


def by_run(first, second):
    return {"by": "run", "first": str(first.pk), "second": str(second.pk)}


def leaning(towards):
    """x of pictures without noise: what `pulled` plants."""
    first, second = pulled.unit([towards, 1 - towards])
    return first - second


def test_a_model_that_pulls_more_is_found_within_its_interval(two):
    study, first, second = two
    found = compared(study, **by_run(first, second))
    planted = found["Mexican", "", "x"]
    # noise of length 0.3 shortens either side of the cosine
    truth = (leaning(0.9) - leaning(0.3)) / (1 + 0.3**2)
    assert planted.low <= truth <= planted.high
    assert planted.low > 0
    assert found["Mexican", "", "x_q"].value < 0.05
    assert found["Mexican", "", "s_d_s"].value > 0 > found["Mexican", "", "s_d_ns"].value
    same = found["Nepali", "", "x"]
    assert same.low <= 0 <= same.high
    assert found["Nepali", "", "x_q"].value > 0.05
    turned = compared(study, **by_run(second, first))
    assert turned["Mexican", "", "x"].value == pytest.approx(-planted.value)
    both = found["", "", "x"]
    assert (both.value, both.n) == (pytest.approx((planted.value + same.value) / 2), 2)
    region = found["", "region: Latin America", "x"]
    assert (region.value, region.n) == (pytest.approx(planted.value), 1)


def test_both_sides_are_what_the_plain_metric_gives(two):
    study, *runs = two
    found = compared(study, **by_run(*runs))
    for side, run in zip(("side: first", "side: second"), runs, strict=True):
        alone = compared(study, "pull", run=str(run.pk))
        for name in scores.COMPARED:
            for group in ("Mexican", "Nepali"):
                one, same = found[group, side, name], alone[group, "", name]
                assert (one.value, one.n) == (same.value, same.n)
                assert one.low <= one.value <= one.high
            for part, plain in ((side, ""), (f"region: South Asia; {side}", "region: South Asia")):
                one, same = found["", part, name], alone["", plain, name]
                assert (one.value, one.n) == (pytest.approx(same.value), same.n)
    first, second = (found["Mexican", side, "x"] for side in ("side: first", "side: second"))
    assert found["Mexican", "", "x"].value == pytest.approx(first.value - second.value)
    assert found["Mexican", "", "x"].n == first.n + second.n


def test_sets_and_studies_are_compared_by_their_newest_run(two):
    study, first, second = two
    expected = compared(study, **by_run(first, second))
    assert compared(study, by="image_set", first="model-a", second="model-b") == expected
    other = factories.study("other")
    elsewhere = embedded("elsewhere", {"Mexican": 0.1}, study=other, seed=21)
    found = compared(study, against="other")
    assert found == compared(study, **by_run(second, elsewhere)), "the newest of each"
    assert {group for group, *_ in found} == {"Mexican", ""}


def test_two_embeddings_of_one_set_are_of_the_same_pictures(two):
    """A second run of the same images, with the same vectors: no difference in any resample."""
    study, first, _ = two
    again = pulled.embedding_run(study, image_set="model-a")
    for one in first.embeddings.all():
        one.pk, one.run = None, again
        one.save()
    found = compared(study, **by_run(first, again))
    row = found["Mexican", "", "x"]
    assert (row.value, row.low, row.high) == (0, 0, 0)
    assert found["Mexican", "", "x_p"].value == 1


def test_a_group_that_lacks_a_set_on_one_side_is_left_out(two):
    study, first, second = two
    pulled.group_images(first, "Peruvian", region="Latin America")
    pulled.group_images(second, "Peruvian", sets=(PromptSet.DEFAULT,))
    assert {group for group, *_ in compared(study, resamples=0, **by_run(first, second))} == {
        "Mexican",
        "Nepali",
        "",
    }
    IdentityGroup.objects.filter(name="Mexican").update(name="Tongan")
    found = compared(study, resamples=0, **by_run(first, second))
    assert list(dict.fromkeys(group for group, *_ in found)) == ["Nepali", "Tongan", ""]
    bare = pulled.embedding_run(study, image_set="bare")
    pulled.group_images(bare, "Mexican", sets=(PromptSet.DEFAULT,))
    assert compared(study, **by_run(first, bare)) == {}


def test_without_resamples_there_are_values_and_no_p(two):
    study, first, second = two
    for metric, chosen in (("pull_difference", by_run(first, second)), ("pull_contrast", {})):
        rows = compared(study, metric, resamples=0, **chosen)
        assert rows
        assert all(row.low is None for row in rows.values())
        assert {name for *_, name in rows} == set(scores.COMPARED)


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        ({}, "Say what to compare: against=STUDY, or by=run or image_set"),
        ({"by": "gender", "first": "a", "second": "b"}, "by run, image_set; not by 'gender'"),
        ({"against": "a", "by": "run"}, "; one of the two"),
        ({"by": "run", "first": "1", "second": "1"}, "Say which two to compare by run"),
        ({"by": "run", "second": "1"}, "Say which two to compare by run"),
        ({"by": "run", "first": "newest", "second": "0"}, "'0' is not a finished run that embedded"),
        ({"by": "image_set", "first": "model-a", "second": "odd"}, "manage.py embed set:odd"),
        ({"against": "odd"}, "There is no study 'odd'"),
        ({"against": "bare"}, "manage.py generate bare --prompts pull"),
        ({"against": "a"}, "Name two runs or sets that differ"),
    ],
)
def test_what_cannot_be_compared_is_refused_with_the_cure(two, chosen, message):
    factories.study("bare")
    with pytest.raises(ValueError, match=message):
        compared(two[0], **chosen)


def test_the_newest_and_incomplete_choices_are_nobody_elses(two):
    study, lead = two[0], factories.user()
    study.leads.add(lead)

    def check(by, first="", second=""):
        check_offered(lead, study, {"against": "", "by": by, "first": first, "second": second})

    check("run", "newest")
    check("run")
    check("image_set")
    check_offered(lead, study, {"against": study.name, "by": "", "first": "", "second": ""})
    factories.study("of-others", leads=[factories.user()])
    with pytest.raises(ValueError, match="compare"):
        check_offered(lead, study, {"against": "of-others", "by": "", "first": "", "second": ""})
    for sides in (("0", ""), ("", "0")):
        with pytest.raises(ValueError, match="between your own studies"):
            check("run", *sides)


def test_two_encoders_are_refused(two):
    study, first, second = two
    for change, named in (
        ({"recipe": {**second.recipe, "model": "ViT-L-14"}}, "planted ViT-L-14"),
        ({"recipe": {**second.recipe, "pretrained": "laion"}}, "planted planted laion"),
        ({"recipe": second.recipe, "backend": "open_clip"}, "open_clip planted"),
    ):
        Run.objects.filter(pk=second.pk).update(**change)
        with pytest.raises(ValueError, match=rf"by {named}.*Embed both sets with the same one"):
            compared(study, **by_run(first, second))


def test_a_group_and_a_region_against_the_others():
    study = factories.study("a")
    embedded("one", {"Mexican": 0.9, "Peruvian": 0.85, "Nepali": 0.1}, study=study)
    found, alone = compared(study, "pull_contrast"), compared(study, "pull")
    values = {group: alone[group, "", "x"].value for group in REGIONS}
    region = found["", "region: Latin America", "x"]
    assert region.value == pytest.approx((values["Mexican"] + values["Peruvian"]) / 2 - values["Nepali"])
    truth = ((leaning(0.9) + leaning(0.85)) / 2 - leaning(0.1)) / (1 + 0.3**2)
    assert region.low <= truth <= region.high
    assert region.low > 0
    assert region.n == 2
    assert found["", "region: Latin America", "x_q"].value < 0.05
    assert found["", "region: South Asia", "x"].value == pytest.approx(-region.value)
    nepali = found["Nepali", "", "x"]
    assert (nepali.value, nepali.n) == (pytest.approx(-region.value), 3)
    assert nepali.high < 0
    itself, same = found["Mexican", "side: itself", "x"], alone["Mexican", "", "x"]
    assert (itself.value, itself.n, itself.low, itself.high) == (same.value, same.n, same.low, same.high)
    assert found["Mexican", "side: others", "x"].n == 2
    of_region, same = (
        found["", "region: Latin America; side: itself", "x"],
        alone["", "region: Latin America", "x"],
    )
    assert (of_region.value, of_region.n) == (pytest.approx(same.value), same.n)
    for parts in (
        [(group, "") for group in REGIONS],
        [("", f"region: {one}") for one in set(REGIONS.values())],
    ):
        p, q = ([found[*each, f"x_{end}"].value for each in parts] for end in "pq")
        assert q == pytest.approx(false_discovery_control(p))
    # groups are drawn on either side: the interval is as wide as that of pull
    assert [of_region.low, of_region.high] == pytest.approx([same.low, same.high], abs=0.03)


def test_groups_that_lean_alike_are_not_found():
    study = factories.study("a")
    embedded("one", dict.fromkeys(REGIONS, 0.5), study=study)
    found = compared(study, "pull_contrast")
    assert all(row.value > 0.05 for (*_, name), row in found.items() if name.endswith("_q"))


def test_the_draws_of_both_sides_of_a_contrast_are_independent():
    """The same draws of two groups on either side would cancel: their spread is that of both together."""
    study = factories.study("a")
    run = embedded("one", {"Mexican": 0.9, "Peruvian": 0.2}, study=study)
    for seed, (group, towards) in enumerate((("Japanese", 0.8), ("Thai", 0.2))):
        pulled.group_images(run, group, region="East Asia", towards=towards, seed=30 + seed)
    found = compared(study, "pull_contrast", resamples=2000)
    one, other, apart = (
        found["", f"region: Latin America{end}", "x"] for end in ("; side: itself", "; side: others", "")
    )
    widths = [row.high - row.low for row in (one, other, apart)]
    assert 0.8 * np.hypot(*widths[:2]) < widths[2] <= sum(widths[:2])


def test_a_single_group_has_no_others_and_no_embeddings_are_refused():
    study = factories.study("a")
    with pytest.raises(ValueError, match=r"manage\.py generate a --prompts pull"):
        compared(study, "pull_contrast")
    embedded("one", {"Mexican": 0.5}, study=study)
    assert compared(study, "pull_contrast") == {}


def test_a_change_on_either_side_makes_it_stale(two):
    study, first, second = two

    def digests():
        return (
            inputs_digest(study, registry.get("pull_difference"), by_run(first, second)),
            inputs_digest(study, registry.get("pull_contrast"), {"run": str(first.pk)}),
        )

    known = [digests()]
    for change in (
        lambda: pulled.group_images(second, "Peruvian", region="Latin America"),
        lambda: pulled.group_images(first, "Peruvian"),
        lambda: IdentityGroup.objects.filter(name="Nepali").update(region="Europe"),
    ):
        change()
        known.append(digests())
    assert len({difference for difference, _ in known}) == 4
    assert len({contrast for _, contrast in known}) == 3, "the other run is no part of it"


def test_pull_and_its_contrast_draw_the_same_embeddings_once(two, monkeypatch):
    study, first, _ = two
    chosen = {"run": str(first.pk)}
    apart = [compared(study, metric, 100, **chosen) for metric in ("pull", "pull_contrast")]
    read = []
    monkeypatch.setattr(scores, "read_embeddings", lambda run: read.append(run) or read_embeddings(run))
    with sharing_resamples():
        assert [compared(study, metric, 100, **chosen) for metric in ("pull", "pull_contrast")] == apart
        assert read == [first]
        pulled.group_images(first, "Peruvian", region="Latin America")
        assert ("Peruvian", "", "x") in compared(study, "pull_contrast", 100, **chosen)


def test_the_command_prints_it_and_says_which_embeddings(two, capsys):
    _, first, second = two
    call_command(
        "scores",
        "a",
        metric="pull_difference",
        set=["by=image_set", "first=model-a", "second=model-b"],
        resamples=100,
        format="table",
    )
    said = capsys.readouterr().out
    assert (
        f"(run {first.pk}) of the image set model-a against embeddings by planted (run {second.pk})" in said
    )
    assert "x_q" in said
    with pytest.raises(CommandError, match="Say what to compare"):
        call_command("scores", "a", metric="pull_difference")
    Run.objects.filter(pk=second.pk).update(state=RunState.CANCELLED)
    with pytest.raises(CommandError, match="is not a finished run"):
        call_command(
            "scores",
            "a",
            metric="pull_difference",
            set=["by=run", f"first={first.pk}", f"second={second.pk}"],
        )
