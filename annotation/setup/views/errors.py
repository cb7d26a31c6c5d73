"""Errors of a study that is being set up: the page and the field they belong to, and a message with links."""

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
from annotation.setup.steps import CHECK_KEYS, STEPS, TASK_KEYS, step_of
from annotation.studies.errors import KeyPath, StudyError, StudyFileError, message_pieces, shortened
from annotation.studies.study_file.reading import read_study_text
from annotation.studies.study_file.tasks import ALWAYS_PAIRS

FORMS: dict[str, type[StepForm]] = {
    "source": SourceForm,
    "tasks": TasksForm,
    "checks": ChecksForm,
    "consent": ConsentForm,
    "recruitment": RecruitmentForm,
}


def make_form(step: str, document: Document, data: Any = None, *, may_name_leads: bool) -> StepForm:
    if step == "source":
        return SourceForm(document, data, may_name_leads=may_name_leads)
    return FORMS[step](document, data)


def find_error(step: str, document: Document) -> StudyError | None:
    """The first error in `document`, or None. With `step`, only the keys of that page are checked: valid
    values stand in for those of the other pages."""
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
        others = {"source": TASK_KEYS | CHECK_KEYS, "tasks": CHECK_KEYS}.get(step, frozenset())
        whole["tasks"] = [_without_keys(others, task) for task in whole.get("tasks", [])]
        if step in ("source", "tasks", "checks"):
            # the page after "What is judged" makes images and their source of files
            whole["tasks"] = [
                _with_stimuli(task) if step != "source" or task.get("kind") == TaskKind.DEPICTION else task
                for task in whole["tasks"]
            ]
            whole["stereotypes"] = {"source": "-", **whole.get("stereotypes", {})}
        if step != "checks":
            whole.pop("quality", None)
    try:
        file = read_study_text(services.to_toml(whole))
    except StudyFileError as error:
        return error
    return services.find_check_error(file=file) if step == "checks" else None


def find_errors(document: Document, *, first: StudyError) -> list[StudyError]:
    """`first`, and the first error on each of the other pages."""
    found = {step_of(first.key, document): first}
    for step in FORMS:
        error = find_error(step, document)
        if error is not None:
            found.setdefault(step_of(error.key, document), error)
    return list(found.values())


def _with_stimuli(task: Document) -> Document:
    """The task of a template, of which it is not chosen yet what it shows, with stand-ins."""
    if task.get("kind") == TaskKind.DEPICTION:
        return {"image_set": "-", **({} if "shown" in task else {"attributes": {"visual": "none"}}), **task}
    if task.get("kind") in ALWAYS_PAIRS or "associations" in task:
        return {**task, "associations": task.get("associations") or {"source": "-"}}
    return {"attributes": ["-"], **task}


def _without_keys(keys: frozenset[str], task: Document) -> Document:
    kept = {key: value for key, value in task.items() if key not in keys}
    if "examples" in keys and "translations" in kept:
        kept["translations"] = {
            language: {key: text for key, text in texts.items() if key != "examples"}
            for language, texts in kept["translations"].items()
        }
    return kept


_NOUNS = {"consent": gettext_lazy("the consent text"), "consent.text": gettext_lazy("the consent text")}
"""Key -> the words of a link to its field, where the field's label does not fit into a sentence."""


@dataclass(frozen=True)
class WizardErrors:
    """Errors on the setup pages of the study `name`. `form`: that of the current page, if it has one."""

    name: str
    document: Document
    form: StepForm | None = None
    may_name_leads: bool = False

    def for_page(self, error: StudyError) -> dict[str, str]:
        """The message, and the step on which to fix the error."""
        return {"text": self._message(error), "step": step_of(error.key, self.document)}

    def add_to_form(self, error: StudyError) -> None:
        """Add the message to its field, or else to the first field of this page that it mentions."""
        form = self.form
        assert form is not None
        keys = [error.key, *(each for each in error.details.values() if isinstance(each, KeyPath))]
        field = next((name for key in keys if (name := form.field_for(key))), None)
        form.add_error(field, self._message(error, field=field))

    def link_to(self, key: KeyPath) -> SafeString:
        """A link to the field of `key`, to begin a line with."""
        return self._link(key, field=None, begins=True)

    def _message(self, error: StudyError, *, field: str | None = None) -> SafeString:
        """The translated message, with a link to each field it mentions except `field`, beside which it is
        shown."""
        template = _(error.page_message)
        own = self.form is not None and field is not None and self.form.field_for(error.key) == field
        it: object = f"'{_as_typed(error.value)}'" if error.has_value else error.key
        first, *rest = message_pieces(template, {"it": it, **error.details})
        linked = [self._link(each, field=field) if isinstance(each, KeyPath) else each for each in rest]
        message = format_html_join("", "{}", [(capfirst(str(first)),), *((each,) for each in linked)])
        if own or not error.key or ("%(it)s" in template and not error.has_value):
            return message
        return format_html("{}: {}", self._link(error.key, field=field, begins=True), message)

    def _link(self, key: KeyPath, *, field: str | None, begins: bool = False) -> SafeString:
        """A link to the field of `key`, named by its label, and by its page if that is another one. No link
        to `field`, beside which it is shown. `begins`: the link begins a sentence."""
        step = step_of(key, self.document)
        here = isinstance(self.form, FORMS[step])
        form = self.form if here else None
        form = form or make_form(step, self.document, may_name_leads=self.may_name_leads)
        anchor, label = form.anchor_and_label(key)
        kind, _rest = split_task_key(self.document, key)
        if key in _NOUNS and not begins:
            text = str(_NOUNS[key])
        elif label:
            text = _("“%(field)s”") % {"field": label} + (f" ({_(TaskKind(kind).label)})" if kind else "")
            if not here:
                text = _("%(field)s on the page “%(page)s”") % {"field": text, "page": STEPS[step]}
        else:
            text = _("the page “%(page)s”") % {"page": STEPS[step]}
            text = capfirst(text) if begins else text
        if here and field is not None and form.field_for(key) == field:
            return format_html("{}", text)
        url = "" if here else reverse("setup_step", args=[self.name, step])
        return format_html('<a href="{}#{}">{}</a>', url, anchor, text)


def _as_typed(value: Any) -> str:
    """A value of a study file as it would be typed into a field."""
    if isinstance(value, list | tuple):
        return shortened(", ".join(str(each) for each in value))
    return shortened(str(value))
