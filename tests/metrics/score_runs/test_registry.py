"""The registry is a list that can be read, and the documentation is made from it."""

import io

import pytest
from django.core.management import call_command

from annotation.models import Response, Study, TaskKind, Unit
from metrics.score_runs import registry
from metrics.score_runs.evaluation import evaluate
from metrics.score_runs.metric import VARIANTS
from metrics.templatetags.scores import CLUSTERINGS, first_clause
from tests import factories
from tests.conftest import ROOT
from tests.metrics import captioned, pulled, votes_cast
from tests.metrics.cast import depiction_study
from tests.metrics.machine_judges import judged


def test_the_documentation_holds_every_metric_as_the_registry_has_it():
    text = (ROOT / "docs" / "metrics.md").read_text(encoding="utf-8")
    assert text.endswith(registry.as_markdown()), (
        "run: manage.py scores --describe, and put it into docs/metrics.md"
    )
    out = io.StringIO()
    call_command("scores", "--describe", stdout=out)
    assert out.getvalue() == registry.as_markdown()


def compared_with(study, metric) -> dict[str, str]:
    """What it is compared with must be said: the study itself, or embeddings of another set. Annotators who
    are identified need no supposition."""
    if metric.name == "annotator_sensitivity":
        Response.objects.filter(unit__task__kind="depiction").update(annotator=None)
    if metric.name == "judge_combined":  # people answered a random part only
        first = Unit.objects.filter(task__study=study, image__index=1).values_list("pk", flat=True)
        judged.ask_people_about(study, TaskKind.DEPICTION, first)
    if metric.source == "machine judge":
        small = {"least": "2"}  # annotators have answered few items here
        return {"judge": "judge"} | {
            one.name: small[one.name] for one in metric.parameters if one.name in small
        }
    if metric.name == "pull_difference":
        second = pulled.embedding_run(study, image_set="other-pull")
        for name in ("Mexican", "Nepali"):
            pulled.group_images(second, name)
        return {"by": "image_set", "first": "drawn-pull", "second": "other-pull"}
    return {"against": study.name} if metric.name.endswith("_difference") else {}


def scored_by_people() -> Study:
    """A study that has something for each metric of people's answers."""
    study = depiction_study()
    captioned.of_study(study, captioned.SAID)
    run = pulled.embedding_run(study)
    for name, region in (("Nepali", "South Asia"), ("Mexican", "Latin America")):
        pulled.group_images(run, name, region=region)
    votes_cast.asked_of_pairs(study)
    for task in study.tasks.filter(kind__in=[TaskKind.PREVALENCE, TaskKind.OFFENSIVENESS]):
        second = votes_cast.association_unit(task, "Mexican", "sombrero")
        for value, who in ((1, "inside"), (0, "inside"), (0, "outside")):
            person = factories.annotator(profile=votes_cast.PEOPLE[who])
            factories.response(second, values=[value], who=person)
    unit = factories.attribute_unit(factories.task(study), "hat")
    for score in (5, 4, 4):
        factories.response(unit, values=[score])
    levels = factories.task(study, kind=TaskKind.ASSOCIATION)
    people = [factories.annotator() for _ in range(3)]
    for text, values in (("hat", [2, 4, 5]), ("sombrero", [1, 0, 2])):
        pair = votes_cast.association_unit(levels, "Mexican", text)
        for who, value in zip(people, values, strict=True):
            factories.response(pair, values=[value], who=who)
    # one that not all have rated yet
    factories.response(factories.attribute_unit(unit.task, "sombrero"), values=[5])
    for text in ("hat", "sombrero", "kind"):  # a second group that is reported, with one that was seen
        factories.association(
            group_name="Nepali",
            text=text,
            out_votes=(3, 0, 0),
            ratings=[1, 1, 1],
            mean=1.0,
            from_source=study.stereotype_source,
        )
    return study


def scored_by_every_metric() -> Study:
    """The same with a machine judge."""
    study = scored_by_people()
    judged.judge(
        study,
        TaskKind.DEPICTION,
        lambda option, *_: int(option.position % 2) if option.attribute_id else 0,
        name="judge",
        again=2,
    )
    return study


@pytest.fixture(scope="module")
def made(once):
    return once(scored_by_every_metric).made.pk


@pytest.fixture
def study(db, made) -> Study:
    return Study.objects.get(pk=made)


@pytest.mark.parametrize("metric", registry.metrics(), ids=lambda metric: metric.name)
@pytest.mark.parametrize("variant", VARIANTS)
def test_a_metric_gives_the_scores_it_names_and_intervals_where_it_says_so(study, metric, variant):
    chosen = compared_with(study, metric)
    found = evaluate(
        study=study, metric=metric.name, variant=variant, resamples=100, seed=0, parameters=chosen
    )
    names = {row.name for row in found.rows}
    assert names <= {name for name, _ in metric.names}
    assert names
    if metric.name != "annotator_sensitivity":  # whose bounds are the range of what is assumed
        assert metric.interval == any(row.low is not None for row in found.rows)
    assert found.version == metric.version


@pytest.mark.parametrize(
    "metric", [one for one in registry.metrics() if one.clustering], ids=lambda metric: metric.name
)
def test_a_metric_has_clustered_intervals_where_it_says_so(study, metric):
    chosen = compared_with(study, metric)
    found = evaluate(study=study, metric=metric.name, variant="corrected", parameters=chosen)
    assert found.intervals == "clustered"
    assert first_clause(metric.clustering) in CLUSTERINGS  # which pages translate
    bounds = [(row.low, row.value, row.high) for row in found.rows if row.low is not None]
    assert bounds
    assert all(low < high and low <= value <= high for low, value, high in bounds)


@pytest.mark.parametrize(
    "metric", [one for one in registry.metrics() if not one.variants_differ], ids=lambda one: one.name
)
def test_where_the_variants_are_said_to_be_the_same_they_are(study, metric):
    chosen = compared_with(study, metric)
    rows = [
        evaluate(
            study=study, metric=metric.name, variant=variant, resamples=0, seed=0, parameters=chosen
        ).rows
        for variant in VARIANTS
    ]
    assert rows[0] == rows[1]


@pytest.mark.parametrize("metric", registry.metrics(), ids=lambda metric: metric.name)
def test_every_metric_says_what_a_reader_must_know_before_quoting_it(metric):
    assert metric.caveats.endswith(".")
    assert f"- caveats: {metric.caveats}\n" in registry.as_markdown()


def test_names_are_unique():
    names = [metric.name for metric in registry.metrics()]
    assert len(set(names)) == len(names)


def test_an_unknown_metric_is_refused_with_the_nearest_and_the_list():
    with pytest.raises(ValueError, match="Did you mean 'consensus'"):
        registry.get("consensos")
    with pytest.raises(ValueError, match="There are: tendency, likelihood"):
        registry.get("zzz")
