"""Metrics that compare tendencies, and offensiveness of depictions."""

from metrics.comparisons import data, queries, scores
from metrics.score_runs.metric import (
    BENJAMINI,
    OF_CONTRASTS,
    P_AND_Q,
    VISAGE,
    Metric,
    Parameter,
    compared_study,
    stereotype_rule,
)

_SIDES = (
    "The sides are this study and another one, for example of another model's images, or two image sets or "
    "two groups of annotators within it"
)
_BY = (
    Parameter("against", "", "name of the study to compare with, or empty"),
    Parameter("by", "", "or how to split this study: gender, origin, pool or image_set"),
    Parameter("first", "", "with `by`, the first side: a group of annotators or an image set"),
    Parameter("second", "", "with `by`, the second side"),
)
_OF_SIDES = "`side: first` or `side: second`, for one side; without a side, the difference of the two"
_SHARED = (
    "two-way cluster bootstrap; images and annotators on both sides are drawn once for both, and for "
    "means over groups annotators once for all groups"
)
_OF_EACH = (
    "two-way cluster bootstrap over the images of each group, and over annotators once for all groups; the "
    "groups themselves are not resampled"
)
_SAME_CLUSTERS = (
    "images and annotators, if identified; those on both sides, or of several groups, are the same"
)
_ONE_BY_ONE = "images and annotators, if identified; annotators are the same in all groups"
_THESE_GROUPS = (
    "The interval is about these groups, not about other groups of the region. If annotators are not "
    "identified, it does not include how one annotator affects several groups."
)
_PUBLISHED = "published: 'none of the above' counts as one more random attribute with k = 0; corrected: not"
_PRINTED = (
    "published: O(attr, id) is the mean printed in its source; corrected: the mean of the single ratings"
)

METRICS: tuple[Metric, ...] = (
    Metric(
        name="tendency_difference",
        version=4,
        title="Difference of two stereotypical tendencies",
        task="depiction",
        unit=(
            "difference of shares, -1 to 1 (l_stereo, l_random); natural logarithm of a ratio (log_theta); "
            "of a side as in tendency"
        ),
        direction="above 0: the first is larger; log_theta 0.69 is twice as large",
        definition=(
            "For each identity group of both sides, and for the means over all of them (without a group): "
            "l_stereo and l_random of the first minus those of the second, and ln(theta of the first / "
            f"theta of the second). {_SIDES}. Each side has its own attributes and its study's own rule. "
            f"{P_AND_Q}. The tendency of each side is given too."
        ),
        names=(
            (
                "l_stereo",
                "difference of l_stereo; n: attributes of the first side, or groups. Of a side: its l_stereo",
            ),
            ("l_stereo_p", "its p"),
            ("l_stereo_q", "its q"),
            ("l_random", "difference of l_random. Of a side: its l_random"),
            ("l_random_p", "its p"),
            ("l_random_q", "its q"),
            ("log_theta", "ln of the ratio of theta; infinite where one is 0 or infinite"),
            ("log_theta_p", "its p"),
            ("log_theta_q", "its q"),
            (
                "theta",
                "of a side only: its theta, of the means their ratio; n: attributes of both kinds, or groups",
            ),
        ),
        interval=True,
        variants_differ=True,
        variants_note=_PUBLISHED,
        section="§6, §10",
        reference=f"{BENJAMINI}; Owen (2007), doi:10.1214/07-AOAS122",
        parts=_OF_SIDES,
        parameters=_BY,
        resampling=_SHARED,
        clustering=_SAME_CLUSTERS,
        caveats=(
            "A difference is due to the model or the people only if nothing else differs: other images, "
            "attributes or wordings also make a difference. If annotators are not identified, the interval "
            "is wider than necessary. A q above 5 % does not show that there is no difference. The interval "
            "of a side uses the draws of the comparison and can differ a little from that of tendency."
        ),
        compute=scores.tendency_difference_scores,
        rule=stereotype_rule,
        fingerprint=data.inputs_fingerprint,
        check_offered=queries.check_offered,
        check_readable=queries.check_readable,
        other_studies=compared_study,
    ),
    Metric(
        name="tendency_contrast",
        version=3,
        title="Stereotypical likelihood of a group or region against the others",
        task="depiction",
        unit="difference of shares, -1 to 1",
        direction="above 0: its stereotypes are depicted more often than those of the others",
        definition=(
            "l_stereo of each reported group minus the unweighted mean over all other groups; and the mean "
            "over the groups of each region minus the mean over all other groups. Groups and regions are two "
            f"lists. {P_AND_Q}. Both sides are given too."
        ),
        names=(
            (
                "l_stereo",
                "difference of l_stereo; n: groups compared, or groups of the region. Of a side: its "
                "l_stereo; n: attributes, or groups",
            ),
            ("l_stereo_p", "its p"),
            ("l_stereo_q", "its q among the groups, or among the regions"),
        ),
        interval=True,
        variants_differ=False,
        variants_note="the same",
        section="§6, §10",
        reference=BENJAMINI,
        parts=OF_CONTRASTS,
        resampling=_OF_EACH,
        clustering=_ONE_BY_ONE,
        caveats=_THESE_GROUPS,
        compute=scores.tendency_contrast_scores,
        rule=stereotype_rule,
        fingerprint=data.inputs_fingerprint,
    ),
    Metric(
        name="offensiveness_difference",
        version=3,
        title="Difference in offensiveness of depictions",
        task="depiction",
        unit="points of the offensiveness scale (-1 to 4), weighted by l_stereo; their difference",
        direction="above 0: the depiction of the first is more offensive",
        definition=(
            "For each identity group that has a score on both sides, and for the means over all of them "
            f"(without a group): O(id) of the first minus that of the second. {_SIDES}. Each side has "
            f"its own attributes, its study's own rule and the ratings of its study's source. {P_AND_Q}. "
            "O(id) of each side is given too."
        ),
        names=(
            (
                "o",
                "difference of O(id); n: attributes of the first side that are marked present and rated, or "
                "groups. Of a side: its O(id), with its own n",
            ),
            ("o_p", "its p"),
            ("o_q", "its q"),
        ),
        interval=True,
        variants_differ=True,
        variants_note=_PRINTED,
        section="§7, §10",
        reference=f"{VISAGE}; {BENJAMINI}; Owen (2007), doi:10.1214/07-AOAS122",
        parts=_OF_SIDES,
        parameters=_BY,
        resampling=_SHARED,
        clustering=_SAME_CLUSTERS,
        caveats=(
            "A group in whose images nothing was marked present on one side has no score there, which is "
            "not zero: it is left out of the comparison and of the means, even if a model did best on it. "
            "Ratings are taken as given: the interval draws images and annotators of the depictions only. A "
            "difference is due to the model or the people only if nothing else differs: other images, "
            "attributes or wordings also make a difference. More images bring in more attributes: compare "
            "sides of similar size. A q above 5 % does not show that there is no difference."
        ),
        compute=scores.offensiveness_difference_scores,
        rule=stereotype_rule,
        fingerprint=data.rated_inputs_fingerprint,
        check_offered=queries.check_offered,
        check_readable=queries.check_readable,
        other_studies=compared_study,
    ),
    Metric(
        name="offensiveness_contrast",
        version=3,
        title="Offensiveness of a group's or region's depiction against the others",
        task="depiction",
        unit="points of the offensiveness scale (-1 to 4), weighted by l_stereo; their difference",
        direction="above 0: its depiction is more offensive than that of the others",
        definition=(
            "O(id) of each group that has a score minus the unweighted mean over all other groups; and the "
            "mean over the groups of each region minus the mean over all other groups. Groups and regions "
            f"are two lists. {P_AND_Q}. Both sides are given too."
        ),
        names=(
            (
                "o",
                "difference of O(id); n: groups compared, or groups of the region. Of a side: its O(id); "
                "n: attributes marked present and rated, or groups",
            ),
            ("o_p", "its p"),
            ("o_q", "its q among the groups, or among the regions"),
        ),
        interval=True,
        variants_differ=True,
        variants_note=_PRINTED,
        section="§7, §10",
        reference=f"{VISAGE}; {BENJAMINI}",
        parts=OF_CONTRASTS,
        resampling=_OF_EACH,
        clustering=_ONE_BY_ONE,
        caveats=(
            "Groups without a score, in whose images nothing was marked present, are on neither side. "
            f"Ratings are taken as given. {_THESE_GROUPS}"
        ),
        compute=scores.offensiveness_contrast_scores,
        rule=stereotype_rule,
        fingerprint=data.rated_inputs_fingerprint,
    ),
)
