"""API of a study's report."""

from django.http import FileResponse
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request

from annotation.api.errors import refusals
from annotation.api.resource import FileResource, Query, file_of
from metrics.core.studies import get_study_or_404
from metrics.report import services
from metrics.report.refused import ReportRefused


class ReportQuery(Query):
    images = serializers.BooleanField(
        default=True, help_text="With smaller copies of images, where the licence of their set allows it."
    )


class Report(FileResource):
    """The stored results of a study as static pages: numbers of stored score runs, and nothing of any single
    person."""

    @extend_schema(
        operation_id="report_read",
        parameters=[ReportQuery],
        responses={
            **file_of("application/zip"),
            409: OpenApiResponse(
                description="There are no stored scores (POST score-runs), too few people answered, or "
                "the scores are not those of the present answers."
            ),
        },
        tags=["scores"],
    )
    def get(self, request: Request, name: str) -> FileResponse:
        study = get_study_or_404(request, name)
        with refusals(ReportRefused, status=409):
            archive = services.write_zip(study=study, with_images=self.query(ReportQuery)["images"])
        return FileResponse(archive, as_attachment=True, filename=f"{study.name}-report.zip")
