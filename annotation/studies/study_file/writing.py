"""Writing a `StudyFile` as TOML that reads back as the same. Pure: no Django."""

from collections.abc import Mapping
from typing import Any

import tomli_w

from annotation.studies.study_file.checks import PURPOSES
from annotation.studies.study_file.reading import CROWD_PARAMETERS, StudyFile
from annotation.studies.study_file.stimuli import GroupDraw, PageDraw, SourceDraw
from annotation.studies.study_file.tasks import TaskFile


def study_toml(study: StudyFile) -> str:
    """The text of the file. Keys with default values are left out."""
    values = {
        "name": study.name,
        "title": study.title,
        "description": study.description,
        "contact": study.contact,
        "leads": [*study.leads],
        "visual_rule": study.visual_rule,
        "visual_mean": study.visual_mean,
        "intervals": None if study.intervals == "clustered" else study.intervals,
        "consent": {
            "content_warning": study.content_warning,
            "text": study.consent,
            **dict(sorted(study.consent_translations.items())),
        },
        "stereotypes": {
            "source": study.stereotype_source,
            "pool": study.stereotype_pool,
            "threshold": study.stereotype_threshold,
        },
        "recruitment": {
            "self_enrol": None if study.self_enrol else False,
            "completion_code": study.completion_code,
            "completion_url": study.completion_url,
            "parameters": {
                key: name for key, name in study.crowd_parameters.items() if CROWD_PARAMETERS.get(key) != name
            },
        },
        "quality": {"training_pass": study.training_pass, "gold_rate": study.gold_rate or None},
        "care": {
            "blur_images": study.blur_images or None,
            "break_after": None if study.break_after == 30 else study.break_after,
            "session_cap": study.session_cap,
            "support_text": study.support_text,
        },
        "translations": dict(sorted(study.translations.items())),
        "questions": [
            _without_empty({**each, "translations": dict(sorted(each.get("translations", {}).items()))})
            for each in study.questions
        ],
        "tasks": [_task(task) for task in study.tasks],
    }
    if (study.stereotype_source, study.stereotype_pool, study.stereotype_threshold) == (None, "out", 2):
        del values["stereotypes"]
    return tomli_w.dumps(_without_empty(values), multiline_strings=True)


def _without_empty(values: Mapping[str, Any]) -> dict[str, Any]:
    """`values` without empty ones, at any depth."""
    kept = {}
    for key, value in values.items():
        inner = _without_empty(value) if isinstance(value, dict) else value
        if inner is not None and inner not in ("", [], {}):
            kept[key] = inner
    return kept


def _task(task: TaskFile) -> dict[str, Any]:
    written: dict[str, Any] = {
        "kind": task.kind,
        "wording": task.wording,
        "instructions": task.instructions,
        "strata": [*task.strata],
        "seed": task.seed,
        "people_share": task.people_share,
        **_stimuli(task),
        "examples": [
            _without_empty({part: each[part] for part in ("text", "answer", "why")}) for each in task.examples
        ],
        "translations": {
            language: {**texts, "examples": [_without_empty(each) for each in texts.get("examples", ())]}
            for language, texts in sorted(task.translations.items())
        },
    }
    for purpose in PURPOSES:
        written[purpose] = [
            {
                **_without_empty(
                    {
                        "attribute": each.attribute,
                        "group": each.group,
                        "image": each.image,
                        "shown": [*each.shown],
                        "feedback": each.feedback,
                    }
                ),
                "expected": [*each.expected],  # kept even if empty: that means none of the above
            }
            for each in task.checks
            if each.purpose == purpose
        ]
    return _without_empty(written)


def _stimuli(task: TaskFile) -> dict[str, Any]:
    """The keys that define the stimuli."""
    if task.associations is not None:
        chosen = task.associations
        return {
            "associations": {
                "source": chosen.source,
                "limit": chosen.limit,
                "groups": [*chosen.groups],
                "pairs": [list(pair) for pair in chosen.pairs],
            }
        }
    if task.pages is not None:
        return {"image_set": task.image_set, "page_size": task.page_size, **_pages(task.pages)}
    if isinstance(task.attributes, SourceDraw):
        return {"attributes": {"source": task.attributes.source, "limit": task.attributes.limit}}
    return {"attributes": [*(task.attributes or ())]}


def _pages(pages: PageDraw | dict[str, GroupDraw]) -> dict[str, Any]:
    if isinstance(pages, PageDraw):
        visual = [*pages.visual] if isinstance(pages.visual, tuple) else pages.visual or "none"
        allow_fewer = pages.allow_fewer or None
        return {"attributes": {"visual": visual, "groups": [*pages.groups], "allow_fewer": allow_fewer}}
    return {
        "shown": [
            {"group": group, "stereotypical": [*each.stereotypical], "random": [*each.random]}
            for group, each in pages.items()
        ]
    }
