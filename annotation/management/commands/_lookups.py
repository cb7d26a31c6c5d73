"""Lookups that several commands share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.contrib.auth import get_user_model
from django.core.exceptions import ValidationError
from django.core.management.base import CommandError
from django.core.validators import validate_slug

from annotation.models import Study

if TYPE_CHECKING:
    from django.contrib.auth.models import User


def get_study(name: str) -> Study:
    """The study with this name. Raises CommandError."""
    study = Study.objects.filter(name=name).first()
    if study is None:
        known = ", ".join(Study.objects.order_by("name").values_list("name", flat=True))
        raise CommandError(f"There is no study '{name}'. There are: {known or 'none yet'}.")
    return study


def get_account(username: str) -> User:
    """The account with this username. Raises CommandError."""
    account: User | None = get_user_model().objects.filter(username=username).first()
    if account is None:
        raise CommandError(f"There is no account '{username}'.")
    return account


def check_study_name(name: str, *, option: str) -> None:
    """Raise CommandError if `name`, given with `option`, cannot be a study's name."""
    try:
        validate_slug(name)
    except ValidationError as error:
        raise CommandError(f"{option} '{name}': use letters, digits, - and _ only.") from error
    longest = Study._meta.get_field("name").max_length
    if longest and len(name) > longest:
        raise CommandError(f"{option} has {len(name)} characters; a name has at most {longest}.")
