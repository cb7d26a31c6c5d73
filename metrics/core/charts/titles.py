"""Marks for simulated answers in figures, which are copied without their page."""

from __future__ import annotations


def marked_title(study: str, *, simulated: bool) -> str:
    """The title of a study, marked as simulated unless it already says so.

    Examples
    --------
    >>> marked_title("Trial", simulated=True), marked_title("Simulated trial", simulated=True)
    ('Trial – simulated answers', 'Simulated trial')
    """
    return f"{study} – simulated answers" if simulated and "simulated" not in study.lower() else study


def answered_by(*, simulated: bool) -> str:
    """The cell of the column `answers`."""
    return "simulated" if simulated else "given by people"
