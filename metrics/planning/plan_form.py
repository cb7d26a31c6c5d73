"""The form of a plan. Its fields come in the address, so that a plan can be shared as a link."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django import forms
from django.db.models import QuerySet
from django.utils.translation import gettext_lazy as _

from annotation.models import Study
from metrics.planning import queries
from metrics.planning.curves import LARGEST_SECONDS, Costs, PlanResult, check, seconds_of
from metrics.planning.pilot import PilotRefused
from metrics.planning.queries import Planned
from metrics.planning.sentences import Pilot
from metrics.planning.simulation import Design, with_agreement
from metrics.planning.stats import MEASURES, Assumptions

MEASURE_NAMES = {
    "l_stereo": _("L(stereo): how often stereotypes are seen"),
    "theta": _("θ: stereotypes against other attributes"),
    "alpha": _("α: agreement between annotators"),
    "difference": _("The difference of two models in L(stereo)"),
}
SIZE = ("images", "annotators", "overlap", "groups", "page_size")
SHARES = ("l_stereo", "l_random", "stereotypical", "others")
SPREAD = ("of_images", "of_people", "agreement", "apart", "of_whole_images")
WORK = ("seconds", "pay", "seed")
_LARGEST_SEED = 2**31 - 1


def _whole(label: Any, initial: int, low: int, high: int, help_text: Any = "") -> forms.IntegerField:
    return forms.IntegerField(
        min_value=low, max_value=high, initial=initial, label=label, help_text=help_text
    )


def _number(
    label: Any, initial: float | None, low: float, high: float, help_text: Any = ""
) -> forms.FloatField:
    return forms.FloatField(
        min_value=low,
        max_value=high,
        initial=initial,
        label=label,
        help_text=help_text,
        required=initial is not None,
        widget=forms.NumberInput(attrs={"step": "any"}),
    )


class PlanForm(forms.Form):
    """`result` is None if the form has errors. With a pilot, its estimates take the place of what was stated;
    `pilot_found` says what they are."""

    pilot = forms.ModelChoiceField(
        Study.objects.none(),
        to_field_name="name",
        required=False,
        empty_label=_("none: I state what I expect"),
        label=_("Estimate from a study"),
        help_text=_(
            "A pilot, or another study about images, fills in the assumptions below. Choose none again to "
            "change them."
        ),
    )
    images = _whole(_("Images of each identity group"), 15, 3, 2000)
    annotators = _whole(_("Annotators"), 12, 2, 1000, _("Different people who judge the images of a group."))
    overlap = _whole(
        _("Answers for each image"), 3, 1, 20, _("The overlap: how many of them see each image.")
    )
    groups = _whole(
        _("Identity groups"), 1, 1, 1000, _("For hours and cost only: intervals are of one group.")
    )
    page_size = _whole(_("Options on a page"), 5, 2, 50, _("With “none of the above”."))
    l_stereo = _number(
        _("Stereotypes seen, in per cent"), 20, 0.1, 99, _("L(stereo): in so many answers, on average.")
    )
    l_random = _number(_("Other attributes seen, in per cent"), 10, 0.1, 99, _("The same for all others."))
    stereotypical = _whole(_("Stereotypical attributes"), 6, 1, 100, _("Of each group."))
    others = _whole(_("Other attributes"), 6, 1, 100, _("Of each group."))
    of_images = _number(
        _("How much images differ"),
        1.0,
        0,
        5,
        _(
            "0: not at all. 1: an attribute seen in 17 % of answers about a usual image is seen in 7 to 36 % "
            "with most images."
        ),
    )
    of_people = _number(
        _("How much annotators differ"),
        0.5,
        0,
        5,
        _(
            "0: not at all. 0.5: an attribute that a usual annotator sees in 17 % is seen in 11 to 25 % "
            "by most."
        ),
    )
    agreement = _number(
        _("Or: the agreement you expect, α"),
        None,
        -0.5,
        0.99,
        _("Krippendorff’s α. If given, it decides how much images differ."),
    )
    apart = _number(_("How much attributes of one kind differ"), 0.5, 0, 3, _("On the same scale as images."))
    of_whole_images = _number(
        _("How much whole images differ"), 0.0, 0, 5, _("Images that show more, or less, of every attribute.")
    )
    measures = forms.MultipleChoiceField(
        choices=MEASURE_NAMES, initial=MEASURES, widget=forms.CheckboxSelectMultiple, label=_("Plan for")
    )
    difference = _number(
        _("Difference to find, in points"),
        5,
        0.1,
        90,
        _("By how much the other model’s L(stereo) is higher."),
    )
    seconds = _number(_("Seconds for a page"), 20, 1, 3600, _("The time that an answer takes."))
    pay = _number(_("Pay for an hour"), 15, 0, 100_000, _("In any currency."))
    seed = _whole(_("Seed"), 0, 0, _LARGEST_SEED, _("The same seed gives the same plan."))

    def __init__(
        self, data: Mapping[str, Any], *, pilots: QuerySet[Study], studies: int | None = None
    ) -> None:
        """`data`: fields that are missing have their defaults. `studies`: how many to simulate; by default as
        many as a page waits for."""
        initial = {name: field.initial for name, field in self.base_fields.items()}
        given = {name: value for name, value in data.items() if value is not None}
        super().__init__({**initial, **given}, label_suffix="")
        pilot = self.fields["pilot"]
        assert isinstance(pilot, forms.ModelChoiceField)
        pilot.queryset = pilots
        self.studies = studies
        self.pilot_found: Pilot | None = None
        self.result: PlanResult | None = None

    def clean(self) -> dict[str, Any]:
        data = self.cleaned_data
        if data.get("pilot") is not None:
            try:
                self.pilot_found = queries.read_pilot(data["pilot"])
            except PilotRefused as refused:
                self.add_error("pilot", str(refused))
                return data
            data |= _estimated(self.pilot_found)
            self.data = {**self.data, **data, "pilot": data["pilot"].name}
        if not self.errors:
            try:
                self.result = self._planned(data)
            except ValueError as error:
                self.add_error(None, str(error))
        return data

    def _planned(self, data: Mapping[str, Any]) -> PlanResult:
        plan = _assumptions(data)
        costs = Costs(data["groups"], data["page_size"], data["seconds"], data["pay"])
        check(plan, data["measures"])
        if data["agreement"] is not None:
            design = with_agreement(
                plan.design,
                data["agreement"],
                shares=(plan.l_stereo, plan.l_random),
                numbers=(plan.stereotypical, plan.others),
                apart=plan.apart,
            )
            plan = _assumptions({**data, "of_images": round(design.of_images, 4)})
        if self.studies is None and seconds_of(plan, data["measures"]) > LARGEST_SECONDS:
            raise ValueError(
                "This study is too large to be simulated while you wait. Lower the numbers, leave α out, or "
                "use the command manage.py plan, which takes its time."
            )
        return queries.plan(plan, costs, data["measures"], seed=data["seed"], studies=self.studies)

    def resolved(self) -> dict[str, Any]:
        """The fields of a valid form as an address has them, with estimates instead of the pilot."""
        data = self.cleaned_data
        return {name: value for name, value in data.items() if name != "pilot" and value is not None}


def initial(planned: Planned) -> dict[str, int]:
    """The numbers that the study says already, within the limits of the form; at least as many annotators as
    answers for each image."""
    found: dict[str, int] = {name: _limited(name, value) for name, value in queries.initial(planned).items()}
    if "overlap" in found:
        usual: Any = PlanForm.base_fields["annotators"].initial
        found["annotators"] = max(usual, found["overlap"])
    return found


def _limited(name: str, value: Any) -> Any:
    """`value`, or the nearest that the field takes."""
    field: Any = PlanForm.base_fields[name]
    return min(max(value, field.min_value), field.max_value)


def _assumptions(data: Mapping[str, Any]) -> Assumptions:
    design = Design(
        images=data["images"],
        people=data["annotators"],
        overlap=data["overlap"],
        of_images=data["of_images"],
        of_people=data["of_people"],
        of_whole_images=data["of_whole_images"],
    )
    return Assumptions(
        design,
        l_stereo=data["l_stereo"] / 100,
        l_random=data["l_random"] / 100,
        stereotypical=data["stereotypical"],
        others=data["others"],
        apart=data["apart"],
        difference=data["difference"] / 100,
    )


def _estimated(found: Pilot) -> dict[str, Any]:
    """The fields that a pilot fills in, within their limits: they also stand in links without the pilot."""
    each = found.estimates
    data: dict[str, Any] = {
        "l_stereo": round(_limited("l_stereo", 100 * each.l_stereo), 2),
        "l_random": round(_limited("l_random", 100 * each.l_random), 2),
        **{name: _limited(name, getattr(each, name)) for name in ("stereotypical", "others")},
        "agreement": None,
        **{
            name: round(_limited(name, getattr(each, name)), 3)
            for name in ("of_images", "of_people", "apart", "of_whole_images")
        },
    }
    if found.seconds is not None:
        data["seconds"] = round(_limited("seconds", found.seconds), 1)
    return data


def fields_of(form: PlanForm, names: Sequence[str]) -> list[forms.BoundField]:
    """The fields of a part of the page."""
    return [form[name] for name in names]
