"""The metric of stereotypical pull."""

from __future__ import annotations

from metrics.registry.entry import Metric, Parameter

METRICS: tuple[Metric, ...] = (
    Metric(
        name="pull",
        version=1,
        title="Stereotypical pull",
        task="",
        unit="cosine similarity, -1 to 1; 0 or 1 (pull of a group), share of groups (pull of more)",
        direction="x above 0: default images are more like stereotypical than like other described ones",
        definition=(
            "Three sets of images a group: default, d ('an Indian person'), stereotypical, s ('... described "
            "as' a stereotype), non-stereotypical, ns (described as something else). S(X, Y) is the mean "
            "cosine similarity of their embeddings over all pairs, computed as the dot product of the means "
            "of the unit vectors. A group is reported that has images of all three sets. Numbers of a region "
            "and of the whole are unweighted means over its groups."
        ),
        names=(
            ("s_d_s", "S(d, s); n: images of both sets, or groups of a region or the whole"),
            ("s_d_ns", "S(d, ns); n likewise"),
            ("s_s_ns", "S(s, ns); n likewise"),
            ("s_mean", "mean of the three; n: images of all three sets, or groups"),
            ("x", "S(d, s) − S(d, ns), the horizontal axis of ViSAGe's figure 5; n as for s_mean"),
            ("y", "S(s, ns), its vertical axis; n as for s_s_ns"),
            ("pull", "1 if S(d, s) > S(d, ns); of more groups the share with pull, k of n"),
            ("s_d_d", "S within d, pairs of an image with itself left out; n: images of the set, or groups"),
            ("s_s_s", "S within s likewise"),
            ("s_ns_ns", "S within ns likewise"),
        ),
        interval=True,
        variants_differ=False,
        variants_note="the same",
        section="§9",
        source="embeddings",
        parts="`region: ...`: the groups of a region",
        parameters=(
            Parameter(
                "run",
                "newest",
                "number of the embedding run to read (`manage.py runs`), or the newest finished one of the "
                "study's image sets",
            ),
        ),
        caveats=(
            "Prompts are drawn (the wordings that describe people as the same attribute are one) "
            "and images within each, of a region or the whole groups too; nothing is drawn of annotators, "
            "since nobody is asked. Of fewer than about ten images or thirty attributes an interval is too "
            "narrow. The default set has one prompt: its interval is of images, and says nothing of other "
            "wordings. pull of a single group has no interval: whether that of x contains 0 says how sure it "
            "is. Similarity is what the encoder holds alike, with the encoder's own biases, and it is high "
            "between any two pictures of people: compare with S within the sets. Numbers of different "
            "encoders cannot be compared."
        ),
        resampling="two-stage bootstrap over prompts and images of each, over groups first for more of them",
    ),
)
