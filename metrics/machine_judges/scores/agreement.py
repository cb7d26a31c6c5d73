"""The metric of a machine judge's agreement with people (PROTOCOL §16)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from annotation.models import IdentityGroup, Study
from metrics.agreement.scores.rows import readings
from metrics.core.annotator_groups import GROUPINGS
from metrics.core.fingerprints import profiles_fingerprint
from metrics.core.stats.checks import Ints
from metrics.machine_judges.data import Judge
from metrics.machine_judges.design import BASE, SAMPLES, Boxes
from metrics.machine_judges.people import read_people
from metrics.machine_judges.readings import counted_problems
from metrics.machine_judges.scores.agreement_data import (
    Answered,
    Units,
    clusters_of,
    read_answered,
    read_box_pairs,
    read_units,
)
from metrics.machine_judges.scores.agreement_rows import box_rows, rating_rows
from metrics.machine_judges.scores.metric import (
    JUDGE,
    SECTION,
    SOURCE,
    check_inputs,
    describe_judge,
    judge_fingerprint,
    judge_of,
)
from metrics.machine_judges.stats import shares
from metrics.score_runs.metric import BENJAMINI, P_AND_Q, Metric, Parameter
from metrics.score_runs.rows import Inputs, ScoreRow, score_row


def judge_agreement_scores(inputs: Inputs) -> list[ScoreRow]:
    """Raises NothingToCompute without a judge that has answered, and ValueError for another `by`."""
    by = inputs.parameters["by"]
    if by not in {"none", *GROUPINGS}:
        raise ValueError(f"Annotators can be compared by none, {', '.join(GROUPINGS)}; not by '{by}'.")
    judge = judge_of(inputs.study, inputs.parameters)
    units, people = read_units(judge), read_people(judge.study, judge.task, judge.items)
    answered = read_answered(judge, units, people, by=None if by == "none" else by)
    rows: list[ScoreRow] = []
    for reading in readings(judge.design.task):
        rows += rating_rows(answered, reading, clustered=inputs.clustered)
    if judge.design.boxes != Boxes.NONE:
        rows += box_rows(read_box_pairs(judge, units, people), clustered=inputs.clustered)
    rows += _confusion(answered, inputs.clustered)
    rows += _stability(judge, units, inputs.clustered)
    rows += _unusable(judge)
    return rows


def _confusion(answered: Answered, clustered: bool) -> Iterator[ScoreRow]:
    if not len(answered.people):
        return
    for each in shares.confusion(answered.table, answered.verdicts, clustered=clustered):
        part = f"people: {answered.values[each.people]}; judge: {answered.values[each.judge]}"
        share = each.share
        yield score_row("confusion", share.value, each.answers, share.interval, k=each.number, part=part)


def _stability(judge: Judge, units: Units, clustered: bool) -> Iterator[ScoreRow]:
    clusters = clusters_of(judge)
    for variant, options, same in _compared(judge):
        counted = units.of_option[options] >= 0
        options, same = options[counted], same[counted]
        if len(options):
            found = shares.share_alike(same, clusters[options], clustered=clustered)
            yield score_row(
                "stability",
                found.value,
                len(same),
                found.interval,
                k=int(same.sum()),
                part=f"variant: {variant}",
            )


def _compared(judge: Judge) -> Iterator[tuple[str, Ints, Ints]]:
    """A variant, the options that were judged again in it, and whether the answer was the same (1 or 0)."""
    found = judge.readings
    place = found.names.index(BASE)
    base = np.flatnonzero(found.variants[found.answers] == place)
    later, same = shares.later_and_first(
        found.options[base], found.samples[found.answers[base]], found.values[base]
    )
    yield SAMPLES, found.options[base][later], same
    first = judge.verdicts()
    for variant in judge.design.variants[1:]:
        other = judge.verdicts(variant)
        _, at, again = np.intersect1d(first.options, other.options, return_indices=True)
        yield variant, first.options[at], (first.values[at] == other.values[again]).astype(np.int64)


def _unusable(judge: Judge) -> Iterator[ScoreRow]:
    asked = judge.readings.asked.get(BASE, 0)
    if not asked:
        return
    problems = counted_problems(judge.readings)
    of_all = sum(problems.values())
    yield score_row("unusable", of_all / asked, asked, k=of_all)
    for problem, number in sorted(problems.items()):
        yield score_row("unusable", number / asked, asked, k=number, part=f"problem: {problem.value}")


def _fingerprint(study: Study, parameters: Mapping[str, str]) -> list[object]:
    """Changes with the answers of both, and with what sorts annotators and identity groups."""
    parts = judge_fingerprint(study, parameters)
    parts.append(sorted(map(list, IdentityGroup.objects.values_list("pk", "region"))))
    if parameters["by"] != "none":
        parts.append(profiles_fingerprint(study))
    return parts


METRICS: tuple[Metric, ...] = (
    Metric(
        name="judge_agreement",
        version=2,
        title="Agreement of a machine judge with people",
        unit=(
            "per cent (percentages); -1 to 1 (judge_kappa, people_alpha); 0 to 1 (IoU, confusion, stability, "
            "unusable); differences in the same units, those of percentages in points"
        ),
        direction=(
            "larger: the judge gives the same answers as people more often. A difference above 0: it agrees "
            "with people more than they do with each other, which is no reason to ask fewer people: a judge "
            "that agrees with a majority has not heard those who differ"
        ),
        definition=(
            "For each level of measurement: the share of pairs of the judge's verdict and a person's answer "
            "about the same unit that are equal, with the cross-replication reliability κ_x = 1 − D_o / "
            "D_e; beside them the share of equal pairs of two people about the same units, with "
            "Krippendorff's α; and the first minus the second. Both are about the same units, so those with "
            "a single answer of people count on neither side; with `by`, with a single one of the group. A "
            "unit is an attribute of an image, an association or an attribute; none of the above is no "
            "attribute. The verdict is the most frequent of the judge's answers about an item, so several "
            "answers about an item count once. For boxes, the mean best-match IoU in the same two kinds of "
            "pairs, where the judge and at least two people drew some. All of the whole task, of each "
            "region, identity group and attribute; with `by`, of each group of annotators, and of each in "
            "each region. Confusion, of units with one answer too: of people's answers of one value, the "
            "share to which the judge gave each value. Stability: the share of the judge's answers that are "
            f"the same when it is asked again. {P_AND_Q}: percentage and κ of one level of measurement, and "
            "all regions, all identity groups, all attributes, all groups of annotators, or all of these by "
            "region."
        ),
        names=(
            (
                "judge_percentage",
                "percentage of pairs of the judge and a person that are equal; n: pairs, k: equal pairs",
            ),
            ("people_percentage", "the same of pairs of two people about the same units"),
            ("percentage_difference", "judge_percentage minus people_percentage; n: pairs of both"),
            ("percentage_difference_p", "its p"),
            ("percentage_difference_q", "its q"),
            (
                "judge_kappa",
                "cross-replication reliability κ_x of the judge and people; n: units that the judge and two "
                "people answered",
            ),
            ("people_alpha", "Krippendorff's α of people; n: the same units"),
            ("kappa_difference", "judge_kappa minus people_alpha; n: the same units"),
            ("kappa_difference_p", "its p"),
            ("kappa_difference_q", "its q"),
            (
                "judge_iou",
                "mean best-match IoU of the boxes of the judge and a person; n: pairs for one attribute of "
                "an image",
            ),
            ("people_iou", "the same of two people, for the same attributes of images"),
            ("iou_difference", "judge_iou minus people_iou; n: pairs of both"),
            (
                "confusion",
                "share of people's answers V to which the judge answered W; n: people's answers V",
            ),
            (
                "stability",
                "share of the judge's answers about attributes that are the same as at first; n: answers "
                "compared",
            ),
            (
                "unusable",
                "share of the judge's answers that could not be used, of all or for one problem; n: answers; "
                "without interval",
            ),
        ),
        section=SECTION,
        reference=(
            "Wong, Paritosh & Aroyo (2021), doi:10.18653/v1/2021.acl-long.548; Krippendorff (2011), "
            f"https://repository.upenn.edu/asc_papers/43; {BENJAMINI}"
        ),
        source=SOURCE,
        parts=(
            "`reading: LEVEL`, perhaps with `; region: REGION` of the judged group, then perhaps with "
            "`; annotators: GROUP`. Levels: nominal (all labels, including Unsure), ordinal and interval "
            "(Unsure is missing; only for visual nature, offensiveness and bias of an association). Of "
            "confusion `people: V; judge: W`, values of the scale; of stability `variant: samples` (the same "
            "item again), `variant: order` (options in another order), `variant: wording` or "
            "`variant: language-CODE`; of unusable `problem: PROBLEM`"
        ),
        parameters=(
            JUDGE,
            Parameter(
                "by",
                "none",
                "groups of annotators: none, gender, origin, or pool (in- and out-region, PROTOCOL §3)",
            ),
        ),
        resampling="",
        clustering=(
            "images (or whatever a unit is about) and annotators, whatever the study's choice; the judge is "
            "one fixed rater and no annotator; a pair of two people belongs to both; images and people that "
            "both sides of a difference have are the same; images only if annotators are not identified; "
            "none for a single image"
        ),
        caveats=(
            "A judge that agrees with a majority has not heard those who differ: where people disagree, it "
            "can agree with most of them and speak for none of the others. Look at regions and groups of "
            "annotators before quoting one number. κ_x and α fall when one answer is much more frequent "
            "than the others, even if nearly all pairs agree; most attributes of an image are not selected, "
            "so percentages and stability are high by chance. Units with more answers weigh more, and more "
            "so among people. Differences with fewer than five people have no interval, p or q. Groups of "
            "fewer than three identified people who count are left out, and so is the smallest other group "
            "if these could be found by subtraction. Boxes are compared only where both drew some. The "
            "intervals are for other items and other people, and for this judge only. A q above 5 % does "
            "not show that there is no difference."
        ),
        compute=judge_agreement_scores,
        rule=describe_judge,
        fingerprint=_fingerprint,
        check_inputs=check_inputs,
    ),
)
