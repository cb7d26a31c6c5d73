"""A sentence for each kind of audit event."""

from collections import defaultdict

from django.utils.translation import gettext, gettext_noop

from annotation.models import AuditEvent

SENTENCES: dict[str, str] = {
    "account made": gettext_noop("Created account %(account)s."),
    "account switched off": gettext_noop("Switched account %(account)s off."),
    "account switched on": gettext_noop("Switched account %(account)s on."),
    "admin made": gettext_noop("Made account %(account)s an admin."),
    "admin unmade": gettext_noop("Removed the admin role of account %(account)s."),
    "annotator blocked": gettext_noop(
        "Blocked an annotator: %(answered)s answers stay, %(released)s items went to others."
    ),
    "annotator unblocked": gettext_noop("Unblocked an annotator."),
    "annotators merged": gettext_noop("Merged two annotators, in %(studies)s studies."),
    "answers downloaded": gettext_noop("Downloaded the answers of run %(run)s as %(format)s."),
    "answers imported": gettext_noop("Imported %(rows)s answers that were made elsewhere into run %(run)s."),
    "api token made": gettext_noop("Created an API token for %(days)s days."),
    "api token revoked": gettext_noop("Revoked an API token."),
    "audit log exported": gettext_noop("Exported the audit log as %(format)s."),
    "backup": gettext_noop("Created a backup."),
    "catalogue import deleted": gettext_noop("Deleted the record of import %(import)s."),
    "catalogue import done": gettext_noop("Imported %(kind)s (import %(import)s)."),
    "catalogue import requested": gettext_noop("Uploaded files of %(kind)s (import %(import)s)."),
    "candidates restored": gettext_noop("Restored %(candidates)s candidates of run %(run)s."),
    "candidates struck out": gettext_noop("Struck out %(candidates)s candidates of run %(run)s."),
    "consent text published": gettext_noop("Published version %(version)s of the consent text."),
    "embeddings imported": gettext_noop(
        "Imported embeddings of %(images)s images and %(texts)s texts into run %(run)s."
    ),
    "embedding tests changed": gettext_noop("Changed the embedding tests %(name)s of %(image_set)s."),
    "embedding tests created": gettext_noop("Stored the embedding tests %(name)s of %(image_set)s."),
    "embedding tests deleted": gettext_noop("Deleted the embedding tests %(name)s of %(image_set)s."),
    "export": gettext_noop("Exported answers as %(format)s."),
    "export_download": gettext_noop("Downloaded a finished export as %(format)s."),
    "finished images imported": gettext_noop("Uploaded images to the set %(set)s."),
    "hours exported": gettext_noop("Exported hours and exposure of each annotator."),
    "invitation made": gettext_noop("Created an invitation link."),
    "invitation revoked": gettext_noop("Revoked an invitation link after %(uses)s uses."),
    "judgements read": gettext_noop("Read %(rows)s judgements through the API."),
    "lead made": gettext_noop("Made account %(account)s a lead."),
    "lead unmade": gettext_noop("Removed account %(account)s as a lead."),
    "may set up studies": gettext_noop("Allowed account %(account)s to set up studies."),
    "may set up studies no more": gettext_noop("Stopped account %(account)s from setting up studies."),
    "open work released": gettext_noop("Released %(released)s items in progress of an annotator."),
    "password link made": gettext_noop("Created a password reset link for account %(account)s."),
    "person erased": gettext_noop("Erased a person, with %(responses)s answers."),
    "pictures made again": gettext_noop("Generated %(images)s lost images again, in run %(run)s."),
    "recovery codes made": gettext_noop("Created new recovery codes for account %(account)s."),
    "release": gettext_noop("Created a release."),
    "release imported": gettext_noop("Created a study from a release."),
    "run cancelled": gettext_noop("Cancelled run %(run)s."),
    "run discarded": gettext_noop("Discarded run %(run)s, which had made nothing."),
    "run extended": gettext_noop("Added %(added)s jobs to run %(run)s."),
    "run limits changed": gettext_noop("Changed the limits of run %(run)s."),
    "run paused": gettext_noop("Paused run %(run)s."),
    "run planned": gettext_noop("Planned run %(run)s."),
    "run resumed": gettext_noop("Resumed run %(run)s."),
    "run retried": gettext_noop("Retried %(jobs)s failed jobs of run %(run)s."),
    "run started": gettext_noop("Started run %(run)s."),
    "second factor removed": gettext_noop("Removed the two-factor authentication of account %(account)s."),
    "second factor set up": gettext_noop("Set up two-factor authentication for account %(account)s."),
    "source changed": gettext_noop("Changed the source %(source)s: %(fields)s."),
    "source created": gettext_noop("Created the source %(source)s with %(associations)s associations."),
    "source deleted": gettext_noop("Deleted the source %(source)s with %(associations)s associations."),
    "source superseded": gettext_noop("Set the source that supersedes %(source)s: %(successor)s."),
    "study closed": gettext_noop("Closed the study."),
    "study made from a file": gettext_noop("Saved the draft of the study."),
    "study made of associations": gettext_noop(
        "Created a study of %(associations)s associations of run %(run)s."
    ),
    "study made of candidates": gettext_noop("Created a study of %(candidates)s candidates of run %(run)s."),
    "study opened": gettext_noop("Opened the study."),
    "study paused": gettext_noop("Paused the study."),
    "study resumed": gettext_noop("Resumed the study."),
    "study shows images": gettext_noop("Assigned the image set %(image_set)s to the study."),
    "votes saved as a source": gettext_noop(
        "Saved the votes of %(pairs)s associations as the source %(source)s."
    ),
    "webhook added": gettext_noop("Added a webhook to %(host)s."),
    "webhook changed": gettext_noop("Changed the events of the webhook to %(host)s."),
    "webhook deleted": gettext_noop("Deleted the webhook to %(host)s."),
    "webhook disabled": gettext_noop("Disabled the webhook to %(host)s."),
    "webhook enabled": gettext_noop("Enabled the webhook to %(host)s."),
    "webhook given up": gettext_noop("The program disabled a webhook after days of failures."),
    "webhook secret changed": gettext_noop("Created a new secret for the webhook to %(host)s."),
    "withdrawal": gettext_noop(
        "Somebody withdrew %(responses)s answers, practice items and earlier versions included."
    ),
}
"""Kind of event (AuditEvent.what) -> sentence. Events that are not listed are shown by their kind."""


def sentence(event: AuditEvent) -> str:
    """What happened, in the active language."""
    if event.what not in SENTENCES:
        return event.what
    details = event.details if isinstance(event.details, dict) else {}
    return gettext(SENTENCES[event.what]) % defaultdict(lambda: "–", details)
