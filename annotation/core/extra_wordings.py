"""Labels of states with the context in which they are translated (docs/translating.md).

The models hold plain English, and Django has no way to mark a text with a context without translating it. A
test compares these with the models.
"""

from django.utils.translation import pgettext_lazy

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
