"""Request bodies that plan what models are asked for associations, one for each modality."""

from collections.abc import Mapping

from rest_framework import serializers

from annotation.api.resource import Body
from annotation.models import Axis
from generation.runs.bodies import DescriptionsRunBody, ImagesRunBody, TextRunBody
from metrics.associations.askings import Modality, settings_of
from metrics.associations.list_form import CATALOGUE, OWN, STARTER
from metrics.associations.prompts import Instruction


def _settings(modality: Modality) -> serializers.ListField:
    names = [setting.value for setting in settings_of(modality)]
    return serializers.ListField(
        child=serializers.ChoiceField(names), required=False, min_length=1, help_text="Default: all."
    )


def _number_of_people() -> serializers.ChoiceField:
    names = [setting.value for setting in settings_of(Modality.T2I)]
    return serializers.ChoiceField(
        names, required=False, help_text="Whether the images show one person or several. Default: one."
    )


class WordingBody(Body):
    """Missing fields have the defaults of the page's form."""

    wording = serializers.CharField(
        required=False,
        allow_blank=True,
        max_length=200_000,
        help_text="TOML: a table for each prompt that is not as it ships, with all of its fields.",
    )


class ListBody(WordingBody):
    source = serializers.ChoiceField(
        [STARTER, CATALOGUE, OWN],
        required=False,
        help_text="The list that ships (default), the catalogue's groups, or `descriptors`.",
    )
    descriptors = serializers.CharField(
        required=False,
        allow_blank=True,
        max_length=2_000_000,
        help_text="With the source `own`: the text of a CSV file such as dimension,singular,plural,article.",
    )
    dimensions = serializers.ListField(
        child=serializers.ChoiceField(Axis.choices),
        required=False,
        help_text="Default: all nine.",
    )


class WordsBody(ListBody, TextRunBody):
    """T2T: words that a language model completes."""

    modality = serializers.ChoiceField(["t2t"])
    prompts = None
    settings = _settings(Modality.T2T)


class DescriptorImagesBody(ListBody, ImagesRunBody):
    """Images of descriptors, to be described."""

    modality = serializers.ChoiceField(["images"])
    kind = prompts = study = groups = None
    setting = _number_of_people()


class DescribedBody(WordingBody, DescriptionsRunBody):
    """T2I: descriptions of the images of a set."""

    modality = serializers.ChoiceField(["t2i"])
    kind = prompts = None
    setting = _number_of_people()
    instruction = serializers.ChoiceField(
        [each.value for each in Instruction], required=False, help_text="Default: straightforward."
    )


class InterpretedBody(WordingBody, DescriptionsRunBody):
    """I2T: what a model sees in the images of a set."""

    modality = serializers.ChoiceField(["i2t"])
    kind = prompts = None
    settings = _settings(Modality.I2T)


BODIES: Mapping[str, type[WordingBody]] = {
    "t2t": WordsBody,
    "images": DescriptorImagesBody,
    "t2i": DescribedBody,
    "i2t": InterpretedBody,
}
