"""Compare ViSAGe's published numbers with those computed from its released annotations.

Published numbers are copied from the paper (metrics/published/, with citation), never filled in from computed
ones.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_DOWN, ROUND_HALF_UP, Decimal

from annotation.models import Study
from metrics.core import published_tables
from metrics.core.answers import stereotypes
from metrics.core.fingerprints import snapshot
from metrics.depiction.data import read_depiction
from metrics.pull.published import PULL, published_pull
from metrics.score_runs.evaluation import evaluate
from metrics.visual_nature import visual_rule
from metrics.visual_nature.data import read_visual_nature

EQUAL, TRUNCATED, DIFFERS = "equal", "equal when cut off, not rounded", "differs"
WITHIN_ROUNDING = "equal within the rounding of the three"
NOT_RELEASED = "not in the release: it has no embeddings"
# The rounding error of each printed number.
_PRINTED_STEP = Decimal("0.0001")

NOT_REPRODUCIBLE = (
    "the images themselves: the release names them and does not contain them",
    "captions, and what share of stereotypes they find (44.69 %): neither captions nor images are released",
    "salience scores: they are computed from the captions",
    "S(d,s), S(d,ns) and S(s,ns) of tables 3 to 5, and figure 5: they need the images' embeddings; what "
    "follows from the printed numbers alone is compared",
    "agreement of the image annotators as individuals: worker_id names the page, not the person",
    "whether each page had an annotator who does not identify as male: the release holds no demographics",
    "which attributes were drawn as random for a group: the release does not say; what is not a stereotype "
    "by the study's rule is taken to be random",
)


@dataclass(frozen=True)
class Comparison:
    """One number as published and as computed, both as text in the paper's format."""

    section: str
    item: str
    quantity: str
    published: str
    computed: str
    result: str


@dataclass(frozen=True)
class Reproduction:
    """All comparisons; and for tables 1 and 2 how many rows are `published`, `equal` (`cut_off` of them only
    if truncated), and computed (`groups`)."""

    rows: tuple[Comparison, ...]
    groups: int
    published: int
    equal: int
    cut_off: int

    @property
    def differing(self) -> tuple[Comparison, ...]:
        return tuple(row for row in self.rows if row.result == DIFFERS)


def compare(printed: str, computed: float | None) -> tuple[str, str]:
    """(computed number in the printed form, result of the comparison).

    The computed number is rounded to the printed number of decimals. If that differs but truncation agrees,
    the result says so, since the paper does both. N/A means an infinite θ.
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
    """Compare everything that can be compared; `study` is the imported release."""
    with snapshot():
        tables = _tables(study)
        visual, number = _visual_stereotypes(study)
        rows = (
            *tables,
            *_single_numbers(study, len(tables) // 3, visual, number),
            *_times_as_likely(study),
            *_visual_stereotype_counts(visual),
            *_pull(),
        )
    published = {row.item for row in tables if row.published}
    wrong = {row.item for row in tables if row.result == DIFFERS}
    groups = {row.item for row in tables if row.computed}
    cut_off = {row.item for row in tables if row.result == TRUNCATED} - wrong
    return Reproduction(
        rows=rows,
        groups=len(groups),
        published=len(published),
        equal=len(published - wrong),
        cut_off=len(cut_off),
    )


def _tables(study: Study) -> list[Comparison]:
    """Three comparisons for every group, computed or published (PROTOCOL §6)."""
    found = evaluate(study=study, metric="tendency", variant="published", resamples=0, seed=0)
    computed = {(row.group, row.name): row.value for row in found.rows}
    published = {row["identity"]: row for row in published_tables.published_rows("visage_tables_1_2.csv")}
    rows = []
    for group in sorted({group for group, _ in computed} | set(published)):
        for name in ("l_stereo", "l_random", "theta"):
            printed = published.get(group, {}).get(name, "")
            text, result = "", DIFFERS
            if (group, name) in computed:
                value = computed[group, name]
                text, result = compare(printed, value) if printed else (_two_decimals(value), DIFFERS)
            rows.append(Comparison("tables 1-2", group, name, printed, text, result))
    return rows


def _two_decimals(value: float | None) -> str:
    if value is None:
        return "undefined"
    return "N/A" if value == float("inf") else f"{value:.2f}"


def _single_numbers(
    study: Study, groups: int, visual: Mapping[str, int], visual_attributes: int
) -> list[Comparison]:
    """Counts and percentages of the text (PROTOCOL §2, §9, §13)."""
    pull = published_pull()
    shown = list(read_depiction(study, by_response=False))
    consensus = evaluate(study=study, metric="consensus", variant="published", resamples=0, seed=0)
    computed: dict[str, float | None] = {row.name: row.value for row in consensus.rows}
    computed["attributes rated"] = consensus.rows[0].n
    computed["identity groups"] = len(shown)
    # three annotators judged each pair, so the paper's count is a third of the judgements
    computed["image-attribute pairs"] = sum(int(frame.shown.sum()) for frame in shown) / 3
    computed["rows of tables 1 and 2"] = groups
    computed["visual attributes"] = visual_attributes
    computed["groups with visual stereotypes"] = len(visual)
    computed["groups with one visual stereotype"] = sum(number == 1 for number in visual.values())
    computed["rows of tables 3 to 5"] = len(pull)
    computed["groups with S(d,s) > S(d,ns)"] = sum(row.pulled for row in pull.values())
    rows = []
    for fact in published_tables.published_rows("visage_facts.csv"):
        if fact["quantity"] in computed:
            text, result = compare(fact["printed"], computed[fact["quantity"]])
            rows.append(Comparison("text", fact["where"], fact["quantity"], fact["printed"], text, result))
    return rows


def _times_as_likely(study: Study) -> list[Comparison]:
    """'Thrice as likely' can be interpreted in several ways (PROTOCOL §6). Each is listed; none is compared
    to more digits than the word has."""
    printed = next(
        row
        for row in published_tables.published_rows("visage_facts.csv")
        if row["quantity"] == "times as likely"
    )
    rows = []
    for variant in ("published", "corrected"):
        sums = Counter[str]()
        for found in read_depiction(study, by_response=False):
            frame = found if variant == "published" else found.without_none_of_above()
            for kind, chosen in (("stereo", frame.stereotypical), ("random", ~frame.stereotypical)):
                sums[f"k {kind}"] += int(frame.selected[:, chosen].sum())
                sums[f"n {kind}"] += int(frame.shown[:, chosen].sum())
        pooled = _quotient(
            _quotient(sums["k stereo"], sums["n stereo"]), _quotient(sums["k random"], sums["n random"])
        )
        scores = evaluate(study=study, metric="tendency", variant=variant, resamples=0, seed=0).rows
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


def _visual_stereotypes(study: Study) -> tuple[Counter[str], int]:
    """The number of visual stereotypes of each group that has any, and the number of visual attributes, both
    by the study's rules (PROTOCOL §2, §3)."""
    frame = read_visual_nature(study)
    passed = visual_rule.is_visual(study, frame.ratings)
    visual = {pk for pk, fits in zip(frame.attribute_ids, passed, strict=True) if fits}
    known = stereotypes(study).values_list("group__name", "attribute_id")
    return Counter(group for group, attribute in known if attribute in visual), len(visual)


def _visual_stereotype_counts(visual: Mapping[str, int]) -> list[Comparison]:
    """The groups whose number of visual stereotypes is printed."""
    name = "visual stereotypes"
    rows = []
    for row in published_tables.published_rows("visage_visual_stereotypes.csv"):
        text, result = compare(row["visual_stereotypes"], visual.get(row["identity"], 0))
        rows.append(Comparison(name, row["identity"], name, row["visual_stereotypes"], text, result))
    return rows


def _pull() -> list[Comparison]:
    """Tables 3 to 5: only the printed mean can be computed (PROTOCOL §9)."""
    rows = []
    for group, row in sorted(published_pull().items()):
        three = row.s_d_s, row.s_d_ns, row.s_s_ns
        for name, printed in zip(PULL, three, strict=False):
            rows.append(Comparison("tables 3-5", group, name, str(printed), "", NOT_RELEASED))
        mean = sum(three, Decimal(0)) / 3
        shown = mean.quantize(_PRINTED_STEP, rounding=ROUND_HALF_UP)
        result = EQUAL if shown == row.s_mean else DIFFERS
        if result == DIFFERS and abs(mean - row.s_mean) <= _PRINTED_STEP:
            result = WITHIN_ROUNDING
        rows.append(Comparison("tables 3-5", group, "s_mean", str(row.s_mean), str(shown), result))
    return rows
