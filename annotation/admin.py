"""Django's admin site, for a few tables only; the program's own pages do the rest.

Answers and everything that services decide are left out. Nothing can be deleted here: other rows refer to it,
and people are erased on their own page.
"""

from __future__ import annotations

from typing import Any, ClassVar

from django import forms
from django.contrib import admin, messages
from django.contrib.auth.admin import UserAdmin
from django.contrib.auth.models import Group, User
from django.db.models import Count, QuerySet
from django.http import HttpRequest
from django.urls import URLPattern
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django_otp.plugins.otp_static.admin import StaticDevice
from django_otp.plugins.otp_totp.admin import TOTPDevice

from annotation import policies
from annotation.accounts.services import accounts
from annotation.models import (
    Association,
    Attribute,
    AuditEvent,
    ConsentText,
    IdentityGroup,
    ImageSet,
    Source,
    Study,
    StudyStatus,
)

admin.site.site_header = admin.site.site_title = "Visage"
admin.site.disable_action("delete_selected")
admin.site.unregister(User)
admin.site.unregister(Group)
# Admins must not see the secrets of second factors; their own page records each change.
admin.site.unregister(TOTPDevice)
admin.site.unregister(StaticDevice)


class AdminsOnly(admin.ModelAdmin):
    """Admins may view and change; nobody may delete."""

    def has_module_permission(self, request: HttpRequest) -> bool:
        return policies.is_admin(request.user)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return policies.is_admin(request.user)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return policies.is_admin(request.user)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return policies.is_admin(request.user)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class NotAdded(AdminsOnly):
    """Admins may view and change what is created elsewhere."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False


class ReadOnly(NotAdded):
    """Admins may only view."""

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class NameReadOnly(AdminsOnly):
    """The name cannot be changed later: study files and released data refer to it."""

    name_fields: ClassVar[tuple[str, ...]] = ("name",)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        return (*self.readonly_fields, *(self.name_fields if obj is not None else ()))


@admin.register(Source)
class SourceAdmin(NameReadOnly):
    list_display = ("name", "title", "licence")
    search_fields = ("name", "title")


@admin.register(IdentityGroup)
class IdentityGroupAdmin(NameReadOnly):
    list_display = ("name", "demonym", "singular", "plural", "axis", "country", "region", "global_south")
    list_filter = ("axis", "region", "global_south")
    search_fields = ("name", "demonym", "singular", "plural", "country")
    name_fields = ("name", "axis")


@admin.register(Attribute)
class AttributeAdmin(NameReadOnly):
    list_display = ("text",)
    search_fields = ("text",)
    name_fields = ("text",)


@admin.register(Association)
class AssociationAdmin(ReadOnly):
    """The votes of a source, as published."""

    list_display = (
        "group",
        "attribute",
        "source",
        "in_stereotypical",
        "out_stereotypical",
        "offensiveness_mean",
    )
    list_filter = ("source",)
    list_select_related = ("group", "attribute", "source")
    search_fields = ("group__name", "attribute__text")
    show_full_result_count = False


@admin.register(ImageSet)
class ImageSetAdmin(NotAdded):
    """Runs and uploads create sets; their title and licence are edited here."""

    list_display = ("name", "title", "model_name", "licence", "drawn")
    search_fields = ("name", "title", "model_name")
    fields = ("name", "title", "model_name", "licence", "drawn")
    readonly_fields = ("name", "model_name", "drawn")


@admin.register(ConsentText)
class ConsentTextAdmin(NotAdded):
    """A text can be changed while its study is a draft and nobody has consented. Later, the command `consent`
    publishes a new version."""

    list_display = ("study", "version", "language", "agreed", "created_at")
    list_select_related = ("study",)
    list_filter = ("language",)
    search_fields = ("study__name", "study__title")
    fields = ("study", "version", "language", "content_warning", "text", "created_at")
    readonly_fields = ("study", "version", "language", "created_at")

    def get_queryset(self, request: HttpRequest) -> QuerySet[ConsentText]:
        return super().get_queryset(request).annotate(agreements=Count("consents"))

    @admin.display(description=gettext_lazy("consents"))
    def agreed(self, text: Any) -> int:
        return int(text.agreements)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        if obj is not None and (obj.study.status != StudyStatus.DRAFT or obj.consents.exists()):
            return False
        return super().has_change_permission(request, obj)


@admin.register(AuditEvent)
class AuditEventAdmin(ReadOnly):
    list_display = ("at", "what", "study", "by")
    list_filter = ("what",)
    list_select_related = ("study", "by")
    date_hierarchy = "at"
    show_full_result_count = False


class AccountForm(forms.ModelForm):
    """An account and its roles. accounts/services/accounts.py changes the roles."""

    may_set_up = forms.BooleanField(label=gettext_lazy("may set up studies"), required=False)
    leads = forms.ModelMultipleChoiceField(
        Study.objects.order_by("title"), label=gettext_lazy("leads"), required=False
    )

    class Meta:
        model = User
        fields = ("username", "first_name", "last_name", "email", "is_active", "is_superuser")

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.fields["is_superuser"].label = _("admin")
        self.fields["is_superuser"].help_text = _("Can see and do everything.")
        self.fields["may_set_up"].initial = self.instance.user_permissions.filter(
            content_type__app_label="annotation", codename="add_study"
        ).exists()
        self.fields["leads"].initial = Study.objects.filter(leads=self.instance)


@admin.register(User)
class AccountAdmin(AdminsOnly, UserAdmin):
    """Accounts. The admin chooses the password of a new one; a link on the person's page replaces a lost
    one."""

    form = AccountForm
    list_display = ("username", "email", "is_active", "is_superuser", "last_login")
    list_filter = ("is_active", "is_superuser")
    filter_horizontal = ()
    fieldsets = (
        (None, {"fields": ("username", "first_name", "last_name", "email")}),
        (gettext_lazy("Roles"), {"fields": ("is_active", "is_superuser", "may_set_up", "leads")}),
    )

    def get_urls(self) -> list[URLPattern]:
        # Without the page that sets the password of another account.
        return super(UserAdmin, self).get_urls()

    def save_model(self, request: HttpRequest, obj: User, form: Any, change: bool) -> None:
        if not change:
            super().save_model(request, obj, form, change)
            return
        obj.save(update_fields=["username", "first_name", "last_name", "email"])
        self._change_roles(request, obj, form.cleaned_data)

    def _change_roles(self, request: HttpRequest, user: User, requested: dict[str, Any]) -> None:
        """Make each change separately: a refused one is reported and does not prevent the others."""
        by: Any = request.user
        leads = set(requested["leads"])
        current_leads = set(Study.objects.filter(leads=user))
        changes = [
            lambda: accounts.set_active(user=user, on=requested["is_active"], by=by),
            lambda: accounts.set_may_create_studies(user=user, on=requested["may_set_up"], by=by),
            *(
                lambda study=study: accounts.set_lead(user=user, study=study, on=study in leads, by=by)
                for study in sorted(current_leads ^ leads, key=lambda study: study.pk)
            ),
            # Last, since admins who give up their own role can change nothing afterwards.
            lambda: accounts.set_admin(user=user, on=requested["is_superuser"], by=by),
        ]
        for change in changes:
            try:
                change()
            except accounts.AccountRefused as refused:
                messages.warning(request, str(refused))
