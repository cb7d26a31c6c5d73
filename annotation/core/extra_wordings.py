"""Texts to translate that no page contains as a literal (docs/translating.md).

`scales` does not import Django and the models hold plain English; pages translate both when they show them,
as in `gettext(label.name)`. `makemessages` only finds literals, so they are listed here. A test compares this
list with the scales and the states of a study.
"""

from django.utils.translation import gettext_noop, pgettext_lazy

SCALES = (
    gettext_noop("Strongly agree"),
    gettext_noop("explicitly identifiable: objects, colours, e.g. 'hat', 'sombrero', 'short'"),
    gettext_noop("Agree"),
    gettext_noop("deducible from visual cues, e.g. 'fashionable', 'poor'"),
    gettext_noop("Disagree"),
    gettext_noop("hard to see, inferable in specific contexts"),
    gettext_noop("Strongly disagree"),
    gettext_noop("not inferable, e.g. 'kind', 'talkative'"),
    gettext_noop("Unsure"),
    gettext_noop("please say why"),
    gettext_noop("Stereotypical"),
    gettext_noop("I know of such an opinion in society"),
    gettext_noop("Non-stereotypical"),
    gettext_noop("I do not know of such an opinion"),
    gettext_noop("Not offensive"),
    gettext_noop("Slightly offensive"),
    gettext_noop("Somewhat offensive"),
    gettext_noop("Moderately offensive"),
    gettext_noop("Extremely offensive"),
    gettext_noop("Depicted"),
    gettext_noop("Not depicted"),
)
"""Names and explanations of annotation/core/scales.py, in the same order."""

STUDY_STATES = (
    pgettext_lazy("state of a study", "Draft"),
    pgettext_lazy("state of a study", "Open"),
    pgettext_lazy("state of a study", "Paused"),
    pgettext_lazy("state of a study", "Closed"),
)
"""Labels of StudyStatus."""

PEOPLE_STATES = (
    pgettext_lazy("state of somebody who takes part", "Invited"),
    pgettext_lazy("state of somebody who takes part", "Training"),
    pgettext_lazy("state of somebody who takes part", "Qualified"),
    pgettext_lazy("state of somebody who takes part", "Blocked"),
    pgettext_lazy("state of somebody who takes part", "Finished"),
    pgettext_lazy("state of somebody who takes part", "screened out"),
    pgettext_lazy("state of somebody who takes part", "Withdrawn"),
)
"""Labels of EnrolmentStatus."""

TASKS = (
    gettext_noop("visual nature of an attribute"),
    gettext_noop("stereotype prevalence"),
    gettext_noop("offensiveness of an attribute"),
    gettext_noop("what an image depicts"),
)
"""Labels of TaskKind."""
