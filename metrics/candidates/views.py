"""Pages: runs with candidates, planning one, its candidates, and the askings of a candidate."""

from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.core.leases import JobState
from annotation.core.requests import LoggedIn
from generation.core.access import image_makers_only
from generation.models import Run
from generation.runs.planning_page import preview_or_start
from metrics.candidates import queries
from metrics.candidates.evaluation import CandidatesRefused, check_run, groups_of
from metrics.candidates.forms import CandidatesForm
from metrics.candidates.identity_forms import IdentityForms
from metrics.candidates.report import report
from metrics.candidates.services import lists, striking, studies
from metrics.candidates.tasks import enqueue
from metrics.core.drafts import to_draft
from metrics.core.tables import parse_id
from metrics.models import Candidate, CandidateList

PER_PAGE = 100
RUNS_PER_PAGE = 30


@image_makers_only
@require_safe
def candidate_runs(request: LoggedIn) -> HttpResponse:
    """All runs of completions, whose answers may hold candidates."""
    page = Paginator(queries.completion_runs(), RUNS_PER_PAGE).get_page(request.GET.get("page"))
    return render(request, "metrics/candidates/runs.html", {"page": page, "here": "candidates"})


@image_makers_only
@require_http_methods(["GET", "HEAD", "POST"])
def plan_candidates(request: LoggedIn) -> HttpResponse:
    """GET shows the form; POST shows the preview, and with `start` plans and starts the previewed run."""
    context: dict[str, Any] = {"here": "candidates"}
    form = CandidatesForm(request.POST, request.FILES) if request.method == "POST" else CandidatesForm()
    if form.is_bound:
        started, previewed = preview_or_start(request, form)
        if started is not None:
            return redirect("run", pk=started.pk)
        context |= previewed
    context["form"] = form
    return render(request, "metrics/candidates/plan.html", context, status=422 if form.errors else 200)


@image_makers_only
@require_safe
def candidates(request: LoggedIn, pk: int) -> HttpResponse:
    """The groups of a run's list; `?group=7` shows the candidates of a group, `?all` also those that were not
    selected."""
    run = _run_or_404(pk)
    found = CandidateList.objects.filter(run=run).select_related("run").first()
    context: dict[str, Any] = {"run": run, "list": found, "here": "candidates"}
    if found is None or found.state != JobState.DONE:
        return render(request, "metrics/candidates/candidates.html", context)
    groups = queries.group_rows(found)
    chosen = parse_id(request.GET.get("group", "")) or (groups[0].group.pk if groups else 0)
    group = next((row for row in groups if row.group.pk == chosen), None)
    if groups and group is None:
        raise Http404
    rows = queries.with_struck(found.candidates.filter(group=chosen))
    if "all" not in request.GET:
        rows = rows.filter(selected=True)
    page = Paginator(rows.order_by("-salience", "-count", "attribute"), PER_PAGE).get_page(
        request.GET.get("page")
    )
    shown = list(page.object_list)
    struck = queries.struck_by(run, shown)
    context |= {
        "stale": lists.is_stale(found),
        "report": report(found.rules),
        "groups": groups,
        "group": group,
        "page": page,
        "rows": [(row, struck.get((row.group_id, row.attribute))) for row in shown],
        "all": "all" in request.GET,
        "query": f"group={chosen}&{'all&' if 'all' in request.GET else ''}",
        "selected": sum(row.selected for row in groups),
        "remaining": sum(row.selected - row.struck for row in groups),
        "studies": queries.studies_made(run, request.user),
        "study_name": f"candidates-{run.name.lower()}"[:80],
    }
    return render(request, "metrics/candidates/candidates.html", context)


@image_makers_only
@require_safe
def candidate(request: LoggedIn, pk: int, candidate: int) -> HttpResponse:
    """The askings whose answers gave a candidate; `?after` goes on after an asking."""
    run = _run_or_404(pk)
    one = get_object_or_404(
        Candidate.objects.select_related("group", "candidate_list__run"),
        pk=candidate,
        candidate_list__run=run,
    )
    forms = IdentityForms(groups_of(one.candidate_list.axis))
    askings = queries.askings_of(one, forms, after=parse_id(request.GET.get("after", "")))
    context = {"run": run, "candidate": one, "askings": askings, "here": "candidates"}
    return render(request, "metrics/candidates/candidate.html", context)


@image_makers_only
@require_POST
def candidate_action(request: LoggedIn, pk: int, action: str) -> HttpResponse:
    """Find the candidates (again), strike some out or restore them, or open the study."""
    run = _run_or_404(pk)
    back = reverse("candidates", args=[pk])
    try:
        if action == "find":
            lists.retry(run=run)
            found = lists.request(run=run)
            enqueue(found)
        elif action in ("strike", "restore"):
            chosen = [parse_id(each) for each in request.POST.getlist("candidate")]
            rows = Candidate.objects.filter(candidate_list__run=run, pk__in=chosen)
            change = striking.strike if action == "strike" else striking.restore
            change(candidates=rows.select_related("candidate_list__run"), by=request.user)
            query = request.POST.get("query", "").rstrip("&")
            back += f"?{query}" if query.replace("=", "").replace("&", "").isalnum() else ""
        elif action == "study":
            found = get_object_or_404(CandidateList.objects.select_related("run"), run=run)
            study = studies.open_study(found=found, name=request.POST.get("name", ""), by=request.user)
            return to_draft(request, study)
        else:
            raise Http404
    except CandidatesRefused as refused:
        messages.error(request, str(refused))
    return redirect(back)


def _run_or_404(pk: int) -> Run:
    run = get_object_or_404(Run, pk=pk)
    try:
        check_run(run)
    except CandidatesRefused as refused:
        raise Http404 from refused
    return run
