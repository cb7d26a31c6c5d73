"""The data of the API contract test: rows of every kind, and a token for each role."""

from __future__ import annotations

import re
from collections import defaultdict
from datetime import timedelta
from pathlib import Path

from django.utils import timezone

from annotation.api import tokens
from annotation.models import ApiToken, CatalogueImport, Delivery, ExportJob, Invitation, TaskKind, Webhook
from generation.recipes.recipes import CaptionRecipe
from metrics.score_runs import services as score_runs
from tests import factories
from tests.generation.image_sets import world as pictures
from tests.metrics import cast
from tests.metrics.associations import judged
from tests.metrics.brightness import measured
from tests.metrics.candidates import asked as asked_models
from tests.metrics.embedding_tests import stored as embedding_tests
from tests.metrics.inference.answered import add_pair, empty_run
from tests.metrics.machine_judges.judged import judge
from tests.metrics.visual_questions import asked as questions

_SCOPES = ("read", "manage", "annotate")


class World:
    """A study with answers and scores, led by *lead* and joined by *annotator*; pictures that a run made."""

    def __init__(self, media: Path) -> None:
        self.media = media
        self.locked: defaultdict[str | None, set[str]] = defaultdict(set)
        """Type of a body -> operations that have refused who sends it with no token or a wrong one."""
        lead, annotator = factories.user("lead"), factories.user("annotator")
        admin = factories.user("admin", admin=True)
        self.secrets = {
            "admin": self._token(admin, *_SCOPES, "export", "accounts"),
            "lead": self._token(lead, *_SCOPES),
            "annotator": self._token(annotator, *_SCOPES),
            "reader": self._token(lead, "read"),
        }
        # When a token was used is written once a minute: not with every request, each of which is taken back.
        ApiToken.objects.update(last_used_at=timezone.now() + timedelta(days=1))
        study = cast.depiction_study(name="hats", leads=[lead])
        factories.consent_text(study)
        enrolled = factories.enrolment(study, who=factories.annotator(user=annotator), consented=True)
        # So that the answers that an admin sends are read, and not refused before.
        factories.enrolment(study, who=factories.annotator(user=admin), consented=True)
        invitation = Invitation.objects.create(study=study, code="way-in")
        run = pictures.made(pictures.pictures("Mexican"))
        pictures.made(pictures.read(run, CaptionRecipe(backend="fake", count=2)))
        image = run.image_set.images.earliest("pk")
        shown = factories.task(study, kind=TaskKind.DEPICTION, image_set=run.image_set, version=2)
        unit = factories.page_unit(shown, picture=image)
        asked = [
            score_runs.request(study=study, metric=metric, variant="corrected", resamples=100)
            for metric in ("tendency", "agreement")
        ]
        score_runs.compute_pending()
        webhook = Webhook.objects.create(
            study=study, url="https://hooks.example.org/", secret="x" * 9, events=["study.paused"]
        )
        delivery = Delivery.objects.create(webhook=webhook, event="study.paused")
        export = ExportJob.objects.create(study=study, by=admin, format="csv")
        association = factories.association()
        imported = CatalogueImport.objects.create(kind="seegull", by=admin)
        given = asked_models.run("(Mexican, dance)")
        inferred = empty_run("inferred", "votes")
        add_pair(inferred, "Mexican", "lazy")
        embedded = embedding_tests.embedded()
        embedding_tests.texts(embedded)
        asked_about = questions.a_run("questions", image_set=run.image_set)
        questions.add(asked_about, image, "yes")
        brightness = measured.empty_run("measured")
        measured.add_image(brightness, "Mexican", 100)
        found = judged.a_list("associated")
        judged.pair(found, "old", "wise", negative=False)
        self.known: dict[str, str | int] = {
            "webhooks": webhook.pk,
            "deliveries": delivery.pk,
            "exports": export.pk,
            "identity-groups": image.group_id,
            "associations": association.pk,
            "sources": association.source.name,
            "imports": imported.pk,
            "studies": study.name,
            "image-sets": run.image_set.name,
            "images": image.pk,
            "runs": run.pk,
            "score-runs": asked[0].pk,
            "metrics": "tendency",
            "tasks": shown.pk,
            "units": unit.pk,
            "invitations": invitation.pk,
            "people": enrolled.pk,
            "accounts": f"u{annotator.pk}",
            "leads": study.name,
            "tokens": admin.api_tokens.get().pk,
            "candidate-runs": given.pk,
            "association-runs": found.run_id,
            "pairs": found.associations.get().pk,
            "judgements": "sentiment",
            "candidates": asked_models.found(given).candidates.get().pk,
            "answers": given.answers.get().pk,
            "inference-runs": inferred.pk,
            "embedding-test-files": embedding_tests.stored(embedded).pk,
            "visual-question-runs": asked_about.pk,
            "marking": run.image_set.name,
            "brightness-runs": brightness.pk,
            "judges": judge(study, TaskKind.DEPICTION, lambda *_: 1, name="judge").pk,
        }

    @staticmethod
    def _token(user, *scopes: str) -> str:
        return tokens.create(user=user, name="contract", scopes=scopes, by=user).secret

    def headers(self, role: str) -> dict[str, str]:
        return {} if role == "anonymous" else {"Authorization": f"Bearer {self.secrets[role]}"}

    def visit(self, case) -> None:
        """Lead a made-up address to what is there: where it names something, as it might be named, let it
        name the one that there is. What is no name or number stays as it was made."""
        for parameter, known in self._named(case):
            might_name = r"\d+" if isinstance(known, int) else r"[-\w]+"
            if re.fullmatch(might_name, str(case.path_parameters[parameter])):
                case.path_parameters[parameter] = str(known)

    def has_visited(self, case) -> bool:
        """Whether its address leads to what is there."""
        return all(case.path_parameters[parameter] == str(known) for parameter, known in self._named(case))

    def _named(self, case) -> list[tuple[str, str | int]]:
        """The parameters of an address that name what this world has, and what they are to name."""
        found = re.findall(r"/([a-z-]+)/\{(\w+)\}", case.path)
        return [(parameter, self.known[noun]) for noun, parameter in found if noun in self.known]
