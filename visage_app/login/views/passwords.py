"""Passwords, and logging out."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth import forms
from django.contrib.auth import views as auth
from django.http import HttpRequest, HttpResponse
from django.urls import reverse_lazy
from django.utils.decorators import method_decorator
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods

from annotation.assignment.services import slots


class PasswordView(auth.PasswordChangeView):
    """Changing one's password; who came by a link and has none sets the first one, and can log in with it
    and their pseudonym from then on."""

    def get_form_class(self) -> type[forms.SetPasswordForm]:  # type: ignore[override]
        assert self.request.user.is_authenticated
        known = self.request.user.has_usable_password()
        return forms.PasswordChangeForm if known else forms.SetPasswordForm


@method_decorator(require_http_methods(["GET", "HEAD", "POST"]), name="dispatch")
class NewPasswordView(auth.PasswordResetConfirmView):
    """Where the link leads that an admin made for somebody who lost their password: it works once."""

    success_url = reverse_lazy("login")

    def form_valid(self, form: forms.SetPasswordForm) -> HttpResponse:
        messages.success(self.request, gettext("The password is set. Log in with it."))
        return super().form_valid(form)


class LogoutView(auth.LogoutView):
    """Logging out gives back what the annotator holds, so that nobody waits for it."""

    def post(self, request: HttpRequest, *args: object, **kwargs: object) -> HttpResponse:
        if request.user.pk is not None:
            slots.release_leases_of_user(user_id=request.user.pk)
        return super().post(request, *args, **kwargs)
