"""No answer of a machine judge gets into a number about people, by any door.

Everything that the program says about a study is read before and after judges have answered all of it, each
with the answers that would change most: what is said must be the same, but for the judges' own addresses.
"""

from __future__ import annotations

import ast
import csv
import io
import re
import zipfile
from collections.abc import Iterator

import pytest
from django.apps import apps
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
from metrics.score_runs import registry
from metrics.score_runs import services as score_runs
from metrics.score_runs.evaluation import evaluate
from metrics.score_runs.metric import VARIANTS
from tests import factories
from tests.conftest import ROOT
from tests.metrics.machine_judges import judged
from tests.metrics.score_runs.test_registry import compared_with, scored_by_people
from tests.test_access import urls
from tests.test_other_teams import OPEN, SHARED, Team, address, combinations, everything

pytestmark = pytest.mark.django_db

PEOPLES_METRICS = [one for one in registry.metrics() if one.source != "machine judge"]
CHANGING = re.compile(
    r'csrfmiddlewaretoken" value="\w+"|"csrfToken": "\w+"|nonce="[^"]*"|'  # new in each request
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
        for variant in VARIANTS:
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


def test_scores_quotas_commands_exports_say_the_same(study):
    judged.name_files(study)
    before = numbers(study)
    judges_of(study)
    after = numbers(study)
    assert len(before) >= 50
    assert [name for name in before if before[name] != after[name]] == []


JUDGES_OWN = re.compile(r"/judges\b|/score-runs\b|/runs/|^/generation/sets/[^/]+/$")
"""Addresses that say whose answers they are about: of judges, and lists of runs."""


@pytest.fixture(scope="module")
def one_team(once):
    return once(lambda: Team("ours"))


def pages(client, team: Team) -> dict[str, str]:
    """What each address about the team's study and pictures says to an admin."""
    found = {}
    for name, route in urls():
        if name.startswith("admin:") or "<" not in route or name in OPEN | SHARED:
            continue
        for mix in combinations(route, team, team)[:1]:
            url = address(name, route, mix)
            if JUDGES_OWN.search(url):
                continue
            answer = client.get(url)
            if answer.status_code != 200:
                continue
            body = b"".join(answer.streaming_content) if answer.streaming else answer.content
            found[url] = CHANGING.sub("", body.decode("utf-8", "replace"))
    return found


def test_pages_and_addresses_say_the_same(client, db, one_team, tmp_path):
    team = one_team.copied(tmp_path)
    client.force_login(factories.user("root", admin=True))
    pages(client, team)  # what is computed and stored by looking is there then
    before = pages(client, team)
    judges_of(team.study)
    after = pages(client, team)
    assert len(before) >= 50
    assert [url for url in before if before[url] != after.get(url)] == []


def modules() -> Iterator[tuple[str, ast.Module]]:
    for app in ("annotation", "metrics", "visage_app"):
        for path in sorted((ROOT / app).rglob("*.py")):
            yield path.relative_to(ROOT).as_posix(), ast.parse(path.read_text(encoding="utf-8"))


ASKS_MODELS = (
    *("machine_judges", "associations", "brightness", "candidates", "inference", "marking"),
    *("visual_questions", "embedding_tests", "demo.py"),
)
"""What reads the answers of models: none of it is a number about what people judged."""


def test_no_measure_of_peoples_answers_reads_those_of_models():
    reading = [
        name
        for name, tree in modules()
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        and node.module in {"generation.models", "generation.models.products"}
        and "Answer" in {one.name for one in node.names}
    ]
    assert "metrics/machine_judges/data.py" in reading
    assert [one for one in reading if not one.removeprefix("metrics/").startswith(ASKS_MODELS)] == []


def test_no_table_of_peoples_answers_points_to_those_of_models():
    """An answer of a model has no place among judgements, and nothing can put it there by a key."""
    models = set(apps.get_app_config("annotation").get_models())
    pointing = {
        (model.__name__, field.name)
        for model in models
        for field in model._meta.get_fields()
        if field.is_relation
        and not field.auto_created
        and field.related_model is not None
        and field.related_model._meta.app_label in {"generation", "metrics"}
    }
    assert pointing == set()


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
