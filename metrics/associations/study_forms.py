"""Forms of the pages of associations."""

from collections.abc import Sequence
from typing import Any

from django import forms
from django.contrib.auth.models import User
from django.core.validators import validate_slug
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from annotation.models import DIMENSIONS, ImageSet, Study, TaskKind
from generation.models import Run
from metrics.associations.askings import Modality, Setting
from metrics.associations.queries import Choice
from metrics.associations.services import studies
from metrics.models import AssociationList, Variant

ANY = [("", pgettext_lazy("every one", "all"))]
VARIANTS = [
    (Variant.CORRECTED.value, _("corrected: log-odds, q < 0.05")),
    (Variant.PUBLISHED.value, _("published: tf-idf, p < 0.05")),
]
MODALITIES = {
    Modality.T2T: _("words completed"),
    Modality.T2I: _("images described"),
    Modality.I2T: _("images interpreted"),
}


def setting_label(setting: Setting) -> str:
    return f"{MODALITIES[setting.modality]}: {setting.short}"


class FilterForm(forms.Form):
    """Which associations a table shows, from the URL. What is wrong there counts as not given."""

    variant = forms.ChoiceField(label=_("Variant"), required=False, choices=VARIANTS)
    show = forms.ChoiceField(
        label=_("Show"),
        required=False,
        choices=[("", _("significant ones")), ("all", _("every one"))],
    )
    setting = forms.ChoiceField(label=_("Setting"), required=False)
    dimension = forms.ChoiceField(
        label=_("Dimension"),
        required=False,
        choices=[*ANY, *((axis.value, _(axis.label)) for axis in DIMENSIONS)],
    )
    descriptor = forms.CharField(label=_("Descriptor contains"), required=False, max_length=120)
    word = forms.CharField(label=_("Word contains"), required=False, max_length=200)
    new = forms.ChoiceField(
        label=_("In the catalogue"),
        required=False,
        choices=[("", _("known or new")), ("yes", _("new: not in it")), ("no", _("known: in it"))],
    )

    def __init__(self, data: Any, *, settings: Sequence[Setting]) -> None:
        super().__init__(data)
        modalities = dict.fromkeys(setting.modality for setting in settings)
        field = self.fields["setting"]
        assert isinstance(field, forms.ChoiceField)
        field.choices = [
            *ANY,
            *((modality.value, str(MODALITIES[modality])) for modality in modalities),
            *((setting.value, setting_label(setting)) for setting in settings),
        ]

    def choice(self, *, group: int | None = None) -> Choice:
        self.is_valid()
        data = self.cleaned_data
        setting = data.get("setting") or ""
        new = data.get("new")
        return Choice(
            variant=Variant(data.get("variant") or Variant.CORRECTED),
            significant=data.get("show") != "all",
            setting=setting if "-" in setting else "",
            modality="" if "-" in setting else setting,
            dimension=data.get("dimension") or "",
            group=group,
            descriptor=data.get("descriptor") or "",
            word=data.get("word") or "",
            new=None if not new else new == "yes",
        )


class StudyForm(forms.Form):
    """The draft of a study about a run's significant associations."""

    name = forms.CharField(
        label=_("Name of the study and the source"), max_length=80, validators=[validate_slug]
    )
    variant = forms.ChoiceField(label=_("Significant as"), choices=VARIANTS)
    only_new = forms.BooleanField(label=_("Only those that are not in the catalogue"), required=False)
    kind = forms.ChoiceField(
        label=_("Ask people"),
        choices=[
            (TaskKind.ASSOCIATION.value, _("how biased each association is")),
            (TaskKind.VISUAL_NATURE.value, _("which of the words can be seen in an image")),
            (TaskKind.DEPICTION.value, _("which of the words images depict")),
        ],
    )
    image_set = forms.ModelChoiceField(
        label=_("Images"),
        required=False,
        queryset=ImageSet.objects.order_by("title"),
        help_text=_("Only for what images depict."),
    )
    visual = forms.ModelChoiceField(
        label=_("Words that are visual as rated in"),
        required=False,
        queryset=Study.objects.none(),
        help_text=_("Only for what images depict. If empty, every word counts as visual."),
    )

    def __init__(self, *args: Any, run: Run, **kwargs: Any) -> None:
        kwargs["initial"] = {"name": f"associations-{run.name.lower()}"[:80], "image_set": run.image_set}
        super().__init__(*args, **kwargs)
        field = self.fields["visual"]
        assert isinstance(field, forms.ModelChoiceField)
        field.queryset = Study.objects.filter(tasks__kind=TaskKind.VISUAL_NATURE).distinct().order_by("title")

    def clean(self) -> dict[str, Any]:
        data = self.cleaned_data
        if data.get("kind") == TaskKind.DEPICTION and not data.get("image_set"):
            self.add_error("image_set", _("Choose the images that are looked at."))
        return data

    def create(self, *, found: AssociationList, by: User) -> Study:
        """Raises AssociationsRefused; see services/studies.py."""
        data = self.cleaned_data
        choice = Choice(variant=Variant(data["variant"]), new=True if data["only_new"] else None)
        if data["kind"] == TaskKind.DEPICTION:
            return studies.look_for_them(
                found=found,
                choice=choice,
                name=data["name"],
                image_set=data["image_set"],
                visual=data["visual"],
                by=by,
            )
        return studies.ask_people(found=found, choice=choice, name=data["name"], kind=data["kind"], by=by)
