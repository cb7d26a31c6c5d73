"""Metrics of whether attributes can be seen."""

from __future__ import annotations

from metrics.registry.entry import Metric

METRICS: tuple[Metric, ...] = (
    Metric(
        name="visual_nature",
        version=1,
        title="Visual nature of an attribute",
        task="visual_nature",
        unit="0 or 1 (visual), points of the scale 1 to 5 (mean_score)",
        direction="larger: more visual",
        definition=(
            "An attribute is visual if all of its annotators (or as many as the study's rule asks for) chose "
            "Agree or Strongly agree. A unit that was asked twice must pass each time."
        ),
        names=(
            ("visual", "1 if the attribute passes the study's rule; n: ratings, k: agreeing ones"),
            ("mean_score", "mean of its scores; n: ratings"),
        ),
        interval=False,
        variants_differ=False,
        variants_note="the same",
        section="§2",
    ),
    Metric(
        name="consensus",
        version=1,
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
        interval=False,
        variants_differ=False,
        variants_note="the same",
        section="§2",
    ),
    Metric(
        name="visual_rules",
        version=1,
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
        resampling="percentile bootstrap over attributes",
        variants_differ=False,
        variants_note="the same",
        section="§2",
        caveats="The interval draws attributes, and not the annotators behind them.",
    ),
)
