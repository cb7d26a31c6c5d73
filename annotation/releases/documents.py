"""The documents of a release for people. The data card (README.md) is after Pushkarna, Zaldivar and
Kjartansson (2022): Data Cards, FAccT. What the database does not know is a marked placeholder."""

import json
from collections.abc import Iterator

from annotation.core.translation import LANGUAGE
from annotation.models import TaskKind
from annotation.releases import columns
from annotation.releases.metadata import ReleaseInfo, count_left_out, describe_level, describe_people_part
from annotation.studies.services.study_plan import current_consent

README_MARK = "A release of the study "
"""Identifies the README.md of a release."""
WARNING = (
    "**Content warning.** These data contain stereotypes of groups of people, some of them offensive. Their "
    "presence here does not make them true."
)
SIMULATED = (
    "**SIMULATED: these answers were made by a program, not by people. They say nothing about anybody.**"
)
LICENCE_URLS = {
    "CC0-1.0": "https://creativecommons.org/publicdomain/zero/1.0/",
    "CC-BY-4.0": "https://creativecommons.org/licenses/by/4.0/",
    "CC-BY-SA-4.0": "https://creativecommons.org/licenses/by-sa/4.0/",
    "CC-BY-NC-4.0": "https://creativecommons.org/licenses/by-nc/4.0/",
    "CC-BY-NC-SA-4.0": "https://creativecommons.org/licenses/by-nc-sa/4.0/",
    "ODbL-1.0": "https://opendatacommons.org/licenses/odbl/1-0/",
    "Apache-2.0": "https://www.apache.org/licenses/LICENSE-2.0",
}


def placeholder(content: str) -> str:
    """A marked blank for the publishers to fill in."""
    return f"**[to be filled in: {content}]**"


def data_card(info: ReleaseInfo) -> str:
    return "\n\n".join(block.rstrip() for block in _blocks(info)) + "\n"


def _blocks(info: ReleaseInfo) -> Iterator[str]:
    study, options, counts = info.study, info.options, info.counts
    yield f"# Data card: {info.title}"
    if info.simulated:
        yield SIMULATED
    yield WARNING
    yield f"{README_MARK}`{study.name}`, made on {info.made_on.isoformat()}. {study.description}"
    yield "## Authorship"
    yield _table(
        ("Publishers", placeholder("who publishes the data, and how to reach them")),
        ("Authors", placeholder("who created the data")),
        ("Contact of the study", study.contact or placeholder("contact")),
        ("Funding", placeholder("who funded the study")),
        ("Ethics review", placeholder("which board reviewed the study, and its decision")),
    )
    yield "## Overview"
    yield _table(
        ("Subject", "people's judgements of stereotypes, and of how images depict identity groups"),
        ("Tasks", ", ".join(str(TaskKind(task.kind).label) for task in info.tasks)),
        ("Annotators", _annotators(info)),
        ("Responses", f"{counts.responses:,} (one per annotator and unit)"),
        ("Judgements", f"{counts.judgements:,} (one per option of a response)"),
        ("Boxes", f"{counts.boxes:,}"),
        ("Images", f"{len(info.images.images):,}"),
        ("Associations with votes", f"{info.rows[columns.ASSOCIATIONS]:,}"),
        ("Left out", _left_out(info)),
    )
    yield "## Files and columns"
    yield from _files(info)
    yield "## Sensitive attributes of people"
    yield "\n".join(_sensitive(info))
    yield "## Motivation and use"
    yield _table(
        ("Purpose", placeholder("purpose of the study")),
        (
            "Suitable uses",
            "research on stereotypes in text-to-image models, on disagreement between annotators, and on "
            "labels from several perspectives (Prabhakaran et al. 2021)",
        ),
        (
            "Unsuitable uses",
            "identifying annotators; decisions about people; filtering people; training models to produce "
            "stereotypes",
        ),
        ("Known uses", placeholder("papers and products that use the data")),
    )
    yield "## Provenance: how the data were collected"
    yield _table(
        ("Platform", "Visual stereotype studies (visage-studies), in the annotators' browsers"),
        ("Recruitment", placeholder("who was recruited, where and how")),
        ("Payment", placeholder("how much annotators were paid per hour")),
        ("Time frame", placeholder("when the data were collected; the files hold no times")),
        ("Consent", _consent(info)),
        ("Sources", _sources(info)),
        ("Images", _images(info)),
    )
    for task in info.tasks:
        yield f"### Task: {TaskKind(task.kind).label}"
        yield f"> {' '.join(task.wording.split())}"
        if task.instructions:
            yield task.instructions.strip()
        strata = ", ".join(task.strata) if info.people.strata_published else "withheld (see above)"
        yield f"Target: {task.overlap} answers per unit. Slots reserved for: {strata}."
        yield from describe_people_part(task)
    yield "## Transformations"
    yield "\n".join(_transformations(info))
    yield "## Quality and limits"
    yield _table(
        (
            "Validation",
            "`manage.py import_release` rebuilds the study with the same scores",
        ),
        ("Agreement", "reported by `manage.py agreement`; disagreement is data here, not noise"),
        (
            "Known biases",
            placeholder("who is missing among the annotators, and what that does to the answers"),
        ),
        ("Known errors", placeholder("known errors in the data")),
    )
    yield "## Terms"
    yield _table(
        ("Licence", options.licence or placeholder("licence")),
        ("Citation", options.citation or placeholder("how to cite")),
        (
            "Withdrawal",
            placeholder("how an annotator who withdraws later gets out of copies that were passed on"),
        ),
        ("Maintenance", placeholder("who corrects errors, for how long, and where new versions appear")),
        ("Software", "see the code version in `release.json`"),
    )


def _table(*rows: tuple[str, str], head: str = "| | |") -> str:
    cells = (f"| {name} | {' '.join(text.split()).replace('|', '&#124;')} |" for name, text in rows)
    return "\n".join((head, "| --- | --- |", *cells))


def _left_out(info: ReleaseInfo) -> str:
    counts = (f"{number:,} {what}" for what, number in count_left_out(info.study).items() if number)
    return ", ".join(("all data of people who withdrew", *counts))


def _files(info: ReleaseInfo) -> Iterator[str]:
    yield (
        f"`{columns.PARQUET}` holds the rows of `{columns.ANNOTATIONS}` in typed columns. In the CSV\n"
        "files, text cells that a spreadsheet would run as a formula begin with an added apostrophe. Read\n"
        'them with `pandas.read_csv(..., keep_default_na=False)`, since a text may be the word "NA".\n'
        f"`sha256sum -c {columns.CHECKSUMS}` checks every file. `{columns.STUDY}` is the study file;\n"
        f"`{columns.ABOUT}` and `{columns.CROISSANT}` (Croissant metadata) describe it for programs."
    )
    rows = {columns.ANNOTATIONS: info.counts.judgements, **info.rows}
    for file in columns.COLUMNS:
        yield f"### {file} ({rows[file]:,} rows)"
        specs = info.column_specs(file)
        yield _table(*((f"`{name}`", text) for name, _, text in specs), head="| column | meaning |")


def _sensitive(info: ReleaseInfo) -> Iterator[str]:
    if not info.people.has_pseudonyms:
        yield "The answers have no pseudonyms and no profiles: nobody can tell which answers are by the same"
        yield "person. Results that depend on this cannot be computed from this release: intervals that"
        yield "resample annotators, agreement within and between groups of annotators, and statistics of"
        yield "individual annotators."
        return
    yield "Annotators are identified by pseudonyms that were made for this release only. Their profiles hold"
    yield "only fields that they permitted to publish. Values are coarsened: every combination of values in"
    yield f"`{columns.ANNOTATORS}` is shared by at least **{info.options.k}** people, for all columns and for"
    yield "any subset of them; blank cells count as a value. Programs that stand in for people are counted"
    yield "separately. The written files were checked for this. A blank cell can mean that the person did not"
    yield "answer, did not permit publication, used their own words, had a rare combination of values, or"
    yield "helps to hide somebody who had one."
    yield ""
    yield from _linkage(info)
    if not info.people.coarsened.report:
        yield "No profile field is published for anybody."
        return
    yield "| field | published as | for how many people |"
    yield "| --- | --- | --- |"
    for each in info.people.coarsened.report:
        yield f"| {info.label(each.name)} (`{each.name}`) | {describe_level(each)} | {each.published:,} |"


def _annotators(info: ReleaseInfo) -> str:
    if not len(info.people):
        return "not identified by the source"
    return f"{len(info.people):,}{'' if info.people.has_pseudonyms else ', not distinguished in the answers'}"


def _linkage(info: ReleaseInfo) -> Iterator[str]:
    """What readers can infer beyond the columns of annotators.csv."""
    linkage = info.people.linkage
    if not linkage.found:
        return
    yield "**Who judged the same unit discloses more.** Slots were reserved for different groups of people,"
    yield "and these strata are withheld. But a reader who knows the design of the study and looks at who"
    if linkage.found == linkage.hidden:
        yield f"judged the same unit can infer them for all {linkage.hidden:,} people concerned, except for"
        yield "the names of the groups."
    else:
        yield f"judged the same unit can infer them for at least {linkage.found:,} of {linkage.hidden:,}"
        yield "people concerned."
    yield "The promise above holds for the columns, but not for this."
    yield ""


def _consent(info: ReleaseInfo) -> str:
    consent = current_consent(info.study).get(LANGUAGE)
    if consent is None:
        return placeholder("what annotators agreed to")
    return f"each annotator agreed to a text before the first item; its latest version: {consent.text}"


def _sources(info: ReleaseInfo) -> str:
    sources = (
        f"{one.title} ({one.licence or 'licence not known'}): {one.citation}".strip(": ")
        for one in info.sources
    )
    return "; ".join(sources) or "none"


def _images(info: ReleaseInfo) -> str:
    sets = []
    for one in info.image_sets:
        model = "DRAWN IMAGES, not made by a model" if one.drawn else one.model_name or "model not known"
        sets.append(f"{one.title}: {model} ({one.licence or 'licence not known'})")
    return "; ".join(sets) or "none"


def _transformations(info: ReleaseInfo) -> Iterator[str]:
    if info.people.has_pseudonyms:
        yield "- Pseudonyms: HMAC-SHA256 with a random key that was never stored. Annotators, and responses"
        yield "  within a unit, are in random order."
    else:
        yield "- Pseudonyms are left out. Responses within a unit are in random order."
    yield f"- Times are left out. Durations are rounded up to steps of {columns.STEP_SECONDS} s and capped at"
    yield f"  {columns.LONGEST_SECONDS} s. The language in which the items were shown is left out."
    if info.people.strata_published:
        yield "- Strata (for whom a slot was reserved) are published: they disclose no more than"
        yield "  `annotators.csv`."
    else:
        yield "- Strata (for whom a slot was reserved) are withheld: they disclose more than"
        yield "  `annotators.csv`."
    if info.screen is None:
        yield "- Justifications that annotators wrote are left out."
    else:
        yield "- Justifications were screened for e-mail addresses, links, telephone numbers, account names"
        yield f"  and participants' ids; {info.screen.removed:,} of {info.screen.texts:,} texts were changed."
        yield f"  A person has read them: {placeholder('who read the texts, and when')}"
    yield "- Two releases of the same study contain the same answers. By comparing the answers, readers can"
    yield "  tell which rows belong to the same person in both; pseudonyms cannot prevent this."


def licence_text(info: ReleaseInfo) -> str:
    """LICENSE.txt: the terms of the answers, and of data from other sources."""
    licence = info.options.licence
    lines = [info.title, ""]
    if licence:
        url = LICENCE_URLS.get(licence)
        lines.append(f"The answers in this release are licensed under: {licence}{f' ({url})' if url else ''}")
    else:
        lines += [
            placeholder("licence").replace("**", ""),
            "No licence has been stated. Without one, nobody may share these data.",
        ]
    lines += ["", WARNING.replace("**", "")]
    if info.sources or info.image_sets:
        lines += ["", "Data from other sources keep their own licences:"]
    lines += [
        f"- associations of {one.title}: {one.licence or 'not known'}. {one.citation}".strip()
        for one in info.sources
    ]
    lines += [f"- images of {one.title}: {one.licence or 'not known'}" for one in info.image_sets]
    return "\n".join(lines) + "\n"


def citation_file(info: ReleaseInfo) -> str:
    """CITATION.cff (Citation File Format 1.2.0). Values are written as JSON, which is valid YAML."""
    options = info.options
    lines = {
        "cff-version": "1.2.0",
        "message": f"Please cite: {options.citation}"
        if options.citation
        else placeholder("how to cite").strip("*"),
        "type": "dataset",
        "title": info.title,
        "abstract": SIMULATED.strip("*") if info.simulated else info.study.description or info.study.title,
        "authors": [{"name": placeholder("who made the data").strip("*")}],
        "date-released": info.made_on.isoformat(),
    }
    if options.licence in LICENCE_URLS:
        lines["license"] = options.licence
    return "".join(f"{key}: {json.dumps(value, ensure_ascii=False)}\n" for key, value in lines.items())
