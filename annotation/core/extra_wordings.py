"""Labels of states with the context in which they are translated, and regions (docs/translating.md).

The models hold plain English, and Django has no way to mark a text with a context without translating it. A
test compares these with the models.
"""

from django.utils.translation import gettext_noop, pgettext_lazy

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

REGIONS = (
    gettext_noop("Sub-Saharan Africa"),
    gettext_noop("Middle East"),
    gettext_noop("South Asia"),
    gettext_noop("East Asia"),
    gettext_noop("Latin America"),
    gettext_noop("Australia"),
    gettext_noop("North America"),
    gettext_noop("Europe"),
)
"""Values of Region, which the catalogue shows."""
