"""The file of embedding tests: TOML in, checked dataclasses out. Pure (docs/embedding-tests.md)."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from generation.recipes.checks import LONGEST_TEXT as LONGEST_TEXT

EAT = "eat"
SC_EAT = "sc-eat"
KINDS = (EAT, SC_EAT)
REGION = "{region}"
DRAWINGS = 1000
MOST_DRAWINGS = 100_000
MOST_TESTS = 500


class TestFileRefused(ValueError):
    """What is wrong in a file of tests. The message names the test and the field, and the cure."""

    __test__ = False  # for pytest


@dataclass(frozen=True, kw_only=True)
class EffectTest:
    """One test. EAT: `x`, `y` are names of groups of images, `a`, `b` texts. SC-EAT: `target` is a text, `x`
    and `y` are the groups that the file calls a and b; `a`, `b` are empty. Several names of groups are taken
    together."""

    name: str
    kind: str
    x: tuple[str, ...]
    y: tuple[str, ...]
    a: tuple[str, ...] = ()
    b: tuple[str, ...] = ()
    target: str = ""

    @property
    def texts(self) -> tuple[str, ...]:
        """The texts that have to be embedded."""
        return (self.target,) if self.kind == SC_EAT else (*self.a, *self.b)


@dataclass(frozen=True, kw_only=True)
class Ranking:
    """Ranking of images by a prompt for each region. `reference`: the name of the table's file; its first
    column is the region, each other a group with its share. `variables`: the name of a second such file, each
    other column a variable with any numbers; empty without one. `prompts`: region -> its own prompt. `top` 0:
    as many images as the smallest group has."""

    prompt: str
    reference: str
    prompts: Mapping[str, str]
    drawings: int = DRAWINGS
    seed: int = 0
    top: int = 0
    variables: str = ""

    def prompt_of(self, region: str) -> str:
        return self.prompts.get(region) or self.prompt.replace(REGION, region)


@dataclass(frozen=True, kw_only=True)
class TestFile:
    """`image_set`: the name of the set whose images are tested; `encoder`: whose vectors (docs)."""

    __test__ = False  # for pytest

    image_set: str
    encoder: str
    tests: tuple[EffectTest, ...] = ()
    ranking: Ranking | None = None

    @property
    def texts(self) -> tuple[str, ...]:
        """The texts of all tests, each once. Those of the ranking depend on the regions of its reference."""
        return tuple(dict.fromkeys(text for test in self.tests for text in test.texts))


def parse(text: str) -> TestFile:
    """Raises TestFileRefused."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise TestFileRefused(f"The file is not TOML: {error}. Correct it there.") from error
    _check_fields("the file", data, required=("set", "encoder"), optional=("test", "ranking"))
    tests = data.get("test", [])
    if not isinstance(tests, list) or not all(isinstance(each, dict) for each in tests):
        raise TestFileRefused("test: write each test below a line [[test]].")
    if len(tests) > MOST_TESTS:
        raise TestFileRefused(f"The file has {len(tests)} tests; at most {MOST_TESTS}. Divide it.")
    ranking = data.get("ranking")
    if not tests and ranking is None:
        raise TestFileRefused("The file has neither a [[test]] nor a [ranking]. Add one.")
    found = tuple(_test(number, each) for number, each in enumerate(tests, start=1))
    names = [each.name for each in found]
    if twice := next((name for name in names if names.count(name) > 1), ""):
        raise TestFileRefused(f"Two tests are called '{twice}'. Give each a name of its own.")
    return TestFile(
        image_set=_text("the file", data, "set"),
        encoder=_text("the file", data, "encoder"),
        tests=found,
        ranking=None if ranking is None else _ranking(ranking),
    )


def as_toml_data(file: TestFile) -> dict[str, Any]:
    """Inverse of `parse`, for tomli_w."""
    data: dict[str, Any] = {"set": file.image_set, "encoder": file.encoder}
    if file.tests:
        data["test"] = [_test_data(each) for each in file.tests]
    if file.ranking is not None:
        ranking = file.ranking
        data["ranking"] = {
            "prompt": ranking.prompt,
            "reference": ranking.reference,
            "drawings": ranking.drawings,
            "seed": ranking.seed,
        }
        if ranking.variables:
            data["ranking"]["variables"] = ranking.variables
        if ranking.top:
            data["ranking"]["top"] = ranking.top
        if ranking.prompts:
            data["ranking"]["prompts"] = dict(ranking.prompts)
    return data


def _test_data(test: EffectTest) -> dict[str, Any]:
    head = {"name": test.name, "kind": test.kind}
    if test.kind == SC_EAT:
        return {**head, "target": test.target, "a": list(test.x), "b": list(test.y)}
    return {**head, "x": list(test.x), "y": list(test.y), "a": list(test.a), "b": list(test.b)}


def _test(number: int, data: Mapping[str, Any]) -> EffectTest:
    where = f"test {number}"
    if isinstance(data.get("name"), str) and data["name"].strip():
        where = f"test {number} ('{data['name'][:60]}')"
    kind = data.get("kind")
    if kind not in KINDS:
        raise TestFileRefused(f"{where}: kind is {kind!r}. Write one of: {', '.join(KINDS)}.")
    if kind == EAT:
        _check_fields(where, data, required=("name", "kind", "x", "y", "a", "b"))
        test = EffectTest(
            name=_text(where, data, "name"),
            kind=EAT,
            x=_texts(where, data, "x"),
            y=_texts(where, data, "y"),
            a=_texts(where, data, "a"),
            b=_texts(where, data, "b"),
        )
    else:
        _check_fields(where, data, required=("name", "kind", "target", "a", "b"))
        test = EffectTest(
            name=_text(where, data, "name"),
            kind=SC_EAT,
            target=_text(where, data, "target"),
            x=_texts(where, data, "a"),
            y=_texts(where, data, "b"),
        )
    if both := sorted(set(test.x) & set(test.y)):
        raise TestFileRefused(f"{where}: the group '{both[0]}' is on both sides. Remove it from one.")
    return test


def _ranking(data: Any) -> Ranking:
    where = "ranking"
    if not isinstance(data, dict):
        raise TestFileRefused("ranking: write it below a line [ranking].")
    optional = ("variables", "prompts", "drawings", "seed", "top")
    _check_fields(where, data, required=("prompt", "reference"), optional=optional)
    prompts = data.get("prompts", {})
    if not isinstance(prompts, dict):
        raise TestFileRefused('ranking: prompts is a table: { "region" = "its prompt" }.')
    prompt = _text(where, data, "prompt")
    if REGION not in prompt:
        raise TestFileRefused(f"ranking: prompt names no region. Write {REGION} where its name belongs.")
    return Ranking(
        prompt=prompt,
        reference=_text(where, data, "reference"),
        prompts={region: _text("ranking, prompts", prompts, region) for region in prompts},
        drawings=_number(where, data, "drawings", DRAWINGS, least=1, most=MOST_DRAWINGS),
        seed=_number(where, data, "seed", 0, least=0, most=2**63 - 1),
        top=_number(where, data, "top", 0, least=0, most=10**6),
        variables=_text(where, data, "variables") if "variables" in data else "",
    )


def _check_fields(
    where: str, data: Mapping[str, Any], *, required: tuple[str, ...], optional: tuple[str, ...] = ()
) -> None:
    known = (*required, *optional)
    if missing := [name for name in required if name not in data]:
        raise TestFileRefused(f"{where}: {missing[0]} is missing. Add it.")
    if unknown := sorted(set(data) - set(known)):
        raise TestFileRefused(f"{where}: unknown field '{unknown[0]}'. Use {', '.join(known)}.")


def _text(where: str, data: Mapping[str, Any], name: str) -> str:
    value = data[name]
    if not isinstance(value, str) or not value.strip() or len(value) > LONGEST_TEXT or "\0" in value:
        raise TestFileRefused(f"{where}: {name} must be a text of 1 to {LONGEST_TEXT} characters.")
    return value.strip()


def _texts(where: str, data: Mapping[str, Any], name: str) -> tuple[str, ...]:
    value = data[name]
    values = value if isinstance(value, list) else [value]
    if not values:
        raise TestFileRefused(f"{where}: {name} is empty. Name at least one.")
    found = [_text(where, {name: each}, name) for each in values]
    if twice := next((each for each in found if found.count(each) > 1), ""):
        raise TestFileRefused(f"{where}: {name} has '{twice}' twice. Remove one.")
    return tuple(found)


def _number(where: str, data: Mapping[str, Any], name: str, default: int, *, least: int, most: int) -> int:
    value = data.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise TestFileRefused(f"{where}: {name} must be a whole number from {least} to {most}.")
    return value
