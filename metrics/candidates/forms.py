"""The form that plans askings for candidates. It writes nothing."""

import re
import tempfile
from pathlib import Path
from typing import Any

from django import forms
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from annotation.imports.readers.oddities import FileRefused
from annotation.models import Axis, Pool, Source
from generation import backends
from generation.plans.errors import PlanRefused
from generation.plans.plan import Plan
from generation.recipes.askings import CompletionRecipe
from generation.recipes.checks import RecipeRefused
from generation.recipes.limits import Limits
from metrics.candidates.evaluation import CandidatesRefused
from metrics.candidates.planning import TEMPERATURE, TIMES, find_seeds, plan_candidates
from metrics.candidates.prompts import MOST_PAIRS, Prompts, PromptsRefused, PromptVariant, Seed

_LARGEST_FILE = 2_000_000
_LIMITS = {
    "in_flight": "in_flight",
    "token_limit": "tokens",
    "cost_limit": "cost",
    "price_in": "price_in",
    "price_out": "price_out",
}
_MODEL_FIELDS = (
    *("server", "model", "revision", "chat", "system", "temperature", "top_p", "max_tokens", "seed"),
    *_LIMITS,
)
_VARIANTS = [
    (PromptVariant.IDENTITY_ATTRIBUTE.value, _("identity, attribute: (x, y)")),
    (PromptVariant.ATTRIBUTE_IDENTITY.value, _("attribute, identity: (y, x)")),
    (PromptVariant.TARGET_IDENTITY.value, _("target identity: ..., (x3,")),
    (PromptVariant.TARGET_ATTRIBUTE.value, _("target attribute: ..., (y3,")),
]


def _number(
    label: Any, *, least: float = 0, help_text: Any = "", required: bool = False
) -> forms.IntegerField:
    return forms.IntegerField(label=label, min_value=int(least), required=required, help_text=help_text)


def _price(label: Any, help_text: Any = "") -> forms.FloatField:
    return forms.FloatField(label=label, min_value=0, required=False, help_text=help_text)


def _axes() -> list[tuple[str, str]]:
    return [(axis.value, gettext(axis.label)) for axis in Axis]


class CandidatesForm(forms.Form):
    """Call `plan` after `is_valid`; it adds its errors to their fields. An uploaded file becomes the text of
    the field `pairs`, so that the preview's second submission has it too."""

    name = forms.SlugField(label=_("Name of the run"), max_length=80)
    axis = forms.ChoiceField(label=_("Kind of identity group"), choices=_axes)
    pairs = forms.CharField(
        label=_("Seed pairs"),
        required=False,
        max_length=_LARGEST_FILE,
        widget=forms.Textarea(attrs={"rows": 6, "spellcheck": "false"}),
        help_text=_("A first line “identity,attribute”, then one known pair in each line. At least two."),
    )
    file = forms.FileField(label=_("or a CSV file of seed pairs"), required=False)
    source = forms.ChoiceField(label=_("or known pairs of a source"), required=False)
    threshold = _number(_("Votes that make a pair of the source known"), least=1, required=True)
    pool = forms.ChoiceField(label=_("Whose votes"), choices=[(pool.value, _(pool.label)) for pool in Pool])
    seed_number = _number(_("How many pairs of the source to draw"), least=2, help_text=_("Empty: all."))
    variant = forms.ChoiceField(label=_("Prompt"), choices=_VARIANTS)
    n = forms.IntegerField(label=_("Pairs in a prompt"), min_value=1, max_value=MOST_PAIRS)
    sample = _number(_("How many choices of pairs to draw"), least=1, help_text=_("Empty: every choice."))
    sample_seed = _number(_("Seed of the draws"), required=True)
    times = _number(_("Answers to each prompt"), least=1, required=True)

    backend = forms.ChoiceField(label=_("Backend"))
    server = forms.CharField(
        label=_("Server"), max_length=40, required=False, help_text=_("Of the backend openai.")
    )
    model = forms.CharField(label=_("Model"), max_length=200, required=False)
    revision = forms.CharField(label=_("Revision"), max_length=80, required=False)
    chat = forms.BooleanField(
        label=_("Send prompts as messages of a chat. Otherwise the model continues them."), required=False
    )
    system = forms.CharField(
        label=_("System message"), max_length=5000, required=False, help_text=_("Only in a chat.")
    )
    temperature = forms.FloatField(label=_("Temperature"), min_value=0, max_value=2)
    top_p = forms.FloatField(label=_("Top p"), min_value=0, max_value=1)
    max_tokens = _number(_("Most tokens of an answer"), least=1, required=True)
    seed = _number(_("Seed of the answers"), required=True)
    in_flight = _number(_("Askings at once"), least=1, help_text=_("Empty: the backend’s own number."))
    token_limit = _number(_("Pause after so many tokens"), least=1)
    cost_limit = _price(_("Pause after such a cost"), _("Needs both prices."))
    price_in = _price(_("Price of a million tokens in prompts"))
    price_out = _price(_("Price of a million tokens in answers"))

    def __init__(self, data: Any = None, files: Any = None) -> None:
        recipe = CompletionRecipe(chat=False, temperature=TEMPERATURE, times=TIMES)
        initial = {
            name: getattr(recipe, name) for name in ("temperature", "times", "top_p", "max_tokens", "seed")
        }
        initial |= {"threshold": 2, "n": 2, "sample_seed": 0, "pool": Pool.IN_REGION.value}
        super().__init__(data, files, initial=initial, label_suffix="")
        sources = Source.objects.order_by("title").values_list("name", "title")
        self._choose("source", [("", "–"), *sources])
        labels = backends.names(CompletionRecipe.kind)
        self._choose("backend", [(name, gettext(label) if label else name) for name, label in labels.items()])

    def _choose(self, name: str, choices: list[tuple[str, str]]) -> None:
        field = self.fields[name]
        assert isinstance(field, forms.ChoiceField)
        field.choices = choices

    def clean(self) -> dict[str, Any]:
        data: dict[str, Any] = super().clean() or {}
        if file := data.get("file"):
            if file.size > _LARGEST_FILE:
                self.add_error("file", gettext("The file is larger than 2 MB. Draw fewer pairs."))
                return data
            try:
                data["pairs"] = file.read().decode("utf-8-sig").replace("\r\n", "\n")
            except UnicodeDecodeError:
                self.add_error("file", gettext("The file is not UTF-8. Save it as “CSV UTF-8”."))
            else:
                self.data = {**{name: self.data.get(name) for name in self.data}, "pairs": data["pairs"]}
        if not self.errors and bool(data.get("pairs", "").strip()) == bool(data.get("source")):
            self.add_error("pairs", gettext("Give either seed pairs or a source of the catalogue."))
        return data

    def plan(self) -> Plan | None:
        """The plan; None if an error was added to the form."""
        data = self.cleaned_data
        try:
            prompts = Prompts(
                tuple(self._seeds()),
                PromptVariant(data["variant"]),
                n=data["n"],
                sample=data["sample"],
                sample_seed=data["sample_seed"],
            )
            recipe = CompletionRecipe(
                backend=data["backend"],
                times=data["times"],
                **{name: data[name] for name in _MODEL_FIELDS if name not in _LIMITS},
            )
            limits = Limits(**{of: data[name] for name, of in _LIMITS.items()})
            return plan_candidates(
                recipe=recipe, name=data["name"], axis=data["axis"], prompts=prompts, limits=limits
            )
        except PromptsRefused as refused:
            self.add_error("sample" if "sample" in str(refused) else "n", str(refused))
        except (FileRefused, CandidatesRefused) as refused:
            self.add_error("source" if data["source"] else "pairs", str(refused))
        except (RecipeRefused, PlanRefused) as refused:
            match = re.fullmatch(r"recipe: (\w+): (.+)", str(refused), re.DOTALL)
            if match and match[1] in self.fields:
                self.add_error(match[1], match[2])
            else:
                self.add_error(None, str(refused))
        return None

    def _seeds(self) -> list[Seed]:
        data = self.cleaned_data
        if data["source"]:
            return find_seeds(
                data["source"],
                axis=data["axis"],
                threshold=data["threshold"],
                pool=data["pool"],
                number=data["seed_number"],
                seed=data["sample_seed"],
            )
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "pairs.csv"
            path.write_text(data["pairs"].strip(), encoding="utf-8")
            return find_seeds(path, axis=data["axis"])

    def main_fields(self) -> list[forms.BoundField]:
        return [self[name] for name in self.fields if name not in ("backend", *_MODEL_FIELDS)]

    def model_fields(self) -> list[forms.BoundField]:
        return [self[name] for name in ("backend", *_MODEL_FIELDS)]

    def model_errors(self) -> bool:
        return any(field.errors for field in self.model_fields())
