"""No answer of a machine judge gets into a number about people, by any door.

Everything that the program says about a study is read before and after judges have answered all of it, each
with the answers that would change most: what is said must be the same, but for the judges' own addresses.
Then the doors by which answers come in are tried with what a judge has. test_wall_in_code.py reads the code.
"""

from __future__ import annotations

import csv
import io
import json
import re
import zipfile
from collections.abc import Iterable

import pytest
from django.core.cache import cache
from django.core.management import CommandError, call_command
from django.db import transaction

from annotation.core.scales import SCALES
from annotation.exports.formats import registry as formats
from annotation.exports.selection import ExportRefused, Filters
from annotation.exports.services import writing
from annotation.models import Study
from annotation.releases.request import ReleaseOptions
from annotation.releases.services import bundle
from annotation.studies.queries import fill
from metrics.machine_judges.answers_csv import stream_answers
from metrics.machine_judges.design import Design, order_key
from metrics.score_runs import registry
from metrics.score_runs import services as score_runs
from metrics.score_runs.evaluation import evaluate
from metrics.score_runs.metric import VARIANTS
from tests import factories
from tests.metrics.machine_judges import judged
from tests.metrics.score_runs.test_registry import compared_with, scored_by_people
from tests.pure import made_once
from tests.test_access import urls
from tests.test_other_teams import OPEN, SHARED, address, combinations
from tests.two_teams import Team, everything

pytestmark = pytest.mark.django_db

PEOPLES_METRICS = [one for one in registry.metrics() if one.source != "machine judge"]
CHANGING = re.compile(
    r'csrfmiddlewaretoken" value="\w+"|"(csrfToken|token)": "\w+"|nonce="[^"]*"|'  # new in each request
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?|\d\d?:\d\d(:\d\d)?( [ap]\.m\.)?"  # the time
)


def judges_of(study: Study) -> None:
    """Judges of every task, each with the answer that people give least, and their scores."""
    for task in study.tasks.order_by("pk"):
        scale = [label.value for label in SCALES[task.kind]]
        for place, value in enumerate((scale[0], scale[-1])):
            run = judged.judge(
                study,
                task.kind,
                lambda option, *_, value=value: int(option.attribute_id is not None) and value,
                name=f"judge-{task.kind}-{place}",
                times=2,
                temperature=1.0,
                again=5,
            )
            for metric in registry.metrics():
                if metric.source == "machine judge":
                    try:
                        score_runs.request(
                            study=study,
                            metric=metric.name,
                            variant="corrected",
                            parameters={"judge": run.name},
                        )
                    except ValueError:
                        continue  # this judge has nothing for it
    score_runs.compute_pending()
    cache.clear()


@pytest.fixture(scope="module")
def made(once):
    return once(scored_by_people).made.pk


@pytest.fixture
def study(db, made) -> Study:
    return Study.objects.get(pk=made)


def numbers(study: Study) -> dict[str, object]:
    """What metrics, commands, quotas, exports and a release say."""
    found: dict[str, object] = {}
    for metric in PEOPLES_METRICS:
        # where they do not differ, test_registry.py sees that they do not
        for variant in VARIANTS if metric.variants_differ else VARIANTS[:1]:
            with transaction.atomic():
                chosen = compared_with(study, metric)  # may change the study
                evaluated = evaluate(study=study, metric=metric.name, variant=variant, parameters=chosen)
                transaction.set_rollback(True)
            # the digest of a comparison names the run of the set that was made for it
            stamp = "" if metric.name == "pull_difference" else evaluated.digest
            found[f"{metric.name} {variant}"] = evaluated.rows, stamp
    found["quotas"] = [vars(one) for one in fill.fill_rates(study=study)]
    for arguments in COMMANDS:
        out = io.StringIO()
        call_command(*arguments[:1], study.name, *arguments[1:], stdout=out, stderr=out)
        found[f"manage.py {' '.join(arguments)}"] = CHANGING.sub("", out.getvalue())
    for name in formats.FORMATS:
        try:
            written = writing.stream_zip(study=study, fmt=name, by=None, filters=Filters())
            found[f"export {name}"] = unpacked(b"".join(written))
        except ExportRefused as refused:
            found[f"export {name}"] = str(refused)
    options = ReleaseOptions(k=2, licence="CC-BY-4.0", without_pseudonyms=True)
    released = unpacked(b"".join(bundle.stream_zip(study=study, by=None, options=options)))
    # rows and numbers of responses are in another order each time, and with them the other files
    found |= {f"release {name}": rows(text) for name, text in released.items() if name.endswith(".csv")}
    return found


COMMANDS = (
    *(
        ("scores", "--metric", one.name, "--resamples", "0")
        for one in PEOPLES_METRICS
        # that of annotators who are not identified; these are
        if not one.parameters and one.name != "annotator_sensitivity"
    ),
    *(("agreement", "--by", by) for by in ("gender", "origin", "pool")),
)


def rows(text: str) -> list[list[tuple[str, str]]]:
    return sorted(
        [(column, value) for column, value in row.items() if column != "response"]
        for row in csv.DictReader(io.StringIO(text))
    )


def unpacked(content: bytes) -> dict[str, str]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {
            one: CHANGING.sub("", archive.read(one).decode("utf-8", "replace")) for one in archive.namelist()
        }


def test_scores_quotas_commands_exports_say_the_same(study, few_resamples):
    judged.name_files(study)
    before = numbers(study)
    judges_of(study)
    after = numbers(study)
    assert len(before) >= 70
    assert [name for name in before if before[name] != after[name]] == []


JUDGES_OWN = re.compile(r"/judges\b|/score-runs\b|/runs/|^/generation/sets/[^/]+/$")
"""Addresses that say whose answers they are about: of judges, and lists of runs."""


@pytest.fixture(scope="module")
def one_team(once):
    return once(lambda: Team("ours"))


def addresses_of(team: Team) -> list[str]:
    """Each address about the team's study and pictures."""
    found = []
    for name, route in urls():
        if not name.startswith("admin:") and "<" in route and name not in OPEN | SHARED:
            found += [address(name, route, mix) for mix in combinations(route, team, team)[:1]]
    return [url for url in found if not JUDGES_OWN.search(url)]


def pages(client, addresses: Iterable[str]) -> dict[str, str]:
    """What they say to an admin."""
    found = {}
    for url in addresses:
        answer = client.get(url)
        if answer.status_code == 200:
            body = b"".join(answer.streaming_content) if answer.streaming else answer.content
            found[url] = CHANGING.sub("", body.decode("utf-8", "replace"))
    return found


def test_pages_and_addresses_say_the_same(client, db, one_team, tmp_path):
    team = one_team.copied(tmp_path)
    client.force_login(factories.user("root", admin=True))
    score_runs.compute_pending()  # those of people: judges_of() would compute them too
    with made_once():
        before = pages(client, addresses_of(team))
        with transaction.atomic():
            judges_of(team.study)
            after = pages(client, before)
            transaction.set_rollback(True)
        cache.clear()
        # what is computed and stored by looking was not there the first time
        again = pages(client, [url for url in before if before[url] != after.get(url)])
    assert len(before) >= 100
    assert [url for url in again if again[url] != after.get(url)] == []


def test_no_import_takes_the_file_of_a_judges_answers(study, tmp_path):
    judged.name_files(study)
    run = judged.judge(study, "depiction", lambda *_: 1, name="machine")
    path = tmp_path / "answers.csv"
    path.write_text("".join(stream_answers(run, study)), encoding="utf-8")
    before = everything()
    for command, *arguments in (
        ("import_seegull", path),
        ("import_pairs", path, "--source", "made-up"),
        ("import_visage", "--attributes", path, "--annotations", path),
        ("import_release", path),
        ("import_release", tmp_path),
    ):
        with pytest.raises(CommandError):
            call_command(command, *map(str, arguments), stdout=io.StringIO(), stderr=io.StringIO())
    assert everything() == before


def test_no_door_of_annotators_takes_what_a_judge_has(client, db):
    """The keys, names and numbers of its run and jobs stand for no item, option or key of an annotator."""
    study = factories.rating_study(name="words", texts=["sombrero", "kind", "poor"])
    run = judged.judge(study, "visual_nature", lambda *_: 5, name="machine", again=2)
    job = run.jobs.order_by("pk").first()
    who = factories.user("amal")
    client.force_login(who)
    factories.enrolment(study, who=factories.annotator(user=who), consented=True)
    page = "/studies/words/annotate/"

    def post(door: str, body: dict[str, object]):
        return client.post(f"{page}{door}/", json.dumps(body), content_type="application/json")

    item = post("items", {}).json()["items"][0]
    [option] = item["options"]
    design = Design.from_json(run.recipe["design"])
    good = {
        "unit": item["unit"],
        "client_key": item["client_key"],
        "answers": [{"option": option["id"], "value": 5, "position": option["position"]}],
    }
    numbers_of_jobs = list(run.jobs.order_by("-pk").values_list("pk", flat=True))
    no_unit = next(number for number in numbers_of_jobs if number != item["unit"])
    no_option = next(number for number in numbers_of_jobs if number != option["id"])
    tries = [
        {**good, "client_key": job.key},
        {**good, "client_key": run.pk},
        {**good, "client_key": str(order_key(design, 1, "base", attributes=1))},
        {**good, "unit": job.key},
        {**good, "unit": run.name},
        {**good, "unit": no_unit},
        {**good, "answers": run.answers.get(pk=job.pk).text},
        {**good, "answers": [{**good["answers"][0], "option": job.key}]},
        {**good, "answers": [{**good["answers"][0], "option": no_option}]},
    ]
    before = everything()
    for door in ("answers", "corrections", "skips"):
        for body in tries[:6] if door == "skips" else tries:
            refused = post(door, {**body, "reason": "other"})
            assert 400 <= refused.status_code < 500, (door, body)
    assert everything() == before
    assert post("answers", good).status_code == 200  # what was tried differed in that one thing only
