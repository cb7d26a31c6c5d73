"""Metrics of captions and of salience."""

from annotation.models import Study
from metrics.captions import data
from metrics.captions.scores import caption_agreement, findings
from metrics.depiction.data import inputs_fingerprint as depiction_fingerprint
from metrics.score_runs.metric import SEEGULL, VISAGE, Metric, Parameter, Parameters, stereotype_rule
from metrics.votes.data.source import votes_fingerprint

_READ = (
    Parameter(
        "run",
        "newest",
        "number of the captioning run to read (`manage.py runs`); `newest`: the last finished of each set",
    ),
    Parameter("top", "50", "how many captions of an image are read, the captioner's best first"),
)
_ATTRIBUTES = Parameter(
    "attributes",
    "all",
    "`all` in the study and its stereotype source, or only those that are `visual` by the study's rule",
)
_SMOOTHING = Parameter("smoothing", "1", "the constant a of additive smoothing; 0 for none")
_FOUND = (
    "Attributes are matched as whole words after lower-casing and lemmatising (simplemma, English), phrases "
    "as phrases; hyphens separate words"
)
_LEMMAS = (
    "Lemmas are used for matching only and never shown: each attribute is listed as the catalogue has it, "
    "and attributes with the same lemmas ('hat', 'hats') are all found, counted and listed wherever one "
    "occurs. Lemmas merge different words: 'glasses' is found in 'a glass of water', 'tanned' in 'tan'. A "
    "negation ('no hat') counts as an occurrence."
)
_IMAGES_ONLY = "The interval is of the images within each group; captions have no annotators."


def _with_stereotypes(study: Study, parameters: Parameters) -> list[object]:
    return [*depiction_fingerprint(study, parameters), *data.inputs_fingerprint(study, parameters)]


METRICS: tuple[Metric, ...] = (
    Metric(
        name="caption_findings",
        version=1,
        title="Attributes found in captions",
        unit="share of 0 to 1",
        direction="larger: more captions of the group's images mention the attribute",
        definition=(
            f"The share of the captions of a group's images that mention the attribute. {_FOUND}. "
            "Attributes found at least once are listed."
        ),
        names=(("found", "share of captions that mention the attribute; k of n captions"),),
        clustering="images of the group",
        section="§8",
        source="captions",
        parameters=(*_READ, _ATTRIBUTES),
        caveats=f"{_LEMMAS} {_IMAGES_ONLY} Captions are what a captioner writes, not what an image shows.",
        compute=findings.caption_findings_scores,
        rule=data.describe_captions,
        fingerprint=data.inputs_fingerprint,
    ),
    Metric(
        name="salience",
        version=1,
        title="Salience of an attribute in captions",
        unit="1 (tf · idf)",
        direction="larger: mentioned more often for this group, and in fewer captions of all groups",
        definition=(
            "S(attr, id) = tf · idf. tf = (k + a) / (n + a·A): of the n occurrences of any of the A "
            "attributes in captions of the group, k are of this attribute; a is the constant of additive "
            "smoothing. idf = ln((1 + |C|) / (1 + df)) + 1: df of the |C| captions of all groups mention it. "
            f"{_FOUND}. Attributes found at least once in captions of the group are listed."
        ),
        names=(
            (
                "salience",
                "S(attr, id); in the group's captions, k: occurrences of the attribute, n: of all attributes",
            ),
        ),
        section="§8",
        source="captions",
        parameters=(*_READ, _ATTRIBUTES, _SMOOTHING),
        clustering="images of all groups, with the degrees of freedom of the group's own",
        caveats=(
            f"{_LEMMAS} {_IMAGES_ONLY} Smoothing and the number of attributes searched for change the "
            "values: compare only scores computed with the same."
        ),
        compute=findings.salience_scores,
        rule=data.describe_captions,
        fingerprint=data.inputs_fingerprint,
    ),
    Metric(
        name="caption_agreement",
        version=2,
        title="Agreement of captions with people",
        clustering="images and annotators, by leaving out one at a time",
        task="depiction",
        unit="share of 0 to 1",
        direction="larger: people also saw more of what captions mention",
        definition=(
            "Among the pairs (attr, id) that captions of the group's images mention and that were shown to "
            "annotators with its images, the share that at least one annotator selected, L(attr, id) > 0. "
            "ViSAGe reports 44.69 %; this cannot be recomputed, because its captions were not released. "
            f"{_FOUND}."
        ),
        names=(
            (
                "agreement",
                "share of pairs mentioned in captions and shown to people that were selected; k of n pairs",
            ),
            (
                "unjudged",
                "number of pairs mentioned in captions but never shown to annotators; not part of any share",
            ),
        ),
        section="§8",
        source="captions",
        parts=(
            "none: all attributes, without the visual reference; `visual attributes`: only attributes that "
            "are visual by the study's rule, if the study asked. For each group, and for the whole study "
            "with its pairs pooled"
        ),
        parameters=_READ,
        caveats=(
            f"{_LEMMAS} One selection by one person is enough for L > 0. A resample contains fewer different "
            "images and annotators and so finds less: the resampled shares are shifted to have the estimate "
            "as their mean. The interval for the whole study draws annotators once for all groups and images "
            "within each group."
        ),
        compute=caption_agreement.caption_agreement_scores,
        rule=data.describe_captions,
        fingerprint=_with_stereotypes,
    ),
    Metric(
        name="salience_seegull",
        version=1,
        title="Salience of a stereotype in its region",
        unit="1 (tf · idf)",
        direction="larger: more votes for this group, shared with fewer groups of its region",
        definition=(
            "The same tf · idf with SeeGULL's arguments. For a group: of the n votes for its stereotypes, k "
            "are for this one; A is the number of different stereotypes in its region. The documents are the "
            "groups of the region, each with its stereotypes; df of them share this one. For a region: the "
            "votes of its groups are added up, and the documents are the regions. The study's rule decides "
            "which associations are stereotypes and which pool's votes count."
        ),
        names=(
            ("salience", "S(attr, id) in its region; k: votes for the stereotype, n: votes of the group"),
            ("salience_region", "S(attr, region) among regions; k: votes, n: votes of the region"),
        ),
        interval=False,
        section="§8",
        reference=f"{SEEGULL}; {VISAGE}",
        source="votes",
        parts="`region: NAME` of `salience_region`",
        parameters=(_SMOOTHING,),
        caveats=(
            "The constants, and the choice of groups as documents, follow PROTOCOL; they were not checked "
            "against values that SeeGULL prints. Groups without a region are compared among themselves. "
            "There is no interval: the votes are counted from a published list, not sampled, and the list "
            "does not say who voted. Attributes are shown as their source prints them; the authors of "
            "SeeGULL v2 lemmatised many of them ('good at run', 'poorly educate')."
        ),
        compute=findings.salience_seegull_scores,
        rule=stereotype_rule,
        fingerprint=votes_fingerprint,
    ),
)
