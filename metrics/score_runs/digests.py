"""Digest of the inputs of a score."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping

from annotation.models import Study
from metrics.core.answers import counted_responses
from metrics.core.fingerprints import fingerprint
from metrics.score_runs import registry
from metrics.score_runs.metric import Metric


def inputs_digest(study: Study, metric: Metric, parameters: Mapping[str, str] | None = None) -> str:
    """SHA-256 of the inputs of a metric: the answers, the study's rules, and what `Metric.fingerprint` adds,
    such as the associations that pass the rule.

    Takes a few aggregates and does not read the answers. Only offensiveness and its comparisons read the
    ratings of stereotypes row by row, because their values matter; these are part of the catalogue and do not
    grow with the study.
    """
    chosen = registry.parameters(metric, parameters)
    parts: list[object] = [
        study.pk,
        metric.name,
        metric.task,
        study.stereotype_source_id,
        study.stereotype_pool,
        study.stereotype_threshold,
        study.visual_rule,
        chosen,
        fingerprint(counted_responses(study, metric.task)),
    ]
    if study.visual_mean is not None:  # runs of studies without one keep the digest they were stored with
        parts.append({"visual_mean": study.visual_mean})
    parts += metric.fingerprint(study, chosen)
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()
