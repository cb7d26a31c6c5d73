"""Labels of the admin's pages about people, and the confirmation that each action asks for."""

from dataclasses import dataclass, replace
from typing import Literal

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from annotation.accounts.queries.accounts import Person
from annotation.core.extra_wordings import PEOPLE_STATES
from annotation.models import EnrolmentStatus, Study

ROLES: tuple[tuple[str, str | Promise], ...] = (
    ("admin", _("Admins")),
    ("set_up", _("May set up studies")),
    ("lead", _("Lead a study")),
    ("annotator", _("Annotators")),
    ("none", _("No role")),
)
STATES: tuple[tuple[str, str | Promise], ...] = (
    ("off", _("Account switched off")),
    ("no_account", _("No account")),
    *zip(EnrolmentStatus.values, PEOPLE_STATES, strict=True),
)


@dataclass(frozen=True)
class Confirmation:
    """What a page shows before `action` is done: a question and its consequences (`points`). `done` is the
    message afterwards. `question` and `done` can name %(who)s and %(study)s. `needs`: what must exist."""

    needs: Literal["account", "annotator", "study", "anybody"]
    question: str | Promise
    points: tuple[str | Promise, ...]
    button: str | Promise
    done: str | Promise = ""
    action: str = ""


_ITEMS_AND_ANSWERS = _("Their items in progress go to others; their answers stay.")
_KEEP_STUDIES = _("They keep the studies that they lead.")

ACTIONS = {
    "make-admin": Confirmation(
        "account",
        _("Make %(who)s an admin?"),
        (_("An admin can see and do everything, including everything on this page."),),
        _("Make an admin"),
        _("%(who)s is now an admin."),
    ),
    "unmake-admin": Confirmation(
        "account",
        _("Remove the admin role of %(who)s?"),
        (_KEEP_STUDIES,),
        _("Remove admin role"),
        _("%(who)s is no longer an admin."),
    ),
    "let-set-up": Confirmation(
        "account",
        _("Allow %(who)s to set up studies?"),
        (_("They can create their own studies, upload and generate images, and see all image sets."),),
        _("Allow setting up studies"),
        _("%(who)s can now set up studies."),
    ),
    "unlet-set-up": Confirmation(
        "account",
        _("Stop %(who)s from setting up studies?"),
        (_KEEP_STUDIES,),
        _("Stop setting up studies"),
        _("%(who)s can no longer set up studies."),
    ),
    "lead": Confirmation(
        "study",
        _("Make %(who)s a lead of “%(study)s”?"),
        (_("A lead sees progress, scores and pseudonyms, invites and blocks people, and cannot take part."),),
        _("Make a lead"),
        _("%(who)s now leads “%(study)s”."),
    ),
    "unlead": Confirmation(
        "study",
        _("Remove %(who)s as a lead of “%(study)s”?"),
        (_("Admins can still manage a study without a lead."),),
        _("Remove as lead"),
        _("%(who)s no longer leads “%(study)s”."),
    ),
    "switch-off": Confirmation(
        "account",
        _("Switch off the account %(who)s?"),
        (
            _("They are logged out everywhere and cannot log in. Their API tokens are revoked."),
            _ITEMS_AND_ANSWERS,
        ),
        _("Switch off"),
        _("The account %(who)s is switched off."),
    ),
    "switch-on": Confirmation(
        "account",
        _("Switch on the account %(who)s?"),
        (_("They can log in again. Their API tokens stay revoked."),),
        _("Switch on"),
        _("The account %(who)s is switched on."),
    ),
    "password": Confirmation(
        "account",
        _("Create a password reset link for %(who)s?"),
        (
            _("Anybody who opens the link within three days can set a password, once."),
            _("Their current password works until then."),
        ),
        _("Create the link"),
    ),
    "remove-second-factor": Confirmation(
        "account",
        _("Remove the two-factor authentication of %(who)s?"),
        (
            _("They log in with their password alone then. Be sure that the request really comes from them."),
            _("If their account must have it, they set it up again at the next login."),
        ),
        _("Remove two-factor authentication"),
        _("%(who)s now logs in with the password alone."),
    ),
    "block": Confirmation(
        "annotator",
        _("Block %(who)s in all studies?"),
        (
            _("They get no more items, and a kind message says that they cannot continue."),
            _ITEMS_AND_ANSWERS,
        ),
        _("Block in all studies"),
        _("%(who)s is blocked and gets no more items."),
    ),
    "release": Confirmation(
        "annotator",
        _("Give all items in progress of %(who)s to others?"),
        (_("If they still answer them, the answers are saved."),),
        _("Release all"),
        _("All items in progress of %(who)s were released."),
    ),
    "erase": Confirmation(
        "anybody",
        _("Erase %(who)s permanently?"),
        (
            _("Their answers, profile, consents, account and platform ids are deleted."),
            _("This cannot be undone. An audit record with numbers but no name stays."),
            _("Earlier exports, releases and backups are not changed."),
        ),
        _("Erase permanently"),
        _("The person was erased."),
    ),
}


def confirmation(action: str, person: Person, study: Study | None) -> Confirmation | None:
    """The confirmation for `action`. None if there is no such action, or it does not apply to this person."""
    found = ACTIONS.get(action)
    if found is None:
        return None
    applies = {
        "account": person.user is not None,
        "annotator": person.annotator is not None,
        "study": person.user is not None and study is not None,
        "anybody": True,
    }
    if not applies[found.needs]:
        return None
    values = {"who": person.name, "study": study.title if study else ""}
    return replace(found, action=action, question=str(found.question) % values, done=str(found.done) % values)
