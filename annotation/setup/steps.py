"""The pages of the wizard: which of them has the field for a key, and what all of them have in common."""

import re
from collections import Counter
from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext, gettext_lazy

from annotation.core.requests import LoggedIn
from annotation.models import Study, TaskKind
from annotation.setup import services
from annotation.setup.forms.base import Document, split_task_key
from annotation.studies.study_file.checks import PURPOSES
from annotation.studies.study_file.marks import find_marks

_View = Callable[..., HttpResponse]

STEPS = {
    "source": gettext_lazy("What is judged"),
    "tasks": gettext_lazy("How it is asked"),
    "checks": gettext_lazy("Examples and checks"),
    "consent": gettext_lazy("Consent and care"),
    "recruitment": gettext_lazy("Recruitment"),
    "open": gettext_lazy("Review and open"),
}
IMAGES = "images"
"""The step of studies that show images, after "What is judged". It is a page of `generation.uploads`."""
TASK_KEYS = frozenset(
    {"strata", "overlap", "people_share", "wording", "instructions", "seed", "translations"}
)
"""Keys of a task on the page "How it is asked"."""
CHECK_KEYS = frozenset({"examples", *PURPOSES})
"""Keys of a task on the page "Examples and checks", which also has the translations of examples."""
_CARE_KEY = re.compile(r"translations\.[\w-]+\.support_text\b")
_CHECK_KEY = re.compile(rf"(?:translations\.[\w-]+\.)?(?:{'|'.join(sorted(CHECK_KEYS))})\b")


def step_of(key: str, document: Document) -> str:
    """The step whose page has the field for `key`."""
    kind, rest = split_task_key(document, key)
    if key.startswith(("consent", "care")) or _CARE_KEY.match(key):
        return "consent"
    if key.startswith(("recruitment", "questions")):
        return "recruitment"
    if key.startswith("quality") or _CHECK_KEY.match(rest):
        return "checks"
    if kind and rest.partition("[")[0].partition(".")[0] in TASK_KEYS:
        return "tasks"
    return "source"


def only_before_opening(view: _View) -> _View:
    """Send a lead on to the study once it has been opened."""

    @wraps(view)
    def wrapped(request: LoggedIn, name: str, **more: Any) -> HttpResponse:
        try:
            return view(request, name, **more)
        except services.AlreadyOpened:
            messages.info(
                request, gettext("This study has already been opened, so it is no longer being set up.")
            )
            return redirect("overview", name)

    return wrapped


def wizard_context(name: str, step: str, document: Document, study: Study | None) -> dict[str, Any]:
    """Template context that every page of the wizard needs. `steps`: with the number of marks that each has
    left, and whether what it asks for is missing; `shows_images`: whether images can be added."""
    marks = Counter(step_of(mark.key, document) for mark in find_marks(document))
    shows_images = bool(_depictions(document))
    labels = STEPS
    if shows_images:
        labels = {"source": STEPS["source"], IMAGES: gettext_lazy("Images and attributes"), **STEPS}
    return {
        "name": name,
        "step": step,
        "title": document.get("title", name),
        "steps": [
            {
                "key": key,
                "label": label,
                "url": step_url(name, key),
                "here": key == ("checks" if step == "gold" else step),
                "marks": marks[key],
                "missing": (key == IMAGES and _lacks_images(document))
                or (key == "source" and not (document.get("contact") and document.get("tasks")))
                or (key == "consent" and not document.get("consent", {}).get("text")),
            }
            for key, label in labels.items()
        ],
        "draft": study,
        "shows_images": shows_images,
    }


def step_after(step: str, document: Document) -> str:
    """The step after `step`; that of images only while these are missing."""
    if step == "source" and _lacks_images(document):
        return IMAGES
    return list(STEPS)[list(STEPS).index(step) + 1]


def step_url(name: str, step: str) -> str:
    """The page of a step."""
    if step == IMAGES:
        return reverse("study_images", args=[name])
    return reverse("setup_step", args=[name, step])


def _depictions(document: Document) -> list[Document]:
    return [task for task in document.get("tasks", []) if task.get("kind") == TaskKind.DEPICTION]


def _lacks_images(document: Document) -> bool:
    """Whether a task shows images, but has none, or no attributes for them."""
    source = document.get("stereotypes", {}).get("source")
    return any(
        not task.get("image_set") or not (source or task.get("shown")) for task in _depictions(document)
    )
