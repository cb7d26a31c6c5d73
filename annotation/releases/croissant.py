"""Croissant metadata of a release (Akhtar et al. 2024), with the fields of its responsible-AI extension."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from annotation.models import TaskKind
from annotation.releases import columns
from annotation.releases.data_card import SIMULATED, WARNING, blank
from annotation.releases.licence import licence_address
from annotation.releases.metadata import About, in_words

_CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileObject": "cr:fileObject",
    "fileProperty": "cr:fileProperty",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "parentField": "cr:parentField",
    "path": "cr:path",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "samplingRate": "cr:samplingRate",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}
# Empty cells and yes/no are texts in CSV: no number is said to be there where a cell can be empty.
_TYPES = {"text": "sc:Text", "boxes": "sc:Text", "ratings": "sc:Text", "yes/no": "sc:Text"}
_ALWAYS = frozenset(
    {"task_version", "unit", "option", "response", "value", "shown_position", "page", "repeat", "index"}
    | {"width", "height", "in_stereotypical", "in_nonstereotypical", "in_unsure"}
)


def croissant(about: About, folder: Path) -> str:
    """The text of croissant.json; the tables must stand in `folder` already."""
    study, wanted = about.study, about.wanted
    described = " ".join(
        part for part in (SIMULATED if about.simulated else "", WARNING, study.description) if part
    )
    whole = {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": ["http://mlcommons.org/croissant/1.0", "http://mlcommons.org/croissant/RAI/1.0"],
        "name": f"{study.name}-simulated" if about.simulated else study.name,
        "description": described.replace("**", ""),
        "version": "1.0.0",
        "datePublished": about.made_on.isoformat(),
        "license": licence_address(wanted.licence) or wanted.licence or _said(blank("licence")),
        "citeAs": wanted.citation or _said(blank("how to cite")),
        "creator": {"@type": "sc:Organization", "name": _said(blank("who made the data"))},
        "url": _said("https://example.org/to-be-filled-in"),
        "distribution": [_file(folder, file) for file in (*columns.COLUMNS, columns.PARQUET)],
        "recordSet": [
            _records(about, file)
            for file in columns.COLUMNS
            if file == columns.ANNOTATIONS or about.rows[file]
        ],
        **_rai(about),
    }
    return json.dumps(whole, indent=2, ensure_ascii=False) + "\n"


def _said(text: str) -> str:
    return text.replace("**", "")


def _file(folder: Path, file: str) -> dict[str, Any]:
    data = folder / file
    with data.open("rb") as content:
        digest = hashlib.file_digest(content, "sha256").hexdigest()
    return {
        "@type": "cr:FileObject",
        "@id": file,
        "name": file,
        "contentUrl": file,
        "contentSize": f"{data.stat().st_size} B",
        "encodingFormat": "text/csv" if file.endswith(".csv") else "application/x-parquet",
        "sha256": digest,
    }


def _records(about: About, file: str) -> dict[str, Any]:
    name = file.removesuffix(".csv")
    return {
        "@type": "cr:RecordSet",
        "@id": name,
        "name": name,
        "field": [
            {
                "@type": "cr:Field",
                "@id": f"{name}/{column}",
                "name": column,
                "description": meaning.replace("`", ""),
                "dataType": "sc:Integer" if column in _ALWAYS else _TYPES.get(kind, "sc:Text"),
                "source": {"fileObject": {"@id": file}, "extract": {"column": column}},
            }
            for column, kind, meaning in about.described(file)
        ],
    }


def _rai(about: About) -> dict[str, Any]:
    asked = [str(TaskKind(task.kind).label) for task in about.tasks]
    told = [
        f"{each.name}: {in_words(each.name, each.level, each.levels, each.told)}"
        for each in about.people.coarsened.report
    ]
    overlaps = ", ".join(f"{task.overlap} ({task.kind})" for task in about.tasks)
    made_up = "The answers are SIMULATED: a program made them." if about.simulated else ""
    return {
        "rai:dataCollection": " ".join(
            part
            for part in (
                made_up,
                "Answers given in a browser to tasks about attributes, associations and images.",
                _said(blank("who was recruited, where, how, and for what pay")),
            )
            if part
        ),
        "rai:dataCollectionType": ["Simulation"] if about.simulated else ["Manual Human Curation", "Survey"],
        "rai:dataCollectionMissingData": (
            "Answers of people who withdrew are left out, as are those to practice items and checks."
        ),
        "rai:dataAnnotationProtocol": [
            f"{TaskKind(task.kind).label}: {' '.join(task.wording.split())}" for task in about.tasks
        ],
        "rai:dataAnnotationPlatform": ["visage-studies"],
        "rai:dataAnnotationAnalysis": [
            "Labels of single annotators are kept; nothing is merged or voted away. Agreement is computed by "
            "manage.py agreement (Krippendorff's alpha, Fleiss' kappa, IoU of boxes)."
        ],
        "rai:annotationsPerItem": overlaps,
        "rai:annotatorDemographics": told or ["No profile field is told of anybody."],
        "rai:machineAnnotationTools": ["a program that stands in for people"] if about.simulated else [],
        "rai:dataPreprocessingProtocol": [
            f"Profiles are coarsened: each combination, blanks too, is of {about.wanted.k} people or more."
            if about.people.named
            else "Annotators' pseudonyms and profiles are left out.",
            f"Times are left out; durations are in steps of {columns.STEP_SECONDS} s up to "
            f"{columns.LONGEST_SECONDS} s.",
            "What people wrote was screened for addresses, links, numbers, account names and ids."
            if about.screen
            else "What people wrote is left out.",
        ],
        "rai:dataUseCases": [
            f"Research on stereotypes ({', '.join(asked)}), on images, and on annotators' disagreement."
        ],
        "rai:dataLimitations": [
            "Not for finding out who an annotator is, nor for decisions about people.",
            _said(blank("what the data cannot show")),
        ],
        "rai:dataBiases": [_said(blank("who is missing among the annotators"))],
        "rai:dataSocialImpact": (
            "Holds stereotypes, some offensive; meant to measure and reduce them, and fit to spread them. "
            + _said(blank("what was weighed"))
        ),
        "rai:personalSensitiveInformation": [
            "Annotators' self-described profile under pseudonyms of this release, coarsened: "
            + (", ".join(told) or "nothing is told"),
        ],
        "rai:dataReleaseMaintenancePlan": _said(blank("who maintains the data, and for how long")),
    }


__all__ = ["croissant"]
