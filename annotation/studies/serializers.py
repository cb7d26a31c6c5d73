"""The API's representation of a study, for its leads."""

from rest_framework import serializers

from annotation.models import Intervals, Study, StudyStatus


class StudySerializer(serializers.Serializer):
    """A study, as its leads see it."""

    name = serializers.SlugField(help_text="Used in URLs and commands.")
    title = serializers.CharField(help_text="Shown to people.")
    description = serializers.CharField(help_text="Shown to annotators before they take part.")
    status = serializers.ChoiceField(
        choices=StudyStatus.choices, help_text="draft -> open <-> paused -> closed."
    )
    contact = serializers.CharField(help_text="Whom annotators can write to.")
    leads = serializers.SerializerMethodField(help_text="User names of its leads.")
    simulated = serializers.BooleanField(help_text="Its answers come from a program, not from people.")
    intervals = serializers.ChoiceField(
        choices=Intervals.choices, help_text="How the 95 % intervals of its scores are computed."
    )
    self_enrol = serializers.BooleanField(help_text="Any account can take part without an invitation.")
    created_at = serializers.DateTimeField(help_text="When it was created.")
    opened_at = serializers.DateTimeField(allow_null=True, help_text="When it was first opened.")
    closed_at = serializers.DateTimeField(allow_null=True, help_text="When it was closed.")

    def get_leads(self, study: Study) -> list[str]:
        return sorted(lead.get_username() for lead in study.leads.all())
