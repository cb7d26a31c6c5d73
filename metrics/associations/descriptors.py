"""Read lists of descriptors: names of groups of people, each on a dimension (PROTOCOL §11). Pure: no Django.

A CSV file has one of these forms:

- `dimension,singular,plural,article`: ours. An empty plural or article is made; the article `-` is none.
- `bias_type,template`: a template such as `An old person is`, which is asked as it is. The descriptor is what
  is left without a, an, this, is and are.
- `bias_type` with `target_singular`, `target_plural` or both: the authors' lists for images.
"""

import csv
import hashlib
import io
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files

from annotation.core.csv_text import text_of_cell
from annotation.imports.readers.oddities import FileRefused
from generation.recipes.prompts import article as article_before
from metrics.associations.askings import Descriptor

DIMENSIONS = (
    "age",
    "disability",
    "gender",
    "nationality",
    "physical_appearance",
    "race_colour",
    "religion",
    "sexual_orientation",
    "socioeconomic_status",
)
"""As in the catalogue (annotation.models.DIMENSIONS), and in its order."""
NO_ARTICLE = "-"
STARTER = "starter_descriptors.csv"
LONGEST = 110
"""Characters of a descriptor: its plural, if it is made, fits into the catalogue too."""
_MOST_ERRORS = 20
_LONGEST_TEMPLATE = 200
_OTHER_NAMES = {
    "race": "race_colour",
    "racecolor": "race_colour",
    "raceethnicity": "race_colour",
    "ethnicity": "race_colour",
    "appearance": "physical_appearance",
    "sexuality": "sexual_orientation",
    "socioeconomic": "socioeconomic_status",
}
_WORDS_AROUND = re.compile(r"(?<![\w'-])(?:a/an|an?|this|is|are)(?![\w'-])", re.I)
_ARTICLE = re.compile(r"(an?)\s+(?=\S)", re.I)
_PLURALS = (("woman", "women"), ("man", "men"), ("child", "children"))


@dataclass(frozen=True)
class DescriptorList:
    """`repeated`: how many rows repeat an earlier one. They are kept."""

    descriptors: tuple[Descriptor, ...]

    def __len__(self) -> int:
        return len(self.descriptors)

    @property
    def repeated(self) -> int:
        return len(self.descriptors) - len(set(self.descriptors))

    @property
    def has_templates(self) -> bool:
        return any(each.template for each in self.descriptors)

    @property
    def digest(self) -> str:
        """SHA-256 of the list, in hex."""
        lines = [
            "\t".join((each.dimension, each.singular, each.plural, each.article, each.template))
            for each in self.descriptors
        ]
        return hashlib.sha256("\n".join(lines).encode()).hexdigest()

    def on(self, dimensions: Iterable[str]) -> "DescriptorList":
        """Only those on these dimensions; all if none is named."""
        wanted = set(dimensions)
        return DescriptorList(tuple(one for one in self.descriptors if not wanted or one.dimension in wanted))


def find_dimension(text: str) -> str:
    """The dimension that a text names, whatever its case, spaces, _ and -; "" if none.

    Examples
    --------
    >>> find_dimension("Race-Color"), find_dimension("socioeconomic")
    ('race_colour', 'socioeconomic_status')
    """
    key = re.sub(r"[\W_]+", "", text.lower())
    found = {**_OTHER_NAMES, **{name.replace("_", ""): name for name in DIMENSIONS}}
    return found.get(key, "")


def descriptor_of(template: str) -> str:
    """The descriptor in a template.

    Examples
    --------
    >>> descriptor_of("This old person is a/an "), descriptor_of("Older people are")
    ('old person', 'Older people')
    """
    return " ".join(_WORDS_AROUND.sub(" ", template).split())


def plural_of(singular: str) -> str:
    """The regular plural.

    Examples
    --------
    >>> plural_of("person with a disability"), plural_of("wheelchair user")
    ('people with a disability', 'wheelchair users')
    """
    if (several := re.sub(r"\bperson\b", "people", singular, count=1)) != singular:
        return several
    for one, many in _PLURALS:
        if singular.endswith(one):
            return singular.removesuffix(one) + many
    if re.search(r"[^aeiou]y$", singular):
        return f"{singular[:-1]}ies"
    return f"{singular}es" if singular.endswith(("s", "sh", "ch", "x", "z")) else f"{singular}s"


def article_of(descriptor: Descriptor) -> str:
    """'a', 'an' or, without an article, ''."""
    if descriptor.article == NO_ARTICLE:
        return ""
    return descriptor.article or article_before(descriptor.singular)


def starter_list() -> DescriptorList:
    """The list that ships."""
    text = files("metrics").joinpath(f"associations/{STARTER}").read_text(encoding="utf-8")
    return read_descriptors(text, STARTER)


def read_descriptors(text: str, file: str) -> DescriptorList:
    """The rows of a CSV text in one of the forms. Raises FileRefused, which names each wrong row."""
    try:
        rows = [*csv.reader(io.StringIO(text.lstrip("\ufeff"), newline=""), strict=True)]
    except csv.Error as error:
        raise FileRefused(file, f"this is not comma-separated text ({error}).", "Save it again.") from error
    header = [cell.strip().lower() for cell in rows[0]] if rows else []
    read = _form(file, header)
    found: list[Descriptor] = []
    errors: list[str] = []
    for number, row in enumerate(rows[1:], start=2):
        if not any(cell.strip() for cell in row):
            continue
        if len(row) != len(header):
            errors.append(
                f"row {number}: {len(row)} cells where the header has {len(header)}; check commas and "
                "quotation marks."
            )
            continue
        cells = {name: " ".join(text_of_cell(cell).split()) for name, cell in zip(header, row, strict=True)}
        one = read(cells)
        if isinstance(one, Descriptor):
            found.append(one)
        else:
            errors.append(f"row {number}: {one}.")
    if errors:
        refuse_rows(file, errors)
    if not found:
        raise FileRefused(file, "there are no rows below the header.", "Add a row for each descriptor.")
    return DescriptorList(tuple(found))


def refuse_rows(file: str, errors: Sequence[str], number: int | None = None) -> None:
    """Raise FileRefused with the first errors."""
    number = len(errors) if number is None else number
    shown = list(errors[:_MOST_ERRORS])
    more = [f"... and {number - len(shown):,} more."] if number > len(shown) else []
    count = "1 error" if number == 1 else f"{number:,} errors"
    raise FileRefused(file, f"{count}.", "\n".join(["Correct the file:", *shown, *more]))


def dimension_problem(column: str, text: str) -> str:
    return f"column '{column}': '{text[:40]}' is no dimension; write one of {', '.join(DIMENSIONS)}"


def _form(file: str, header: Sequence[str]) -> Callable[[Mapping[str, str]], Descriptor | str]:
    columns = set(header)
    if {"dimension", "singular"} <= columns:
        return _own_row
    if "bias_type" in columns and columns & {"target_singular", "target_plural"}:
        return _target_row
    if {"bias_type", "template"} <= columns:
        return _template_row
    raise FileRefused(
        file,
        f"the columns are {', '.join(header)[:200] or 'missing'}.",
        "The first row must have dimension,singular,plural,article, or bias_type,template, or bias_type and "
        "target_singular or target_plural.",
        row=1,
    )


def _own_row(cells: Mapping[str, str]) -> Descriptor | str:
    dimension = find_dimension(cells["dimension"])
    article = cells.get("article", "").lower()
    if not dimension:
        return dimension_problem("dimension", cells["dimension"])
    if article not in ("", "a", "an", "the", NO_ARTICLE):
        return f"column 'article': '{article[:40]}' is none; write a, an, the, or - for no article"
    singular, plural = cells["singular"], cells.get("plural", "")
    problem = _problem("singular", singular) or (_problem("plural", plural) if plural else "")
    return problem or Descriptor(dimension, singular, plural or plural_of(singular), article)


def _template_row(cells: Mapping[str, str]) -> Descriptor | str:
    dimension = find_dimension(cells["bias_type"])
    template = cells["template"]
    if not dimension:
        return dimension_problem("bias_type", cells["bias_type"])
    if len(template) > _LONGEST_TEMPLATE:
        return f"column 'template': {len(template)} characters, at most {_LONGEST_TEMPLATE} are possible"
    return _problem("template", descriptor_of(template)) or of_template(dimension, template)


def of_template(dimension: str, template: str) -> Descriptor:
    """The descriptor of a template; the same text is its singular and its plural."""
    name = descriptor_of(template)
    return Descriptor(dimension, name, name, template=template)


def _target_row(cells: Mapping[str, str]) -> Descriptor | str:
    dimension = find_dimension(cells["bias_type"])
    if not dimension:
        return dimension_problem("bias_type", cells["bias_type"])
    given, plural = cells.get("target_singular", ""), cells.get("target_plural", "")
    singular, article = given, ""
    if match := _ARTICLE.match(given):
        singular, article = given[match.end() :], match[1].lower()
    column = "target_singular" if "target_singular" in cells else "target_plural"
    singular = singular or plural
    problem = _problem(column, singular) or (_problem("target_plural", plural) if plural else "")
    return problem or Descriptor(dimension, singular, plural or plural_of(singular), article)


def _problem(column: str, name: str) -> str:
    if not name:
        return f"column '{column}': it names nobody"
    if len(name) > LONGEST:
        return f"column '{column}': {len(name)} characters, at most {LONGEST} are possible"
    return f"column '{column}': it has a character that is none" if "\0" in name else ""
