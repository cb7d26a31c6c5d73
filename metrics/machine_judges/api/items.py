"""API of people and a machine judge item by item, and of the judge's answers as a file."""

from typing import Any

import numpy as np
from django.core.paginator import Paginator
from django.http import StreamingHttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api.resource import FileResource, Query, Resource, file_of
from metrics.core.answers import has_simulated_answers
from metrics.core.serializers import MAX_ID, AttributeRefSerializer, GroupRefSerializer
from metrics.core.studies import get_study_or_404
from metrics.machine_judges.answers_csv import answers_response
from metrics.machine_judges.parsing import Problem
from metrics.machine_judges.queries import items
from metrics.machine_judges.queries.item_rows import ItemRow, item_rows

TAGS = ["machine judges"]
MOST = 100


class JudgeItemsQuery(Query):
    group = serializers.IntegerField(
        required=False, min_value=1, max_value=MAX_ID, help_text="Items of this identity group."
    )
    attribute = serializers.IntegerField(
        required=False, min_value=1, max_value=MAX_ID, help_text="Items of this attribute."
    )
    region = serializers.CharField(
        default="", allow_blank=True, max_length=200, help_text="Items of the groups of this region."
    )
    differ = serializers.BooleanField(
        default=False, help_text="Only items where a person's answer is not the judge's."
    )
    page = serializers.IntegerField(default=1, min_value=1, max_value=10**9)
    limit = serializers.IntegerField(
        default=items.PER_PAGE, min_value=1, max_value=MOST, help_text=f"Items of a page, at most {MOST}."
    )


class LabelCountSerializer(serializers.Serializer[Any]):
    """How many people chose a label, and how many of the judge's answers to the item as people see it."""

    value = serializers.IntegerField()
    label = serializers.CharField(source="name")
    people = serializers.IntegerField()
    judge = serializers.IntegerField()


class JudgedVariantSerializer(serializers.Serializer[Any]):
    """The judge's most frequent answer in one variant: `alike` of its `samples`."""

    variant = serializers.CharField(help_text="base: as people are asked.")
    value = serializers.IntegerField()
    label = serializers.CharField(source="name")
    alike = serializers.IntegerField()
    samples = serializers.IntegerField()


class RawAnswerSerializer(serializers.Serializer[Any]):
    """An answer as the judge gave it."""

    variant = serializers.CharField()
    sample = serializers.IntegerField()
    text = serializers.CharField(allow_blank=True, help_text="Its beginning.")
    length = serializers.IntegerField(help_text="Characters of the whole answer.")
    ended = serializers.CharField(allow_blank=True)
    problem = serializers.ChoiceField(
        choices=[each.value for each in Problem], allow_null=True, help_text="Why it cannot be used."
    )


class PeopleBoxSerializer(serializers.Serializer[Any]):
    """A box that a person drew. The letter tells people apart within this item only."""

    by = serializers.CharField(source="annotator.letter")
    x0 = serializers.FloatField(source="rect.x")
    y0 = serializers.FloatField(source="rect.y")
    width = serializers.FloatField(source="rect.width")
    height = serializers.FloatField(source="rect.height")


class JudgeBoxSerializer(serializers.Serializer[Any]):
    """A box of the judge."""

    x0 = serializers.FloatField(source="x")
    y0 = serializers.FloatField(source="y")
    width = serializers.FloatField()
    height = serializers.FloatField()


class JudgeItemSerializer(serializers.Serializer[Any]):
    """An item. People are counted, never named."""

    unit = serializers.IntegerField(source="option.unit.position", help_text="Its position in the task.")
    image = serializers.IntegerField(
        source="option.unit.image_id", allow_null=True, help_text="Its file: images/{number}/file."
    )
    statement = serializers.CharField(allow_blank=True, help_text="Of an item without an image.")
    group = GroupRefSerializer(allow_null=True)
    region = serializers.CharField(allow_blank=True)
    attribute = AttributeRefSerializer(source="option.attribute")
    people = serializers.IntegerField(help_text="How many people answered.")
    differing = serializers.IntegerField(help_text="How many of them answered differently from the judge.")
    disagreement = serializers.FloatField(
        allow_null=True,
        help_text="Share of answers that differ, or on a scale their mean distance from the judge's, divided "
        "by the longest; Unsure is half of that away from all others. Null without people.",
    )
    labels = LabelCountSerializer(many=True)
    judge = JudgedVariantSerializer(many=True, source="said")
    judge_whole_image = serializers.BooleanField(source="whole")
    judge_boxes = JudgeBoxSerializer(many=True, source="boxes")
    people_boxes = serializers.SerializerMethodField()
    judge_answers = RawAnswerSerializer(many=True, source="answers")

    def get_people_boxes(self, row: ItemRow) -> list[dict[str, Any]]:
        boxes = row.picture.boxes if row.picture else []
        return list(PeopleBoxSerializer(boxes, many=True).data)


class JudgeItemsSerializer(serializers.Serializer[Any]):
    """A page of items, the most disagreement first."""

    judge = serializers.CharField(help_text="Name of the run.")
    simulated = serializers.BooleanField(help_text="Whether some answers were simulated by a program.")
    total = serializers.IntegerField(help_text="Items that match.")
    page = serializers.IntegerField()
    pages = serializers.IntegerField()
    results = JudgeItemSerializer(many=True)


class JudgeItems(Resource):
    """The items that a machine judge answered, with what people answered. A page beyond the last is the
    last."""

    @extend_schema(
        operation_id="judge_items_list",
        parameters=[JudgeItemsQuery],
        responses=JudgeItemsSerializer,
        tags=TAGS,
    )
    def get(self, request: Request, name: str, number: int) -> Response:
        study = get_study_or_404(request, name)
        params = self.query(JudgeItemsQuery)
        judge = items.answered_judge_or_404(study, number)
        filters = items.ItemFilters(
            group=params.get("group", 0),
            attribute=params.get("attribute", 0),
            region=params["region"],
            differ=params["differ"],
        )
        ranked = items.ranking(judge)
        chosen = items.matching(judge, ranked, filters)
        page = Paginator(chosen, params["limit"]).get_page(params["page"])
        data = {
            "judge": judge.run.name,
            "simulated": has_simulated_answers(study),
            "total": page.paginator.count,
            "page": page.number,
            "pages": page.paginator.num_pages,
            "results": item_rows(judge, ranked, np.asarray(page.object_list)),
        }
        return Response(JudgeItemsSerializer(data).data)


class JudgeAnswers(FileResource):
    """All answers of a machine judge as CSV: one judgement a row. The first column says which judge's."""

    @extend_schema(operation_id="judge_answers", responses=file_of("text/csv"), tags=TAGS)
    def get(self, request: Request, name: str, number: int) -> StreamingHttpResponse:
        return answers_response(get_study_or_404(request, name), number)
