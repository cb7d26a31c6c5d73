"""Fields for the stimuli of one kind of task; part of the page of setup/forms/source.py."""

from collections.abc import Callable, Sequence
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from annotation.models import TaskKind
from annotation.setup.forms.base import Document, put, split_lines
from annotation.studies.study_file.table import LARGEST_NUMBER
from annotation.studies.study_file.tasks import ALWAYS_PAIRS

_ALL_VISUAL = "none"  # in a study file: treat every attribute as visual
_LISTED = ""

_MAX_PAIRS = 1000
"""Longer lists are edited in the file only; nobody reads them in a field."""

CHOSEN_ON_PAGE = frozenset(
    {"source", "limit", "words", "of", "groups", "pairs", "visual", "visual_words", "allow_fewer"}
)
"""Fields that are left out if the file lists the stimuli in full."""

Choices = Sequence[tuple[str, str]]


def task_fields(kind: str, *, sources: Choices, sets: Choices, rated: Choices) -> dict[str, forms.Field]:
    """Suffix of the name -> field, in page order. `rated`: studies that rated which attributes are visual."""
    found = _image_fields(sets, rated) if kind == TaskKind.DEPICTION else _resource_fields(sources)
    if kind in (TaskKind.VISUAL_NATURE, TaskKind.OFFENSIVENESS):
        found["words"] = _list(_("Or these attributes, one per line"), rows=4)
    if kind == TaskKind.OFFENSIVENESS:
        found["of"] = forms.ChoiceField(
            label=_("About"),
            required=False,
            choices=[
                ("attributes", _("attributes by themselves")),
                ("associations", _("attributes of identity groups")),
            ],
        )
    if kind != TaskKind.VISUAL_NATURE:
        found["groups"] = _list(
            _("Only these identity groups, one per line"), rows=2, help_text=_("If empty: all of them.")
        )
    if kind in ALWAYS_PAIRS or kind == TaskKind.OFFENSIVENESS:
        found["pairs"] = _list(
            _("Or only these pairs of the resource, one per line"),
            rows=4,
            help_text=_("Identity group, colon, attribute, e.g. 'Mexican: sombrero'."),
        )
    return found


def _image_fields(sets: Choices, rated: Choices) -> dict[str, forms.Field]:
    visual = [
        (_ALL_VISUAL, _("treat every attribute as visual")),
        *((name, _("as rated in: %s") % title) for name, title in rated),
        (_LISTED, _("only those listed here")),
    ]
    return {
        "image_set": forms.ChoiceField(
            label=_("Image set"), required=False, choices=[("", _("– choose –")), *sets]
        ),
        "visual": forms.ChoiceField(label=_("Visual attributes"), required=False, choices=visual),
        "visual_words": _list(_("These attributes, one per line"), rows=4),
        "page_size": forms.IntegerField(
            label=_("Options per page"),
            min_value=2,
            max_value=20,
            required=False,
            help_text=_("Including “none of the above”."),
        ),
        "allow_fewer": forms.BooleanField(
            label=_("Allow fewer random attributes than stereotypes"), required=False
        ),
    }


def _resource_fields(sources: Choices) -> dict[str, forms.Field]:
    return {
        "source": forms.ChoiceField(
            label=_("Resource"), required=False, choices=[("", _("– choose –")), *sources]
        ),
        "limit": forms.IntegerField(
            label=_("Number drawn at random"),
            required=False,
            min_value=1,
            max_value=LARGEST_NUMBER,
            help_text=_("If empty: all of them."),
        ),
    }


def _list(label: Any, *, rows: int, help_text: Any = "") -> forms.CharField:
    area = forms.Textarea(attrs={"rows": rows})
    return forms.CharField(label=label, required=False, widget=area, help_text=help_text)


def task_initial(task: Document) -> dict[str, Any]:
    """Initial values for a task, by suffix of the field's name."""
    what = task.get("associations") or task.get("attributes") or {}
    initial = {
        "on": True,
        "of": "associations" if "associations" in task else "attributes",
        "image_set": task.get("image_set", ""),
        "page_size": task.get("page_size", 5),
    }
    if isinstance(what, list):
        return initial | {"words": "\n".join(what)}
    visual = what.get("visual", _ALL_VISUAL)
    listed = not isinstance(visual, str)
    return initial | {
        **{key: what.get(key) for key in ("source", "limit", "allow_fewer")},
        "groups": "\n".join(what.get("groups", [])),
        "pairs": "\n".join(f"{group}: {text}" for group, text in _pairs(task)),
        "visual": _LISTED if listed else visual,
        "visual_words": "\n".join(visual) if listed else "",
    }


def apply_to_task(task: Document, of: Callable[[str], Any], *, kept: bool) -> None:
    """Write cleaned data into `task`. `of` returns a value by the suffix of its field's name. `kept`: leave
    the stimuli alone, because the file lists them in full."""
    put(task, "page_size", of("page_size"))
    put(task, "image_set", of("image_set"))
    if kept:
        return
    task.pop("attributes", None)
    task.pop("associations", None)
    kind, groups = task["kind"], split_lines(of("groups") or "")
    if kind == TaskKind.DEPICTION:
        what = task["attributes"] = {"visual": of("visual") or split_lines(of("visual_words") or "")}
        put(what, "groups", groups)
        put(what, "allow_fewer", of("allow_fewer") or None)
    elif kind in ALWAYS_PAIRS or of("of") == "associations":
        what = task["associations"] = {"source": of("source")}
        put(what, "limit", of("limit"))
        put(what, "groups", groups)
        put(what, "pairs", parse_pairs(of("pairs") or ""))
    elif words := split_lines(of("words") or ""):
        task["attributes"] = words
    else:
        what = task["attributes"] = {"source": of("source")}
        put(what, "limit", of("limit"))


def parse_pairs(text: str) -> list[list[str]]:
    """Pairs from lines such as `Mexican: sombrero`, or from two columns pasted from a spreadsheet.

    Raises ValidationError with the first line that is not a pair."""
    found = []
    for line in filter(str.strip, text.splitlines()):
        group, _between, attribute = line.strip().partition("\t" if "\t" in line.strip() else ":")
        pair = [" ".join(part.split()) for part in (group, attribute)]
        if not all(pair):
            raise forms.ValidationError(
                _("'%(line)s' is not a pair. Write the identity group, a colon and the attribute.")
                % {"line": line.strip()}
            )
        found.append(pair)
    return found


def is_listed_in_file(task: Document) -> bool:
    """Whether the file lists the stimuli of this task in full, so that the page has no fields for them."""
    return "shown" in task or bool(_pairs_from_file(task))


def listed_message(task: Document) -> str:
    """A message about the stimuli listed in the file; empty if they are chosen on the page."""
    if "shown" in task:
        number = len(task["shown"])
        return ngettext(
            "The attributes of %(number)d identity group come from the file and are kept.",
            "The attributes of %(number)d identity groups come from the file and are kept.",
            number,
        ) % {"number": number}
    number = len(_pairs_from_file(task))
    if not number:
        return ""
    return ngettext(
        "%(number)d pair of identity group and attribute comes from the file and is kept.",
        "%(number)d pairs of identity group and attribute come from the file and are kept.",
        number,
    ) % {"number": number}


def _pairs(task: Document) -> list[Any]:
    what = task.get("associations", {})
    pairs: list[Any] = what.get("pairs", []) if isinstance(what, dict) else []
    return pairs


def _pairs_from_file(task: Document) -> list[Any]:
    """The pairs, if they are too many for the page or ambiguous there (a colon in a group's name)."""
    pairs = _pairs(task)
    lines_are_pairs = not any(":" in group for group, _text in pairs)
    return [] if lines_are_pairs and len(pairs) <= _MAX_PAIRS else pairs
