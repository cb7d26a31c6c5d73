"""Passwords and logout."""

from django.contrib import messages
from django.contrib.auth import forms
from django.contrib.auth import views as auth
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.urls import reverse_lazy
from django.utils.decorators import method_decorator
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods

from annotation.assignment.services import slots


class PasswordView(auth.PasswordChangeView):
    """Change one's password. Users who joined by a link and have none set their first password, and can then
    log in with it and their pseudonym."""

    def get_form_class(self) -> type[forms.SetPasswordForm]:  # type: ignore[override]
        assert self.request.user.is_authenticated
        known = self.request.user.has_usable_password()
        return forms.PasswordChangeForm if known else forms.SetPasswordForm


@method_decorator(require_http_methods(["GET", "HEAD", "POST"]), name="dispatch")
class NewPasswordView(auth.PasswordResetConfirmView):
    """The page of a password link, which an admin creates for someone who lost their password. It works
    once."""

    success_url = reverse_lazy("login")

    def form_valid(self, form: forms.SetPasswordForm) -> HttpResponse:
        messages.success(self.request, gettext("Your password is set. You can now log in."))
        return super().form_valid(form)


@method_decorator(login_not_required, name="dispatch")
class LogoutView(auth.LogoutView):
    """Logout also releases the slots that the annotator holds, so that others can have them."""

    def post(self, request: HttpRequest, *args: object, **kwargs: object) -> HttpResponse:
        if request.user.pk is not None:
            slots.release_leases_of_user(user_id=request.user.pk)
        return super().post(request, *args, **kwargs)
