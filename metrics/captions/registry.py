"""Metrics of what captions say, and of how much an attribute stands out."""

from __future__ import annotations

from annotation.models import Study
from metrics.captions import data
from metrics.captions.scores import caption_agreement, findings
from metrics.depiction.data import inputs_fingerprint as depiction_fingerprint
from metrics.score_runs.metric import SEEGULL, VISAGE, Metric, Parameter, Parameters, stereotype_rule
from metrics.votes.data import fingerprints

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
    "`all` that the study asks about or its stereotype source holds, or those that are `visual` by its rule",
)
_SMOOTHING = Parameter("smoothing", "1", "the constant a of additive smoothing; 0 for none")
_FOUND = (
    "An attribute is found by whole words after lower-casing and lemmatising (simplemma, English), a phrase "
    "as a phrase; hyphens part words"
)
_LEMMAS = (
    "Lemmas serve to find, and are never shown: each attribute is listed as the catalogue has it, and "
    "several of the same lemmas ('hat', 'hats') are each found, counted and listed wherever one is. Lemmas "
    "join what English spells alike: 'glasses' are found in 'a glass of water', 'tanned' in 'tan'. A "
    "negation ('no hat') is an occurrence too."
)
_AS_PRINTED = (
    "Attributes are shown as their source prints them; the authors of SeeGULL v2 made lemmas of many ('good "
    "at run', 'poorly educate')."
)
_IMAGES_ONLY = "The interval draws images, within each group; captions have no annotators."


def _with_stereotypes(study: Study, parameters: Parameters) -> list[object]:
    return [*depiction_fingerprint(study, parameters), *data.inputs_fingerprint(study, parameters)]


METRICS: tuple[Metric, ...] = (
    Metric(
        name="caption_findings",
        version=1,
        title="Attributes found in captions",
        task="",
        unit="share of 0 to 1",
        direction="larger: more captions of the group's images name the attribute",
        definition=(
            f"The share of the captions of a group's images in which the attribute is found. {_FOUND}. "
            "Attributes found at least once are listed."
        ),
        names=(("found", "k of n captions hold the attribute"),),
        interval=True,
        variants_differ=False,
        variants_note="the same",
        section="§8",
        source="captions",
        parameters=(*_READ, _ATTRIBUTES),
        caveats=f"{_LEMMAS} {_IMAGES_ONLY} Captions are what a captioner says, not what an image shows.",
        compute=findings.caption_findings_scores,
        rule=data.describe_captions,
        fingerprint=data.inputs_fingerprint,
    ),
    Metric(
        name="salience",
        version=1,
        title="Salience of an attribute in captions",
        task="",
        unit="1 (tf · idf)",
        direction="larger: named more often for this group, and in fewer captions of all groups",
        definition=(
            "S(attr, id) = tf · idf. tf = (k + a) / (n + a·A): k of the n occurrences of any of the A "
            "attributes in captions of the group are of this one; additive smoothing with the constant a. "
            "idf = ln((1 + |C|) / (1 + df)) + 1: df of all captions |C|, of all groups, hold it. "
            f"{_FOUND}. Attributes found at least once in captions of the group are listed."
        ),
        names=(
            (
                "salience",
                "S(attr, id); k: occurrences of the attribute, n: of all, in captions of the group",
            ),
        ),
        interval=True,
        variants_differ=False,
        variants_note="the same",
        section="§8",
        source="captions",
        parameters=(*_READ, _ATTRIBUTES, _SMOOTHING),
        caveats=(
            f"{_LEMMAS} {_IMAGES_ONLY} Smoothing and the number of attributes looked for change the values: "
            "compare those made with the same."
        ),
        compute=findings.salience_scores,
        rule=data.describe_captions,
        fingerprint=data.inputs_fingerprint,
    ),
    Metric(
        name="caption_agreement",
        version=1,
        title="Agreement of captions with people",
        task="depiction",
        unit="share of 0 to 1",
        direction="larger: more of what captions name was also seen by people",
        definition=(
            "Of the pairs (attr, id) that captions of the group's images name and people were shown with its "
            "images, the share that somebody selected, L(attr, id) > 0. ViSAGe prints 44.69 %, which cannot "
            f"be recomputed, since its captions were not released. {_FOUND}."
        ),
        names=(
            (
                "agreement",
                "k of the n pairs that captions name and people were shown were selected",
            ),
            ("unjudged", "number of pairs that captions name and people were never shown: in no share"),
        ),
        interval=True,
        variants_differ=False,
        variants_note="the same",
        section="§8",
        source="captions",
        parts=(
            "none: without the visual reference, every attribute; `visual attributes`: with it, those that "
            "are visual by the study's rule, where it asked. Of each group, and of the whole study with its "
            "pairs pooled"
        ),
        parameters=_READ,
        caveats=(
            f"{_LEMMAS} A single selection by a single person makes L > 0. A resample holds fewer different "
            "images and annotators and so sees less: the resampled shares are moved to have the estimate as "
            "their mean. The interval of the whole draws annotators once for all groups, images within each."
        ),
        compute=caption_agreement.caption_agreement_scores,
        rule=data.describe_captions,
        fingerprint=_with_stereotypes,
    ),
    Metric(
        name="salience_seegull",
        version=1,
        title="Salience of a stereotype in its region",
        task="",
        unit="1 (tf · idf)",
        direction="larger: more votes for this group, shared with fewer groups of its region",
        definition=(
            "The same tf · idf with SeeGULL's arguments. For a group: k of the n votes for its stereotypes "
            "are for this one; A is the number of different stereotypes in its region. Documents are the "
            "groups of the region, each with its stereotypes; df of them share this one. For a region: the "
            "votes of its groups together, and the regions as documents. Stereotypes and the pool of votes "
            "are those of the study's rule."
        ),
        names=(
            ("salience", "S(attr, id) in its region; k: votes for the stereotype, n: votes of the group"),
            ("salience_region", "S(attr, region) among regions; k: votes, n: votes of the region"),
        ),
        interval=False,
        variants_differ=False,
        variants_note="the same",
        section="§8",
        reference=f"{SEEGULL}; {VISAGE}",
        source="votes",
        parts="`region: NAME` of `salience_region`",
        parameters=(_SMOOTHING,),
        caveats=(
            "The constants, and that a document is a group, are PROTOCOL's reading; they were not checked "
            "against values that SeeGULL prints. Groups without a region are compared among themselves. No "
            "interval: counted from a published list, not sampled; it keeps how many voted, not who. "
            f"{_AS_PRINTED}"
        ),
        compute=findings.salience_seegull_scores,
        rule=stereotype_rule,
        fingerprint=fingerprints.of_votes,
    ),
)
