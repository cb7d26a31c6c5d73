"""Training items, gold items and attention checks of a task (docs/studies.md). Pure: no Django."""

from dataclasses import dataclass

from annotation.studies.errors import KeyPath
from annotation.studies.errors import gettext_noop as _
from annotation.studies.study_file.table import LARGEST_NUMBER, Table

PURPOSES = ("training", "gold", "attention")


@dataclass(frozen=True)
class CheckItem:
    """An item with a known answer.

    `expected`: labels or values of the scale, any of which is correct; on a depiction page, the attributes to
    select, where empty means none of the above. `group`: only if the task has identity groups. `image` (its
    number within set and group) and `shown`: only on a depiction page.
    """

    purpose: str
    attribute: str
    expected: tuple[str | int, ...]
    feedback: str = ""
    group: str = ""
    image: int | None = None
    shown: tuple[str, ...] = ()


def read_checks(table: Table, *, kind: str, names_group: bool, page_size: int) -> tuple[CheckItem, ...]:
    checks = []
    for purpose in PURPOSES:
        for each in table.tables(purpose):
            if kind == "depiction":
                checks.append(_read_page(each, purpose=purpose, page_size=page_size))
            else:
                checks.append(_read_item(each, purpose=purpose, names_group=names_group))
    return tuple(checks)


def _read_item(table: Table, *, purpose: str, names_group: bool) -> CheckItem:
    expected = table.raw("expected")
    answers = expected if isinstance(expected, list) else [expected]
    if not answers or not all(isinstance(each, str | int) and not isinstance(each, bool) for each in answers):
        raise table.missing(
            "expected",
            fix='Write the correct labels, e.g. expected = ["Agree", "Strongly agree"].',
            page_message=_("Choose at least one correct answer."),
        )
    return CheckItem(
        purpose=purpose,
        attribute=" ".join(table.text("attribute", required=True, longest=200).split()).lower(),
        expected=tuple(answers),
        feedback=_feedback(table, purpose=purpose),
        group=table.text("group", required=True, longest=120) if names_group else "",
    )


def _read_page(table: Table, *, purpose: str, page_size: int) -> CheckItem:
    shown = tuple(text.lower() for text in table.text_list("shown"))
    if not 0 < len(shown) < page_size or len(set(shown)) < len(shown):
        raise table.error(
            "shown",
            list(shown),
            "%(it)s is not a list of 1 to %(most)s different attributes.",
            page_message=_("List 1 to %(most)s different attributes."),
            most=page_size - 1,
        )
    expected = tuple(text.lower() for text in table.text_list("expected"))
    if "expected" not in table:
        raise table.missing(
            "expected", fix="List those of 'shown' that are right, or [] for none of the above."
        )
    if not set(expected) <= set(shown):
        raise table.error(
            "expected",
            list(expected),
            "%(it)s lists attributes that are not in 'shown'. Write [] for none of the above.",
            page_message=_(
                "%(it)s lists attributes that are not in %(shown)s. Leave it empty for none of the above."
            ),
            shown=KeyPath(table.path_of("shown")),
        )
    return CheckItem(
        purpose=purpose,
        attribute="",
        expected=expected,
        feedback=_feedback(table, purpose=purpose),
        group=table.text("group", required=True, longest=120),
        image=table.integer("image", default=0, least=1, most=LARGEST_NUMBER),
        shown=shown,
    )


def _feedback(table: Table, *, purpose: str) -> str:
    """Only training items give feedback: annotators must not be able to tell the others from data."""
    return table.text("feedback") if purpose == "training" else ""
