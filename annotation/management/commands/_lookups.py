"""What several commands share: lookups, refusals as errors, and how a study's feasibility is printed."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from django.contrib.auth import get_user_model
from django.core.exceptions import ValidationError
from django.core.management.base import CommandError
from django.core.validators import validate_slug

from annotation.models import Study
from annotation.studies.services.feasibility import Report

if TYPE_CHECKING:
    from django.contrib.auth.models import User


@contextmanager
def command_errors(*kinds: type[Exception], prefix: str = "") -> Iterator[None]:
    """Raise CommandError with the message of an exception of these kinds."""
    try:
        yield
    except kinds as error:
        raise CommandError(f"{prefix}{error}") from error


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


def check_slug(name: str, *, option: str) -> None:
    """Raise CommandError if `name`, given with `option`, is not a slug."""
    try:
        validate_slug(name)
    except ValidationError as error:
        raise CommandError(f"{option} '{name}': use letters, digits, - and _ only.") from error


def check_study_name(name: str, *, option: str) -> None:
    """Raise CommandError if `name`, given with `option`, cannot be a study's name."""
    check_slug(name, option=option)
    longest = Study._meta.get_field("name").max_length
    if longest and len(name) > longest:
        raise CommandError(f"{option} has {len(name)} characters; a name has at most {longest}.")


def add_texts_checked(parser: ArgumentParser) -> None:
    """The option of commands that open studies."""
    parser.add_argument(
        "--texts-checked",
        action="store_true",
        help="you have adapted or checked consent, warning and support texts that come from a template",
    )


def feasibility_lines(report: Report) -> list[str]:
    """How full each stratum is and how many people match it, then shortages and warnings."""
    enrolled = "1 person is enrolled." if report.people == 1 else f"{report.people:,} people are enrolled."
    lines = [enrolled]
    for rate in report.rates:
        lines.append(
            f"  {rate.task.get_kind_display()}, {rate.stratum}: {rate.filled:,} of {rate.wanted:,} answers "
            f"given; {rate.people:,} of those enrolled match"
        )
    if report.people == 0 and report.shortages:
        # Every stratum has the same shortage.
        lines.append("Not enough people yet: nobody is enrolled.")
    else:
        lines += [f"Not enough people yet: {shortage}." for shortage in report.shortages]
    return lines + [f"Warning: {warning}" for warning in report.warnings]
