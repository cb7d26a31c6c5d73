"""The metric of pull: which embeddings it reads, what it makes of them, and that it is stored and stale."""

import json
from datetime import timedelta

import numpy as np
import pytest
from django.core.management import CommandError, call_command

from annotation.models import AuditEvent, IdentityGroup, ImageSet, TaskKind
from generation.core import vectors
from generation.jobs.services import work
from generation.models import Embedding, Run, RunState
from generation.plans import services as plans
from generation.recipes.prompts import PromptSet
from generation.recipes.recipes import EmbeddingRecipe, ImageRecipe
from generation.runs import services as runs
from metrics.pull.data import check_inputs, describe_embeddings, embedding_run, read_embeddings
from metrics.score_runs import registry
from metrics.score_runs.evaluation import evaluate, inputs_digest
from tests import factories
from tests.metrics import pulled

pytestmark = pytest.mark.django_db


def scores(study, resamples=0, **parameters):
    """{(part or group, score): row}"""
    found = evaluate(
        study=study,
        metric="pull",
        variant="corrected",
        resamples=resamples,
        seed=0,
        parameters=parameters,
    )
    return {(row.group or row.part, row.name): row for row in found.rows}


def digest(study, **parameters) -> str:
    return inputs_digest(study, registry.get("pull"), parameters)


def test_the_numbers_of_a_group_are_those_of_a_double_loop_over_its_images():
    study = factories.study()
    made = pulled.group_images(pulled.embedding_run(study), "Mexican", towards=0.8)
    d, s, ns = (made[one] for one in ("default", "stereotypical", "non_stereotypical"))
    found = scores(study)

    def mean(one, other):
        return np.mean([float(np.dot(a, b)) for a in one for b in other])

    expected = {"s_d_s": mean(d, s), "s_d_ns": mean(d, ns), "s_s_ns": mean(s, ns)}
    for name, value in expected.items():
        assert found["Mexican", name].value == pytest.approx(value, abs=1e-6)
    assert found["Mexican", "y"].value == found["Mexican", "s_s_ns"].value
    assert found["Mexican", "x"].value == pytest.approx(expected["s_d_s"] - expected["s_d_ns"], abs=1e-6)
    assert found["Mexican", "s_mean"].value == pytest.approx(np.mean(list(expected.values())), abs=1e-6)
    # 4 images of the default prompt; 2 attributes in 3 wordings, 2 images each, of either kind
    assert [found["Mexican", name].n for name in ("s_d_d", "s_d_s", "s_s_ns", "x")] == [4, 16, 24, 28]


def test_planted_pulls_are_recovered_within_their_intervals():
    study = factories.study()
    run = pulled.embedding_run(study)
    planted = {"Mexican": 0.9, "Peruvian": 0.6, "Nepali": 0.45}
    for seed, (name, towards) in enumerate(planted.items()):
        pulled.group_images(run, name, towards=towards, attributes=6, each=1, default_each=15, seed=seed)
    found = scores(study, resamples=200)
    # Noise around a direction keeps the direction of the mean and makes it shorter, by as much in every set.
    rng = np.random.default_rng(9)
    drawn = np.eye(pulled.DIM)[0] + 0.3 * rng.normal(size=(50_000, pulled.DIM)) / np.sqrt(pulled.DIM)
    shorter = (drawn[:, 0] / np.linalg.norm(drawn, axis=1)).mean()
    for name, towards in planted.items():
        lean = pulled.unit([towards, 1 - towards])
        truth = shorter**2 * (lean[0] - lean[1])
        row = found[name, "x"]
        assert row.low <= truth <= row.high
        assert found[name, "pull"].value == (truth > 0)


def test_regions_and_the_whole_are_means_over_groups_with_the_share_that_is_pulled():
    study, _ = pulled.pull_study()
    found = scores(study, resamples=100)
    regions = ["region: Latin America", "region: South Asia"]
    assert list(dict.fromkeys(of for of, _ in found)) == ["Mexican", "Nepali", "Peruvian", *regions, ""]
    latin = [found[name, "x"].value for name in ("Mexican", "Peruvian")]
    row = found["region: Latin America", "x"]
    assert row.value == pytest.approx(np.mean(latin))
    assert row.n == 2
    assert row.low < row.value < row.high
    # groups are drawn too: wider than what varies within them
    assert row.high - row.low > found["Mexican", "x"].high - found["Mexican", "x"].low
    share = found["", "pull"]
    assert (share.value, share.k, share.n) == (pytest.approx(2 / 3), 2, 3)
    assert share.low < share.value < share.high
    assert found["region: South Asia", "pull"].value == 0


def test_a_group_without_one_of_the_sets_and_one_without_a_region_are_left_out_where_they_must():
    study = factories.study()
    run = pulled.embedding_run(study)
    pulled.group_images(run, "Mexican", sets=(PromptSet.DEFAULT, PromptSet.STEREOTYPICAL))
    pulled.group_images(run, "Nepali")
    found = scores(study, resamples=100)
    assert {group for group, _ in found} == {"Nepali", ""}
    assert found["", "x"].n == 1


def test_the_same_embeddings_give_the_same_whatever_their_rows_are_called():
    study, run = pulled.pull_study()
    before = scores(study, resamples=100)
    again = pulled.embedding_run(study)
    for row in Embedding.objects.filter(run=run).order_by("-pk"):
        Embedding.objects.create(run=again, image=row.image, dim=row.dim, vector=row.vector)
    assert scores(study, resamples=100) == before
    assert scores(study, resamples=100, run=str(again.pk)) == before


def test_the_newest_finished_run_is_read_or_the_one_that_is_named():
    study, run = pulled.pull_study()
    other = pulled.embedding_run(image_set="other")
    pulled.group_images(other, "Mexican", towards=0.1, seed=8)
    # not made for the study: read only when it is named
    assert embedding_run(study) == run
    assert scores(study, run=str(other.pk))["Mexican", "pull"].value == 0
    newest = pulled.embedding_run(study, image_set="newest")
    pulled.group_images(newest, "Nepali", sets=(PromptSet.STEREOTYPICAL,))
    assert embedding_run(study) == run  # no pictures of default prompts
    with pytest.raises(ValueError, match="is not a finished run"):
        embedding_run(study, str(newest.pk))
    pulled.group_images(newest, "Mexican", towards=0.1, seed=8)
    assert embedding_run(study) == newest
    Run.objects.filter(pk=newest.pk).update(state=RunState.RUNNING)
    assert embedding_run(study) == run
    with pytest.raises(ValueError, match=f"'{newest.pk}' is not a finished run .* has {run.pk}; all runs"):
        embedding_run(study, str(newest.pk))
    for odd in ("x", "", "9" * 30, "9" * 5000):
        with pytest.raises(ValueError, match="is not a finished run"):
            embedding_run(study, odd)
    Run.objects.filter(pk=newest.pk).update(
        state=RunState.DONE, finished_at=run.finished_at - timedelta(hours=1)
    )
    assert embedding_run(study) == run, "it ended last"
    Run.objects.update(finished_at=run.finished_at)
    assert embedding_run(study) == newest, "of two that ended at once the later one"


def test_a_set_that_was_extended_for_a_study_is_the_studys_and_nobody_elses():
    study, other = factories.study("one"), factories.study("other")
    run = pulled.embedding_run(image_set="extended")
    pulled.group_images(run, "Mexican")
    AuditEvent.objects.create(what="run extended", study=study, details={"run": run.pk})
    assert (embedding_run(study), embedding_run(other)) == (run, None)


def test_a_set_that_a_task_shows_is_the_study_s_too():
    study = factories.study()
    run = pulled.embedding_run(image_set="shown")
    pulled.group_images(run, "Mexican")
    assert embedding_run(study) is None
    factories.task(study, kind=TaskKind.DEPICTION, image_set=run.image_set)
    assert embedding_run(study) == run


def test_embeddings_are_read_in_two_queries_and_one_group_at_a_time(django_assert_num_queries, monkeypatch):
    _, run = pulled.pull_study()
    unpacked = []
    unpack = vectors.unpack
    monkeypatch.setattr(
        vectors,
        "unpack",
        lambda stored, *, dim: unpacked.append(len(stored)) or unpack(stored, dim=dim),
    )
    with django_assert_num_queries(2):
        found = read_embeddings(run)
        first = next(found)
        assert unpacked == [4, 12, 12]
        rest = list(found)
    assert [first.group, *(each.group for each in rest)] == ["Mexican", "Peruvian", "Nepali"]
    assert first.sets[0].vectors.dtype == np.float32
    assert set(first.sets[0].prompts) == {"a Mexican person"}
    # three wordings of two attributes are two clusters
    assert len(set(first.sets[1].prompts)) == 2


def test_the_digest_names_the_embeddings_and_the_regions_and_nothing_else():
    study, run = pulled.pull_study()
    before = digest(study)
    assert digest(study) == before
    pulled.group_images(pulled.embedding_run(image_set="other"), "Mexican")
    assert digest(study) == before
    one = Embedding.objects.filter(run=run).first()
    one.delete()
    without = digest(study)
    assert without != before
    IdentityGroup.objects.filter(name="Nepali").update(region="East Asia")
    elsewhere = digest(study)
    assert elsewhere != without
    IdentityGroup.objects.filter(name="Nepali").update(name="Nepalese")
    assert digest(study) != elsewhere
    assert digest(factories.study()) != before


def test_the_command_prints_them_with_the_embeddings_they_are_of(capsys):
    study, run = pulled.pull_study(name="pulls")
    call_command("scores", "pulls", metric="pull", resamples=100, format="json")
    told = json.loads(capsys.readouterr().out)
    assert told["rule"] == f"embeddings by planted (run {run.pk}) of the image set drawn-pull"
    assert told["parameters"] == {"run": "newest"}
    Run.objects.filter(pk=run.pk).update(recipe={**run.recipe, "model": ""}, backend="own")
    ImageSet.objects.update(drawn=True)
    assert describe_embeddings(study, {"run": "newest"}) == (
        f"embeddings by own (run {run.pk}) of the image set drawn-pull, DRAWN PICTURES, no model's output"
    )
    whole = [row for row in told["rows"] if not row["identity"] and not row["part"]]
    assert {row["score"] for row in whole} == {name for name, _ in registry.get("pull").names}


def test_a_study_without_embeddings_is_told_how_to_make_them():
    study = factories.study("empty")
    assert describe_embeddings(study, {"run": "newest"}) == "no embeddings of pictures for pull"
    with pytest.raises(ValueError, match="There are no embeddings"):
        check_inputs(study, {"run": "newest"})
    with pytest.raises(CommandError, match=r"manage.py generate empty --prompts pull; .* embed SET"):
        call_command("scores", "empty", metric="pull")


def test_pictures_that_were_made_by_a_run_for_the_study_are_found():
    """From a plan to a score, with the backends that draw and that see colours."""
    study = factories.study(stereotype_source=factories.source("votes"))
    for text in ("hat", "sombrero"):
        factories.association(text=text, out_votes=(3, 0, 0), from_source=study.stereotype_source)
    factories.association(
        group_name="Nepali", text="prayer", out_votes=(3, 0, 0), from_source=study.stereotype_source
    )
    groups = [factories.group("Mexican"), factories.group("Nepali")]
    recipe = ImageRecipe(
        backend="fake",
        model="fake",
        width=32,
        height=32,
        images_per_prompt=2,
        prompt_sets=("default", "stereotypical", "non_stereotypical"),
    )
    pictures = runs.ensure(plan=plans.plan_images(recipe=recipe, groups=groups, study=study), by=None).run
    runs.start(run=pictures, by=None)
    work.work(run_id=pictures.pk)
    seen = EmbeddingRecipe(backend="fake", model="fake")
    reading = plans.plan_captions_or_embeddings(recipe=seen, image_set=pictures.image_set)
    embedded = runs.ensure(plan=reading, by=None).run
    runs.start(run=embedded, by=None)
    work.work(run_id=embedded.pk)
    with pytest.raises(ValueError, match="is not a finished run"):
        embedding_run(study, str(pictures.pk))
    told = describe_embeddings(study, {"run": "newest"})
    assert told.startswith(f"embeddings by fake (run {embedded.pk}) ")
    found = scores(study, resamples=100)
    assert {group for group, _ in found} == {"Mexican", "Nepali", ""}
    assert found["Mexican", "x"].low <= found["Mexican", "x"].value <= found["Mexican", "x"].high
