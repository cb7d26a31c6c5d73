"""The data card of a release (README.md), after Pushkarna, Zaldivar and Kjartansson (2022): Data Cards,
FAccT. What the study itself knows is filled in; what only people know is a marked blank."""

from __future__ import annotations

from collections.abc import Iterator

from annotation.core.translation import LANGUAGE
from annotation.models import ImageSet, TaskKind
from annotation.releases import columns
from annotation.releases.metadata import About, in_words, left_out, told
from annotation.studies.services.study_plan import current_consent

MARK = "A release of the study "
"""What a release's README says, so that a folder can be told to be one."""
WARNING = (
    "**Content warning.** These data hold stereotypes of groups of people, some of them offensive. That "
    "something stands here does not make it true."
)
SIMULATED = (
    "**SIMULATED: these answers were made by a program, not by people. They say nothing about anybody.**"
)


def blank(what: str) -> str:
    """A place that only people can fill in."""
    return f"**[to be filled in: {what}]**"


def card(about: About) -> str:
    return "\n".join(line.rstrip() for line in _lines(about)) + "\n"


def _lines(about: About) -> Iterator[str]:
    study, wanted, counts = about.study, about.wanted, about.counts
    yield f"# Data card: {about.title}"
    yield ""
    if about.simulated:
        yield SIMULATED
        yield ""
    yield WARNING
    yield ""
    yield f"{MARK}`{study.name}`, made on {about.made_on.isoformat()}. {study.description}"
    yield from _section("Authorship")
    yield from _table(
        ("Publishers", blank("who publishes the data, and how to reach them")),
        ("Authors", blank("who made the data")),
        ("Contact of the study", study.contact or blank("contact")),
        ("Funding", blank("who paid for it")),
        ("Ethics review", blank("which board reviewed the study, and its decision")),
    )
    yield from _section("Overview")
    yield from _table(
        ("Subject", "what people say of stereotypes, and of what images show of identity groups"),
        ("Tasks", ", ".join(str(TaskKind(task.kind).label) for task in about.tasks)),
        ("Annotators", _annotators(about)),
        ("Responses", f"{counts.responses:,} (one annotator, one unit)"),
        ("Judgements", f"{counts.judgements:,} (one option of a response)"),
        ("Boxes", f"{counts.boxes:,}"),
        ("Images", f"{len(about.pictures.images):,}"),
        ("Associations with votes", f"{about.rows[columns.ASSOCIATIONS]:,}"),
        ("Left out", _left_out(about)),
    )
    yield from _section("What each file holds")
    yield from _files(about)
    yield from _section("Sensitive attributes of people")
    yield from _sensitive(about)
    yield from _section("Motivation and use")
    yield from _table(
        ("Why it was made", blank("purpose of the study")),
        (
            "Suitable",
            "research on stereotypes in text-to-image models, on disagreement between annotators, and on "
            "labels of several perspectives (Prabhakaran et al. 2021)",
        ),
        (
            "Unsuitable",
            "finding out who an annotator is; deciding anything about a person; filtering people; training "
            "models to produce stereotypes",
        ),
        ("Known uses", blank("papers and products that use the data")),
    )
    yield from _section("Provenance: how it was collected")
    yield from _table(
        ("Platform", "Visual stereotype studies (visage-studies), annotators in a browser"),
        ("Recruitment", blank("who was asked, where and how")),
        ("Payment", blank("how much annotators were paid, by the hour")),
        ("Time frame", blank("when it was collected; the data themselves hold no times")),
        ("Consent", _consent(about)),
        ("Sources", _sources(about)),
        ("Images", _images(about)),
    )
    for task in about.tasks:
        yield ""
        yield f"### Task: {TaskKind(task.kind).label}"
        yield ""
        yield f"> {' '.join(task.wording.split())}"
        yield ""
        if task.instructions:
            yield task.instructions.strip()
            yield ""
        of_whom = ", ".join(task.strata) if about.strata_told else "withheld (see above)"
        yield f"{task.overlap} answers wanted of each unit. Reserved for: {of_whom}."
    yield from _section("Transformations")
    yield from _transformations(about)
    yield from _section("Quality and limits")
    yield from _table(
        (
            "Validation",
            "`manage.py import_release` rebuilds the study; its scores come out the same",
        ),
        ("Agreement", "reported by `manage.py agreement`; disagreement is data here, not noise"),
        ("Known biases", blank("who is missing among the annotators, and what that does to the answers")),
        ("Known errors", blank("errors that were found")),
    )
    yield from _section("Terms")
    yield from _table(
        ("Licence", wanted.licence or blank("licence")),
        ("Citation", wanted.citation or blank("how to cite")),
        ("Withdrawal", blank("how an annotator who withdraws later gets out of copies that were passed on")),
        ("Maintenance", blank("who mends errors, how long, and where new versions appear")),
        ("Made with", "the code version in `release.json`"),
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


def _left_out(about: About) -> str:
    said = ", ".join(f"{number:,} {what}" for what, number in left_out(about.study).items() if number)
    return f"everything of people who withdrew{', ' + said if said else ''}"


def _files(about: About) -> Iterator[str]:
    yield f"`{columns.PARQUET}` holds the rows of `{columns.ANNOTATIONS}` in typed columns. Text cells of "
    yield "the CSV files that a spreadsheet would run as a formula have an apostrophe in front. Read them "
    yield 'with `pandas.read_csv(..., keep_default_na=False)`: a text may well be the word "NA".'
    yield f"`sha256sum -c {columns.CHECKSUMS}` checks every file. `{columns.STUDY}` is the study as a file,"
    yield f"`{columns.ABOUT}` says all of this for programs, `{columns.CROISSANT}` does so in Croissant."
    for file in columns.COLUMNS:
        yield ""
        yield f"### {file} ({_rows(about, file):,} rows)"
        yield ""
        yield "| column | holds |"
        yield "| --- | --- |"
        for name, _, meaning in about.described(file):
            yield f"| `{name}` | {meaning} |"


def _rows(about: About, file: str) -> int:
    return about.counts.judgements if file == columns.ANNOTATIONS else about.rows[file]


def _sensitive(about: About) -> Iterator[str]:
    if not about.people.named:
        yield "Answers carry no pseudonym, and nothing is told of annotators: nobody can tell which answers"
        yield "are of the same person. In return, what needs to know that cannot be computed from this"
        yield "release: intervals that draw annotators, agreement within and between groups of annotators,"
        yield "and how any one annotator answers."
        return
    labels = {str(each["field"]): str(each["label"]) for each in about.study.questions}
    yield "Annotators are known by a pseudonym that was made for this release alone. Of what they say of"
    yield "themselves only that is told which they let be published, and only so coarsely that every"
    yield f"combination of values in `{columns.ANNOTATORS}`, of all columns or of some of them, blank"
    yield f"cells counted as a value, is that of at least **{about.wanted.k}** people. Programs that stand in"
    yield "for people are counted apart. The files were checked for this after they were written. An empty"
    yield "cell can mean that somebody did not say, did not permit it, used their own words, would have stood"
    yield "out, or hides somebody who would have."
    yield ""
    yield from _linkage(about)
    if not about.people.coarsened.report:
        yield "No profile field is told of anybody."
        return
    yield "| field | what is told | of how many |"
    yield "| --- | --- | --- |"
    for each in about.people.coarsened.report:
        how = in_words(each.name, each.level, each.levels, each.told)
        yield f"| {told(each.name, labels)} (`{each.name}`) | {how} | {each.told:,} |"


def _annotators(about: About) -> str:
    if not len(about.people):
        return "not identified by the source"
    return f"{len(about.people):,}{'' if about.people.named else ', not told apart in the answers'}"


def _linkage(about: About) -> Iterator[str]:
    """What the columns of annotators.csv cannot hide."""
    found = about.people.linkage
    if not found.found:
        return
    yield "**Who judged the same unit says more.** Places were reserved for different people, and for whom is"
    yield "withheld. Yet whoever knows how the study was designed, and looks at who judged the same unit, can"
    if found.found == found.hidden:
        yield f"work it out for all {found.hidden:,} people of whom it is not told, but for groups' names."
    else:
        yield f"work it out for at least {found.found:,} of {found.hidden:,} people of whom it is not told."
    yield "What is promised above holds for columns, and not for this."
    yield ""


def _consent(about: About) -> str:
    given = current_consent(about.study).get(LANGUAGE)
    if given is None:
        return blank("what annotators agreed to")
    return f"each annotator agreed to a text before the first item; its latest version: {given.text}"


def _sources(about: About) -> str:
    said = [
        f"{one.title} ({one.licence or 'licence not known'}): {one.citation}".strip(": ")
        for one in about.sources
    ]
    return "; ".join(said) or "none"


def _images(about: About) -> str:
    said = [f"{one.title}: {_model(one)} ({one.licence or 'licence not known'})" for one in about.image_sets]
    return "; ".join(said) or "none"


def _model(images: ImageSet) -> str:
    return "DRAWN PICTURES, no model made them" if images.drawn else images.model_name or "model not known"


def _transformations(about: About) -> Iterator[str]:
    if about.people.named:
        yield "- Pseudonyms: HMAC-SHA256 with a random key that was never stored. Annotators and, within a"
        yield "  unit, responses stand in an order that the key decided."
    else:
        yield "- Pseudonyms are left out. Within a unit, responses stand in an order of chance."
    yield "- Times are left out. Durations are rounded up to steps of "
    yield f"  {columns.STEP_SECONDS} s and end at {columns.LONGEST_SECONDS} s. The language in which somebody"
    yield "  was asked is left out."
    if about.strata_told:
        yield "- Strata (for whom a place was reserved) are told: they say no more than `annotators.csv`."
    else:
        yield "- Strata (for whom a place was reserved) are withheld: they say more than `annotators.csv`"
    if about.screen is None:
        yield "- What people wrote to justify an answer is left out."
    else:
        yield "- What people wrote was searched for addresses, links, telephone numbers, account names and "
        yield f"  participants' ids; {about.screen.removed:,} of {about.screen.texts:,} texts were changed. "
        yield f"  A person has read them: {blank('who read the texts, and when')}"
    yield "- Two releases of one study hold the same answers. Whoever has both can tell by them which rows "
    yield "  belong together: nothing that is done to pseudonyms prevents that."


__all__ = ["MARK", "SIMULATED", "WARNING", "blank", "card"]
