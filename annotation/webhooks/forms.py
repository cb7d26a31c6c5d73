"""Forms of the webhook pages. The rules are in the services."""

from django import forms
from django.utils.translation import gettext_lazy as _

from annotation.events import EVENTS


class EventsForm(forms.Form):
    """The events of a webhook."""

    events = forms.MultipleChoiceField(
        label=_("Events"),
        choices=EVENTS.items(),
        widget=forms.CheckboxSelectMultiple,
        error_messages={"required": _("Choose at least one event.")},
    )


class WebhookForm(EventsForm):
    """A new webhook."""

    url = forms.CharField(
        label=_("URL"),
        max_length=500,
        widget=forms.URLInput(attrs={"autocomplete": "off", "placeholder": "https://", "dir": "ltr"}),
        help_text=_("It begins with https:// and is reachable from the public internet."),
    )
