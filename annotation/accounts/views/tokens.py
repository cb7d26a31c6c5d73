"""An account's own API tokens: create one, whose secret is shown once, or revoke one."""

from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from annotation.accounts.forms import TokenForm
from annotation.accounts.queries import accounts
from annotation.accounts.queries import tokens as token_queries
from annotation.api import tokens
from annotation.core.requests import LoggedIn
from annotation.models import ApiToken


@require_http_methods(["GET", "HEAD", "POST"])
def token_list(request: LoggedIn) -> HttpResponse:
    """GET lists the account's tokens; POST creates one."""
    user: Any = request.user
    if accounts.has_second_factor(user) and not user.is_verified():
        # A session without the second factor must not create access that outlives it.
        raise PermissionDenied
    form = TokenForm(request.user, request.POST if request.method == "POST" else None)
    created = None
    if request.method == "POST" and form.is_valid():
        try:
            created = tokens.create(user=request.user, by=request.user, **form.cleaned_data)
        except tokens.TokenRefused as refused:
            form.add_error(refused.field, str(refused))
        else:
            form = TokenForm(request.user)
    context = {
        "form": form,
        "created": created,
        "rows": token_queries.own_tokens(request.user),
    }
    return render(request, "annotation/accounts/tokens.html", context, status=422 if form.errors else 200)


@require_POST
def revoke_token(request: LoggedIn, pk: int) -> HttpResponse:
    token = get_object_or_404(ApiToken, pk=pk, user=request.user)
    if tokens.revoke(token=token, by=request.user):
        messages.success(request, _("The token is revoked: programs that use it are refused."))
    return redirect("tokens")
