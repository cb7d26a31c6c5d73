"""`manage.py demo`: a complete small study with answers that are marked as simulated (DESIGN §9)."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError
from django.db import connection
from django.utils import timezone

from annotation.core.leases import JobState
from annotation.demo import accounts, catalogue, pictures, plan, scenario, studies
from annotation.models import Axis, Source, Study
from generation import demo as generation_demo
from generation.models import Run
from generation.recipes.askings import ClassificationRecipe, CompletionRecipe
from generation.recipes.prompts import image_prompts
from generation.recipes.recipes import FAKE
from metrics.associations.askings import Setting
from metrics.associations.descriptors import DescriptorList, starter_list
from metrics.associations.judgements import LEVEL, LEXICON, SENTIMENT, plan_judgements
from metrics.associations.planning import plan_words
from metrics.associations.prompts import read_prompts
from metrics.associations.services import lists as association_lists
from metrics.associations.services.descriptors import with_groups
from metrics.candidates.services import lists as candidate_lists
from metrics.inference.drawing import RANDOM
from metrics.inference.sentences import OBJECTS, VERBS
from metrics.inference.services.planning import Choice, plan_inference
from metrics.score_runs import services as score_runs
from metrics.score_runs.metric import VARIANTS

# Key of the advisory lock; no other part of the program uses it.
_LOCK = 7_305_011
METRICS = ("tendency", "likelihood", "offensiveness")
_WORDS = 3
"""How many verbs and objects the fake inference model is asked with."""
ASSOCIATIONS = "demo-associations"
_DIMENSIONS = (Axis.AGE, Axis.RELIGION)
_DESCRIPTORS = 6
"""How many descriptors of each of these dimensions the fake language model is asked about."""


class Command(BaseCommand):
    help = (
        "Load the demonstration: drawn images, simulated answers with a known bias (both marked as such "
        "everywhere), an open study to try, and four logins. Running it again changes nothing."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        loaded_scenario = scenario.load()
        try:
            with _one_at_a_time():
                changes = self._load(loaded_scenario)
        except accounts.DemoRefused as error:
            raise CommandError(str(error)) from error
        if changes:
            self.stdout.write("Demonstration loaded: " + ", ".join(changes) + ".")
        else:
            self.stdout.write("The demonstration is already loaded: nothing to do.")
        self.stdout.write(
            "Its images are drawn, and the answers of study 'demo' and of its models are simulated."
        )
        print_logins(self)

    def _load(self, loaded_scenario: scenario.Scenario) -> list[str]:
        """Load what is missing and return a description of it."""
        users = accounts.make_accounts()
        associations = catalogue.make_catalogue(scenario=loaded_scenario)
        plans = plan.make(loaded_scenario)
        drawn = pictures.draw_all(plans=plans)
        images = pictures.store(drawn=drawn, prompts_of=image_prompts)
        lead, now = User.objects.get(username="lead"), timezone.now()
        finished = studies.make_finished(scenario=loaded_scenario, plans=plans, truth=drawn, by=lead, now=now)
        rating = studies.make_open(scenario=loaded_scenario, by=lead, now=now)
        source = loaded_scenario.source["name"]
        answers = generation_demo.answer_all(image_set=pictures.IMAGE_SET, source=source, by=lead)
        answers += self._infer(source, by=lead)
        answers += self._associate(by=lead)
        self._find_candidates()
        runs = self._score()
        counts = {
            "logins": len(users),
            "associations": associations,
            "drawn images": images,
            "studies": finished + rating,
            "simulated answers of models": answers,
            "score runs": runs,
        }
        return [f"{number} {noun}" for noun, number in counts.items() if number]

    def _infer(self, source: str, *, by: User) -> int:
        """Ask the fake inference model about the source; return the number of new answers."""
        choice = Choice(
            source=Source.objects.get(name=source),
            baseline=RANDOM,
            verbs=VERBS[:_WORDS],
            objects=OBJECTS[:_WORDS],
        )
        recipe = ClassificationRecipe(backend=FAKE, model=FAKE)
        plan = plan_inference(recipe=recipe, choice=choice, name="demo-inference")
        return generation_demo.answer(plan=plan, by=by)

    def _associate(self, *, by: User) -> int:
        """Ask the fake language model to complete words about some descriptors, and find its associations;
        return the number of new answers."""
        starter = starter_list()
        few = [one for axis in _DIMENSIONS for one in starter.on([axis]).descriptors[:_DESCRIPTORS]]
        listed = DescriptorList(tuple(few))
        plan = plan_words(
            recipe=CompletionRecipe(
                backend=FAKE, model=FAKE, temperature=0.7, times=10, options={"bias": 0.8}
            ),
            name=ASSOCIATIONS,
            settings=[Setting.SINGULAR],
            listed=listed,
            prompts=read_prompts(),
        )
        answers = generation_demo.answer(plan=with_groups(plan, listed), by=by)
        run = Run.objects.get(name=ASSOCIATIONS)
        found = association_lists.compute(association_lists.request(run=run).pk)
        if found is None:
            return answers
        for what, recipe in (
            (SENTIMENT, ClassificationRecipe(backend=LEXICON)),
            (LEVEL, CompletionRecipe(backend=FAKE, model=FAKE)),
        ):
            judging = plan_judgements(found, what, recipe, name=f"{ASSOCIATIONS}-{what}")
            answers += generation_demo.answer(plan=judging, by=by)
        association_lists.compute(association_lists.request(run=run).pk)
        return answers

    def _find_candidates(self) -> None:
        """Find the candidates in the answers of the fake language model."""
        found = candidate_lists.request(run=Run.objects.get(name=generation_demo.COMPLETIONS))
        candidate_lists.compute(list_id=found.pk)

    def _score(self) -> int:
        """Compute the scores that the dashboards show first; return the number of new runs."""
        study = Study.objects.get(name=studies.FINISHED)
        computed = 0
        for metric in METRICS:
            for variant in VARIANTS:
                run = score_runs.request(study=study, metric=metric, variant=variant)
                if run.state == JobState.PENDING:
                    score_runs.compute(run_id=run.pk)
                    computed += 1
                run.refresh_from_db()
                if run.error:
                    raise CommandError(
                        f"The demonstration is loaded, but {metric} ({variant}) could not be computed: "
                        f"{run.error}"
                    )
        return computed


@contextmanager
def _one_at_a_time() -> Iterator[None]:
    """Run one load at a time, so that a second one finds what the first created. SQLite has one writer at a
    time anyway."""
    if connection.vendor != "postgresql":
        yield
        return
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(%s)", [_LOCK])
        try:
            yield
        finally:
            cursor.execute("SELECT pg_advisory_unlock(%s)", [_LOCK])


def print_logins(command: BaseCommand) -> None:
    """Print the working logins of the demonstration, if any."""
    logins = accounts.working_logins()
    if not logins:
        return
    command.stdout.write("Logins of the demonstration (public passwords, for this computer only):")
    for login in logins:
        command.stdout.write(f"  {login.username:<12}{login.password:<18}{login.role}")
