"""The pages of a report in one language."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from django.conf import settings
from django.template.loader import render_to_string
from django.utils import translation
from django.utils.translation import get_language_info, gettext

from annotation.core.translation import LocalizedText, translated_text
from annotation.models import Study
from metrics.core.answers import describe_stereotype_rule
from metrics.core.charts.figure import Figure
from metrics.core.marks import Axis, scaled_axis
from metrics.core.quoting import isolated
from metrics.dashboards import sentences
from metrics.dashboards.queries.results import Offensiveness, Pull, Results
from metrics.models import Score
from metrics.report.figures import Drawn, NotDrawn
from metrics.report.licences import Licence
from metrics.report.queries.asked import asked_tasks, consent_shown
from metrics.report.queries.people import People
from metrics.report.queries.pictures import Picture, PictureSet
from metrics.report.queries.runs import Runs, StoredRun
from metrics.report.queries.tables import Table
from metrics.score_runs import registry

_PLACES = {
    "map-likely": "ranking",
    "map-offensiveness": "depicted",
    "pull": "pull",
    "consensus": "consensus",
    "thresholds": "prevalence",
    "offensiveness-regions": "rated",
}
"""Name of a figure -> the section of the results that it belongs to; the others come last."""


@dataclass(frozen=True)
class ShownFigure:
    """A figure, its file in the report, and its size in pixels."""

    figure: Figure
    name: str
    file: str
    width: int
    height: int


@dataclass(frozen=True)
class ShownPicture:
    """A smaller copy of an image: its file in the report, and its size in pixels."""

    picture: Picture
    file: str
    width: int
    height: int


@dataclass(frozen=True)
class ShownSet:
    """An image set with the copies of its images, as `PictureSet`; `broken`: images that cannot be read."""

    found: PictureSet
    pictures: tuple[ShownPicture, ...]
    broken: int = 0

    @property
    def image_set(self) -> object:
        return self.found.image_set

    @property
    def licence(self) -> Licence | None:
        return self.found.licence

    @property
    def lacks_credit(self) -> bool:
        return self.found.lacks_credit


@dataclass(frozen=True)
class Content:
    """All that a report says, before it is put into words."""

    study: Study
    runs: Runs
    results: Results
    tables: Sequence[Table]
    figures: Sequence[ShownFigure]
    not_drawn: Sequence[NotDrawn]
    people: People
    sets: Sequence[ShownSet]
    with_images: bool


def pages(content: Content, language: str) -> Iterator[tuple[str, str]]:
    """(file, HTML) of every page in a language of the interface."""
    with translation.override(language):
        shared = _shared(content, language)
        found: list[tuple[str, str, Mapping[str, object]]] = [
            ("index.html", "results", _results(content, language)),
            ("tables.html", "tables", {"tables": content.tables, "left_out": content.runs.left_out}),
            ("methods.html", "computed", _methods(content)),
            ("limits.html", "limits", {}),
            ("asked.html", "asked", _asked(content, language)),
        ]
        if content.sets:
            found.append(("images.html", "images", _images(content, language)))
        for file, name, context in found:
            yield file, _render(name, {**shared, **context, "file": file, "here": name})
        for table in content.tables:
            file = f"table-{table.stored.slug}.html"
            yield file, _render("table", {**shared, "table": table, "file": file, "here": "tables"})


def first_page(content: Content) -> str:
    """The page that offers the languages, the default one first."""
    study = content.study
    entries = [
        {
            "code": code,
            "name": name,
            "direction": "rtl" if get_language_info(code)["bidi"] else "ltr",
            "title": translated_text(study, "title", code),
        }
        for code, name in _languages()
    ]
    with translation.override(settings.LANGUAGE_CODE):
        title = translated_text(study, "title", settings.LANGUAGE_CODE)
        context = {"title": title, "summary": _summary(title), "entries": entries}
        return _render("index", context)


def _languages() -> list[tuple[str, str]]:
    """Code and name of each language, the default first."""
    return sorted(settings.LANGUAGES, key=lambda one: one[0] != settings.LANGUAGE_CODE)


def _render(name: str, context: Mapping[str, object]) -> str:
    return render_to_string(f"metrics/report/pages/{name}.html", dict(context))


def _summary(title: LocalizedText) -> str:
    return gettext("Results, methods and limits of the study “%(study)s”.") % {"study": title}


def _shared(content: Content, language: str) -> dict[str, object]:
    names = [
        ("index.html", "results", gettext("Results")),
        ("tables.html", "tables", gettext("Tables")),
        ("methods.html", "computed", gettext("Methods")),
        ("limits.html", "limits", gettext("Limits")),
        ("asked.html", "asked", gettext("What was asked of whom")),
    ]
    if content.sets:
        names.append(("images.html", "images", gettext("Images")))
    title, newest = translated_text(content.study, "title", language), content.runs.newest
    return {
        "study": content.study,
        "title": title,
        "summary": _summary(title),
        "simulated": content.results.simulated,
        "newest": newest,
        "date": isolated(f"{newest.finished_at:%Y-%m-%d}"),
        "pages": [{"file": file, "name": name, "title": text} for file, name, text in names],
        "languages": _languages(),
    }


def _results(content: Content, language: str) -> dict[str, object]:
    results = content.results
    figures: dict[str, list[ShownFigure]] = {}
    for drawn in content.figures:
        figures.setdefault(_PLACES.get(drawn.name, "others"), []).append(drawn)
    return {
        "description": translated_text(content.study, "description", language),
        "results": results,
        "findings": sentences.findings(results),
        "without_totals": any(stored.lacks_totals for stored in content.runs.shown),
        "figures": figures,
        "not_drawn": content.not_drawn,
        "axis_of_pull": _axis_of_pull(results.pull),
        "axis_of_ratings": _axis_of_ratings(results.offensiveness),
    }


def _axis_of_pull(pull: Pull | None) -> Axis | None:
    return _axis("difference", [pull.x, *(row.score for row in pull.groups)] if pull else [])


def _axis_of_ratings(found: Offensiveness | None) -> Axis | None:
    if found is None:
        return None
    groups = (row.score for row in found.rated_groups)
    return _axis("offensive", [found.mean_attribute, found.mean_stereotypes, *groups])


def _axis(kind: str, scores: Iterable[Score | None]) -> Axis | None:
    return scaled_axis(kind, [(one.value, one.low, one.high) for one in scores if one is not None])


def _methods(content: Content) -> dict[str, object]:
    by_metric: dict[str, list[StoredRun]] = {}
    for stored in content.runs.shown:
        by_metric.setdefault(stored.metric.name, []).append(stored)
    metrics = []
    for runs in by_metric.values():
        metric = runs[0].metric
        metrics.append((metric, registry.describe_source(metric), registry.describe_interval(metric), runs))
    return {"metrics": metrics, "stereotype_rule": describe_stereotype_rule(content.study)}


def _asked(content: Content, language: str) -> dict[str, object]:
    support: LocalizedText = translated_text(content.study, "support_text", language)
    return {
        "people": content.people,
        "tasks": asked_tasks(content.study, content.runs.answers, language),
        "consent": consent_shown(content.study, language),
        "support": support,
    }


def _images(content: Content, language: str) -> dict[str, object]:
    return {
        "sets": content.sets,
        "with_images": content.with_images,
        "folded": content.study.blur_images,
        "consent": consent_shown(content.study, language),
    }


def shown_figure(drawn: Drawn, size: tuple[int, int]) -> ShownFigure:
    return ShownFigure(drawn.figure, drawn.wanted.name, drawn.file, *size)
