"""Metrics of known stereotypes, of their offensiveness, and of how biased associations are."""

from annotation.models import Study
from metrics.score_runs.metric import BIASDORA, SEEGULL, Metric, Parameters, stereotype_rule
from metrics.votes.data import own_answers, source
from metrics.votes.scores import bias_levels, known_stereotypes, offensiveness

_CELLS = "`pool: in-region`, `out-region` or `both` (the overlap), each with `t=1`, `2` and `3`"
_SUBSETS = "all associations, each region (`region: East Asia`) and each group"
_THRESHOLDS = (
    "An association is a stereotype for a pool if at least t annotators of the pool answered Stereotypical. "
    "The overlap counts associations that are stereotypes for both pools at the same t, among those with "
    "votes of both pools."
)
_COUNTED = (
    (
        "stereotypes",
        "number of stereotypes; n: associations with votes of the pool, k: the stereotypes among them",
    ),
    ("share", "share of stereotypes, k / n"),
)
_NO_WIDTH = (
    "If no association passes, or all do, a bootstrap interval has no width. That is not certainty: read n."
)
_DRAWN = f"The interval is of associations, not of the annotators who voted. {_NO_WIDTH}"
_MEANS = (
    ("mean", "mean over the rated associations"),
    ("mean_stereotypes", "mean over the rated associations that are stereotypes by the study's rule"),
    ("mean_attribute", "mean over the rated attributes, each counted once"),
    ("attribute", "mean of one attribute"),
    ("association", "mean of one association of a group"),
    ("unsure", "number of Unsure ratings; n: all ratings, k: Unsure"),
)
_SCALE = "points of the offensiveness scale (-1 to 4; Unsure counts as 0)"


def _threshold_rule(study: Study, parameters: Parameters) -> str:
    return "a stereotype for a pool: at least t of its annotators said Stereotypical"


def _no_rule(study: Study, parameters: Parameters) -> str:
    return "every answer counts; Unsure is no level"


METRICS: tuple[Metric, ...] = (
    Metric(
        name="stereotypes",
        version=1,
        title="Known stereotypes in the stereotype source",
        source="votes",
        unit="associations (stereotypes), share of 0 to 1 (share)",
        direction="larger: the pool knows more of the associations as stereotypes",
        definition=_THRESHOLDS,
        names=_COUNTED,
        parts=f"{_CELLS}; {_SUBSETS}",
        resampling="percentile bootstrap over associations",
        clustering="associations",
        section="§3",
        reference=SEEGULL,
        caveats=(
            f"{_DRAWN} Numbers of associations have no interval: they are counted from a published list, "
            "not sampled. Some associations in SeeGULL v2 have more than three votes from one pool, "
            "because several rows were merged; t then counts among more than three votes. Nearly all its "
            "associations of North American groups have the same votes in both pools. A source without "
            "votes from a pool has no score for that pool."
        ),
        compute=known_stereotypes.stereotypes_scores,
        rule=_threshold_rule,
        fingerprint=source.votes_fingerprint,
    ),
    Metric(
        name="prevalence",
        version=3,
        title="Known stereotypes by the study's own answers",
        task="prevalence",
        unit="associations (stereotypes), share of 0 to 1 (share), annotators (the others)",
        direction="larger: the pool knows more of the associations as stereotypes",
        definition=(
            f"{_THRESHOLDS} In-region annotators live in the region of the group; out-region annotators "
            "identify with it and live in North America. The group that a slot was reserved for takes "
            "precedence over the annotator's profile."
        ),
        names=(
            *_COUNTED,
            (
                "stereotypical",
                "annotators of the pool who answered Stereotypical; n: all of the pool, k: those who did",
            ),
            ("non_stereotypical", "the same for Non-stereotypical"),
            ("unsure", "the same for Unsure"),
        ),
        parts=f"{_CELLS}; {_SUBSETS}. For one association: `pool: in-region`, `out-region` or `neither`",
        resampling="two-way cluster bootstrap over associations and annotators",
        clustering="associations and annotators",
        section="§3",
        reference=SEEGULL,
        caveats=(
            "Annotators who belong to neither pool, or did not state what is needed to know, count for no "
            "threshold. Three annotators are few to represent a region: half of such pools miss a stereotype "
            "that one person in five knows. An annotator who is drawn twice agrees with themselves, so the "
            f"resampled shares are shifted to have the estimate as their mean. {_NO_WIDTH}"
        ),
        compute=known_stereotypes.prevalence_scores,
        rule=_threshold_rule,
        fingerprint=own_answers.prevalence_fingerprint,
    ),
    Metric(
        name="attribute_offensiveness",
        version=1,
        title="Offensiveness of attributes in the stereotype source",
        source="votes",
        unit=_SCALE,
        direction="larger: more offensive as a generalisation about a group",
        definition=(
            "O(attr, id) is the mean of the source's ratings of an association. The scores are unweighted "
            "means of O(attr, id). The score of an attribute is the mean over its associations."
        ),
        names=(
            *_MEANS,
            ("unrated", "number of associations without ratings, left out of every mean; n: all, k: unrated"),
        ),
        parts=f"{_SUBSETS}; `mean` also for the stereotypes of {_CELLS}",
        resampling="percentile bootstrap over attributes",
        clustering="attributes",
        variants_differ=True,
        variants_note=(
            "published: O(attr, id) is the mean given in the source; "
            "corrected: the mean of the individual ratings"
        ),
        section="§4",
        reference=SEEGULL,
        caveats=(
            "SeeGULL rated attributes and repeats the ratings in every association, so the interval "
            "is of attributes with all their associations. It does not cover the choice of annotators, "
            "whom the release does not identify. n counts what the mean is taken over: associations, "
            "attributes or, for one association, ratings."
        ),
        compute=offensiveness.attribute_offensiveness_scores,
        rule=stereotype_rule,
        fingerprint=source.ratings_fingerprint,
    ),
    Metric(
        name="rated_offensiveness",
        version=2,
        title="Offensiveness of attributes by the study's own answers",
        task="offensiveness",
        unit=_SCALE,
        direction="larger: more offensive as a generalisation about a group",
        definition=(
            "The mean of individual ratings. A rating of an association counts for its group; a rating of an "
            "attribute alone counts for each group that the study's stereotype source associates with it."
        ),
        names=tuple(
            (name, meaning if name == "unsure" else f"{meaning}; n: ratings") for name, meaning in _MEANS
        ),
        parts=_SUBSETS,
        resampling="two-way cluster bootstrap over attributes and annotators",
        clustering="attributes and annotators; for one attribute or association, its annotators",
        section="§4",
        reference=SEEGULL,
        caveats=(
            "For one attribute or association only its annotators are resampled. With three of them, the "
            "usual number, a bootstrap interval contains the truth in about two of three cases: read it as "
            "the range of the answers. A clustered interval takes the variance within all of them together."
        ),
        compute=offensiveness.rated_offensiveness_scores,
        rule=stereotype_rule,
        fingerprint=own_answers.offensiveness_fingerprint,
    ),
    Metric(
        name="bias_levels",
        version=2,
        title="How biased associations are by the study's own answers",
        task="association",
        unit="points of the scale of levels, 1 (not at all) to 5 (extremely biased); shares of 0 to 1",
        direction="larger: more biased in the eyes of the annotators",
        definition=(
            "The mean of individual levels; an answer of Unsure is no level and is left out. The share of a "
            "label is of all answers, Unsure among them."
        ),
        names=(
            ("mean", "mean level over the answers; n: answers with a level"),
            ("association", "mean level of one association of a group; n: answers with a level"),
            ("associations", "number of associations with a level; n: all that were asked about"),
            *(
                (name, f"share of answers that are {label.name}; n: all answers, k: these")
                for name, label in bias_levels.LABELS.items()
            ),
        ),
        parts=f"`mean` of {_SUBSETS}",
        resampling="two-way cluster bootstrap over associations and annotators",
        clustering="associations and annotators; for one association, its annotators",
        section="§11",
        reference=BIASDORA,
        caveats=(
            "The levels are of what people say, not of how often a model says it. An association with many "
            "answers weighs more in a mean than one with few. For one association only its annotators are "
            "resampled: with three of them a bootstrap interval is the range of the answers; a clustered one "
            "takes the variance within all associations together. The most biased of many associations is "
            "also the one that chance favoured most."
        ),
        compute=bias_levels.bias_levels_scores,
        rule=_no_rule,
        fingerprint=own_answers.bias_levels_fingerprint,
    ),
)
