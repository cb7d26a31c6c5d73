"""Nothing that computes numbers about people reads the answers of models, or can: by the code alone."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator

import pytest
from django.apps import apps

from tests.conftest import ROOT


def modules() -> Iterator[tuple[str, ast.Module]]:
    """All that could read an answer of a model: every way to do so has both words in it."""
    for app in ("annotation", "metrics", "visage_app"):
        for path in sorted((ROOT / app).rglob("*.py")):
            code = path.read_text(encoding="utf-8")
            if has_both_words(code):
                yield path.relative_to(ROOT).as_posix(), ast.parse(code)


def has_both_words(code: str) -> bool:
    return "generation" in code and "answer" in code.casefold()


ASKS_MODELS = (
    *("machine_judges", "associations", "brightness", "candidates", "inference", "marking"),
    *("visual_questions", "embedding_tests", "demo.py", "management/commands/import_answers.py"),
)
"""What reads the answers of models: none of it is a number about what people judged."""
MODELS = {"generation.models", "generation.models.products"}
RELATION = re.compile(r"(?:^|__)answers?(?:__|$)")


def readings_of_models(tree: ast.Module) -> set[str]:
    """How a module reaches the answers of models: by their table, by the room that has them, or, if it knows
    runs, by a relation (`run.answers`, `job.answer`, `answers__text`)."""
    found, knows_runs = set(), False
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            names = {node.module, *(f"{node.module}.{one.name}" for one in node.names)}
        elif isinstance(node, ast.Import):
            names = {one.name for one in node.names}
        else:
            continue
        knows_runs |= bool(names & MODELS)
        found |= {one for one in names if re.match(r"generation\.(answers\b|models\.(\w+\.)?Answer$)", one)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and node.value == "generation_answer":
            found.add(node.value)
        if not knows_runs:
            continue
        if isinstance(node, ast.Attribute) and node.attr in {"answer", "answers"}:
            found.add(f".{node.attr}")
        if isinstance(node, ast.keyword) and node.arg and RELATION.search(node.arg):
            found.add(f"{node.arg}=")
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and "__" in node.value:
            found |= {node.value} if RELATION.search(node.value) else set()
    return found


@pytest.mark.parametrize(
    "code",
    [
        "from generation.models import Answer, Run",
        "from generation.models.products import Answer",
        "from generation.answers import queries",
        "from generation.answers.queries import spent",
        "import generation.answers.queries as asked",
        "from generation import answers",
        "from generation.models import Run\nRun.objects.get(pk=1).answers.all()",
        "from generation.models import Job\nJob.objects.get(pk=1).answer.text",
        "from generation.models import Run\nRun.objects.filter(answers__text='A')",
        "from generation import models\nmodels.Job.objects.values_list('answer__text')",
        "table = 'generation_answer'",
    ],
)
def test_each_way_to_read_answers_of_models_is_seen(code):
    assert has_both_words(code)
    assert readings_of_models(ast.parse(code))


@pytest.mark.parametrize(
    "code",
    [
        "from metrics.core.answers import counted_judgements",
        "from generation.models import Run\nrun = Run.objects.get(pk=1)",
        "speed.answers + side.answers",  # of people, in a module that knows no runs
    ],
)
def test_and_what_reads_none_is_left_alone(code):
    assert not readings_of_models(ast.parse(code))


def test_no_measure_of_peoples_answers_reads_those_of_models():
    reading = {name: found for name, tree in modules() if (found := readings_of_models(tree))}
    assert "metrics/machine_judges/data.py" in reading
    outside = {
        name: found
        for name, found in reading.items()
        if not name.removeprefix("metrics/").startswith(ASKS_MODELS)
    }
    assert outside == {}


NO_ROOMS = {
    *("machine_judges", "measures", "demo", "urls", "urls_api", "management", "templatetags"),
    *("migrations", "apps", "admin"),
}
"""Of metrics: the room itself, and what registers or calls measures and computes none."""


def test_every_room_is_inside_the_contract():
    """A new room with numbers about people cannot be forgotten in pyproject.toml."""
    written = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = written["tool"]["importlinter"]["contracts"]
    name = "no number about people comes from machine judges"
    [contract] = [one for one in contracts if one["name"] == name]
    on_disk = {
        path.stem
        for path in (ROOT / "metrics").iterdir()
        if path.suffix == ".py" or (path.is_dir() and any(path.glob("*.py")))
    }
    rooms = {f"metrics.{room}" for room in on_disk - NO_ROOMS - {"__init__"}}
    others = set(written["tool"]["importlinter"]["root_packages"]) - {"metrics"}
    assert set(contract["source_modules"]) == rooms | others
    # the only exception reads which scores of a judge to wait for, and no answer of one
    assert {one.partition(" -> ")[0] for one in contract["ignore_imports"]} == {
        "metrics.dashboards.views.fresh_scores"
    }


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
