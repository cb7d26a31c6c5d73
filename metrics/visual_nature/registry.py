"""Metrics of whether attributes can be seen."""

from __future__ import annotations

from annotation.models import Study
from metrics.score_runs.metric import Metric, Parameters
from metrics.visual_nature import scores, visual_rule

_RECENTRED = (
    "Where annotators are not identified each answer is an annotator of its own. Whoever is drawn twice "
    "agrees with themselves, so that the resampled shares are moved to have the estimate as their mean."
)


def _visual_rule(study: Study, parameters: Parameters) -> str:
    return visual_rule.describe(study)


def _consensus_rule(study: Study, parameters: Parameters) -> str:
    return "at least 2 annotators chose the same label"


METRICS: tuple[Metric, ...] = (
    Metric(
        name="visual_nature",
        version=2,
        title="Visual nature of an attribute",
        task="visual_nature",
        unit="0 or 1 (visual), points of the scale 1 to 5 (mean_score)",
        direction="larger: more visual",
        definition=(
            "An attribute is visual if all of its annotators (or as many as the study's rule asks for) chose "
            "Agree or Strongly agree; or, where the study's rule is a mean score (1 to 5, Unsure 3), if that "
            "of the attribute reaches it. A unit that was asked twice must pass each time."
        ),
        names=(
            ("visual", "1 if the attribute passes the study's rule; n: ratings, k: agreeing ones"),
            ("mean_score", "mean of its scores; n: ratings"),
        ),
        interval=True,
        resampling="bootstrap over the annotators of the attribute",
        variants_differ=False,
        variants_note="the same",
        section="§2",
        caveats=(
            "Whether people say that an attribute can be seen, not whether a model draws it. As a rule three "
            "annotators of three origins: a single one who disagrees decides by the default rule; what is "
            "plain to see in one place need not be in another. mean_score takes the labels as equally far "
            "apart and Unsure as their middle; its interval draws three people as a rule, and with three of "
            "them holds the truth in about two of three cases: read it as the range of what was said. "
            "Whether an attribute is visual has none: read k of n."
        ),
        compute=scores.visual_nature_scores,
        rule=_visual_rule,
    ),
    Metric(
        name="consensus",
        version=2,
        title="Consensus on visual nature",
        task="visual_nature",
        unit="per cent of attributes",
        direction="larger: more attributes on which annotators chose the same label",
        definition=(
            "For each label, the percentage of attributes on which at least 2 annotators chose that very "
            "label (ViSAGe, figure 6)."
        ),
        names=tuple(
            (name, f"percentage of attributes with at least 2 '{label}'; n: attributes, k: those")
            for name, label in (
                ("strongly_agree", "Strongly agree"),
                ("agree", "Agree"),
                ("disagree", "Disagree"),
                ("strongly_disagree", "Strongly disagree"),
                ("unsure", "Unsure"),
            )
        ),
        interval=True,
        resampling="two-way cluster bootstrap over attributes and annotators",
        variants_differ=False,
        variants_note="the same",
        section="§2",
        caveats=(
            "Two who chose the same label are not an agreed truth, and labels are not merged: Agree beside "
            "Strongly agree is no consensus here, so that low numbers are not disagreement about what can be "
            "seen. Percentages of labels do not add up to 100, and grow with the number of annotators of an "
            "attribute: compare studies with as many. "
            f"{_RECENTRED}"
        ),
        compute=scores.consensus_scores,
        rule=_consensus_rule,
    ),
    Metric(
        name="visual_rules",
        version=2,
        title="What each rule of visual nature selects",
        task="visual_nature",
        unit="attributes (selected), share of 0 to 1 (share), 0 or 1 (in_use)",
        direction="larger: the rule takes more attributes for visual",
        definition=(
            "How many attributes each rule takes for visual: all annotators agree (chose Agree or Strongly "
            "agree), at least k of them do, or the mean score (1 to 5, Unsure 3) reaches a bound. An "
            "attribute that was asked twice must pass each time."
        ),
        names=(
            ("selected", "how many attributes the rule selects; n: attributes rated, k: those"),
            ("share", "k / n of them"),
            ("in_use", "1 for the rule that the study follows, else 0"),
        ),
        parts="`rule: all agree`, `rule: at least 2 agree`, `rule: mean score of at least 4` and the like",
        interval=True,
        resampling="two-way cluster bootstrap over attributes and annotators",
        variants_differ=False,
        variants_note="the same",
        section="§2",
        caveats=(
            "A rule that selects more attributes is not a better one. With more annotators of an attribute "
            f"fewer pass 'all agree' and more 'at least k'. {_RECENTRED}"
        ),
        compute=scores.visual_rules_scores,
        rule=_visual_rule,
    ),
)
