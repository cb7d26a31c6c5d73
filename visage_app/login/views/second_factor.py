"""One's own second factor: set it up, create recovery codes, remove it."""

from typing import Any

import segno
from django.contrib import messages
from django.contrib.auth import authenticate, update_session_auth_hash
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods
from django_otp import login as remember_device

from annotation import policies
from annotation.accounts.queries.accounts import has_second_factor
from annotation.accounts.services import second_factor
from annotation.core.requests import LoggedIn
from visage_app.login.views.login import WRONG_CODE, codes_left_text, verified_device

KEY = "second_factor_key"
"""Session key of the secret of a second factor that is being set up."""
_PAGE = "registration/second_factor.html"


@sensitive_post_parameters("code", "password")
@require_http_methods(["GET", "HEAD", "POST"])
def page(request: LoggedIn) -> HttpResponse:
    """GET shows the status; POST sets it up, creates recovery codes or removes it (`do`)."""
    user = request.user
    enabled = has_second_factor(user)
    if request.method != "POST":
        return _render_page(request, enabled=enabled)
    action = request.POST.get("do")
    if enabled and action in {"codes", "remove"}:
        return _change(request, action)
    if not enabled and action == "set-up" and user.has_usable_password():
        return _set_up(request)
    return redirect("second_factor")


def _set_up(request: LoggedIn) -> HttpResponse:
    user, key = request.user, request.session.get(KEY, "")
    password = request.POST.get("password", "")
    if not key:
        return redirect("second_factor")
    # Counts as a login attempt.
    if authenticate(request, username=user.get_username(), password=password) is None:
        return _render_page(request, enabled=False, errors={"password": _("This is not your password.")})
    try:
        device, codes = second_factor.set_up(
            user=user, key=key, code=request.POST.get("code", ""), password=password
        )
    except second_factor.SecondFactorRefused as refused:
        return _render_page(request, enabled=False, errors={"code": str(refused)})
    del request.session[KEY]
    update_session_auth_hash(request, user)
    remember_device(request, device)
    return render(request, "registration/recovery_codes.html", {"codes": codes, "first": True})


def _change(request: LoggedIn, action: str) -> HttpResponse:
    user = request.user
    if verified_device(request, user, request.POST.get("code", "")) is None:
        return _render_page(request, enabled=True, errors={action: str(WRONG_CODE)})
    if action == "remove":
        second_factor.remove(user=user, by=user)
        messages.success(request, _("The second factor is removed. You now log in with your password only."))
        return redirect("second_factor")
    codes = second_factor.new_codes(user=user)
    return render(request, "registration/recovery_codes.html", {"codes": codes})


def _render_page(request: LoggedIn, *, enabled: bool, errors: dict[str, str] | None = None) -> HttpResponse:
    user = request.user
    context: dict[str, Any] = {"there": enabled, "errors": errors or {}}
    context["needed"] = policies.needs_second_factor(user)
    if enabled:
        context["left"] = codes_left_text(user)
    elif user.has_usable_password():
        key = request.session.setdefault(KEY, second_factor.new_key())
        address = second_factor.otpauth_url(user=user, key=key)
        context["secret"] = second_factor.format_key(key)
        context["picture"] = segno.make(address, micro=False).svg_data_uri(scale=5, light="white")
    return render(request, _PAGE, context, status=422 if errors else 200)
