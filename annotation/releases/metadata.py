"""What a release says of itself, for programs: release.json, and the study as a file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import date
from typing import Any

from annotation.core.code_version import code_version
from annotation.core.translation import LANGUAGE
from annotation.models import ImageSet, Purpose, Response, Source, Study, Task
from annotation.releases import columns
from annotation.releases.annotators import People
from annotation.releases.request import Wanted
from annotation.releases.rows import Counts
from annotation.releases.screening import Screen
from annotation.releases.tables import Pictures, associations
from annotation.studies.errors import StudyRefused
from annotation.studies.services import study_files
from annotation.studies.services.study_plan import current_consent
from annotation.studies.study_file.reading import CROWD_PARAMETERS, StudyFile
from annotation.studies.study_file.tasks import TaskFile
from annotation.studies.study_file.writing import study_toml

_STUDY = ("name", "title", "description", "contact", "stereotype_pool", "stereotype_threshold")
_RULES = ("visual_rule", "visual_mean")
_STUDY_TOO = (
    *_RULES,
    "questions",
    "training_pass",
    "gold_rate",
    "blur_images",
    "break_after",
    "translations",
)
_TASK = ("kind", "version", "wording", "instructions", "overlap", "translations", "examples")


@dataclass(frozen=True)
class About:
    """Everything that the documents of a release are written from."""

    study: Study
    wanted: Wanted
    people: People
    counts: Counts
    screen: Screen | None
    pictures: Pictures
    simulated: bool
    made_on: date
    tasks: tuple[Task, ...]
    sources: tuple[Source, ...]
    image_sets: tuple[ImageSet, ...]
    rows: Mapping[str, int]

    @property
    def strata_told(self) -> bool:
        return self.people.strata_told

    @property
    def title(self) -> str:
        return f"SIMULATED ANSWERS: {self.study.title}" if self.simulated else self.study.title

    def described(self, file: str) -> columns.Described:
        """The columns of a file of this release, with what they hold."""
        every = columns.COLUMNS[file]
        if file == columns.ANNOTATIONS and self.screen is None:
            return tuple(each for each in every if each[0] != columns.JUSTIFICATION)
        if file == columns.ANNOTATORS:
            labels = {str(each["field"]): str(each["label"]) for each in self.study.questions}
            return every + tuple(
                (each.name, "text", f"{told(each.name, labels)}; empty where that is not told")
                for each in self.people.coarsened.report
                if not each.withheld
            )
        return every


def told(field: str, labels: Mapping[str, str]) -> str:
    """A profile field in words."""
    return labels.get(field, f"self-described {field.replace('_', ' ')}")


def sources_of(study: Study) -> tuple[Source, ...]:
    used = set(associations(study).order_by().values_list("source", flat=True).distinct())
    if study.stereotype_source_id:
        used.add(study.stereotype_source_id)
    return tuple(Source.objects.filter(pk__in=used).order_by("name"))


def sets_of(study: Study, pictures: Pictures) -> tuple[ImageSet, ...]:
    """The image sets that its tasks name and that its images are of."""
    used = {image.image_set_id for image in pictures.images}
    used |= {key for key in study.tasks.values_list("image_set", flat=True) if key}
    return tuple(ImageSet.objects.filter(pk__in=used).order_by("name"))


def holds_simulated(study: Study, people: People) -> bool:
    return study.simulated or any(people.simulated)


def as_data(about: About) -> dict[str, Any]:
    """release.json. Nothing in it is finer than the tables beside it."""
    study, wanted = about.study, about.wanted
    return {
        "schema": columns.SCHEMA,
        "made_with": code_version(),
        "made_on": about.made_on.isoformat(),
        "simulated": about.simulated,
        "content_warning": "Holds stereotypes of groups of people, some of them offensive.",
        "licence": wanted.licence,
        "citation": wanted.citation,
        "k": wanted.k,
        "coarsened": [
            {"field": each.name, "told": in_words(each.name, each.level, each.levels, each.told)}
            for each in about.people.coarsened.report
        ],
        "pseudonyms": about.people.named,
        "withheld_by_choice": sorted(wanted.withhold),
        "strata": "told" if about.strata_told else "withheld",
        "strata_worked_out": asdict(about.people.linkage),
        "durations": f"steps of {columns.STEP_SECONDS} s, at most {columns.LONGEST_SECONDS} s; no times",
        "texts": None if about.screen is None else {"screened": True, "changed": about.screen.removed},
        "counts": {**asdict(about.counts), "annotators": len(about.people)},
        "study": {
            **{name: getattr(study, name) for name in (*_STUDY, *_STUDY_TOO)},
            "simulated": study.simulated,
            "session_cap": study.session_cap,
            "support_text": study.support_text,
            "stereotype_source": study.stereotype_source.name if study.stereotype_source else None,
            "consent": {
                language: {"text": text.text, "content_warning": text.content_warning}
                for language, text in sorted(current_consent(study).items())
            },
        },
        "tasks": [
            {
                **{name: getattr(task, name) for name in _TASK},
                "strata": task.strata if about.strata_told else ["any"] * task.overlap,
                "page_size": task.page_size,
                "seed": task.seed,
                "image_set": task.image_set.name if task.image_set else None,
            }
            for task in about.tasks
        ],
        "sources": [
            {"name": one.name, "title": one.title, "licence": one.licence, "citation": one.citation}
            for one in about.sources
        ],
        "image_sets": [
            {
                "name": one.name,
                "title": one.title,
                "model_name": one.model_name,
                "licence": one.licence,
                "drawn": one.drawn,
            }
            for one in about.image_sets
        ],
    }


def in_words(name: str, level: int, levels: int, told: int) -> str:
    """What became of a field, in words."""
    if not told:
        return "withheld"
    if level == 0:
        return "as it was chosen"
    if name == "age_band":
        return "age bands merged" if level == 1 else "two age bands"
    return "Global South or Global North"


def left_out(study: Study) -> dict[str, int]:
    """Answers that are no part of a release, besides those that were withdrawn."""
    kept = Response.objects.filter(unit__task__study=study, withdrawn_at__isnull=True)
    return {
        "earlier revisions": kept.filter(current=False).count(),
        "answers to practice items and checks": kept.filter(current=True)
        .exclude(unit__purpose=Purpose.DATA)
        .count(),
    }


def study_file(about: About) -> str:
    """The study as a file (docs/studies.md), without who leads it and without what pays people.

    Where a file cannot say what was shown, it says the rest, and why.
    """
    try:
        file, lacks = study_files.to_study_file(study=about.study), ""
    except StudyRefused as refused:
        file, lacks = _without_what_is_shown(about), str(refused)
    file = replace(file, leads=(), completion_code="", completion_url="", crowd_parameters=CROWD_PARAMETERS)
    if not about.strata_told:
        file = replace(
            file,
            tasks=tuple(replace(task, strata=("any",) * len(task.strata)) for task in file.tasks),
        )
    comments = ["The released study. What was shown, unit by unit, stands in units.csv."]
    if about.simulated:
        comments.append("SIMULATED: its answers were made by a program, not by people.")
    if not about.strata_told:
        comments.append("Strata are withheld: they would say more of people than annotators.csv does.")
    if lacks:
        comments.append(f"`open_study` cannot use this file: {lacks}")
    return "".join(f"# {' '.join(each.split())}\n" for each in comments) + study_toml(file)


def _without_what_is_shown(about: About) -> StudyFile:
    study = about.study
    consent = current_consent(study)
    own = consent.get(LANGUAGE)
    return StudyFile(
        name=study.name,
        title=study.title,
        description=study.description,
        contact=study.contact,
        leads=(),
        consent=own.text if own else "",
        content_warning=own.content_warning if own else "",
        stereotype_source=study.stereotype_source.name if study.stereotype_source else None,
        stereotype_pool=study.stereotype_pool,
        stereotype_threshold=study.stereotype_threshold,
        visual_rule=study.visual_rule,
        visual_mean=study.visual_mean,
        tasks=tuple(
            TaskFile(
                kind=task.kind,
                wording=task.wording,
                instructions=task.instructions,
                strata=tuple(task.strata),
                seed=task.seed,
                page_size=task.page_size,
                translations=task.translations,
            )
            for task in about.tasks
        ),
    )


__all__ = [
    "About",
    "as_data",
    "holds_simulated",
    "in_words",
    "left_out",
    "sets_of",
    "sources_of",
    "study_file",
]
