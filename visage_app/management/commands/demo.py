"""`manage.py demo`: a complete small study with answers that are marked as simulated (DESIGN §9)."""

import fcntl
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError
from django.db import connection
from django.utils import timezone

from annotation.core.leases import JobState
from annotation.demo import accounts, catalogue, names, pictures, plan, scenario, studies
from annotation.models import Study
from generation.recipes.prompts import image_prompts
from metrics import demo as metrics_demo
from metrics.score_runs import freshness
from metrics.score_runs import services as score_runs
from metrics.score_runs.metric import VARIANTS
from metrics.score_runs.shared_resamples import sharing_resamples

# Key of the advisory lock; no other part of the program uses it.
_LOCK = 7_305_011
METRICS = ("tendency", "likelihood", "offensiveness")
"""Computed in both variants."""
SEEN_FIRST = (
    "consensus",
    "visual_rules",
    "agreement",
    "tendency_contrast",
    "offensiveness_contrast",
    "tendency_ranking",
)
"""What else the first pages of a study show: whoever walks in shall not wait for it."""
JUDGE_METRICS = {
    metrics_demo.IMAGE_JUDGE: ("judge_agreement", "judge_alternative_annotator", "judge_scores"),
    metrics_demo.ATTRIBUTE_JUDGE: ("judge_agreement", "judge_scores"),
}
"""Machine judge -> what is computed of it. Too few attributes for tests of annotators: each rated ten."""


class Command(BaseCommand):
    help = (
        "Load the demonstration: drawn images, simulated answers with a known bias (both marked as such "
        "everywhere), an open study to try, and four logins. Running it again changes nothing."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        loaded_scenario = scenario.load()
        try:
            with _one_at_a_time():
                made = accounts.make_accounts()
                changes = self._load(loaded_scenario, made)
        except accounts.DemoRefused as error:
            raise CommandError(str(error)) from error
        if changes:
            self.stdout.write("Demonstration loaded: " + ", ".join(changes) + ".")
        else:
            self.stdout.write("The demonstration is already loaded: nothing to do.")
        self.stdout.write(
            "Its images are drawn, and the answers of study 'demo' and of its models are simulated."
        )
        if Study.objects.filter(name=names.OLD_LIVE).exists():
            self.stdout.write(
                f"Study '{names.OLD_LIVE}' is of an older demonstration and stays as it is. "
                f"'{names.LIVE}' has taken its place."
            )
        print_logins(self, just_made=made)

    def _load(self, loaded_scenario: scenario.Scenario, users: Sequence[str]) -> list[str]:
        """Load what is missing and return a description of it. `users`: the logins that were made."""
        associations = catalogue.make_catalogue(scenario=loaded_scenario)
        plans = plan.make(loaded_scenario)
        drawn = pictures.draw_all(plans=plans)
        images = pictures.store(drawn=drawn, prompts_of=image_prompts)
        lead, now = User.objects.get(username="lead"), timezone.now()
        finished = studies.make_finished(scenario=loaded_scenario, plans=plans, truth=drawn, by=lead, now=now)
        live = studies.make_live(by=lead)
        source = loaded_scenario.source["name"]
        answers = metrics_demo.load(
            image_set=pictures.IMAGE_SET, source=source, study=names.FINISHED, by=lead
        )
        runs = self._score()
        counts = {
            "logins": len(users),
            "associations": associations,
            "drawn images": images,
            "simulated results of models": answers,
            "score runs": runs,
        }
        studies_made = [f"study '{names.FINISHED}'"] * finished + [
            f"study '{names.LIVE}', open to try"
        ] * live
        return studies_made + [f"{number} {noun}" for noun, number in counts.items() if number]

    def _score(self) -> int:
        """Compute the scores that the dashboards show first; return the number of new runs."""
        study = Study.objects.get(name=names.FINISHED)
        computed = 0
        with sharing_resamples():
            for metric, variant, parameters in _wanted_scores():
                run = score_runs.request(study=study, metric=metric, variant=variant, parameters=parameters)
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


def _wanted_scores() -> Iterator[tuple[str, str, Mapping[str, str]]]:
    """Metric, variant and parameters of each."""
    for metric in METRICS:
        for variant in VARIANTS:
            yield metric, variant, {}
    yield from freshness.default_requests(SEEN_FIRST)
    for judge, of_judge in JUDGE_METRICS.items():
        for metric in of_judge:
            yield metric, VARIANTS[0], {"judge": judge}


@contextmanager
def _one_at_a_time() -> Iterator[None]:
    """Run one load at a time, so that a second one finds what the first created. A load is many transactions,
    so the database alone does not keep two apart."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_lock(%s)", [_LOCK])
            try:
                yield
            finally:
                cursor.execute("SELECT pg_advisory_unlock(%s)", [_LOCK])
    elif connection.is_in_memory_db():  # type: ignore[attr-defined]
        yield  # no other process has this database
    else:
        folder = os.open(Path(connection.settings_dict["NAME"]).parent, os.O_RDONLY)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX)
            yield
        finally:
            os.close(folder)


def print_logins(command: BaseCommand, *, just_made: Sequence[str] = ()) -> None:
    """Print the working logins of the demonstration, if any."""
    logins = accounts.working_logins(just_made=just_made)
    if not logins:
        return
    command.stdout.write("Logins of the demonstration (public passwords, for this computer only):")
    for login in logins:
        command.stdout.write(f"  {login.username:<12}{login.password:<18}{login.role}")
