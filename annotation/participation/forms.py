"""Forms of the annotators' and the leads' pages. The rules are in the services."""

from collections.abc import Sequence
from typing import Any

from django import forms
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from annotation.participation import profile_fields
from annotation.participation.services import invitations
from annotation.participation.services.annotators import ProfileEntry


class ProfileForm(forms.Form):
    """The voluntary profile: for each question a choice, one's own words, and permission to publish."""

    def __init__(self, *args: Any, questions: Sequence[profile_fields.Question], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.questions = questions
        for question in questions:
            if question.choices:
                self.fields[question.name] = forms.ChoiceField(
                    choices=[("", _("Prefer not to say")), *question.choices], required=False
                )
            self.fields[f"{question.name}_own"] = forms.CharField(required=False, max_length=200)
            self.fields[f"{question.name}_publish"] = forms.BooleanField(required=False)

    def groups(self) -> list[dict[str, Any]]:
        """One group of fields for each question, for the template."""
        return [
            {
                "question": question,
                "choice": self[question.name] if question.choices else None,
                "own": self[f"{question.name}_own"],
                "publish": self[f"{question.name}_publish"],
            }
            for question in self.questions
        ]

    def entries(self) -> dict[str, ProfileEntry]:
        """Question -> answer. If somebody gives both a choice and their own words, both are kept, and strata
        use the choice."""
        entries = {}
        for question in self.questions:
            own, chosen = self.cleaned_data[f"{question.name}_own"], self.cleaned_data.get(question.name, "")
            entries[question.name] = ProfileEntry(
                value=chosen or own,
                own_words=own if chosen else "",
                self_described=bool(own and question.choices and not chosen),
                may_publish=self.cleaned_data[f"{question.name}_publish"],
            )
        return entries

    @staticmethod
    def initial_from(answers: Any, *, questions: Sequence[profile_fields.Question]) -> dict[str, Any]:
        """Initial values from the stored profile answers."""
        offered = {question.name: {value for value, _label in question.choices} for question in questions}
        initial: dict[str, Any] = {}
        for answer in answers:
            is_choice = answer.value in offered.get(answer.field, ())
            initial[answer.field if is_choice else f"{answer.field}_own"] = answer.value
            if answer.own_words:
                initial[f"{answer.field}_own"] = answer.own_words
            initial[f"{answer.field}_publish"] = answer.may_publish
        return initial


class WithdrawForm(forms.Form):
    """Leaving a study: stop, or withdraw one's answers as well, which must be confirmed."""

    choice = forms.ChoiceField(
        choices=[("stop", _("Stop taking part")), ("delete", _("Withdraw my data"))],
        error_messages={"required": _("Please choose one of the two.")},
    )
    sure = forms.BooleanField(required=False)

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        if data.get("choice") == "delete" and not data.get("sure"):
            self.add_error("sure", _("Please confirm: this cannot be undone."))
        return data


class InvitationForm(forms.Form):
    """A new invitation link. Times are in UTC."""

    label = forms.CharField(
        label=_("Label"),
        required=False,
        max_length=120,
        help_text=_("Only for this list, e.g. 'pilot group'. People who follow the link do not see it."),
    )
    max_uses = forms.IntegerField(
        label=_("Maximum number of people"),
        required=False,
        min_value=1,
        max_value=invitations.MOST_USES,
        help_text=_("Empty: no limit."),
    )
    expires_at = forms.DateTimeField(
        label=_("Until (UTC)"),
        required=False,
        widget=forms.DateTimeInput(attrs={"type": "datetime-local"}, format="%Y-%m-%dT%H:%M"),
        help_text=_("Empty: no end."),
    )

    def clean_expires_at(self) -> Any:
        end = self.cleaned_data["expires_at"]
        if end is not None and end <= timezone.now():
            raise forms.ValidationError(_("This time has passed. Choose a later one, or none."))
        return end
