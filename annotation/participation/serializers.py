"""A study and its consent text, as the API shows them to somebody who may take part."""

from __future__ import annotations

from django.utils.translation import get_language
from rest_framework import serializers

from annotation.api.resource import Body
from annotation.core.translation import LocalizedText, translated_text
from annotation.models import Study, StudyStatus
from annotation.studies.study_file.texts import TRANSLATABLE_TEXTS


class OwnStudySerializer(serializers.Serializer):
    """A study, as somebody who may take part in it sees it."""

    name = serializers.SlugField()
    title = serializers.SerializerMethodField(help_text="In the requested language, if it is translated.")
    description = serializers.SerializerMethodField(help_text="In the same language as the title.")
    status = serializers.ChoiceField(choices=StudyStatus.choices)
    contact = serializers.CharField(help_text="Whom participants can write to.")
    support_text = serializers.SerializerMethodField(
        help_text="Where people who are upset find help. Show it always. Translated like the title."
    )
    languages = serializers.SerializerMethodField(
        help_text="The languages of title, description and support_text."
    )
    blur_images = serializers.BooleanField(help_text="Blur images until they are revealed.")
    break_after = serializers.IntegerField(help_text="Minutes after which a break is offered; 0: never.")

    def get_title(self, study: Study) -> str:
        return localized_text(study, "title").text

    def get_description(self, study: Study) -> str:
        return localized_text(study, "description").text

    def get_support_text(self, study: Study) -> str:
        return localized_text(study, "support_text").text

    def get_languages(self, study: Study) -> dict[str, str]:
        return text_languages(study, *TRANSLATABLE_TEXTS)


class ConsentTextSerializer(serializers.Serializer):
    """The consent text in one language."""

    id = serializers.IntegerField(help_text="Send this id to agree.")
    version = serializers.IntegerField()
    language = serializers.CharField()
    text = serializers.CharField()
    content_warning = serializers.CharField(help_text="Show it before the text.")


class ConsentSerializer(serializers.Serializer):
    """What somebody agrees to by taking part."""

    study = serializers.SlugField()
    title = serializers.CharField()
    description = serializers.CharField()
    languages = serializers.DictField(
        child=serializers.CharField(), help_text="The languages of title and description."
    )
    agreed = serializers.BooleanField(help_text="Whether this account agreed to this version.")
    texts = ConsentTextSerializer(many=True)


class AgreeBody(Body):
    """Consent to a study."""

    text = serializers.IntegerField(
        min_value=1, max_value=2**63 - 1, help_text="The `id` of the text that they read."
    )


def localized_text(study: Study, field: str) -> LocalizedText:
    """A text of the study in the requested language, or as it was written if it is not translated."""
    return translated_text(study, field, get_language() or "")


def text_languages(study: Study, *fields: str) -> dict[str, str]:
    """Field -> the language in which `localized_text` returns it."""
    return {field: localized_text(study, field).language for field in fields}
