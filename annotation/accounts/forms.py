"""The form of a new token: reading what a browser sent. Rules stand in the services."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django import forms
from django.utils.translation import gettext_lazy as _

from annotation import policies
from annotation.api import tokens
from annotation.models import Scope

if TYPE_CHECKING:
    from django.contrib.auth.models import User

WORDS = {
    Scope.READ.value: _("read studies, progress, scores and figures"),
    Scope.MANAGE.value: _("set studies up, steer runs, invite and block people"),
    Scope.ANNOTATE.value: _("fetch items and send answers"),
    Scope.EXPORT.value: _("take annotator-level data out"),
    Scope.ACCOUNTS.value: _("see who everybody is, give roles, merge and erase people"),
}


class TokenForm(forms.Form):
    """A name, what it may do, and for how long."""

    name = forms.CharField(
        label=_("What it is for"),
        max_length=80,
        help_text=_("For your list only, e.g. 'nightly figures'."),
    )
    days = forms.IntegerField(
        label=_("Days until it ends"), min_value=1, max_value=tokens.MAX_DAYS, initial=tokens.DAYS
    )
    scopes = forms.MultipleChoiceField(
        label=_("What it may do"),
        widget=forms.CheckboxSelectMultiple,
        error_messages={"required": _("Choose at least one.")},
    )

    def __init__(self, user: User, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"label_suffix": "", **kwargs})
        field = self.fields["scopes"]
        assert isinstance(field, forms.MultipleChoiceField)
        field.choices = [(scope, WORDS[scope]) for scope in policies.token_scopes(user)]

    def offered(self) -> list[tuple[str, Any, bool]]:
        """(scope, what it opens, whether it is chosen), to choose from."""
        chosen = self["scopes"].value() or []
        return [(scope, words, scope in chosen) for scope, words in self.fields["scopes"].choices]  # type: ignore[attr-defined]


__all__ = ["TokenForm"]
