"""What the audit log says of each kind of event, in a sentence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext, gettext_noop

SENTENCES: dict[str, str] = {
    "account switched off": gettext_noop("Switched account %(account)s off."),
    "account switched on": gettext_noop("Switched account %(account)s on."),
    "admin made": gettext_noop("Made account %(account)s an admin."),
    "admin unmade": gettext_noop("Made account %(account)s an admin no longer."),
    "annotator blocked": gettext_noop(
        "Blocked an annotator: %(answered)s answers stay, %(released)s items went to others."
    ),
    "annotator unblocked": gettext_noop("Let a blocked annotator go on."),
    "annotators merged": gettext_noop("Made one annotator of two, in %(studies)s studies."),
    "api token made": gettext_noop("Made an API token for %(days)s days."),
    "api token revoked": gettext_noop("Ended an API token."),
    "audit log exported": gettext_noop("Took the audit log out as %(format)s."),
    "backup": gettext_noop("Made a backup of everything."),
    "consent text published": gettext_noop("Published version %(version)s of the consent text."),
    "export": gettext_noop("Took answers out as %(format)s."),
    "export_download": gettext_noop("Downloaded a finished export as %(format)s."),
    "finished images imported": gettext_noop("Brought finished images into the set %(set)s."),
    "hours exported": gettext_noop("Took hours and exposure of each annotator out."),
    "invitation made": gettext_noop("Made an invitation link."),
    "invitation revoked": gettext_noop("Took an invitation link back after %(uses)s uses."),
    "judgements read": gettext_noop("Read %(rows)s judgements by the API."),
    "lead made": gettext_noop("Made account %(account)s a lead."),
    "lead unmade": gettext_noop("Made account %(account)s a lead no longer."),
    "may set up studies": gettext_noop("Let account %(account)s set up studies."),
    "may set up studies no more": gettext_noop("Let account %(account)s set up studies no more."),
    "open work released": gettext_noop("Gave %(released)s open items of an annotator to others."),
    "password link made": gettext_noop("Made a link for account %(account)s to set a new password."),
    "person erased": gettext_noop("Erased a person, with %(responses)s answers."),
    "pictures made again": gettext_noop("Had %(images)s lost pictures made again, by run %(run)s."),
    "recovery codes made": gettext_noop("Made new recovery codes for account %(account)s."),
    "release": gettext_noop("Made a release."),
    "release imported": gettext_noop("Made a study from a release."),
    "run cancelled": gettext_noop("Cancelled run %(run)s."),
    "run extended": gettext_noop("Added %(added)s jobs to run %(run)s."),
    "run paused": gettext_noop("Paused run %(run)s."),
    "run planned": gettext_noop("Planned run %(run)s."),
    "run resumed": gettext_noop("Let run %(run)s go on."),
    "run retried": gettext_noop("Had %(jobs)s failed jobs of run %(run)s tried again."),
    "run started": gettext_noop("Started run %(run)s."),
    "second factor removed": gettext_noop("Took the second step of logging in from account %(account)s."),
    "second factor set up": gettext_noop("Set up a second step of logging in for account %(account)s."),
    "study made from a file": gettext_noop("Made the study from a file."),
    "study shows images": gettext_noop("Had the study show the image set %(image_set)s."),
    "webhook added": gettext_noop("Had %(host)s told of the study."),
    "webhook changed": gettext_noop("Changed what %(host)s is told of."),
    "webhook deleted": gettext_noop("Had %(host)s told no longer, and forgot the webhook."),
    "webhook disabled": gettext_noop("Disabled the webhook to %(host)s."),
    "webhook enabled": gettext_noop("Enabled the webhook to %(host)s."),
    "webhook given up": gettext_noop("The program disabled a webhook that had failed for days."),
    "webhook secret changed": gettext_noop("Gave the webhook to %(host)s a new secret."),
    "withdrawal": gettext_noop("Somebody withdrew: %(responses)s answers left the data."),
}
"""Kind of event (AuditEvent.what) -> what happened. An event that is not here is told by its own name."""


class _Details(dict[str, Any]):
    def __missing__(self, key: str) -> str:
        return "–"


def sentence(what: str, details: Mapping[str, Any]) -> str:
    """What happened, in the language at hand."""
    if what not in SENTENCES:
        return what
    return gettext(SENTENCES[what]) % _Details(details)


__all__ = ["SENTENCES", "sentence"]
