"""What is still wrong with a study being set up: in which field of which page, in the words of the pages."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.models import TaskKind
from annotation.setup import services
from annotation.setup.forms.base import Document, StepForm, split_task_key
from annotation.setup.forms.checks import ChecksForm
from annotation.setup.forms.people import ConsentForm, RecruitmentForm
from annotation.setup.forms.source import SourceForm
from annotation.setup.forms.tasks import TasksForm
from annotation.studies.errors import KeyPath, StudyError, StudyFileError, message_pieces, shortened
from annotation.studies.study_file.checks import PURPOSES
from annotation.studies.study_file.reading import read_study_text

STEPS = {
    "source": gettext_lazy("What is judged"),
    "tasks": gettext_lazy("How it is asked"),
    "checks": gettext_lazy("Examples and checks"),
    "consent": gettext_lazy("Consent and care"),
    "recruitment": gettext_lazy("Getting people in"),
    "open": gettext_lazy("Check and open"),
}
FORMS: dict[str, type[StepForm]] = {
    "source": SourceForm,
    "tasks": TasksForm,
    "checks": ChecksForm,
    "consent": ConsentForm,
    "recruitment": RecruitmentForm,
}


def find_error(step: str, document: Document) -> StudyError | None:
    """What is wrong with `document`; None if nothing is. While one page is filled in (`step`), the others
    count as filled in well."""
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
        others = {"source": _TASK_KEYS | _CHECK_KEYS, "tasks": _CHECK_KEYS}.get(step, frozenset())
        whole["tasks"] = [_without_keys(others, task) for task in whole.get("tasks", [])]
        if step != "checks":
            whole.pop("quality", None)
    try:
        file = read_study_text(services.to_toml(whole))
    except StudyFileError as error:
        return error
    return services.find_check_error(file=file) if step == "checks" else None


_TASK_KEYS = frozenset({"strata", "overlap", "wording", "instructions", "seed", "translations"})
"""Keys of a task that the second page fills in."""
_CHECK_KEYS = frozenset({"examples", *PURPOSES})
"""And the third; it fills in the translations of examples, too."""
_CARE_KEY = re.compile(r"translations\.[\w-]+\.support_text\b")
_CHECK_KEY = re.compile(rf"(?:translations\.[\w-]+\.)?(?:{'|'.join(sorted(_CHECK_KEYS))})\b")


def _without_keys(keys: frozenset[str], task: Document) -> Document:
    kept = {key: value for key, value in task.items() if key not in keys}
    if "examples" in keys and "translations" in kept:
        kept["translations"] = {
            language: {key: text for key, text in said.items() if key != "examples"}
            for language, said in kept["translations"].items()
        }
    return kept


@dataclass(frozen=True)
class WizardErrors:
    """The pages on which the study `name` is set up. `form`: that of the page being shown, if it has one."""

    name: str
    document: Document
    form: StepForm | None = None
    may_name_leads: bool = False

    def for_page(self, error: StudyError) -> dict[str, str]:
        """What is wrong, and the page on which it is put right."""
        return {"text": self._message(error), "step": step_of(error.key, self.document)}

    def add_to_form(self, error: StudyError) -> None:
        """Say what is wrong beside its field; else beside the first field of this page that it speaks of."""
        form = self.form
        assert form is not None
        places = [error.key, *(each for each in error.details.values() if isinstance(each, KeyPath))]
        beside = next((field for place in places if (field := form.field_for(place))), None)
        form.add_error(beside, self._message(error, beside=beside))

    def _message(self, error: StudyError, *, beside: str | None = None) -> SafeString:
        """The words of the pages, with a link to each field they name. `beside`: the field that they are said
        beside, which need not be named."""
        words = _(error.page_message)
        own = self.form is not None and beside is not None and self.form.field_for(error.key) == beside
        it: object = f"'{_as_typed(error.value)}'" if error.has_value else error.key
        begin, *rest = message_pieces(words, {"it": it, **error.details})
        pieces = [self._link(each, beside=beside) if isinstance(each, KeyPath) else each for each in rest]
        said = format_html_join("", "{}", [(capfirst(str(begin)),), *((each,) for each in pieces)])
        if own or not error.key or ("%(it)s" in words and not error.has_value):
            return said
        return format_html("{}: {}", self._link(error.key, beside=beside, begins=True), said)

    def _link(self, place: KeyPath, *, beside: str | None, begins: bool = False) -> SafeString:
        """The field that asks for `place`, by its label; and its page, where it is on another. `begins`: a
        sentence begins with it."""
        step = step_of(place, self.document)
        here = isinstance(self.form, FORMS[step])
        form = self.form if self.form is not None and here else self._form(step)
        anchor, label = form.anchor_and_label(place)
        kind, _rest = split_task_key(self.document, place)
        if label:
            text = _("“%(field)s”") % {"field": label} + (f" ({_(TaskKind(kind).label)})" if kind else "")
            if not here:
                text = _("%(field)s on the page “%(page)s”") % {"field": text, "page": STEPS[step]}
        else:
            text = _("the page “%(page)s”") % {"page": STEPS[step]}
            text = capfirst(text) if begins else text
        if here and beside is not None and form.field_for(place) == beside:
            return format_html("{}", text)
        url = "" if here else reverse("setup_step", args=[self.name, step])
        return format_html('<a href="{}#{}">{}</a>', url, anchor, text)

    def _form(self, step: str) -> StepForm:
        if step == "source":
            return SourceForm(self.document, may_name_leads=self.may_name_leads)
        return FORMS[step](self.document)


def step_of(place: str, document: Document) -> str:
    """The page on which `place` is filled in."""
    kind, rest = split_task_key(document, place)
    if place.startswith(("consent", "care")) or _CARE_KEY.match(place):
        return "consent"
    if place.startswith(("recruitment", "questions")):
        return "recruitment"
    if place.startswith("quality") or _CHECK_KEY.match(rest):
        return "checks"
    if kind and rest.partition("[")[0].partition(".")[0] in _TASK_KEYS:
        return "tasks"
    return "source"


def _as_typed(value: Any) -> str:
    """A value of a study file as somebody would type it."""
    if isinstance(value, list | tuple):
        return shortened(", ".join(str(each) for each in value))
    return shortened(str(value))
