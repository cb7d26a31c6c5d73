"""How the API shows a study to those who lead it."""

from __future__ import annotations

from rest_framework import serializers

from annotation.models import Study, StudyStatus


class StudySerializer(serializers.Serializer):
    """A study, as who leads it sees it."""

    name = serializers.SlugField(help_text="By which addresses know it.")
    title = serializers.CharField(help_text="What people call it.")
    description = serializers.CharField(help_text="What annotators read before they take part.")
    status = serializers.ChoiceField(
        choices=StudyStatus.choices, help_text="draft -> open <-> paused -> closed."
    )
    contact = serializers.CharField(help_text="Who annotators can turn to.")
    leads = serializers.SerializerMethodField(help_text="Accounts that lead it.")
    simulated = serializers.BooleanField(help_text="Its answers were made by a program, not by people.")
    self_enrol = serializers.BooleanField(help_text="Any account may take part, invited or not.")
    created_at = serializers.DateTimeField(help_text="When it was made.")
    opened_at = serializers.DateTimeField(allow_null=True, help_text="When it was first opened.")
    closed_at = serializers.DateTimeField(allow_null=True, help_text="When it was closed.")

    def get_leads(self, study: Study) -> list[str]:
        return sorted(lead.get_username() for lead in study.leads.all())
