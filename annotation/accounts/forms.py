"""The forms for a new API token and a new account. The rules are in the services."""

from typing import Any

from django import forms
from django.contrib.auth.models import User
from django.contrib.auth.validators import UnicodeUsernameValidator
from django.utils.translation import gettext_lazy as _

from annotation import policies
from annotation.api import tokens
from annotation.models import Scope

SCOPE_LABELS = {
    Scope.READ.value: _("read studies, progress, scores and figures"),
    Scope.MANAGE.value: _("set up studies, control runs, invite and block people"),
    Scope.ANNOTATE.value: _("fetch items and send answers"),
    Scope.EXPORT.value: _("export annotator-level data"),
    Scope.ACCOUNTS.value: _("see who people are, give roles, merge and erase people"),
}


class TokenForm(forms.Form):
    """Name, lifetime and scopes."""

    name = forms.CharField(
        label=_("Name"),
        max_length=80,
        help_text=_("Only for your list, e.g. 'nightly figures'."),
    )
    days = forms.IntegerField(
        label=_("Days until it expires"), min_value=1, max_value=tokens.MAX_DAYS, initial=tokens.DAYS
    )
    scopes = forms.MultipleChoiceField(
        label=_("What it may do"),
        widget=forms.CheckboxSelectMultiple,
        error_messages={"required": _("Choose at least one.")},
    )

    def __init__(self, user: User, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"label_suffix": "", **kwargs})
        choices = [(scope, SCOPE_LABELS[scope]) for scope in policies.token_scopes(user)]
        self.fields["scopes"].choices = choices  # type: ignore[attr-defined]


class AccountForm(forms.Form):
    """A new account of a lead or an admin."""

    username = forms.CharField(
        label=_("User name"),
        max_length=150,
        validators=[UnicodeUsernameValidator()],
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
        help_text=_("To log in with."),
    )
    email = forms.EmailField(label=_("E-mail"), required=False, max_length=254)
    role = forms.ChoiceField(
        label=_("Role"),
        choices=[("lead", _("Lead")), ("admin", _("Admin"))],
        help_text=_("A lead sets up studies and sees those they lead; an admin can do everything."),
    )
