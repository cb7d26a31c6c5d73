"""The form that plans a run about a source's associations."""

from typing import Any

from django import forms
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from annotation.models import Pool, Source
from generation import backends
from generation.plans.errors import PlanRefused
from generation.plans.plan import Plan
from generation.recipes.askings import ClassificationRecipe
from generation.recipes.checks import RecipeRefused
from generation.recipes.recipes import option_value
from metrics.inference.drawing import RANDOM
from metrics.inference.sentences import OBJECTS, VERBS
from metrics.inference.services.planning import LABELS_OF, THRESHOLD, Choice, plan_inference


class InferenceForm(forms.Form):
    """`plan` is None if the form has errors."""

    source = forms.ModelChoiceField(
        Source.objects.order_by("name"), to_field_name="name", label=_("Source of associations")
    )
    threshold = forms.IntegerField(
        min_value=0,
        max_value=1000,
        initial=THRESHOLD,
        label=_("Votes for a stereotype"),
        help_text=_("At least as many annotators said Stereotypical. 0 takes every association."),
    )
    pool = forms.ChoiceField(
        choices=[(pool.value, _(pool.label)) for pool in Pool], initial=Pool.IN_REGION, label=_("Votes of")
    )
    baseline = forms.BooleanField(
        required=False,
        initial=True,
        label=_("With a baseline of random pairs"),
        help_text=_("For each group also an attribute that is not associated with it."),
    )
    seed = forms.IntegerField(min_value=0, max_value=2**31 - 1, initial=0, label=_("Seed of the draws"))
    verbs = forms.CharField(
        initial=", ".join(VERBS),
        max_length=2000,
        label=_("Verbs"),
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text=_("Separated by commas."),
    )
    objects = forms.CharField(
        initial=", ".join(OBJECTS),
        max_length=2000,
        label=_("Objects"),
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text=_("Separated by commas, each with its article."),
    )
    backend = forms.ChoiceField(label=_("Backend"))
    model = forms.CharField(
        required=False,
        max_length=200,
        label=_("Model"),
        help_text=_("A model of natural language inference: a name of the hub, or a local folder."),
    )
    revision = forms.CharField(required=False, max_length=80, label=_("Revision"))
    labels = forms.CharField(
        required=False,
        max_length=200,
        label=_("Names of the labels"),
        help_text=_("Only if the model's configuration has none: in its order, separated by commas."),
    )
    options = forms.CharField(
        required=False,
        max_length=5000,
        label=_("Options of the backend"),
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text=_("One per line, as name=value; for example bias=0.9 of the fake."),
    )
    name = forms.SlugField(
        required=False,
        max_length=80,
        label=_("Name of the run"),
        help_text=_("Empty: from source and model."),
    )
    asked_fields = ("source", "baseline", "threshold", "pool", "seed", "verbs", "objects")
    model_fields = ("backend", "model", "revision", "labels", "options", "name")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["backend"]
        assert isinstance(field, forms.ChoiceField)
        field.choices = [
            (name, f"{name}: {gettext(label)}" if label else name)
            for name, label in backends.names(ClassificationRecipe.kind).items()
            if name not in LABELS_OF
        ]

    def clean_options(self) -> dict[str, Any]:
        """Values are JSON if they can be parsed, else text."""
        found: dict[str, Any] = {}
        for line in filter(None, map(str.strip, self.cleaned_data["options"].splitlines())):
            key, equals, value = (part.strip() for part in line.partition("="))
            if not (key and equals):
                raise forms.ValidationError(gettext("“%(line)s”: write name=value.") % {"line": line})
            found[key] = option_value(value)
        return found

    def plan(self) -> Plan | None:
        """The plan; None, with an error added to the form, if it is refused."""
        data = self.cleaned_data
        try:
            return plan_inference(
                recipe=ClassificationRecipe(
                    backend=data["backend"],
                    model=data["model"].strip(),
                    revision=data["revision"].strip(),
                    labels=tuple(split_words(data["labels"])),
                    options=data["options"],
                ),
                choice=Choice(
                    source=data["source"],
                    threshold=data["threshold"],
                    pool=data["pool"],
                    seed=data["seed"],
                    baseline=RANDOM if data["baseline"] else "",
                    verbs=split_words(data["verbs"]),
                    objects=split_words(data["objects"]),
                ),
                name=data["name"],
            )
        except (PlanRefused, RecipeRefused) as refused:
            self.add_error(None, str(refused))
            return None

    def asked(self) -> list[forms.BoundField]:
        return [self[name] for name in self.asked_fields]

    def about_model(self) -> list[forms.BoundField]:
        return [self[name] for name in self.model_fields]


def split_words(text: str) -> list[str]:
    """The words between commas, without the spaces around them; none of an empty text."""
    return [word.strip() for word in text.split(",")] if text.strip() else []
