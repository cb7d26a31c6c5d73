"""Which words mark a group, and in which captions they are looked for. Writes nothing."""

from collections.abc import Mapping, Sequence
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from annotation.models import IdentityGroup, ImageSet
from metrics.marking.data import Choice, groups_of_set
from metrics.marking.queries import words_of_set
from metrics.marking.words import NOUNS, WordList, WordsRefused, as_lines, check_words, read_words


class MarkingForm(forms.Form):
    """A form by GET. Fields that are missing or empty have their defaults; call `choice` after `is_valid`."""

    words = forms.CharField(
        label=_("Words of each group"),
        required=False,
        max_length=50_000,
        widget=forms.Textarea(attrs={"rows": 6, "spellcheck": "false"}),
        help_text=_("A line for each group: the group, a colon, its words with commas between them."),
    )
    nouns = forms.CharField(
        label=_("followed by one of"),
        required=False,
        max_length=2000,
        help_text=_("Nouns for people, with commas between them."),
    )
    alone = forms.BooleanField(
        label=_("A word counts without such a noun"),
        required=False,
        help_text=_("Then “a white shirt” counts as well."),
    )
    all_ranks = forms.BooleanField(
        label=_("All captions of an image"), required=False, help_text=_("Otherwise only the first-ranked.")
    )

    def __init__(self, data: Mapping[str, Any], *, image_set: ImageSet) -> None:
        self._groups: Sequence[IdentityGroup] = groups_of_set(image_set)
        self._defaults = words_of_set(self._groups)
        given = {name: data.get(name) for name in self.base_fields if data.get(name)}
        filled = {"words": as_lines(self._defaults), "nouns": ", ".join(NOUNS), **given}
        super().__init__(filled, label_suffix="")
        self.given = given

    def clean_words(self) -> dict[str, tuple[str, ...]]:
        try:
            named = read_words(self.cleaned_data["words"], groups=[group.name for group in self._groups])
        except WordsRefused as refused:
            raise forms.ValidationError(str(refused)) from refused
        return {**self._defaults, **named}

    def clean_nouns(self) -> tuple[str, ...]:
        try:
            return check_words(self.cleaned_data["nouns"].split(","), "nouns")
        except WordsRefused as refused:
            raise forms.ValidationError(str(refused)) from refused

    def choice(self) -> Choice:
        data = self.cleaned_data
        return Choice(
            WordList(data["words"], nouns=data["nouns"], alone=data["alone"]), all_ranks=data["all_ranks"]
        )
