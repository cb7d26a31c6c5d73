"""What is still wrong with a study being set up, and on which page it is put right."""

from __future__ import annotations

import re

from django.utils.translation import gettext_lazy

from annotation.forms_setup import Document, StepForm, task_at
from annotation.readers.study_file import StudyFileError, read_study_text
from annotation.readers.study_file_checks import PURPOSES
from annotation.services import setups

STEPS = {
    "source": gettext_lazy("What is judged"),
    "tasks": gettext_lazy("How it is asked"),
    "checks": gettext_lazy("Examples and checks"),
    "consent": gettext_lazy("Consent and care"),
    "recruitment": gettext_lazy("Getting people in"),
    "open": gettext_lazy("Check and open"),
}


def problem_of(step: str, document: Document) -> str:
    """What the reader of study files says of `document`; empty if nothing. While one page is filled in
    (`step`), the others count as filled in well."""
    whole: Document = {**document}
    if step:
        whole = {"title": "-", "contact": "-", "name": "a", **whole}
        if step != "consent":
            whole["consent"] = {"text": "-"}
        if step not in ("source", "tasks", "checks"):
            whole["tasks"] = [{"kind": "visual_nature", "attributes": ["-"]}]
            whole.pop("visual_rule", None)
        if step != "recruitment":
            whole.pop("recruitment", None)
        if step in ("source", "checks"):
            whole.pop("visual_rule", None)
        others = {"source": _OF_TASKS | _OF_CHECKS, "tasks": _OF_CHECKS}.get(step, frozenset())
        whole["tasks"] = [_without(others, task) for task in whole.get("tasks", [])]
        if step != "checks":
            whole.pop("quality", None)
    try:
        file = read_study_text(setups.toml(whole))
    except StudyFileError as error:
        return str(error)
    return setups.problem_of_checks(file=file) if step == "checks" else ""


_OF_TASKS = frozenset({"strata", "overlap", "wording", "instructions", "seed", "translations"})
"""Keys of a task that the second page fills in."""
_OF_CHECKS = frozenset({"examples", *PURPOSES})
"""And the third; it fills in the translations of examples, too."""
_OF_SOURCE = (
    *("title", "contact", "description", "translations", "leads", "stereotypes"),
    *("visual_", "there"),
)
_OF_CARE = re.compile(r"translations\.[\w-]+\.support_text\b")
_CHECKS = re.compile(rf"(?:translations\.[\w-]+\.)?(?:{'|'.join(sorted(_OF_CHECKS))})\b")


def _without(keys: frozenset[str], task: Document) -> Document:
    kept = {key: value for key, value in task.items() if key not in keys}
    if "examples" in keys and "translations" in kept:
        kept["translations"] = {
            language: {key: text for key, text in said.items() if key != "examples"}
            for language, said in kept["translations"].items()
        }
    return kept


def show(form: StepForm, problem: str) -> None:
    """Put what the reader of study files says beside the field it is about."""
    key = _key_of(problem)
    form.add_error(form.field_at(key), problem)


def _key_of(problem: str) -> str:
    """The key that a message about a study file begins with."""
    found = re.match(
        r"(?:there is no key |the table \[)?'?([a-z_][\w-]*(?:\[\d+\])?(?:\.[\w-]+(?:\[\d+\])?)*)", problem
    )
    return found.group(1) if found else ""


def placed(document: Document, problem: str) -> dict[str, str]:
    """A problem and the page on which it is put right."""
    key = _key_of(problem)
    kind, rest = task_at(document, key)
    step = ""
    if key.startswith(("consent", "care")) or _OF_CARE.match(key):
        step = "consent"
    elif key.startswith(("recruitment", "questions")):
        step = "recruitment"
    elif key.startswith("quality") or _CHECKS.match(rest):
        step = "checks"
    elif kind:
        step = "tasks" if rest.partition("[")[0].partition(".")[0] in _OF_TASKS else "source"
    elif key.startswith(_OF_SOURCE):
        step = "source"
    return {"text": problem, "step": step, "label": str(STEPS[step]) if step else ""}
