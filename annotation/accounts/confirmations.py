"""What the admin's pages about people call things, and what they ask before doing one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.accounts.queries.accounts import Person
from annotation.core.extra_wordings import PEOPLE_STATES
from annotation.models import EnrolmentStatus, Study

ROLES: tuple[tuple[str, str | Promise], ...] = (
    ("admin", gettext_lazy("Admins")),
    ("set_up", gettext_lazy("May set up studies")),
    ("lead", gettext_lazy("Lead a study")),
    ("annotator", gettext_lazy("Annotators")),
    ("none", gettext_lazy("No role")),
)
STATES: tuple[tuple[str, str | Promise], ...] = (
    ("off", gettext_lazy("Account switched off")),
    ("no_account", gettext_lazy("No account")),
    *zip(EnrolmentStatus.values, PEOPLE_STATES, strict=True),
)


@dataclass(frozen=True)
class Ask:
    """What is asked before `action` is done: a question, what it will do, and what is said afterwards."""

    action: str
    question: str
    points: tuple[str, ...]
    button: str
    done: str


def ask(action: str, person: Person, study: Study | None) -> Ask | None:
    """The question for `action`; None where there is no such action, or not for this person."""
    found = _QUESTIONS.get(action)
    if found is None:
        return None
    needs, words = found
    there = {
        "account": person.user is not None,
        "annotator": person.annotator is not None,
        "study": person.user is not None and study is not None,
        "": True,
    }
    return words(action, person.name, study.title if study else "") if there[needs] else None


def _make_admin(action: str, who: str, study: str) -> Ask:
    return Ask(
        action,
        _("Make %(who)s an admin?") % {"who": who},
        (_("An admin sees and does everything, also what is on this page."),),
        _("Make an admin"),
        _("%(who)s is an admin now.") % {"who": who},
    )


def _unmake_admin(action: str, who: str, study: str) -> Ask:
    return Ask(
        action,
        _("Make %(who)s an ordinary account?") % {"who": who},
        (_("They keep the studies that they lead."),),
        _("Make an ordinary account"),
        _("%(who)s is no admin any more.") % {"who": who},
    )


def _let_set_up(action: str, who: str, study: str) -> Ask:
    return Ask(
        action,
        _("Let %(who)s set up studies?") % {"who": who},
        (_("They can make studies of their own, bring in and generate images, and see all image sets."),),
        _("Let them set up studies"),
        _("%(who)s may set up studies.") % {"who": who},
    )


def _unlet_set_up(action: str, who: str, study: str) -> Ask:
    return Ask(
        action,
        _("Let %(who)s set up no more studies?") % {"who": who},
        (_("They keep the studies that they lead."),),
        _("No more studies"),
        _("%(who)s may set up studies no more.") % {"who": who},
    )


def _lead(action: str, who: str, study: str) -> Ask:
    return Ask(
        action,
        _("Make %(who)s a lead of “%(study)s”?") % {"who": who, "study": study},
        (_("A lead sees progress, scores and pseudonyms, invites and blocks people, and cannot take part."),),
        _("Make a lead"),
        _("%(who)s leads “%(study)s” now.") % {"who": who, "study": study},
    )


def _unlead(action: str, who: str, study: str) -> Ask:
    return Ask(
        action,
        _("Is %(who)s to lead “%(study)s” no more?") % {"who": who, "study": study},
        (_("A study without a lead is still there for admins."),),
        _("No lead any more"),
        _("%(who)s leads “%(study)s” no more.") % {"who": who, "study": study},
    )


def _switch_off(action: str, who: str, study: str) -> Ask:
    return Ask(
        action,
        _("Switch off the account %(who)s?") % {"who": who},
        (
            _("They are logged out everywhere and cannot log in. Their API tokens end."),
            _("What they hold goes to others; what they answered stays."),
        ),
        _("Switch off"),
        _("The account %(who)s is switched off.") % {"who": who},
    )


def _switch_on(action: str, who: str, study: str) -> Ask:
    return Ask(
        action,
        _("Switch on the account %(who)s?") % {"who": who},
        (_("They can log in again. API tokens that ended stay ended."),),
        _("Switch on"),
        _("The account %(who)s is switched on.") % {"who": who},
    )


def _password(action: str, who: str, study: str) -> Ask:
    return Ask(
        action,
        _("Make a link to a new password for %(who)s?") % {"who": who},
        (
            _("Whoever opens the link can set a password, once, within three days."),
            _("The password they have works until then."),
        ),
        _("Make the link"),
        "",
    )


def _remove_second_factor(action: str, who: str, study: str) -> Ask:
    return Ask(
        action,
        _("Remove the second step of logging in of %(who)s?") % {"who": who},
        (
            _("Their password alone is asked for then. Be sure that it is they who ask you."),
            _("Where their account must have a second step, they set up a new one when they log in."),
        ),
        _("Remove the second step"),
        _("%(who)s logs in with the password alone now.") % {"who": who},
    )


def _block(action: str, who: str, study: str) -> Ask:
    return Ask(
        action,
        _("Block %(who)s in all studies?") % {"who": who},
        (
            _("They get no more items, and are told kindly that they cannot go on."),
            _("What they hold goes to others; what they answered stays."),
        ),
        _("Block in all studies"),
        _("%(who)s is blocked and gets no more items.") % {"who": who},
    )


def _release(action: str, who: str, study: str) -> Ask:
    return Ask(
        action,
        _("Give all open items of %(who)s to others?") % {"who": who},
        (_("If they answer them after all, the answers are kept."),),
        _("Release all"),
        _("All open items of %(who)s went back.") % {"who": who},
    )


def _erase(action: str, who: str, study: str) -> Ask:
    return Ask(
        action,
        _("Erase %(who)s for good?") % {"who": who},
        (
            _("Their answers, what they said of themselves, consents, account and platform ids are deleted."),
            _("This cannot be undone. What stays is a record with numbers and no name."),
            _("Exports, releases and backups that were made before still hold what they held."),
        ),
        _("Erase for good"),
        _("They are erased."),
    )


# action -> what it needs there to be, and its question
_QUESTIONS: dict[str, tuple[str, Callable[[str, str, str], Ask]]] = {
    "make-admin": ("account", _make_admin),
    "unmake-admin": ("account", _unmake_admin),
    "let-set-up": ("account", _let_set_up),
    "unlet-set-up": ("account", _unlet_set_up),
    "lead": ("study", _lead),
    "unlead": ("study", _unlead),
    "switch-off": ("account", _switch_off),
    "switch-on": ("account", _switch_on),
    "password": ("account", _password),
    "remove-second-factor": ("account", _remove_second_factor),
    "block": ("annotator", _block),
    "release": ("annotator", _release),
    "erase": ("", _erase),
}

__all__ = ["ROLES", "STATES", "Ask", "ask"]
