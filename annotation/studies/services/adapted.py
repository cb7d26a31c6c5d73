"""Whether the texts of a study were adapted before it opens: no mark is left, and those of a template were
checked (docs/studies.md)."""

from functools import reduce
from operator import or_

from django.db.models import F, Q, Value
from django.db.models.functions import Concat

from annotation.models import Attribute, IdentityGroup, Study
from annotation.studies.errors import KeyPath, StudyRefused, gettext_noop
from annotation.studies.services import study_files
from annotation.studies.study_file.marks import OPENING, Mark, find_marks, marks_in
from annotation.studies.study_templates import registry

_GROUP_NAMES = ("name", "demonym", "singular", "plural")
_GROUPS = {"associations": "associations", "images": "image_set"}
"""How a unit shows a group -> the key of the task that says which."""


def check_adapted(*, study: Study, texts_checked: bool) -> None:
    """Raise StudyRefused if annotators would read a mark, or if texts of a template were not checked."""
    document = study_files.texts_of(study=study)
    refuse_marks([*find_marks(document), *_marks_in_catalogue(study)])
    unchecked = registry.texts_to_check(document)
    if unchecked and not texts_checked:
        raise StudyRefused(
            f"the study '{study.name}' still has a template's text in {', '.join(unchecked)}. Adapt it, or "
            "say that the texts were checked: --texts-checked, or texts_checked in the API.",
            page_message=gettext_noop(
                "%(first)s is still the template’s, word for word. Adapt it, or tick below that you have "
                "checked the texts."
            ),
            first=unchecked[0],
        )


def refuse_marks(marks: list[Mark]) -> None:
    """Raise StudyRefused with the first of `marks`, if there is one."""
    if marks:
        raise StudyRefused(
            f"'%(mark)s' is still to be adapted. Replace it; {len(marks)} such places are left.",
            key=marks[0].key,
            page_message=gettext_noop("'%(mark)s' is still to be adapted. Replace it."),
            mark=marks[0].text,
        )


def _marks_in_catalogue(study: Study) -> list[Mark]:
    """Marks of the templates in the attributes and in the names of the groups that are judged. Other words in
    brackets are the catalogue's own."""
    named = reduce(or_, (Q(**{f"{name}__contains": OPENING}) for name in _GROUP_NAMES))
    names = Concat(*(each for name in _GROUP_NAMES for each in (F(name), Value("\n"))))
    attributes = Attribute.objects.filter(text__contains=OPENING, options__unit__task__study=study)
    found = attributes.order_by().values_list("text", "options__unit__task__kind", Value("attributes"))
    for where, key in _GROUPS.items():
        groups = IdentityGroup.objects.filter(named, **{f"{where}__units__task__study": study}).order_by()
        found = found.union(groups.values_list(names, f"{where}__units__task__kind", Value(key)))
    marked = [
        (mark, kind, key) for text, kind, key in found for mark in marks_in(text) if mark in registry.marks()
    ]
    if not marked:
        return []
    kinds = list(study.tasks.order_by("pk").values_list("kind", flat=True))
    return [Mark(KeyPath(f"tasks[{kinds.index(kind) + 1}].{key}"), mark) for mark, kind, key in marked]
