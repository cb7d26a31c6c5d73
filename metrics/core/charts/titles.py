"""Whose answers a figure shows: a picture travels without its page."""

from __future__ import annotations


def marked_title(study: str, *, simulated: bool) -> str:
    """The title of a study, marked if its answers were made by a program and it does not say so itself.

    Examples
    --------
    >>> titled("Trial", simulated=True), titled("Simulated trial", simulated=True)
    ('Trial – simulated answers', 'Simulated trial')
    """
    return f"{study} – simulated answers" if simulated and "simulated" not in study.lower() else study


def answered_by(*, simulated: bool) -> str:
    """The cell of the column `answers`."""
    return "simulated" if simulated else "given by people"
