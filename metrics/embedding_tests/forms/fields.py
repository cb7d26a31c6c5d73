"""The form of a file in fields: its set, encoder and ranking. Its tests are rows (rows.py)."""

from typing import Any

from django import forms
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from annotation.models import ImageSet
from metrics.embedding_tests.forms.base import LARGEST, NamedForm, file_text, text_area
from metrics.embedding_tests.stored import embedded_sets
from metrics.embedding_tests.test_file import (
    DRAWINGS,
    LONGEST_TEXT,
    MOST_DRAWINGS,
    REGION,
    EffectTest,
    Ranking,
    TestFile,
    parse,
)
from metrics.models import EmbeddingTestFile

_REFERENCE, _VARIABLES = "reference.csv", "variables.csv"


class TestsForm(NamedForm):
    """Set, encoder and ranking of a file; its tests are rows of `TestRows`."""

    __test__ = False  # for pytest

    vectors = forms.ChoiceField(label=_("Image set and encoder"))
    ranking_prompt = forms.CharField(
        required=False,
        max_length=LONGEST_TEXT,
        label=_("Prompt of the ranking"),
        help_text=_("With {region} where the region's name belongs. Empty: no ranking."),
    )
    ranking_prompts = forms.CharField(
        required=False,
        max_length=LARGEST,
        label=_("Prompts of single regions"),
        help_text=_("One per line, as region = prompt."),
        widget=text_area(3),
    )
    drawings = forms.IntegerField(
        min_value=1, max_value=MOST_DRAWINGS, initial=DRAWINGS, label=_("Drawings of equal groups")
    )
    seed = forms.IntegerField(min_value=0, max_value=2**63 - 1, initial=0, label=_("Seed of the drawings"))
    top = forms.IntegerField(
        min_value=0,
        max_value=10**6,
        initial=0,
        label=_("Images taken"),
        help_text=_("0: as many as the smallest group has."),
    )
    ranking_names = (
        *("ranking_prompt", "ranking_prompts", "reference", "reference_file"),
        *("variables", "variables_file"),
    )
    ranking_numbers = ("drawings", "seed", "top")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["vectors"]
        assert isinstance(field, forms.ChoiceField)
        choices = [
            (image_set.title, [(vectors_choice(image_set.name, encoder), encoder) for encoder in encoders])
            for image_set, encoders in embedded_sets()
        ]
        if self.stored is not None:
            # it stays a choice, also if it is the model alone or a number of a run
            file = parse(self.stored.text)
            own = vectors_choice(file.image_set, file.encoder)
            if all(own != value for _title, known in choices for value, _label in known):
                choices.insert(0, (self.stored.image_set.title, [(own, file.encoder)]))
        field.choices = choices

    def clean_ranking_prompt(self) -> str:
        prompt: str = self.cleaned_data["ranking_prompt"]
        if prompt and REGION not in prompt:
            raise forms.ValidationError(
                gettext("The prompt names no region. Write %(region)s where its name belongs.")
                % {"region": REGION}
            )
        return prompt

    def clean_ranking_prompts(self) -> dict[str, str]:
        found = {}
        for line in filter(None, map(str.strip, self.cleaned_data["ranking_prompts"].splitlines())):
            region, _equals, prompt = (part.strip() for part in line.partition("="))
            if not (region and prompt):
                raise forms.ValidationError(
                    gettext("“%(line)s”: write region = prompt.") % {"line": line[:80]}
                )
            found[region] = prompt
        return found

    def clean(self) -> dict[str, Any]:
        super().clean()
        self.read_uploads()
        data = self.cleaned_data
        if not data.get("ranking_prompt") and data.get("reference", "").strip():
            self.add_error("ranking_prompt", gettext("Write the prompt, or empty the reference table."))
        return data

    @property
    def image_set(self) -> ImageSet:
        """Of a valid form."""
        return ImageSet.objects.get(name=self.cleaned_data["vectors"].partition(" ")[0])

    def as_file(self, tests: tuple[EffectTest, ...]) -> TestFile:
        """Of a valid form."""
        data = self.cleaned_data
        image_set, _newline, encoder = data["vectors"].partition(" ")
        ranking = None
        if data["ranking_prompt"]:
            ranking = Ranking(
                prompt=data["ranking_prompt"],
                reference=self._table_name("reference", _REFERENCE),
                prompts=data["ranking_prompts"],
                drawings=data["drawings"],
                seed=data["seed"],
                top=data["top"],
                variables=self._table_name("variables", _VARIABLES) if data["variables"].strip() else "",
            )
        return TestFile(image_set=image_set, encoder=encoder, tests=tests, ranking=ranking)

    def _table_name(self, field: str, name: str) -> str:
        """As it was uploaded, else as it was called before, else `name`."""
        if file := self.cleaned_data.get(f"{field}_file"):
            return str(file.name)
        before = parse(self.stored.text).ranking if self.stored is not None else None
        return str(getattr(before, field, "")) or name

    def ranking_fields(self) -> list[forms.BoundField]:
        return [self[name] for name in self.ranking_names]

    def number_fields(self) -> list[forms.BoundField]:
        return [self[name] for name in self.ranking_numbers]

    def as_initial(self) -> dict[str, Any]:
        """What was sent, for a page that shows it again without its errors; an uploaded table as its text."""
        found: dict[str, Any] = {name: self.data.get(name, "") for name in self.fields if name in self.data}
        for upload, field in self.uploads.items():
            if file := self.files.get(upload):
                found[field] = file_text(file)
        return found

    @classmethod
    def initial_of(cls, stored: EmbeddingTestFile) -> dict[str, Any]:
        file = parse(stored.text)
        found: dict[str, Any] = {
            "name": stored.name,
            "vectors": vectors_choice(file.image_set, file.encoder),
            "reference": stored.reference,
            "variables": stored.variables,
        }
        if (ranking := file.ranking) is not None:
            found |= {
                "ranking_prompt": ranking.prompt,
                "ranking_prompts": "\n".join(f"{one} = {text}" for one, text in ranking.prompts.items()),
                "drawings": ranking.drawings,
                "seed": ranking.seed,
                "top": ranking.top,
            }
        return found


def vectors_choice(image_set: str, encoder: str) -> str:
    """The value of a choice of TestsForm.vectors."""
    return f"{image_set} {encoder}"
