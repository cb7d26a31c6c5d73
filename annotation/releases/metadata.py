"""Machine-readable descriptions of a release: release.json, and the study file."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import date
from functools import cached_property
from typing import Any

from django.db.models import Model
from django.utils.translation import gettext_noop

from annotation.core.code_version import code_version
from annotation.models import ImageSet, Purpose, Response, Source, Study, Task, TaskKind
from annotation.releases import columns
from annotation.releases.annotators import People
from annotation.releases.coarsening import FieldReport
from annotation.releases.request import ReleaseOptions
from annotation.releases.rows import Counts
from annotation.releases.screening import Screen
from annotation.releases.tables import ReleasedImages, associations
from annotation.studies.errors import StudyRefused
from annotation.studies.services import study_files
from annotation.studies.services.study_plan import current_consent
from annotation.studies.study_file.reading import CROWD_PARAMETERS
from annotation.studies.study_file.writing import study_toml


@dataclass(frozen=True)
class ReleaseInfo:
    """The input of all documents of a release. `rows`: number of rows of each table but the answers."""

    study: Study
    options: ReleaseOptions
    people: People
    counts: Counts
    screen: Screen | None
    images: ReleasedImages
    made_on: date
    rows: Mapping[str, int]

    @property
    def simulated(self) -> bool:
        return self.study.simulated or any(self.people.simulated)

    @cached_property
    def tasks(self) -> tuple[Task, ...]:
        return tuple(self.study.tasks.select_related("image_set").order_by("pk"))

    @cached_property
    def sources(self) -> tuple[Source, ...]:
        used = set(associations(self.study).order_by().values_list("source", flat=True).distinct())
        return tuple(Source.objects.filter(pk__in=used | {self.study.stereotype_source_id}).order_by("name"))

    @cached_property
    def image_sets(self) -> tuple[ImageSet, ...]:
        """The image sets of the study's tasks and of its images."""
        used = {image.image_set_id for image in self.images.images}
        used |= {task.image_set_id for task in self.tasks if task.image_set_id}
        return tuple(ImageSet.objects.filter(pk__in=used).order_by("name"))

    @property
    def title(self) -> str:
        return f"SIMULATED ANSWERS: {self.study.title}" if self.simulated else self.study.title

    def label(self, field: str) -> str:
        """A profile field in words."""
        labels = {str(each["field"]): str(each["label"]) for each in self.study.questions}
        return labels.get(field, f"self-described {field.replace('_', ' ')}")

    def column_specs(self, file: str) -> columns.ColumnSpecs:
        """The columns of a file of this release, with their types and descriptions."""
        every = columns.COLUMNS[file]
        if file == columns.ANNOTATIONS:
            return columns.answer_columns(with_text=self.screen is not None)
        if file == columns.ANNOTATORS:
            return every + tuple(
                (each.name, "text", f"{self.label(each.name)}; empty if not published")
                for each in self.people.coarsened.report
                if not each.withheld
            )
        return every


def release_json(info: ReleaseInfo) -> dict[str, Any]:
    """The content of release.json. It discloses nothing beyond the tables."""
    study, options = info.study, info.options
    return {
        "schema": columns.SCHEMA,
        "made_with": code_version(),
        "made_on": info.made_on.isoformat(),
        "simulated": info.simulated,
        "content_warning": "Contains stereotypes of groups of people, some of them offensive.",
        "licence": options.licence,
        "citation": options.citation,
        "k": options.k,
        "coarsened": [
            {"field": each.name, "told": describe_level(each)} for each in info.people.coarsened.report
        ],
        "pseudonyms": info.people.has_pseudonyms,
        "withheld_by_choice": sorted(options.withhold),
        "strata": "told" if info.people.strata_published else "withheld",
        "strata_worked_out": asdict(info.people.linkage),
        "durations": f"steps of {columns.STEP_SECONDS} s, at most {columns.LONGEST_SECONDS} s; no times",
        "texts": None if info.screen is None else {"screened": True, "changed": info.screen.removed},
        "counts": {**asdict(info.counts), "annotators": len(info.people)},
        "study": {
            **_fields(study, columns.STUDY_FIELDS),
            "stereotype_source": study.stereotype_source.name if study.stereotype_source else None,
            "consent": {
                language: {"text": text.text, "content_warning": text.content_warning}
                for language, text in sorted(current_consent(study).items())
            },
        },
        "tasks": [
            {
                **_fields(task, columns.TASK_FIELDS),
                "strata": task.strata if info.people.strata_published else ["any"] * task.overlap,
                "image_set": task.image_set.name if task.image_set else None,
            }
            for task in info.tasks
        ],
        "sources": [_fields(one, columns.SOURCE_FIELDS) for one in info.sources],
        "image_sets": [_fields(one, columns.IMAGE_SET_FIELDS) for one in info.image_sets],
    }


def _fields(row: Model, names: Iterable[str]) -> dict[str, Any]:
    return {name: getattr(row, name) for name in names}


def describe_people_part(task: Task) -> list[str]:
    """Why units of `task` have no answers, if people judged a random part; else nothing."""
    if task.people_share is None:
        return []
    items = "images" if task.kind == TaskKind.DEPICTION else "items"
    return [
        f"People judged a random part: {100 * task.people_share:g} % of the {items}, drawn with the task's "
        "seed within each identity group if there are any. The other units have no answers."
    ]


def describe_level(field: FieldReport) -> str:
    """How a field is published, in words (a msgid)."""
    if field.withheld:
        return gettext_noop("withheld")
    if field.level == 0:
        return gettext_noop("as chosen")
    if field.name == "age_band":
        return gettext_noop("age bands merged") if field.level == 1 else gettext_noop("two age bands")
    return gettext_noop("Global South or Global North")


def count_left_out(study: Study) -> dict[str, int]:
    """Numbers of responses that a release leaves out, besides withdrawn ones."""
    responses = Response.objects.filter(unit__task__study=study, withdrawn_at__isnull=True)
    return {
        "earlier revisions": responses.filter(current=False).count(),
        "answers to practice items and checks": responses.filter(current=True)
        .exclude(unit__purpose=Purpose.DATA)
        .count(),
    }


def study_file(info: ReleaseInfo) -> str:
    """The study as a file (docs/studies.md), without its leads and without completion codes.

    If the units cannot be described in a study file, they are left out, and a comment says why.
    """
    try:
        file, problem = study_files.to_study_file(study=info.study), ""
    except StudyRefused as refused:
        file, problem = study_files.to_study_file(study=info.study, with_units=False), str(refused)
    file = replace(file, leads=(), completion_code="", completion_url="", crowd_parameters=CROWD_PARAMETERS)
    comments = ["The released study. The units that were shown are in units.csv."]
    if info.simulated:
        comments.append("SIMULATED: its answers were made by a program, not by people.")
    if not info.people.strata_published:
        file = replace(
            file,
            tasks=tuple(replace(task, strata=("any",) * len(task.strata)) for task in file.tasks),
        )
        comments.append("Strata are withheld: they would disclose more about people than annotators.csv.")
    if problem:
        comments.append(f"`open_study` cannot use this file: {problem}")
    return "".join(f"# {' '.join(each.split())}\n" for each in comments) + study_toml(file)
