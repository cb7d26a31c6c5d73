"""How the API shows a study and its consent text to somebody who may take part."""

from __future__ import annotations

from django.utils.translation import get_language
from rest_framework import serializers

from annotation.api.resource import Body
from annotation.core.translation import LocalizedText, translated_text
from annotation.models import Study, StudyStatus
from annotation.studies.study_file.texts import TEXTS


class OwnStudySerializer(serializers.Serializer):
    """A study, as somebody who may take part in it sees it."""

    name = serializers.SlugField()
    title = serializers.SerializerMethodField(help_text="In the language asked for, if it is translated.")
    description = serializers.SerializerMethodField(help_text="As the title.")
    status = serializers.ChoiceField(choices=StudyStatus.choices)
    contact = serializers.CharField(help_text="Who to turn to.")
    support_text = serializers.SerializerMethodField(
        help_text="Where people who are upset find help: show it always. As the title."
    )
    languages = serializers.SerializerMethodField(
        help_text="In which language title, description and support_text are."
    )
    blur_images = serializers.BooleanField(help_text="Images are to stay blurred until they are revealed.")
    break_after = serializers.IntegerField(help_text="Minutes after which a break is offered; 0: never.")

    def get_title(self, study: Study) -> str:
        return text_here(study, "title").text

    def get_description(self, study: Study) -> str:
        return text_here(study, "description").text

    def get_support_text(self, study: Study) -> str:
        return text_here(study, "support_text").text

    def get_languages(self, study: Study) -> dict[str, str]:
        return languages_here(study, *TEXTS)


class ConsentTextSerializer(serializers.Serializer):
    """What people agree to, in one language."""

    id = serializers.IntegerField(help_text="What is sent to agree.")
    version = serializers.IntegerField()
    language = serializers.CharField()
    text = serializers.CharField()
    content_warning = serializers.CharField(help_text="To be read first.")


class ConsentSerializer(serializers.Serializer):
    """What taking part means."""

    study = serializers.SlugField()
    title = serializers.CharField()
    description = serializers.CharField()
    languages = serializers.DictField(
        child=serializers.CharField(), help_text="In which language title and description are."
    )
    agreed = serializers.BooleanField(help_text="Whether this account agreed to this version.")
    texts = ConsentTextSerializer(many=True)


class AgreeBody(Body):
    """That somebody agrees."""

    text = serializers.IntegerField(
        min_value=1, max_value=2**63 - 1, help_text="The text that they read: its `id`."
    )


def text_here(study: Study, part: str) -> LocalizedText:
    """A text of the study in the language that is asked for, as far as it is translated."""
    return translated_text(study, part, get_language() or "")


def languages_here(study: Study, *parts: str) -> dict[str, str]:
    """Part -> the language that `text_here` gives it in."""
    return {part: text_here(study, part).language for part in parts}
