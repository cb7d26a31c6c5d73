"""The scales of the tasks: the values of a judgement, their labels, and which need a justification.

No models. Texts are English here; pages translate them when they show them. Values are those of the released
files where a release has them (PROTOCOL §2-§5, §11).
"""

from dataclasses import dataclass

from django.utils.translation import gettext_noop as _


@dataclass(frozen=True)
class Label:
    """One answer of a scale. `explanation` is shown beside it."""

    value: int
    name: str
    explanation: str = ""
    needs_justification: bool = False


# In the order in which they are shown; keys 1-5 choose them (PROTOCOL §2).
VISUAL_NATURE = (
    Label(
        5,
        _("Strongly agree"),
        _("explicitly identifiable: objects, colours, e.g. 'hat', 'sombrero', 'short'"),
    ),
    Label(4, _("Agree"), _("deducible from visual cues, e.g. 'fashionable', 'poor'")),
    Label(2, _("Disagree"), _("hard to see, inferable in specific contexts")),
    Label(1, _("Strongly disagree"), _("not inferable, e.g. 'kind', 'talkative'")),
    Label(3, _("Unsure"), _("please say why"), needs_justification=True),
)
# PROTOCOL §3
PREVALENCE = (
    Label(1, _("Stereotypical"), _("I know of such an opinion in society")),
    Label(0, _("Non-stereotypical"), _("I do not know of such an opinion")),
    Label(-1, _("Unsure"), _("please say why"), needs_justification=True),
)
# PROTOCOL §4
OFFENSIVENESS = (
    Label(-1, _("Not offensive")),
    Label(1, _("Slightly offensive")),
    Label(2, _("Somewhat offensive")),
    Label(3, _("Moderately offensive")),
    Label(4, _("Extremely offensive")),
    Label(0, _("Unsure"), _("please say why"), needs_justification=True),
)
# PROTOCOL §11
ASSOCIATION = (
    Label(1, _("Not at all biased")),
    Label(2, _("Slightly biased")),
    Label(3, _("Moderately biased")),
    Label(4, _("Highly biased")),
    Label(5, _("Extremely biased")),
    Label(0, _("Unsure"), _("please say why"), needs_justification=True),
)
# PROTOCOL §5: selected or not
DEPICTION = (Label(1, _("Depicted")), Label(0, _("Not depicted")))

SCALES: dict[str, tuple[Label, ...]] = {
    "visual_nature": VISUAL_NATURE,
    "prevalence": PREVALENCE,
    "offensiveness": OFFENSIVENESS,
    "depiction": DEPICTION,
    "association": ASSOCIATION,
}

VISUAL = frozenset({4, 5})
"""Values of the visual-nature scale that count as 'visual' (PROTOCOL §2)."""


def label_of(kind: str, value: int) -> Label:
    """The label of a value; raises ValueError if it is not on the scale of `kind`."""
    for label in SCALES[kind]:
        if label.value == value:
            return label
    allowed = ", ".join(f"{item.value} ({item.name})" for item in SCALES[kind])
    raise ValueError(f"{value} is not on the scale of a {kind} task. Choose one of: {allowed}.")
