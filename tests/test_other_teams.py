"""Every address that names something × everybody whose it is not: what another team has is not there.

The addresses come from the resolver, the numbers in them from two teams that have one of everything. An
address with a new kind of number fails until it is said here whose the number is.
"""

from __future__ import annotations

import io
import re
from contextlib import suppress
from functools import cache, partial
from unittest import mock

import pytest
from django.test import Client, override_settings
from django.urls import resolve, reverse
from django.utils import timezone

from metrics.report import services as reports
from metrics.score_runs import registry
from metrics.score_runs import services as score_runs
from tests import factories
from tests.annotation.api.calls import Program
from tests.conftest import files_in
from tests.metrics.machine_judges.judged import judge
from tests.pure import made_once
from tests.test_access import urls
from tests.two_teams import MARK, Team, everything, two_teams

pytestmark = pytest.mark.django_db

PART = re.compile(r"<(\w+):(\w+)>|<(\w+)>")
CHOSEN = {
    "fmt": "csv",
    "file_format": "csv",
    "step": "tasks",
    "kind": "images",
    "figure": "consensus",
    "metric": "consensus",
    "what": "sentiment",
}
"""Parts of an address that are nobody's."""
ACTIONS = {
    "account_action": "release",
    "person_action": "release",
    "export_action": "retry",
    "webhook_action": "ping",
    "run_action": "cancel",
    "source_action": "delete",
    "candidate_action": "find",
    "association_action": "find",
    "api:run_action": "cancel",
}
OPEN = {"join", "enter", "password_reset_confirm"}
"""For whoever has the link: its secret part, or what a platform adds to it, is asked for there."""
SHARED = {
    *("api:identity_group", "api:association", "api:source", "api:source_successor"),
    *("catalogue_group", "catalogue_attribute", "association", "source"),
    *("inference", "inference_figure"),
    *("api:inference_run", "api:inference_pairs", "api:inference_figure"),
}
"""The catalogue, and what models say about it, is of all who lead a study."""
DOORS = sorted(
    (name, route)
    for name, route in urls()
    if "<" in route and not name.startswith("admin:") and name not in OPEN | SHARED
)
DENIED = {404, 405}


def kinds(route: str) -> list[str]:
    """What the numbers in an address are numbers of: the word before each."""
    found = []
    for match in PART.finditer(route):
        if (match[2] or match[3]) not in {*CHOSEN, "action"}:
            found.append(route[: match.start()].rstrip("/").rpartition("/")[2])
    return found


view_of = cache(resolve)
"""The tests name the same addresses."""


def address(name: str, route: str, teams: list[Team]) -> str:
    """The address with each of its numbers of the team at the same place."""
    numbers = iter(zip(kinds(route), teams, strict=True))

    def given(match: re.Match[str]) -> str:
        part = match[2] or match[3]
        if part == "action":
            return ACTIONS[name]
        if part in CHOSEN:
            return CHOSEN[part]
        kind, team = next(numbers)
        if part == "who":
            kind = "accounts"
        return str(team.of(kind))

    url = "/" + PART.sub(given, route)
    assert view_of(url)
    return url


def combinations(route: str, ours: Team, theirs: Team) -> list[list[Team]]:
    """All theirs; and, where there are several numbers, the first ours and the rest theirs, and so on."""
    number = len(kinds(route))
    if number == 0:
        return []
    mixed = [[ours] * place + [theirs] * (number - place) for place in range(number)]
    return [*mixed, *([[theirs] + [ours] * (number - 1)] if number > 1 else [])]


@pytest.fixture(scope="module")
def made(once):
    return once(two_teams)


@pytest.fixture
def teams(db, made, tmp_path):
    with made_once(drawn=False):
        yield made.copied(tmp_path)


@pytest.fixture(autouse=True)
def _no_limit(settings):
    settings.API_RATE = "100000/minute"


def text_of(answer) -> str:
    body = b"".join(answer.streaming_content) if answer.streaming else answer.content
    return body.decode(errors="replace")


TOKENS = re.compile(r'"token": "\w+"|(?<=csrf)\w+" value="\w+|CSRFToken": "\w+')
OFFER = {"account", "audit_export", "edit_embedding_tests", "model_associations", "new_run", "plan_study"}
"""Pages of something of ours on which an admin chooses among all studies and sets."""


def said(client, url: str) -> str:
    answer = client.get(url)
    return TOKENS.sub("", text_of(answer)) if answer.status_code == 200 else ""


def all_said(asked) -> list[str]:
    """What each address says. A report is made of its study alone, and while nothing changes it says the same
    to all who may have it: it is made once."""
    make, made = reports.write_zip, {}

    def known(*, study, with_images=True):
        if (study.pk, with_images) not in made:
            with make(study=study, with_images=with_images) as archive:
                made[study.pk, with_images] = archive.read()
        return io.BytesIO(made[study.pk, with_images])

    with mock.patch.object(reports, "write_zip", known):
        return [said(*each) for each in asked]


def scored(team: Team) -> Team:
    """With what can be computed from the answers of three people."""
    for values in ([5], [1]):
        factories.response(team.unit, values=values, who=factories.annotator())
    for metric in registry.metrics():
        with suppress(ValueError):  # it needs a choice, or something that the team has not
            run = score_runs.request(study=team.study, metric=metric.name, variant="corrected")
            score_runs.compute(run_id=run.pk)
    return team


def ways(client, name: str, program: Program | None = None):
    """(method, how to ask) of every way in that an address has: as the browser, and with a token."""
    for method in ("GET", "POST", "PUT", "PATCH", "DELETE") if name.startswith("api:") else ("GET", "POST"):
        yield method, partial(client.generic, method, data="{}", content_type="application/json")
        if name.startswith("api:") and program is not None:
            yield method, lambda url, method=method: program(method, url.removeprefix("/api/v1/"), {})


def answers(client, name: str, addresses: list[str], program: Program | None = None):
    """(method, address, answer) of every way in to addresses of one view. A method that the view does not
    have is asked for once: that it says so depends on no number."""
    missing = set()
    for url in addresses:
        for method, ask in ways(client, name, program):
            if method in missing:
                continue
            answer = ask(url)
            if answer.status_code == 405:
                missing.add(method)
            yield method, url, answer


@pytest.mark.parametrize("role", ["anonymous", "stranger", "annotator", "lead"])
def test_what_another_team_has_is_not_there(client, teams, role):
    ours, theirs = teams
    user = {"annotator": ours.person, "lead": ours.lead}.get(role) or factories.user("stranger")
    program = None
    if role != "anonymous":
        client.force_login(user)
        program = Program(user)
    before = everything()
    wrong = []
    for name, route in DOORS:
        addresses = [address(name, route, mix) for mix in combinations(route, ours, theirs)]
        for method, url, answer in answers(client, name, addresses, program):
            # for a study that there is not, too
            led_to = answer.url if answer.status_code == 302 else ""
            refused = (
                led_to.startswith("/accounts/login/") or answer.status_code in {401, 405}
                if role == "anonymous"
                # a scope that this account has no token for is refused before anything is looked for
                else answer.status_code in DENIED
                or led_to == f"/studies/{theirs.study.name}/consent/"
                or (answer.status_code == 403 and "scope" in answer.text)
            )
            if not refused or MARK in text_of(answer):
                wrong.append((method, url, answer.status_code))
    assert wrong == []
    assert everything() == before


def test_an_admin_too_finds_a_number_only_where_it_belongs(client, teams):
    """Nothing of one study is reached through another's name."""
    ours, theirs = teams
    client.force_login(factories.user("root", admin=True))
    below_a_study = [
        (name, route) for name, route in DOORS if len(kinds(route)) > 1 and kinds(route)[0] == "studies"
    ]
    assert len(below_a_study) > 15
    before = everything()
    for name, route in below_a_study:
        mixed = [mix for mix in combinations(route, ours, theirs) if len(set(mix)) > 1]
        addresses = [address(name, route, mix) for mix in mixed]
        for method, url, answer in answers(client, name, addresses):
            assert answer.status_code in DENIED, (method, url)
    assert everything() == before


@pytest.mark.parametrize("role", ["annotator", "lead"])
def test_numbers_of_others_in_a_query_show_nothing_of_theirs(client, teams, role):
    ours, theirs = teams
    client.force_login(ours.person if role == "annotator" else ours.lead)
    named = {
        **dict.fromkeys(("study", "name", "theirs"), theirs.study.name),
        **dict.fromkeys(("set", "image_set", "sets"), theirs.image.image_set.name),
        **dict.fromkeys(("image", "images", "picture"), theirs.image.pk),
        **dict.fromkeys(("group", "identity", "groups"), theirs.image.group_id),
        "attribute": theirs.unit.attribute_id,
        "task": theirs.task.pk,
        "unit": theirs.unit.pk,
        "person": theirs.enrolment.pk,
        "annotator": theirs.annotator.pk,
        "text": theirs.study.consent_texts.get().pk,
        "user": theirs.lead.pk,
        "run": theirs.run.pk,
        "next": f"/studies/{theirs.study.name}/",
    }
    seen = 0
    for name, route in sorted(urls()):
        if name.startswith("admin:") or name in {*OPEN, "logout", "set_language"} or "^" in route:
            continue
        url = address(name, route, [ours] * len(kinds(route))) if "<" in route else f"/{route}"
        answer = client.get(url, named)
        assert MARK not in text_of(answer), url
        seen += answer.status_code == 200
    assert seen > (15 if role == "annotator" else 40), "most pages were looked at"


@pytest.mark.parametrize("task", ["visual_nature", "depiction"])
def test_judges_of_another_study_are_not_there_for_who_may_see_all_other_runs(client, teams, task):
    """Their prompts hold what that study asks, and their names may hold that there is such a study."""
    _, theirs = teams
    maker = factories.user("maker", lead=True)
    run = judge(theirs.study, task, lambda *_: 1, name=f"judge-{MARK}", boxes=None)
    parts = {"number": run.pk, "job": run.answers.earliest("pk").pk}
    doors = [(name, route) for name, route in DOORS if re.search(r"/(candidate-)?runs/<int:", f"/{route}")]
    assert len(doors) > 15
    client.force_login(maker)
    program, before = Program(maker), everything()

    def given(match: re.Match[str], name: str) -> str:
        part = match[2] or match[3]
        return str(ACTIONS[name] if part == "action" else {**CHOSEN, **parts, "pk": run.pk}.get(part, 1))

    for name, route in doors:
        url = "/" + PART.sub(partial(given, name=name), route)
        for method, _, answer in answers(client, name, [url], program):
            assert answer.status_code in DENIED or "scope" in answer.text, (method, url)
    lists = ["runs", "candidate_runs", "association_runs", "marking", "api:runs"]
    addresses = [reverse(name) for name in lists]
    addresses += [reverse("image_set", args=[theirs.image.image_set.name])]
    addresses += [f"{reverse('new_run', args=[run.kind])}?like={run.pk}"]
    for url in addresses:
        page = client.get(url)
        assert page.status_code == 200, url
        assert f"judge-{MARK}" not in text_of(page), url
        assert f"/runs/{run.pk}/" not in text_of(page), url
    named = program.post(
        "runs", {"kind": "completions", "backend": "fake", "prompts": ["x"], "name": run.name}
    )
    assert named.status_code == 422
    assert theirs.study.name not in named.text
    assert everything() == before


def test_leads_find_the_judges_of_their_study_among_the_runs(client, teams):
    ours, _ = teams
    run = judge(ours.study, "visual_nature", lambda *_: 1)
    ours.study.leads.add(maker := factories.user("maker", lead=True))
    for user in (maker, factories.user("root", admin=True)):
        client.force_login(user)
        assert run.name in text_of(client.get(reverse("runs")))
        assert client.get(reverse("run_answers", args=[run.pk])).status_code == 200
        assert run.name not in text_of(client.get(reverse("candidate_runs")))


@pytest.mark.pages
def test_our_pages_say_the_same_beside_a_team_that_studies_the_same(db, tmp_path, few_resamples):
    """To a lead and to an admin, at the same moment."""
    moment = mock.patch.object(timezone, "now", return_value=timezone.now())
    with moment, made_once(drawn=False), override_settings(**files_in(tmp_path)):
        ours = scored(Team("one"))
        asked = []
        for user in (ours.lead, admin := factories.user("root", admin=True)):
            client = Client()
            client.force_login(user)
            for name, route in DOORS:
                if not (user == admin and name in OFFER):
                    asked.append((client, address(name, route, [ours] * len(kinds(route)))))
        before = all_said(asked)
        scored(Team("two", about="one"))
        after = all_said(asked)
    assert sum(map(bool, before)) > 150
    assert [url for (_, url), was, now in zip(asked, before, after, strict=True) if was != now] == []


def test_everything_that_an_address_can_name_has_an_owner(teams):
    for name, route in DOORS:
        for _mix in combinations(route, *teams):
            assert address(name, route, _mix)


class TestNumbersInBodies:
    """At work: what somebody else holds, in the same study or another."""

    @pytest.fixture
    def mate(self, teams):
        """Who takes part in the same study, and holds an item."""
        ours, _ = teams
        user = factories.user("mate")
        factories.enrolment(ours.study, who=factories.annotator(user=user), consented=True)
        return user

    @staticmethod
    def held(client, user, study):
        client.force_login(user)
        answer = client.post(f"/studies/{study.name}/annotate/items/", "{}", content_type="application/json")
        return answer.json()["items"][0]

    @staticmethod
    def answer_to(item, **other):
        said = [
            {"option": option["id"], "value": 1, "position": option["position"]} for option in item["options"]
        ]
        return {"unit": item["unit"], "client_key": item["client_key"], "answers": said, **other}

    def sendings(self, mine, other):
        """(what is wrong with it, body)."""
        yield "another's key and item", self.answer_to(other)
        yield "my key for another's item", self.answer_to(other, client_key=mine["client_key"])
        yield "another's key for my item", self.answer_to(mine, client_key=other["client_key"])

    @pytest.mark.parametrize("endpoint", ["answers", "skips", "corrections"])
    @pytest.mark.parametrize("whose", ["mate", "other team"])
    def test_what_another_holds_cannot_be_answered_skipped_or_corrected(
        self, client, teams, mate, endpoint, whose
    ):
        ours, theirs = teams
        if whose == "mate":
            other = self.held(client, mate, ours.study)
        else:
            other = self.held(client, theirs.person, theirs.study)
        mine = self.held(client, ours.person, ours.study)
        program = Program(ours.person, "annotate")
        before = everything()
        for wrong, body in self.sendings(mine, other):
            if endpoint == "skips":
                body = {key: body[key] for key in ("unit", "client_key")} | {"reason": "unclear"}
            page = client.post(
                f"/studies/{ours.study.name}/annotate/{endpoint}/", body, content_type="application/json"
            )
            assert page.status_code in {403, 404, 422}, (wrong, page.text)
            api = program.post(f"studies/{ours.study.name}/{endpoint}", body)
            assert api.status_code in {403, 404, 422}, (wrong, api.text)
        assert everything() == before

    def test_agreeing_to_another_studys_text_is_agreeing_to_nothing(self, client, teams, mate):
        ours, theirs = teams
        text = theirs.study.consent_texts.get().pk
        program = Program(ours.person, "annotate")
        client.force_login(ours.person)
        before = everything()
        client.post(f"/studies/{ours.study.name}/consent/", {"text": text})
        assert program.post(f"studies/{ours.study.name}/consent", {"text": text}).status_code >= 400
        assert everything() == before
