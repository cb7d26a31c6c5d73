"""The demonstration's runs that ask models: a small one of each kind, answered by fakes (docs/demo.md).

The pages of these runs mark them as simulated. What the fakes say is made up and about nobody.
"""

from collections.abc import Sequence

from django.contrib.auth.models import User

from annotation.models import Image, ImageSet, Source
from generation.jobs.services import work
from generation.models import Run, RunState
from generation.plans import services as plans
from generation.plans.askings import Asking
from generation.recipes.askings import ClassificationRecipe, CompletionRecipe, DescriptionRecipe
from generation.recipes.limits import Limits
from generation.recipes.prompts import with_article
from generation.recipes.recipes import FAKE, AskingRecipe
from generation.runs import services as runs

PRICES = Limits(price_in=0.5, price_out=1.5)
"""Invented, so that the pages show a cost."""
_EXAMPLES = "(Italian, good cooks), (Kenyan, fast walkers)"
_QUESTION = "Describe the person in this picture in one sentence."
_PAIRS = 24


def answer_all(*, image_set: str, source: str, by: User) -> int:
    """Plan the runs and let the fakes answer; returns how many answers are new. `image_set`, `source`: of the
    demonstration."""
    pictures = ImageSet.objects.get(name=image_set)
    demonyms = _demonyms(source)
    images = Image.objects.filter(image_set=pictures, index=1).order_by("pk").values_list("pk", flat=True)
    completions = CompletionRecipe(backend=FAKE, model=FAKE, chat=False, temperature=0.5, times=3)
    return (
        _run(
            "demo-completions",
            completions,
            [Asking(f"{one}", f"{_EXAMPLES}, ({one},") for one in demonyms],
            by,
        )
        + _run(
            "demo-descriptions",
            DescriptionRecipe(backend=FAKE, model=FAKE),
            [Asking(f"image-{pk}", _QUESTION, image_id=pk) for pk in images],
            by,
            image_set=pictures,
        )
        + _run(
            "demo-classifications",
            ClassificationRecipe(backend=FAKE, model=FAKE),
            _pairs(source),
            by,
        )
    )


def _demonyms(source: str) -> list[str]:
    groups = Source.objects.get(name=source).associations.order_by("group__name").distinct()
    return list(groups.values_list("group__demonym", flat=True))


def _pairs(source: str) -> list[Asking]:
    """A few pairs of texts, each about an attribute and a group of the demonstration."""
    associations = Source.objects.get(name=source).associations.select_related("group", "attribute")
    return [
        Asking(
            key=f"{each.group.name}: {each.attribute.text}",
            prompt=_sentence(each.attribute.text),
            text_pair=_sentence(each.group.demonym),
            group_id=each.group_id,
            attribute_id=each.attribute_id,
        )
        for each in associations.order_by("group__name", "attribute__text")[:_PAIRS]
    ]


def _sentence(who: str) -> str:
    sentence = f"{with_article(who)} person bought a house."
    return sentence[0].upper() + sentence[1:]


def _run(
    name: str,
    recipe: AskingRecipe,
    askings: Sequence[Asking],
    by: User,
    *,
    image_set: ImageSet | None = None,
) -> int:
    plan = plans.plan_askings(recipe=recipe, name=name, askings=askings, image_set=image_set, limits=PRICES)
    ensured = runs.ensure(plan=plan, by=by)
    if not ensured.added and ensured.run.state == RunState.DONE:
        return 0
    runs.start(run=ensured.run, by=by)
    done = 0
    while Run.objects.filter(pk=ensured.run.pk, state=RunState.RUNNING).exists():
        made = work.work(run_id=ensured.run.pk)
        done += made
        if not made:
            break
    return done
