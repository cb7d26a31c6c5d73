"""Metrics of which associations are known stereotypes, and of how offensive they are."""

from __future__ import annotations

from annotation.models import Study
from metrics.score_runs.metric import SEEGULL, Metric, Parameters, stereotype_rule
from metrics.votes.data import fingerprints
from metrics.votes.scores import known_stereotypes, offensiveness

_CELLS = "`pool: in-region`, `out-region` or `both` (the overlap), each with `t=1`, `2` and `3`"
_SECTIONS = "of the whole, of each region (`region: East Asia`) and of each group"
_THRESHOLDS = (
    "An association is a stereotype for a pool if at least t of its annotators said Stereotypical; the "
    "overlap are those that are one for both pools at the same t, of those with votes of both."
)
_COUNTED = (
    (
        "stereotypes",
        "how many associations are stereotypes; n: associations with votes of the pool, k: the stereotypes",
    ),
    ("share", "k / n of them"),
)
_NO_WIDTH = "Where no association passed, or all did, it has no width, which is not certainty: read n."
_DRAWN = f"The interval draws associations, and not the annotators behind them. {_NO_WIDTH}"
_MEANS = (
    ("mean", "mean over the associations that were rated"),
    ("mean_stereotypes", "the same over those that are stereotypes by the study's rule"),
    ("mean_attribute", "mean over the attributes that were rated, each once"),
    ("attribute", "mean of one attribute"),
    ("association", "mean of one association of a group"),
    ("unsure", "number of ratings that are Unsure; n: all ratings, k: those"),
)
_SCALE = "points of the offensiveness scale (-1 to 4; Unsure is 0 and stays in)"


def _threshold_rule(study: Study, parameters: Parameters) -> str:
    return "a stereotype for a pool: at least t of its annotators said Stereotypical"


METRICS: tuple[Metric, ...] = (
    Metric(
        name="stereotypes",
        version=1,
        title="Known stereotypes in the stereotype source",
        task="",
        source="votes",
        unit="associations (stereotypes), share of 0 to 1 (share)",
        direction="larger: more of the associations are known as stereotypes to the pool",
        definition=_THRESHOLDS,
        names=_COUNTED,
        parts=f"{_CELLS}; {_SECTIONS}",
        interval=True,
        resampling="percentile bootstrap over associations",
        variants_differ=False,
        variants_note="the same",
        section="§3",
        reference=SEEGULL,
        caveats=(
            f"{_DRAWN} Numbers of associations have no interval: counted from a published list, not "
            "sampled. SeeGULL v2 has associations with more than three votes of a pool, merged from several "
            "rows: t is then of more than three. Nearly all of its associations of groups of North America "
            "have the same votes in both pools. A source without votes of a pool has no score for it."
        ),
        compute=known_stereotypes.stereotypes_scores,
        rule=_threshold_rule,
        fingerprint=fingerprints.of_votes,
    ),
    Metric(
        name="prevalence",
        version=2,
        title="Known stereotypes by the study's own answers",
        task="prevalence",
        unit="associations (stereotypes), share of 0 to 1 (share), annotators (the others)",
        direction="larger: more of the associations are known as stereotypes to the pool",
        definition=(
            f"{_THRESHOLDS} In-region annotators reside in the region of the group; out-region ones identify "
            "with it and reside in North America. What a slot was reserved for counts before the profile."
        ),
        names=(
            *_COUNTED,
            ("stereotypical", "annotators of the pool who said Stereotypical; n: all of the pool, k: those"),
            ("non_stereotypical", "the same for Non-stereotypical"),
            ("unsure", "the same for Unsure"),
        ),
        parts=f"{_CELLS}; {_SECTIONS}. Of one association: `pool: in-region`, `out-region` or `neither`",
        interval=True,
        resampling="two-way cluster bootstrap over associations and annotators",
        variants_differ=False,
        variants_note="the same",
        section="§3",
        reference=SEEGULL,
        caveats=(
            "Annotators of neither pool, or who did not say, count in no threshold. Three of a pool are few "
            "to speak for a region: what one in five knows of is missed by every second such pool. Whoever "
            "is drawn twice agrees with themselves, so that the resampled shares are moved to have the "
            f"estimate as their mean. {_NO_WIDTH}"
        ),
        compute=known_stereotypes.prevalence_scores,
        rule=_threshold_rule,
        fingerprint=fingerprints.of_prevalence,
    ),
    Metric(
        name="attribute_offensiveness",
        version=1,
        title="Offensiveness of attributes in the stereotype source",
        task="",
        source="votes",
        unit=_SCALE,
        direction="larger: more offensive as a generalisation about a group",
        definition=(
            "O(attr, id) is the mean of the ratings that the source holds of an association; the scores are "
            "unweighted means of it. An attribute's is the mean over the associations that it stands in."
        ),
        names=(
            *_MEANS,
            ("unrated", "associations that nobody rated, left out of every mean; n: all, k: those"),
        ),
        parts=f"{_SECTIONS}; `mean` also of the stereotypes of {_CELLS}",
        interval=True,
        resampling="percentile bootstrap over attributes",
        variants_differ=True,
        variants_note=(
            "published: O(attr, id) is the mean printed in its source; "
            "corrected: the mean of the single ratings"
        ),
        section="§4",
        reference=SEEGULL,
        caveats=(
            "SeeGULL rated attributes and repeats the ratings in every association: the interval draws "
            "attributes, with all that they stand in. It leaves out what comes from the choice of the "
            "annotators, whom the release does not identify. n counts what the mean is over: associations, "
            "attributes or, for one association, ratings."
        ),
        compute=offensiveness.attribute_offensiveness_scores,
        rule=stereotype_rule,
        fingerprint=fingerprints.of_source_ratings,
    ),
    Metric(
        name="rated_offensiveness",
        version=1,
        title="Offensiveness of attributes by the study's own answers",
        task="offensiveness",
        unit=_SCALE,
        direction="larger: more offensive as a generalisation about a group",
        definition=(
            "The mean of single ratings. Those of an association stand for its group; those of an attribute "
            "alone for each group that the study's stereotype source associates with it."
        ),
        names=tuple(
            (name, meaning if name == "unsure" else f"{meaning}; n: ratings") for name, meaning in _MEANS
        ),
        parts=_SECTIONS,
        interval=True,
        resampling="two-way cluster bootstrap over attributes and annotators",
        variants_differ=False,
        variants_note="the same",
        section="§4",
        reference=SEEGULL,
        caveats=(
            "Of one attribute or association only its annotators are drawn: with three of them, the rule, "
            "the interval holds the truth in about two of three cases. Read it as the range of what was said."
        ),
        compute=offensiveness.rated_offensiveness_scores,
        rule=stereotype_rule,
        fingerprint=fingerprints.of_rated_offensiveness,
    ),
)
