"""A release, imported into an empty installation, gives the same scores and the same agreement."""

import math
from dataclasses import asdict, replace

import pytest
from django.apps import apps
from django.contrib.auth import get_user_model
from django.utils import timezone

from annotation.demo import accounts, catalogue, pictures, plan, scenario, studies
from annotation.models import Annotator, Box, Judgement, ProfileAnswer, Study
from annotation.releases.reading import read_release
from annotation.releases.request import ReleaseOptions
from annotation.releases.services import bundle, importing
from generation.recipes.prompts import image_prompts
from metrics.agreement.scores.evaluation import evaluate_agreement
from metrics.score_runs import registry
from metrics.score_runs.evaluation import evaluate
from metrics.score_runs.metric import VARIANTS
from tests import factories
from tests.metrics.cast import depiction_study, visual_study
from tests.metrics.votes_cast import (
    PEOPLE,
    asked_of_pairs,
    bias_study,
    prevalence_study,
    rating_study,
    votes_study,
)

pytestmark = pytest.mark.django_db
_KEYS = {"group_id", "attribute_id", "identity_id"}


def everything(study: Study, *, resamples: int = 0, by=(None, "gender", "origin", "pool")) -> dict:
    """Every number that the study gives, or why it gives none, without keys of rows in the database."""
    found = {}
    for metric in registry.metrics():
        # where they do not differ, test_registry.py sees that they do not
        for variant in VARIANTS if metric.variants_differ else VARIANTS[:1]:
            try:
                scored = evaluate(
                    study=study, metric=metric.name, variant=variant, resamples=resamples, seed=3
                )
            except ValueError as error:
                found[metric.name, variant] = str(error)
                continue
            found[metric.name, variant] = [_known(asdict(row)) for row in scored.rows]
    for axis in by:
        found["agreement", axis] = [
            _known(asdict(row))
            for row in evaluate_agreement(
                study=study, by=axis, per=("attribute", "identity"), resamples=resamples
            )
        ]
    return found


def _known(row: dict) -> dict:
    return {name: value for name, value in row.items() if name not in _KEYS}


def same(first, second) -> bool:
    """Numbers may differ in the last digit, since sums are made in another order."""
    if isinstance(first, dict):
        return first.keys() == second.keys() and all(same(first[key], second[key]) for key in first)
    if isinstance(first, list | tuple):
        return len(first) == len(second) and all(map(same, first, second))
    if isinstance(first, float) and isinstance(second, float):
        return first == second or math.isclose(first, second, rel_tol=1e-12, abs_tol=1e-12)
    return bool(first == second)


def there_and_back(study: Study, folder, **wanted) -> Study:
    bundle.write(study=study, path=folder, by=None, options=ReleaseOptions(**wanted))
    clear()
    imported = importing.import_release(
        release=read_release(folder), name="", progress=lambda step, done, total: None
    )
    assert imported.created["studies"] == 1
    return Study.objects.get()


def clear() -> None:
    """An empty installation again: what hangs on others goes first."""
    order = (
        *("Box", "Judgement", "Response", "Slot", "Skip", "Option", "Unit", "Consent", "Enrolment"),
        *("Invitation", "ProfileAnswer", "Annotator", "AuditEvent", "ConsentText", "Task"),
    )
    models = {model.__name__: model for model in apps.get_app_config("annotation").get_models()}
    for name in order:
        models[name].objects.all().delete()
    Study.objects.all().delete()
    for name in ("Image", "ImageSet", "Association", "Source", "Attribute", "IdentityGroup"):
        models[name].objects.all().delete()
    get_user_model().objects.all().delete()


def depiction() -> Study:
    study = depiction_study(name="live")
    who = list(Annotator.objects.order_by("pk"))
    hats = Judgement.objects.filter(option__attribute__text="hat", value=1)
    for place, judgement in enumerate(hats):
        Box.objects.create(
            judgement=judgement,
            x0=10 + place,
            y0=20.25,
            x1=110.5,
            y1=220 - place,
            image_width=512,
            image_height=512,
        )
    for one, gender in zip(who, ("woman", "woman", "man"), strict=True):
        ProfileAnswer.objects.create(annotator=one, field="gender", value=gender, may_publish=True)
    return study


def visual() -> Study:
    return visual_study({"hat": [5, 4, 4], "kind": [1, 2, 3], "poor": [5, 5, 1]}, name="live", visual_rule=2)


def visual_by_mean() -> Study:
    return visual_study(
        {"hat": [5, 4, 4], "kind": [1, 2, 3], "poor": [5, 5, 1]}, name="live", visual_mean=3.6
    )


def prevalence() -> Study:
    study = prevalence_study(
        {
            ("Mexican", "poor"): {
                "inside": [1, 1, 0],
                "outside": [1, 0, -1],
                "elsewhere": [0],
                "silent": [1],
            },
            ("Peruvian", "kind"): {"inside": [0, 1], "outside": [1, 1], "elsewhere": [0, -1], "silent": [0]},
        },
        name="live",
    )
    ProfileAnswer.objects.update(may_publish=True)
    return study


def ratings() -> Study:
    study = rating_study({"poor": [4, 3, 1], "kind": [-1, -1, 0]}, {("Mexican", "poor"): [4, 2, 2]})
    Study.objects.filter(pk=study.pk).update(name="live")
    return Study.objects.get(pk=study.pk)


def biased() -> Study:
    return bias_study({("old", "grumpy"): [5, 4, 0], ("young", "merry"): [1, 1, 2]}, name="live")


def of_pairs() -> Study:
    study = votes_study(name="live")
    asked_of_pairs(study)
    asked_of_pairs_again(study)
    ProfileAnswer.objects.update(may_publish=True)
    return study


def asked_of_pairs_again(study: Study) -> None:
    """A second person of either pool, so that neither stands alone."""
    for task in study.tasks.all():
        for unit in task.units.all():
            for who in ("inside", "outside"):
                slot = unit.slots.filter(state="open")
                if slot.exists():
                    factories.response(unit, values=[1], who=factories.annotator(profile=PEOPLE[who]))


@pytest.mark.parametrize("cast", [depiction, visual, visual_by_mean, prevalence, ratings, biased, of_pairs])
def test_every_number_comes_out_the_same(cast, tmp_path):
    study = cast()
    by = (None, "pool") if cast is prevalence else (None,)
    before = everything(study, by=by)
    assert any(rows and not isinstance(rows, str) for rows in before.values())
    after = everything(there_and_back(study, tmp_path / "r", k=2), by=by)
    for key, rows in before.items():
        assert same(rows, after[key]), key


def test_agreement_by_what_is_told_in_full_is_the_same(tmp_path):
    study = depiction()
    who = factories.annotator(profile={"gender": "man"})
    ProfileAnswer.objects.filter(annotator=who).update(may_publish=True)
    unit = study.tasks.get().units.get(position=1)
    slot = unit.slots.create(study=study, index=3, stratum="any", queue=10_000)
    assert slot.pk
    factories.response(unit, values=[1, 1, 0, 0, 0], who=who)
    before = everything(study, by=("gender",))
    after = everything(there_and_back(study, tmp_path / "r", k=2), by=("gender",))
    assert same(before, after)
    assert any(row["group"] == "woman" for row in after["agreement", "gender"])


def test_where_nobody_is_known_even_the_intervals_are_the_same(tmp_path):
    study = visual_study({"hat": [5, 4, 4], "kind": [1, 2, 3], "poor": [5, 5, 1]}, name="live")
    before = everything(study, resamples=100, by=(None,))
    after = everything(there_and_back(study, tmp_path / "r"), resamples=100, by=(None,))
    assert same(before, after)


def test_the_demonstration_comes_back_with_its_pictures(tmp_path):
    whole = scenario.load()
    # of two regions: with all its groups the demonstration says no more here, and takes three times as long
    groups = [group for group in whole.groups if group.region in ("South Asia", "Europe")]
    story = replace(whole, groups=tuple(groups))
    accounts.make_accounts()
    catalogue.make_catalogue(scenario=story)
    plans = plan.make(story)
    drawn = pictures.draw_all(plans=plans)
    pictures.store(drawn=drawn, prompts_of=image_prompts)
    lead = get_user_model().objects.get(username="lead")
    studies.make_finished(scenario=story, plans=plans, truth=drawn, by=lead, now=timezone.now())
    study = Study.objects.get()
    before = everything(study, by=(None,))
    after_all = there_and_back(study, tmp_path / "r", images=True, with_text=True)
    assert after_all.simulated
    assert same(before, everything(after_all, by=(None,)))
    assert Annotator.objects.filter(simulated=True).count() == Annotator.objects.count() == 12
