"""Request bodies and responses of the API of brightness."""

from collections.abc import Mapping
from typing import Any

from rest_framework import serializers

from annotation.api.pages import list_query
from annotation.api.resource import Body
from generation.models import RunState
from generation.runs.serializers import RunSerializer
from metrics.brightness.queries import Results, Row
from metrics.core.charts.figure import CONTENT_TYPES
from metrics.core.numbers import finite

FILE_FORMATS = tuple(CONTENT_TYPES)
BrightnessRunsQuery = list_query(
    "BrightnessRuns",
    orders={"created_at": "created_at"},
    default="-created_at",
    state=serializers.ChoiceField(RunState.choices, required=False),
)


class BrightnessRunBody(Body):
    """Missing fields have the defaults of the page's form."""

    image_set = serializers.SlugField(max_length=80, help_text="The image set, by name.")
    crop = serializers.CharField(
        required=False,
        max_length=80,
        help_text="published (default), centre, whole, or left, top, right and bottom as shares: "
        "0.4,0.3,0.6,0.4.",
    )
    faces = serializers.BooleanField(required=False, help_text="Look for faces. Default: true.")
    name = serializers.SlugField(
        required=False, max_length=80, help_text="Of the run. Default: from image set and crop."
    )


class BrightnessRowSerializer(serializers.Serializer[Any]):
    """One group, at one strength if its images were made from images. Null: undefined, or no interval."""

    group = serializers.CharField()
    strength = serializers.FloatField(allow_null=True)
    n = serializers.IntegerField(help_text="Images.")
    rgb = serializers.FloatField(help_text="Mean RGB brightness of the crop, 0 to 255.")
    rgb_low = serializers.FloatField(allow_null=True)
    rgb_high = serializers.FloatField(allow_null=True)
    lightness = serializers.FloatField(help_text="Mean L*, 0 to 100.")
    ita = serializers.FloatField(allow_null=True, help_text="Mean individual typology angle, in degrees.")
    with_ita = serializers.IntegerField(help_text="Images that have an angle.")
    faces = serializers.IntegerField(help_text="Images whose L* and ITA are of the skin in a face.")
    change = serializers.FloatField(
        allow_null=True, help_text="Of the mean brightness, in per cent, against the initial images."
    )
    change_low = serializers.FloatField(allow_null=True)
    change_high = serializers.FloatField(allow_null=True)
    compared = serializers.IntegerField(help_text="Images whose initial image is measured.")


def row_data(row: Row) -> dict[str, Any]:
    """The data of BrightnessRowSerializer."""
    return {
        "group": row.group,
        "strength": row.strength,
        "n": row.n,
        "rgb": row.rgb.value,
        "rgb_low": finite(row.rgb.low),
        "rgb_high": finite(row.rgb.high),
        "lightness": row.lightness,
        "ita": row.ita,
        "with_ita": row.with_ita,
        "faces": row.faces,
        "change": finite(row.change.value),
        "change_low": finite(row.change.low),
        "change_high": finite(row.change.high),
        "compared": row.compared,
    }


class CropNoteSerializer(serializers.Serializer[Any]):
    """Why L* and ITA of so many images are of the crop."""

    note = serializers.CharField()
    images = serializers.IntegerField()


class BrightnessResultsSerializer(serializers.Serializer[Any]):
    """What is measured so far. RGB brightness is no measure of skin tone."""

    run = RunSerializer()
    drawn = serializers.BooleanField(help_text="The set holds drawn pictures, not a model's output.")
    crop = serializers.CharField()
    results = BrightnessRowSerializer(many=True)
    notes = CropNoteSerializer(many=True)
    made = serializers.IntegerField(help_text="Images that were made from images.")
    not_compared = serializers.IntegerField(
        help_text="Those of them whose initial image is not measured with this crop."
    )
    missing = serializers.ListField(
        child=serializers.CharField(), help_text="Image sets to measure first, for the change."
    )


def results_data(found: Results) -> Mapping[str, Any]:
    """The part of BrightnessResultsSerializer that is of the results."""
    return {
        "results": [row_data(row) for row in found.rows],
        "notes": [{"note": note, "images": images} for note, images in found.notes],
        "made": found.made,
        "not_compared": found.not_compared,
        "missing": [each.name for each in found.missing],
    }
