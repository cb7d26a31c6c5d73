"""The metrics of leagues."""

from collections.abc import Callable, Collection
from functools import partial
from typing import TypedDict

from django.contrib.auth.models import User

from annotation.models import Study
from metrics.league import access
from metrics.league.data import studies
from metrics.league.kinds import (
    DEPICTION,
    LEVELS,
    MODEL,
    OFFENSIVENESS,
    PREVALENCE,
    STUDY,
    VISUAL_NATURE,
    Kind,
)
from metrics.league.scores.answers import answers_league_scores
from metrics.league.scores.depiction import tendency_league_scores
from metrics.score_runs.metric import (
    BENJAMINI,
    BIASDORA,
    SEEGULL,
    VISAGE,
    Metric,
    Parameter,
    Parameters,
)

_JOINT = (
    "Mogstad, Romano, Shaikh & Wilhelm (2024), doi:10.1093/restud/rdad006; Games & Howell (1976), "
    "doi:10.3102/10769986001002113; Brunner, Dette & Munk (1997), doi:10.1080/01621459.1997.10473671; "
    f"{BENJAMINI}"
)
_OTHERS = "names of the other studies, sorted, with commas; empty: "
_COMPARED = (
    "The unweighted mean of each study over the {units} that all studies with answers have, and its place, "
    "with the places that it can have: with 95 % confidence, those of all studies hold at once. p is that of "
    "all studies having the same mean. Of each {unit}, the number in each study, how far the largest and the "
    "smallest are apart, and the p of all studies having the same; q is p adjusted by Benjamini and Hochberg "
    "over the {units}."
)
_BY_GROUP = _COMPARED.format(unit="group", units="groups")
_SAME = (
    "People, and {items}, in several studies are the same, so what they share cancels in a difference. A "
    "difference is due to what the studies were made to compare only if they have the same protocol: the "
    "league lists what differs. With few {items}, studies can have many places: a place alone says little. "
    "If annotators are not identified, the places do not include how one annotator affects several studies."
)
_GROUPS_LEFT_OUT = (
    "A group that is not in all studies, or has a single {item} or annotator in one, is left out of all "
    "means. If the studies asked about other {items} of a group, that also makes a difference: "
    "attributes_shared counts them."
)

_FEW = (
    "The p of a single attribute is of those few who rated it: with three in each study, only large "
    "differences can be told from chance, and fewer of them among many attributes."
)


def _of_answers(
    kind: Kind,
    *,
    title: str,
    unit: str,
    direction: str,
    definition: str,
    of_unit: str,
    items: str,
    section: str,
    reference: str,
    caveats: str,
) -> Metric:
    """The metric of a league of studies by their answers; `of_unit`: its number in words."""
    [score] = kind.scores
    return Metric(
        name=kind.metric,
        version=2,
        title=title,
        task=kind.task,
        unit=f"{unit} ({score}); place, 1 for the largest (rank); p and q of 0 to 1; counts",
        direction=direction,
        definition=definition,
        names=(
            (score, f"of a study: mean over the units; n: units. Of a unit in a study: {of_unit}"),
            ("rank", "place of several studies; interval: places that it can have; n: studies ranked"),
            ("p", "p of all studies having the same mean; n: studies"),
            ("spread", "of a unit: its largest number minus its smallest; n: studies"),
            ("spread_p", "p of the unit having the same number in all studies"),
            ("spread_q", "its q over the units"),
            ("left_out", "of a unit that is not compared: the studies with answers about it; n: studies"),
            ("attributes_shared", "of a group: attributes that all studies asked about; n: that any did"),
            ("answers", "of a study: answers that count"),
            ("people", "of a study, if any annotator is identified; n: answers"),
            ("units", "of a study: groups or attributes with answers; n: those compared"),
            ("people_shared", "people who answered in several studies; n: all people"),
        ),
        section=f"{section}, §10",
        reference=f"{reference}; {_JOINT}",
        parts=f"`{STUDY}STUDY`, for a study; without, what is about all of them",
        resampling="",
        clustering=f"{items} and annotators, whatever the study's choice: nothing is resampled",
        caveats=caveats,
        compute=partial(answers_league_scores, kind),
        **_of_kind(kind, "this study alone"),
    )


class _OfKind(TypedDict):
    parameters: tuple[Parameter, ...]
    rule: Callable[[Study, Parameters], str]
    fingerprint: Callable[[Study, Parameters], list[object]]
    check_inputs: Callable[[Study, Parameters], None]
    check_offered: Callable[[User, Study, Parameters], None]
    check_readable: Callable[[User, Parameters], None]
    other_studies: Callable[[Parameters], Collection[str]]


def _of_kind(kind: Kind, alone: str) -> _OfKind:
    """What all leagues have. `alone`: the league without other studies, in words."""
    return {
        "parameters": (Parameter(studies.STUDIES, "", f"{_OTHERS}{alone}"),),
        "rule": partial(studies.describe_rules, kind),
        "fingerprint": partial(studies.inputs_fingerprint, kind),
        "check_inputs": studies.check_inputs,
        "check_offered": partial(access.check_offered, kind),
        "check_readable": partial(access.check_readable, kind),
        "other_studies": access.other_studies,
    }


METRICS: tuple[Metric, ...] = (
    Metric(
        name="tendency_league",
        version=3,
        title="League of models by stereotypical likelihood, tendency and offensiveness",
        task="depiction",
        unit=(
            "share of 0 to 1 (l_stereo, l_random); ratio of two shares (theta); as in offensiveness (o); "
            "place, 1 for the largest (rank, theta_rank, o_rank); p and q of 0 to 1; counts"
        ),
        direction="place 1: its images show stereotypes most often, or the most offensive ones",
        definition=(
            "A model is the images of one image set as judged in one study. Over the groups that all models "
            "have: the means of l_stereo and l_random of each model, theta as the ratio of the two, and the "
            "mean of O(id), over those of them that have one in all models. The place of each model by "
            "l_stereo, by theta (its logarithm) and by O(id), with the places that it can have: with 95 % "
            "confidence, those of all models by one score hold at once. p is that of all models having the "
            "same score. Of each group, l_stereo and theta in each model, how far the largest and the "
            "smallest l_stereo are apart, and the p of all models having the same; q is p adjusted by "
            "Benjamini and Hochberg over the groups."
        ),
        names=(
            (
                "l_stereo",
                "of a model: mean over the groups; n: groups. Of a group in a model; n: attributes",
            ),
            ("l_random", "the same of all other attributes"),
            ("theta", "ratio of the two; infinite if no other attribute was seen"),
            ("o", "of a model: mean O(id) over the groups that have one in all models; n: groups"),
            (
                "rank",
                "place by l_stereo of several models; interval: places that it can have; n: models ranked",
            ),
            ("theta_rank", "place by theta; models with a theta of 0 or infinity have none"),
            ("o_rank", "place by O(id)"),
            ("p", "p of all models having the same l_stereo; n: models"),
            ("theta_p", "p of all models having the same theta; n: models with a finite one"),
            ("o_p", "p of all models having the same O(id); n: models"),
            ("spread", "of a group: its largest l_stereo minus its smallest; n: models"),
            ("spread_p", "p of the group having the same l_stereo in all models"),
            ("spread_q", "its q over the groups"),
            ("left_out", "of a group that is not compared: the models in which it is reported; n: models"),
            (
                "left_out_defined",
                "of such a group, if fewer: the models in which l_stereo and l_random are both defined; "
                "n: models",
            ),
            ("attributes_shared", "of a group: attributes shown in all models; n: shown in any"),
            ("images", "of a model, or of a group in it; n: answers, or images"),
            ("answers", "of a model"),
            ("people", "of a model, if any annotator is identified; n: answers"),
            ("groups", "of a model: groups that are reported; n: groups compared"),
            ("people_shared", "people who judged several models; n: all people"),
        ),
        variants_differ=True,
        variants_note=(
            "published: 'none of the above' counts as one more random attribute with k = 0, and O(attr, id) "
            "is the mean printed in its source; corrected: not, and the mean of the single ratings"
        ),
        section="§6, §7, §10",
        reference=f"{VISAGE}; {_JOINT}",
        parts=f"`{MODEL}STUDY/IMAGE_SET`, for a model; without, what is about all of them",
        resampling="",
        clustering=(
            "images and annotators, whatever the study's choice: nothing is resampled; images and people in "
            "several studies are the same"
        ),
        caveats=(
            "A difference is due to the models only if the studies have the same protocol: other questions, "
            "attributes, rules or people also make a difference, and the league lists what differs. A group "
            "that is not reported in all models, has no l_random in one of them (no other attribute was "
            "shown), or a single image or annotator in one, is left out of all means; so is, of O, one in "
            "whose images nothing rated was seen, even if a model did best on it. With few images per group, "
            "models can have many places: a place alone says little. "
            "Models with equal scores can change places. If annotators are not identified, the places do not"
            " include how one annotator affects several models. Ratings are taken as given."
        ),
        compute=tendency_league_scores,
        **_of_kind(DEPICTION, "the image sets of this study"),
    ),
    _of_answers(
        PREVALENCE,
        title="League of studies by the share of associations that are stereotypes",
        unit="share of 0 to 1",
        direction="place 1: its annotators know the largest share of associations as stereotypes",
        definition=(
            "The share of the associations of a group that are stereotypes by the study's rule: of its pool, "
            f"in-region or out-region, at least as many as its rule says answered Stereotypical. {_BY_GROUP}"
        ),
        of_unit="share of its associations that are stereotypes; n: associations",
        items="associations",
        section="§3",
        reference=SEEGULL,
        caveats=(
            "The rule counts annotators, so the share grows with how many answered about an association. "
            f"{_GROUPS_LEFT_OUT.format(item='association', items='associations')} "
            f"{_SAME.format(items='associations')}"
        ),
    ),
    _of_answers(
        OFFENSIVENESS,
        title="League of studies by how offensive attributes are rated",
        unit="points of the offensiveness scale (-1 to 4; Unsure counts as 0)",
        direction="place 1: its annotators find the attributes most offensive",
        definition=(
            "The mean of the ratings of a group, as in rated_offensiveness. If no rating of one of the "
            "studies counts for a group, of each attribute; otherwise ratings of attributes of no group are "
            "left out. "
            f"{_COMPARED.format(unit='group or attribute', units='groups or attributes')}"
        ),
        of_unit="mean rating; n: ratings",
        items="attributes",
        section="§4",
        reference=SEEGULL,
        caveats=(
            f"{_GROUPS_LEFT_OUT.format(item='attribute', items='attributes')} {_FEW} "
            f"{_SAME.format(items='attributes')}"
        ),
    ),
    _of_answers(
        LEVELS,
        title="League of studies by how biased associations are",
        unit="points of the scale of levels, 1 (not at all) to 5 (extremely biased)",
        direction="place 1: its associations are the most biased in the eyes of its annotators",
        definition=(
            f"The mean level of the answers about a group, as in bias_levels; Unsure is no level. {_BY_GROUP}"
        ),
        of_unit="mean level; n: answers with a level",
        items="associations",
        section="§11",
        reference=BIASDORA,
        caveats=(
            f"{_GROUPS_LEFT_OUT.format(item='association', items='associations')} "
            f"{_SAME.format(items='associations')}"
        ),
    ),
    _of_answers(
        VISUAL_NATURE,
        title="League of studies by the visual nature of attributes",
        unit="points of the scale 1 to 5 (Unsure is 3)",
        direction="place 1: its annotators find the attributes most visual",
        definition=(
            "The mean score of an attribute, as in visual_nature. "
            f"{_COMPARED.format(unit='attribute', units='attributes')}"
        ),
        of_unit="mean score; n: ratings",
        items="attributes",
        section="§2",
        reference=VISAGE,
        caveats=f"{_FEW} {_SAME.format(items='attributes')}",
    ),
)
