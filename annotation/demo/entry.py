"""The way in without a password, where the demonstration was made: for people at this computer only. Its
passwords are public, so whoever is let in here could log in anyway; but nobody else is told so."""

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from django.conf import settings
from django.contrib.auth.hashers import check_password
from django.contrib.auth.models import User
from django.http import HttpRequest
from django.http.request import split_domain_port

from annotation.accounts.queries.accounts import has_second_factor
from annotation.demo.accounts import LOGINS, Login
from annotation.demo.names import FINISHED, LIVE
from annotation.models import Study

ROLES = ("annotator", "lead", "admin")
"""The logins that can be entered, in the order of the page. Each is named after what it may do."""
_ADDED_BY_PROXIES = (
    "Forwarded",
    "X-Forwarded-For",
    "X-Forwarded-Host",
    "X-Forwarded-Proto",
    "X-Real-IP",
    "Via",
)
"""Headers of proxies that say so."""
_OLD_PROTOCOL = "HTTP/1.0"
"""What a proxy speaks that says nothing, as nginx does by default; no browser has for twenty years."""


@dataclass(frozen=True)
class Door:
    """An account of the demonstration that can be entered, and the name of the page that shows the most of
    it, with the study of that page."""

    role: str
    user: User
    page: str
    study: str = ""


def doors(request: HttpRequest) -> Sequence[Door]:
    """The accounts that `request` may enter. None unless it comes from this computer, without a proxy, to a
    server without HTTPS where both studies of the demonstration are; and none whose password was changed, or
    that has a second factor."""
    if not is_local(request):
        return ()
    studies = Study.objects.filter(name__in=[FINISHED, LIVE], stereotype_source__name="demo")
    if len(studies) < 2:
        return ()
    logins = {login.username: login for login in LOGINS if login.username in ROLES}
    users = User.objects.filter(is_active=True).in_bulk(logins, field_name="username")
    pages = {"annotator": ("annotate", LIVE), "lead": ("overview", FINISHED), "admin": ("home", "")}
    return [
        Door(role, users[role], *pages[role])
        for role in ROLES
        if role in users and _is_public(users[role], logins[role]) and not has_second_factor(users[role])
    ]


def is_local(request: HttpRequest) -> bool:
    """Whether a request comes from this computer, to a loopback name or address, without a proxy.

    A proxy or tunnel here that speaks like a browser cannot be told from one: docs/demo.md warns of them.
    """
    if settings.HTTPS or settings.BEHIND_PROXY or request.is_secure():
        return False
    if any(header in request.headers for header in _ADDED_BY_PROXIES) or _is_of_a_silent_proxy(request):
        return False
    host, _port = split_domain_port(request.get_host())
    return _is_loopback(request.META.get("REMOTE_ADDR", "")) and (
        host == "localhost" or _is_loopback(host.strip("[]"))
    )


def _is_of_a_silent_proxy(request: HttpRequest) -> bool:
    """Whether no browser asks like this. Browsers keep connections, and so never ask to close one."""
    if request.META.get("SERVER_PROTOCOL") == _OLD_PROTOCOL:
        return True
    wishes = request.headers.get("Connection", "").split(",")
    return "close" in {wish.strip().lower() for wish in wishes}


def _is_loopback(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False


def _is_public(user: User, login: Login) -> bool:
    return _matches(login.password, user.password)


@lru_cache(maxsize=16)
def _matches(password: str, encoded: str) -> bool:
    """Whether a hash is that of a public password. It takes long on purpose, and the answer never changes."""
    return check_password(password, encoded)
