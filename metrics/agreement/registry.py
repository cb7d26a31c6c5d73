"""The metric of agreement between annotators."""

from metrics.agreement import queries
from metrics.agreement.data import ratings
from metrics.agreement.scores import score_rows
from metrics.score_runs.metric import Metric, Parameter

METRICS: tuple[Metric, ...] = (
    Metric(
        name="agreement",
        version=5,
        title="Agreement between annotators",
        task="",
        unit=(
            "-1 to 1 (alpha, fleiss_kappa, cross_kappa), per cent (percentage), 0 to 1 (box_iou); "
            "differences in the same units, those of percentages in points"
        ),
        direction=(
            "larger: the same answers more often; disagreement is data, not error. A difference above 0: the "
            "first group agrees more"
        ),
        definition=(
            "For each kind of task and each level of measurement: Krippendorff's α = 1 − D_o / D_e with "
            "missing ratings allowed, Fleiss' κ if every unit has the same number of ratings, the share of "
            "pairs of ratings of a unit that are equal, and for boxes the mean best-match IoU of any two "
            "annotators of the same attribute of an image. Clustered intervals of α and κ lie around what "
            "both would be with endless annotators, since those of a few who use the labels differently are "
            "too small. Computed for the whole study, each attribute and each identity group; with `by`, "
            "also within and between groups of annotators. For any two groups whose members stated the "
            "characteristic, the differences are α and the percentage "
            "within the first group minus those within the second. p is two-sided and comes from "
            "the same influences or resamples as the interval; q is p adjusted by Benjamini and Hochberg "
            "over both measures and all pairs of groups of the task and level."
        ),
        names=(
            ("alpha", "Krippendorff's α; n: units rated"),
            ("fleiss_kappa", "Fleiss' κ, nominal; n: units rated"),
            ("percentage", "percentage of pairs of ratings that are equal; n: pairs, k: equal pairs"),
            (
                "cross_kappa",
                "cross-replication reliability κ_x of two groups; n: units rated by both",
            ),
            ("box_iou", "mean best-match IoU; n: pairs of annotators of one attribute of an image"),
            (
                "annotators",
                "number of people in a group of annotators who rated; no score if some are not identified",
            ),
            (
                "percentage_difference",
                "percentage within the first group minus that within the second; n: pairs of both",
            ),
            ("percentage_difference_p", "its p"),
            ("percentage_difference_q", "its q"),
            (
                "alpha_difference",
                "α within the first group minus that within the second; n: units rated by either",
            ),
            ("alpha_difference_p", "its p"),
            ("alpha_difference_q", "its q"),
        ),
        interval=True,
        variants_differ=False,
        variants_note="the same",
        section="§10",
        reference=(
            "Krippendorff (2011), https://repository.upenn.edu/asc_papers/43; Fleiss (1971), "
            "doi:10.1037/h0031619; Wong, Paritosh & Aroyo (2021), doi:10.18653/v1/2021.acl-long.548; "
            "Benjamini & Hochberg (1995), doi:10.1111/j.2517-6161.1995.tb02031.x"
        ),
        source="ratings",
        parts=(
            "`task: KIND; reading: LEVEL`, followed for groups of annotators by `; within: GROUP`, "
            "`; between: GROUP and GROUP` or `; difference: GROUP and GROUP` (the first minus the second). "
            "Levels: nominal (all labels, including Unsure), ordinal and interval (Unsure is missing; only "
            "for visual nature, offensiveness and bias of an association)"
        ),
        parameters=(
            Parameter(
                "by",
                "none",
                "groups of annotators: none, gender, origin, or pool (in- and out-region, PROTOCOL §3)",
            ),
        ),
        resampling=(
            "bootstrap over images (or whatever a unit is about) and annotators: a pair of ratings counts as "
            "often as its image and its two annotators were drawn, and nobody is paired with themselves; for "
            "a difference, images and annotators that both groups share are drawn once for both; over images "
            "only if annotators are not identified; none for a single image"
        ),
        clustering=(
            "images (or whatever a unit is about) and annotators; a pair of ratings belongs to both of its "
            "annotators; images only if annotators are not identified; none for a single image, or if "
            "everything was rated by the same two people or by one person of a group"
        ),
        caveats=(
            "α and κ fall when one answer is much more frequent than the others, even if nearly all pairs "
            "agree. An interval from a handful of annotators says little: resamples without a pair are "
            "counted as undefined and left out. Groups of fewer than five people have no difference, "
            "because so few do not show how others would agree. A difference in α can come from how often "
            "each group gives each answer as well as from how often its members agree: read it together "
            "with the difference in percentage. A q above 5 % does not show that there is no difference. If "
            "annotators are not identified, a difference and its q describe these people only, not the "
            "groups they represent."
        ),
        compute=score_rows.agreement_scores,
        rule=ratings.describe_rule,
        fingerprint=ratings.inputs_fingerprint,
        check_readable=queries.check_readable,
    ),
)
