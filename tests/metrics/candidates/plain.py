"""PROTOCOL §14 once more, written for being read: what the program's candidates are compared with."""

import math
import re
from collections import Counter, defaultdict
from fractions import Fraction


def candidates(answers, names, *, per_region):
    """{(group, attribute): (count, tf, idf, salience, selected)}. `names`: text in lower case -> group;
    groups are (name, region). Knows plurals in -s and forms in -ing without more."""
    given = Counter()
    for answer in answers:
        for inside in re.findall(r"\(([^()]*)\)", answer):
            elements = [
                " ".join(re.sub(r"[^A-Za-z\s-]", "", one).split()).lower() for one in inside.split(",")
            ]
            if len(elements) == 2 and all(elements):
                groups = [names.get(one) for one in elements]
                if groups[0] and not groups[1]:
                    given[groups[0], elements[1]] += 1
                if groups[1] and not groups[0]:
                    given[groups[1], elements[0]] += 1
    counts = Counter()
    for (group, attribute), number in given.items():
        while True:
            shorter = [attribute.removesuffix(end) for end in ("s", "ing") if attribute.endswith(end)]
            shorter = [one for one in shorter if (group, one) in given]
            if not shorter:
                break
            attribute = shorter[0]
        counts[group, attribute] += number
    regions = defaultdict(set)
    of_group, of_region = Counter(), Counter()
    for (group, attribute), number in counts.items():
        regions[attribute].add(group[1])
        of_group[group] += number
    words, all_regions = len(regions), len({group[1] for group, _ in counts})
    found = {}
    for (group, attribute), number in counts.items():
        tf = (number + 1) / (of_group[group] + words)
        idf = math.log((1 + all_regions) / (1 + len(regions[attribute]))) + 1
        found[group, attribute] = (number, tf, idf, tf * idf)
    kinds = Counter(group for group, _ in counts)
    for group, of in kinds.items():
        of_region[group[1]] += of
    selected = set()
    for region, total in of_region.items():
        groups = sorted(group for group in kinds if group[1] == region)
        seats = {group: Fraction(per_region * kinds[group], total) for group in groups}
        if total <= per_region:
            seats = {group: Fraction(kinds[group]) for group in groups}
        whole = {group: int(share) for group, share in seats.items()}
        missing = min(per_region, total) - sum(whole.values())
        by_rest = sorted(groups, key=lambda group: (whole[group] - seats[group], -kinds[group], group))
        for group in by_rest[:missing]:
            whole[group] += 1
        for group in groups:
            mine = sorted(
                (key for key in found if key[0] == group),
                key=lambda key: (-found[key][3], -found[key][0], key[1]),
            )
            selected.update(mine[: whole[group]])
    return {key: (*numbers, key in selected) for key, numbers in found.items()}
