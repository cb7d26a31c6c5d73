"""One's own second factor: setting it up, new recovery codes, removing it."""

from __future__ import annotations

from typing import Any

import segno
from django.contrib import messages
from django.contrib.auth import authenticate, update_session_auth_hash
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods
from django_otp import login as remember_device

from annotation import policies
from annotation.accounts.queries.accounts import has_second_factor
from annotation.accounts.services import second_factor
from annotation.core.requests import LoggedIn
from visage_app.login.views.login import WRONG_CODE, codes_left_text, verified_device

KEY = "second_factor_key"
"""Where the session keeps the secret of a second factor that is being set up."""
_PAGE = "registration/second_factor.html"


@login_required
@never_cache
@sensitive_post_parameters("code", "password")
@require_http_methods(["GET", "HEAD", "POST"])
def page(request: LoggedIn) -> HttpResponse:
    """GET shows how it stands; POST sets it up, makes new recovery codes or removes it (`do`)."""
    user = request.user
    there = has_second_factor(user)
    if request.method != "POST":
        return _shown(request, there=there)
    wanted = request.POST.get("do")
    if there and wanted in {"codes", "remove"}:
        return _change(request, wanted)
    if not there and wanted == "set-up" and user.has_usable_password():
        return _set_up(request)
    return redirect("second_factor")


def _set_up(request: LoggedIn) -> HttpResponse:
    user, key = request.user, request.session.get(KEY, "")
    password = request.POST.get("password", "")
    if not key:
        return redirect("second_factor")
    # counted like any other try to log in
    if authenticate(request, username=user.get_username(), password=password) is None:
        return _shown(request, there=False, errors={"password": _("This is not your password.")})
    try:
        device, codes = second_factor.set_up(
            user=user, key=key, code=request.POST.get("code", ""), password=password
        )
    except second_factor.SecondFactorRefused as refused:
        return _shown(request, there=False, errors={"code": str(refused)})
    del request.session[KEY]
    update_session_auth_hash(request, user)
    remember_device(request, device)
    return render(request, "registration/recovery_codes.html", {"codes": codes, "first": True})


def _change(request: LoggedIn, wanted: str) -> HttpResponse:
    user = request.user
    if verified_device(request, user, request.POST.get("code", "")) is None:
        return _shown(request, there=True, errors={wanted: str(WRONG_CODE)})
    if wanted == "remove":
        second_factor.remove(user=user, by=user)
        messages.success(request, _("From now on, your password alone is asked for."))
        return redirect("second_factor")
    codes = second_factor.new_codes(user=user)
    return render(request, "registration/recovery_codes.html", {"codes": codes})


def _shown(request: LoggedIn, *, there: bool, errors: dict[str, str] | None = None) -> HttpResponse:
    user = request.user
    context: dict[str, Any] = {"there": there, "errors": errors or {}}
    context["needed"] = policies.needs_second_factor(user)
    if there:
        context["left"] = codes_left_text(user)
    elif user.has_usable_password():
        key = request.session.setdefault(KEY, second_factor.new_key())
        address = second_factor.address(user=user, key=key)
        context["secret"] = second_factor.shown(key)
        context["picture"] = segno.make(address, micro=False).svg_data_uri(scale=5, light="white")
    return render(request, _PAGE, context, status=422 if errors else 200)
