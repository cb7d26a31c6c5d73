"""The metric of scores from a judge's answers, beside those from people's (PROTOCOL §16)."""

from collections.abc import Mapping

import numpy as np

from annotation.models import Study, TaskKind
from metrics.core.answers import describe_stereotype_rule
from metrics.depiction.data import rated_inputs_fingerprint
from metrics.machine_judges.data import Judge, judge_runs
from metrics.machine_judges.people import read_people
from metrics.machine_judges.scores.judged_depiction import depiction_rows
from metrics.machine_judges.scores.judged_ratings import rating_rows
from metrics.machine_judges.scores.metric import (
    JUDGE,
    SECTION,
    SOURCE,
    check_inputs,
    describe_judge,
    judge_fingerprint,
    judge_of,
)
from metrics.score_runs.metric import BENJAMINI, P_AND_Q, SEEGULL, VISAGE, Metric, NothingToCompute
from metrics.score_runs.rows import Inputs, ScoreRow
from metrics.visual_nature import visual_rule
from metrics.votes.data.source import votes_fingerprint


def judge_scores(inputs: Inputs) -> list[ScoreRow]:
    """Raises NothingToCompute without an item that both answered."""
    judge = judge_of(inputs.study, inputs.parameters)
    _check_shared(judge)
    return (rating_rows if judge.design.is_rating else depiction_rows)(judge, inputs)


def _check_inputs(study: Study, parameters: Mapping[str, str]) -> None:
    """Raise NothingToCompute without the judge, or without an item that both answered: before a run is made,
    as a run that failed is shown with the study."""
    check_inputs(study, parameters)
    _check_shared(judge_of(study, parameters))


def _check_shared(judge: Judge) -> None:
    options = judge.verdicts().options
    if not len(options):
        raise NothingToCompute(
            f"No answer of the machine judge '{judge.run.name}' can be read. Look at its answers with "
            f"manage.py judges answers {judge.study.name} {judge.run.name}, and plan one with another model "
            "or wording."
        )
    if not np.isin(read_people(judge.study, judge.task, judge.items).options, options).any():
        raise NothingToCompute(
            f"People have answered no item that the machine judge '{judge.run.name}' has a readable answer "
            "about. Wait until they have, or until the judge has answered more."
        )


def _rule(study: Study, parameters: Mapping[str, str]) -> str:
    """Which judge, and the rule of the study that its scores depend on."""
    found = describe_judge(study, parameters)
    run = judge_runs(study).filter(name=parameters["judge"]).first()
    task = None if run is None else run.recipe["design"]["task"]
    if task == TaskKind.DEPICTION:
        return f"{found}; {describe_stereotype_rule(study)}"
    return f"{found}; {visual_rule.describe(study)}" if task == TaskKind.VISUAL_NATURE else found


def _fingerprint(study: Study, parameters: Mapping[str, str]) -> list[object]:
    """Changes also with the stereotypes, their ratings, and the groups of attributes."""
    return [
        *judge_fingerprint(study, parameters),
        *rated_inputs_fingerprint(study, parameters),
        *votes_fingerprint(study, parameters),
    ]


_NAMES = (
    ("likelihood", "k / n for one attribute of a group; n: judgements, k: selected"),
    ("l_stereo", "mean likelihood of the stereotypical attributes; n: attributes, or groups of the mean"),
    ("l_random", "mean likelihood of the other attributes; n: attributes, or groups of the mean"),
    (
        "theta",
        "l_stereo / l_random; its difference: the natural logarithm of the judge's theta over people's; n: "
        "attributes of both kinds, or groups of the mean",
    ),
    ("o", "O(id); n: attributes marked as present and rated, or groups of the mean"),
    (
        "visual_mean",
        "mean score of an attribute (1 to 5, Unsure is 3), without p and q; n: ratings. Without an "
        "attribute: the mean over attributes; n: attributes",
    ),
    ("visual", "share of the attributes that are visual by the study's rule; n: attributes"),
    ("stereotypical", "share of the answers that are Stereotypical; n: answers"),
    ("offence", "mean rating (-1 to 4, Unsure is 0); n: ratings"),
    ("level", "mean over associations of the mean level (1 to 5, without Unsure); n: answers with a level"),
)

METRICS: tuple[Metric, ...] = (
    Metric(
        name="judge_scores",
        version=4,
        title="Scores from a machine judge's answers",
        source=SOURCE,
        unit="that of the score of people; of differences too, of theta a logarithm",
        direction="a difference above 0: the score from the judge's answers is larger",
        definition=(
            "What the scores would be if the judge had answered instead of people: from its answers, from "
            "people's answers about the same items, and the judge's minus people's. The judge's answer is "
            "the most frequent of its samples; an item without a readable one is left out on both sides: "
            "the page of an image, an attribute or an association. The judge's answer counts once for each "
            "of people's answers about the same item, so that both weigh items equally; k and n of its "
            "likelihoods count it so. Depiction: L = k / n, its means l_stereo and l_random, theta and "
            "O(id), by group and as means over the groups with a score on both sides; other tasks: means "
            "and shares, by group and of all items. An attribute that was rated without a group counts for "
            "each group that the study's stereotype source associates with it. In the study's rule of "
            "visual nature the judge's answer stands for those of all annotators of the attribute. "
            f"{P_AND_Q}: all groups, all likelihoods, or one score of all."
        ),
        names=(
            *_NAMES,
            *(
                row
                for name, _ in _NAMES
                for row in ((f"{name}_p", "p of its difference"), (f"{name}_q", "q of its difference"))
            ),
        ),
        parts="`of: judge`, `of: people`, `of: difference` (the judge's minus people's)",
        parameters=(JUDGE,),
        variants_differ=True,
        variants_note=(
            "published: as in `tendency` and `offensiveness`, 'none of the above' counts as one more random "
            "attribute with k = 0, and ratings of offensiveness are the means printed in the source; "
            "corrected: not. Tasks other than depiction: the same"
        ),
        resampling="",
        clustering=(
            "images (or whatever a unit is about) and annotators; the judge's answers vary with the items "
            "only, and items that both answered are paired. Of one attribute's visual nature: its annotators"
        ),
        section=f"§2-§4, §6, §7, {SECTION}",
        reference=f"{VISAGE}; {SEEGULL}; {BENJAMINI}",
        caveats=(
            "An equal score does not mean equal answers: errors in both directions cancel. Read the "
            "agreement with people too, and by group. A judge that agrees with most people has not heard "
            "those who differ. A q above 5 % does not show that there is no difference. Intervals are of "
            "other items and other people, for this very model, prompt and sampling; another wording is "
            "another judge. An item that more people answered weighs more, on both sides (not in means of "
            "visual nature and of levels): the judge's scores are of this mix of items. Of an association "
            "with no level but Unsure on one side, neither side counts. A group in whose images either "
            "marked nothing as present has no O(id). Where a theta is 0 or infinite, its difference is "
            "infinite and has no p."
        ),
        compute=judge_scores,
        rule=_rule,
        fingerprint=_fingerprint,
        check_inputs=_check_inputs,
    ),
)
