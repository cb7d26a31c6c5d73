"""Pages of the results of a stored file: effect sizes, encoders side by side, the ranking, and figures."""

from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST, require_safe

from annotation import policies
from annotation.core.requests import LoggedIn
from generation.core.access import image_makers_only
from generation.jobs import tasks
from generation.models import IMPORTED
from metrics.core.access import catalogue_readers_only, of_visible_sets
from metrics.core.charts.figure import Figure
from metrics.core.figure_files import figure_context, figure_response
from metrics.core.tables import url_with
from metrics.embedding_tests import figures, services
from metrics.embedding_tests.published_files import published_files
from metrics.embedding_tests.queries import RankingResult, TestResult, TestsRefused
from metrics.embedding_tests.sentences import (
    correlation_in_words,
    effect_in_words,
    mean_in_words,
    names,
    quoted,
)
from metrics.embedding_tests.stats.effects import CORRECTED, VARIANTS
from metrics.embedding_tests.stored import stored_files
from metrics.embedding_tests.tested import (
    EncoderResults,
    Tested,
    by_encoder,
    rankings_by_encoder,
    with_vectors,
)
from metrics.embedding_tests.views.access import stored_file
from metrics.models import EmbeddingTestFile

FILES_PER_PAGE = 30


@catalogue_readers_only
@require_safe
def embedding_tests(request: LoggedIn) -> HttpResponse:
    page = Paginator(of_visible_sets(request, stored_files()), FILES_PER_PAGE).get_page(
        request.GET.get("page")
    )
    context = {
        "page": page,
        "published": published_files().values(),
        "makes": policies.may_make_images(request.user),
    }
    return render(request, "metrics/embedding_tests/embedding_tests.html", context)


@catalogue_readers_only
@require_safe
def embedding_test_file(request: LoggedIn, pk: int) -> HttpResponse:
    """`?variant=published`; `?encoder=ViT-B-32 openai` takes another encoder than the file's."""
    stored, variant = stored_file(request, pk), _variant(request)
    context = _about(request, stored, "tests") | _variants(request, variant)
    template = "metrics/embedding_tests/embedding_test_file.html"
    try:
        one = with_vectors(stored, encoder=request.GET.get("encoder", ""))
        context |= _vectors(one, one.missing())
        if one.missing_of_tests():
            return render(request, template, context)
        results = one.results(variant)
    except TestsRefused as refused:
        return render(request, template, {**context, "refused": str(refused)})
    context["tests"] = [_row(each) for each in results]
    figure = figures.effects_figure(one, results, variant=variant)
    context |= _drawn(figure, pk, figures.EFFECTS, variant=variant, encoder=request.GET.get("encoder", ""))
    return render(request, template, context)


@catalogue_readers_only
@require_safe
def embedding_test_encoders(request: LoggedIn, pk: int) -> HttpResponse:
    """The same tests and ranking with the newest vectors of each encoder of the set."""
    stored, variant = stored_file(request, pk), _variant(request)
    found = by_encoder(stored, variant=variant)
    with_results = [each for each in found if each.results]
    figure = figures.encoders_figure(stored.name, with_results, variant=variant)
    rankings = rankings_by_encoder(stored)
    ranked = next((one.found.groups for one in rankings if one.found), ())
    context = {
        **_about(request, stored, "encoders"),
        **_variants(request, variant),
        "encoders": found,
        "with_results": with_results,
        "by_test": _by_test(with_results),
        "rankings": rankings,
        "ranked_groups": ranked,
        "ranked_columns": len(ranked) + 1,
        **_drawn(figure, pk, figures.ENCODERS, variant=variant),
    }
    return render(request, "metrics/embedding_tests/embedding_test_encoders.html", context)


@catalogue_readers_only
@require_safe
def embedding_test_ranking(request: LoggedIn, pk: int) -> HttpResponse:
    stored = stored_file(request, pk)
    encoder = request.GET.get("encoder", "")
    context = _about(request, stored, "ranking")
    template = "metrics/embedding_tests/embedding_test_ranking.html"
    if not stored.reference:
        return render(request, template, context)
    try:
        one = with_vectors(stored, encoder=encoder)
        context |= _vectors(one, one.missing())
        if one.missing_of_ranking():
            return render(request, template, context)
        found = one.ranking()
    except TestsRefused as refused:
        return render(request, template, {**context, "refused": str(refused)})
    maps = []
    for number, group in enumerate(found.groups, start=1):
        drawn = _drawn(figures.map_figure(one, found, number), pk, f"{figures.MAP}{number}", encoder=encoder)
        maps.append({"group": group, **drawn})
    context |= {
        "found": found,
        "ranking": one.file.ranking,
        "groups": _groups(found),
        "variables": one.variable_correlations(found),
        "points": _drawn(figures.points_figure(one, found), pk, figures.POINTS, encoder=encoder),
        "maps": [each for each in maps if "figure" in each],
    }
    return render(request, template, context)


@catalogue_readers_only
@require_safe
def embedding_test_figure(request: LoggedIn, pk: int, figure: str, fmt: str) -> HttpResponse:
    """The file of a figure of one of these pages; with `?download` the browser saves it."""
    stored, variant = stored_file(request, pk), _variant(request)
    try:
        found = figures.figure_of(stored, figure, variant=variant, encoder=request.GET.get("encoder", ""))
    except TestsRefused as refused:
        raise Http404(str(refused)) from refused
    if found is None:
        raise Http404("There is nothing to draw.")
    return figure_response(request, found, fmt, filename=f"{stored.name}-{figure}")


@image_makers_only
@require_POST
def embed_test_texts(request: LoggedIn, pk: int) -> HttpResponse:
    """Add the texts that a file lacks to the run that embedded the images, and start it."""
    stored = stored_file(request, pk)
    encoder = request.GET.get("encoder", "")
    back = reverse("embedding_test_file", args=[pk]) + (
        f"?{urlencode({'encoder': encoder})}" if encoder else ""
    )
    try:
        one = with_vectors(stored, encoder=encoder)
        run, added = services.embed_texts(run=one.run, texts=one.missing(), by=request.user)
    except (TestsRefused, services.TextsRefused) as refused:
        messages.error(request, str(refused))
        return redirect(back)
    tasks.enqueue(run)
    message = ngettext("%(number)s job is planned.", "%(number)s jobs are planned.", added)
    messages.success(request, message % {"number": added})
    return redirect("run", pk=run.pk)


def _about(request: LoggedIn, stored: EmbeddingTestFile, here: str) -> dict[str, Any]:
    return {
        "stored": stored,
        "page_here": here,
        "encoder": request.GET.get("encoder", ""),
        "makes": policies.may_make_images(request.user),
    }


def _vectors(one: Tested, missing: list[str]) -> dict[str, Any]:
    return {
        "tested": one,
        "run": one.run,
        "imported": one.run.backend == IMPORTED,
        "simulated": one.simulated,
        "missing": missing,
    }


def _variant(request: LoggedIn) -> str:
    variant = request.GET.get("variant", CORRECTED)
    return variant if variant in VARIANTS else CORRECTED


def _variants(request: LoggedIn, variant: str) -> dict[str, Any]:
    return {
        "variant": variant,
        "variants": [(value, url_with(request, variant=value)) for value in VARIANTS],
    }


def _drawn(figure: Figure | None, pk: int, name: str, **query: str) -> dict[str, Any]:
    """The context of a figure; empty without one."""
    if figure is None:
        return {}
    asked = {key: value for key, value in query.items() if value}
    text = f"?{urlencode(asked)}" if asked else ""
    return figure_context(figure, lambda fmt: reverse("embedding_test_figure", args=[pk, name, fmt]) + text)


def _row(each: TestResult) -> dict[str, Any]:
    test = each.test
    texts = quoted([test.target]) if test.target else f"{quoted(test.a)} – {quoted(test.b)}"
    return {
        "test": test,
        "x": names(test.x),
        "y": names(test.y),
        "texts": texts,
        "numbers": each.numbers,
        "q": each.q,
        "problem": each.problem,
        "words": effect_in_words(test, each.numbers) if each.numbers is not None else "",
    }


def _by_test(found: list[EncoderResults]) -> list[tuple[str, list[TestResult]]]:
    """Each test with its result by each encoder. The encoders have the same tests, in one order."""
    columns = zip(*(each.results for each in found), strict=True)
    return [(results[0].test.name, list(results)) for results in columns]


def _groups(found: RankingResult) -> list[dict[str, Any]]:
    rows = []
    for group, correlation in zip(found.groups, found.comparison.groups, strict=True):
        of_group = [row for row in found.rows if row.group == group]
        share = sum(row.share for row in of_group) / len(of_group)
        reference = sum(row.reference for row in of_group) / len(of_group)
        rows.append(
            {
                "group": group,
                "numbers": correlation,
                "share": share,
                "reference": reference,
                "words": correlation_in_words(group, correlation),
                "mean_words": mean_in_words(group, share, reference),
            }
        )
    return rows
