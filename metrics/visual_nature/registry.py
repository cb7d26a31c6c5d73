"""Metrics of whether attributes can be seen."""

from metrics.score_runs.metric import Metric
from metrics.visual_nature import scores, visual_rule

_RECENTRED = (
    "If annotators are not identified, the bootstrap takes each answer for an annotator of its own, and "
    "clustered intervals contain the variation between attributes only. An annotator who is drawn twice "
    "agrees with themselves, so resampled shares are shifted to have the estimate as their mean."
)


METRICS: tuple[Metric, ...] = (
    Metric(
        name="visual_nature",
        version=3,
        title="Visual nature of an attribute",
        task="visual_nature",
        unit="0 or 1 (visual), points of the scale 1 to 5 (mean_score)",
        direction="larger: more visual",
        definition=(
            "An attribute is visual if all of its annotators, or as many as the study's rule requires, chose "
            "Agree or Strongly agree. If the study's rule is a mean score (1 to 5, Unsure is 3), the mean "
            "score of the attribute must reach it. An attribute with several units must pass in each of them."
        ),
        names=(
            ("visual", "1 if the attribute passes the study's rule; n: ratings, k: Agree or Strongly agree"),
            ("mean_score", "mean score of the attribute; n: ratings"),
        ),
        resampling="bootstrap over the annotators of the attribute",
        clustering="annotators of the attribute, with the variance within all attributes together",
        section="§2",
        caveats=(
            "The scores say whether people think that an attribute can be seen, not whether a model depicts "
            "it. Usually three annotators of three origins rate an attribute; under the default rule a "
            "single one who disagrees decides. What is easy to see in one culture need not be in another. "
            "mean_score treats the labels as equally spaced and Unsure as the middle. Its bootstrap interval "
            "usually resamples three people; with three it contains the truth in about two of three cases: "
            "read it as the range of the answers. Its clustered interval takes all attributes to be equally "
            "clear. `visual` has no interval: read k of n."
        ),
        compute=scores.visual_nature_scores,
        rule=lambda study, parameters: visual_rule.describe(study),
    ),
    Metric(
        name="consensus",
        version=3,
        title="Consensus on visual nature",
        task="visual_nature",
        unit="per cent of attributes",
        direction="larger: annotators chose the same label for more attributes",
        definition=(
            "For each label, the percentage of attributes for which at least 2 annotators chose that label "
            "(ViSAGe, figure 6)."
        ),
        names=tuple(
            (name, f"percentage of attributes for which at least 2 chose '{label}'; n: attributes, k: those")
            for name, label in (
                ("strongly_agree", "Strongly agree"),
                ("agree", "Agree"),
                ("disagree", "Disagree"),
                ("strongly_disagree", "Strongly disagree"),
                ("unsure", "Unsure"),
            )
        ),
        resampling="two-way cluster bootstrap over attributes and annotators",
        clustering="attributes and annotators",
        section="§2",
        caveats=(
            "Two equal labels do not make a truth. Labels are not merged: Agree and Strongly agree do not "
            "count as consensus, so a low number does not mean disagreement about what can be seen. The "
            "percentages of the labels do not add up to 100 and grow with the number of annotators per "
            f"attribute: compare only studies with the same number. {_RECENTRED}"
        ),
        compute=scores.consensus_scores,
        rule=lambda study, parameters: "at least 2 annotators chose the same label",
    ),
    Metric(
        name="visual_rules",
        version=3,
        title="What each rule of visual nature selects",
        task="visual_nature",
        unit="attributes (selected), share of 0 to 1 (share), 0 or 1 (in_use)",
        direction="larger: the rule counts more attributes as visual",
        definition=(
            "How many attributes each rule counts as visual: all annotators chose Agree or Strongly agree, "
            "at least k of them did, or the mean score (1 to 5, Unsure is 3) reaches a bound. An attribute "
            "with several units must pass in each of them."
        ),
        names=(
            (
                "selected",
                "number of attributes that the rule selects; n: attributes rated, k: attributes selected",
            ),
            ("share", "share of attributes that the rule selects, k / n"),
            ("in_use", "1 for the rule that the study uses, else 0"),
        ),
        parts="`rule: all agree`, `rule: at least 2 agree`, `rule: mean score of at least 4` and the like",
        resampling="two-way cluster bootstrap over attributes and annotators",
        clustering="attributes and annotators",
        section="§2",
        caveats=(
            "A rule that selects more attributes is not a better rule. With more annotators per attribute, "
            f"fewer attributes pass 'all agree' and more pass 'at least k'. {_RECENTRED}"
        ),
        compute=scores.visual_rules_scores,
        rule=lambda study, parameters: visual_rule.describe(study),
    ),
)
