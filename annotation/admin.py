"""Django's administration, for the few things that belong there; the pages of the program do the rest.

Answers, and what is decided by services alone, are not here. Nothing can be deleted: what is referred to
must stay, and people are erased on their own page.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from django import forms
from django.contrib import admin, messages
from django.contrib.auth import get_user_model
from django.contrib.auth.admin import UserAdmin
from django.contrib.auth.models import Group
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

if TYPE_CHECKING:
    from django.contrib.auth.models import User

    Model = admin.ModelAdmin[Any]
    Form = forms.ModelForm[Any]
else:
    Model, Form = admin.ModelAdmin, forms.ModelForm

admin.site.site_header = admin.site.site_title = "Visage"
admin.site.disable_action("delete_selected")
admin.site.unregister(get_user_model())
admin.site.unregister(Group)
# The secrets of others' second factors are no admin's to see, and each change is recorded elsewhere.
admin.site.unregister(TOTPDevice)
admin.site.unregister(StaticDevice)


class ForAdmins(Model):
    """What admins see and change, and nobody deletes."""

    def _admin(self, request: HttpRequest) -> bool:
        return policies.is_admin(request.user)

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self._admin(request)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self._admin(request)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return self._admin(request)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self._admin(request)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class ReadOnly(ForAdmins):
    """What admins look at."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class NameStays(ForAdmins):
    """What it is called is written once: study files and released data name it."""

    named: ClassVar[tuple[str, ...]] = ("name",)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        return (*self.readonly_fields, *(self.named if obj is not None else ()))


@admin.register(Source)
class SourceAdmin(NameStays):
    list_display = ("name", "title", "licence")
    search_fields = ("name", "title")


@admin.register(IdentityGroup)
class IdentityGroupAdmin(NameStays):
    list_display = ("name", "demonym", "axis", "country", "region", "global_south")
    list_filter = ("axis", "region", "global_south")
    search_fields = ("name", "demonym", "country")
    named = ("name", "axis")


@admin.register(Attribute)
class AttributeAdmin(NameStays):
    list_display = ("text",)
    search_fields = ("text",)
    named = ("text",)


@admin.register(Association)
class AssociationAdmin(ReadOnly):
    """The votes of a source, as it gives them."""

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
class ImageSetAdmin(ForAdmins):
    """Sets are made by runs and uploads; here they get their title and licence."""

    list_display = ("name", "title", "model_name", "licence", "drawn")
    search_fields = ("name", "title", "model_name")
    fields = ("name", "title", "model_name", "licence", "drawn")
    readonly_fields = ("name", "model_name", "drawn")

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False


@admin.register(ConsentText)
class ConsentTextAdmin(ForAdmins):
    """A text can be changed while its study is a draft and nobody has agreed to it; later, a new version is
    made with the command `consent`."""

    list_display = ("study", "version", "language", "agreed", "created_at")
    list_select_related = ("study",)
    list_filter = ("language",)
    search_fields = ("study__name", "study__title")
    fields = ("study", "version", "language", "content_warning", "text", "created_at")
    readonly_fields = ("study", "version", "language", "created_at")

    def get_queryset(self, request: HttpRequest) -> QuerySet[ConsentText]:
        return super().get_queryset(request).annotate(agreements=Count("consents"))

    @admin.display(description=gettext_lazy("agreed to by"))
    def agreed(self, text: Any) -> int:
        return int(text.agreements)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

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


class AccountForm(Form):
    """An account and its roles, which go through accounts/services/accounts.py."""

    may_set_up = forms.BooleanField(label=gettext_lazy("may set up studies"), required=False)
    leads = forms.ModelMultipleChoiceField(
        Study.objects.order_by("title"), label=gettext_lazy("leads"), required=False
    )

    class Meta:
        model = get_user_model()
        fields = ("username", "first_name", "last_name", "email", "is_active", "is_superuser")

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.fields["is_superuser"].label = _("admin")
        self.fields["is_superuser"].help_text = _("Sees and does everything.")
        self.fields["may_set_up"].initial = self.instance.user_permissions.filter(
            content_type__app_label="annotation", codename="add_study"
        ).exists()
        self.fields["leads"].initial = Study.objects.filter(leads=self.instance)


@admin.register(get_user_model())
class AccountAdmin(ForAdmins, UserAdmin):
    """Accounts. A new one has a password that its maker chose; a lost one is replaced by a link, on the
    page of the person."""

    form = AccountForm
    list_display = ("username", "email", "is_active", "is_superuser", "last_login")
    list_filter = ("is_active", "is_superuser")
    filter_horizontal = ()
    fieldsets = (
        (None, {"fields": ("username", "first_name", "last_name", "email")}),
        (gettext_lazy("Roles"), {"fields": ("is_active", "is_superuser", "may_set_up", "leads")}),
    )

    def get_urls(self) -> list[URLPattern]:
        # Without the page that sets another's password.
        return super(UserAdmin, self).get_urls()

    def save_model(self, request: HttpRequest, obj: User, form: Any, change: bool) -> None:
        if not change:
            super().save_model(request, obj, form, change)
            return
        obj.save(update_fields=["username", "first_name", "last_name", "email"])
        self._change_roles(request, obj, form.cleaned_data)

    def _change_roles(self, request: HttpRequest, user: User, wanted: dict[str, Any]) -> None:
        """Each change by itself: what is refused is said, and keeps no other from being made."""
        by: Any = request.user
        leads = set(wanted["leads"])
        led = set(Study.objects.filter(leads=user))
        changes = [
            lambda: accounts.set_active(user=user, on=wanted["is_active"], by=by),
            lambda: accounts.set_may_create_studies(user=user, on=wanted["may_set_up"], by=by),
            *(
                lambda study=study: accounts.set_lead(user=user, study=study, on=study in leads, by=by)
                for study in sorted(led ^ leads, key=lambda study: study.pk)
            ),
            # last: whoever gives up their own role can change nothing afterwards
            lambda: accounts.set_admin(user=user, on=wanted["is_superuser"], by=by),
        ]
        for change in changes:
            try:
                change()
            except accounts.AccountRefused as refused:
                messages.warning(request, str(refused))
