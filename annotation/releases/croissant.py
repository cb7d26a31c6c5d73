"""Croissant metadata of a release (Akhtar et al. 2024), with the fields of its responsible-AI extension."""

import json
from pathlib import Path
from typing import Any

from annotation.imports.readers.oddities import sha256_of
from annotation.models import TaskKind
from annotation.releases import columns
from annotation.releases.documents import LICENCE_URLS, SIMULATED, WARNING, placeholder
from annotation.releases.metadata import ReleaseInfo, describe_level, describe_people_part

_TERMS = (
    "citeAs column equivalentProperty extract field fileObject fileProperty fileSet format includes "
    "isLiveDataset jsonPath key md5 parentField path recordSet references regex repeated replace "
    "samplingRate separator source subField transform"
)
_CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "dct": "http://purl.org/dc/terms/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "sc": "https://schema.org/",
    **{term: f"cr:{term}" for term in _TERMS.split()},
    "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
}
# Columns that can be empty, and yes/no, are text in CSV; only columns that are never empty are integers.
_INTEGERS = frozenset(
    {"task_version", "unit", "option", "response", "value", "shown_position", "page", "repeat", "index"}
    | {"width", "height"}
)


def croissant(info: ReleaseInfo, folder: Path) -> str:
    """The text of croissant.json. The tables must already be in `folder`."""
    study, options = info.study, info.options
    description = " ".join(
        part for part in (SIMULATED if info.simulated else "", WARNING, study.description) if part
    )
    dataset = {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": ["http://mlcommons.org/croissant/1.0", "http://mlcommons.org/croissant/RAI/1.0"],
        "name": f"{study.name}-simulated" if info.simulated else study.name,
        "description": _plain(description),
        "version": "1.0.0",
        "datePublished": info.made_on.isoformat(),
        "license": LICENCE_URLS.get(options.licence) or options.licence or _plain(placeholder("licence")),
        "citeAs": options.citation or _plain(placeholder("how to cite")),
        "creator": {"@type": "sc:Organization", "name": _plain(placeholder("who created the data"))},
        "url": "https://example.org/to-be-filled-in",
        "distribution": [_file(folder, file) for file in (*columns.COLUMNS, columns.PARQUET)],
        "recordSet": [
            _records(info, file) for file in columns.COLUMNS if file == columns.ANNOTATIONS or info.rows[file]
        ],
        **_rai(info),
    }
    return json.dumps(dataset, indent=2, ensure_ascii=False) + "\n"


def _plain(text: str) -> str:
    """Markdown without its bold marks."""
    return text.replace("**", "")


def _file(folder: Path, file: str) -> dict[str, Any]:
    data = folder / file
    return {
        "@type": "cr:FileObject",
        "@id": file,
        "name": file,
        "contentUrl": file,
        "contentSize": f"{data.stat().st_size} B",
        "encodingFormat": "text/csv" if file.endswith(".csv") else "application/x-parquet",
        "sha256": sha256_of(data),
    }


def _records(info: ReleaseInfo, file: str) -> dict[str, Any]:
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
                "dataType": "sc:Integer" if column in _INTEGERS else "sc:Text",
                "source": {"fileObject": {"@id": file}, "extract": {"column": column}},
            }
            for column, _, meaning in info.column_specs(file)
        ],
    }


def _rai(info: ReleaseInfo) -> dict[str, Any]:
    tasks = [str(TaskKind(task.kind).label) for task in info.tasks]
    profile = [f"{each.name}: {describe_level(each)}" for each in info.people.coarsened.report]
    overlaps = ", ".join(f"{task.overlap} ({task.kind})" for task in info.tasks)
    simulated = "The answers are SIMULATED: a program made them." if info.simulated else ""
    return {
        "rai:dataCollection": " ".join(
            part
            for part in (
                simulated,
                "Answers given in a browser to tasks about attributes, associations and images.",
                _plain(placeholder("who was recruited, where, how, and at what pay")),
            )
            if part
        ),
        "rai:dataCollectionType": ["Simulation"] if info.simulated else ["Manual Human Curation", "Survey"],
        "rai:dataCollectionMissingData": " ".join(
            (
                "Answers of people who withdrew and answers to practice items and checks are left out.",
                *(
                    f"{TaskKind(task.kind).label}: {part}"
                    for task in info.tasks
                    for part in describe_people_part(task)
                ),
            )
        ),
        "rai:dataAnnotationProtocol": [
            f"{TaskKind(task.kind).label}: {' '.join(task.wording.split())}" for task in info.tasks
        ],
        "rai:dataAnnotationPlatform": ["visage-studies"],
        "rai:dataAnnotationAnalysis": [
            "Labels of individual annotators are kept, without aggregation. Agreement is computed by "
            "manage.py agreement (Krippendorff's alpha, Fleiss' kappa, IoU of boxes)."
        ],
        "rai:annotationsPerItem": overlaps,
        "rai:annotatorDemographics": profile or ["No profile field is published for anybody."],
        "rai:machineAnnotationTools": ["a program that stands in for people"] if info.simulated else [],
        "rai:dataPreprocessingProtocol": [
            f"Profiles are coarsened: at least {info.options.k} people share each combination of values, "
            "including blanks."
            if info.people.has_pseudonyms
            else "Annotators' pseudonyms and profiles are left out.",
            f"Times are left out; durations are rounded up to steps of {columns.STEP_SECONDS} s and capped "
            f"at {columns.LONGEST_SECONDS} s.",
            "Justifications were screened for e-mail addresses, links, numbers, account names and ids."
            if info.screen
            else "Justifications are left out.",
        ],
        "rai:dataUseCases": [
            f"Research on stereotypes ({', '.join(tasks)}), on images, and on annotators' disagreement."
        ],
        "rai:dataLimitations": [
            "Not for identifying annotators, nor for decisions about people.",
            _plain(placeholder("what the data cannot show")),
        ],
        "rai:dataBiases": [_plain(placeholder("who is missing among the annotators"))],
        "rai:dataSocialImpact": (
            "Contains stereotypes, some of them offensive; meant to measure and reduce them, but could also "
            "be used to spread them. " + _plain(placeholder("how benefits and risks were weighed"))
        ),
        "rai:personalSensitiveInformation": [
            "Annotators' self-described profiles under pseudonyms of this release, coarsened: "
            + (", ".join(profile) or "nothing is published"),
        ],
        "rai:dataReleaseMaintenancePlan": _plain(placeholder("who maintains the data, and for how long")),
    }
