"""The tests of a file, a row each."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import tomli_w
from django import forms
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from annotation.models import ImageSet
from metrics.embedding_tests.data import SetGroups
from metrics.embedding_tests.forms.base import lines_of, text_area
from metrics.embedding_tests.services import FileRefused, check_groups
from metrics.embedding_tests.test_file import (
    EAT,
    KINDS,
    LONGEST_TEXT,
    MOST_TESTS,
    SC_EAT,
    EffectTest,
    TestFile,
    TestFileRefused,
    as_toml_data,
    parse,
)

MORE_ROWS = 3
PREFIX = "test"
_FIELDS = ("name", "kind", "x", "y", "a", "b")


class TestRow(forms.Form):
    """One test. An empty row is no test."""

    __test__ = False  # for pytest

    name = forms.CharField(required=False, max_length=LONGEST_TEXT, label=_("Name of the test"))
    kind = forms.ChoiceField(
        required=False,
        label=_("Kind"),
        choices=[
            (EAT, _("EAT: two groups, two lists of texts")),
            (SC_EAT, _("SC-EAT: two groups, one text")),
        ],
    )
    x = forms.CharField(
        required=False, label=_("Groups X"), help_text=_("One per line."), widget=text_area(2)
    )
    y = forms.CharField(
        required=False, label=_("Groups Y"), help_text=_("One per line."), widget=text_area(2)
    )
    a = forms.CharField(
        required=False,
        label=_("Texts A, or the one text"),
        help_text=_("One per line; of SC-EAT a single line."),
        widget=text_area(2),
    )
    b = forms.CharField(
        required=False,
        label=_("Texts B"),
        help_text=_("One per line; of SC-EAT none."),
        widget=text_area(2),
    )

    @property
    def is_empty(self) -> bool:
        return not any(self.cleaned_data.get(name) for name in ("name", "x", "y", "a", "b"))

    def clean(self) -> dict[str, Any]:
        super().clean()
        data = self.cleaned_data
        if self.errors or self.is_empty:
            return data
        kind = self._kind()
        needed = ("name", "x", "y", "a") if kind == SC_EAT else ("name", "x", "y", "a", "b")
        for name in needed:
            if not data[name]:
                self.add_error(name, gettext("This field is required."))
        if kind == SC_EAT and data["b"]:
            self.add_error("b", gettext("SC-EAT has one text only. Empty this field, or choose EAT."))
        # a field with an error has no data
        if kind == SC_EAT and len(lines_of(data.get("a", ""))) > 1:
            self.add_error("a", gettext("SC-EAT has one text. Write it in one line, or choose EAT."))
        if not self.errors:
            self._check(self.as_test())
        return data

    def as_test(self) -> EffectTest:
        """Of a row that is not empty."""
        data = self.cleaned_data
        kind = self._kind()
        x, y, a, b = (lines_of(data[name]) for name in ("x", "y", "a", "b"))
        if kind == SC_EAT:
            return EffectTest(name=data["name"], kind=kind, x=x, y=y, target=a[0])
        return EffectTest(name=data["name"], kind=kind, x=x, y=y, a=a, b=b)

    def _kind(self) -> str:
        return str(self.cleaned_data["kind"] or KINDS[0])

    def _check(self, test: EffectTest) -> None:
        """By the rules of files, which say the number of the test first."""
        alone = TestFile(image_set="set", encoder="encoder", tests=(test,))
        try:
            parse(tomli_w.dumps(as_toml_data(alone)))
        except TestFileRefused as refused:
            self.add_error(None, str(refused).removeprefix(f"test 1 ('{test.name[:60]}'): "))

    def check_groups(self, groups: SetGroups) -> None:
        for name in ("x", "y"):
            try:
                check_groups(name, lines_of(self.cleaned_data[name]), groups)
            except FileRefused as refused:
                self.add_error(name, str(refused))


if TYPE_CHECKING:
    _RowSet = forms.BaseFormSet[TestRow]
else:
    # Django's form sets take no type at run time
    _RowSet = forms.BaseFormSet


class TestRows(_RowSet):
    """The tests of a file. Errors of a row are in it."""

    __test__ = False  # for pytest

    def clean(self) -> None:
        names: set[str] = set()
        for form in self.filled():
            name = form.cleaned_data.get("name", "")
            if name and name in names:
                form.add_error("name", gettext("Another test has this name. Give each its own."))
            names.add(name)

    def filled(self) -> Iterator[TestRow]:
        return (form for form in self.forms if hasattr(form, "cleaned_data") and not form.is_empty)

    def check_groups(self, image_set: ImageSet) -> bool:
        groups = SetGroups(image_set)
        for form in self.filled():
            form.check_groups(groups)
        return not any(form.errors for form in self.forms)


def row_formset(extra: int = MORE_ROWS) -> type[TestRows]:
    """Rows for as many tests as there are, and `extra` empty ones."""
    made: type[TestRows] = forms.formset_factory(  # type: ignore[assignment] # it is of the class given
        TestRow,
        formset=TestRows,
        extra=extra,
        max_num=MOST_TESTS,
        absolute_max=MOST_TESTS,
        validate_max=True,
    )
    return made


def sent_rows(data: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What was sent, as initial values of as many rows."""
    number = str(data.get(f"{PREFIX}-TOTAL_FORMS", ""))
    sent = min(int(number), MOST_TESTS) if number.isdecimal() and len(number) < 6 else 0
    return [{name: data.get(f"{PREFIX}-{row}-{name}", "") for name in _FIELDS} for row in range(sent)]


def rows_of(file: TestFile) -> list[dict[str, Any]]:
    """The tests of a file as initial values of rows."""
    return [
        {
            "name": test.name,
            "kind": test.kind,
            "x": "\n".join(test.x),
            "y": "\n".join(test.y),
            "a": test.target if test.kind == SC_EAT else "\n".join(test.a),
            "b": "\n".join(test.b),
        }
        for test in file.tests
    ]
