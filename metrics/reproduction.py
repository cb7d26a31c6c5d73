"""ViSAGe's published numbers against those computed from its released annotations, one by one.

Published numbers are facts copied from the paper (metrics/published/, with citation). They are never
filled in from computed ones: where a published number is not at hand, the row says so.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_DOWN, ROUND_HALF_UP, Decimal
from importlib import resources

from annotation.models import Association, Study
from metrics import frames, scoring
from metrics.scoring import visual_rule

EQUAL, TRUNCATED, DIFFERS = "equal", "equal when cut off, not rounded", "differs"
NOT_HELD = "published: not in this table"

CANNOT = (
    "the images themselves: the release names them and does not contain them",
    "captions, and what share of stereotypes they find (44.69 %): neither captions nor images are released",
    "salience scores: they are computed from the captions",
    "the stereotypical pull, S(d,s), S(d,ns), S(s,ns), and figure 5: they need the images' embeddings",
    "agreement of the image annotators as individuals: worker_id names the page, not the person",
    "whether each page had an annotator who does not identify as male: the release holds no demographics",
    "which attributes were drawn as random for a group: the release does not say; what is not a stereotype "
    "by the study's rule is taken to be random",
)


@dataclass(frozen=True)
class Comparison:
    """One number as published and as computed, both as text in the paper's own form."""

    section: str
    item: str
    quantity: str
    published: str
    computed: str
    result: str


@dataclass(frozen=True)
class Reproduction:
    """All comparisons, and `held` / `equal` rows of tables 1 and 2 out of `groups` computed ones."""

    rows: tuple[Comparison, ...]
    groups: int
    held: int
    equal: int

    @property
    def differing(self) -> tuple[Comparison, ...]:
        return tuple(row for row in self.rows if row.result == DIFFERS)


def published_rows(name: str) -> list[dict[str, str]]:
    """The rows of a file of metrics/published/."""
    text = resources.files("metrics.published").joinpath(name).read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))


def compare(printed: str, computed: float | None) -> tuple[str, str]:
    """(computed in the printed form, how they compare).

    The computed number is rounded to as many decimals as are printed; where that differs but cutting the
    decimals off agrees, that is said, since the paper does both. N/A stands for an infinite θ.
    """
    if computed is None:
        return "undefined", DIFFERS
    if computed == float("inf"):
        return "N/A", EQUAL if printed == "N/A" else DIFFERS
    if printed == "N/A":
        return f"{computed:.2f}", DIFFERS
    step = Decimal(1).scaleb(-len(printed.partition(".")[2]))
    # repr gives the shortest decimal that is this float, so 0.125 is a tie here as it is on paper
    exact = Decimal(repr(float(computed)))
    rounded = exact.quantize(step, rounding=ROUND_HALF_UP)
    if rounded == Decimal(printed):
        return str(rounded), EQUAL
    if exact.quantize(step, rounding=ROUND_DOWN) == Decimal(printed):
        return str(rounded), TRUNCATED
    return str(rounded), DIFFERS


def reproduce(*, study: Study) -> Reproduction:
    """Compare everything that can be; `study` is the imported release."""
    with frames.snapshot():
        tables = _tables(study)
        rows = (*tables, *_single_numbers(study, len(tables) // 3), *_thrice(study), *_visual_counts(study))
    held = {row.item for row in tables if row.published}
    wrong = {row.item for row in tables if row.result == DIFFERS}
    groups = {row.item for row in tables if row.computed}
    return Reproduction(rows=rows, groups=len(groups), held=len(held), equal=len(held - wrong))


def _tables(study: Study) -> list[Comparison]:
    """Three comparisons for every group, computed or published (PROTOCOL §6)."""
    found = scoring.evaluate(study=study, metric="tendency", variant="published", resamples=0, seed=0)
    computed = {(row.group, row.name): row.value for row in found.rows}
    published = {row["identity"]: row for row in published_rows("visage_tables_1_2.csv")}
    rows = []
    for group in sorted({group for group, _ in computed} | set(published)):
        for name in ("l_stereo", "l_random", "theta"):
            printed = published.get(group, {}).get(name, "")
            if (group, name) not in computed:
                rows.append(Comparison("tables 1-2", group, name, printed, "", DIFFERS))
                continue
            value = computed[group, name]
            if printed:
                text, result = compare(printed, value)
            else:
                text, result = _two_decimals(value), NOT_HELD
            rows.append(Comparison("tables 1-2", group, name, printed, text, result))
    return rows


def _two_decimals(value: float | None) -> str:
    if value is None:
        return "undefined"
    return "N/A" if value == float("inf") else f"{value:.2f}"


def _single_numbers(study: Study, groups: int) -> list[Comparison]:
    """Counts and percentages of the text (PROTOCOL §2, §13)."""
    shown = list(frames.depiction(study, by_response=False))
    consensus = scoring.evaluate(study=study, metric="consensus", variant="published", resamples=0, seed=0)
    computed: dict[str, float | None] = {row.name: row.value for row in consensus.rows}
    computed["attributes rated"] = consensus.rows[0].n
    computed["identity groups"] = len(shown)
    # three annotators judged each pair, so the paper's count is a third of the judgements
    computed["image-attribute pairs"] = sum(int(frame.shown.sum()) for frame in shown) / 3
    computed["rows of tables 1 and 2"] = groups
    rows = []
    for fact in published_rows("visage_facts.csv"):
        if fact["quantity"] in computed:
            text, result = compare(fact["printed"], computed[fact["quantity"]])
            rows.append(Comparison("text", fact["where"], fact["quantity"], fact["printed"], text, result))
    return rows


def _thrice(study: Study) -> list[Comparison]:
    """'Thrice as likely' can be read in more than one way (PROTOCOL §6); each is named, none compared
    to more digits than the word has."""
    printed = next(row for row in published_rows("visage_facts.csv") if row["quantity"] == "times as likely")
    rows = []
    for variant in ("published", "corrected"):
        sums = Counter[str]()
        for found in frames.depiction(study, by_response=False):
            frame = found if variant == "published" else found.without_none_of_above()
            for kind, chosen in (("stereo", frame.stereotypical), ("random", ~frame.stereotypical)):
                sums[f"k {kind}"] += int(frame.selected[:, chosen].sum())
                sums[f"n {kind}"] += int(frame.shown[:, chosen].sum())
        pooled = _quotient(
            _quotient(sums["k stereo"], sums["n stereo"]), _quotient(sums["k random"], sums["n random"])
        )
        scores = scoring.evaluate(study=study, metric="tendency", variant=variant, resamples=0, seed=0).rows
        means = [
            _mean([row.value for row in scores if row.name == name]) for name in ("l_stereo", "l_random")
        ]
        readings = (
            (f"pooled over all annotations, {variant}", pooled),
            (f"ratio of the means over the reported groups, {variant}", _quotient(means[0], means[1])),
        )
        for item, value in readings:
            result = f'reading of "thrice": {value:.2f} times' if value is not None else "undefined"
            rows.append(
                Comparison("times as likely", item, "times", printed["printed"], _two_decimals(value), result)
            )
    return rows


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _quotient(top: float | None, bottom: float | None) -> float | None:
    return top / bottom if top is not None and bottom else None


def _visual_counts(study: Study, most: int = 10) -> list[Comparison]:
    """Visual attributes of the groups with the most of them, by two readings: those shown with its images
    and stereotypical by the study's rule, and all of its associations with a visual attribute."""
    shown = Counter(
        {frame.group: int(frame.stereotypical.sum()) for frame in frames.depiction(study, by_response=False)}
    )
    frame = frames.visual_nature(study)
    passed = visual_rule.passed(study, frame.ratings)
    visual = {pk for pk, fits in zip(frame.attribute_ids, passed, strict=True) if fits}
    associated: Counter[str] = Counter()
    associations = Association.objects.filter(source=study.stereotype_source_id)
    for group, attribute in associations.values_list("group__name", "attribute_id"):
        associated[group] += attribute in visual
    readings = (("stereotypical attributes shown", shown), ("associated visual attributes", associated))
    return [
        Comparison("visual attributes", group, quantity, "", str(number), NOT_HELD)
        for quantity, counts in readings
        for group, number in sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:most]
    ]
