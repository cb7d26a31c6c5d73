"""PROTOCOL §11 once more, written for being read: what the program's associations are compared with."""

import math
import re
from collections import Counter, defaultdict
from statistics import NormalDist, mean, stdev

LETTERS = "abcdefghijklmnopqrstuvwxyz"


def words_of_completion(cell, letter):
    """(published, corrected) words of a cell of the authors' table."""
    word = cell.lower().replace(" ", "")
    return [word], [word] if re.fullmatch(r"[a-z]{2,}", word) and word[0] == letter else []


def pairs(answers, *, n, corrected):
    """{(descriptor, word): numbers}. `answers`: (descriptor, document, words)."""
    tf, documents, df = Counter(), set(), defaultdict(set)
    for descriptor, document, words in answers:
        documents.add(document)
        for word in words:
            tf[descriptor, word] += 1
            df[word].add(document)
    n = len(documents) * n
    found = {
        key: {"tf": times, "df": len(df[key[1]]), "score": times * math.log(n / len(df[key[1]]))}
        for key, times in tf.items()
    }
    return _z(found, tf) if corrected else _p(found)


def _p(found):
    scores = [row["score"] for row in found.values()]
    normal = NormalDist(mean(scores), stdev(scores))
    for row in found.values():
        row["p"] = 1 - normal.cdf(row["score"])
        row["significant"] = row["p"] < 0.05
    return found


def _z(found, tf):
    of_word, of_descriptor = Counter(), Counter()
    for (descriptor, word), times in tf.items():
        of_word[word] += times
        of_descriptor[descriptor] += times
    total = sum(tf.values())
    for (descriptor, word), times in tf.items():
        prior = 500 * of_word[word] / total
        others, n_others = of_word[word] - times, total - of_descriptor[descriptor]
        delta = math.log((times + prior) / (of_descriptor[descriptor] + 500 - times - prior))
        delta -= math.log((others + prior) / (n_others + 500 - others - prior))
        row = found[descriptor, word]
        row["z"] = delta / math.sqrt(1 / (times + prior) + 1 / (others + prior))
    ordered = sorted(found.values(), key=lambda row: row["z"])  # the largest p first
    q = 1.0
    for place, row in enumerate(ordered):
        p = 1 - NormalDist().cdf(row["z"])
        q = min(q, p * len(ordered) / (len(ordered) - place))
        row["q"] = q
        row["significant"] = q < 0.05
    return found
