"""How people are told of to admins: with names and pseudonyms."""

from __future__ import annotations

from rest_framework import serializers

from annotation.accounts.queries.accounts import Person
from annotation.api.resource import Body
from annotation.models import EnrolmentStatus


class PersonEnrolmentSerializer(serializers.Serializer):
    """A study that somebody takes part in."""

    study = serializers.SlugField(source="enrolment.study.name")
    status = serializers.ChoiceField(choices=EnrolmentStatus.choices, source="enrolment.status")
    joined_at = serializers.DateTimeField(source="enrolment.joined_at")
    answered = serializers.IntegerField(source="enrolment.answered", help_text="Units answered.")
    held = serializers.IntegerField(help_text="Items in their hands now.")
    last_seen = serializers.DateTimeField(allow_null=True)


class PersonAccountSerializer(serializers.Serializer):
    """The account of a person."""

    username = serializers.CharField()
    full_name = serializers.CharField(source="get_full_name")
    email = serializers.CharField()
    active = serializers.BooleanField(source="is_active", help_text="false: switched off.")
    admin = serializers.BooleanField(source="is_superuser", help_text="May do everything.")
    has_password = serializers.BooleanField(
        source="has_usable_password", help_text="false: they come by a link."
    )
    last_login = serializers.DateTimeField(allow_null=True)


class PersonDetailsSerializer(serializers.Serializer):
    """An account, an annotator, or both of one person."""

    who = serializers.CharField(
        help_text="How they are named here: u7 is account 7; a5 is annotator 5, who has none."
    )
    account = PersonAccountSerializer(source="user", allow_null=True)
    pseudonym = serializers.CharField(
        source="annotator.pseudonym", allow_null=True, default=None, help_text="null: no annotator."
    )
    simulated = serializers.BooleanField(source="annotator.simulated", default=False)
    creates_studies = serializers.BooleanField(
        source="sets_up", help_text="Was allowed to set up studies; admins need no leave."
    )
    leads = serializers.SerializerMethodField(help_text="Names of the studies that they lead.")
    parts = PersonEnrolmentSerializer(many=True)
    last_seen = serializers.DateTimeField(allow_null=True)

    def get_leads(self, person: Person) -> list[str]:
        return [study.name for study in person.leads]


class RolesBody(Body):
    """What is to change; what is left out stays."""

    active = serializers.BooleanField(
        required=False, help_text="false: logged out everywhere, tokens ended, items given to others."
    )
    admin = serializers.BooleanField(required=False, help_text="Sees and does everything.")
    creates_studies = serializers.BooleanField(required=False, help_text="May set up studies of their own.")


class PasswordLinkSerializer(serializers.Serializer):
    """A way to a new password."""

    url = serializers.URLField(help_text="Whoever opens it can set a password, once, within three days.")


class PersonActionSerializer(serializers.Serializer):
    """What was done."""

    person = PersonDetailsSerializer()
    changed = serializers.IntegerField(help_text="In how many studies, or for how many items; 0: none.")
