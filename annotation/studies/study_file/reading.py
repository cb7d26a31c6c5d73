"""Reading and checking a study file (docs/studies.md). Whether the people, sources and attributes it names
exist is checked in studies/services/study_plan.py. Pure: no Django."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from annotation.studies.errors import KeyPath, StudyFileError
from annotation.studies.errors import gettext_noop as _
from annotation.studies.study_file import safe_toml
from annotation.studies.study_file.stimuli import PageDraw
from annotation.studies.study_file.table import LARGEST_NUMBER, Table
from annotation.studies.study_file.tasks import TaskFile, read_task
from annotation.studies.study_file.texts import LONGEST_TITLE, read_questions, read_translations

_POOLS = ("in", "out")
_INTERVALS = ("clustered", "bootstrap")
NAME_PATTERN = r"[a-z0-9]+(?:[-_][a-z0-9]+)*"
CROWD_PARAMETERS = {"participant": "PROLIFIC_PID", "study": "STUDY_ID", "session": "SESSION_ID"}
# Also used by the forms of the setup pages
PARAMETER_PATTERN = r"[A-Za-z0-9_.-]+"
URL_PATTERN = r"https?://[^\s/]+\S*"


@dataclass(frozen=True)
class StudyFile:
    """The content of a study file. `translations`: language -> {"title": ..., "description": ...,
    "support_text": ...}, with only the translated texts. `consent_translations`: language -> {"text": ...,
    "content_warning": ...}."""

    name: str
    title: str
    description: str
    contact: str
    leads: tuple[str, ...]
    consent: str
    content_warning: str
    stereotype_source: str | None
    stereotype_pool: str
    stereotype_threshold: int
    visual_rule: int | None
    tasks: tuple[TaskFile, ...]
    visual_mean: float | None = None
    intervals: str = _INTERVALS[0]
    consent_translations: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    # recruitment
    self_enrol: bool = True
    questions: Sequence[dict[str, Any]] = ()
    crowd_parameters: Mapping[str, str] = field(default_factory=lambda: dict(CROWD_PARAMETERS))
    completion_code: str = ""
    completion_url: str = ""
    # quality
    training_pass: float | None = None
    gold_rate: float = 0.0
    # care
    blur_images: bool = False
    break_after: int = 30
    session_cap: int | None = None
    support_text: str = ""
    translations: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


def read_study_file(path: Path) -> StudyFile:
    """Read and check a file. Raises StudyFileError, whose message begins with the path of the file."""
    try:
        return _read_study(Table(_parse(_read_text(path)), path=""), folder=path.parent)
    except StudyFileError as error:
        raise StudyFileError(f"{path}: {error}") from error


def read_study_text(text: str) -> StudyFile:
    """Read and check the text of a study file, e.g. an upload. It cannot refer to other files."""
    return _read_study(Table(_parse(text), path=""), folder=None)


def _read_text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise StudyFileError(f"cannot be read ({error.strerror}). Give the path of a TOML file.") from error
    except UnicodeDecodeError as error:
        raise StudyFileError(f"is not UTF-8 (byte {error.start}). Save it as UTF-8.") from error


def _parse(text: str) -> dict[str, Any]:
    try:
        return safe_toml.loads(text)
    except (
        ValueError,
        RecursionError,
    ) as error:  # e.g. a number of thousands of digits, or deeply nested lists
        raise StudyFileError(f"is not valid TOML: {error}. See docs/studies.md.") from error


def _read_study(table: Table, *, folder: Path | None) -> StudyFile:
    name = table.text("name", required=True, longest=80)
    if not re.fullmatch(NAME_PATTERN, name):
        raise table.error(
            "name",
            name,
            _("%(it)s may contain only lowercase letters, digits, '-' and '_', because it is used in URLs."),
        )
    consent = table.table("consent", required=True)
    rule = table.table("stereotypes")
    recruitment = table.table("recruitment")
    quality = table.table("quality")
    care = table.table("care")
    pool = rule.text("pool", default="out")
    if pool not in _POOLS:
        raise rule.error(
            "pool",
            pool,
            "%(it)s is neither 'in' nor 'out'.",
            page_message=_("Choose whose votes count."),
        )
    intervals = table.text("intervals", default=_INTERVALS[0])
    if intervals not in _INTERVALS:
        raise table.error(
            "intervals",
            intervals,
            "%(it)s is neither 'clustered' nor 'bootstrap'.",
            page_message=_("Choose how intervals are computed."),
        )
    tasks = table.tables("tasks")
    if not tasks:
        raise table.missing(
            "tasks",
            "there is no [[%(it)s]] table.",
            fix="Add at least one; see docs/studies.md.",
            page_message=_("Choose at least one kind of judgement."),
        )
    study = StudyFile(
        name=name,
        title=table.title("title", required=True, longest=LONGEST_TITLE),
        description=table.prose("description"),
        contact=table.title("contact", required=True, longest=200),
        leads=table.text_list("leads"),
        consent=consent.prose("text", required=True),
        content_warning=consent.prose("content_warning"),
        consent_translations={language: _read_consent(each) for language, each in consent.by_language()},
        stereotype_source=rule.text("source", longest=80) or None,
        stereotype_pool=pool,
        stereotype_threshold=rule.integer("threshold", default=2, least=1),
        visual_rule=table.optional_integer("visual_rule", least=1),
        visual_mean=table.optional_decimal("visual_mean", least=1, most=5),
        intervals=intervals,
        tasks=tuple(read_task(task, folder=folder) for task in tasks),
        self_enrol=recruitment.boolean("self_enrol", default=True),
        questions=read_questions(table.tables("questions")),
        crowd_parameters=_read_crowd_parameters(recruitment.table("parameters")),
        completion_code=recruitment.text("completion_code", longest=80),
        completion_url=_read_url(recruitment, "completion_url"),
        training_pass=quality.fraction("training_pass", default=None),
        gold_rate=quality.fraction("gold_rate", default=0, most=0.5) or 0.0,
        blur_images=care.boolean("blur_images", default=False),
        break_after=care.integer("break_after", default=30, least=0),
        session_cap=care.optional_integer("session_cap", least=1, most=LARGEST_NUMBER),
        support_text=care.prose("support_text"),
        translations=read_translations(table.table("translations")),
    )
    table.reject_unknown_keys()
    _check_consistency(study)
    return study


def _read_consent(table: Table) -> dict[str, str]:
    return {
        "text": table.prose("text", required=True),
        "content_warning": table.prose("content_warning"),
    }


def _read_crowd_parameters(table: Table) -> dict[str, str]:
    parameters = {}
    for key, default in CROWD_PARAMETERS.items():
        name = table.text(key, default=default, longest=80)
        if not re.fullmatch(PARAMETER_PATTERN, name):
            raise table.error(key, name, _("%(it)s is not a valid name of a URL parameter."))
        parameters[key] = name
    return parameters


def _read_url(table: Table, key: str) -> str:
    url = table.text(key, longest=300)
    if url and not re.fullmatch(URL_PATTERN, url):
        raise table.error(
            key, url, _("%(it)s is not a full URL. Write one such as https://app.prolific.com/...")
        )
    return url


def _check_consistency(study: StudyFile) -> None:
    """Check keys that depend on each other."""
    kinds = [task.kind for task in study.tasks]
    for kind in kinds:
        if kinds.count(kind) > 1:
            raise StudyFileError(
                f"there are {kinds.count(kind)} tasks of kind '{kind}'. A study has at most one task of "
                "each kind.",
                key="tasks",
                page_message=_(
                    "One kind of judgement appears twice. A study has at most one task of each kind."
                ),
            )
    if study.visual_rule is not None and study.visual_mean is not None:
        raise StudyFileError(
            f"%(it)s = {study.visual_mean:g} and visual_rule = {study.visual_rule} are both given. A study "
            "has one rule of visual nature: leave one of them out.",
            key="visual_mean",
            page_message=_("Choose one rule: how many agree, or the mean score. Leave the other empty."),
        )
    for number, task in enumerate(study.tasks, 1):
        if task.kind == "visual_nature" and (study.visual_rule or 0) > len(task.strata):
            raise StudyFileError(
                f"%(it)s asks for more answers than tasks[{number}] collects (%(there)s). Lower it or raise "
                "the overlap.",
                key="visual_rule",
                value=study.visual_rule,
                page_message=_(
                    "%(it)s is more than the number of answers that an item gets (%(there)s). Lower it, or "
                    "add lines to %(answers)s."
                ),
                there=len(task.strata),
                answers=KeyPath(f"tasks[{number}].strata"),
            )
        if isinstance(task.pages, PageDraw) and study.stereotype_source is None:
            raise StudyFileError(
                f"tasks[{number}].attributes draws from a source, but [stereotypes] names none.",
                key="stereotypes.source",
                fix='Add e.g. source = "seegull-v2"; scores use the same rule.',
                page_message=_("Choose the source of the stereotypes that images are judged for."),
            )
    purposes = {check.purpose for task in study.tasks for check in task.checks}
    if study.gold_rate and not purposes & {"gold", "attention"}:
        raise StudyFileError(
            "%(it)s mixes in gold items and attention checks, but no task has any.",
            key="quality.gold_rate",
            fix="Add [[tasks.gold]] or [[tasks.attention]], or leave gold_rate out.",
            page_message=_(
                "Gold items and attention checks are to be mixed in, but no task has any. Add "
                "some, or leave this empty."
            ),
        )
    if study.training_pass is not None and "training" not in purposes:
        raise StudyFileError(
            "%(it)s asks for training items, but no task has any.",
            key="quality.training_pass",
            fix="Add [[tasks.training]], or leave training_pass out.",
            page_message=_(
                "Training items are required, but no task has any. Add some, or leave this empty."
            ),
        )
