"""The names of variants and problems of a machine judge, in words."""

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from generation.core.durations import duration
from metrics.machine_judges.design import BASE, ORDER, SAMPLES, WORDING, language_of
from metrics.machine_judges.parsing import Problem

_PROBLEMS = {
    Problem.EMPTY: gettext_lazy("nothing was answered"),
    Problem.WITHHELD: gettext_lazy("withheld by a filter of the model or its server"),
    Problem.UNREADABLE: gettext_lazy("not in the form that was asked for"),
    Problem.OUTSIDE: gettext_lazy("a choice that was not offered"),
    Problem.NOTHING: gettext_lazy("nothing chosen, not even “none of the above”"),
    Problem.CONTRADICTORY: gettext_lazy("“none of the above” with something else, or one thing twice"),
    Problem.BOX: gettext_lazy("a chosen attribute without a place in the image, or a box that is none"),
}


def model_time(seconds: float | None) -> str:
    """How long a model took; "–" if that was not measured."""
    return "–" if seconds is None else duration(seconds)


def problem_words(name: str) -> str:
    """A kind of problem in words."""
    return str(_PROBLEMS[Problem(name)])


def variant_words(variant: str) -> str:
    """What differs when the judge is asked in this variant, or in another sample (SAMPLES)."""
    if language := language_of(variant):
        return _("in another language: %(code)s") % {"code": language}
    return {
        BASE: _("as people are asked"),
        SAMPLES: _("the same question again"),
        ORDER: _("the choices in another order"),
        WORDING: _("another wording"),
    }[variant]
