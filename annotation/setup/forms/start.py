"""The form that begins a study: from a template, as a copy, or from a study file."""

import re
from typing import Any

from django import forms
from django.contrib.auth.models import User
from django.utils.text import capfirst, slugify
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from annotation import policies
from annotation.models import Study
from annotation.setup import services
from annotation.setup.forms.base import Document
from annotation.studies.errors import StudyFileError
from annotation.studies.study_file.reading import NAME_PATTERN
from annotation.studies.study_file.table import Table
from annotation.studies.study_file.texts import LONGEST_TITLE
from annotation.studies.study_templates import registry

COPY = "copy"
"""Chosen instead of a template."""
_BLANK = "blank"


class NewStudyForm(forms.Form):
    """Title and name of a new study, and what it starts from."""

    use_required_attribute = False

    template = forms.ChoiceField(required=False, label=_("Start from"), widget=forms.RadioSelect)
    copy_of = forms.ChoiceField(required=False, label=_("A study that you lead"))
    title = forms.CharField(
        label=_("Title"),
        max_length=LONGEST_TITLE,
        help_text=_("Shown to annotators, e.g. 'What can a picture show?'"),
    )
    name = forms.CharField(
        label=_("Short name"),
        required=False,
        max_length=80,
        help_text=_(
            "Used in URLs and commands; cannot be changed later. Lowercase letters, digits, - and _ only. "
            "If empty: made from the title."
        ),
    )
    contact = forms.CharField(
        label=_("Contact"),
        required=False,
        max_length=200,
        help_text=_("Whom annotators can write to; shown on every page."),
    )

    def __init__(self, data: Any = None, *, user: User) -> None:
        super().__init__(
            data, label_suffix="", initial={"template": registry.NAMES[0], "contact": user.email}
        )
        self._studies = policies.studies_led_by(user)
        copies = [
            (study.name, study.title) for study in self._studies.order_by("title").only("name", "title")
        ]
        choices = [(template.name, template.title) for template in registry.TEMPLATES]
        self.fields["template"].choices = [*choices, *([(COPY, COPY)] if copies else [])]  # type: ignore[attr-defined]
        self.fields["copy_of"].choices = [("", _("– choose –")), *copies]  # type: ignore[attr-defined]
        self.has_copies = bool(copies)

    def cards(self) -> list[dict[str, Any]]:
        """A card for each template, in order."""
        return [
            {
                "name": template.name,
                "title": gettext(template.title),
                "asks": gettext(template.asks),
                "who": gettext(template.who),
                "paper": gettext(template.paper) if template.paper else "",
            }
            for template in registry.TEMPLATES
        ]

    def clean_title(self) -> str:
        title: str = self.cleaned_data["title"]
        try:
            return Table({"title": title}, path="").title("title", longest=LONGEST_TITLE)
        except StudyFileError as error:
            raise forms.ValidationError(capfirst(gettext(error.page_message) % error.details)) from error

    def clean(self) -> dict[str, Any]:
        data = self.cleaned_data
        if data.get("template") == COPY and not data.get("copy_of") and "copy_of" not in self.errors:
            self.add_error("copy_of", _("Choose the study to copy."))
        if "title" in data and "name" in data:
            name = data["name"].strip() or slugify(data["title"])[:80].strip("-_")
            if not name:
                self.add_error(
                    "name", _("Write a short name: the title has no letters that it can be made from.")
                )
            elif not re.fullmatch(NAME_PATTERN, name):
                self.add_error(
                    "name", _("Use only lowercase letters, digits, '-' and '_', e.g. 'visual-2026'.")
                )
            data["name"] = name
        return data

    def document(self) -> Document:
        """The document to begin with. The form must be valid."""
        data = self.cleaned_data
        if data["template"] == COPY:
            document = services.document_of_copy(Study.objects.get(name=data["copy_of"]))
        else:
            document = registry.document(data["template"] or _BLANK)
        given = {key: data[key].strip() for key in ("name", "title", "contact") if data[key].strip()}
        return {**document, **given}
