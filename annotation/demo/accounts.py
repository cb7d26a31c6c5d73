"""The demonstration's logins. Their passwords are public, so they are never created on a real server."""

from collections.abc import Collection
from dataclasses import dataclass

from django.conf import settings
from django.contrib.auth.models import Permission, User
from django.db import transaction


class DemoRefused(Exception):
    """The demonstration cannot be loaded here. The message says why and what to do."""


@dataclass(frozen=True)
class Login:
    username: str
    password: str
    role: str


LOGINS = (
    Login("annotator", "demo-annotator", "annotator"),
    Login("annotator2", "demo-annotator2", "annotator"),
    Login("lead", "demo-lead", "project lead"),
    Login("admin", "demo-admin", "admin"),
)


@transaction.atomic
def make_accounts() -> list[str]:
    """Create the missing logins and return their names. Existing accounts stay unchanged.

    Raises DemoRefused on a server reached over HTTPS.
    """
    if settings.HTTPS:
        raise DemoRefused(
            "HTTPS=yes means that this is a real server, and the demonstration's passwords are public. "
            "Load it on a server without HTTPS, or create accounts with: manage.py createsuperuser"
        )
    made = []
    for login in LOGINS:
        if User.objects.filter(username=login.username).exists():
            continue
        admin = login.role == "admin"
        user = User.objects.create_user(
            login.username, password=login.password, is_staff=admin, is_superuser=admin
        )
        if login.role == "project lead":
            # Leads of the demonstration may set up studies.
            user.user_permissions.add(
                Permission.objects.get(codename="add_study", content_type__app_label="annotation")
            )
        made.append(login.username)
    return made


def working_logins(*, just_made: Collection[str] = ()) -> list[Login]:
    """The demonstration's logins that work as printed: still active and with the original password. To check
    one takes as long as to make it, on purpose: those `just_made` are not checked."""
    users = User.objects.in_bulk([login.username for login in LOGINS], field_name="username")
    return [
        login
        for login in LOGINS
        if (user := users.get(login.username))
        and user.is_active
        and (login.username in just_made or user.check_password(login.password))
    ]
