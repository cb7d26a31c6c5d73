"""Every address of the API × every role × every scope: what is not theirs is not there.

The list of addresses comes from the resolver: one that is added without saying here who may use it fails.
"""

from __future__ import annotations

import re

import pytest
from django.core.cache import cache
from django.db import transaction
from django.test import Client
from django.test.client import ClientHandler
from django.urls import URLResolver, get_resolver
from django.utils import timezone

from annotation.api.tokens import NewToken
from annotation.models import ApiToken, AuditEvent, ExportJob, Invitation, Judgement, Response, Scope
from tests import factories
from tests.annotation.api.calls import Program, is_problem
from tests.pure import made_once
from tests.test_access import World
from visage_app import urls_api

pytestmark = [pytest.mark.django_db, pytest.mark.pages]

ROLES = ("anonymous", "stranger", "annotator", "lead", "other_lead", "admin")
NONE = 404
LEADS = (401, NONE, NONE, 200, NONE, 200)
ADMINS = (401, NONE, NONE, NONE, NONE, 200)
ACCOUNTS = (401, 200, 200, 200, 200, 200)
RESEARCH = (401, NONE, NONE, 200, 200, 200)
# a study that is open: who is not in it could agree; who leads it has no part in it
CONSENT = (401, 200, 200, NONE, 200, 200)
SENDING = (401, 409, 400, NONE, 409, 409)

MAKERS = (401, NONE, NONE, NONE, NONE, 200)
# who takes part in a study sees its images, and nothing of how they came to be
SEEN = (401, NONE, 200, 200, NONE, 200)
# open to everybody who ever took part
PART = (401, NONE, 200, NONE, NONE, NONE)

READ, MANAGE, ANNOTATE = Scope.READ, Scope.MANAGE, Scope.ANNOTATE
EXPORT, EVERYBODY = Scope.EXPORT, Scope.ACCOUNTS

# (method, address) -> the scope it needs (None: any), and one status for each of ROLES. Empty bodies.
EXPECTED: dict[tuple[str, str], tuple[str | None, tuple[int, ...]]] = {
    ("GET", "account"): (None, ACCOUNTS),
    ("DELETE", "account/token"): (None, (401, *[204] * 5)),
    ("GET", "tokens"): (READ, ACCOUNTS),
    # an admin's
    ("DELETE", "tokens/{token}"): (MANAGE, (401, NONE, NONE, NONE, NONE, 204)),
    ("GET", "accounts"): (EVERYBODY, ADMINS),
    ("POST", "accounts"): (EVERYBODY, (401, NONE, NONE, NONE, NONE, 400)),
    ("GET", "accounts/{who}"): (EVERYBODY, ADMINS),
    ("PATCH", "accounts/{who}"): (EVERYBODY, ADMINS),
    # they take part in it
    ("PUT", "accounts/{who}/leads/words"): (EVERYBODY, (401, NONE, NONE, NONE, NONE, 409)),
    ("DELETE", "accounts/{who}/leads/words"): (EVERYBODY, ADMINS),
    ("POST", "accounts/{who}/password-link"): (EVERYBODY, (401, NONE, NONE, NONE, NONE, 201)),
    ("DELETE", "accounts/{who}/second-factor"): (EVERYBODY, (401, NONE, NONE, NONE, NONE, 204)),
    ("POST", "accounts/{who}/block"): (EVERYBODY, ADMINS),
    ("POST", "accounts/{who}/release"): (EVERYBODY, ADMINS),
    ("GET", "accounts/{who}/merge"): (EVERYBODY, (401, NONE, NONE, NONE, NONE, 400)),
    ("POST", "accounts/{who}/merge"): (EVERYBODY, (401, NONE, NONE, NONE, NONE, 400)),
    ("GET", "accounts/{who}/erasure"): (EVERYBODY, ADMINS),
    ("POST", "accounts/{who}/erasure"): (EVERYBODY, ADMINS),
    ("GET", "health"): (READ, ADMINS),
    ("GET", "audit-events"): (READ, ADMINS),
    ("GET", "identity-groups"): (READ, RESEARCH),
    ("GET", "identity-groups/{group}"): (READ, RESEARCH),
    ("GET", "attributes"): (READ, RESEARCH),
    ("GET", "associations"): (READ, RESEARCH),
    ("GET", "associations/{association}"): (READ, RESEARCH),
    ("GET", "sources"): (READ, RESEARCH),
    ("GET", "sources/test-source"): (READ, RESEARCH),
    # an empty body changes nothing; those who may not, see that they may not
    ("PATCH", "sources/test-source"): (MANAGE, (401, NONE, NONE, 403, 403, 200)),
    ("DELETE", "sources/test-source"): (MANAGE, (401, NONE, NONE, 403, 403, 204)),
    ("PUT", "sources/test-source/successor"): (MANAGE, (401, NONE, NONE, 400, 400, 400)),
    # without pairs
    ("POST", "sources/test-source/pairs"): (MANAGE, (401, NONE, NONE, NONE, NONE, 400)),
    ("GET", "imports"): (READ, MAKERS),
    # JSON is neither a CSV nor a ZIP
    ("POST", "imports/seegull"): (MANAGE, (401, NONE, NONE, NONE, NONE, 415)),
    ("POST", "imports/visage"): (MANAGE, (401, NONE, NONE, NONE, NONE, 415)),
    ("GET", "imports/{import_job}"): (READ, MAKERS),
    ("DELETE", "imports/{import_job}"): (MANAGE, (401, NONE, NONE, NONE, NONE, 204)),
    ("GET", "export-formats"): (None, ACCOUNTS),
    ("GET", "own-studies"): (ANNOTATE, ACCOUNTS),
    ("GET", "studies"): (READ, ACCOUNTS),
    ("POST", "studies"): (MANAGE, (401, 403, 403, 403, 403, 422)),
    ("GET", "studies/words"): (READ, LEADS),
    ("POST", "studies/words/status"): (MANAGE, (401, NONE, NONE, 400, NONE, 400)),
    ("GET", "studies/words/feasibility"): (READ, LEADS),
    ("GET", "studies/words/setup"): (READ, LEADS),
    ("PUT", "studies/words/setup"): (MANAGE, (401, NONE, NONE, 422, NONE, 422)),
    ("DELETE", "studies/words/setup"): (MANAGE, (401, NONE, NONE, NONE, NONE, NONE)),
    ("GET", "studies/words/setup.toml"): (READ, LEADS),
    ("GET", "studies/words/tasks"): (READ, LEADS),
    ("GET", "studies/words/tasks/{task}"): (READ, LEADS),
    ("GET", "studies/words/units"): (READ, LEADS),
    ("GET", "studies/words/units/{unit}"): (READ, LEADS),
    ("GET", "studies/words/people"): (READ, LEADS),
    ("GET", "studies/words/people/{person}"): (READ, LEADS),
    ("POST", "studies/words/people/{person}/block"): (MANAGE, LEADS),
    ("POST", "studies/words/people/{person}/unblock"): (MANAGE, LEADS),
    ("POST", "studies/words/people/{person}/release"): (MANAGE, LEADS),
    ("GET", "studies/words/invitations"): (READ, LEADS),
    ("POST", "studies/words/invitations"): (MANAGE, (401, NONE, NONE, 201, NONE, 201)),
    ("GET", "studies/words/invitations/{invitation}"): (READ, LEADS),
    ("DELETE", "studies/words/invitations/{invitation}"): (MANAGE, LEADS),
    ("GET", "studies/words/export?format=csv"): (EXPORT, ADMINS),
    ("GET", "studies/words/judgements"): (EXPORT, ADMINS),
    ("GET", "studies/words/exports"): (EXPORT, ADMINS),
    ("POST", "studies/words/exports"): (EXPORT, (401, NONE, NONE, NONE, NONE, 400)),
    ("GET", "studies/words/exports/{export}"): (EXPORT, ADMINS),
    ("DELETE", "studies/words/exports/{export}"): (EXPORT, (401, NONE, NONE, NONE, NONE, 204)),
    # it waits: it is not made again, and there is no file yet
    ("POST", "studies/words/exports/{export}/retry"): (EXPORT, (401, NONE, NONE, NONE, NONE, 409)),
    ("GET", "studies/words/exports/{export}/file"): (EXPORT, (401, NONE, NONE, NONE, NONE, 409)),
    ("GET", "hours"): (READ, ADMINS),
    ("GET", "studies/words/hours"): (READ, LEADS),
    ("GET", "studies/words/webhooks"): (READ, LEADS),
    ("POST", "studies/words/webhooks"): (MANAGE, (401, NONE, NONE, 400, NONE, 400)),
    ("GET", "studies/words/webhooks/{webhook}"): (READ, LEADS),
    ("PATCH", "studies/words/webhooks/{webhook}"): (MANAGE, LEADS),
    ("DELETE", "studies/words/webhooks/{webhook}"): (MANAGE, (401, NONE, NONE, 204, NONE, 204)),
    ("POST", "studies/words/webhooks/{webhook}/secret"): (MANAGE, LEADS),
    ("POST", "studies/words/webhooks/{webhook}/ping"): (MANAGE, (401, NONE, NONE, 202, NONE, 202)),
    ("GET", "studies/words/webhooks/{webhook}/deliveries"): (READ, LEADS),
    # it is about to be sent already
    ("POST", "studies/words/webhooks/{webhook}/deliveries/{delivery}/redeliver"): (
        MANAGE,
        (401, NONE, NONE, 409, NONE, 409),
    ),
    ("GET", "studies/words/releases"): (EXPORT, ADMINS),
    ("GET", "studies/words/release-report"): (EXPORT, ADMINS),
    ("POST", "studies/words/release"): (EXPORT, ADMINS),
    ("GET", "own-profile"): (ANNOTATE, ACCOUNTS),
    ("PUT", "own-profile"): (ANNOTATE, (401, 400, 400, 400, 400, 400)),
    ("GET", "studies/words/profile"): (ANNOTATE, (401, 409, 200, NONE, 409, 409)),
    ("PUT", "studies/words/profile"): (ANNOTATE, (401, 409, 400, NONE, 409, 409)),
    ("GET", "studies/words/part"): (ANNOTATE, PART),
    ("POST", "studies/words/part/stop"): (ANNOTATE, PART),
    ("POST", "studies/words/part/come-back"): (ANNOTATE, PART),
    ("POST", "studies/words/part/withdraw"): (ANNOTATE, (401, NONE, 400, NONE, NONE, NONE)),
    ("DELETE", "studies/words/consent"): (ANNOTATE, (401, 204, 409, NONE, 204, 204)),
    ("GET", "studies/words/consent"): (ANNOTATE, CONSENT),
    ("POST", "studies/words/consent"): (ANNOTATE, (401, 400, 400, NONE, 400, 400)),
    ("POST", "studies/words/next"): (ANNOTATE, (401, 409, 200, NONE, 409, 409)),
    ("GET", "studies/words/answers"): (ANNOTATE, (401, 409, 200, NONE, 409, 409)),
    ("POST", "studies/words/answers"): (ANNOTATE, SENDING),
    ("POST", "studies/words/corrections"): (ANNOTATE, SENDING),
    ("POST", "studies/words/skips"): (ANNOTATE, SENDING),
    ("GET", "image-sets"): (READ, ACCOUNTS),
    ("GET", "image-sets/ours"): (READ, LEADS),
    ("GET", "image-sets/ours/images"): (READ, LEADS),
    # JSON is no ZIP
    ("POST", "image-sets/ours/bundle"): (MANAGE, (401, NONE, NONE, NONE, NONE, 415)),
    ("GET", "images/{image}"): (READ, LEADS),
    ("GET", "images/{image}/file"): (None, SEEN),
    ("GET", "images/{image}/captions"): (READ, LEADS),
    ("GET", "runs"): (READ, MAKERS),
    ("POST", "runs"): (MANAGE, (401, NONE, NONE, NONE, NONE, 400)),
    ("GET", "runs/{run}"): (READ, MAKERS),
    ("GET", "runs/{answered}/answers"): (READ, MAKERS),
    ("GET", "runs/{answered}/answers/{answer}"): (READ, MAKERS),
    # it has ended
    ("PUT", "runs/{answered}/limits"): (MANAGE, (401, NONE, NONE, NONE, NONE, 409)),
    ("POST", "runs/{run}/cancel"): (MANAGE, MAKERS),
    ("GET", "inference-runs"): (READ, RESEARCH),
    ("POST", "inference-runs"): (MANAGE, (401, NONE, NONE, NONE, NONE, 400)),
    ("GET", "inference-runs/{inference}"): (READ, RESEARCH),
    ("GET", "inference-runs/{inference}/pairs"): (READ, RESEARCH),
    ("GET", "inference-runs/{inference}/figure/csv"): (READ, RESEARCH),
    ("GET", "embedding-test-files"): (READ, RESEARCH),
    ("POST", "embedding-test-files"): (MANAGE, (401, NONE, NONE, NONE, NONE, 400)),
    ("GET", "embedding-test-files/{tests}"): (READ, LEADS),
    ("PUT", "embedding-test-files/{tests}"): (MANAGE, (401, NONE, NONE, NONE, NONE, 400)),
    ("DELETE", "embedding-test-files/{tests}"): (MANAGE, (401, NONE, NONE, NONE, NONE, 204)),
    ("GET", "embedding-test-files/{tests}/results"): (READ, LEADS),
    ("GET", "embedding-test-files/{tests}/encoders"): (READ, LEADS),
    ("GET", "embedding-test-files/{tests}/ranking"): (READ, LEADS),
    ("GET", "embedding-test-files/{tests}/figures/effects/csv"): (READ, LEADS),
    # the vectors were made elsewhere
    ("POST", "embedding-test-files/{tests}/texts"): (MANAGE, (401, NONE, NONE, NONE, NONE, 409)),
    ("GET", "visual-question-runs"): (READ, RESEARCH),
    ("POST", "visual-question-runs"): (MANAGE, (401, NONE, NONE, NONE, NONE, 400)),
    ("GET", "visual-question-runs/{questions}"): (READ, LEADS),
    ("GET", "visual-question-runs/{questions}/figure/csv"): (READ, LEADS),
    ("GET", "marking/ours"): (READ, LEADS),
    ("GET", "marking/ours/figure/csv"): (READ, LEADS),
    ("GET", "brightness-runs"): (READ, RESEARCH),
    ("POST", "brightness-runs"): (MANAGE, (401, NONE, NONE, NONE, NONE, 400)),
    ("GET", "brightness-runs/{brightness}"): (READ, LEADS),
    ("GET", "brightness-runs/{brightness}/figure/csv"): (READ, LEADS),
    ("POST", "association-runs"): (MANAGE, (401, NONE, NONE, NONE, NONE, 400)),
    ("POST", "candidate-runs"): (MANAGE, (401, NONE, NONE, NONE, NONE, 400)),
    ("GET", "candidate-runs/{asked}"): (READ, MAKERS),
    ("POST", "candidate-runs/{asked}"): (MANAGE, MAKERS),
    ("GET", "candidate-runs/{asked}/candidates"): (READ, MAKERS),
    ("GET", "candidate-runs/{asked}/candidates/{candidate}"): (READ, MAKERS),
    ("PUT", "candidate-runs/{asked}/candidates/{candidate}/struck"): (
        MANAGE,
        (401, NONE, NONE, NONE, NONE, 204),
    ),
    ("DELETE", "candidate-runs/{asked}/candidates/{candidate}/struck"): (
        MANAGE,
        (401, NONE, NONE, NONE, NONE, 204),
    ),
    ("POST", "candidate-runs/{asked}/study"): (MANAGE, (401, NONE, NONE, NONE, NONE, 400)),
    ("GET", "association-runs/comparison?here={found}&there={found}"): (READ, MAKERS),
    ("GET", "association-runs/{found}"): (READ, MAKERS),
    ("POST", "association-runs/{found}"): (MANAGE, (401, NONE, NONE, NONE, NONE, 202)),
    ("GET", "association-runs/{found}/pairs"): (READ, MAKERS),
    ("GET", "association-runs/{found}/pairs/{pair}"): (READ, MAKERS),
    ("POST", "association-runs/{found}/study"): (MANAGE, (401, NONE, NONE, NONE, NONE, 400)),
    ("GET", "association-runs/{found}/results"): (READ, MAKERS),
    ("GET", "association-runs/{found}/figures/negative/csv"): (READ, MAKERS),
    ("POST", "association-runs/{found}/judgements/sentiment"): (
        MANAGE,
        (401, NONE, NONE, NONE, NONE, 201),
    ),
    # the model is not named
    ("POST", "association-runs/{found}/judgements/level"): (MANAGE, (401, NONE, NONE, NONE, NONE, 422)),
    # sources are made by whoever may set up studies; the study is still open
    ("POST", "studies/words/votes-source"): (MANAGE, (401, NONE, NONE, NONE, NONE, 409)),
    ("GET", "metrics"): (READ, ACCOUNTS),
    ("GET", "metrics/tendency"): (READ, ACCOUNTS),
    ("GET", "studies/words/scores?metric=visual_nature"): (READ, LEADS),
    ("GET", "studies/words/score-runs"): (READ, LEADS),
    ("POST", "studies/words/score-runs"): (MANAGE, (401, NONE, NONE, 400, NONE, 400)),
    # there is no run
    ("GET", "studies/words/score-runs/1"): (READ, (401, *[NONE] * 5)),
    ("GET", "studies/words/score-runs/1/scores"): (READ, (401, *[NONE] * 5)),
    ("POST", "studies/words/score-runs/1/retry"): (MANAGE, (401, *[NONE] * 5)),
    ("GET", "studies/words/agreement"): (READ, LEADS),
    ("GET", "studies/pictures/identities"): (READ, LEADS),
    ("GET", "studies/words/identities"): (READ, (401, *[NONE] * 5)),
    ("GET", "studies/words/progress"): (READ, LEADS),
    ("GET", "studies/pictures/gallery"): (READ, LEADS),
    ("GET", "studies/words/quality"): (READ, LEADS),
    # no scores are stored yet
    ("GET", "studies/words/report"): (READ, (401, NONE, NONE, 409, NONE, 409)),
    ("GET", "studies/pictures/league"): (READ, LEADS),
    ("GET", "studies/words/plan"): (READ, LEADS),
    ("GET", "studies/words/plan/figure/csv"): (READ, LEADS),
    ("GET", "studies/words/judges"): (READ, LEADS),
    # planned by leads who may also set up studies; the task is not named
    ("POST", "studies/words/judges"): (MANAGE, (401, NONE, NONE, NONE, NONE, 400)),
    ("GET", "studies/words/judges/{judge}"): (READ, LEADS),
    ("GET", "studies/words/judges/{judge}/items"): (READ, LEADS),
    ("GET", "studies/words/judges/{judge}/answers"): (READ, LEADS),
    ("GET", "studies/words/figures"): (READ, LEADS),
    ("GET", "studies/words/figures/consensus"): (READ, LEADS),
    ("GET", "studies/words/figures/consensus/csv"): (READ, LEADS),
}
# of one study, and neither open to all nor for admins alone
OF_A_LEAD = sorted(
    one
    for one, (scope, _) in EXPECTED.items()
    if one[1].startswith("studies/") and scope not in (ANNOTATE, EXPORT)
)
FOR_ADMINS = (EXPORT, EVERYBODY)
NUMBERED = (
    "association",
    "import_job",
    "group",
    "task",
    "unit",
    "person",
    "invitation",
    "export",
    "webhook",
    "image",
    "run",
    "token",
    "inference",
    "tests",
    "questions",
    "brightness",
    "judge",
    "asked",
    "found",
)
NAMED = {
    "words": "<slug:name>",
    "pictures": "<slug:name>",
    "/ours": "/<slug:name>",
    "test-source": "<slug:name>",
    "{who}": "<slug:who>",
    "{delivery}": "<int:delivery>",
    "{candidate}": "<int:candidate>",
    "{pair}": "<int:pair>",
    "judgements/sentiment": "judgements/<slug:what>",
    "effects/csv": "<slug:figure>/<slug:file_format>",
    "negative/csv": "<slug:figure>/<slug:file_format>",
    "{answered}": "<int:number>",
    "{answer}": "<int:job>",
    "score-runs/1": "score-runs/<int:number>",
    "metrics/tendency": "metrics/<slug:metric>",
    "consensus/csv": "consensus/<slug:file_format>",
    "figure/csv": "figure/<slug:file_format>",
    "consensus": "<slug:figure>",
    "/cancel": "/<slug:action>",
    **{f"{{{one}}}": "<int:number>" for one in NUMBERED},
}


def addresses() -> set[str]:
    """The route of every address of the API; what tells of the API itself and what there is not aside."""
    found = set()
    for one in urls_api.urlpatterns:
        inside = one.url_patterns if isinstance(one, URLResolver) else [one]
        found |= {str(pattern.pattern) for pattern in inside}
    return found - {"schema", "docs", ""}


def route_of(address: str) -> str:
    address = address.partition("?")[0]
    for given, part in NAMED.items():
        address = address.replace(given, part)
    return address


class ApiWorld(World):
    def __init__(self) -> None:
        super().__init__()
        self.group = factories.group("Mexican")
        task = self.words.tasks.get()
        self.numbers = {
            "group": self.group.pk,
            "association": self.association.pk,
            "import_job": self.import_job.pk,
            "task": task.pk,
            "unit": task.units.earliest("pk").pk,
            "person": self.words.enrolments.get().pk,
            "invitation": Invitation.objects.get().pk,
            "export": ExportJob.objects.create(study=self.words, by=self.people["admin"], format="csv").pk,
            "webhook": self.webhook.pk,
            "delivery": self.message.pk,
            "image": self.image.pk,
            "run": self.run.pk,
            "inference": self.inference.pk,
            "tests": self.tests.pk,
            "questions": self.questions.pk,
            "brightness": self.brightness.pk,
            "judge": self.judge.pk,
            "asked": self.asked.pk,
            "found": self.associations.run_id,
            "pair": self.associations.associations.get().pk,
            "candidate": self.candidate.pk,
            "answered": self.answered.pk,
            "answer": self.answer.pk,
            "token": Program(self.people["admin"], "read").made.token.pk,
            "who": f"u{self.people['annotator'].pk}",
        }

        # Made once: each test asks with several. That one is used is written once a minute.
        self.tokens = {(role, ()): Program(self.people[role]).made for role in ROLES[1:]}
        self.tokens |= {("admin", (scope,)): Program(self.people["admin"], scope).made for scope in Scope}
        ApiToken.objects.update(last_used_at=timezone.now())

    def program(self, role: str, *scopes: str) -> Program:
        if (role, scopes) in self.tokens:
            return Known(self.tokens[role, scopes])
        return Program(self.people[role], *scopes)


HANDLER = ClientHandler(enforce_csrf_checks=False)
"""The program that answers, set up once: each client would set up one of its own."""


class Known(Program):
    """A program with a token that there is already."""

    def __init__(self, made: NewToken) -> None:
        self.made, self.secret, self.client = made, made.secret, Client()
        self.client.handler = HANDLER


@pytest.fixture(scope="module")
def made(once):
    return once(ApiWorld)


@pytest.fixture
def world(db, made, tmp_path):
    with made_once():
        yield made.copied(tmp_path)


def ask(program, method: str, address: str, world):
    body = {} if method in ("POST", "PUT", "PATCH") else None
    answer = program(method, address.format(**world.numbers), body)
    if answer.streaming:
        b"".join(answer.streaming_content)
    return answer


def test_every_address_has_its_rows():
    assert {route_of(address) for _, address in EXPECTED} == addresses()


@pytest.mark.parametrize(("method", "address"), sorted(EXPECTED))
def test_each_role_gets_what_is_theirs_and_nothing_else(client, world, method, address):
    scope, expected = EXPECTED[method, address]
    is_problem(client.generic(method, f"/api/v1/{address.format(**world.numbers)}"), expected[0])
    for role, wanted in zip(ROLES[1:], expected[1:], strict=True):
        if scope in FOR_ADMINS and role != "admin":
            wanted = 403  # a token of theirs cannot even be made for it; the session is tried below
        cache.clear()
        with transaction.atomic():
            answer = ask(world.program(role), method, address, world)
            assert answer.status_code == wanted, (role, answer.content[:300])
            if wanted >= 400:
                is_problem(answer, wanted)
            assert Response.objects.count() == Judgement.objects.count() == 3, "answers of others stay"
            transaction.set_rollback(True)


@pytest.mark.parametrize("role", ["stranger", "annotator", "lead", "other_lead"])
@pytest.mark.parametrize(
    "address",
    [
        "studies/words/export?format=csv",
        "studies/words/judgements",
        "studies/words/exports",
        "studies/words/releases",
        "studies/words/release-report",
        "accounts",
    ],
)
def test_no_data_leave_for_who_is_logged_in_and_no_admin(client, world, role, address):
    client.force_login(world.people[role])
    is_problem(client.get(f"/api/v1/{address}"), 404)
    assert not AuditEvent.objects.filter(what__in=["export", "judgements read"]).exists()


@pytest.mark.postgresql  # as an administrator, who sees everything
@pytest.mark.parametrize(("method", "address"), sorted(EXPECTED))
def test_a_token_opens_what_its_scope_says_and_nothing_else(world, method, address):
    needed, _ = EXPECTED[method, address]
    for scope in Scope.values:
        answer = ask(world.program("admin", scope), method, address, world)
        refused = needed is not None and scope != needed
        assert (answer.status_code == 403) == refused, (scope, answer.content[:200])


@pytest.mark.parametrize(("method", "address"), OF_A_LEAD)
def test_another_teams_study_looks_like_one_that_there_is_not(world, method, address):
    """Somebody's own numbers under another study's name, and that study's own."""
    factories.study("secret", leads=[world.people["other_lead"]])
    named = ("studies/secret", "studies/nosuch")
    for role in ("lead", "annotator", "stranger"):
        program = world.program(role)
        with transaction.atomic():
            answers = [ask(program, method, re.sub(r"^studies/\w+", one, address), world) for one in named]
            said = [is_problem(answer, 404) for answer in answers]
            assert said[0] | {"instance": ""} == said[1] | {"instance": ""}, role
            transaction.set_rollback(True)


@pytest.mark.parametrize(
    "kind", ["tasks/{task}", "units/{unit}", "people/{person}", "invitations/{invitation}"]
)
@pytest.mark.parametrize("number", ["other", 0, 10**9, 2**63, "9" * 500])
def test_guessed_numbers_are_not_found(world, kind, number):
    """What is of one's own other study is not found under this one's name either."""
    enrolment = factories.enrolment(world.pictures, who=factories.annotator())
    others = {
        "task": world.pictures.tasks.first().pk,
        "unit": world.pictures.tasks.filter(units__isnull=False).first().units.first().pk,
        "person": enrolment.pk,
        "invitation": Invitation.objects.create(study=world.pictures, code="other").pk,
    }
    numbers = others if number == "other" else dict.fromkeys(others, number)
    is_problem(world.program("lead").get(f"studies/words/{kind.format(**numbers)}"), 404)


def test_the_whole_api_is_below_one_prefix():
    """What is listed by the resolver under the namespace is served below /api/v1/ and nowhere else."""
    resolvers = [one for one in get_resolver().url_patterns if isinstance(one, URLResolver)]
    assert [str(one.pattern) for one in resolvers if one.namespace == "api"] == ["api/v1/"]
