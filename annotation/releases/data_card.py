"""The data card of a release (README.md), after Pushkarna, Zaldivar and Kjartansson (2022): Data Cards,
FAccT. What the database knows is filled in; the rest are marked placeholders."""

from __future__ import annotations

from collections.abc import Iterator

from annotation.core.translation import LANGUAGE
from annotation.models import ImageSet, TaskKind
from annotation.releases import columns
from annotation.releases.metadata import ReleaseInfo, count_left_out, describe_level, field_label
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


def placeholder(content: str) -> str:
    """A marked blank for the publishers to fill in."""
    return f"**[to be filled in: {content}]**"


def data_card(info: ReleaseInfo) -> str:
    return "\n".join(line.rstrip() for line in _lines(info)) + "\n"


def _lines(info: ReleaseInfo) -> Iterator[str]:
    study, options, counts = info.study, info.options, info.counts
    yield f"# Data card: {info.title}"
    yield ""
    if info.simulated:
        yield SIMULATED
        yield ""
    yield WARNING
    yield ""
    yield f"{README_MARK}`{study.name}`, made on {info.made_on.isoformat()}. {study.description}"
    yield from _section("Authorship")
    yield from _table(
        ("Publishers", placeholder("who publishes the data, and how to reach them")),
        ("Authors", placeholder("who created the data")),
        ("Contact of the study", study.contact or placeholder("contact")),
        ("Funding", placeholder("who funded the study")),
        ("Ethics review", placeholder("which board reviewed the study, and its decision")),
    )
    yield from _section("Overview")
    yield from _table(
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
    yield from _section("Files and columns")
    yield from _files(info)
    yield from _section("Sensitive attributes of people")
    yield from _sensitive(info)
    yield from _section("Motivation and use")
    yield from _table(
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
    yield from _section("Provenance: how the data were collected")
    yield from _table(
        ("Platform", "Visual stereotype studies (visage-studies), in the annotators' browsers"),
        ("Recruitment", placeholder("who was recruited, where and how")),
        ("Payment", placeholder("how much annotators were paid per hour")),
        ("Time frame", placeholder("when the data were collected; the files hold no times")),
        ("Consent", _consent(info)),
        ("Sources", _sources(info)),
        ("Images", _images(info)),
    )
    for task in info.tasks:
        yield ""
        yield f"### Task: {TaskKind(task.kind).label}"
        yield ""
        yield f"> {' '.join(task.wording.split())}"
        yield ""
        if task.instructions:
            yield task.instructions.strip()
            yield ""
        strata = ", ".join(task.strata) if info.people.strata_published else "withheld (see above)"
        yield f"Target: {task.overlap} answers per unit. Slots reserved for: {strata}."
    yield from _section("Transformations")
    yield from _transformations(info)
    yield from _section("Quality and limits")
    yield from _table(
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
    yield from _section("Terms")
    yield from _table(
        ("Licence", options.licence or placeholder("licence")),
        ("Citation", options.citation or placeholder("how to cite")),
        (
            "Withdrawal",
            placeholder("how an annotator who withdraws later gets out of copies that were passed on"),
        ),
        ("Maintenance", placeholder("who corrects errors, for how long, and where new versions appear")),
        ("Software", "see the code version in `release.json`"),
    )


def _section(title: str) -> Iterator[str]:
    yield ""
    yield f"## {title}"
    yield ""


def _table(*rows: tuple[str, str]) -> Iterator[str]:
    yield "| | |"
    yield "| --- | --- |"
    for name, text in rows:
        yield f"| {name} | {' '.join(text.split()).replace('|', '&#124;')} |"


def _left_out(info: ReleaseInfo) -> str:
    counts = (f"{number:,} {what}" for what, number in count_left_out(info.study).items() if number)
    return ", ".join(("all data of people who withdrew", *counts))


def _files(info: ReleaseInfo) -> Iterator[str]:
    yield f"`{columns.PARQUET}` holds the rows of `{columns.ANNOTATIONS}` in typed columns. In the CSV"
    yield "files, text cells that a spreadsheet would run as a formula begin with an added apostrophe. Read"
    yield 'them with `pandas.read_csv(..., keep_default_na=False)`, since a text may be the word "NA".'
    yield f"`sha256sum -c {columns.CHECKSUMS}` checks every file. `{columns.STUDY}` is the study file;"
    yield f"`{columns.ABOUT}` and `{columns.CROISSANT}` (Croissant metadata) describe it for programs."
    for file in columns.COLUMNS:
        yield ""
        yield f"### {file} ({_rows(info, file):,} rows)"
        yield ""
        yield "| column | meaning |"
        yield "| --- | --- |"
        for name, _, meaning in info.column_specs(file):
            yield f"| `{name}` | {meaning} |"


def _rows(info: ReleaseInfo, file: str) -> int:
    return info.counts.judgements if file == columns.ANNOTATIONS else info.rows[file]


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
        label = field_label(each.name, info.question_labels)
        yield f"| {label} (`{each.name}`) | {describe_level(each)} | {each.published:,} |"


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
    sets = (f"{one.title}: {_model(one)} ({one.licence or 'licence not known'})" for one in info.image_sets)
    return "; ".join(sets) or "none"


def _model(images: ImageSet) -> str:
    return "DRAWN IMAGES, not made by a model" if images.drawn else images.model_name or "model not known"


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
