"""A study with people who say who they are, and its releases, for the tests of releases."""

from __future__ import annotations

import csv
import json
from pathlib import Path

from annotation.models import Annotator, ProfileAnswer, Response, Study
from annotation.releases.request import ReleaseOptions
from annotation.releases.services import bundle
from tests import factories

ASIAN_WOMAN = {"origin": "Asia", "gender": "woman", "age_band": "25-34"}
EUROPEAN_MAN = {"origin": "Europe", "gender": "man", "age_band": "45-54"}
ASIAN_MAN = {"origin": "Asia", "gender": "man", "age_band": "35-44"}


def person(profile: dict[str, str], *, publish: bool = True, **fields) -> Annotator:
    made = factories.annotator(profile=profile, **fields)
    made.profile_answers.update(may_publish=publish)
    return made


def people(*groups: tuple[dict[str, str], int]) -> list[Annotator]:
    """So many of each profile, in turns."""
    return [person(profile) for profile, number in groups for _ in range(number)]


def answered(who: list[Annotator], *, name: str = "live", units: int = 20, strata=None, **fields) -> Study:
    """Everybody rates every unit, each in a way of their own: a vector of answers tells who it was."""
    study = factories.study(name, contact="studies@example.org", **fields)
    factories.consent_text(study)
    task = factories.task(study, strata=strata or ("any",) * len(who))
    rated = factories.attribute_units(task, [f"attribute {number}" for number in range(units)])
    factories.responses(
        (unit, [1 + (place * 7 + number * number + (number * place) % 3) % 5], one)
        for number, unit in enumerate(rated)
        for place, one in enumerate(who)
    )
    for place, one in enumerate(who):
        Response.objects.filter(annotator=one, unit__in=rated).update(active_ms=1000 + 137 * place)
    return study


def released(study: Study, folder: Path, **wanted) -> Path:
    bundle.write(study=study, path=folder, by=None, options=ReleaseOptions(**wanted))
    return folder


def rows(folder: Path, file: str) -> list[dict[str, str]]:
    with (folder / file).open(encoding="utf-8", newline="") as text:
        return list(csv.DictReader(text))


def about(folder: Path) -> dict:
    return json.loads((folder / "release.json").read_text())


def say(who: Annotator, field: str, value: str, *, publish: bool = True, own: bool = False) -> None:
    ProfileAnswer.objects.update_or_create(
        annotator=who,
        field=field,
        defaults={"value": value, "may_publish": publish, "self_described": own},
    )
