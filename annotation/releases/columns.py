"""The files and columns of a release, for writing and for importing one (docs/releases.md). Pure."""

from collections.abc import Mapping

SCHEMA = 1
"""Version of this format. Other versions are refused on import."""

ANNOTATIONS, PARQUET = "annotations.csv", "annotations.parquet"
ANNOTATORS, UNITS, IMAGES = "annotators.csv", "units.csv", "images.csv"
ASSOCIATIONS, IDENTITIES = "associations.csv", "identities.csv"
ABOUT, CHECKSUMS, STUDY = "release.json", "checksums.sha256", "study.toml"
CARD, CROISSANT, LICENCE, CITATION = "README.md", "croissant.json", "LICENSE.txt", "CITATION.cff"
IMAGE_FOLDER = "images"

LONGEST_SECONDS, STEP_SECONDS = 120, 5
"""Durations are rounded up to steps and capped, in seconds."""

JUSTIFICATION = "justification"

# Fields of models that release.json holds
STUDY_FIELDS = (
    *("name", "title", "description", "contact", "support_text", "questions", "translations"),
    *("stereotype_pool", "stereotype_threshold", "visual_rule", "visual_mean", "intervals", "simulated"),
    *("training_pass", "gold_rate", "blur_images", "break_after", "session_cap"),
)
TASK_FIELDS = (
    *("kind", "version", "wording", "instructions", "translations", "examples"),
    *("overlap", "strata", "page_size", "seed", "people_share", "people_units"),
)
SOURCE_FIELDS = ("name", "title", "licence", "citation")
IMAGE_SET_FIELDS = ("name", "title", "model_name", "licence", "drawn")

# Name, type, content. The types are those of the Parquet file.
ColumnSpecs = tuple[tuple[str, str, str], ...]
COLUMNS: Mapping[str, ColumnSpecs] = {
    ANNOTATIONS: (
        (
            "task",
            "text",
            "kind of the task: `visual_nature`, `prevalence`, `offensiveness`, `depiction`, `association`",
        ),
        ("task_version", "number", "version of the task"),
        (
            "unit",
            "number",
            "position of the unit within its task, from 1; `units.csv` has what it showed",
        ),
        ("option", "number", "which option of the unit, from 1"),
        ("image", "text", "name of the image in `images.csv`; empty if the unit shows none"),
        ("identity", "text", "identity group of the image or association"),
        ("attribute", "text", "the attribute that was judged; empty for none of the above"),
        (
            "role",
            "text",
            "why it was shown: `stimulus`, `stereotypical`, `random`, `none_of_above`, or `unassigned`",
        ),
        (
            "response",
            "number",
            "rows with the same number were submitted together by one annotator. Numbers are valid in this "
            "file only; their order has no meaning",
        ),
        ("annotator", "text", "pseudonym, valid in this release only; empty if the annotator is not known"),
        ("simulated", "yes/no", "`yes` if a program made the answer"),
        ("stratum", "text", "stratum that the slot was reserved for; empty if withheld"),
        ("value", "number", "the value on the task's scale"),
        ("label", "text", "the value in words"),
        ("shown_position", "number", "position of the option as it was shown, from 1"),
        ("boxes", "boxes", "JSON list of `[x0, y0, x1, y1]` in pixels of the image"),
        ("whole_image", "yes/no", "`yes` if the attribute was judged visible in the image as a whole"),
        (
            "active_seconds",
            "number",
            f"seconds of activity on the unit, rounded up to steps of {STEP_SECONDS}; {LONGEST_SECONDS} "
            "means that or longer; empty if not known",
        ),
        ("surplus", "yes/no", "`yes` if it came after the unit had reached its target; scores leave it out"),
        (JUSTIFICATION, "text", "what the annotator wrote; `[removed]` replaces identifying details"),
    ),
    ANNOTATORS: (
        ("annotator", "text", "pseudonym, valid in this release only"),
        ("simulated", "yes/no", "`yes` if this is a program, not a person"),
    ),
    UNITS: (
        ("task", "text", "kind of the task"),
        ("task_version", "number", "version of the task"),
        ("unit", "number", "position within the task, from 1"),
        ("page", "number", "page of options of an image, from 1"),
        ("repeat", "number", "above 0 if the same unit is repeated"),
        ("unit_name", "text", "name of the unit in its source, if any; it does not identify a person"),
        ("image", "text", "name in `images.csv` of the image shown"),
        ("source", "text", "source of the association judged"),
        ("axis", "text", "kind of its identity group"),
        ("identity", "text", "its identity group"),
        ("attribute", "text", "the attribute judged, or that of the association judged"),
        ("option", "number", "number of the option, from 1"),
        ("option_attribute", "text", "its attribute; empty for none of the above"),
        ("role", "text", "why the option is shown"),
    ),
    IMAGES: (
        ("image", "text", "name of the image, unique in this release"),
        ("image_set", "text", "the set that it belongs to"),
        ("axis", "text", "kind of identity group"),
        ("identity", "text", "identity group that the image is meant to show"),
        ("index", "number", "number within set and group, from 1"),
        ("prompt", "text", "prompt given to the model, if known"),
        ("width", "number", "width in pixels"),
        ("height", "number", "height in pixels"),
        ("sha256", "text", "SHA-256 of the file, if there is one"),
        ("size", "number", "size of the file in bytes, if there is one"),
        ("reference", "text", "external location of the image, if any"),
        ("file", "text", "path of the file in this folder; empty if files are not included"),
    ),
    ASSOCIATIONS: (
        (
            "source",
            "text",
            "resource that the association comes from; `release.json` has its licence and citation",
        ),
        ("axis", "text", "kind of identity group"),
        ("identity", "text", "the identity group"),
        ("attribute", "text", "the attribute"),
        (
            "in_stereotypical",
            "number",
            "votes Stereotypical of the source's in-region annotators; empty if nobody was asked",
        ),
        ("in_nonstereotypical", "number", "the same, Non-stereotypical"),
        ("in_unsure", "number", "the same, Unsure"),
        (
            "out_stereotypical",
            "number",
            "votes Stereotypical of the source's out-region annotators; empty if not known",
        ),
        ("out_nonstereotypical", "number", "the same, Non-stereotypical"),
        ("out_unsure", "number", "the same, Unsure"),
        ("offensiveness", "ratings", "JSON list of all ratings, -1 to 4"),
        ("offensiveness_mean", "decimal", "mean as given by the source; empty without ratings"),
    ),
    IDENTITIES: (
        ("axis", "text", "kind of identity group"),
        ("identity", "text", "its name"),
        ("demonym", "text", "word for its people"),
        ("country", "text", "its country"),
        ("region", "text", "its region, one of SeeGULL's eight regions"),
        ("global_south", "yes/no", "whether it belongs to the Global South; empty if not known"),
        ("singular", "text", "how a sentence names one of its people, if known"),
        ("plural", "text", "the same, several of its people"),
        ("article", "text", "article of the singular, `a` or `an`, if known"),
    ),
}
OPTIONAL = frozenset({JUSTIFICATION, "singular", "plural", "article"})
"""Columns that a release may lack: what annotators wrote, and what earlier versions did not write."""


def answer_columns(*, with_text: bool) -> ColumnSpecs:
    """The columns of the answers, with or without what annotators wrote."""
    every = COLUMNS[ANNOTATIONS]
    return every if with_text else tuple(each for each in every if each[0] != JUSTIFICATION)


def names(file: str) -> list[str]:
    """The columns of a file, in order."""
    return [name for name, _, _ in COLUMNS[file]]
