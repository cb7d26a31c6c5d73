"""What translators are given is what the models and backends say."""

from annotation.models import Axis, OptionRole
from generation import backends
from generation.core import wordings
from generation.models import RunKind, RunState
from generation.models.runs import PROMPT_SET_CHOICES


def test_the_words_of_models_and_backends_are_registered():
    assert list(wordings.RUN_KINDS) == RunKind.labels
    assert [str(state) for state in wordings.RUN_STATES] == RunState.labels
    assert list(wordings.PROMPT_SETS) == [label for _, label in PROMPT_SET_CHOICES]
    assert list(wordings.AXES) == Axis.labels
    assert set(wordings.ROLES) <= {label.lower() for label in OptionRole.labels}


def test_the_first_lines_of_the_backends_are_theirs():
    """A backend that is added is shown in English until its line stands there too (docs/generation.md)."""
    told = [line for kind in RunKind for line in backends.names(kind).values()]
    assert sorted(wordings.BACKENDS) == sorted(told)
