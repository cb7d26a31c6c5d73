"""The demonstration's runs that ask models, answered by fakes (docs/demo.md).

The pages of these runs mark them as simulated. What the fakes say is made up and about nobody.
"""

from django.contrib.auth.models import User

from annotation.models import Image, ImageSet, Source
from generation.jobs.services import work
from generation.models import Run, RunState
from generation.plans import services as plans
from generation.plans.askings import Asking
from generation.plans.plan import Plan
from generation.recipes.askings import CompletionRecipe, DescriptionRecipe
from generation.recipes.limits import Limits
from generation.recipes.recipes import FAKE
from generation.runs import services as runs

COMPLETIONS = "demo-completions"
_PRICES = Limits(price_in=0.5, price_out=1.5)
"""Invented, so that the pages show a cost."""
_EXAMPLES = "(Italian, good cooks), (Kenyan, fast walkers)"
_QUESTION = "Describe the person in this picture in one sentence."


def answer_all(*, image_set: str, source: str, by: User) -> int:
    """Plan completions and descriptions and let the fakes answer; returns how many answers are new.
    `image_set`, `source`: of the demonstration."""
    pictures = ImageSet.objects.get(name=image_set)
    images = Image.objects.filter(image_set=pictures, index=1).order_by("pk").values_list("pk", flat=True)
    completions = plans.plan_askings(
        recipe=CompletionRecipe(backend=FAKE, model=FAKE, chat=False, temperature=0.5, times=3),
        name=COMPLETIONS,
        askings=[Asking(one, f"{_EXAMPLES}, ({one},") for one in _demonyms(source)],
        limits=_PRICES,
    )
    descriptions = plans.plan_askings(
        recipe=DescriptionRecipe(backend=FAKE, model=FAKE),
        name="demo-descriptions",
        askings=[Asking(f"image-{pk}", _QUESTION, image_id=pk) for pk in images],
        image_set=pictures,
        limits=_PRICES,
    )
    return answer(plan=completions, by=by) + answer(plan=descriptions, by=by)


def answer(*, plan: Plan, by: User) -> int:
    """Carry out a plan; returns how many answers are new."""
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


def _demonyms(source: str) -> list[str]:
    groups = Source.objects.get(name=source).associations.order_by("group__name").distinct()
    return list(groups.values_list("group__demonym", flat=True))
