"""API of embedding tests: their files, effect sizes, encoders side by side, rankings and figures."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from django.http import Http404
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from annotation import policies
from annotation.api.errors import Conflict, Refused, refusals
from annotation.api.pages import documents_list, filtered_page
from annotation.api.resource import FileResource, Resource, file_of
from generation.jobs import tasks
from metrics.core.access import check_reader, of_visible_sets
from metrics.core.charts.figure import CONTENT_TYPES
from metrics.core.figure_files import api_figure
from metrics.embedding_tests import services
from metrics.embedding_tests.figures import figure_of
from metrics.embedding_tests.queries import TestsRefused
from metrics.embedding_tests.serializers import (
    FILE_FORMATS,
    EmbeddedTextsSerializer,
    EmbeddingRankingSerializer,
    EmbeddingTestFileBody,
    EmbeddingTestFileSerializer,
    EmbeddingTestFilesQuery,
    EmbeddingTestResultsSerializer,
    EmbeddingTestsQuery,
    EncoderOfTestsQuery,
    EncodersSideBySideSerializer,
    OneEmbeddingTestFileSerializer,
    VariantOfTestsQuery,
    encoder_data,
    encoder_ranking_data,
    ranking_data,
    results_data,
)
from metrics.embedding_tests.stored import stored_files
from metrics.embedding_tests.tested import by_encoder, rankings_by_encoder, with_vectors
from metrics.models import EmbeddingTestFile

operation = partial(extend_schema, tags=["embedding tests"])
_NO_VECTORS = {409: OpenApiResponse(description="Vectors of the images or of texts are missing.")}
_NOT_STORED = {
    422: OpenApiResponse(description="Not possible: for example no such image set, or a name twice.")
}


class EmbeddingTestFiles(Resource):
    """Files of embedding tests. Who leads studies sees those about the image sets that these show; who may
    set up studies sees all, and stores them."""

    @documents_list(
        "embedding_test_files_list",
        query=EmbeddingTestFilesQuery,
        row=EmbeddingTestFileSerializer,
        tag="embedding tests",
    )
    def get(self, request: Request) -> Response:
        check_reader(request)
        files = of_visible_sets(request, stored_files())
        return filtered_page(self, files, kind=EmbeddingTestFilesQuery, row=EmbeddingTestFileSerializer)

    @operation(
        operation_id="embedding_test_files_create",
        request=EmbeddingTestFileBody,
        responses={201: OneEmbeddingTestFileSerializer, **_NOT_STORED},
    )
    def post(self, request: Request) -> Response:
        _check_maker(request)
        with _stored():
            made = services.create(**self.body(EmbeddingTestFileBody), by=request.user)
        return Response(OneEmbeddingTestFileSerializer(made).data, status=201)


class OneEmbeddingTestFile(Resource):
    """A file of embedding tests."""

    @operation(operation_id="embedding_test_files_read", responses=OneEmbeddingTestFileSerializer)
    def get(self, request: Request, number: int) -> Response:
        return Response(OneEmbeddingTestFileSerializer(_file(request, number)).data)

    @operation(
        operation_id="embedding_test_files_change",
        request=EmbeddingTestFileBody,
        responses={200: OneEmbeddingTestFileSerializer, **_NOT_STORED},
    )
    def put(self, request: Request, number: int) -> Response:
        _check_maker(request)
        stored = _file(request, number)
        with _stored():
            changed = services.change(stored=stored, **self.body(EmbeddingTestFileBody), by=request.user)
        return Response(OneEmbeddingTestFileSerializer(changed).data)

    @operation(
        operation_id="embedding_test_files_delete",
        responses={204: OpenApiResponse(description="The file is deleted; images and vectors stay.")},
    )
    def delete(self, request: Request, number: int) -> Response:
        _check_maker(request)
        services.delete(stored=_file(request, number), by=request.user)
        return Response(status=204)


class EmbeddingTestResults(Resource):
    """Effect sizes of a file's tests, with 95 % intervals and p."""

    @operation(
        operation_id="embedding_test_files_results",
        parameters=[EmbeddingTestsQuery],
        responses={200: EmbeddingTestResultsSerializer, **_NO_VECTORS},
    )
    def get(self, request: Request, number: int) -> Response:
        stored, query = _file(request, number), self.query(EmbeddingTestsQuery)
        with refusals(TestsRefused):
            one = with_vectors(stored, encoder=query["encoder"])
            _check_embedded(one.missing_of_tests())
            results = one.results(query["variant"])
        data = results_data(one, results, variant=query["variant"])
        return Response(EmbeddingTestResultsSerializer(data).data)


class EmbeddingTestEncoders(Resource):
    """The same tests with the newest vectors of each encoder that has embedded the set."""

    @operation(
        operation_id="embedding_test_files_encoders",
        parameters=[VariantOfTestsQuery],
        responses=EncodersSideBySideSerializer,
    )
    def get(self, request: Request, number: int) -> Response:
        stored, variant = _file(request, number), self.query(VariantOfTestsQuery)["variant"]
        found = by_encoder(stored, variant=variant)
        data = {
            "variant": variant,
            "results": [encoder_data(each) for each in found],
            "rankings": [encoder_ranking_data(each) for each in rankings_by_encoder(stored)],
        }
        return Response(EncodersSideBySideSerializer(data).data)


class EmbeddingTestRanking(Resource):
    """Shares of groups among the images found for each region, against the reference."""

    @operation(
        operation_id="embedding_test_files_ranking",
        parameters=[EncoderOfTestsQuery],
        responses={200: EmbeddingRankingSerializer, **_NO_VECTORS},
    )
    def get(self, request: Request, number: int) -> Response:
        stored, encoder = _file(request, number), self.query(EncoderOfTestsQuery)["encoder"]
        if not stored.reference:
            raise Conflict("This file has no ranking.")
        with refusals(TestsRefused):
            one = with_vectors(stored, encoder=encoder)
            _check_embedded(one.missing_of_ranking())
            found = one.ranking()
        data = ranking_data(one, found, one.variable_correlations(found))
        return Response(EmbeddingRankingSerializer(data).data)


class EmbeddingTestTexts(Resource):
    """The texts that a file needs."""

    @operation(
        operation_id="embedding_test_files_embed",
        description="Embed the texts that the run of the file's vectors lacks, and start it.",
        parameters=[EncoderOfTestsQuery],
        request=None,
        responses={200: EmbeddedTextsSerializer, **_NO_VECTORS},
    )
    def post(self, request: Request, number: int) -> Response:
        _check_maker(request)
        stored, encoder = _file(request, number), self.query(EncoderOfTestsQuery)["encoder"]
        with refusals(TestsRefused, services.TextsRefused):
            one = with_vectors(stored, encoder=encoder)
            run, added = services.embed_texts(run=one.run, texts=one.missing(), by=request.user)
        tasks.enqueue(run)
        return Response(EmbeddedTextsSerializer({"run": run.pk, "added": added}).data)


class EmbeddingTestFigure(FileResource):
    """A figure as a file for a paper, or its numbers as CSV: `effects`, `encoders`, `points` (share against
    reference), or `map-1` and so on (the maps of a group)."""

    @operation(
        operation_id="embedding_test_files_figure",
        parameters=[
            OpenApiParameter("file_format", str, OpenApiParameter.PATH, enum=FILE_FORMATS),
            EmbeddingTestsQuery,
        ],
        responses={
            **file_of(*(kind.partition(";")[0] for kind in CONTENT_TYPES.values())),
            **_NO_VECTORS,
        },
    )
    def get(self, request: Request, number: int, figure: str, file_format: str) -> Response:
        stored = _file(request, number)
        if file_format not in CONTENT_TYPES:
            raise Http404
        query = self.query(EmbeddingTestsQuery)
        with refusals(TestsRefused):
            found = figure_of(stored, figure, **query)
        if found is None:
            raise Http404
        return api_figure(found, file_format, filename=f"{stored.name}-{figure}")


def _check_maker(request: Request) -> None:
    if not policies.may_make_images(request.user):
        raise Http404


def _file(request: Request, number: int) -> EmbeddingTestFile:
    check_reader(request)
    found: EmbeddingTestFile = get_object_or_404(of_visible_sets(request, stored_files()), pk=number)
    return found


def _check_embedded(missing: list[str]) -> None:
    if missing:
        raise Conflict(
            f"{len(missing)} texts are not embedded, such as '{missing[0][:60]}'. Send POST "
            "embedding-test-files/{number}/texts."
        )


@contextmanager
def _stored() -> Iterator[None]:
    """Names the field of a file that is refused."""
    try:
        yield
    except services.FileRefused as refused:
        raise Refused({refused.field: [str(refused)]}) from refused
