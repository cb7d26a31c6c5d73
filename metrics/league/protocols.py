"""What differs between the protocols of studies, in words. What _KINDS lists is compared, nothing else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from django.utils.formats import date_format
from django.utils.functional import Promise
from django.utils.translation import gettext, gettext_lazy

from annotation.models import Option, Pool, Purpose, Study, Task, TaskKind


@dataclass(frozen=True)
class Setting:
    """A setting that is not equal in all studies: `values`, and the studies that have each. `matters`: it
    changes what is measured, so that scores with it and without it are not comparable."""

    name: str
    label: str | Promise
    matters: bool
    values: tuple[tuple[str, tuple[Study, ...]], ...]


@dataclass(frozen=True)
class _Protocol:
    """Of one study: the versions of its task, and in words the items with a right answer."""

    study: Study
    tasks: Sequence[Task]
    checks: Sequence[str]


@dataclass(frozen=True)
class _Kind:
    """`tasks`: the kinds of task that it is a setting of, and those where it changes what is measured."""

    label: str | Promise
    tasks: frozenset[str]
    matters: frozenset[str]
    read: Callable[[_Protocol], str]


def _joined(texts: Iterable[str]) -> str:
    """The different texts of the versions of a task, in their order."""
    return " / ".join(dict.fromkeys(text.strip() or gettext("none") for text in texts)) or gettext("none")


def _of_tasks(read: Callable[[Task], str]) -> Callable[[_Protocol], str]:
    return lambda of: _joined(read(task) for task in of.tasks)


def _strata(task: Task) -> str:
    return ", ".join(f"{number} × {stratum}" for stratum, number in Counter(task.strata).items())


def _share(task: Task) -> str:
    return gettext("all images") if task.people_share is None else f"{100 * task.people_share:g} %"


def _examples(examples: Iterable[Mapping[str, str]]) -> str:
    """Text, answer and reason of each."""
    return "; ".join(
        f"{one.get('text', '')} → {one.get('answer', '')}" + (f" ({one['why']})" if one.get("why") else "")
        for one in examples
    )


def _translations(task: Task) -> str:
    """Question, instructions and examples in each other language."""
    return "; ".join(
        f"{language}: "
        + " – ".join(
            filter(None, [of.get("wording"), of.get("instructions"), _examples(of.get("examples", []))])
        )
        for language, of in sorted(task.translations.items())
    )


def _source(of: _Protocol) -> str:
    """Its name too: sources may have the same title."""
    source = of.study.stereotype_source
    return f"{source.title} ({source.name})" if source else gettext("none")


def _visual(of: _Protocol) -> str:
    if of.study.visual_mean is not None:
        return gettext("mean score of at least %(mean)s") % {"mean": f"{of.study.visual_mean:g}"}
    if of.study.visual_rule is None:
        return gettext("all who rated it chose Agree or Strongly agree")
    return gettext("at least %(least)d chose Agree or Strongly agree") % {"least": of.study.visual_rule}


def _pool(of: _Protocol) -> str:
    if of.study.stereotype_pool == Pool.IN_REGION:
        return gettext("in-region annotators")
    return gettext("out-region annotators")


def _dates(of: _Protocol) -> str:
    study = of.study
    if study.opened_at is None:
        return gettext("not opened")
    opened = date_format(study.opened_at, "Y-m-d")
    closed = date_format(study.closed_at, "Y-m-d") if study.closed_at else gettext("still open")
    return f"{opened} – {closed}"


def _training(of: _Protocol) -> str:
    return gettext("none") if of.study.training_pass is None else f"{100 * of.study.training_pass:g} %"


_ALL = frozenset(TaskKind.values)
_IMAGES, _RULED = frozenset({TaskKind.DEPICTION}), frozenset({TaskKind.DEPICTION, TaskKind.PREVALENCE})
_NONE: frozenset[str] = frozenset()
_KINDS: dict[str, _Kind] = {
    "wording": _Kind(gettext_lazy("Question"), _ALL, _ALL, _of_tasks(lambda task: task.wording)),
    "instructions": _Kind(
        gettext_lazy("Instructions"), _ALL, _ALL, _of_tasks(lambda task: task.instructions)
    ),
    "examples": _Kind(
        gettext_lazy("Worked examples"), _ALL, _ALL, _of_tasks(lambda task: _examples(task.examples))
    ),
    "translations": _Kind(gettext_lazy("The same in other languages"), _ALL, _ALL, _of_tasks(_translations)),
    "page_size": _Kind(
        gettext_lazy("Options on a page, with “none of the above”"),
        _IMAGES,
        _IMAGES,
        _of_tasks(lambda task: str(task.page_size)),
    ),
    "overlap": _Kind(
        gettext_lazy("Answers wanted for a page"), _ALL, _ALL, _of_tasks(lambda task: str(task.overlap))
    ),
    "strata": _Kind(gettext_lazy("Who answers"), _ALL, _ALL, _of_tasks(_strata)),
    "people_share": _Kind(gettext_lazy("Images that people judge"), _IMAGES, _IMAGES, _of_tasks(_share)),
    "source": _Kind(
        gettext_lazy("Source of the stereotypes"),
        _ALL,
        frozenset({TaskKind.DEPICTION, TaskKind.OFFENSIVENESS}),
        _source,
    ),
    "pool": _Kind(gettext_lazy("Votes that make a stereotype"), _RULED, _RULED, _pool),
    "threshold": _Kind(
        gettext_lazy("Least number of these votes"),
        _RULED,
        _RULED,
        lambda of: str(of.study.stereotype_threshold),
    ),
    "visual_rule": _Kind(
        gettext_lazy("Rule for visual"),
        frozenset({TaskKind.DEPICTION, TaskKind.VISUAL_NATURE}),
        _NONE,
        _visual,
    ),
    "training": _Kind(gettext_lazy("Training to pass"), _ALL, _NONE, _training),
    "gold": _Kind(
        gettext_lazy("Gold items and checks"), _ALL, _NONE, lambda of: f"{100 * of.study.gold_rate:g} %"
    ),
    "checks": _Kind(
        gettext_lazy("Items with a right answer"),
        _ALL,
        _NONE,
        lambda of: "; ".join(of.checks) or gettext("none"),
    ),
    "blur": _Kind(
        gettext_lazy("Images blurred at first"),
        _IMAGES,
        _NONE,
        lambda of: gettext("yes") if of.study.blur_images else gettext("no"),
    ),
    "simulated": _Kind(
        gettext_lazy("Who made the answers"),
        _ALL,
        _ALL,
        lambda of: gettext("a program") if of.study.simulated else gettext("people"),
    ),
    "dates": _Kind(gettext_lazy("Open from – to"), _ALL, _NONE, _dates),
}


def _checks(studies: Sequence[Study], kind: str) -> dict[int, list[str]]:
    """By study, in words and sorted: the purpose of each training, gold and attention item, what it is about,
    what it says afterwards, and the right answer of each option. One query."""
    options = Option.objects.filter(unit__task__study__in=studies, unit__task__kind=kind).exclude(
        unit__purpose=Purpose.DATA
    )
    units: dict[tuple[int, int], list[str]] = {}
    for (
        study,
        unit,
        purpose,
        image_set,
        group,
        index,
        association,
        feedback,
        attribute,
        expected,
    ) in options.order_by("unit", "position").values_list(
        "unit__task__study",
        "unit",
        "unit__purpose",
        "unit__image__image_set__name",
        "unit__image__group__name",
        "unit__image__index",
        "unit__association__group__name",
        "unit__feedback",
        "attribute__text",
        "expected",
    ):
        about = f": {image_set}, {group} {index}" if image_set else f": {association}" if association else ""
        said = [f"{purpose}{about}", *([feedback] if feedback else [])]
        right = "?" if expected is None else " / ".join(map(str, expected))
        units.setdefault((study, unit), said).append(f"{attribute or gettext('none of the above')} = {right}")
    found: dict[int, list[str]] = {}
    for (study, _), parts in units.items():
        found.setdefault(study, []).append(", ".join(parts))
    return {study: sorted(texts) for study, texts in found.items()}


def differences(studies: Sequence[Study], task_kind: str) -> list[Setting]:
    """The settings of tasks of this kind that are not equal in all `studies`, those that matter first. One
    query, if the tasks and the sources of the studies are fetched with them."""
    checks = _checks(studies, task_kind)
    protocols = {
        one.pk: _Protocol(
            one,
            sorted(
                (task for task in one.tasks.all() if task.kind == task_kind), key=lambda task: task.version
            ),
            checks.get(one.pk, []),
        )
        for one in studies
    }
    found = []
    for name, kind in _KINDS.items():
        values: dict[str, list[Study]] = {}
        for one in studies if task_kind in kind.tasks else ():
            values.setdefault(kind.read(protocols[one.pk]), []).append(one)
        if len(values) > 1:
            each = tuple((text, tuple(having)) for text, having in values.items())
            found.append(Setting(name, kind.label, task_kind in kind.matters, each))
    return sorted(found, key=lambda one: not one.matters)
