"""People who follow an invitation, each a process of its own: python -m tests.processes.invitees ..."""

import os
import sys

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "visage_app.settings")
django.setup()

from django.contrib.auth import get_user_model  # noqa: E402

from annotation.models import Invitation  # noqa: E402
from annotation.participation.services import invitations  # noqa: E402
from tests import factories  # noqa: E402
from tests.processes.meeting import meet  # noqa: E402


def make(limit: str) -> None:
    """A study, an account, and a link for `limit` people; print the link's code."""
    lead = factories.user("lead")
    factories.user("somebody")
    study = factories.rating_study(name="load", leads=[lead])
    print(invitations.create(study=study, by=lead, max_uses=int(limit)).code)


def follow(code: str, username: str, times: str, place: str, number: str) -> None:
    """Follow the link together with others; print *new*, *again* or *full* for each time."""
    user = get_user_model().objects.get(username=username) if username else None
    meet(place, number)
    for _ in range(int(times)):
        try:
            _enrolment, new = invitations.accept(code=code, user=user)
            print("new" if new else "again")
        except invitations.InvitationRefused as refusal:
            print(refusal.reason)


def count(code: str) -> None:
    invitation = Invitation.objects.get(code=code)
    print(invitation.uses, invitation.enrolments.count(), get_user_model().objects.count())


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
