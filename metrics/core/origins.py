"""Where a source comes from that was made of a run's answers."""

from django.utils.translation import gettext as _

from generation.models import Run
from generation.recipes.recipes import FAKE

_LONGEST_TITLE = 200


def origin_of(run: Run) -> str:
    """The `Source.origin` of a source that was made of the run's answers; it says if they are simulated."""
    return _marked(_("Answers of run %(run)s") % {"run": run.title}, run)


def source_title(title: str, run: Run) -> str:
    """The title of such a source, which says so too."""
    return _marked(title, run)


def _marked(text: str, run: Run) -> str:
    if run.backend != FAKE:
        return text[:_LONGEST_TITLE]
    mark = " – " + _("simulated, no model’s output")
    return text[: _LONGEST_TITLE - len(mark)] + mark
