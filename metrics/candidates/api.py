"""The API of candidates from language models."""

from functools import partial
from typing import Any

from django.http import Http404
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from annotation import policies
from annotation.api.errors import refusals, refused_form
from annotation.api.pages import documents_list, filtered_page
from annotation.api.resource import Resource
from annotation.core.leases import JobState
from annotation.studies.errors import StudyRefused
from generation.models import Run
from generation.plans import services as plans
from generation.plans.errors import PlanRefused
from generation.plans.plan import Plan
from generation.runs import services as runs
from generation.runs.errors import RunRefused
from metrics.candidates import queries
from metrics.candidates.evaluation import CandidatesRefused, check_run, groups_of
from metrics.candidates.forms import CandidatesForm
from metrics.candidates.identity_forms import IdentityForms
from metrics.candidates.report import report
from metrics.candidates.seeds import pairs_text
from metrics.candidates.serializers import (
    AskingsQuery,
    CandidateAskingsSerializer,
    CandidateListSerializer,
    CandidateSerializer,
    CandidatesPlanBody,
    CandidatesPlannedSerializer,
    CandidatesQuery,
    DryRunQuery,
    StudyBody,
)
from metrics.candidates.services import lists, striking, studies
from metrics.candidates.tasks import enqueue
from metrics.core.serializers import MadeStudySerializer
from metrics.models import Candidate, CandidateList

operation = partial(extend_schema, tags=["candidates"])


class CandidateRuns(Resource):
    """Runs that ask a language model for candidates; for accounts that may set up studies."""

    @operation(
        operation_id="candidates_plan",
        description="Plan a run that asks for candidates. Start it with POST runs/{number}/start. The same "
        "plan again gives the same run. With `dry_run=true` nothing is written.",
        parameters=[DryRunQuery],
        request=CandidatesPlanBody,
        responses={
            200: OpenApiResponse(CandidatesPlannedSerializer, "What the plan would ask (`dry_run`)."),
            201: OpenApiResponse(CandidatesPlannedSerializer, "The planned run."),
            409: OpenApiResponse(description="There is another run of this name."),
            422: OpenApiResponse(description="Not possible: for example an unknown identity or backend."),
        },
    )
    def post(self, request: Request) -> Response:
        _check_account(request)
        dry_run = self.query(DryRunQuery)["dry_run"] == "true"
        plan = _plan(self.body(CandidatesPlanBody))
        preview = plans.preview(plan)
        run = preview.run
        if not dry_run:
            with refusals(RunRefused, StudyRefused, PlanRefused):
                run = runs.ensure(plan=plan, by=request.user).run
        return Response(
            CandidatesPlannedSerializer({**vars(preview), "run": run}).data, status=200 if dry_run else 201
        )


def _plan(body: dict[str, Any]) -> Plan:
    """The plan of a request's body, by the page's form. Raises Refused."""
    data = dict(body)
    if pairs := data.pop("pairs", None):
        data["pairs"] = pairs_text((pair["identity"], pair["attribute"]) for pair in pairs)
    defaults = CandidatesForm().initial
    form = CandidatesForm({**defaults, **{name: value for name, value in data.items() if value is not None}})
    plan = form.plan() if form.is_valid() else None
    if plan is None:
        raise refused_form(form)
    return plan


class OneCandidateList(Resource):
    """The list of candidates of a run, and what each rule of extraction found."""

    @operation(
        operation_id="candidates_read",
        responses={
            200: CandidateListSerializer,
            404: OpenApiResponse(description="The answers of the run were not read yet."),
        },
    )
    def get(self, request: Request, number: int) -> Response:
        return Response(_list_data(_list(request, number)))

    @operation(
        operation_id="candidates_find",
        description="Let a worker read the answers, unless they were read as they are now. A list that "
        "failed is tried again.",
        request=None,
        responses={
            202: OpenApiResponse(CandidateListSerializer, "A worker will read the answers."),
            200: OpenApiResponse(CandidateListSerializer, "The candidates of these answers are here."),
        },
    )
    def post(self, request: Request, number: int) -> Response:
        run = _run(request, number)
        lists.retry(run=run)
        found = lists.request(run=run)
        enqueue(found)
        return Response(_list_data(found), status=200 if found.state == JobState.DONE else 202)


def _list_data(found: CandidateList) -> Any:
    done = found.state == JobState.DONE
    data = {
        "list": found,
        "stale": lists.is_stale(found),
        "report": [line._asdict() for line in report(found.rules)] if done else [],
    }
    return CandidateListSerializer(data).data


class Candidates(Resource):
    """The candidates of a run."""

    @documents_list("candidates_list", query=CandidatesQuery, row=CandidateSerializer, tag="candidates")
    def get(self, request: Request, number: int) -> Response:
        found = _list(request, number)
        rows = found.candidates.select_related("group")
        if found.state != JobState.DONE:
            rows = rows.none()
        return filtered_page(self, queries.with_struck(rows), kind=CandidatesQuery, row=CandidateSerializer)


class OneCandidate(Resource):
    """The askings whose answers gave a candidate."""

    @operation(operation_id="candidate_read", parameters=[AskingsQuery], responses=CandidateAskingsSerializer)
    def get(self, request: Request, number: int, candidate: int) -> Response:
        one = _candidate(request, number, candidate)
        forms = IdentityForms(groups_of(one.candidate_list.axis))
        found = queries.askings_of(one, forms, after=self.query(AskingsQuery)["after"])
        data = {"candidate": one, "answers": found.answers, "after": found.after}
        return Response(CandidateAskingsSerializer(data).data)


class Struck(Resource):
    """Whether a candidate is struck out."""

    @operation(
        operation_id="candidate_strike",
        description="Strike the candidate out: it does not go into a study.",
        request=None,
        responses={204: OpenApiResponse(description="It is struck out.")},
    )
    def put(self, request: Request, number: int, candidate: int) -> Response:
        striking.strike(candidates=[_candidate(request, number, candidate)], by=request.user)
        return Response(status=204)

    @operation(
        operation_id="candidate_restore",
        description="Take back that the candidate was struck out.",
        responses={204: OpenApiResponse(description="It is not struck out.")},
    )
    def delete(self, request: Request, number: int, candidate: int) -> Response:
        striking.restore(candidates=[_candidate(request, number, candidate)], by=request.user)
        return Response(status=204)


class CandidatesStudy(Resource):
    """From candidates to a prevalence study."""

    @operation(
        operation_id="candidates_study",
        description="Store the selected candidates that are not struck out as a source without votes, and "
        "create the draft of a study that asks three in-region and three out-region annotators about each.",
        request=StudyBody,
        responses={
            201: MadeStudySerializer,
            409: OpenApiResponse(description="The name is taken, or no candidate remains."),
        },
    )
    def post(self, request: Request, number: int) -> Response:
        found = _list(request, number)
        with refusals(CandidatesRefused):
            study = studies.open_study(found=found, name=self.body(StudyBody)["name"], by=request.user)
        return Response(MadeStudySerializer(study).data, status=201)


def _check_account(request: Request) -> None:
    if not policies.may_make_images(request.user):
        raise Http404


def _run(request: Request, number: int) -> Run:
    """A run of completions; Http404 for other runs, and for accounts that may not see them."""
    _check_account(request)
    run = get_object_or_404(Run, pk=number)
    try:
        check_run(run)
    except CandidatesRefused as refused:
        raise Http404 from refused
    return run


def _list(request: Request, number: int) -> CandidateList:
    return get_object_or_404(CandidateList.objects.select_related("run"), run=_run(request, number))


def _candidate(request: Request, number: int, pk: int) -> Candidate:
    rows = queries.with_struck(Candidate.objects.select_related("group", "candidate_list__run"))
    return get_object_or_404(rows, candidate_list__run=_run(request, number), pk=pk)
