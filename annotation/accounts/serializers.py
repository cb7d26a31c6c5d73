"""People as admins see them: with names and pseudonyms."""

from __future__ import annotations

from rest_framework import serializers

from annotation.accounts.queries.accounts import Person
from annotation.api.resource import Body
from annotation.models import EnrolmentStatus


class PersonEnrolmentSerializer(serializers.Serializer):
    """A person's enrolment in a study."""

    study = serializers.SlugField(source="enrolment.study.name")
    status = serializers.ChoiceField(choices=EnrolmentStatus.choices, source="enrolment.status")
    joined_at = serializers.DateTimeField(source="enrolment.joined_at")
    answered = serializers.IntegerField(source="enrolment.answered", help_text="Units answered.")
    held = serializers.IntegerField(help_text="Items in progress: leased and not answered yet.")
    last_seen = serializers.DateTimeField(allow_null=True)


class PersonAccountSerializer(serializers.Serializer):
    """A person's account."""

    username = serializers.CharField()
    full_name = serializers.CharField(source="get_full_name")
    email = serializers.CharField()
    active = serializers.BooleanField(source="is_active", help_text="false: switched off.")
    admin = serializers.BooleanField(source="is_superuser", help_text="Can do everything.")
    has_password = serializers.BooleanField(
        source="has_usable_password", help_text="false: they log in by a link."
    )
    last_login = serializers.DateTimeField(allow_null=True)


class PersonDetailsSerializer(serializers.Serializer):
    """An account, an annotator, or both."""

    who = serializers.CharField(
        help_text="Their key: u7 is account 7; a5 is annotator 5, who has no account."
    )
    account = PersonAccountSerializer(source="user", allow_null=True)
    pseudonym = serializers.CharField(
        source="annotator.pseudonym", allow_null=True, default=None, help_text="null: not an annotator."
    )
    simulated = serializers.BooleanField(source="annotator.simulated", default=False)
    creates_studies = serializers.BooleanField(
        source="may_create_studies",
        help_text="Has the permission to set up studies. Admins do not need it.",
    )
    leads = serializers.SerializerMethodField(help_text="The studies that they lead, by name.")
    parts = PersonEnrolmentSerializer(many=True, source="enrolments", help_text="Their enrolments.")
    last_seen = serializers.DateTimeField(allow_null=True)

    def get_leads(self, person: Person) -> list[str]:
        return [study.name for study in person.leads]


class RolesBody(Body):
    """The changes. A field that is left out stays as it is."""

    active = serializers.BooleanField(
        required=False, help_text="false: logged out everywhere, tokens revoked, items in progress released."
    )
    admin = serializers.BooleanField(required=False, help_text="Can do everything.")
    creates_studies = serializers.BooleanField(required=False, help_text="Can set up studies.")


class PasswordLinkSerializer(serializers.Serializer):
    """A password reset link."""

    url = serializers.URLField(help_text="Anybody who opens it within three days can set a password, once.")


class PersonActionSerializer(serializers.Serializer):
    """The result of an action."""

    person = PersonDetailsSerializer()
    changed = serializers.IntegerField(help_text="How many studies or items it changed.")
