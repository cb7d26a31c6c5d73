"""Metrics that compare tendencies."""

from __future__ import annotations

from metrics.registry.entry import Metric, Parameter

_P_AND_Q = (
    "p is two-sided, from the same resamples as the interval; q is p after Benjamini and Hochberg over all "
    "that is listed together"
)
_PUBLISHED = "published: 'none of the above' counts as one more random attribute with k = 0; corrected: not"

METRICS: tuple[Metric, ...] = (
    Metric(
        name="tendency_difference",
        version=1,
        title="Difference of two stereotypical tendencies",
        task="depiction",
        unit="difference of shares, -1 to 1 (l_stereo, l_random); natural logarithm of a ratio (log_theta)",
        direction="above 0: the first is larger; log_theta 0.69 is twice as large",
        definition=(
            "For each identity group of both sides, and for the means over all of them (without a group): "
            "l_stereo and l_random of the first less those of the second, and ln(theta of the first / theta "
            "of the second). The sides are this study and another one, as of images by another model, or two "
            "image sets or two groups of annotators within it. Each side has its own attributes and its "
            f"study's own rule. {_P_AND_Q}."
        ),
        names=(
            ("l_stereo", "difference of l_stereo; n: attributes of the first side, or groups"),
            ("l_stereo_p", "its p"),
            ("l_stereo_q", "its q"),
            ("l_random", "difference of l_random"),
            ("l_random_p", "its p"),
            ("l_random_q", "its q"),
            ("log_theta", "ln of the ratio of theta; infinite where one is 0 or infinite"),
            ("log_theta_p", "its p"),
            ("log_theta_q", "its q"),
        ),
        interval=True,
        variants_differ=True,
        variants_note=_PUBLISHED,
        section="§6, §10",
        reference=(
            "Benjamini & Hochberg (1995), doi:10.1111/j.2517-6161.1995.tb02031.x; "
            "Owen (2007), doi:10.1214/07-AOAS122"
        ),
        parameters=(
            Parameter("against", "", "name of the study to compare with, or nothing"),
            Parameter("by", "", "or what to split this study by: gender, origin, pool or image_set"),
            Parameter("first", "", "the first of the two, with `by`: a group of annotators, an image set"),
            Parameter("second", "", "the second of the two, with `by`"),
        ),
        resampling=(
            "two-way cluster bootstrap; images and annotators that both sides share are drawn once for both"
        ),
        caveats=(
            "Only what differs between the sides besides the model or the people is theirs: other images, "
            "attributes or wordings make a difference too. Where annotators are not identified the interval "
            "is wider than it need be. A q above 5 % does not show that there is no difference."
        ),
    ),
    Metric(
        name="tendency_contrast",
        version=1,
        title="Stereotypical likelihood of a group or region against the others",
        task="depiction",
        unit="difference of shares, -1 to 1",
        direction="above 0: its stereotypes are depicted more often than those of the others",
        definition=(
            "l_stereo of each reported group less the unweighted mean over all other groups; and the mean "
            "over the groups of each region less the mean over all other groups. Groups and regions are two "
            f"lists. {_P_AND_Q}."
        ),
        names=(
            ("l_stereo", "difference of l_stereo; n: groups compared, or groups of the region"),
            ("l_stereo_p", "its p"),
            ("l_stereo_q", "its q among the groups, or among the regions"),
        ),
        interval=True,
        variants_differ=False,
        variants_note="the same",
        section="§6, §10",
        reference="Benjamini & Hochberg (1995), doi:10.1111/j.2517-6161.1995.tb02031.x",
        parts="`region: REGION`, of a region",
        resampling=(
            "two-way cluster bootstrap over images and annotators of each group; the groups themselves are "
            "not resampled"
        ),
        caveats=(
            "The interval speaks of these groups, not of other groups of the region. Annotators who judged "
            "several groups are drawn anew for each, as if they were others."
        ),
    ),
)
