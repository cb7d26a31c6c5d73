"""Login: the password, then a code if the account has a second factor (accounts/services/second_factor.py).

Between the two steps nobody is logged in: the session records for a few minutes whose password was correct.
"""

import time
from typing import Any

from axes.handlers.proxy import AxesProxyHandler
from django.contrib import auth, messages
from django.contrib.auth import signals
from django.contrib.auth import views as auth_views
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.crypto import constant_time_compare
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_safe
from django_otp import login as remember_device
from django_otp.models import Device
from django_otp.plugins.otp_static.models import StaticDevice

from annotation.accounts.queries.accounts import has_second_factor
from annotation.accounts.services import second_factor

PENDING = "login_half_done"
PENDING_SECONDS = 600
WRONG_CODE = gettext_lazy(
    "This code is wrong or already used, or it came too soon after a wrong one. Wait for the next code."
)
_BACKEND = "django.contrib.auth.backends.ModelBackend"


class LoginView(auth_views.LoginView):
    """The password. Accounts with a second factor are logged in only after the next step."""

    redirect_authenticated_user = True

    def form_valid(self, form: Any) -> HttpResponse:
        user = form.get_user()
        if not has_second_factor(user):
            return super().form_valid(form)
        self.request.session.flush()
        self.request.session[PENDING] = {
            "account": user.pk,
            "password": user.get_session_auth_hash(),
            "at": time.time(),
            "next": self.get_success_url(),
        }
        return redirect("login_code")


@login_not_required
@never_cache
@sensitive_post_parameters("code")
@require_http_methods(["GET", "HEAD", "POST"])
def login_code(request: HttpRequest) -> HttpResponse:
    """The second step: the code."""
    user = _pending_user(request)
    if user is None:
        return redirect("login")
    if request.method != "POST":
        return render(request, "registration/login_code.html")
    device = verified_device(request, user, request.POST.get("code", ""))
    if device is None:
        return render(request, "registration/login_code.html", {"wrong": WRONG_CODE}, status=422)
    next_url = request.session.pop(PENDING)["next"]
    auth.login(request, user, backend=_BACKEND)
    remember_device(request, second_factor.device_of(user))
    if isinstance(device, StaticDevice):
        messages.warning(request, codes_left_text(user))
    return redirect(next_url)


def verified_device(request: HttpRequest, user: User, code: str) -> Device | None:
    """The device to which `code` belongs, or None. Wrong codes count with wrong passwords and lead to the
    same lockout, during which correct codes return None too and the lockout page is shown."""
    credentials = {"username": user.get_username()}
    if not AxesProxyHandler.is_allowed(request, credentials):
        request.axes_locked_out = True  # type: ignore[attr-defined]
        return None
    device = second_factor.verify(user=user, code=code)
    if device is None:
        signals.user_login_failed.send(sender=__name__, credentials=credentials, request=request)
    return device


def codes_left_text(user: User) -> str:
    """A sentence with the number of remaining recovery codes."""
    left = second_factor.codes_left(user)
    text = ngettext("%(left)d recovery code is left.", "%(left)d recovery codes are left.", left)
    return text % {"left": left}


def _pending_user(request: HttpRequest) -> User | None:
    """The user whose password was correct in this session a few minutes ago and is still valid."""
    pending = request.session.get(PENDING)
    if pending is None or not 0 <= time.time() - pending["at"] < PENDING_SECONDS:
        return None
    user = User.objects.filter(pk=pending["account"], is_active=True).first()
    if user is None or not constant_time_compare(user.get_session_auth_hash(), pending["password"]):
        return None
    return user


@login_not_required
@never_cache
@require_safe
def admin_login(request: HttpRequest) -> HttpResponse:
    """The login URL of Django's admin site redirects to the normal login. Users who are already logged in get
    404."""
    if request.user.is_authenticated:
        raise Http404
    return auth_views.redirect_to_login(request.GET.get("next", "/admin/"))
